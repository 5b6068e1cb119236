/*
 * norm.c: GroupNormalization: the moments of a group, then
 *
 *     output = (data - mean) * (scale / sqrt(variance + epsilon)) + bias
 *
 * A group of channels is one contiguous range of the tensor, or a range for each channel where there
 * are gaps between them. The first pass reads it once and finds its moments, from which mean and
 * variance follow (norm_floats.inc.h, or norm.inc.h where floats do not suffice); those of several
 * ranges are merged in their order. The second pass reads it again, from the cache where the group
 * fits there, and applies them. It goes backwards through the channels: of a larger group at least
 * the end, which was read last, is still in the cache.
 *
 * Usually there is one work item for each image and group. Where these are few and large, a group
 * is cut into blocks, and a block has two items: the first, before the barrier, finds its moments;
 * the second, after the barrier, normalizes it. The moments of all blocks lie in the shared
 * workspace. An item that needs those of the group merges those of its blocks, always in the same
 * order. The cuts depend on the shape and the budget, never on the threads.
 *
 * Moments that are given need no first pass; a plan of moments alone has no second one, and where a
 * group is cut, an item for each group that merges those of its blocks.
 *
 * Relu and clamp are applied by the kernels, other post-ops in a pass over what lies in the cache.
 *
 * An element is read before it is written, and by the item that writes it, so the output may be the
 * data.
 */
#include "plan/plan.h"

#include "base/checked.h"
#include "methods/norm/norm.h"
#include "post_ops/post_ops.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum {
    /* So many groups are work for all threads without being cut. */
    MANY_GROUPS = 16,
    /* The moments of a block of so many elements take some 10 us: a few times what starting a
     * thread costs. */
    MIN_BLOCK = 32768,
    /* Merging the moments of so many blocks takes less than a tenth of normalizing the smallest. */
    MAX_BLOCKS = 64,
    /* So many values stay in the first level cache between normalizing them and the post-ops. */
    POST_OPS_BLOCK = 1024,
    /* A tensor that would fill so many second level caches fits in no cache. The size of the last
     * level is not known, as what a virtual machine reports cannot be relied on; it usually is some
     * 32 times the second. Outputs of such tensors are stored past the caches, which saves reading
     * their lines first: those of 32 MB and more took up to 1.4 times as long without (Zen 5). */
    BEYOND_CACHES = 32,
    /* Groups of a tensor that fills this many come from beyond the second level cache. Measuring
     * one leaves time to prefetch the lines of its outputs, if the cache has room for both.
     * [1,960,64,64] took 1.44 times as long without (Zen 5); smaller tensors take longer with it. */
    BEYOND_L2 = 8,
};

typedef struct norm_layout {
    int64_t blocks;          /* of a group */
    int64_t elements;        /* of a block; the last one may have less */
    bool prefetches_outputs; /* while a group is measured */
    bool nontemporal;        /* outputs are stored past the caches */
} norm_layout;

