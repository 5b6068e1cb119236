/*
 * ort_pass_resize.c: planes in another size, by AVX2 where that is used.
 *
 * Between elements, an output is the sum of four numbers times their shares, in the runtime's order. The two numbers of
 * a row that each output column has are gathered once for a row of the data, which several rows of outputs then read;
 * where the width is doubled, most columns are pairs that take the next element each. Integers become floats for that,
 * and are rounded behind it, as DequantizeLinear and QuantizeLinear do.
 */
#include "engines/onnxruntime/pass/ort_pass_resize.h"

#include <string.h>

enum { Y, X, MAX_ROW = GOPS_ORT_MAX_ROW };

/* What the columns of a plane have of two numbers, and the numbers of the last two rows. */
typedef struct columns {
    float of_first[MAX_ROW], of_second[MAX_ROW];
    float first[2][MAX_ROW], second[2][MAX_ROW];
    int64_t row[2]; /* -1: none yet */
    /* Of the columns, those in pairs: each pair reads the elements behind those of the one before. */
    int64_t pairs, pairs_end;
} columns;

static bool goes_on(const gops_ort_tap *tap)
{
    return tap[2].first == tap->first + 1 && tap[2].second == tap->second + 1;
}

static void start(const gops_ort_pass *pass, columns *of)
{
    const gops_ort_tap *taps = pass->taps[X];
    const int64_t count = pass->out[X];
    for (int64_t x = 0; x < count; x++) {
        of->of_first[x] = taps[x].of_first;
        of->of_second[x] = taps[x].of_second;
    }
    for (of->pairs = 0; of->pairs + 2 < count && !goes_on(&taps[of->pairs]);) {
        of->pairs++;
    }
    for (of->pairs_end = of->pairs; of->pairs_end + 3 < count && goes_on(&taps[of->pairs_end]) &&
                                    goes_on(&taps[of->pairs_end + 1]);) {
        of->pairs_end += 2;
    }
}

/* The nearest element of each: rows that are made of one are copies. */
static void copy_nearest(const gops_ort_pass *pass, unsigned char *to, const unsigned char *plane)
{
    const gops_ort_tap *rows = pass->taps[Y], *taps = pass->taps[X];
    const int64_t count = pass->out[X], bytes = (int64_t)gops_type_bytes(pass->type);
    for (int64_t y = 0; y < pass->out[Y]; y++) {
        unsigned char *row = to + y * count * bytes;
        const unsigned char *from = plane + rows[y].first * pass->in[X] * bytes;
        if (y > 0 && rows[y].first == rows[y - 1].first) {
            memcpy(row, row - count * bytes, (size_t)(count * bytes));
            continue;
        }
        for (int64_t x = 0; x < count && bytes == 1; x++) {
            row[x] = from[taps[x].first];
        }
        for (int64_t x = 0; x < count && bytes != 1; x++) {
            memcpy(row + x * (int64_t)sizeof(float), from + taps[x].first * (int64_t)sizeof(float),
                   sizeof(float));
        }
    }
}

#define LOOPS "engines/onnxruntime/pass/ort_pass_resize.inc.h"
#include "engines/onnxruntime/pass/ort_pass_sets.inc.h"

void gops_ort_pass_resize(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                          int64_t first, int64_t last)
{
    const int64_t bytes = (int64_t)gops_type_bytes(pass->type), out = pass->out[Y] * pass->out[X];
    const bool is_float = pass->type == GOPS_F32;
    const int64_t data_step = (is_float ? pass->data_step : pass->plane) * bytes;
    const int64_t output_step = (is_float ? pass->output_step : out) * bytes;
    const bool linear = pass->kind == GOPS_ORT_PASS_LINEAR;
    const unsigned char *data = operands->data;
    unsigned char *output = operands->output;
    columns of;
    if (linear) {
        start(pass, &of);
    }
    for (int64_t i = first; i < last; i++) {
        const unsigned char *from = data + i * data_step;
        unsigned char *to = output + i * output_step;
        if (linear) {
            of.row[0] = of.row[1] = -1;
            BY_SET(pass, interpolate, pass, &of, to, from);
        } else {
            copy_nearest(pass, to, from);
        }
    }
}
