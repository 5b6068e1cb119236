/* test_ir_hostile.c: files made to break a reader of XML, and a valid one cut off at many lengths. */
#include "ir_files.h"
#include "harness.h"
#include "tool_process.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect_refused(const char *what, const char *message)
{
    tool_result result;
    tool_run(&result, "ir m.xml", NULL);
    const char *newline = strchr(result.err, '\n');
    gops_test_check(result.exit_code == 1 && newline != NULL && newline[1] == '\0' &&
                        strstr(result.err, message) != NULL,
                    "%s: %d, %s", what, result.exit_code, result.err);
    gops_test_check(result.peak_kib < 400 << 10, "%s: %ld KiB", what, result.peak_kib);
}

static void entities(void)
{
    static const char message[] = "it has a document type declaration; an IR has none";
    ir_write_text("secret", "55");
    ir_write_text("m.xml", "<!DOCTYPE net [<!ENTITY e SYSTEM \"secret\">]>\n"
                           "<net version=\"11\"><layers>&e;</layers></net>");
    expect_refused("an external entity", message);
    ir_write_text("m.xml", "<?xml version=\"1.0\"?><!DOCTYPE net SYSTEM \"http://localhost/x.dtd\">"
                           "<net version=\"11\"/>");
    expect_refused("an external DTD", message);
    ir_write_text("m.xml", "<!-- > --><!DOCTYPE n [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b "
                           "\"&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\">]>"
                           "<net version=\"&c;\"/>");
    expect_refused("an entity bomb", message);
    ir_write_text("m.xml", "<net version=\"11\"><layers>&unknown;</layers></net>");
    expect_refused("an unknown entity", "it is not XML");
}

static void encodings(void)
{
    static const char wide[] = "\xff\xfe<\0n\0e\0t\0/\0>\0";
    ir_write("m.xml", wide, sizeof wide - 1);
    expect_refused("UTF-16", "it is not a text in UTF-8");
    ir_write_text("m.xml", "\xc0\x80<net/>");
    expect_refused("bad UTF-8", "it is not XML");
    ir_write_text("m.xml", "");
    expect_refused("nothing", "it is empty");
    ir_write_text("m.xml", " \n ");
    expect_refused("spaces", "it is empty");
    ir_write_text("m.xml", "<model/>");
    expect_refused("another root", "its root is <model>");
    ir_write_text("m.xml", "<net version=\"10\"/>");
    expect_refused("no layers", "it has no <layers>");
    ir_write_text("m.xml", "<net version=\"10\"><layers/></net>");
    expect_refused("empty layers", "it has no layers");
    ir_write_text("m.xml", "<layer type=\"Relu\"/>");
    expect_refused("a lone layer without ports", "a lone layer is run that has inputs");
    ir_write_text(
        "m.xml",
        "<layer type=\"Concat\"><data axis=\"0\"/><input><port id=\"0\"/><port id=\"1\"/>"
        "<port id=\"2\"/><port id=\"3\"/></input><output><port id=\"4\"/></output></layer>");
    expect_refused("a lone layer of four inputs", "a lone layer is run that has inputs, at most 3");
}

static void write_repeated(const char *before, const char *text, int times)
{
    const size_t length = strlen(text);
    const size_t first = strlen(before);
    char *all = malloc(first + length * (size_t)times);
    if (all == NULL)
        exit(EXIT_FAILURE);
    memcpy(all, before, first);
    for (int i = 0; i < times; i++)
        memcpy(all + first + (size_t)i * length, text, length);
    ir_write("m.xml", all, first + length * (size_t)times);
    free(all);
}

