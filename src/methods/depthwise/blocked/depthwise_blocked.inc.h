/*
 * depthwise_blocked.inc.h: depthwise convolutions of a block of channels, one in each lane.
 *
 * In small images, rows of 7 or 14 outputs fill no vector, and starting a row costs more than its
 * arithmetic. But such layers have many channels. Transposing a block of them makes vectors of one
 * pixel of all its channels: a tap is one aligned load and a multiplication by a vector of weights,
 * any stride and dilation is a distance between vectors, and no vector is partial. The outputs are
 * transposed back.
 *
 * Parameters: C, LANES and NAME of isa/each_compute.inc.h, with the vector and the epilogue of
 * depthwise_rows.inc.h, and NAME(rotate_address) and NAME(load_transposed) of isa/transpose.inc.h
 */

#define block_vector NAME(block_vector)
#define copy_pixels NAME(copy_pixels)
#define blocked_tile NAME(blocked_tile)
#define blocked_row NAME(blocked_row)

/* A pixel of a block, aligned: so portable code multiplies by it where it lies. */
typedef C block_vector __attribute__((vector_size(LANES * sizeof(C))));

/* Transposes LANES pixels of LANES channels at a time. */
GOPS_INLINE void copy_pixels(block_vector *to, const int64_t *positions, const C *data,
                             int64_t pitch, int64_t channels, int64_t pixels)
{
    for (int64_t i = 0; i < pixels; i += LANES) {
        /* The last pixels overlap those before them. */
        const int64_t first = gops_min(i, pixels - LANES);
        vector rows[LANES];
        if (channels == LANES) {
            NAME(load_transposed)(rows, data + first, pitch);
        } else {
            GOPS_UNROLL
            for (int c = 0; c < LANES; c++) {
                const C *channel = data + (c < channels ? c : 0) * pitch + first;
                rows[c] = *(const vector *)(const void *)channel;
            }
            NAME(rotate_address)(rows, LANES);
        }
        GOPS_UNROLL
        for (int c = 0; c < LANES; c++) {
            to[positions != NULL ? positions[first + c] : first + c] = rows[c];
        }
    }
}

/* As gops_depthwise_kernels.to_blocked says. */
static void NAME(to_blocked)(void *copy, const int64_t *positions, const void *from, int64_t pitch,
                             int64_t channels, int64_t pixels)
{
    if (pixels < LANES) {
        for (int64_t i = 0; i < pixels; i++) {
            C *pixel = (C *)((block_vector *)copy + (positions != NULL ? positions[i] : i));
            for (int64_t c = 0; c < LANES; c++) {
                pixel[c] = ((const C *)from)[(c < channels ? c : 0) * pitch + i];
            }
        }
    } else if (positions != NULL) {
        copy_pixels(copy, positions, from, pitch, channels, pixels);
    } else {
        copy_pixels(copy, NULL, from, pitch, channels, pixels);
    }
}

/* Transposes back, as gops_depthwise_kernels.from_blocked says. */
static void NAME(from_blocked)(void *to, int64_t pitch, const void *sums, int64_t channels,
                               int64_t pixels)
{
    C *output = to;
    const block_vector *from = sums;
    vector rows[LANES];
    if (pixels < LANES) {
        for (int64_t c = 0; c < channels; c++) {
            for (int64_t i = 0; i < pixels; i++) {
                output[c * pitch + i] = ((const C *)(from + i))[c];
            }
        }
        return;
    }
    for (int64_t i = 0; i < pixels; i += LANES) {
        const int64_t first = gops_min(i, pixels - LANES);
        NAME(load_transposed)(rows, (const C *)(from + first), LANES);
        if (channels == LANES) {
            GOPS_UNROLL
            for (int c = 0; c < LANES; c++) {
                *(vector *)(void *)(output + c * pitch + first) = rows[c];
            }
        } else {
            for (int64_t c = 0; c < channels; c++) {
                memcpy(output + c * pitch + first, &rows[c], sizeof rows[c]);
            }
        }
    }
}

/* A register tile: PIXELS neighbouring outputs of a row. Their data is STEP vectors apart, or
 * x_step where STEP is 0. */
GOPS_INLINE void blocked_tile(const gops_depthwise_rows *a, const block_vector *data,
                              block_vector *output, const int PIXELS, const int STEP)
{
    const int64_t step = STEP != 0 ? STEP : a->x_step;
    vector sum[MAX_PIXELS];
    const block_vector *weights = a->weights;
    const gops_depthwise_tap *end = a->taps + a->single_taps;
    GOPS_UNROLL
    for (int i = 0; i < PIXELS; i++) {
        sum[i] = (vector){0};
    }
    for (const gops_depthwise_tap *tap = a->taps; tap < end; tap++) {
        const block_vector *from = data + tap->data, w = weights[tap->weight];
        GOPS_UNROLL
        for (int i = 0; i < PIXELS; i++, from += step) {
            sum[i] += *from * w;
        }
    }
    if (a->bounds != NULL) {
        NAME(epilogue_all)(sum, PIXELS, a->bounds, *(const vector *)a->bias);
    }
    GOPS_UNROLL
    for (int i = 0; i < PIXELS; i++, output += a->output_step) {
        *output = sum[i];
    }
}

GOPS_INLINE void blocked_row(const gops_depthwise_rows *a, const block_vector *data,
                             block_vector *output, const int STEP)
{
    int64_t x = 0;
    for (; a->width - x >= 14; x += 14) {
        blocked_tile(a, data + x * a->x_step, output + x * a->output_step, 14, STEP);
    }
    for (; a->width - x >= 7; x += 7) {
        blocked_tile(a, data + x * a->x_step, output + x * a->output_step, 7, STEP);
    }
    for (; a->width - x >= 4; x += 4) {
        blocked_tile(a, data + x * a->x_step, output + x * a->output_step, 4, STEP);
    }
    for (; x < a->width; x++) {
        blocked_tile(a, data + x * a->x_step, output + x * a->output_step, 1, STEP);
    }
}

static void NAME(blocked_rows)(const gops_depthwise_rows *a)
{
    block_vector *output = a->output;
    for (int64_t row = 0; row < a->rows; row++, output += a->output_pitch) {
        const block_vector *data = (const block_vector *)a->data + row * a->step;
        if (a->x_step == 1) {
            blocked_row(a, data, output, 1);
        } else if (a->x_step == 2) {
            blocked_row(a, data, output, 2);
        } else {
            blocked_row(a, data, output, 0);
        }
    }
}
