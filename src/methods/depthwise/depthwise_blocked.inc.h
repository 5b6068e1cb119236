/* Wants C, BYTES of a vector, NAME(symbol), LOW and HIGH: the indices that interleave the lower and
 * the upper halves of two vectors. */
/*
 * depthwise_blocked.inc.h: small images: as many channels at once as a vector has lanes.
 *
 * Rows of 7 or 14 outputs fill no vector, and what surrounds them costs more than their arithmetic.
 * But channels are many there. A bundle of them is turned, so that a vector holds one pixel of all
 * channels; then a tap is one aligned load and a multiplication by a vector of weights, any stride
 * and dilation is a distance between vectors, and there are no tails. The outputs are turned back.
 *
 * LANES vectors of LANES are transposed in registers: interleaving vectors i and i + LANES / 2 for
 * all i rotates an element's address (i, lane) by one bit, and after log2(LANES) of that its two
 * halves have changed places.
 */

typedef C NAME(bundle) __attribute__((vector_size(BYTES)));
typedef C NAME(loose_bundle) __attribute__((vector_size(BYTES), aligned(sizeof(C)), may_alias));

enum { NAME(BUNDLE) = BYTES / sizeof(C) };

static inline __attribute__((always_inline)) void NAME(turn)(NAME(bundle) * rows)
{
    NAME(bundle) next[NAME(BUNDLE)];
    GOPS_UNROLL
    for (int bits = 1; bits < NAME(BUNDLE); bits *= 2) {
        GOPS_UNROLL
        for (int i = 0; i < NAME(BUNDLE) / 2; i++) {
            next[2 * i] = __builtin_shufflevector(rows[i], rows[i + NAME(BUNDLE) / 2], LOW);
            next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + NAME(BUNDLE) / 2], HIGH);
        }
        GOPS_UNROLL
        for (int i = 0; i < NAME(BUNDLE); i++) {
            rows[i] = next[i];
        }
    }
}

/* copy[positions[i]] = pixel i of each channel; the channels are `pitch` elements apart, and those
 * that are missing get values of the first one. */
static void NAME(bundle_in)(void *copy, const int64_t *positions, const void *from, int64_t pitch,
                            int64_t channels, int64_t pixels)
{
    const C *data = from;
    NAME(bundle) *to = copy, rows[NAME(BUNDLE)];
    if (pixels < NAME(BUNDLE)) {
        for (int64_t i = 0; i < pixels; i++) {
            C *pixel = (C *)(to + positions[i]);
            for (int64_t c = 0; c < NAME(BUNDLE); c++) {
                pixel[c] = data[(c < channels ? c : 0) * pitch + i];
            }
        }
        return;
    }
    for (int64_t i = 0; i < pixels; i += NAME(BUNDLE)) {
        /* The last ones again rather than pixels beyond them. */
        const int64_t first = gops_min(i, pixels - NAME(BUNDLE));
        GOPS_UNROLL
        for (int c = 0; c < NAME(BUNDLE); c++) {
            const C *channel = data + (c < channels ? c : 0) * pitch + first;
            rows[c] = *(const NAME(loose_bundle) *)(const void *)channel;
        }
        NAME(turn)(rows);
        GOPS_UNROLL
        for (int c = 0; c < NAME(BUNDLE); c++) {
            to[positions[first + c]] = rows[c];
        }
    }
}