static void sizes(void)
{
    write_repeated("<net version=\"11\">", "<layers>", 1000000);
    expect_refused("a million levels", "it is not XML");
    write_repeated("<net version=\"11\"><layers><layer id=\"0\" type=\"Const\"><data ", "x=\"1\" ",
                   100000);
    expect_refused("an attribute 100000 times", "it is not XML");
    write_repeated("<layer type=\"Relu\"><input>", "<port id=\"1\"/>", 3000);
    expect_refused("not closed", "it is not XML");
    ir_write_text("m.xml", "<layer type=\"Relu\"><input><port id=\"0\"><dim>1048576</dim>"
                           "<dim>1048576</dim></port></input><output><port id=\"1\">"
                           "<dim>1048576</dim><dim>1048576</dim></port></output></layer>");
    expect_refused("4 TiB", "has 4398046511104 bytes; this machine has a memory of");
    ir_write_text("m.xml", "<layer type=\"Relu\"><input><port id=\"0\"><dim>4294967296</dim>"
                           "<dim>4294967296</dim></port></input><output><port id=\"1\">"
                           "<dim>4294967296</dim><dim>4294967296</dim></port></output></layer>");
    expect_refused("2^66 bytes", "layer 0 (Parameter, \"data\"): ");
}

/* At every byte of both ends, and every 7th between: each length is a process of its own. */
static void truncated(void)
{
    enum { ENDS = 200, STEP = 7 };
    static const char bin[IR_SMALL_BIN_BYTES];
    /* The last character is a newline. */
    const size_t count = strlen(ir_small_net) - 1;
    ir_write("m.bin", bin, sizeof bin);
    for (size_t kept = 0; kept < count; kept++) {
        const bool is_near_an_end = kept < ENDS || kept >= count - ENDS;
        tool_result result;
        if (!is_near_an_end && kept % STEP != 0)
            continue;
        ir_write("m.xml", ir_small_net, kept);
        tool_run(&result, "ir m.xml --threads=1", NULL);
        const char *newline = strchr(result.err, '\n');
        if (!gops_test_check(result.exit_code == 1 && newline != NULL && newline[1] == '\0',
                             "%zu bytes of %zu: exit code %d, %s", kept, count, result.exit_code,
                             result.err))
            break;
    }
    gops_test_check(access("y.npy", F_OK) != 0, "a file cut off has an output");
    ir_write("m.xml", ir_small_net, count);
    tool_expect("ir m.xml", 0, "");
    gops_test_check(access("y.npy", F_OK) == 0, "the whole file has no output");
}

/* Names that lead out of the folder, and two that lead to one file. */
static void names(void)
{
    static char text[8192];
    static const char bin[IR_SMALL_BIN_BYTES];
    ir_write("m.bin", bin, sizeof bin);
    ir_change(text, sizeof text, "name=\"y\"", "name=\"../../e v/il&#10;\"");
    ir_write_text("m.xml", text);
    tool_expect("ir m.xml --output-dir=out", 0, "");
    gops_test_check(access("out/_._.._e_v_il_.npy", F_OK) == 0,
                    "the output is not where it belongs");
    ir_change(text, sizeof text, "<layer id=\"3\" name=\"y\" type=\"Result\" version=\"opset1\">",
              "<layer id=\"4\" name=\"a/b\" type=\"Result\"><input><port id=\"0\"><dim>1</dim>"
              "<dim>6</dim><dim>3</dim></port></input></layer>"
              "<layer id=\"3\" name=\"a_b\" type=\"Result\">");
    char *edges = strstr(text, "</edges>");
    char rest[64];
    snprintf(rest, sizeof rest, "%s", edges);
    snprintf(edges, sizeof text - (size_t)(edges - text),
             "<edge from-layer=\"2\" from-port=\"2\" to-layer=\"4\" to-port=\"0\"/>%s", rest);
    ir_write_text("m.xml", text);
    expect_refused("two Results", "two Results would be written to a_b.npy");
    /* What cannot be written is told before anything is. */
    memcpy(strstr(text, "a/b"), "c/d", 3);
    ir_write_text("m.xml", text);
    gops_test_check(mkdir("out/a_b.npy", 0777) == 0, "mkdir");
    tool_expect_refusal("ir m.xml --output-dir=out", 1,
                        "out/a_b.npy: it cannot be written: Is a directory");
    gops_test_check(access("out/c_d.npy", F_OK) != 0, "the other output was written");
}

