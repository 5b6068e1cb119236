/* test_tool_npy.c: the .npy reader and writer of the tool, on every variant of the format. */
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"
#include "tool_npy.h"
#include "tool_process.h"

#include "npy/element.h"
#include "npy/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *dtype;
    gops_type type;
} dtypes[] = {
    {"f2", GOPS_F16}, {"f4", GOPS_F32}, {"f8", GOPS_F64}, {"i1", GOPS_I8},
    {"i2", GOPS_I16}, {"i4", GOPS_I32}, {"i8", GOPS_I64}, {"u1", GOPS_U8},
    {"u2", GOPS_U16}, {"u4", GOPS_U32}, {"u8", GOPS_U64},
};

enum { DTYPES = sizeof dtypes / sizeof dtypes[0], ROWS = 3, COLUMNS = 5, PLANES = 2 };
enum { ELEMENTS = ROWS * COLUMNS * PLANES };

/* Byte `byte` of element `element`, lowest first: no two bytes of a file are alike. */
static unsigned char file_byte(int element, int byte)
{
    return (unsigned char)(element * 8 + byte + 1);
}

/* Where element `index` of the C order lies in Fortran order. */
static int fortran_index(int index)
{
    const int plane = index / (ROWS * COLUMNS);
    const int row = index / COLUMNS % ROWS;
    const int column = index % COLUMNS;
    return plane + PLANES * (row + ROWS * column);
}

static void fill(unsigned char *elements, int bytes, int big_endian, int fortran)
{
    for (int i = 0; i < ELEMENTS; i++) {
        const int at = fortran ? fortran_index(i) : i;
        for (int byte = 0; byte < bytes; byte++)
            elements[at * bytes + (big_endian ? bytes - 1 - byte : byte)] = file_byte(i, byte);
    }
}

/* Reads x.npy, which must hold those elements of that type. */
static void expect_elements(const char *what, gops_type type, int bytes)
{
    static gops_tool_error error;
    unsigned char expected[ELEMENTS * 8];
    gops_npy_file file;
    void *elements;
    fill(expected, bytes, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, 0);
    if (!gops_test_check(gops_npy_open("x.npy", &file, &error), "%s: %s", what, error.message))
        return;
    const gops_tensor tensor = GOPS_TEST_TENSOR(type, PLANES, ROWS, COLUMNS);
    gops_test_text text;
    gops_test_check(file.tensor.type == type && file.tensor.rank == tensor.rank &&
                        memcmp(file.tensor.dims, tensor.dims, 3 * sizeof(int64_t)) == 0,
                    "%s: is %s", what, gops_test_describe(&file.tensor, &text));
    if (gops_test_check(gops_npy_read(&file, &elements, &error), "%s: %s", what, error.message)) {
        gops_test_check(memcmp(elements, expected, (size_t)(ELEMENTS * bytes)) == 0,
                        "%s: elements differ", what);
        free(elements);
    }
    gops_npy_close(&file);
}

static void every_variant(void)
{
    for (int version = 1; version <= 3; version++) {
        for (int d = 0; d < DTYPES; d++) {
            for (int variant = 0; variant < 4; variant++) {
                const int big_endian = variant & 1;
                const int fortran = variant >> 1;
                const int bytes = dtypes[d].dtype[1] - '0';
                const char order = bytes == 1 ? '|' : big_endian ? '>' : '<';
                const gops_tensor tensor = GOPS_TEST_TENSOR(dtypes[d].type, PLANES, ROWS, COLUMNS);
                unsigned char elements[ELEMENTS * 8];
                tool_npy_text header;
                char what[64];
                fill(elements, bytes, big_endian, fortran);
                snprintf(what, sizeof what, "version %d, %c%s, fortran_order %d", version, order,
                         dtypes[d].dtype, fortran);
                tool_npy_write_raw(
                    "x.npy", version,
                    tool_npy_header(order, dtypes[d].dtype, fortran, &tensor, &header), elements,
                    (size_t)(ELEMENTS * bytes));
                expect_elements(what, dtypes[d].type, bytes);
            }
        }
    }
}

/* Headers that others write: no spaces, other quotes, another order of keys, "=" for the machine's
 * own byte order, a byte order for single bytes, a comma after the last dimension. */
