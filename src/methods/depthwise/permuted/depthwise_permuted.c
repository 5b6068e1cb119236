/*
 * depthwise_permuted.c: `depthwise/permuted`, quantized depthwise convolutions in one or two
 * dimensions of the image where it lies, where the processor multiplies four bytes in a lane
 * (depthwise_permuted.inc.h).
 *
 * A work item is some output channels (filters), or some rows of one where channels are few.
 */
#include "methods/depthwise/permuted/depthwise_permuted_method.h"

#include "base/error.h"

#include <assert.h>
#include <stdio.h>

static_assert(sizeof(gops_permuted_plan) <= GOPS_PARAMETER_BYTES,
              "parameters outgrow the plan's room");

enum {
    /* The work is divided into at least so many items, to spread evenly over threads. */
    MIN_ITEMS = 32,
    /* Estimated nanoseconds of an item at least: starting one takes 30 to 90. */
    MIN_COST = 1200,
    /* Several items are a multiple of it, which 2 and 4 threads share evenly. */
    EVEN_ITEMS = 4,
    /* Rows that the kernels store together, at most. */
    GROUP_ROWS = 4,
    /* More outputs in an item save no more time, and the workspace holds as many sums, or more where rows are long. */
    MAX_OUTPUTS = 1 << 16,
    /* Sums of the filters of a call stay in the first-level cache. */
    CALL_SUMS = 1 << 12,
    /* Distances above it cannot be in one register. */
    MAX_DISTANCE = GOPS_PERMUTED_REGISTER - 1,
    QUAD = GOPS_PERMUTED_QUAD,
};

/* Where the outputs of a group are in the packed vectors. */
static void find_order(gops_permuted_shape *shape)
{
    for (int64_t i = 0; i < GOPS_PERMUTED_REGISTER; i++) {
        const int64_t row = i / shape->tile_columns, column = i % shape->tile_columns;
        const int64_t vector =
            row / shape->vector_rows * shape->vectors + column / shape->vector_columns;
        const int64_t lane =
            row % shape->vector_rows * shape->columns + column % shape->vector_columns;
        const int64_t byte = lane / 4 * GOPS_PERMUTED_LANES + vector * 4 + lane % 4;
        shape->order[i] = (uint8_t)(byte % GOPS_PERMUTED_REGISTER);
    }
}

/* Cuts the columns into tiles of 1, 2 or 4 vectors of at most `most` outputs each. */
static void choose_tiles(gops_permuted_shape *shape, int64_t most)
{
    const int64_t whole = gops_min(shape->columns, 4 * most);
    const int64_t tiles = gops_ceil_div(shape->columns, whole);
    shape->tile_columns = gops_ceil_div(shape->columns, tiles);
    shape->vectors = shape->columns <= most ? 1 : shape->columns <= 2 * most ? 2 : 4;
    shape->vector_columns = (int32_t)gops_ceil_div(shape->tile_columns, shape->vectors);
}

/* The first kernel that serves a shape of dilation 1; -1 if none does. */
static int32_t find_rolling(const gops_permuted_shape *shape, const gops_permuted_rolling *rows)
{
    const int64_t stride = shape->stride_y;
    if (stride != shape->stride_x || shape->dilation_y != 1 || shape->dilation_x != 1) {
        return -1;
    }
    for (int32_t i = 0; rows[i].kernel_y != 0; i++) {
        const gops_permuted_rolling *row = &rows[i];
        const int64_t outputs = row->vectors_of_load * shape->vector_columns;
        const int64_t masks = gops_ceil_div(shape->rows * stride, row->data_rows);
        const bool fits = row->data_rows > 1
                              ? row->data_rows * shape->width < GOPS_PERMUTED_REGISTER &&
                                    masks <= GOPS_PERMUTED_MASKS
                              : (outputs - 1) * stride + shape->kernel_x <= GOPS_PERMUTED_REGISTER;
        if (row->kernel_y == shape->kernel_y && row->row_quads == shape->row_quads &&
            row->stride == stride && row->vectors == shape->vectors &&
            (row->rows == 0 || row->rows == shape->rows) && fits) {
            return i;
        }
    }
    return -1;
}

