/* Passes over planes of f32 with gaps behind them, beside the same ones over consecutive planes. */
#include "engines/onnxruntime/pass/ort_pass.h"

#include "compare.h"
#include "elements.h"
#include "guarded_memory.h"
#include "harness.h"
#include "random_numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { Y, X };
enum { CHANNELS = 5, DATA_GAP = 7, OTHER_GAP = 3, OUTPUT_GAP = 13 };

/* What a pass must leave in the gaps of its output. */
static const float canary = -12345.5F;

/* Planes that end where an unmapped page begins. */
typedef struct planes {
    int64_t count, plane, step;
    gops_test_guarded guarded;
    float *at;
} planes;

/* With `filling` in the gaps, and in the planes where `dense` is NULL. */
static planes spread(const float *dense, int64_t count, int64_t plane, int64_t gap, float filling)
{
    const int64_t step = plane + gap, all = (count - 1) * step + plane;
    planes made = {count, plane, step, gops_test_guarded_create((size_t)all * sizeof(float)), NULL};
    made.at = made.guarded.memory;
    for (int64_t i = 0; i < all; i++) {
        made.at[i] = filling;
    }
    for (int64_t i = 0; i < count && dense != NULL; i++) {
        memcpy(made.at + i * step, dense + i * plane, (size_t)plane * sizeof(float));
    }
    return made;
}

/* Copies the planes to `dense` and frees them. Returns whether their gaps are still filled. */
static bool gather(planes *from, float *dense, float filling)
{
    bool kept = true;
    for (int64_t i = 0; i < from->count; i++) {
        const float *plane = from->at + i * from->step;
        memcpy(dense + i * from->plane, plane, (size_t)from->plane * sizeof(float));
        for (int64_t k = from->plane; k < from->step && i < from->count - 1; k++) {
            kept = kept && memcmp(&plane[k], &filling, sizeof filling) == 0;
        }
    }
    gops_test_guarded_destroy(&from->guarded);
    return kept;
}

/* A pass over consecutive planes: its steps are the sizes of planes. */
typedef struct dense_pass {
    const char *name;
    gops_ort_pass pass;
    const float *data, *other; /* other: NULL where there is none */
    bool in_place;             /* it also runs with the data as its output */
} dense_pass;

/* How it runs. */
typedef struct layout {
    gops_ort_vectors vectors;
    bool has_gaps, in_place;
    float filling; /* of the gaps of data and other */
} layout;

static int64_t output_planes(const gops_ort_pass *pass)
{
    return (CHANNELS - 1) * pass->step + 1;
}

/* In two parts, as two threads do. */
static bool run(const dense_pass *of, const layout *how, float *output)
{
    gops_ort_pass pass = of->pass;
    const int gaps = how->has_gaps;
    const float kept = how->in_place ? how->filling : canary;
    planes data = spread(of->data, CHANNELS, pass.data_step, gaps * DATA_GAP, how->filling);
    planes other = spread(of->other, CHANNELS, pass.other_step, gaps * OTHER_GAP, how->filling);
    planes to = spread(how->in_place ? of->data : NULL, output_planes(&pass), pass.output_step,
                       gaps * (how->in_place ? DATA_GAP : OUTPUT_GAP), kept);
    const gops_ort_pass_operands operands = {how->in_place ? to.at : data.at,
                                             of->other != NULL ? other.at : NULL, to.at};
    const int64_t units = gops_ort_pass_units(&pass);
    pass.vectors = how->vectors;
    pass.data_step = data.step;
    pass.other_step = other.step;
    pass.output_step = to.step;
    gops_ort_pass_run(&pass, &operands, 0, units / 2);
    gops_ort_pass_run(&pass, &operands, units / 2, units);
    gops_test_guarded_destroy(&data.guarded);
    gops_test_guarded_destroy(&other.guarded);
    return gather(&to, output, kept);
}