static void other_headers(void)
{
    static const struct {
        const char *header;
        gops_type type;
    } cases[] = {
        {"{'descr':'<i2','fortran_order':False,'shape':(2,3,5)}", GOPS_I16},
        {"{\"shape\": (2, 3, 5, ), \"descr\": \"<i2\", \"fortran_order\": False}", GOPS_I16},
        {" { 'fortran_order' : False , 'shape' : ( 2 , 3 , 5 ) , 'descr' : '<u2' , } ", GOPS_U16},
        {"{'descr': '<u1', 'fortran_order': False, 'shape': (2, 3, 5), }", GOPS_U8},
        {"{'descr': '>i1', 'fortran_order': False, 'shape': (2, 3, 5), }", GOPS_I8},
        {"{'descr': '=i1', 'fortran_order': False, 'shape': (2, 3, 5), }", GOPS_I8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int bytes = (int)gops_test_type_bytes(cases[i].type);
        unsigned char elements[ELEMENTS * 8];
        fill(elements, bytes, 0, 0);
        tool_npy_write_raw("x.npy", 1, cases[i].header, elements, (size_t)(ELEMENTS * bytes));
        expect_elements(cases[i].header, cases[i].type, bytes);
    }
}

/* More elements than are read at once, in Fortran order and the other byte order. */
static void large_fortran(void)
{
    enum { FIRST = 211, SECOND = 307, THIRD = 5 };
    static gops_tool_error error;
    const gops_tensor tensor = GOPS_TEST_TENSOR(GOPS_I32, FIRST, SECOND, THIRD);
    const int64_t count = gops_test_elements(&tensor);
    unsigned char *elements = gops_test_allocate((size_t)count * 4);
    tool_npy_text header;
    gops_npy_file file;
    void *got;
    for (int64_t i = 0; i < count; i++) {
        for (int byte = 0; byte < 4; byte++)
            elements[i * 4 + byte] = (unsigned char)(i >> (24 - 8 * byte));
    }
    tool_npy_write_raw("x.npy", 1, tool_npy_header('>', "i4", 1, &tensor, &header), elements,
                       (size_t)count * 4);
    free(elements);
    if (!gops_test_check(gops_npy_open("x.npy", &file, &error) &&
                             gops_npy_read(&file, &got, &error),
                         "%s", error.message))
        return;
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t first = i / (SECOND * THIRD);
        const int64_t second = i / THIRD % SECOND;
        wrong += ((int32_t *)got)[i] != first + FIRST * (second + SECOND * (i % THIRD));
    }
    gops_test_check(wrong == 0, "%" PRId64 " elements differ", wrong);
    free(got);
    gops_npy_close(&file);
}

/* Which dtypes may hold which types. */
static void retype(void)
{
    static const struct {
        const char *dtype;
        gops_type type;
        const char *message; /* NULL: it may */
    } cases[] = {
        {"u2", GOPS_BF16, NULL},
        {"u2", GOPS_F16, NULL},
        {"f2", GOPS_F16, NULL},
        {"u1", GOPS_F8E4M3, NULL},
        {"u1", GOPS_F8E5M2, NULL},
        {"u2", GOPS_U16, NULL},
        {"f4", GOPS_F32, NULL},
        {"f2", GOPS_BF16, "x.npy: its elements are f16; type bf16 needs a file of u16"},
        {"i2", GOPS_BF16, "x.npy: its elements are i16; type bf16 needs a file of u16"},
        {"f4", GOPS_F16, "x.npy: its elements are f32; type f16 needs a file of f16 or u16"},
        {"u2", GOPS_F8E4M3, "x.npy: its elements are u16; type f8e4m3 needs a file of u8"},
        {"f4", GOPS_F64, "x.npy: its elements are f32; type f64 needs a file of f64"},
        {"u4", GOPS_F32, "x.npy: its elements are u32; type f32 needs a file of f32"},
    };
    static const char elements[16];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static gops_tool_error error;
        gops_npy_file file;
        const gops_tensor tensor = GOPS_TEST_TENSOR(GOPS_F32, 2);
        tool_npy_write("x.npy", cases[i].dtype, &tensor, elements);
        if (!gops_test_check(gops_npy_open("x.npy", &file, &error), "%s", error.message))
            continue;
        const bool done = gops_npy_retype(&file, cases[i].type, &error);
        gops_test_check(done == (cases[i].message == NULL), "%s as type %d", cases[i].dtype,
                        (int)cases[i].type);
        gops_test_check(done ? file.tensor.type == cases[i].type
                             : strcmp(error.message, cases[i].message) == 0,
                        "%s as type %d: %s", cases[i].dtype, (int)cases[i].type, error.message);
        gops_npy_close(&file);
    }
}

