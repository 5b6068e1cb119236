/*
 * norm.c: GroupNormalization: the moments of a group, then
 *
 *     output = (data - mean) * (scale / sqrt(variance + epsilon)) + bias
 *
 * A group of channels is one contiguous run of the tensor. norm_floats.inc.h, or norm.inc.h
 * beside it, finds its mean and variance while reading it once; applying them reads it again, from
 * the cache where the group fits there. That goes backwards through the channels, so that of a
 * larger group at least the end, which was read last, still is in the cache.
 *
 * Usually there is one work item per image and group. Where these are few and large, a group is cut
 * into pieces, which are first measured, one item each, and behind the barrier normalized, one item
 * each. A piece's moments lie in the shared workspace; whoever needs those of the group merges all
 * of them, in their order. Where the cuts are depends on the shape and the
 * budget, never on the threads.
 *
 * Each element is read before it is written, and by the item that writes it, so the output may be
 * the data.
 */
#include "methods/methods.h"

#include "base/checked.h"
#include "methods/norm/norm.h"
#include "post_ops/post_ops_kernels.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    /* So many groups are shared evenly enough as they are. */
    MANY_GROUPS = 16,
    /* A piece of so many elements takes some 10 us to measure: a few times what starting a thread
     * on it costs. */
    MIN_PIECE = 32768,
    /* Merging so many moments costs less than a tenth of normalizing the least piece. */
    MAX_PIECES = 64,
};

typedef struct parameters {
    int64_t pieces;   /* of a group */
    int64_t elements; /* of a piece, but for a shorter last one */
    int asks;         /* measuring a group asks for the memory of its outputs */
    int streams;      /* outputs go past the caches */
} parameters;

static_assert(sizeof(parameters) <= GOPS_PARAMETER_BYTES, "parameters outgrow the plan's room");

static parameters *own(gops_plan *plan)
{
    return (parameters *)(void *)plan->parameters.bytes;
}

static const parameters *read_own(const gops_plan *plan)
{
    return (const parameters *)(const void *)plan->parameters.bytes;
}

/* How many second level caches the data would fill. Of the last level the system tells nothing that
 * a virtual machine could rely on; it usually is some 32 of the second. */
static int64_t caches_filled(const gops_plan *plan, int64_t size)
{
    const int64_t all = gops_mul_saturate(size, plan->norm.batch * plan->norm.groups);
    return gops_mul_saturate(all, plan->type->bytes) / plan->machine.l2_bytes;
}

/* Outputs that no cache holds until they are read need not be fetched before they are written:
 * 32 MB and more took 1.07 to 1.4 times as long without, less took longer with it. */
static int streams(const gops_plan *plan, int64_t size)
{
    return caches_filled(plan, size) >= 32;
}

/* A group that is measured from beyond the second level cache leaves time to fetch the lines of its
 * outputs, where the cache has room for both. [1,640,64,64] took 1.15 times as long without and
 * [1,960,64,64] 1.44 times. Tensors that stay in the caches as a whole took a tenth more with it.
 */
static int asks(const gops_plan *plan, int64_t size)
{
    const int64_t bytes = gops_mul_saturate(size, plan->type->bytes);
    return bytes <= plan->machine.l2_bytes / 2 && caches_filled(plan, size) >= 8 &&
           !streams(plan, size);
}

static gops_status prepare(gops_plan *plan, int64_t slot_limit, gops_error *error)
{
    (void)error;
    parameters *p = own(plan);
    const gops_norm_geometry *norm = &plan->norm;
    /* An empty batch may have groups of any size. */
    const int64_t size = gops_mul_saturate(norm->channels, norm->pixels);
    const int64_t groups = norm->batch * norm->groups;
    *p = (parameters){1, size, asks(plan, size), streams(plan, size)};
    plan->items = groups;
    plan->slot_bytes = 0;
    plan->filter_bytes = 0;
    if (groups > 0 && groups < MANY_GROUPS && size >= 2 * MIN_PIECE) {
        const int64_t pieces = gops_min(size / MIN_PIECE, MAX_PIECES);
        const int64_t elements = gops_round_up(gops_ceil_div(size, pieces), MIN_PIECE / 2);
        const int64_t cuts = gops_ceil_div(size, elements);
        const int64_t bytes =
            gops_round_up(groups * cuts * (int64_t)sizeof(gops_moments), GOPS_WORKSPACE_ALIGNMENT);
        if (bytes <= slot_limit) {
            *p = (parameters){cuts, elements, 0, p->streams};
            plan->shared_bytes = bytes;
            plan->barrier = groups * cuts;
            plan->items = 2 * plan->barrier;
        }
    }
    snprintf(plan->why, sizeof plan->why,
             "moments, then values, of %lld groups of %lld elements in %lld pieces",
             (long long)groups, (long long)size, (long long)p->pieces);
    return GOPS_OK;
}

