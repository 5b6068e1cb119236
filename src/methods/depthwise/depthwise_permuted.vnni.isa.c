/* depthwise_permuted.vnni.isa.c: the kernels of depthwise/permuted, for AVX-512 with VNNI and
 * VBMI. */
#include "methods/depthwise/depthwise_permuted.h"

#include "base/checked.h"
#include "isa/register.h"
#include "isa/vector.h"

#include <stddef.h>
#include <string.h>

#if defined(__AVX512VBMI__) && defined(__AVX512VNNI__)

#include "methods/depthwise/depthwise_permuted.inc.h"
#include "methods/depthwise/depthwise_permuted_joined.inc.h"
#include "methods/depthwise/depthwise_permuted_rolling.inc.h"
#include "methods/depthwise/depthwise_permuted_whole.inc.h"

/* ROW(KY, QX, S, NV, JR, PER): of two that serve a shape the first is the faster. */
#define GOPS_ROLLING_ROWS(ROW)                                                                     \
    ROW(3, 1, 1, 1, 4, 1)                                                                          \
    ROW(3, 1, 1, 1, 1, 1)                                                                          \
    ROW(3, 1, 1, 2, 2, 2)                                                                          \
    ROW(3, 1, 1, 2, 1, 2)                                                                          \
    ROW(3, 1, 1, 4, 1, 4)                                                                          \
    ROW(3, 1, 1, 4, 1, 2)                                                                          \
    ROW(3, 1, 2, 1, 2, 1)                                                                          \
    ROW(3, 1, 2, 2, 1, 1)                                                                          \
    ROW(3, 1, 2, 4, 1, 1)                                                                          \
    ROW(5, 2, 1, 1, 4, 1)                                                                          \
    ROW(5, 2, 1, 2, 2, 2)                                                                          \
    ROW(5, 2, 1, 4, 1, 4)                                                                          \
    ROW(5, 2, 2, 1, 2, 1)                                                                          \
    ROW(5, 2, 2, 2, 1, 1)                                                                          \
    ROW(5, 2, 2, 4, 1, 1)                                                                          \
    ROW(7, 2, 1, 1, 4, 1)                                                                          \
    ROW(7, 2, 1, 2, 2, 2)                                                                          \
    ROW(7, 2, 1, 4, 1, 4)

#define GOPS_ROLLING_NAME(KY, QX, S, NV, JR, PER) rolling_##KY##_##QX##_##S##_##NV##_##JR##_##PER
#define GOPS_ROLLING(KY, QX, S, NV, JR, PER)                                                       \
    static void GOPS_ROLLING_NAME(KY, QX, S, NV, JR, PER)(const setting *at,                       \
                                                          const gops_permuted_call *call)          \
    {                                                                                              \
        rolling(at, call, KY, QX, S, NV, JR, PER);                                                 \
    }
#define GOPS_ROLLING_ENTRY(KY, QX, S, NV, JR, PER) GOPS_ROLLING_NAME(KY, QX, S, NV, JR, PER),
#define GOPS_ROLLING_SHAPE(KY, QX, S, NV, JR, PER) {KY, QX, S, NV, JR, PER},
GOPS_ROLLING_ROWS(GOPS_ROLLING)
typedef void permuted_fn(const setting *at, const gops_permuted_call *call);

static void run(const gops_permuted_call *call)
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
        .bounds = call->low > 0 || call->high < UINT8_MAX || call->output_flip != 0,
    };
    if (shape->kernel == GOPS_PERMUTED_WHOLE) {
        whole(&at, call);
    } else if (shape->kernel == GOPS_PERMUTED_JOINED) {
        joined(&at, call);
    } else if (shape->kernel == GOPS_PERMUTED_ROLLING) {
        of_rows[shape->rolling](&at, call);
    } else {
        for (int64_t i = 0; i < call->count; i++) {
            general_kernels[shape->vectors](&at, call, &call->filters[i]);
        }
    }
}

static const gops_permuted_rolling rolling_rows[] = {GOPS_ROLLING_ROWS(GOPS_ROLLING_SHAPE){0}};

const struct gops_depthwise_permuted GOPS_ISA_NAME(gops_depthwise_permuted) = {
    .run = run,
    .rolling = rolling_rows,
};

#else

const struct gops_depthwise_permuted GOPS_ISA_NAME(gops_depthwise_permuted) = {.run = NULL};

#endif