static void write_every_type(void)
{
    static gops_tool_error error;
    unsigned char elements[ELEMENTS * 8];
    for (int i = 1; gops_type_bytes((gops_type)i) != 0; i++) {
        const gops_type type = (gops_type)i;
        const int bytes = (int)gops_test_type_bytes(type);
        const gops_tensor tensor = GOPS_TEST_TENSOR(type, PLANES, ROWS, COLUMNS);
        const char *dtype = type == GOPS_BF16 ? "u2" : bytes == 1 ? "u1" : NULL;
        for (int d = 0; d < DTYPES; d++)
            dtype = dtypes[d].type == type ? dtypes[d].dtype : dtype;
        fill(elements, bytes, 0, 0);
        gops_test_check(
            gops_npy_write("y.npy", &tensor, gops_npy_stored_type(type), elements, &error), "%s",
            error.message);
        void *got = tool_npy_read("y.npy", dtype, &tensor);
        gops_test_check(got != NULL && memcmp(got, elements, (size_t)(ELEMENTS * bytes)) == 0,
                        "type %d as %s", i, dtype);
        free(got);
    }
}

/* Ranks from 1 to 9, with the longest numbers there are. */
static void write_every_rank(void)
{
    static gops_tool_error error;
    static const int64_t dims[GOPS_MAX_RANK] = {
        0, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    for (int32_t rank = 1; rank <= GOPS_MAX_RANK; rank++) {
        const gops_tensor tensor = gops_test_tensor(GOPS_F64, rank, dims);
        gops_npy_file file;
        gops_test_check(gops_npy_write("y.npy", &tensor, GOPS_F64, NULL, &error), "%s",
                        error.message);
        if (!gops_test_check(gops_npy_open("y.npy", &file, &error), "rank %d: %s", rank,
                             error.message))
            continue;
        gops_test_check(file.tensor.rank == rank &&
                            memcmp(file.tensor.dims, dims, (size_t)rank * sizeof *dims) == 0,
                        "rank %d", rank);
        gops_npy_close(&file);
    }
}

/* What numpy.save makes of a single number has one axis here. */
static void single_number(void)
{
    static const unsigned char element[4] = {1, 2, 2, 1}; /* in either order */
    const gops_tensor scalar = {.type = GOPS_F32};
    gops_tool_error error;
    gops_npy_file file;
    tool_npy_text header;
    void *read;
    tool_npy_write_raw("x.npy", 1, tool_npy_header('<', "f4", 0, &scalar, &header), element, 4);
    if (!gops_test_check(gops_npy_open("x.npy", &file, &error), "%s", error.message))
        return;
    gops_test_check(file.tensor.rank == 1 && file.tensor.dims[0] == 1, "rank %d",
                    (int)file.tensor.rank);
    if (gops_test_check(gops_npy_read(&file, &read, &error), "%s", error.message)) {
        gops_test_check(memcmp(read, element, sizeof element) == 0, "another number");
        free(read);
    }
    gops_npy_close(&file);
}

/* Halfway between two numbers of the type, but for a bit that floats lack: up, not to even. */
static void elements_round_once(void)
{
    static const struct {
        gops_type type;
        double number, expected;
    } all[] = {
        {GOPS_F16, 1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-10},
        {GOPS_F16, -1 - 0x1p-11 - 0x1p-40, -1 - 0x1p-10},
        {GOPS_F16, 1 + 0x1p-11, 1},
        {GOPS_BF16, 1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-7},
        {GOPS_F8E4M3, 1 + 0x1p-4 + 0x1p-40, 1 + 0x1p-3},
        {GOPS_F32, 1 + 0x1p-24 + 0x1p-40, 1 + 0x1p-23},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        uint64_t element = 0;
        gops_element_store(all[i].type, all[i].number, &element);
        const double got = gops_element_load(all[i].type, &element);
        gops_test_check(got == all[i].expected, "%a becomes %a of %s, not %a", all[i].number, got,
                        gops_test_type_name(all[i].type), all[i].expected);
    }
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"every_variant", every_variant},
        {"other_headers", other_headers},
        {"large_fortran", large_fortran},
        {"retype", retype},
        {"write_every_type", write_every_type},
        {"write_every_rank", write_every_rank},
        {"single_number", single_number},
        {"elements_round_once", elements_round_once},
        {0},
    };
    tool_folder_enter();
    const int status = gops_test_main("tool_npy", cases);
    tool_folder_leave();
    return status;
}
