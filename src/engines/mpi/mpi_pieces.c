/* mpi_pieces.c: cuts a rank's outputs into pieces (mpi_plan.h) and plans them. */
#include "mpi_plan.h"

/* Estimates of the time that the two ways cost beyond computing each output once: outputs at borders are
 * computed twice, or all data are copied, to memory that may be new. Borders of the last axis are too
 * narrow for vectors: 3x3x3, 64 channels, 64^3 cut once takes 28 ms more in place, along the
 * others 6 (Intel Xeon with AMX). */
static const double NS_PER_MULTIPLY = 0.02, NS_PER_COPIED_BYTE = 0.3, NARROW = 4;

/* The lists of attributes of a piece. */
typedef struct piece_pads {
    gops_list begin, end, output_padding;
} piece_pads;

static void set_axis(gops_piece *piece, piece_pads *pads, int32_t axis, const gops_mpi_range *range)
{
    piece->output.begin[axis + 2] = range->output_begin;
    piece->output.end[axis + 2] = range->output_end;
    piece->data.begin[axis + 2] = range->data_begin;
    piece->data.end[axis + 2] = range->data_end;
    pads->begin.count = pads->end.count = pads->output_padding.count = axis + 1;
    pads->begin.values[axis] = range->pads_begin;
    pads->end.values[axis] = range->pads_end;
    pads->output_padding.values[axis] = range->output_padding;
}

static gops_status plan_piece(const gops_mpi_plan *plan, gops_piece *piece, const piece_pads *pads,
                              gops_error *error)
{
    const gops_tensor data = gops_brick_shape(&piece->data, plan->data_type);
    return gops_plan_part(plan->whole, &data, &pads->begin, &pads->end,
                          plan->operation == GOPS_MPI_DECONV ? &pads->output_padding : NULL,
                          &piece->plan, error);
}

/* All outputs, and all data, even those that nothing reads. */
static gops_mpi_range whole_axis(const gops_mpi_axis *axis)
{
    gops_mpi_range range = {.output_end = axis->output, .data_end = axis->data}, right;
    gops_mpi_axis_confine(axis, &range, &right);
    return range;
}

/* Plans the outputs in `wanted` from all that they read. Where the algorithm does not serve so small
 * or so narrow a part, more outputs are computed around it, at last all. */
static gops_status assemble(const gops_mpi_plan *plan, const gops_brick *wanted, gops_piece *piece,
                            gops_error *error)
{
    const int32_t axes = plan->output.rank - 2;
    gops_status status = GOPS_UNSUPPORTED;
    for (int32_t grown = -1; status == GOPS_UNSUPPORTED && grown <= axes; grown++) {
        piece_pads pads = {{0}, {0}, {0}};
        *piece = (gops_piece){.wanted = *wanted, .output = *wanted, .data = plan->data};
        for (int32_t i = 0; i < axes; i++) {
            const gops_mpi_range range =
                grown > 0 && i >= axes - grown
                    ? whole_axis(&plan->axis[i])
                    : gops_mpi_axis_read(&plan->axis[i], wanted->begin[i + 2], wanted->end[i + 2],
                                         grown >= 0);
            set_axis(piece, &pads, i, &range);
        }
        status = plan_piece(plan, piece, &pads, error);
    }
    piece->own_data = gops_brick_equal(&piece->data, &plan->data);
    /* A border that was grown to all outputs must not overwrite them: the residual may lie there. */
    piece->own_output =
        gops_brick_equal(wanted, &plan->output) && gops_brick_equal(&piece->output, &plan->output);
    return status;
}

/* The product of the taps and input channels of an output. */
static double depth(const gops_mpi_plan *plan)
{
    gops_plan_info info = GOPS_PLAN_INFO_INIT;
    double outputs = 1;
    gops_plan_get_info(plan->whole, &info, NULL);
    for (int32_t i = 0; i < info.shape.output.rank; i++) {
        outputs *= (double)info.shape.output.dims[i];
    }
    return (double)info.flops / 2 / outputs;
}

/* Whether the rank's outputs can be computed from its own data but at borders, *right being the
 * outputs that are right then, and whether that is worth it. */
