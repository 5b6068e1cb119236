/* test_tool_npy_refused.c: .npy files that the tool refuses, and its words for it. */
#include "harness.h"
#include "wide_numbers.h"
#include "tool_npy.h"
#include "tool_process.h"

#include "npy/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect_refusal(const char *what, const char *message)
{
    static gops_tool_error error;
    gops_npy_file file;
    char expected[512];
    snprintf(expected, sizeof expected, "x.npy: %s", message);
    const bool opened = gops_npy_open("x.npy", &file, &error);
    gops_test_check(!opened && error.exit_code == 1 && strcmp(error.message, expected) == 0,
                    "%s: \"%s\" instead of \"%s\"", what, opened ? "opened" : error.message,
                    expected);
    gops_test_check(file.descriptor == -1, "%s: the file is still open", what);
}

#define READ_DTYPES "; the dtypes f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 are read"

#define NO_ORDER " does not begin with the byte order, as '<f4' does"

/* A byte of 0 is not a byte order. The message ends where it stands. */
static void refuse_zero_order(void)
{
    static const char descr[] = "\0f4";
    static gops_tool_error error;
    gops_npy_header header = {0};
    const bool read = gops_npy_read_dtype(descr, sizeof descr - 1, &header, &error);
    gops_test_check(!read && strcmp(error.message, "descr ''" NO_ORDER) == 0, "%s",
                    read ? "read" : error.message);
}

