/*
 * ort_pass_integers.c: averages and products of 8-bit integers, by AVX2 where that is used.
 *
 * The runtime rounds what it computes in floats, and so do these, operation by operation, for its bits on x86-64:
 *
 *   product         (a - zero) * (b - zero), an integer, times scale * scale / output_scale, plus output_zero
 *   global average  the sum of (a - zero), an integer, times scale / (output_scale * count); rounded, plus output_zero
 *   average         each number scale * (a - zero), their sum row by row, divided by how many, then by output_scale,
 *                   plus output_zero
 *
 * All are rounded to the nearest integer, ties to even, and saturate.
 */
#include "engines/onnxruntime/pass/ort_pass_integers.h"

#include <string.h>

enum { Y, X };

/* Elements that a thread keeps on its stack: of a plane, and of the rows that a window needs. */
enum { BLOCK = 1024, ROOM = GOPS_ORT_MAX_WINDOW_FLOATS };

static inline int32_t least_of(gops_type type)
{
    return type == GOPS_I8 ? INT8_MIN : 0;
}

/* Flips integers so that unsigned ones, less zero_of, are what they stand for. */
static inline uint8_t flip_of(gops_type type)
{
    return type == GOPS_I8 ? 0x80 : 0;
}

static inline int32_t zero_of(gops_type type, const gops_ort_linear *by)
{
    return by->zero_point - least_of(type);
}

static inline int64_t smaller(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

/* What a block of rows of windows is computed from. */
typedef struct rows {
    int64_t first, count; /* of outputs */
    int64_t pitch;        /* floats from one row to the next, with padding on both sides */
} rows;

static rows plan_rows(const gops_ort_pass *pass)
{
    const gops_ort_window *window = &pass->window;
    const int64_t span = gops_ort_reach(window, X, pass->out[X]);
    const int64_t covered = window->pads_begin[X] + pass->in[X];
    const int64_t pitch = span > covered ? span : covered;
    const int64_t fit = (ROOM / pitch - window->kernel[Y]) / window->strides[Y] + 1;
    return (rows){0, smaller(fit, pass->out[Y]), pitch};
}

static int64_t elements_in(const gops_ort_pass *pass, int axis, int64_t at)
{
    const gops_ort_range covered = gops_ort_covered(&pass->window, axis, pass->in[axis], at);
    return covered.end - covered.begin;
}

/* How many elements a window divides by. */
static int64_t share_of(const gops_ort_pass *pass, int64_t y, int64_t x)
{
    return pass->counts_padding ? pass->window.kernel[Y] * pass->window.kernel[X]
                                : elements_in(pass, Y, y) * elements_in(pass, X, x);
}

/* Copies the data's rows that a block of windows needs, with what stands for 0 around them. Returns how many bytes. */
static int64_t copy_rows(const gops_ort_pass *pass, const rows *of, uint8_t *to,
                         const uint8_t *plane)
{
    const gops_ort_window *window = &pass->window;
    const int64_t from = of->first * window->strides[Y] - window->pads_begin[Y];
    const int64_t count = gops_ort_reach(window, Y, of->count);
    memset(to, pass->by[0].zero_point, (size_t)(count * of->pitch));
    for (int64_t y = from > 0 ? from : 0; y < from + count && y < pass->in[Y]; y++) {
        memcpy(to + (y - from) * of->pitch + window->pads_begin[X], plane + y * pass->in[X],
               (size_t)pass->in[X]);
    }
    return count * of->pitch;
}

#define LOOPS "engines/onnxruntime/pass/ort_pass_integers.inc.h"
#include "engines/onnxruntime/pass/ort_pass_sets.inc.h"

void gops_ort_pass_integers(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                            int64_t first, int64_t last)
{
    BY_SET(pass, integers, pass, operands, first, last);
}