static bool fits_in_place(const gops_mpi_plan *plan, gops_piece *piece, piece_pads *pads,
                          gops_brick *right)
{
    *piece = (gops_piece){.wanted = plan->output, .output = plan->output, .data = plan->data};
    *right = plan->output;
    if (gops_brick_is_empty(&plan->data)) {
        return false;
    }
    for (int32_t i = 0; i < plan->output.rank - 2; i++) {
        gops_mpi_range range = {.output_begin = plan->output.begin[i + 2],
                                .output_end = plan->output.end[i + 2],
                                .data_begin = plan->data.begin[i + 2],
                                .data_end = plan->data.end[i + 2]};
        gops_mpi_range inner;
        if (!gops_mpi_axis_confine(&plan->axis[i], &range, &inner) ||
            inner.output_begin >= inner.output_end) {
            return false;
        }
        set_axis(piece, pads, i, &range);
        right->begin[i + 2] = inner.output_begin;
        right->end[i + 2] = inner.output_end;
    }
    const int32_t last = plan->output.rank - 1;
    const double outputs = (double)gops_brick_elements(&plan->output);
    const double kept = (double)(right->end[last] - right->begin[last]) /
                        (double)(plan->output.end[last] - plan->output.begin[last]);
    const double again =
        outputs * kept - (double)gops_brick_elements(right) + outputs * (1 - kept) * NARROW;
    const double copied =
        (double)gops_brick_elements(&plan->data) * (double)gops_type_bytes(plan->data_type);
    return again * depth(plan) * NS_PER_MULTIPLY <= copied * NS_PER_COPIED_BYTE;
}

/* The pieces around `right`: what of the rank's outputs lies before and behind it on each axis, of
 * which the earlier axes have the range of `right`. */
static gops_status plan_borders(gops_mpi_plan *plan, const gops_brick *right, gops_error *error)
{
    gops_brick rest = plan->output;
    for (int32_t i = 2; i < rest.rank; i++) {
        gops_brick sides[2] = {rest, rest};
        sides[0].end[i] = right->begin[i];
        sides[1].begin[i] = right->end[i];
        for (int side = 0; side < 2; side++) {
            if (!gops_brick_is_empty(&sides[side])) {
                const gops_status status =
                    assemble(plan, &sides[side], &plan->pieces[plan->piece_count], error);
                if (status != GOPS_OK) {
                    return status;
                }
                plan->piece_count++;
            }
        }
        rest.begin[i] = right->begin[i];
        rest.end[i] = right->end[i];
    }
    return GOPS_OK;
}

static void grow(gops_brick *reads, const gops_brick *other)
{
    if (gops_brick_is_empty(reads)) {
        *reads = *other;
    }
    for (int32_t i = 0; i < other->rank; i++) {
        reads->begin[i] = other->begin[i] < reads->begin[i] ? other->begin[i] : reads->begin[i];
        reads->end[i] = other->end[i] > reads->end[i] ? other->end[i] : reads->end[i];
    }
}

/* Each piece's buffers. */
static void lay_out(gops_mpi_plan *plan)
{
    size_t data = 0, output = 0;
    for (int i = 0; i < plan->piece_count; i++) {
        gops_piece *piece = &plan->pieces[i];
        gops_plan_info info = GOPS_PLAN_INFO_INIT;
        const size_t outputs = (size_t)gops_brick_elements(&piece->output);
        const size_t reads = piece->own_data ? 0
                                             : (size_t)gops_brick_elements(&piece->data) *
                                                   gops_type_bytes(plan->data_type);
        const size_t writes = piece->own_output ? 0 : outputs * gops_type_bytes(plan->output_type);
        data = reads > data ? reads : data;
        output = writes > output ? writes : output;
        if (!piece->own_output) {
            piece->residual_begin = gops_mpi_reserve(
                &plan->workspace_bytes, outputs * gops_type_bytes(plan->residual_type));
        }
        gops_plan_get_info(piece->plan, &info, NULL);
        if (info.workspace_bytes > plan->library_bytes) {
            plan->library_bytes = info.workspace_bytes;
        }
    }
    plan->data_begin = gops_mpi_reserve(&plan->workspace_bytes, data);
    plan->output_begin = gops_mpi_reserve(&plan->workspace_bytes, output);
    plan->library_begin = gops_mpi_reserve(&plan->workspace_bytes, plan->library_bytes);
}

gops_status gops_mpi_plan_pieces(gops_mpi_plan *plan, gops_error *error)
{
    piece_pads pads = {{0}, {0}, {0}};
    gops_brick right;
    gops_piece *first = &plan->pieces[0];
    gops_status status = GOPS_UNSUPPORTED;
    plan->reads = plan->data;
    plan->reads.end[2] = plan->reads.begin[2]; /* nothing */
    if (gops_brick_is_empty(&plan->output)) {
        return GOPS_OK;
    }
    if (fits_in_place(plan, first, &pads, &right)) {
        status = plan_piece(plan, first, &pads, NULL);
        first->own_data = first->own_output = true;
    }
    if (status == GOPS_OK) {
        plan->piece_count = 1;
        status = plan_borders(plan, &right, error);
    } else {
        status = assemble(plan, &plan->output, first, error);
        plan->piece_count = status == GOPS_OK;
    }
    for (int i = 0; i < plan->piece_count; i++) {
        grow(&plan->reads, &plan->pieces[i].data);
    }
    lay_out(plan);
    return status;
}
