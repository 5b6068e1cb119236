/*
 * depthwise_permuted_transposed.c: `depthwise/permuted` of transposed convolutions: shapes, and how
 * filters are packed (depthwise_permuted_transposed.inc.h).
 *
 * Packed are, for each filter, 0; then the number of its parts; then its quads and the sums of its
 * weights less their zero point, by residues: [parts, stride_y, terms, stride_x], [stride_y,
 * stride_x]. To which outputs a residue belongs depends on the padding; how filters are packed does
 * not.
 */
#include "methods/depthwise/permuted/depthwise_permuted_method.h"

#include "base/checked.h"

#include <string.h>

enum {
    QUAD = GOPS_PERMUTED_QUAD,
    MAX_VECTORS = 4,
};

/* The quads of the rows of outputs that the same data meet. */
typedef struct residue_quads {
    bool pairs_of_rows;
    int64_t taps_x, row_quads, terms;
} residue_quads;

static residue_quads find_residue_quads(int64_t kernel_y, int64_t kernel_x, int64_t stride_y,
                                        int64_t stride_x)
{
    const int64_t taps_y = gops_ceil_div(kernel_y, stride_y);
    residue_quads found = {.taps_x = gops_ceil_div(kernel_x, stride_x)};
    found.pairs_of_rows = found.taps_x <= QUAD / 2;
    found.row_quads = gops_ceil_div(found.taps_x, QUAD);
    found.terms =
        found.pairs_of_rows ? gops_ceil_div(taps_y, 2) : gops_mul_saturate(taps_y, found.row_quads);
    return found;
}

/* Cuts the columns into tiles of 1, 2 or 4 vectors of whole residues. */
static void choose_tiles(gops_permuted_shape *shape)
{
    const int64_t stride = shape->stride_x, most = GOPS_PERMUTED_LANES / stride * stride;
    const int64_t tiles = gops_ceil_div(shape->columns, MAX_VECTORS * most);
    shape->tile_columns =
        tiles == 1 ? shape->columns : gops_round_up(gops_ceil_div(shape->columns, tiles), stride);
    shape->vectors = shape->columns <= most ? 1 : shape->columns <= 2 * most ? 2 : MAX_VECTORS;
    shape->vector_columns =
        (int32_t)gops_round_up(gops_ceil_div(shape->tile_columns, shape->vectors), stride);
}

/* The vectors of a row whose data one load has; 0 if those of one do not fit it. */
static int32_t choose_load(const gops_permuted_shape *shape)
{
    /* A load takes a half of a register from each of two rows. */
    const int64_t room = shape->pairs_of_rows ? GOPS_PERMUTED_REGISTER / 2 : GOPS_PERMUTED_REGISTER;
    const int64_t step = shape->vector_columns / shape->stride_x;
    const int64_t one =
        (shape->vector_columns + shape->stride_x - 2) / shape->stride_x + shape->residue_taps;
    int32_t vectors = shape->vectors;
    while (vectors > 0 && (vectors - 1) * step + one > room) {
        vectors /= 2;
    }
    return vectors;
}

bool gops_depthwise_permuted_transposed_shape(const gops_depthwise_axis axis[3],
                                              const struct gops_depthwise_permuted *kernels,
                                              gops_permuted_shape *shape)
{
    const gops_depthwise_axis *y = &axis[1], *x = &axis[2];
    const residue_quads quads = find_residue_quads(y->kernel, x->kernel, y->stride, x->stride);
    *shape = gops_permuted_shape_of(axis);
    shape->kernel = GOPS_PERMUTED_TRANSPOSED;
    shape->vector_rows = 1;
    shape->row_quads = quads.row_quads;
    shape->pairs_of_rows = quads.pairs_of_rows;
    shape->residue_taps = quads.taps_x;
    shape->terms = quads.terms;
    const bool dense = shape->dilation_y == 1 && shape->dilation_x == 1;
    if (!gops_depthwise_is_flat(&axis[0]) || !dense || x->stride > GOPS_PERMUTED_LANES ||
        quads.row_quads > GOPS_PERMUTED_ROW_QUADS ||
        gops_mul_saturate(quads.terms, y->stride) > GOPS_PERMUTED_TERMS) {
        return false;
    }
    choose_tiles(shape);
    shape->load_vectors = choose_load(shape);
    return shape->load_vectors > 0 && kernels->serves(shape);
}