/* With gaps of NaN, and of infinity, as maxima leave NaN out. */
static void compare(const dense_pass *of, const layout *how, const float *expected, float *got)
{
    const float fillings[] = {NAN, INFINITY};
    const gops_ort_pass *pass = &of->pass;
    const gops_tensor tensor =
        GOPS_TEST_TENSOR(GOPS_F32, output_planes(pass), pass->out[Y], pass->out[X]);
    for (int i = 0; i < 2; i++) {
        layout gaps = *how;
        char what[128];
        gaps.filling = fillings[i];
        snprintf(what, sizeof what, "%s of %lldx%lld, vectors %d%s, beside %g", of->name,
                 (long long)pass->in[Y], (long long)pass->in[X], (int)how->vectors,
                 how->in_place ? ", in place" : "", (double)fillings[i]);
        gops_test_check(run(of, &gaps, got), "%s: a gap is written", what);
        gops_test_check(gops_test_compare_bytes(what, &tensor, got, expected),
                        "%s: other bits than without gaps", what);
    }
}

/* On every level that the machine has. */
static void check(const dense_pass *of)
{
    const size_t bytes = (size_t)(output_planes(&of->pass) * of->pass.output_step) * sizeof(float);
    float *expected = gops_test_allocate(bytes), *got = gops_test_allocate(bytes);
    run(of, &(layout){.vectors = GOPS_ORT_PLAIN}, expected);
    for (gops_ort_vectors by = GOPS_ORT_PLAIN; by <= gops_ort_find_vectors(); by++) {
        for (int in_place = 0; in_place <= of->in_place; in_place++) {
            compare(of, &(layout){by, true, in_place, 0}, expected, got);
        }
    }
    free(expected);
    free(got);
}

/* From planes of `in` to planes of `out`. */
static gops_ort_pass pass_of(gops_ort_pass_kind kind, const int64_t *in, const int64_t *out)
{
    gops_ort_pass pass = {.kind = kind,
                          .type = GOPS_F32,
                          .channels = CHANNELS,
                          .plane = in[Y] * in[X],
                          .data_step = in[Y] * in[X],
                          .other_step = kind == GOPS_ORT_PASS_SCALE ? 1 : in[Y] * in[X],
                          .output_step = out[Y] * out[X],
                          .step = 1,
                          .epsilon = 0x1p-10F,
                          .factor = 0.375F};
    memcpy(pass.in, in, sizeof pass.in);
    memcpy(pass.out, out, sizeof pass.out);
    return pass;
}

static void check_elements(const int64_t *size, float *data, const float *other)
{
    static const float factors[CHANNELS] = {0.5F, -3, 1.25F, 7, -0.125F};
    static const float summands[CHANNELS] = {-0.25F, 1, 0, -2, 0.75F};
    static const int64_t one[] = {1, 1};
    gops_ort_pass copy = pass_of(GOPS_ORT_PASS_COPY, size, size);
    gops_ort_pass affine = pass_of(GOPS_ORT_PASS_AFFINE, size, size);
    gops_ort_pass norm = pass_of(GOPS_ORT_PASS_NORM, size, size);
    const gops_ort_pass scale = pass_of(GOPS_ORT_PASS_SCALE, size, size);
    const gops_ort_pass product = pass_of(GOPS_ORT_PASS_PRODUCT, size, size);
    const gops_ort_pass average = pass_of(GOPS_ORT_PASS_AVERAGE, size, one);
    affine.factors = norm.factors = factors;
    affine.summands = norm.summands = summands;
    check(&(dense_pass){"copy", copy, data, NULL, false});
    copy.step = 3;
    check(&(dense_pass){"copy to every third", copy, data, NULL, false});
    check(&(dense_pass){"affine", affine, data, NULL, false});
    affine.relu = true;
    check(&(dense_pass){"affine, sum and relu", affine, data, other, false});
    check(&(dense_pass){"scale", scale, data, other, true});
    check(&(dense_pass){"product", product, data, other, true});
    check(&(dense_pass){"average", average, data, NULL, false});
    for (int c = 0; c < CHANNELS; c++) {
        data[c * norm.plane + 1] *= 0x1p100F; /* a pixel whose variance floats do not hold */
    }
    check(&(dense_pass){"norm", norm, data, NULL, false});
}

