/* The text of choices: written, read again, and refused where one bit of it is another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice_problems.h"
#include "refusal.h"
#include "harness.h"

static void text_comes_back(void)
{
    size_t bytes, bytes_again;
    char *text = gops_choice_some_text(&bytes);
    gops_choices *choices = gops_choice_create();
    gops_error error = gops_fresh_error();
    gops_test_check(gops_choices_read(choices, text, bytes, &error) == GOPS_OK, "reading: %s",
                    error.message);
    gops_test_check(gops_choices_read(choices, text, bytes, &error) == GOPS_OK, "once more: %s",
                    error.message);
    gops_test_check(gops_choices_count(choices) == 4, "%lld choices",
                    (long long)gops_choices_count(choices));
    char *again = gops_choice_write_text(choices, &bytes_again);
    gops_test_check(bytes == bytes_again && memcmp(text, again, bytes) == 0,
                    "what was read is written as\n%sinstead of\n%s", again, text);
    free(again);
    free(text);
    gops_choices_destroy(choices);
    choices = gops_choice_create();
    text = gops_choice_write_text(choices, &bytes);
    gops_test_check(strcmp(text, "groupops-choices 2 lines=0\n") == 0, "no choices are \"%s\"",
                    text);
    gops_test_check(gops_choices_read(choices, text, bytes, &error) == GOPS_OK, "none: %s",
                    error.message);
    free(text);
    gops_choices_destroy(choices);
}

/* Refused, with that line's number where it is not 0, and without an effect. */
static void refuse(const char *what, const char *text, size_t bytes, int line)
{
    gops_choices *choices = gops_choice_create();
    gops_error error = gops_fresh_error();
    char begin[32];
    snprintf(begin, sizeof begin, "line %d of the choices ", line);
    const gops_status status = gops_choices_read(choices, text, bytes, &error);
    gops_test_check(status == GOPS_INVALID && error.status == status &&
                        (line == 0 || strncmp(error.message, begin, strlen(begin)) == 0),
                    "%s, line %d: status \"%s\": %s", what, line, gops_status_name(status),
                    error.message);
    gops_test_check(gops_choices_count(choices) == 0, "%s: %lld choices came in", what,
                    (long long)gops_choices_count(choices));
    gops_choices_destroy(choices);
}

/* Of two choices for one problem the one that is read last counts, and a text that is refused replaces none. */
static void the_last_one_counts(void)
{
    gops_problem problem = gops_choice_grouped();
    gops_error error = gops_fresh_error();
    char algorithm[32], gemm[2048], direct[2048];
    size_t bytes;
    problem.choices = gops_choice_create();
    problem.algorithm = "fastest";
    gops_choice_algorithm(&problem, algorithm);
    char *written = gops_choice_write_text(problem.choices, &bytes);
    gops_choices_destroy(problem.choices);
    problem.choices = gops_choice_create();
    problem.algorithm = NULL;
    gops_choice_replace_algorithm(written, "gemm", gemm, sizeof gemm);
    gops_choice_replace_algorithm(written, "implicit", direct, sizeof direct);
    const char *const texts[] = {gemm, direct, gemm};
    const char *const names[] = {"gemm", "implicit", "gemm"};
    for (int i = 0; i < 3; i++) {
        gops_test_check(gops_choices_read(problem.choices, texts[i], strlen(texts[i]), &error) ==
                            GOPS_OK,
                        "%s", error.message);
        gops_choice_algorithm(&problem, algorithm);
        gops_test_check(strcmp(algorithm, names[i]) == 0 &&
                            gops_choices_count(problem.choices) == 1,
                        "%s of %lld, not %s", algorithm,
                        (long long)gops_choices_count(problem.choices), names[i]);
    }
    /* A good line, then half of it. */
    char two[4096];
    const char *line = strchr(direct, '\n') + 1;
    snprintf(two, sizeof two, "groupops-choices 2 lines=2\n%s%.*s\n", line, (int)(strlen(line) / 2),
             line);
    gops_test_check(gops_choices_read(problem.choices, two, strlen(two), NULL) == GOPS_INVALID,
                    "%s was taken", two);
    gops_choice_algorithm(&problem, algorithm);
    gops_test_check(strcmp(algorithm, "gemm") == 0, "a refused text replaced gemm by %s",
                    algorithm);
    free(written);
    gops_choices_destroy(problem.choices);
}

static int line_at(const char *text, size_t place)
{
    int line = 1;
    for (size_t i = 0; i < place; i++)
        line += text[i] == '\n';
    return line;
}