static void refused_dtypes(void)
{
    static const struct {
        const char *descr;
        const char *message;
    } cases[] = {
        {"'|b1'", "descr '|b1' is bool" READ_DTYPES},
        {"'<c8'", "descr '<c8' is complex" READ_DTYPES},
        {"'<c16'", "descr '<c16' is complex" READ_DTYPES},
        {"'|O'", "descr '|O' is object (a pickle)" READ_DTYPES},
        {"'|S4'", "descr '|S4' is bytes" READ_DTYPES},
        {"'<U4'", "descr '<U4' is text" READ_DTYPES},
        {"'|V4'", "descr '|V4' is void (raw bytes)" READ_DTYPES},
        {"'<M8[ns]'", "descr '<M8[ns]' is datetime64" READ_DTYPES},
        {"'<m8'", "descr '<m8' is timedelta64" READ_DTYPES},
        {"'<f16'", "descr '<f16' is a float of another size" READ_DTYPES},
        {"'<i16'", "descr '<i16' is an integer of another size" READ_DTYPES},
        {"'<x4'", "descr '<x4' is unknown" READ_DTYPES},
        {"'<f'", "descr '<f' is a float of another size" READ_DTYPES},
        {"'f4'", "descr 'f4'" NO_ORDER},
        {"'f'", "descr 'f'" NO_ORDER},
        {"'float32'", "descr 'float32'" NO_ORDER},
        {"'<'", "descr '<' is empty" READ_DTYPES},
        {"''", "descr '' is empty" READ_DTYPES},
        {"'|f4'", "descr '|f4' does not say the byte order"},
        {"[('a', '<f4'), ('b', '<i4')]", "its dtype is structured; only plain numbers are read"},
        {"('<f4', (2,))", "the header has a descr that is not a string"},
        {"4", "the header has a descr that is not a string"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char header[256];
        snprintf(header, sizeof header, "{'descr': %s, 'fortran_order': False, 'shape': (2,), }",
                 cases[i].descr);
        tool_npy_write_raw("x.npy", 1, header, "12345678", 8);
        expect_refusal(header, cases[i].message);
    }
    refuse_zero_order();
}

#define DESCR "'descr': '<f4', "
#define ORDER "'fortran_order': False, "
#define NO_TUPLE "the header has a shape that is not a tuple of integers"
#define NO_DICTIONARY "the header is not a Python dictionary"

static void refused_headers(void)
{
    static const struct {
        const char *header;
        const char *message;
    } cases[] = {
        {"", NO_DICTIONARY},
        {"[]", NO_DICTIONARY},
        {"{", NO_DICTIONARY},
        {"{'descr'", NO_DICTIONARY},
        {"{'descr: '<f4'}", NO_DICTIONARY},
        {"{'des\\x63r': '<f4'}", NO_DICTIONARY},
        {"{descr: '<f4'}", NO_DICTIONARY},
        {"{'descr' '<f4'}", NO_DICTIONARY},
        {"{'descr': '<f4' " ORDER "'shape': (2,)}", NO_DICTIONARY},
        {"{}", "the header has no descr"},
        {"{" DESCR "'shape': (2,)}", "the header has no fortran_order"},
        {"{" DESCR ORDER "}", "the header has no shape"},
        {"{" DESCR DESCR ORDER "'shape': (2,)}", "the header has descr twice"},
        {"{" DESCR ORDER "'shape': (2,), 'shape': (2,)}", "the header has shape twice"},
        {"{" DESCR ORDER "'shape': (2,), 'extra': 1}", "the header has an unknown key 'extra'"},
        {"{" DESCR ORDER "'shape': (2,), } # more", "the header goes on after its dictionary"},
        {"{" DESCR "'fortran_order': 0, 'shape': (2,)}",
         "the header has a fortran_order that is neither True nor False"},
        {"{" DESCR "'fortran_order': true, 'shape': (2,)}",
         "the header has a fortran_order that is neither True nor False"},
        {"{" DESCR ORDER "'shape': 2}", NO_TUPLE},
        {"{" DESCR ORDER "'shape': [2]}", NO_TUPLE},
        {"{" DESCR ORDER "'shape': (2)}", NO_TUPLE},
        {"{" DESCR ORDER "'shape': (2 2)}", NO_TUPLE},
        {"{" DESCR ORDER "'shape': (2L,)}", NO_TUPLE},
        {"{" DESCR ORDER "'shape': (02,)}", NO_TUPLE},
        {"{" DESCR ORDER "'shape': (,)}", NO_TUPLE},
        {"{" DESCR ORDER "'shape': (1.5,)}", NO_TUPLE},
        {"{" DESCR ORDER "'shape': (None,)}", NO_TUPLE},
        {"{" DESCR ORDER "'shape': (2", NO_TUPLE},
        {"{" DESCR ORDER "'shape': (-2,)}", "the header has a negative dimension in its shape"},
        {"{" DESCR ORDER "'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 2)}",
         "its shape has more than 9 dimensions"},
        {"{" DESCR ORDER "'shape': (9223372036854775808,)}",
         "the header has a dimension beyond 2^63 - 1 in its shape"},
        {"{" DESCR ORDER "'shape': (99999999999999999999999999,)}",
         "the header has a dimension beyond 2^63 - 1 in its shape"},
        {"{" DESCR ORDER "'shape': (3,)}",
         "it has 8 bytes of elements; its shape and dtype ask for 12"},
        {"{" DESCR ORDER "'shape': (1,)}",
         "it has 8 bytes of elements; its shape and dtype ask for 4"},
        {"{" DESCR ORDER "'shape': (1000000, 1000000)}",
         GOPS_TEST_32_BIT ? "tensor: the product of its first 2 dimensions, in bytes, is "
                            "above " GOPS_TEST_MAX_BYTES "; they are 1000000,1000000 of f32"
                          : "it has 8 bytes of elements; its shape and dtype ask for "
                            "4000000000000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tool_npy_write_raw("x.npy", 1, cases[i].header, "12345678", 8);
        expect_refusal(cases[i].header, cases[i].message);
    }
}

/* A product of dimensions beyond all addresses is the library's to refuse. */
static void refused_product(void)
{
    static gops_tool_error error;
    gops_npy_file file;
    tool_npy_write_raw("x.npy", 1,
                       GOPS_TEST_32_BIT ? "{" DESCR ORDER "'shape': (65536, 65536)}"
                                        : "{" DESCR ORDER "'shape': (4294967296, 4294967296)}",
                       "12345678", 8);
    gops_test_check(!gops_npy_open("x.npy", &file, &error) &&
                        strstr(error.message, "the product of its first 2 dimensions") != NULL,
                    "%s", error.message);
}

static void write_bytes(const char *bytes, size_t count)
{
    FILE *file = fopen("x.npy", "wb");
    if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) {
        perror("x.npy");
        exit(EXIT_FAILURE);
    }
}

static void refused_starts(void)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *message;
    } cases[] = {
        {"", 0, "it does not begin as a .npy file does"},
        {"\x93NUMP", 5, "it does not begin as a .npy file does"},
        {"PK\x03\x04 an .npz file", 16, "it does not begin as a .npy file does"},
        {"\x93NUMPY", 6, "it ends before the header"},
        {"\x93NUMPY\x01\x00\x76", 9, "it ends before the header"},
        {"\x93NUMPY\x02\x00\x76\x00", 10, "it ends before the header"},
        {"\x93NUMPY\x01\x00\x76\x00{'descr'", 18, "it ends within the header"},
        {"\x93NUMPY\x01\x00\x00\x00", 10, "the header does not end with a newline"},
        {"\x93NUMPY\x01\x00\x02\x00{}", 12, "the header does not end with a newline"},
        {"\x93NUMPY\x00\x01\x02\x00{}", 12, "its format is version 0.1; 1.0, 2.0 and 3.0 are read"},
        {"\x93NUMPY\x04\x00\x02\x00\x00\x00{}", 14,
         "its format is version 4.0; 1.0, 2.0 and 3.0 are read"},
        {"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14,
         "its header has 4294967295 bytes; at most 65535 are read"},
        {"\x93NUMPY\x03\x00\x00\x00\x01\x00{}", 14,
         "its header has 65536 bytes; at most 65535 are read"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char what[32];
        snprintf(what, sizeof what, "start %zu", i);
        write_bytes(cases[i].bytes, cases[i].count);
        expect_refusal(what, cases[i].message);
    }
}

