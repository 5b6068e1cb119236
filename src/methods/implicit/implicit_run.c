/*
 * implicit_run.c: a work item of an implicit convolution: a box of the pixels of one image and
 * group, for a block of the channels; implicit.h.
 */
#include "methods/implicit/implicit_conv.h"

#include "base/checked.h"
#include "post_ops/epilogue.h"
#include "post_ops/post_ops.h"

typedef struct item_work {
    const gops_plan *plan;
    const gops_job *job;   /* what is left to do when sums are stored */
    const gops_job *whole; /* with what the tiles' epilogue does */
    const gops_epilogue *epilogue;
    gops_box box;
    gops_pixel_runs runs;
    int64_t channels;            /* of the item */
    int64_t channel;             /* the first, counted over all groups */
    const unsigned char *filter; /* the packed weights of these channels */
    int64_t element;             /* of the output: the box's first pixel in the first channel */
    unsigned char *workspace;
    gops_implicit_pass pass;
} item_work;

/* The offset table: the offsets of all taps of all channels. */
static void fill_offsets(const gops_plan *plan, int64_t *offsets)
{
    const gops_implicit *p = gops_implicit_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    int64_t tap[GOPS_MAX_SPATIAL] = {0};
    const int64_t plane = p->in_place ? conv->data_pixels : p->padded.plane;
    for (int64_t t = 0; t < conv->taps; t++) {
        int64_t offset = 0, residue = 0;
        for (int a = 0; a < conv->axes; a++) {
            const int64_t reach = tap[a] * conv->axis[a].dilation;
            if (p->in_place || !p->pixels_form) {
                offset += reach * (p->pitch[a] / conv->axis[a].stride);
            } else {
                const int64_t residues = p->padded.axis[a].residues;
                offset += reach / conv->axis[a].stride * p->pitch[a];
                residue = residue * residues + tap[a] % residues;
            }
        }
        offsets[t] = offset + residue * p->padded.positions;
        for (int a = conv->axes - 1; a >= 0 && ++tap[a] == conv->axis[a].kernel; a--) {
            tap[a] = 0;
        }
    }
    for (int64_t i = conv->taps; i < p->depth; i++) {
        offsets[i] = offsets[i - conv->taps] + plane;
    }
}

static const void *implicit_find_input(const gops_plan *plan, const unsigned char *data,
                                       const gops_box *box, void *workspace)
{
    const gops_conv_geometry *conv = &plan->conv;
    int64_t origin[GOPS_MAX_SPATIAL];
    for (int a = 0; a < conv->axes; a++) {
        origin[a] = box->begin[a] * conv->axis[a].stride - conv->axis[a].pad_begin;
    }
    return gops_implicit_input(plan, gops_implicit_read(plan), box, origin, data, workspace);
}

/* Stores the sums of the pass in the channels form, those of the item's channels c to
 * c + count - 1. */
static void store_channels_form(const item_work *work, int64_t first, int64_t c, int64_t count)
{
    const gops_plan *plan = work->plan;
    const gops_implicit *p = gops_implicit_read(plan);
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    const gops_implicit_pass *pass = &work->pass;
    const int64_t pixels = plan->conv.output_pixels;
    const int64_t element = work->element + c * pixels + first;
    if (plan->type->native && !gops_adds_in_place(work->job)) {
        unsigned char *to = gops_output_at(plan, work->job, element);
        tiles->transpose(to, pixels, pass->sums, pass->mr, count, pass->count);
        for (int64_t i = 0; i < count && work->job->fused; i++) { /* while it is in the L1 cache */
            gops_store(plan, work->job, work->channel + c + i, element + i * pixels, pass->count,
                       to + i * pixels * pass->bytes);
        }
    } else {
        unsigned char *transposed = work->workspace + p->transpose_begin;
        tiles->transpose(transposed, pass->count, pass->sums, pass->mr, count, pass->count);
        for (int64_t i = 0; i < count; i++) {
            gops_store(plan, work->job, work->channel + c + i, element + i * pixels, pass->count,
                       transposed + i * pass->count * pass->bytes);
        }
    }
}

/* The same in the pixels form. */
static void store_pixels_form(const item_work *work, int64_t first, int64_t c, int64_t count)
{
    const gops_implicit_pass *pass = &work->pass;
    const gops_sum_rows rows = {
        .sums = pass->sums,
        .sums_ld = pass->sums_ld,
        .first = first,
        .count = pass->count,
        .channels = count,
        .channel = work->channel + c,
        .element = work->element + c * work->plan->conv.output_pixels,
    };
    gops_implicit_store_rows(work->plan, work->job, &work->runs, &rows);
}