static bool is_whole(const gops_permuted_shape *shape)
{
    const int64_t last_y = (shape->rows - 1) * shape->stride_y +
                           (shape->kernel_y - 1) * shape->dilation_y - shape->pad_y;
    const int64_t last_x = (shape->columns - 1) * shape->stride_x +
                           (shape->kernel_x - 1) * shape->dilation_x - shape->pad_x;
    return shape->height * shape->width <= GOPS_PERMUTED_WHOLE_BYTES &&
           shape->rows * shape->columns <= GOPS_PERMUTED_REGISTER &&
           shape->whole_quads <= GOPS_PERMUTED_WHOLE_QUADS &&
           gops_max(shape->pad_y, shape->pad_x) <= MAX_DISTANCE &&
           gops_max(last_y, last_x) <= 2 * MAX_DISTANCE;
}

/* Rows of outputs of which a vector can have several; 1 if it cannot. */
static int32_t joined_rows(const gops_permuted_shape *shape)
{
    /* The last byte of a register is the padding. */
    const int64_t room = MAX_DISTANCE - gops_min(shape->width, MAX_DISTANCE);
    const int64_t step = gops_mul_saturate(shape->stride_y, shape->width);
    const int64_t rows = gops_min(
        GOPS_PERMUTED_LANES / gops_min(shape->columns, GOPS_PERMUTED_LANES), room / step + 1);
    const int64_t groups = gops_ceil_div(shape->rows, GROUP_ROWS * rows);
    const bool fits =
        gops_mul_saturate(groups, shape->kernel_y) <= GOPS_PERMUTED_MASKS / GROUP_ROWS;
    return fits ? (int32_t)rows : 1;
}

/* Whether the joined kernel computes 8-bit outputs as one group. */
static bool joins_one_group(const gops_permuted_shape *shape, int32_t rows)
{
    gops_permuted_shape joined = *shape;
    joined.vector_rows = rows;
    return ((shape->kernel_y == 3 && shape->row_quads == 1) ||
            (shape->kernel_y == 5 && shape->row_quads == 2)) &&
           gops_permuted_is_one_group(&joined, 0, shape->rows);
}

/* Chooses the kernel, the fastest of those that serve the shape; false if none does. Joined rows in one group take
 * 0.7 of the time of rolling ones, else 1.4 to 2.3 times as long (AMD EPYC, Zen 5). */
static bool choose_kernel(const gops_plan *plan, gops_permuted_shape *shape)
{
    const struct gops_depthwise_permuted *kernels = plan->kernels->depthwise_permuted;
    const int32_t rows = shape->width <= MAX_DISTANCE ? joined_rows(shape) : 1;
    shape->rolling = find_rolling(shape, kernels->rolling);
    const struct {
        gops_permuted_kernel kernel;
        bool serves;
    } all[] = {
        {GOPS_PERMUTED_WHOLE, is_whole(shape)},
        {GOPS_PERMUTED_JOINED,
         rows > 1 && gops_is_8_bit(plan->output_type->type) && joins_one_group(shape, rows)},
        {GOPS_PERMUTED_ROLLING, shape->rolling >= 0},
        {GOPS_PERMUTED_JOINED, rows > 1},
        {GOPS_PERMUTED_GENERAL, true},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        shape->kernel = all[i].kernel;
        shape->vector_rows = all[i].kernel == GOPS_PERMUTED_JOINED ? rows : 1;
        if (all[i].serves && kernels->serves(shape)) {
            return true;
        }
    }
    return false;
}

