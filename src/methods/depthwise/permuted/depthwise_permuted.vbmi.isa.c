/* depthwise_permuted.vbmi.isa.c: the kernels of depthwise/permuted, for AVX-512 with VNNI. */
#include "methods/depthwise/permuted/depthwise_permuted.h"

#include "base/checked.h"
#include "isa/order_words.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <stddef.h>

#if defined(__AVX512VNNI__)

#include "methods/depthwise/permuted/depthwise_permuted.inc.h"
#include "methods/depthwise/permuted/depthwise_permuted_joined.inc.h"
#include "methods/depthwise/permuted/depthwise_permuted_rolling.inc.h"
#include "methods/depthwise/permuted/depthwise_permuted_transposed.inc.h"
#ifdef __AVX512VBMI__
#include "methods/depthwise/permuted/depthwise_permuted_whole.inc.h"
#else
static void whole(const setting *at, const gops_permuted_call *call)
{
    (void)at, (void)call;
}
#endif

/* ROW(the members of gops_permuted_rolling): of two that serve a shape the first is the faster.
 * One of ROWS is followed by the same for any, which serves a part of the rows. */
#define GOPS_ROLLING_ROWS(ROW)                                                                     \
    ROW(3, 1, 1, 1, 4, 1, 14)                                                                      \
    ROW(3, 1, 1, 1, 4, 1, 0)                                                                       \
    ROW(3, 1, 1, 1, 1, 1, 0)                                                                       \
    ROW(3, 1, 1, 2, 2, 2, 0)                                                                       \
    ROW(3, 1, 1, 2, 1, 2, 0)                                                                       \
    ROW(3, 1, 1, 4, 1, 4, 0)                                                                       \
    ROW(3, 1, 1, 4, 1, 2, 0)                                                                       \
    ROW(3, 1, 2, 1, 2, 1, 0)                                                                       \
    ROW(3, 1, 2, 2, 1, 1, 0)                                                                       \
    ROW(3, 1, 2, 4, 1, 1, 0)                                                                       \
    ROW(5, 2, 1, 1, 4, 1, 14)                                                                      \
    ROW(5, 2, 1, 1, 4, 1, 0)                                                                       \
    ROW(5, 2, 1, 2, 2, 2, 0)                                                                       \
    ROW(5, 2, 1, 4, 1, 4, 0)                                                                       \
    ROW(5, 2, 2, 1, 2, 1, 0)                                                                       \
    ROW(5, 2, 2, 2, 1, 1, 0)                                                                       \
    ROW(5, 2, 2, 4, 1, 1, 0)                                                                       \
    ROW(7, 2, 1, 1, 4, 1, 0)                                                                       \
    ROW(7, 2, 1, 2, 2, 2, 0)                                                                       \
    ROW(7, 2, 1, 4, 1, 4, 0)

#define GOPS_ROLLING_NAME(KY, QX, S, NV, JR, PER, ROWS)                                            \
    rolling_##KY##_##QX##_##S##_##NV##_##JR##_##PER##_##ROWS
#define GOPS_ROLLING(KY, QX, S, NV, JR, PER, ROWS)                                                 \
    static void GOPS_ROLLING_NAME(KY, QX, S, NV, JR, PER, ROWS)(const setting *at,                 \
                                                                const gops_permuted_call *call)    \
    {                                                                                              \
        const gops_permuted_rolling K = {KY, QX, S, NV, JR, PER, ROWS};                            \
        if (call->codes) {                                                                         \
            rolling(at, call, K, true);                                                            \
        } else {                                                                                   \
            rolling(at, call, K, false);                                                           \
        }                                                                                          \
    }
#define GOPS_ROLLING_ENTRY(KY, QX, S, NV, JR, PER, ROWS)                                           \
    GOPS_ROLLING_NAME(KY, QX, S, NV, JR, PER, ROWS),
#define GOPS_ROLLING_SHAPE(KY, QX, S, NV, JR, PER, ROWS) {KY, QX, S, NV, JR, PER, ROWS},
GOPS_ROLLING_ROWS(GOPS_ROLLING)
typedef void permuted_fn(const setting *at, const gops_permuted_call *call);

static const gops_permuted_rolling rolling_rows[] = {GOPS_ROLLING_ROWS(GOPS_ROLLING_SHAPE){0}};

