/*
 * depthwise_plane.inc.h: planes of outputs of depthwise/blocked that are 7 or 14 columns wide, for the usual kernels.
 *
 * Where a row has few columns, many of its taps lie on padding: with 7 x 7 taps on 7 columns 12 of 49. As width,
 * taps, stride and padding along x are constants here, a tile leaves out those products. Along y and across planes it
 * has only the taps inside the image.
 *
 * A tile holds 14 sums, as many as 16 registers do, so that their multiplications overlap: one row of 14 columns, or
 * two of 7, which share weights. Of two rows, the lower one begins and ends with earlier rows of the kernel; while only
 * one of them has taps, that one is computed alone.
 *
 * An output sums its taps in the same order as in depthwise_blocked.inc.h.
 *
 * Parameters: C, LANES and NAME of isa/each_compute.inc.h, with block_vector of depthwise_blocked.inc.h
 */

#define add_taps NAME(add_taps)
#define add_columns NAME(add_columns)
#define add_row NAME(add_row)
#define plane_tile NAME(plane_tile)
#define plane_rows NAME(plane_rows)

/* Adds a row of taps to ROWS rows of outputs, tap by tap. `data` is the first one's row of data. Only the sums and a
 * weight are in registers. */
GOPS_INLINE void add_taps(vector *sum, const block_vector *data, const block_vector *weights,
                          const int ROWS, const int WIDTH, const int K, const int S)
{
    GOPS_UNROLL
    for (int k = 0; k < K; k++) {
        const block_vector weight = weights[k];
        GOPS_OPAQUE(data); /* else gcc keeps data for the next taps and has no registers for sums */
        GOPS_UNROLL
        for (int i = 0; i < ROWS * WIDTH; i++) {
            const int x = i % WIDTH * S + k - K / 2;
            if (x >= 0 && x < WIDTH * S) {
                sum[i] += data[i / WIDTH * S * WIDTH * S + x] * weight;
            }
        }
    }
}

/* The same with stride 1 for 32 registers, which also hold all weights, so that each column of data is read once. */
GOPS_INLINE void add_columns(vector *sum, const block_vector *data, const block_vector *weights,
                             const int ROWS, const int WIDTH, const int K)
{
    vector weight[7];
    GOPS_UNROLL
    for (int k = 0; k < K; k++) {
        weight[k] = weights[k];
        GOPS_IN_REGISTER(weight[k]);
    }
    GOPS_UNROLL
    for (int x = 0; x < WIDTH; x++) {
        GOPS_UNROLL
        for (int r = 0; r < ROWS; r++) {
            vector value = data[r * WIDTH + x];
            GOPS_IN_REGISTER(value);
            GOPS_UNROLL
            for (int k = 0; k < K; k++) {
                const int i = x + K / 2 - k;
                if (i >= 0 && i < WIDTH) {
                    sum[r * WIDTH + i] += value * weight[k];
                }
            }
        }
    }
}

GOPS_INLINE void add_row(vector *sum, const block_vector *data, const block_vector *weights,
                         const int ROWS, const int WIDTH, const int K, const int S)
{
    if (S == 1 && GOPS_REGISTER_BYTES == 64) {
        add_columns(sum, data, weights, ROWS, WIDTH, K);
    } else {
        add_taps(sum, data, weights, ROWS, WIDTH, K, S);
    }
}

/* Computes ROWS rows of outputs from row y on; of one row only the first WIDTH sums are used. */
GOPS_INLINE void plane_tile(const gops_depthwise_plane *a, int64_t y, const int ROWS,
                            const int WIDTH, const int K, const int S)
{
    /* Rows of data as seen from the first row of outputs, which has the taps begin to end - 1; the second one has
     * earlier ones. */
    const int64_t first = y * S - a->pad, left = a->height - first;
    const int64_t begin = gops_clamp(-first, 0, K), end = gops_clamp(left, begin, K);
    const int64_t later_end = gops_clamp(left - S, 0, K),
                  later_begin = gops_clamp(-first - S, 0, later_end);
    const int64_t both_begin = gops_max(begin, later_begin), both_end = gops_min(end, later_end);
    vector sum[MAX_PIXELS];
    GOPS_UNROLL
    for (int i = 0; i < ROWS * WIDTH; i++) {
        sum[i] = (vector){0};
    }
    const int PITCH = WIDTH * S;
    const block_vector *data = (const block_vector *)a->data + first * PITCH;
    const block_vector *weights = a->weights;
    for (int64_t z = a->planes; z > 0; z--, data += a->plane_pitch, weights += K * K) {
        int64_t k = ROWS == 2 ? later_begin : begin;
        for (; ROWS == 2 && k < gops_min(begin, later_end); k++) {
            add_row(sum + WIDTH, data + (k + S) * PITCH, weights + k * K, 1, WIDTH, K, S);
        }
        for (k = ROWS == 2 ? both_begin : begin; k < (ROWS == 2 ? both_end : end); k++) {
            add_row(sum, data + k * PITCH, weights + k * K, ROWS, WIDTH, K, S);
        }
        for (k = gops_max(begin, later_end); ROWS == 2 && k < end; k++) {
            add_row(sum, data + k * PITCH, weights + k * K, 1, WIDTH, K, S);
        }
    }
    if (a->bounds != NULL) {
        NAME(epilogue_all)(sum, ROWS * WIDTH, a->bounds, *(const vector *)a->bias);
    }
    block_vector *output = (block_vector *)a->output + y * WIDTH;
    GOPS_UNROLL
    for (int i = 0; i < ROWS * WIDTH; i++) {
        output[i] = sum[i];
    }
}

GOPS_INLINE void plane_rows(const gops_depthwise_plane *a, const int WIDTH, const int K,
                            const int S)
{
    const int ROWS = MAX_PIXELS / WIDTH;
    int64_t y = 0;
    for (; a->rows - y >= ROWS; y += ROWS) {
        plane_tile(a, y, ROWS, WIDTH, K, S);
    }
    for (; y < a->rows; y++) {
        plane_tile(a, y, 1, WIDTH, K, S);
    }
}

#define GOPS_PLANE(WIDTH, K, S)                                                                    \
    static void NAME(plane_##WIDTH##_##K##_##S)(const gops_depthwise_plane *a)                     \
    {                                                                                              \
        plane_rows(a, WIDTH, K, S);                                                                \
    }
#define GOPS_PLANES(K, S)                                                                          \
    GOPS_PLANE(7, K, S)                                                                            \
    GOPS_PLANE(14, K, S)

GOPS_PLANES(3, 1)
GOPS_PLANES(5, 1)
GOPS_PLANES(7, 1)
GOPS_PLANES(3, 2)
GOPS_PLANES(5, 2)
GOPS_PLANES(7, 2)

/* As gops_depthwise_kernels.find_plane says. */
static gops_depthwise_plane_fn *NAME(find_plane)(int64_t width, int64_t kernel, int64_t stride)
{
    static gops_depthwise_plane_fn *const planes[8][2][2] = {
        [3] = {{NAME(plane_7_3_1), NAME(plane_14_3_1)}, {NAME(plane_7_3_2), NAME(plane_14_3_2)}},
        [5] = {{NAME(plane_7_5_1), NAME(plane_14_5_1)}, {NAME(plane_7_5_2), NAME(plane_14_5_2)}},
        [7] = {{NAME(plane_7_7_1), NAME(plane_14_7_1)}, {NAME(plane_7_7_2), NAME(plane_14_7_2)}},
    };
    return (width == 7 || width == 14) && kernel <= 7 && stride <= 2
               ? planes[kernel][stride - 1][width / 14]
               : NULL;
}