/* Normalizes and fuses elements first to end - 1 of a group that starts at element `start`, as many
 * at a time as stay in the first level cache, and rounds them once. */
static void apply_fused(const gops_plan *plan, const gops_job *job, int64_t image, int64_t start,
                        int64_t first, int64_t end, const gops_scaling *scaling)
{
    enum { CHUNK = 1024 };
    union {
        float f32[CHUNK];
        double f64[CHUNK];
    } chunk; /* whichever the compute type is */
    const gops_type_row *type = plan->type;
    for (int64_t last = end, i; last > first; last = i) {
        i = gops_max(first, (last - 1) / CHUNK * CHUNK);
        const void *residual =
            job->residual != NULL ? gops_residual_at(plan, job, start + i) : NULL;
        plan->kernels->norm->keep[type->index](&chunk, gops_data_at(plan, job, image, start + i), i,
                                               last, scaling);
        plan->kernels->post_ops->fuse[type->index](&chunk, NULL, residual, last - i,
                                                   &plan->activation);
        type->store(gops_output_at(plan, job, start + i), &chunk, last - i);
    }
}

/* Normalizes elements first to end - 1 of a group. */
static void apply(const gops_plan *plan, const gops_job *job, int64_t group, int64_t first,
                  int64_t end, const gops_moments *moments)
{
    const gops_norm_geometry *norm = &plan->norm;
    const int64_t start = group * norm->channels * norm->pixels, image = group / norm->groups;
    const size_t channel = (size_t)(group % norm->groups * norm->channels);
    const size_t skipped = channel * gops_type_bytes(plan->type->type);
    const double variance = moments->squares / moments->count;
    const gops_scaling scaling = {
        .moments = *moments,
        /* A variance that outgrew f64 says nothing about the outputs; it must not make them the
         * bias. */
        .inverse = isfinite(variance) ? 1 / sqrt(variance + norm->epsilon) : NAN,
        .scale = (const unsigned char *)job->scale + skipped,
        .bias = (const unsigned char *)job->bias + skipped,
        .pixels = norm->pixels,
        .streams = read_own(plan)->streams && job->output != job->data,
    };
    if (job->fused) {
        apply_fused(plan, job, image, start, first, end, &scaling);
    } else {
        plan->kernels->norm->apply[plan->type->index](gops_output_at(plan, job, start + first),
                                                      gops_data_at(plan, job, image, start + first),
                                                      first, end, &scaling);
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

static gops_moments measure(const gops_plan *plan, const gops_job *job, int64_t group,
                            int64_t first, int64_t end)
{
    const gops_norm_geometry *norm = &plan->norm;
    const int64_t start = group * norm->channels * norm->pixels + first;
    void *ahead = read_own(plan)->asks ? gops_output_at(plan, job, start) : NULL;
    return plan->kernels->norm->statistics[plan->type->index](
        gops_data_at(plan, job, group / norm->groups, start), end - first, ahead);
}

static void run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    (void)workspace;
    const parameters *p = read_own(plan);
    const int64_t size = plan->norm.channels * plan->norm.pixels;
    const int measuring = item < plan->barrier;
    const int64_t piece = measuring ? item : item - plan->barrier;
    const int64_t group = piece / p->pieces;
    const int64_t first = piece % p->pieces * p->elements;
    const int64_t end = gops_min(first + p->elements, size);
    gops_moments *shared = job->shared, whole;
    if (measuring) {
        shared[piece] = measure(plan, job, group, first, end);
        return;
    }
    if (p->pieces == 1) {
        whole = measure(plan, job, group, first, end);
    } else {
        const gops_moments *parts = shared + group * p->pieces;
        whole = parts[0];
        for (int64_t i = 1; i < p->pieces; i++) {
            gops_moments_merge(&whole, &parts[i]);
        }
    }
    if (first == 0) {
        write_moment(plan, job->mean, group, whole.center + whole.rest);
        write_moment(plan, job->variance, group, whole.squares / whole.count);
    }
    apply(plan, job, group, first, end, &whole);
}

const gops_method gops_norm = {
    .name = "norm",
    .operation = GOPS_OPERATION_NORM,
    .prepare = prepare,
    .run = run,
};