/* Whether the processor's permutations suffice. */
static bool serves(const gops_permuted_shape *shape)
{
    permutation index[MAX_INDEX];
    if (shape->kernel == GOPS_PERMUTED_JOINED) {
        bool found = true;
        for (int64_t q = 0; q < shape->row_quads; q++) {
            found = find_joined(shape, 0, q, index) && found;
        }
        return found;
    }
    if (shape->kernel == GOPS_PERMUTED_ROLLING) {
        const gops_permuted_rolling *row = &rolling_rows[shape->rolling];
        return find_rolling_quads(shape, index, row->row_quads, row->data_rows,
                                  row->vectors_of_load);
    }
    if (shape->kernel == GOPS_PERMUTED_TRANSPOSED) {
        bool found = true;
        for (int64_t i = 0; i < shape->load_vectors * shape->row_quads; i++) {
            found =
                find_transposed(shape, i / shape->row_quads, i % shape->row_quads, index) && found;
        }
        return found;
    }
#ifdef __AVX512VBMI__
    return true;
#else
    return shape->kernel == GOPS_PERMUTED_GENERAL &&
           find_quads(shape, 0, GOPS_PERMUTED_QUAD, index);
#endif
}

/* Filters that have several parts, or all one. */
static void run_alike(const gops_permuted_call *call)
{
    static permuted_fn *const of_rows[] = {GOPS_ROLLING_ROWS(GOPS_ROLLING_ENTRY)};
    const gops_permuted_shape *shape = call->shape;
    const setting at = {
        .shape = shape,
        .zero = _mm512_set1_epi8((char)call->data_zero),
        .flip = _mm512_set1_epi8((char)call->data_flip),
        .order = _mm512_loadu_si512(shape->order),
        .middle = _mm512_set1_epi16((int16_t)call->zero),
        .low = _mm512_set1_epi8((char)call->low),
        .high = _mm512_set1_epi8((char)call->high),
        .output_flip = _mm512_set1_epi8((char)call->output_flip),
        .flips = call->data_flip != 0,
        .shifts = call->zero != 0,
        .codes = call->codes,
        .bounds = call->low > 0 || call->high < UINT8_MAX || call->output_flip != 0,
    };
    if (shape->kernel == GOPS_PERMUTED_WHOLE) {
        whole(&at, call);
    } else if (shape->kernel == GOPS_PERMUTED_JOINED) {
        joined(&at, call);
    } else if (shape->kernel == GOPS_PERMUTED_TRANSPOSED) {
        transposed(&at, call);
    } else if (shape->kernel == GOPS_PERMUTED_ROLLING && !call->several_parts) {
        const int32_t rows = rolling_rows[shape->rolling].rows;
        const bool all = rows == 0 || rows == call->rows;
        of_rows[all ? shape->rolling : shape->rolling + 1](&at, call);
    } else {
        permuted_filters filters;
        permuted_filter filter = begin_filters(&filters, call, false);
        for (; filter.number < call->count; next_filter(&filter)) {
            general_kernels[shape->vectors](&at, call, &filter);
        }
    }
}

static void run(const gops_permuted_call *call)
{
    gops_permuted_call alike = *call;
    bool several = false;
    for (int64_t i = 0; i < call->count; i++) {
        several |= call->parts[i] > 1;
    }
    if (!several) {
        alike.several_parts = false;
        run_alike(&alike);
        return;
    }
    for (int64_t first = 0; first < call->count; first += alike.count) {
        const int64_t in_group = call->first_in_group + first;
        const int32_t *parts = call->parts + first;
        alike.several_parts = parts[0] > 1;
        alike.count = 1;
        while (first + alike.count < call->count &&
               (parts[alike.count] > 1) == alike.several_parts) {
            alike.count++;
        }
        alike.first_in_group = in_group % call->channels_out;
        alike.data = call->data + in_group / call->channels_out * call->data_step;
        alike.weights = call->weights + first * call->weights_step;
        alike.parts = parts;
        alike.weight_sums = call->weight_sums + first;
        alike.bias = call->bias != NULL ? call->bias + first : NULL;
        alike.scales = call->codes ? call->scales + first : NULL;
        alike.output = (uint8_t *)call->output + first * call->output_step;
        run_alike(&alike);
    }
}

const struct gops_depthwise_permuted GOPS_ISA_NAME(gops_depthwise_permuted) = {
    .run = run,
    .serves = serves,
    .rolling = rolling_rows,
};

#else

const struct gops_depthwise_permuted GOPS_ISA_NAME(gops_depthwise_permuted) = {.run = NULL};

#endif