/* Characters that a terminal would obey: U+0009 and U+009B. Others of two bytes stay. */
static void controls(void)
{
    static char text[8192];
    static const char bin[IR_SMALL_BIN_BYTES];
    tool_result result;
    ir_write("m.bin", bin, sizeof bin);
    ir_change(text, sizeof text, "name=\"conv\"", "name=\"a&#9;b&#x9b;31m&#xa0;&#xdb;\"");
    ir_write_text("m.xml", text);
    tool_run(&result, "ir m.xml", NULL);
    gops_test_check(result.exit_code == 0 && strstr(result.out, "a?b?31m\xc2\xa0\xc3\x9b ") != NULL,
                    "%s%s", result.err, result.out);
    memcpy(strstr(text, "strides=\"1\""), "strides=\"0\"", sizeof "strides=\"0\"" - 1);
    ir_write_text("m.xml", text);
    expect_refused("a name with controls", "\"a?b?31m\xc2\xa0\xc3\x9b\")");
}

/* Elements inside each other, closed and left open: a reader that calls itself for each of them
 * would run out of stack. */
static void nesting(void)
{
    enum { DEEP = 1000000, WORD = sizeof "<a>" - 1, END = sizeof "</a>" - 1 };
    static const char start[] = "<net version=\"11\">", end[] = "</net>";
    const size_t open_bytes = sizeof start - 1 + DEEP * WORD;
    char *text = malloc(open_bytes + DEEP * END + sizeof end);
    if (!gops_test_check(text != NULL, "no memory"))
        return;
    memcpy(text, start, sizeof start - 1);
    for (size_t i = 0; i < DEEP; i++) {
        memcpy(text + sizeof start - 1 + i * WORD, "<a>", WORD);
        memcpy(text + open_bytes + i * END, "</a>", END);
    }
    memcpy(text + open_bytes + DEEP * END, end, sizeof end);
    ir_write_text("m.xml", text);
    expect_refused("a million elements inside each other", "it is not XML");
    text[open_bytes] = '\0';
    ir_write_text("m.xml", text);
    expect_refused("a million elements without an end", "it is not XML");
    free(text);
}

/* Files may not grow beyond fewer bytes than an output has: nothing of it is left. */
static void no_room(void)
{
#ifdef __clang__
    gops_test_skip("LLVM's OpenMP makes a file of 1 KB itself, and dies of the limit");
#endif
    static const char bin[IR_SMALL_BIN_BYTES];
    static const tool_surroundings short_files = {.most_file_bytes = 64};
    tool_result result;
    ir_write("m.bin", bin, sizeof bin);
    ir_write_text("m.xml", ir_small_net);
    remove("y.npy");
    const int files = tool_folder_count();
    tool_run(&result, "ir m.xml", &short_files);
    gops_test_check(result.exit_code == 1 && strstr(result.err, "y.npy: it cannot be written"),
                    "%d %s", result.exit_code, result.err);
    gops_test_check(tool_folder_count() == files, "something was left behind");
}

/* As anybody but root, who may read everything. */
static void unreadable(void)
{
    if (geteuid() == 0)
        gops_test_skip("root may read every file");
    ir_write_text("m.xml", ir_small_net);
    gops_test_check(chmod("m.xml", 0) == 0, "chmod");
    expect_refused("no permission", "m.xml: it cannot be opened: Permission denied");
    gops_test_check(chmod("m.xml", 0600) == 0, "chmod");
}

int main(void)
{
    static const gops_test_case cases[] = {{"entities", entities},     {"encodings", encodings},
                                           {"nesting", nesting},       {"sizes", sizes},
                                           {"truncated", truncated},   {"names", names},
                                           {"controls", controls},     {"no_room", no_room},
                                           {"unreadable", unreadable}, {0}};
    tool_folder_enter();
    const int status = gops_test_main("ir_hostile", cases);
    tool_folder_leave();
    return status;
}
