/* choice_problems.c: problems to choose for, and lines of choices with their checksums. */
#include "choice_problems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refusal.h"
#include "elements.h"
#include "harness.h"

static const char header[] = "groupops-choices 2 lines=";

gops_problem gops_choice_grouped(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, 13, 11),
                          .filter = GOPS_TEST_TENSOR(GOPS_F32, 3, 7, 5, 3, 2)};
}

gops_problem gops_choice_depthwise(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_CONV,
                          .data = GOPS_TEST_TENSOR(GOPS_BF16, 1, 37, 13, 11),
                          .filter = GOPS_TEST_TENSOR(GOPS_BF16, 37, 1, 1, 3, 2)};
}

gops_problem gops_choice_transposed(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_DECONV,
                          .data = GOPS_TEST_TENSOR(GOPS_F64, 1, 6, 7, 5),
                          .filter = GOPS_TEST_TENSOR(GOPS_F64, 2, 3, 5, 3, 2),
                          .deconv.strides = {2, {2, 3}}};
}

gops_problem gops_choice_norm(void)
{
    return (gops_problem){.operation = GOPS_PROBLEM_NORM,
                          .data = GOPS_TEST_TENSOR(GOPS_F32, 2, 15, 13, 11),
                          .norm = {.num_groups = 3, .epsilon = 1e-3}};
}

gops_choices *gops_choice_create(void)
{
    gops_choices *choices = NULL;
    gops_error error;
    if (gops_choices_create(NULL, &choices, &error) != GOPS_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(EXIT_FAILURE);
    }
    return choices;
}

char *gops_choice_write_text(const gops_choices *choices, size_t *bytes)
{
    gops_error error = gops_fresh_error();
    gops_status status = gops_choices_write(choices, NULL, 0, bytes, &error);
    char *text = gops_test_allocate(*bytes + 1);
    size_t again = 0;
    memset(text, '?', *bytes + 1);
    if (status == GOPS_OK)
        status = gops_choices_write(choices, text, *bytes - 1, &again, &error);
    gops_test_check(status == GOPS_OK && again == *bytes && text[0] == '?',
                    "with too little room: %s", error.message);
    status = gops_choices_write(choices, text, *bytes, &again, &error);
    gops_test_check(status == GOPS_OK && again == *bytes && text[*bytes] == '?', "writing: %s",
                    error.message);
    text[*bytes] = '\0';
    return text;
}

int gops_choice_algorithm(const gops_problem *problem, char algorithm[32])
{
    gops_plan *plan;
    gops_plan_info info = {.size = sizeof info};
    gops_error error = gops_fresh_error();
    const gops_status status = gops_problem_plan(problem, &plan, &error);
    if (!gops_test_check(status == GOPS_OK, "no plan: %s", error.message))
        return 0;
    gops_plan_get_info(plan, &info, NULL);
    snprintf(algorithm, 32, "%s", info.algorithm);
    gops_plan_destroy(plan);
    return 1;
}

unsigned gops_choice_sum(const char *line, size_t bytes)
{
    uint32_t sum = 2166136261U;
    for (size_t i = 0; i < bytes; i++)
        sum = (uint32_t)((uint64_t)(sum ^ (unsigned char)line[i]) * 16777619U);
    return sum;
}

void gops_choice_replace_algorithm(const char *text, const char *algorithm, char *result,
                                   size_t bytes)
{
    const char *line = strchr(text, '\n') + 1;
    const int key = (int)(strstr(line, " algorithm=") - line);
    char content[1024];
    const int length = snprintf(content, sizeof content, "%.*s algorithm=%s", key, line, algorithm);
    snprintf(result, bytes, "%s1\n%s sum=%08x\n", header, content,
             gops_choice_sum(content, (size_t)length));
}

char *gops_choice_some_text(size_t *bytes)
{
    gops_problem problems[] = {gops_choice_transposed(), gops_choice_grouped(), gops_choice_norm(),
                               gops_choice_depthwise()};
    gops_choices *choices = gops_choice_create();
    char algorithm[32];
    for (size_t i = 0; i < 4; i++) {
        problems[i].choices = choices;
        problems[i].algorithm = "fastest";
        gops_choice_algorithm(&problems[i], algorithm);
    }
    char *text = gops_choice_write_text(choices, bytes);
    gops_choices_destroy(choices);
    return text;
}