/* The way back, from neighbouring vectors. */
static void NAME(bundle_out)(void *to, int64_t pitch, const void *sums, int64_t channels,
                             int64_t pixels)
{
    C *output = to;
    const NAME(bundle) *from = sums;
    NAME(bundle) rows[NAME(BUNDLE)];
    if (pixels < NAME(BUNDLE)) {
        for (int64_t c = 0; c < channels; c++) {
            for (int64_t i = 0; i < pixels; i++) {
                output[c * pitch + i] = ((const C *)(from + i))[c];
            }
        }
        return;
    }
    for (int64_t i = 0; i < pixels; i += NAME(BUNDLE)) {
        const int64_t first = gops_min(i, pixels - NAME(BUNDLE));
        GOPS_UNROLL
        for (int c = 0; c < NAME(BUNDLE); c++) {
            rows[c] = from[first + c];
        }
        NAME(turn)(rows);
        if (channels == NAME(BUNDLE)) {
            GOPS_UNROLL
            for (int c = 0; c < NAME(BUNDLE); c++) {
                *(NAME(loose_bundle) *)(void *)(output + c * pitch + first) = rows[c];
            }
        } else {
            for (int64_t c = 0; c < channels; c++) {
                memcpy(output + c * pitch + first, &rows[c], BYTES);
            }
        }
    }
}

/* PIXELS neighbouring outputs of a row, whose data is STEP vectors apart, or x_step for 0. */
static inline __attribute__((always_inline)) void
NAME(bundle_tile)(const gops_depthwise_blocked *a, const NAME(bundle) * data, NAME(bundle) * output,
                  const int PIXELS, const int STEP)
{
    const int64_t step = STEP != 0 ? STEP : a->x_step;
    NAME(bundle) sum[GOPS_DEPTHWISE_BLOCKED_PIXELS];
    const NAME(bundle) *weights = a->weights;
    const gops_depthwise_blocked_tap *end = a->taps + a->count;
    GOPS_UNROLL
    for (int i = 0; i < PIXELS; i++) {
        sum[i] = (NAME(bundle)){0};
    }
    for (const gops_depthwise_blocked_tap *tap = a->taps; tap < end; tap++) {
        const NAME(bundle) *from = data + tap->data, w = weights[tap->weight];
        GOPS_UNROLL
        for (int i = 0; i < PIXELS; i++, from += step) {
            sum[i] += *from * w;
        }
    }
    if (a->bounds != NULL) {
        const C *bounds = a->bounds;
        const NAME(bundle) low = bounds[0] - (NAME(bundle)){0};
        const NAME(bundle) high = bounds[1] - (NAME(bundle)){0};
        const NAME(bundle) add = *(const NAME(loose_bundle) *)a->bias;
        GOPS_UNROLL
        for (int i = 0; i < PIXELS; i++) {
            sum[i] = NAME(trimmed)(sum[i], add, low, high);
        }
    }
    GOPS_UNROLL
    for (int i = 0; i < PIXELS; i++, output += a->output_step) {
        *output = sum[i];
    }
}

static inline __attribute__((always_inline)) void NAME(bundle_row)(const gops_depthwise_blocked *a,
                                                                   const NAME(bundle) * data,
                                                                   NAME(bundle) * output,
                                                                   const int STEP)
{
    int64_t x = 0;
    for (; a->width - x >= 14; x += 14) {
        NAME(bundle_tile)(a, data + x * a->x_step, output + x * a->output_step, 14, STEP);
    }
    for (; a->width - x >= 7; x += 7) {
        NAME(bundle_tile)(a, data + x * a->x_step, output + x * a->output_step, 7, STEP);
    }
    for (; a->width - x >= 4; x += 4) {
        NAME(bundle_tile)(a, data + x * a->x_step, output + x * a->output_step, 4, STEP);
    }
    for (; x < a->width; x++) {
        NAME(bundle_tile)(a, data + x * a->x_step, output + x * a->output_step, 1, STEP);
    }
}

static void NAME(bundle_rows)(const gops_depthwise_blocked *a)
{
    NAME(bundle) *output = a->output;
    for (int64_t row = 0; row < a->rows; row++, output += a->output_pitch) {
        const NAME(bundle) *data = (const NAME(bundle) *)a->data + row * a->y_step;
        if (a->x_step == 1) {
            NAME(bundle_row)(a, data, output, 1);
        } else if (a->x_step == 2) {
            NAME(bundle_row)(a, data, output, 2);
        } else {
            NAME(bundle_row)(a, data, output, 0);
        }
    }
}

#undef C
#undef BYTES
#undef NAME
#undef LOW
#undef HIGH