/* Every byte missing from the end, every bit the other way round. A damaged end of a line shows in
 * that line or in what follows. */
static void damage_is_refused(void)
{
    size_t bytes;
    char *text = gops_choice_some_text(&bytes);
    char *copy = gops_test_allocate(bytes + 1);
    for (size_t length = 0; length < bytes; length++) {
        memcpy(copy, text, length); /* in memory of its own, where a byte too many is noticed */
        refuse("cut off", copy, length, line_at(text, length));
    }
    for (size_t place = 0; place < bytes; place++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, text, bytes);
            copy[place] = (char)(copy[place] ^ 1 << bit);
            const int whole =
                text[place] != '\n' && copy[place] != '\n' && line_at(text, place) > 1;
            refuse("a bit", copy, bytes, whole ? line_at(text, place) : 0);
        }
    }
    memcpy(copy, text, bytes);
    copy[bytes] = '\n';
    refuse("one line too many", copy, bytes + 1, 6);
    free(copy);
    free(text);
}

static void foreign_is_refused(void)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "{\"conv\": 1}\n",
                                        "groupops-choices 2\n",
                                        "groupops-choices 1 lines=0\n",
                                        "groupops-choices 3 lines=0\n",
                                        "groupops-choices 2 lines=-1\n",
                                        "groupops-choices 2 lines=00\n",
                                        "groupops-choices 2 lines=0 \n",
                                        "groupops-choices 2 lines=9999999999999999999999\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        refuse(texts[i], texts[i], strlen(texts[i]), 1);
    refuse("a 0", "groupops-choices 2 lines=0\0\n", 28, 1);
    gops_problem problem = gops_choice_grouped();
    char algorithm[32], text[2048];
    size_t bytes;
    problem.choices = gops_choice_create();
    problem.algorithm = "fastest";
    gops_choice_algorithm(&problem, algorithm);
    char *written = gops_choice_write_text(problem.choices, &bytes);
    gops_choices_destroy(problem.choices);
    static const char *const names[] = {"fft",        "",     "gemm ",         "direct/",
                                        "depthwise/", "norm", "direct/strips", "gemm/rows"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        gops_choice_replace_algorithm(written, names[i], text, sizeof text);
        refuse(names[i], text, strlen(text), 2);
    }
    refuse("no algorithm", "groupops-choices 2 lines=1\nconv sum=ec406307\n", 45, 2);
    free(written);
    char *endless = gops_test_allocate(100000);
    memset(endless, 'x', 100000);
    memcpy(endless, "groupops-choices 2 lines=1\n", 27);
    endless[99999] = '\n';
    refuse("a long line", endless, 100000, 2);
    free(endless);
}

static void arguments(void)
{
    gops_choices *choices = gops_choice_create();
    gops_error error;
    size_t bytes;
    char byte;
#define REFUSED(call, text)                                                                        \
    error = gops_fresh_error();                                                                    \
    gops_check_refusal(#call, call, &error, GOPS_INVALID, text)
    REFUSED(gops_choices_create(NULL, NULL, &error), "choices is NULL");
    const gops_host incomplete = {.size = 1};
    gops_choices *none = choices;
    const gops_status status = gops_choices_create(&incomplete, &none, &error);
    gops_test_check(status == GOPS_INVALID && none == NULL, "a host of size 1: %s", error.message);
    REFUSED(gops_choices_read(NULL, "", 0, &error), "choices is NULL");
    REFUSED(gops_choices_read(choices, NULL, 0, &error),
            "line 1 of the choices does not begin with \"groupops-choices VERSION lines=COUNT\"");
    REFUSED(gops_choices_read(choices, NULL, 1, &error), "text is NULL");
    REFUSED(gops_choices_write(NULL, &byte, 1, &bytes, &error), "choices is NULL");
    REFUSED(gops_choices_write(choices, &byte, 1, NULL, &error), "bytes is NULL");
    REFUSED(gops_choices_write(choices, NULL, 1000, &bytes, &error), "text is NULL");
#undef REFUSED
    gops_test_check(gops_choices_count(NULL) == 0, "NULL holds choices");
    gops_choices_destroy(NULL);
    gops_choices_destroy(choices);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"text_comes_back", text_comes_back},
        {"the_last_one_counts", the_last_one_counts},
        {"damage_is_refused", damage_is_refused},
        {"foreign_is_refused", foreign_is_refused},
        {"arguments", arguments},
        {NULL, NULL},
    };
    return gops_test_main("text of choices", cases);
}