/* Whether the kernels serve the axes; fills in the shape. */
static bool fill_shape(const gops_plan *plan, const gops_depthwise_axis axis[3],
                       gops_permuted_shape *shape)
{
    const gops_depthwise_axis *y = &axis[1], *x = &axis[2];
    const int64_t row_taps = gops_min(x->kernel, QUAD);
    *shape = gops_permuted_shape_of(axis);
    shape->row_quads = gops_ceil_div(x->kernel, QUAD);
    shape->whole_quads = gops_ceil_div(gops_mul_saturate(x->kernel, y->kernel), QUAD);
    if (!gops_depthwise_is_flat(&axis[0]) || y->pad < 0 || x->pad < 0 ||
        shape->row_quads > GOPS_PERMUTED_ROW_QUADS || x->stride > MAX_DISTANCE ||
        shape->dilation_x * (row_taps - 1) > MAX_DISTANCE) {
        return false;
    }
    const int64_t reach = shape->dilation_x * (row_taps - 1);
    choose_tiles(shape, gops_min(GOPS_PERMUTED_LANES, (MAX_DISTANCE - reach) / x->stride + 1));
    return choose_kernel(plan, shape);
}

/* Estimated nanoseconds of a filter on one thread. The constants of the general kernel, whose masks are made for each
 * tile of columns, were fitted to what 210 layers took a Zen 5, within 0.92 to 1.06 of most of them, the others to what
 * 21 layers took, within 0.7 to 1.2. */
static double permuted_estimate(const gops_permuted_shape *shape)
{
    const double quads = (double)(shape->kernel_y * shape->row_quads);
    const double tiles = (double)gops_ceil_div(shape->columns, shape->tile_columns);
    const int64_t rows_of_group = (int64_t)GROUP_ROWS * shape->vector_rows;
    const double groups =
        tiles * (double)gops_ceil_div(shape->rows * shape->vectors, rows_of_group);
    switch (shape->kernel) {
    case GOPS_PERMUTED_WHOLE:
        return 4.5 + 1.15 * (double)shape->whole_quads;
    case GOPS_PERMUTED_JOINED:
        return 5.8 + groups * (5.8 + 1.05 * quads);
    case GOPS_PERMUTED_ROLLING:
        return 3.5 + groups * (1.7 * (double)shape->stride_y + 0.66 * quads);
    case GOPS_PERMUTED_TRANSPOSED:
        return 8 + groups * (1.6 + 2.2 * (double)shape->terms);
    default:
        return 4.8 + 1.3 * tiles * (double)(shape->row_quads * shape->vectors) +
               groups * (6.9 + 2.8 * quads);
    }
}

/* Divides the work into items. */
static void divide_work(const gops_plan *plan, gops_permuted_plan *p, double cost)
{
    const int64_t pixels = plan->conv.output_pixels, rows = p->shape.rows;
    const int64_t min_blocks = gops_max(MIN_ITEMS / p->filters, pixels / MAX_OUTPUTS);
    const int64_t blocks = gops_clamp(min_blocks, 1, gops_ceil_div(rows, GROUP_ROWS));
    const bool whole = p->shape.kernel == GOPS_PERMUTED_WHOLE;
    p->row_block =
        whole ? rows : gops_min(rows, gops_round_up(gops_ceil_div(rows, blocks), GROUP_ROWS));
    p->row_blocks = gops_ceil_div(rows, p->row_block);
    const int64_t most = gops_clamp(gops_max(p->filters / MIN_ITEMS, (int64_t)(MIN_COST / cost)), 1,
                                    GOPS_PERMUTED_FILTERS);
    const int64_t blocks_of_filters =
        p->filters <= most ? 1 : gops_round_up(gops_ceil_div(p->filters, most), EVEN_ITEMS);
    p->filter_block = gops_ceil_div(p->filters, blocks_of_filters);
    p->sum_filters = gops_clamp(CALL_SUMS / (p->row_block * p->shape.columns), 1, p->filter_block);
}

