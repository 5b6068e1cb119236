/* test_tool_large.c: the specification's 3D example through the tool, in its full size: 539 MB of
 * data and 180 MB of output, and not much more memory than that. */
#include "harness.h"
#include "guarded_memory.h"
#include "random_numbers.h"
#include "tool_npy.h"
#include "tool_process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>

enum { GROUPS = 4, C_IN = 3, SIDE = 224, KERNEL = 5, PAD = 2 };
#define PLANE ((int64_t)SIDE * SIDE)
#define CHANNEL (PLANE * SIDE)

static const int64_t data_bytes = GROUPS * C_IN * CHANNEL * 4;
static const int64_t output_bytes = GROUPS * CHANNEL * 4;

/* Integers from -8 to 7 that depend on the whole index: 375 products of two of them and all sums on
 * the way are exact in f32, in any order. */
static int64_t number_at(int64_t index, uint64_t salt)
{
    uint64_t bits = ((uint64_t)index + salt) * UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (int64_t)(bits >> 60) - 8;
}

enum { DATA_SALT = 17, FILTER_SALT = 1000003 };

static int64_t data_at(int64_t channel, int64_t z, int64_t y, int64_t x)
{
    if (z < 0 || y < 0 || x < 0 || z >= SIDE || y >= SIDE || x >= SIDE)
        return 0;
    return number_at(channel * CHANNEL + z * PLANE + y * SIDE + x, DATA_SALT);
}

/* The definition. */
static int64_t expected_at(int64_t group, int64_t z, int64_t y, int64_t x)
{
    int64_t sum = 0;
    for (int64_t c = 0; c < C_IN; c++) {
        for (int64_t tap = 0; tap < KERNEL * KERNEL * KERNEL; tap++) {
            const int64_t weight =
                number_at((group * C_IN + c) * KERNEL * KERNEL * KERNEL + tap, FILTER_SALT);
            sum += weight * data_at(group * C_IN + c, z + tap / (KERNEL * KERNEL) - PAD,
                                    y + tap / KERNEL % KERNEL - PAD, x + tap % KERNEL - PAD);
        }
    }
    return sum;
}

static void write_data(void)
{
    float *plane = gops_test_allocate((size_t)PLANE * sizeof *plane);
    const gops_tensor tensor = {GOPS_F32, 5, {1, GROUPS * C_IN, SIDE, SIDE, SIDE}};
    tool_npy_text text;
    /* The header alone, then the elements a plane at a time, so that this program stays small. */
    tool_npy_write_raw("x.npy", 1, tool_npy_header(tool_npy_order("f4"), "f4", 0, &tensor, &text),
                       NULL, 0);
    FILE *file = fopen("x.npy", "ab");
    for (int64_t p = 0; file != NULL && p < GROUPS * C_IN * SIDE; p++) {
        for (int64_t i = 0; i < PLANE; i++)
            plane[i] = (float)number_at(p * PLANE + i, DATA_SALT);
        if (fwrite(plane, sizeof *plane, (size_t)PLANE, file) != (size_t)PLANE)
            break;
    }
    free(plane);
    if (file == NULL || ferror(file) || fclose(file) != 0) {
        perror("x.npy");
        exit(EXIT_FAILURE);
    }
}

static void write_filter(void)
{
    enum { COUNT = GROUPS * C_IN * KERNEL * KERNEL * KERNEL };
    const gops_tensor tensor = {GOPS_F32, 6, {GROUPS, 1, C_IN, KERNEL, KERNEL, KERNEL}};
    float elements[COUNT];
    for (int64_t i = 0; i < COUNT; i++)
        elements[i] = (float)number_at(i, FILTER_SALT);
    tool_npy_write("w.npy", "f4", &tensor, elements);
}

/* Every corner and edge counts as much as the inside: a place is 0, 1, 2, or their mirror images,
 * half of the time. */
static int64_t random_place(gops_test_random *random)
{
    if (gops_test_random_chance(random, 50))
        return gops_test_random_range(random, 0, SIDE - 1);
    const int64_t near = gops_test_random_range(random, 0, PAD);
    return gops_test_random_chance(random, 50) ? near : SIDE - 1 - near;
}

static void check_output(void)
{
    const gops_tensor tensor = {GOPS_F32, 5, {1, GROUPS, SIDE, SIDE, SIDE}};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 0);
    float *output = tool_npy_read("y.npy", "f4", &tensor);
    if (!gops_test_check(output != NULL, "see the line above"))
        return;
    for (int i = 0; i < 20000; i++) {
        const int64_t group = i % GROUPS;
        const int64_t z = random_place(&random);
        const int64_t y = random_place(&random);
        const int64_t x = random_place(&random);
        const int64_t expected = expected_at(group, z, y, x);
        const float got = output[group * CHANNEL + z * PLANE + y * SIDE + x];
        if (!gops_test_check(got == (float)expected,
                             "output[0, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                             "] is %g instead of %" PRId64,
                             group, z, y, x, (double)got, expected))
            break;
    }
    free(output);
}

static void conv_example_3d(void)
{
    /* What the process needs besides: code, BLAS buffers, workspace. */
    static const int64_t extra_bytes = 128 << 20;
    tool_result result;
    struct statvfs disk;
    if (gops_test_available_memory() < 2 * (data_bytes + output_bytes))
        gops_test_skip("the machine has too little free memory");
    if (statvfs(".", &disk) != 0 ||
        (double)disk.f_bavail * (double)disk.f_frsize < 2. * (double)(data_bytes + output_bytes))
        gops_test_skip("the disk has too little free room");
    write_data();
    write_filter();
    tool_run(&result,
             "run conv --data=x.npy --filter=w.npy --output=y.npy --dilations=1,1,1 "
             "--pads-begin=2,2,2 --pads-end=2,2,2 --strides=1,1,1 --auto-pad=explicit",
             NULL);
    gops_test_check(result.exit_code == 0 && result.err[0] == '\0', "%d %s", result.exit_code,
                    result.err);
    printf("peak memory %ld MB\n", (result.peak_kib * 1024 / 1000000));
    gops_test_check(result.peak_kib * 1024 <= data_bytes + output_bytes + extra_bytes,
                    "it needed %ld KiB", result.peak_kib);
    check_output();
}

int main(void)
{
    static const gops_test_case cases[] = {{"conv_example_3d", conv_example_3d}, {0}};
    tool_folder_enter();
    const int status = gops_test_main("tool_large", cases);
    tool_folder_leave();
    return status;
}