static void refused_files(void)
{
    static gops_tool_error error;
    gops_npy_file file;
    remove("x.npy");
    gops_test_check(
        !gops_npy_open("x.npy", &file, &error) &&
            strcmp(error.message, "x.npy: it cannot be opened: No such file or directory") == 0,
        "%s", error.message);
    if (mkdir("x.npy", 0700) != 0)
        perror("x.npy");
    expect_refusal("a folder", "it is not a regular file");
    rmdir("x.npy");
    if (mkfifo("x.npy", 0600) != 0)
        perror("x.npy");
    expect_refusal("a FIFO", "it is not a regular file");
    remove("x.npy");
}

/* The file loses its end after its header was read. */
static void shrinking_file(void)
{
    static gops_tool_error error;
    gops_npy_file file;
    void *elements;
    tool_npy_write_raw("x.npy", 1, "{" DESCR ORDER "'shape': (2,)}", "12345678", 8);
    if (!gops_test_check(gops_npy_open("x.npy", &file, &error), "%s", error.message))
        return;
    gops_test_check(truncate("x.npy", 128 + 3) == 0, "truncate");
    gops_test_check(!gops_npy_read(&file, &elements, &error) && elements == NULL &&
                        strcmp(error.message, "x.npy: it has become shorter while it was read") ==
                            0,
                    "%s", error.message);
    gops_npy_close(&file);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"dtypes", refused_dtypes},
        {"headers", refused_headers},
        {"product", refused_product},
        {"starts", refused_starts},
        {"files", refused_files},
        {"shrinking_file", shrinking_file},
        {0},
    };
    tool_folder_enter();
    const int status = gops_test_main("tool_npy_refused", cases);
    tool_folder_leave();
    return status;
}
