/*
 * pointwise_large.inc.h: the tiles of pointwise.h for outputs that leave the second level cache.
 *
 * A tile stores all of its lines at its end, and the stores wait for lines that are in no cache of the core. So these
 * tiles prefetch them while they multiply, a few at a time: a core waits for some 16 lines at once, data among them.
 * And each block of channels computes several panels, whose outputs are longer runs: of them the processor fetches
 * lines ahead by itself.
 *
 * Parameters: C, LANES and NAME of isa/each_compute.inc.h; what the template that includes this one has for its tiles;
 * GOPS_POINTWISE_LARGE_TILES(TILE), the tiles (pointwise.isa.c).
 */
#define prefetch_rows NAME(prefetch_rows)
#define output_plan NAME(output_plan)
#define multiply_ahead NAME(multiply_ahead)
#define large_tile NAME(large_tile)
#define large_tile_list NAME(large_tile_list)

/* Prefetches rows of an output. The panel before wrote the lines in which they begin, unless they begin there. */
GOPS_INLINE void prefetch_rows(const C *output, int64_t ld, int rows)
{
    enum { BYTES = GOPS_POINTWISE_VECTORS * (int)sizeof(vector) };
    for (; rows > 0; rows--, output += ld) {
        GOPS_UNROLL
        for (int i = 0; i < BYTES; i += GOPS_CACHE_LINE) {
            __builtin_prefetch((const char *)output +
                                   (i + GOPS_CACHE_LINE < BYTES ? i + GOPS_CACHE_LINE : BYTES) - 1,
                               1, 3);
        }
    }
}

/* An output that is prefetched: some rows each time before `depth` of the k. */
typedef struct output_plan {
    const C *at;
    int64_t ld, depth;
    int rows;
} output_plan;

/* Adds the products of all k to the sums of a tile, and prefetches its output, and a line for each k. With few registers
 * the output is prefetched at once, as a second loop would spill a sum. */
GOPS_INLINE void multiply_ahead(const C *x, int64_t ld, const C *weights, int64_t depth,
                                const C *line, int64_t line_step, output_plan output, C *copied,
                                const int mr, vector *sum)
{
    enum { VECTORS = GOPS_POINTWISE_VECTORS };
    if (GOPS_POINTWISE_MR <= 4) {
        prefetch_rows(output.at, output.ld, mr);
        const prefetch_plan next = {line, line + line_step, 2 * line_step, 2 * line_step};
        multiply(x, ld, weights, depth, next, copied, mr, VECTORS, 0, sum, NULL);
        return;
    }
    int rows = mr;
    for (int64_t left = depth; left > 0;) {
        int64_t k = left;
        if (rows > 0) {
            prefetch_rows(output.at, output.ld, rows < output.rows ? rows : output.rows);
            output.at += output.rows * output.ld;
            rows -= output.rows;
            k = rows > 0 && output.depth < left ? output.depth : left;
        }
        left -= k;
        for (; k > 0; k--, x += ld, line += line_step, weights += mr) {
            multiply_step(x, weights, line, copied, mr, VECTORS, 0, sum, NULL);
            copied = copied == NULL ? NULL : copied + VECTORS * LANES;
        }
    }
}

GOPS_INLINE void large_tile(const gops_pointwise_work *work, const int mr)
{
    enum {
        VECTORS = GOPS_POINTWISE_VECTORS,
        PIXELS = VECTORS * LANES,
        /* With fewer k the loops over them would be too short for two rows a time. */
        SHORT_DEPTH = 48,
    };
    const int64_t output_ld = work->output_ld;
    const int rows = work->depth < SHORT_DEPTH ? 4 : 2;
    const int64_t share = work->depth * rows / mr;
    output_plan ahead = {NULL, output_ld, share > 0 ? share : 1, rows};
    int64_t ld = work->data_ld, data_step = work->data_step;
    const C *data = work->data;
    C *copy = work->copy;
    const C *weights = work->weights, *bias = work->bias, *residual = work->residual;
    C *output = work->output;
    for (int64_t block = 0; block < work->blocks; block++) {
        /* Each of the first blocks prefetches one line for each k of the next panels; the others weights. */
        const C *const next =
            work->next != NULL && block <= VECTORS ? (const C *)work->next + block * LANES : NULL;
        for (int64_t panel = 0; panel < work->panels; panel++) {
            const int64_t pixel = panel * PIXELS;
            const C *const line =
                next != NULL ? next + pixel : weights + GOPS_POINTWISE_PREFETCH_BYTES / sizeof(C);
            const int64_t line_step = next != NULL ? work->next_ld : mr;
            vector sum[GOPS_POINTWISE_MR * VECTORS];
            GOPS_UNROLL
            for (int i = 0; i < mr * VECTORS; i++) {
                sum[i] = (vector){0};
            }
            const C *const x = data + panel * data_step;
            ahead.at = output + pixel;
            if (copy != NULL) {
                multiply_ahead(x, ld, weights, work->depth, line, line_step, ahead,
                               copy + panel * work->copy_step, mr, sum);
            } else {
                multiply_ahead(x, ld, weights, work->depth, line, line_step, ahead, NULL, mr, sum);
            }
            if (work->bounds != NULL) {
                apply_epilogue(work, mr, VECTORS, bias, residual == NULL ? NULL : residual + pixel,
                               sum);
            }
            store_tile(work, mr, VECTORS, output + pixel, sum);
        }
        if (copy != NULL) {
            data = copy;
            ld = PIXELS;
            data_step = work->copy_step;
            copy = NULL;
        }
        weights += mr * work->depth;
        bias = work->bounds == NULL ? NULL : bias + mr * work->bias_step;
        residual = residual == NULL ? NULL : residual + mr * output_ld;
        output += mr * output_ld;
    }
}

#define TILE(mr)                                                                                   \
    static void NAME(large_tile_##mr)(const gops_pointwise_work *work)                             \
    {                                                                                              \
        large_tile(work, mr);                                                                      \
    }
GOPS_POINTWISE_LARGE_TILES(TILE)
#undef TILE
#define TILE(mr) NAME(large_tile_##mr),
static gops_pointwise_tile_fn *const large_tile_list[] = {GOPS_POINTWISE_LARGE_TILES(TILE)};
#undef TILE