static void check_windows(const int64_t *in, const float *data)
{
    static const gops_ort_window windows[] = {
        {{3, 3}, {1, 1}, {1, 1}, {1, 1}},
        {{3, 3}, {2, 2}, {1, 1}, {1, 1}},
        {{3, 2}, {1, 2}, {1, 0}, {0, 0}},
        {{2, 3}, {1, 3}, {1, 0}, {0, 1}},
    };
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        const int64_t out[] = {gops_ort_count_windows(&windows[i], Y, in[Y], false),
                               gops_ort_count_windows(&windows[i], X, in[X], false)};
        gops_ort_pass largest = pass_of(GOPS_ORT_PASS_MAX, in, out);
        gops_ort_pass sum = pass_of(GOPS_ORT_PASS_SUM, in, out);
        largest.window = sum.window = windows[i];
        check(&(dense_pass){"maximum", largest, data, NULL, false});
        check(&(dense_pass){"sum", sum, data, NULL, false});
    }
}

/* Between the elements around the middle of each output. To be freed. */
static gops_ort_tap *make_taps(int64_t in, int64_t out)
{
    gops_ort_tap *taps = gops_test_allocate((size_t)out * sizeof *taps);
    for (int64_t i = 0; i < out; i++) {
        const float middle = ((float)i + 0.5F) * (float)in / (float)out - 0.5F;
        const float at = fminf(fmaxf(middle, 0), (float)(in - 1));
        const int32_t first = (int32_t)at, second = first + 1 < in ? first + 1 : first;
        const float share = at - (float)first;
        taps[i] = (gops_ort_tap){first, second, 1 - share, share};
    }
    return taps;
}

/* Of twice the width, which has loops of its own, and of another. */
static void check_sizes(const int64_t *in, const float *data)
{
    for (int twice = 0; twice < 2; twice++) {
        const int64_t out[] = {in[Y] + 2, twice ? 2 * in[X] : in[X] + 3};
        gops_ort_tap *rows = make_taps(in[Y], out[Y]), *columns = make_taps(in[X], out[X]);
        gops_ort_pass nearest = pass_of(GOPS_ORT_PASS_NEAREST, in, out);
        gops_ort_pass linear = pass_of(GOPS_ORT_PASS_LINEAR, in, out);
        nearest.taps[Y] = linear.taps[Y] = rows;
        nearest.taps[X] = linear.taps[X] = columns;
        check(&(dense_pass){"nearest", nearest, data, NULL, false});
        check(&(dense_pass){"linear", linear, data, NULL, false});
        free(rows);
        free(columns);
    }
}

/* Rows, and whole planes, of fewer elements than a vector has and of more; of the largest planes,
 * elements and pixels are taken in blocks. */
static void gaps(void)
{
    static const int64_t sizes[][GOPS_ORT_WINDOW_AXES] = {{3, 5}, {13, 11}, {7, 17}, {47, 61}};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const int64_t count = CHANNELS * sizes[i][Y] * sizes[i][X];
        float *data = gops_test_allocate((size_t)count * sizeof *data);
        float *other = gops_test_allocate((size_t)count * sizeof *other);
        gops_test_random_fill(&random, GOPS_F32, data, count);
        gops_test_random_fill(&random, GOPS_F32, other, count);
        check_windows(sizes[i], data);
        check_sizes(sizes[i], data);
        check_elements(sizes[i], data, other);
        free(data);
        free(other);
    }
}

int main(void)
{
    static const gops_test_case cases[] = {{"gaps", gaps}, {NULL, NULL}};
    return gops_test_main("ONNX Runtime, passes", cases);
}