/* One block of columns, for all channels of the item. */
static void implicit_run_columns(item_work *work, int64_t first, int64_t *columns,
                                 int64_t *sum_offsets)
{
    const gops_plan *plan = work->plan;
    const gops_implicit *p = gops_implicit_read(plan);
    gops_implicit_pass *pass = &work->pass;
    const bool to_output = work->runs.writes_outputs && !work->job->fused;
    const int64_t pixels = plan->conv.output_pixels;
    const unsigned char *weights = work->filter;
    gops_epilogue_values bias;
    for (int64_t c = 0; c < work->channels; c += pass->mr) {
        const int64_t left = work->channels - c;
        const int64_t mr = gops_implicit_mr(pass->tiles, p->pixels_form, p->mr, left);
        if (c == 0 || (mr != pass->mr && !p->pixels_form)) {
            gops_implicit_list_columns(p, plan->conv.axes, &work->runs, &work->box, first,
                                       pass->count, to_output,
                                       p->pixels_form ? work->runs.step : mr, columns, sum_offsets);
        }
        pass->mr = mr;
        if (work->epilogue->applies) {
            gops_epilogue_bias(plan, work->whole, work->channel + c, 1, gops_min(mr, left), mr,
                               &bias);
            pass->bounds = &work->epilogue->bounds;
            pass->bias = &bias;
        }
        pass->weights = weights;
        weights += mr * p->depth * pass->bytes;
        pass->sums = work->workspace + p->sums_begin;
        pass->sums_ld = p->column_block * work->runs.step;
        pass->residual = NULL;
        if (to_output) {
            pass->sums = gops_output_at(plan, work->job, work->element + c * pixels);
            pass->sums_ld = pixels;
        }
        if (to_output && work->whole->residual != NULL) {
            pass->residual = gops_residual_at(plan, work->whole, work->element + c * pixels);
        }
        gops_implicit_multiply(pass);
        if (!to_output && p->pixels_form) {
            store_pixels_form(work, first, c, gops_min(mr, left));
        } else if (!to_output) {
            store_channels_form(work, first, c, gops_min(mr, left));
        }
    }
}

void gops_implicit_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const gops_implicit *p = gops_implicit_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t image_group = item / p->boxes / p->channel_blocks;
    const int64_t channel = item / p->boxes % p->channel_blocks * p->channel_block;
    const int64_t padded = gops_implicit_padded_channels(p, tiles, conv->channels_out);
    const int64_t group = image_group % conv->groups;
    const void *data = gops_data_at(plan, job, image_group / conv->groups,
                                    image_group * conv->channels_in * conv->data_pixels);
    item_work work = {
        .plan = plan,
        .whole = job,
        .filter = (const unsigned char *)job->filter + (group * padded + channel) * conv->k * bytes,
        .channel = group * conv->channels_out + channel,
        .channels = gops_min(p->channel_block, conv->channels_out - channel),
        .workspace = workspace,
    };
    gops_implicit_axis axis[GOPS_MAX_SPATIAL];
    gops_implicit_axes(conv, axis);
    gops_implicit_box(p, conv->axes, axis, item % p->boxes, &work.box);
    work.runs = gops_implicit_runs(p, conv->axes, tiles->lanes, &work.box);
    const gops_epilogue epilogue = gops_epilogue_read(plan, job,
                                                      p->pixels_form && work.runs.writes_outputs
                                                          ? GOPS_EPILOGUE_SEPARATE_RESIDUAL
                                                          : GOPS_EPILOGUE_NO_RESIDUAL);
    work.job = epilogue.applies ? &epilogue.rest : job;
    work.epilogue = &epilogue;
    for (int a = 0; a < conv->axes; a++) {
        work.element = work.element * conv->axis[a].output + work.box.begin[a];
    }
    work.element += (image_group * conv->channels_out + channel) * conv->output_pixels;
    int64_t *offsets = (int64_t *)(void *)(work.workspace + p->offsets_begin);
    int64_t *columns = (int64_t *)(void *)(work.workspace + p->columns_begin);
    int64_t *sum_offsets = (int64_t *)(void *)(work.workspace + p->sum_offsets_begin);
    fill_offsets(plan, offsets);
    work.pass = (gops_implicit_pass){
        .tiles = gops_implicit_tiles(p, tiles),
        .input = implicit_find_input(plan, data, &work.box, workspace),
        .offsets = offsets,
        .depth = p->depth,
        .depth_block = p->depth_block,
        .prefetch_weights = work.channels * p->depth * bytes > plan->machine.l2_bytes / 2,
        .bytes = bytes,
        .columns = columns,
        .sum_offsets = sum_offsets,
    };
    const int64_t count = work.runs.columns * work.runs.count;
    for (int64_t first = 0; first < count; first += p->column_block) {
        work.pass.count = gops_min(p->column_block, count - first);
        implicit_run_columns(&work, first, columns, sum_offsets);
    }
}
