/* test_tool_compare.c: groupops compare: distances of elements, what is allowed, what is refused. */
#include "harness.h"
#include "tool_npy.h"
#include "tool_process.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void write_pair(gops_type type, const char *dtype, int64_t count, const void *a,
                       const void *b)
{
    const gops_tensor tensor = {type, 1, {count}};
    tool_npy_write("a.npy", dtype, &tensor, a);
    tool_npy_write("b.npy", dtype, &tensor, b);
}

/* Whether the output has a row with the distance, the index and both values. */
static void expect_row(const char *out, const char *ulp, const char *index, const char *a,
                       const char *b)
{
    char line[512] = "", words[5][64];
    for (const char *at = out; *at != '\0'; at += strcspn(at, "\n") + (strchr(at, '\n') != NULL)) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        if (sscanf(line, "%63s %63s %63s %63s %63s", words[0], words[1], words[2], words[3],
                   words[4]) == 5 &&
            strcmp(words[0], ulp) == 0 && strcmp(words[2], index) == 0 &&
            strcmp(words[3], a) == 0 && strcmp(words[4], b) == 0)
            return;
    }
    gops_test_check(0, "no row %s .. %s %s %s in\n%s", ulp, index, a, b, out);
}

static void expect_exit(const tool_result *result, int exit_code, const char *err)
{
    gops_test_check(result->exit_code == exit_code && strcmp(result->err, err) == 0,
                    "exit code %d, %s", result->exit_code, result->err);
}

#define DIFFER(of) "groupops: a.npy and b.npy differ by more than is allowed: " of " elements\n"

static void equal(void)
{
    const float a[5] = {1, -0.0F, INFINITY, NAN, -3};
    const float b[5] = {1, 0.0F, INFINITY, -NAN, -3};
    tool_result result;
    write_pair(GOPS_F32, "f4", 5, a, b);
    tool_run(&result, "compare a.npy b.npy", NULL);
    expect_exit(&result, 0, "");
    gops_test_check(strcmp(result.out, "tensors   f32, 5\nelements  5\ndifferent 0\n"
                                       "beyond    0\n") == 0,
                    "%s", result.out);
}

static void floats(void)
{
    /* Neighbours; across zero: the smallest numbers of both signs are two apart. */
    const float a[6] = {1, -1, 0x1p-149F, 2, 5, 7};
    const float b[6] = {nextafterf(1, 2), nextafterf(nextafterf(-1, 0), 0), -0x1p-149F, 2, NAN,
                        INFINITY};
    tool_result result;
    write_pair(GOPS_F32, "f4", 6, a, b);
    tool_run(&result, "compare a.npy b.npy", NULL);
    expect_exit(&result, 1, DIFFER("5 of 6"));
    expect_row(result.out, "1", "0", "1", "1.00000012");
    expect_row(result.out, "2", "1", "-1", "-0.999999881");
    expect_row(result.out, "2", "2", "1.40129846e-45", "-1.40129846e-45");
    expect_row(result.out, "NaN", "4", "5", "nan");
    expect_row(result.out, "1050673152", "5", "7", "inf"); /* 0x7f800000 - 0x40e00000 */
    gops_test_check(strstr(result.out, "different 5\nbeyond    5\n") != NULL, "%s", result.out);
}

/* f64, and the three 16-bit and 8-bit forms as the bits of integers. */
static void other_floats(void)
{
    const double a[2] = {1, 4}, b[2] = {nextafter(1, 0), 4};
    /* bf16 1 and 1.0078125; f16 65504 and infinity; f8e4m3 448 and NaN; f8e5m2 1 and 1.5 */
    const uint16_t bf16[2] = {0x3f80, 0x3f81}, f16[2] = {0x7bff, 0x7c00};
    const uint8_t e4m3[2] = {0x7e, 0xff}, e5m2[2] = {0x3c, 0x3e};
    tool_result result;
    write_pair(GOPS_F64, "f8", 2, a, b);
    tool_run(&result, "compare a.npy b.npy", NULL);
    expect_row(result.out, "1", "0", "1", "0.99999999999999989");
    write_pair(GOPS_U16, "u2", 1, &bf16[0], &bf16[1]);
    tool_run(&result, "compare a.npy b.npy --type=bf16", NULL);
    expect_row(result.out, "1", "0", "1", "1.008");
    write_pair(GOPS_U16, "u2", 1, &f16[0], &f16[1]);
    tool_run(&result, "compare a.npy b.npy --type=f16", NULL);
    expect_row(result.out, "1", "0", "65504", "inf");
    write_pair(GOPS_F16, "f2", 1, &f16[0], &f16[0]);
    tool_run(&result, "compare a.npy b.npy", NULL);
    expect_exit(&result, 0, "");
    write_pair(GOPS_U8, "u1", 1, &e4m3[0], &e4m3[1]);
    tool_run(&result, "compare a.npy b.npy --type=f8e4m3", NULL);
    expect_row(result.out, "NaN", "0", "448", "nan");
    write_pair(GOPS_U8, "u1", 1, &e5m2[0], &e5m2[1]);
    tool_run(&result, "compare a.npy b.npy --type=f8e5m2", NULL);
    expect_row(result.out, "2", "0", "1", "1.5");
}