gops_permuted_layout gops_depthwise_permuted_transposed_layout(const gops_conv_geometry *conv)
{
    const gops_axis *x = &conv->axis[conv->axes - 1];
    const gops_axis one = {.kernel = 1, .stride = 1};
    const gops_axis *y = conv->axes > 1 ? &conv->axis[conv->axes - 2] : &one;
    const residue_quads quads = find_residue_quads(y->kernel, x->kernel, y->stride, x->stride);
    gops_permuted_layout layout = {
        .columns = x->kernel,
        .filters = conv->groups * conv->channels_out,
        .stride_y = y->stride,
        .stride_x = x->stride,
        .terms = quads.terms,
        .pairs_of_rows = quads.pairs_of_rows,
    };
    layout.filter = y->stride * x->stride * (GOPS_PERMUTED_PARTS * quads.terms + 1);
    /* The kernel reads a register of each quad's. */
    layout.words = layout.filters * (2 + layout.filter) + GOPS_PERMUTED_LANES;
    return layout;
}

/* Where a tap is in a part of a packed filter, in bytes. */
static int64_t index_of(const gops_permuted_layout *layout, int64_t ky, int64_t kx)
{
    const int64_t y = ky / layout->stride_y, x = kx / layout->stride_x;
    int64_t term, byte;
    if (layout->pairs_of_rows) {
        term = y / 2;
        byte = (1 - y % 2) * 2 + x;
    } else {
        term = y * gops_ceil_div(gops_ceil_div(layout->columns, layout->stride_x), QUAD) + x / QUAD;
        byte = x % QUAD;
    }
    term += ky % layout->stride_y * layout->terms;
    return (term * layout->stride_x + kx % layout->stride_x) * QUAD + byte;
}

static void pack_filter(const gops_plan *plan, const gops_permuted_layout *layout,
                        const unsigned char *weights, int32_t zero_point, int32_t *packed,
                        int32_t *part_count)
{
    const int64_t quads = layout->stride_y * layout->stride_x * layout->terms;
    int32_t *sums = packed + GOPS_PERMUTED_PARTS * quads;
    *part_count = 1;
    for (int64_t i = 0; i < plan->conv.taps; i++) {
        const int64_t ky = i / layout->columns, kx = i % layout->columns;
        const int32_t weight = gops_8_bit_at(plan->filter_type->type, weights, i) - zero_point;
        sums[ky % layout->stride_y * layout->stride_x + kx % layout->stride_x] += weight;
        for (int part = 0; part < GOPS_PERMUTED_PARTS; part++) {
            const int8_t value = gops_permuted_part(weight, part);
            ((int8_t *)(packed + part * quads))[index_of(layout, ky, kx)] = value;
            *part_count = value != 0 && part >= *part_count ? part + 1 : *part_count;
        }
    }
}

void gops_depthwise_permuted_transposed_pack(const gops_plan *plan, const void *weights,
                                             const int32_t *zero_points, void *packed)
{
    const gops_permuted_plan *p = gops_read_parameters(plan);
    const gops_permuted_layout *layout = &p->layout;
    int32_t *parts = (int32_t *)packed + layout->filters;
    if (p->flipped) {
        gops_depthwise_permuted_pack(plan, weights, zero_points, packed);
        return;
    }
    memset(packed, 0, (size_t)plan->filter_bytes);
    for (int64_t f = 0; f < layout->filters; f++) {
        pack_filter(plan, layout, (const unsigned char *)weights + f * plan->conv.taps,
                    zero_points[f], parts + layout->filters + f * layout->filter, &parts[f]);
    }
}