static_assert(sizeof(norm_layout) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");

static const norm_layout *norm_layout_of(const gops_plan *plan)
{
    return gops_read_parameters(plan);
}

static gops_status norm_prepare(gops_plan *plan, int64_t worker_limit, gops_error *error)
{
    (void)error;
    norm_layout *p = gops_parameters(plan);
    const gops_norm_geometry *norm = &plan->norm;
    const int64_t size = norm->channels * norm->pixels;
    const int64_t groups = norm->batch * norm->groups, l2_bytes = plan->machine.l2_bytes;
    const int64_t group_bytes = size * plan->type->bytes;
    const int64_t l2_filled = group_bytes * groups / l2_bytes;
    const bool prefetches = plan->moments == GOPS_MOMENTS_FOUND && group_bytes <= l2_bytes / 2 &&
                            l2_filled >= BEYOND_L2 && l2_filled < BEYOND_CACHES;
    *p = (norm_layout){1, size, prefetches, l2_filled >= BEYOND_CACHES};
    plan->items = groups;
    plan->worker_bytes = 0;
    plan->filter_bytes = 0;
    if (groups < MANY_GROUPS && size >= 2 * MIN_BLOCK) {
        const int64_t wanted = gops_min(size / MIN_BLOCK, MAX_BLOCKS);
        const int64_t elements = gops_round_up(gops_ceil_div(size, wanted), MIN_BLOCK / 2);
        const int64_t blocks = gops_ceil_div(size, elements);
        const int64_t bytes = gops_round_up(groups * blocks * (int64_t)sizeof(gops_moments),
                                            GOPS_WORKSPACE_ALIGNMENT);
        const bool given = plan->moments == GOPS_MOMENTS_GIVEN;
        if (given || bytes <= worker_limit) {
            *p = (norm_layout){blocks, elements, false, p->nontemporal};
            plan->shared_bytes = given ? 0 : bytes;
            plan->barrier = given ? 0 : groups * blocks;
            plan->items = plan->moments == GOPS_MOMENTS_ONLY ? plan->barrier + groups
                                                             : plan->barrier + groups * blocks;
        }
    }
    snprintf(plan->why, sizeof plan->why,
             "moments, then values, of %lld groups of %lld elements in %lld blocks",
             (long long)groups, (long long)size, (long long)p->blocks);
    return GOPS_OK;
}

/* Where element i of a group is in a tensor whose channels are `plane` apart. */
static int64_t element_of(const gops_norm_geometry *norm, int64_t plane, int64_t group, int64_t i)
{
    return (group * norm->channels + i / norm->pixels) * plane + i % norm->pixels;
}

/* Normalizes elements first to end - 1 of a group, which lie together, applies the post-ops and rounds once,
 * in blocks that stay in the first level cache. */
static void apply_with_post_ops(const gops_plan *plan, const gops_job *job, int64_t group,
                                int64_t first, int64_t end, const gops_scaling *scaling)
{
    union {
        float f32[POST_OPS_BLOCK];
        double f64[POST_OPS_BLOCK];
    } block; /* of the compute type */
    const gops_norm_geometry *norm = &plan->norm;
    const gops_type_row *type = plan->type;
    const bool in_place = type->native && !gops_adds_in_place(job);
    for (int64_t i = first, next; i < end; i = next) {
        next = gops_min(end, (i / POST_OPS_BLOCK + 1) * POST_OPS_BLOCK);
        const int64_t data = element_of(norm, plan->data_plane, group, i);
        const int64_t output = element_of(norm, plan->output_plane, group, i);
        const void *residual = job->residual != NULL ? gops_residual_at(plan, job, output) : NULL;
        void *to = gops_output_at(plan, job, output), *values = in_place ? to : &block;
        plan->kernels->norm->apply_unrounded[type->index](
            values, gops_data_at(plan, job, group / norm->groups, data), i, next, scaling);
        gops_apply_post_ops(plan, job, type, 0, values, NULL, residual, next - i);
        if (!in_place) {
            type->store(to, values, next - i);
        }
    }
}

static void apply_without(const gops_plan *plan, const gops_job *job, int64_t group, int64_t first,
                          int64_t end, const gops_scaling *scaling)
{
    const gops_norm_geometry *norm = &plan->norm;
    const int64_t data = element_of(norm, plan->data_plane, group, first);
    const int64_t output = element_of(norm, plan->output_plane, group, first);
    plan->kernels->norm->apply[plan->type->index](
        gops_output_at(plan, job, output), gops_data_at(plan, job, group / norm->groups, data),
        first, end, scaling);
}

/* A bound that the kernels clamp values to; `none` where they are to apply no post-op. */
static double bound_of(const gops_plan *plan, const gops_epilogue *epilogue, int i, double none)
{
    return !epilogue->applies                        ? none
           : plan->type->compute == GOPS_COMPUTE_F64 ? epilogue->bounds.f64[i]
                                                     : (double)epilogue->bounds.f32[i];
}

/* Normalizes elements first to end - 1 of a group. */
static void norm_apply(const gops_plan *plan, const gops_job *job, int64_t group, int64_t first,
                       int64_t end, const gops_moments *moments)
{
    const gops_norm_geometry *norm = &plan->norm;
    const size_t channel = (size_t)(group % norm->groups * norm->channels);
    const size_t skipped = channel * (size_t)plan->type->bytes;
    const double variance = moments->squares / moments->count;
    const gops_epilogue epilogue = gops_epilogue_read(plan, job, GOPS_EPILOGUE_NO_RESIDUAL);
    const bool fused = job->fused && !epilogue.applies;
    const gops_scaling scaling = {
        .moments = *moments,
        /* With a variance that overflowed f64 the outputs are NaN. An inverse of 0 would make them
         * the bias. */
        .inverse = isfinite(variance) ? 1 / sqrt(variance + norm->epsilon) : NAN,
        .scale = (const unsigned char *)job->scale + skipped,
        .bias = (const unsigned char *)job->bias + skipped,
        .pixels = norm->pixels,
        .least = bound_of(plan, &epilogue, 0, -INFINITY),
        .most = bound_of(plan, &epilogue, 1, INFINITY),
        .nontemporal = norm_layout_of(plan)->nontemporal && job->output != job->data,
    };
    /* Of a channel where gaps lie between them, or where post-ops go through blocks of it forwards. */
    const int64_t run = gops_has_channel_gaps(plan) ? norm->pixels
                        : fused                     ? gops_max(norm->pixels, POST_OPS_BLOCK)
                                                    : INT64_MAX;
    for (int64_t last = end, i; last > first; last = i) {
        i = gops_max(first, (last - 1) / run * run);
        (fused ? apply_with_post_ops : apply_without)(plan, job, group, i, last, &scaling);
    }
}

static void write_moment(const gops_plan *plan, void *to, int64_t group, double value)
{
    if (to != NULL && plan->type->type == GOPS_F64) {
        ((double *)to)[group] = value;
    } else if (to != NULL) {
        ((float *)to)[group] = (float)value;
    }
}

static gops_moments norm_measure(const gops_plan *plan, const gops_job *job, int64_t group,
                                 int64_t first, int64_t end)
{
    const gops_norm_geometry *norm = &plan->norm;
    const bool gaps = gops_has_channel_gaps(plan);
    gops_moments all = {.count = 0};
    for (int64_t i = first, next; i < end; i = next) {
        next = gaps ? gops_min(end, i - i % norm->pixels + norm->pixels) : end;
        const int64_t data = element_of(norm, plan->data_plane, group, i);
        void *output =
            norm_layout_of(plan)->prefetches_outputs
                ? gops_output_at(plan, job, element_of(norm, plan->output_plane, group, i))
                : NULL;
        const gops_moments some = plan->kernels->norm->measure[plan->type->index](
            gops_data_at(plan, job, group / norm->groups, data), next - i, output);
        if (i == first) {
            all = some;
        } else {
            gops_moments_merge(&all, &some);
        }
    }
    return all;
}

static gops_moments merge_blocks(const gops_moments *blocks, int64_t count)
{
    gops_moments all = blocks[0];
    for (int64_t i = 1; i < count; i++) {
        gops_moments_merge(&all, &blocks[i]);
    }
    return all;
}

static double read_moment(const gops_plan *plan, const void *from, int64_t group)
{
    return plan->type->type == GOPS_F64 ? ((const double *)from)[group]
                                        : (double)((const float *)from)[group];
}

/* The moments of a group: given, of its blocks, or of the only one. */
static gops_moments norm_moments(const gops_plan *plan, const gops_job *job, int64_t group)
{
    const norm_layout *p = norm_layout_of(plan);
    if (plan->moments == GOPS_MOMENTS_GIVEN) {
        return job->moments != NULL ? job->moments[group]
                                    : (gops_moments){1, read_moment(plan, job->mean, group), 0,
                                                     read_moment(plan, job->variance, group)};
    }
    return p->blocks == 1
               ? norm_measure(plan, job, group, 0, plan->norm.channels * plan->norm.pixels)
               : merge_blocks((const gops_moments *)job->shared + group * p->blocks, p->blocks);
}

static void write_moments(const gops_plan *plan, const gops_job *job, int64_t group,
                          const gops_moments *moments)
{
    if (plan->moments == GOPS_MOMENTS_GIVEN) {
        return;
    }
    write_moment(plan, job->mean, group, moments->center + moments->rest);
    write_moment(plan, job->variance, group, moments->squares / moments->count);
    if (job->moments != NULL) {
        job->moments[group] = *moments;
    }
}

static void norm_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    (void)workspace;
    const norm_layout *p = norm_layout_of(plan);
    const int64_t size = plan->norm.channels * plan->norm.pixels;
    const bool measures = item < plan->barrier, only = plan->moments == GOPS_MOMENTS_ONLY;
    const int64_t block = measures ? item : item - plan->barrier;
    const int64_t group = only && !measures ? block : block / p->blocks;
    const int64_t first = only && !measures ? 0 : block % p->blocks * p->elements;
    const int64_t end = gops_min(first + p->elements, size);
    gops_moments *shared = job->shared;
    if (measures) {
        shared[block] = norm_measure(plan, job, group, first, end);
        return;
    }
    const gops_moments moments = norm_moments(plan, job, group);
    if (first == 0) {
        write_moments(plan, job, group, &moments);
    }
    if (!only) {
        norm_apply(plan, job, group, first, end, &moments);
    }
}

const gops_method gops_norm = {
    .name = "norm",
    .operation = GOPS_OPERATION_NORM,
    .prepare = norm_prepare,
    .run = norm_run,
};