static void integers(void)
{
    const int8_t a[2] = {-128, 3}, b[2] = {127, 3};
    const int64_t c[1] = {INT64_MIN}, d[1] = {INT64_MAX};
    const uint64_t e[1] = {UINT64_MAX}, f[1] = {1};
    tool_result result;
    write_pair(GOPS_I8, "i1", 2, a, b);
    tool_run(&result, "compare a.npy b.npy --max-ulp=254", NULL);
    expect_exit(&result, 1, DIFFER("1 of 2"));
    expect_row(result.out, "255", "0", "-128", "127");
    tool_run(&result, "compare a.npy b.npy --max-ulp=255", NULL);
    expect_exit(&result, 0, "");
    write_pair(GOPS_I64, "i8", 1, c, d);
    tool_run(&result, "compare a.npy b.npy", NULL);
    expect_row(result.out, "18446744073709551615", "0", "-9223372036854775808",
               "9223372036854775807");
    write_pair(GOPS_U64, "u8", 1, e, f);
    tool_run(&result, "compare a.npy b.npy", NULL);
    expect_row(result.out, "18446744073709551614", "0", "18446744073709551615", "1");
}

/* The worst by ulp is another element than the largest difference; both are shown, with their places
 * in the shape. Of more than are shown, the worst are. */
static void worst(void)
{
    float a[2 * 3 * 5], b[2 * 3 * 5];
    const gops_tensor tensor = {GOPS_F32, 3, {2, 3, 5}};
    tool_result result;
    for (int i = 0; i < 30; i++)
        a[i] = b[i] = (float)(i + 1);
    for (int i = 0; i < 10; i++)
        b[i] = nextafterf(b[i], 100);
    b[17] = nextafterf(nextafterf(nextafterf(b[17], 0), 0), 0); /* 3 ulp: 5.7e-6 */
    b[29] = 31;                                                 /* 2^19 ulp */
    a[22] = 0x1p-30F;
    b[22] = 0x1p-20F; /* 10 * 2^23 ulp */
    tool_npy_write("a.npy", "f4", &tensor, a);
    tool_npy_write("b.npy", "f4", &tensor, b);
    tool_run(&result, "compare a.npy b.npy --max-ulp=2 --max-difference=1e-6", NULL);
    expect_exit(&result, 1, DIFFER("2 of 30"));
    expect_row(result.out, "83886080", "1,1,2", "9.31322575e-10", "9.53674316e-07");
    expect_row(result.out, "524288", "1,2,4", "30", "31");
    expect_row(result.out, "3", "1,0,2", "18", "17.9999943");
    expect_row(result.out, "1", "0,0,4", "5", "5.00000048");
    const char *largest = strstr(result.out, "largest difference:\n");
    gops_test_check(largest != NULL, "%s", result.out);
    if (largest != NULL)
        expect_row(largest, "524288", "1,2,4", "30", "31");
    gops_test_check(strstr(result.out, "different 13\n") != NULL &&
                        strstr(result.out, " 0,1,1 ") == NULL,
                    "%s", result.out);
    tool_run(&result, "compare a.npy b.npy --max-difference=1", NULL);
    expect_exit(&result, 0, "");
}

static void refused(void)
{
    const float one[6] = {1};
    const gops_tensor a = {GOPS_F32, 2, {2, 3}}, b = {GOPS_F32, 2, {3, 2}},
                      i = {GOPS_I32, 2, {2, 3}};
    tool_npy_write("a.npy", "f4", &a, one);
    tool_npy_write("b.npy", "f4", &b, one);
    tool_npy_write("i.npy", "i4", &i, one);
    tool_expect("compare a.npy b.npy", 1,
                "groupops: the shape of a.npy is 2,3, that of b.npy is 3,2\n");
    tool_expect("compare a.npy i.npy", 1,
                "groupops: the elements of a.npy are f32, those of i.npy are i32\n");
    tool_expect("compare a.npy no.npy", 1,
                "groupops: no.npy: it cannot be opened: No such file or directory\n");
    tool_expect("compare a.npy a.npy --type=bf16", 1,
                "groupops: a.npy: its elements are f32; type bf16 needs a file of u16\n");
    tool_expect("compare a.npy", 2, "groupops: compare needs two files: A.npy B.npy\n");
    tool_expect("compare", 2, "groupops: compare needs two files: A.npy B.npy\n");
    tool_expect("compare a.npy b.npy i.npy", 2,
                "groupops: \"i.npy\" is not expected after compare\n");
    tool_expect("compare a.npy b.npy --max-ulp=-1", 2, "groupops: --max-ulp=-1 is below 0\n");
    tool_expect("compare a.npy b.npy --max-difference=nan", 2,
                "groupops: --max-difference=nan is not 0 or above\n");
    tool_expect("compare a.npy b.npy --json", 2, "groupops: --json does not go with compare\n");
}

/* An axis of length 0: nothing differs. */
static void empty(void)
{
    const gops_tensor none = {GOPS_F32, 2, {0, 3}};
    tool_npy_write("a.npy", "f4", &none, "");
    tool_expect("compare a.npy a.npy", 0, "");
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"equal", equal},
        {"floats", floats},
        {"other_floats", other_floats},
        {"integers", integers},
        {"worst", worst},
        {"refused", refused},
        {"empty", empty},
        {0},
    };
    tool_folder_enter();
    const int status = gops_test_main("tool_compare", cases);
    tool_folder_leave();
    return status;
}