static gops_status permuted_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    const gops_conv_geometry *conv = &plan->conv;
    gops_depthwise_axis axis[3];
    gops_permuted_plan *p = gops_parameters(plan);
    *p = (gops_permuted_plan){.filters = conv->batch * conv->groups * conv->channels_out};
    GOPS_TRY(gops_depthwise_axes(plan, axis, error));
    p->transposed = plan->operation == GOPS_OPERATION_DECONV;
    p->flipped = p->transposed && axis[1].stride == 1 && axis[2].stride == 1;
    if (p->flipped) {
        p->transposed = false;
        for (int a = 1; a < 3; a++) {
            axis[a].pad = (axis[a].kernel - 1) * axis[a].dilation - axis[a].pad;
        }
    }
    if (!plan->quantized || plan->kernels->depthwise_permuted->run == NULL ||
        !(p->transposed ? gops_depthwise_permuted_transposed_shape(
                              axis, plan->kernels->depthwise_permuted, &p->shape)
                        : fill_shape(plan, axis, &p->shape))) {
        return gops_fail(
            error, GOPS_UNSUPPORTED,
            "depthwise/permuted needs AVX512-VNNI; it serves quantized convolutions in one or two "
            "dimensions with at most %d taps along x, any 4 of them within %d bytes (fewer without "
            "AVX512-VBMI), and transposed ones with a stride above 1 if they have no dilation",
            QUAD * GOPS_PERMUTED_ROW_QUADS, GOPS_PERMUTED_REGISTER);
    }
    find_order(&p->shape);
    const double cost = permuted_estimate(&p->shape);
    divide_work(plan, p, cost);
    plan->items = gops_ceil_div(p->filters, p->filter_block) * p->row_blocks;
    const int64_t sum_bytes = p->row_block * p->shape.columns * (int64_t)sizeof(uint32_t);
    const int64_t room = worker_limit / GOPS_WORKSPACE_ALIGNMENT * GOPS_WORKSPACE_ALIGNMENT;
    p->sum_filters = gops_clamp(room / sum_bytes, 1, p->sum_filters);
    plan->worker_bytes = gops_round_up(p->sum_filters * sum_bytes, GOPS_WORKSPACE_ALIGNMENT);
    p->layout = p->transposed ? gops_depthwise_permuted_transposed_layout(conv)
                              : gops_depthwise_permuted_layout(conv);
    plan->filter_bytes = p->layout.words * (int64_t)sizeof(int32_t);
    if (plan->operation ==
        GOPS_OPERATION_DECONV) { /* packed by residues of the strides, which are small */
        plan->filter_variant = axis[1].stride << 8 | axis[2].stride;
    }
    plan->cost = (double)p->filters * cost;
    snprintf(plan->why, sizeof plan->why,
             "quantized, one channel a group: four taps a lane, of the image where it lies, %s, "
             "%lld rows of %lld filters an item",
             p->shape.kernel == GOPS_PERMUTED_WHOLE     ? "all of it in one register"
             : p->shape.kernel == GOPS_PERMUTED_JOINED  ? "several rows of outputs a vector"
             : p->transposed                            ? "weights by residue"
             : p->shape.kernel == GOPS_PERMUTED_ROLLING ? "each row permuted once"
                                                        : "permuted for each row of taps",
             (long long)p->row_block, (long long)p->filter_block);
    return GOPS_OK;
}

const gops_method gops_depthwise_permuted_conv = {
    .name = "depthwise/permuted",
    .operation = GOPS_OPERATION_CONV,
    .prepare = permuted_prepare,
    .pack = gops_depthwise_permuted_pack,
    .run = gops_depthwise_permuted_run,
    .quantized = true,
};

const gops_method gops_depthwise_permuted_deconv = {
    .name = "depthwise/permuted",
    .operation = GOPS_OPERATION_DECONV,
    .prepare = permuted_prepare,
    .pack = gops_depthwise_permuted_transposed_pack,
    .run = gops_depthwise_permuted_run,
    .quantized = true,
};
