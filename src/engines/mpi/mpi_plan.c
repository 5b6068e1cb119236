/* mpi_plan.c: makes and destroys plans. */
#include "mpi_plan.h"

#include <stdlib.h>
#include <string.h>

/* What the caller gave. */
typedef struct problem {
    gops_mpi_operation operation;
    const gops_tensor *data, *second, *third; /* filter, or scale and bias */
    const void *attributes;
    const gops_options *options;
} problem;

/* A quantized plan may have another type of filter than of data, which the shape does not depend on; where
 * plans must not, making them tells. */
static gops_status infer_shape(const problem *given, gops_shape *shape, gops_error *error)
{
    gops_tensor filter = {0};
    if (given->operation == GOPS_MPI_NORM) {
        return gops_norm_shape(given->data, given->second, given->third, given->attributes, shape,
                               error);
    }
    if (given->data != NULL && given->second != NULL) {
        filter = *given->second;
        filter.type = given->data->type;
    }
    const gops_tensor *second = given->second != NULL ? &filter : NULL;
    return given->operation == GOPS_MPI_CONV
               ? gops_conv_shape(given->data, second, given->attributes, shape, error)
               : gops_deconv_shape(given->data, second, given->attributes, shape, error);
}

static gops_status create_plan(const problem *given, const gops_options *options, gops_plan **plan,
                               gops_error *error)
{
    switch (given->operation) {
    case GOPS_MPI_CONV:
        return gops_conv_plan_create(given->data, given->second, given->attributes, options, plan,
                                     error);
    case GOPS_MPI_DECONV:
        return gops_deconv_plan_create(given->data, given->second, given->attributes, options, plan,
                                       error);
    default:
        return gops_norm_plan_create(given->data, given->second, given->third, given->attributes,
                                     options, plan, error);
    }
}

/* The options with their defaults. Those of another size are the library's to read. */
static gops_status read_options(const gops_options *given, gops_options *options, gops_error *error)
{
    *options = (gops_options)GOPS_OPTIONS_INIT;
    if (given != NULL && given->size != sizeof *options) {
        return gops_mpi_fail(error, GOPS_INVALID,
                             "options.size is %zu; plans over MPI take sizeof(gops_options), %zu",
                             given->size, sizeof *options);
    }
    if (given != NULL) {
        *options = *given;
    }
    options->divisible = true;
    if (options->algorithm != NULL && strcmp(options->algorithm, "fastest") == 0) {
        return gops_mpi_fail(error, GOPS_UNSUPPORTED,
                             "algorithm is \"fastest\", which measures the whole problem on one "
                             "machine; name the one that it found");
    }
    if (options->moments != GOPS_MOMENTS_FOUND) {
        return gops_mpi_fail(error, GOPS_UNSUPPORTED, "moments is %d; plans over MPI find them",
                             (int)options->moments);
    }
    if (options->data_channel_stride != 0 || options->output_channel_stride != 0) {
        return gops_mpi_fail(error, GOPS_UNSUPPORTED,
                             "data_channel_stride is %lld and output_channel_stride %lld; plans "
                             "over MPI take dense tensors",
                             (long long)options->data_channel_stride,
                             (long long)options->output_channel_stride);
    }
    return GOPS_OK;
}

/* Of FNV-1a. */
#define HASH_BASIS UINT64_C(0xcbf29ce484222325)

static uint64_t add_hash(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static uint64_t hash_tensor(uint64_t hash, const gops_tensor *tensor)
{
    hash = add_hash(hash, &tensor->type, sizeof tensor->type);
    return add_hash(hash, tensor->dims, (size_t)tensor->rank * sizeof tensor->dims[0]);
}

static uint64_t hash_list(uint64_t hash, const gops_list *list)
{
    hash = add_hash(hash, &list->count, sizeof list->count);
    return add_hash(hash, list->values, (size_t)list->count * sizeof list->values[0]);
}

/* Of a convolution or its transposed form; those that are left out have a count of 0. */
static void find_lists(const problem *given, const gops_list **strides, const gops_list **dilations)
{
    static const gops_list none;
    const bool transposed = given->operation == GOPS_MPI_DECONV;
    const gops_conv_attributes *conv = given->attributes;
    const gops_deconv_attributes *deconv = given->attributes;
    *strides = conv == NULL ? &none : transposed ? &deconv->strides : &conv->strides;
    *dilations = conv == NULL ? &none : transposed ? &deconv->dilations : &conv->dilations;
}

/* Of a convolution those that the output's shape and the pads leave open: both are resolved. */
static uint64_t hash_attributes(uint64_t hash, const problem *given)
{
    const gops_norm_attributes *norm = given->attributes;
    const gops_list *strides, *dilations;
    if (given->operation == GOPS_MPI_NORM) {
        hash = add_hash(hash, &norm->num_groups, sizeof norm->num_groups);
        return add_hash(hash, &norm->epsilon, sizeof norm->epsilon);
    }
    find_lists(given, &strides, &dilations);
    return hash_list(hash_list(hash, strides), dilations);
}

/* How many of alpha and beta a kind of activation reads; of one that is not known here, both. */
static int count_parameters(gops_activation_kind kind)
{
    switch (kind) {
    case GOPS_ACTIVATION_NONE:
    case GOPS_ACTIVATION_RELU:
    case GOPS_ACTIVATION_SIGMOID:
    case GOPS_ACTIVATION_TANH:
    case GOPS_ACTIVATION_HARD_SWISH:
    case GOPS_ACTIVATION_GELU:
    case GOPS_ACTIVATION_MISH:
    case GOPS_ACTIVATION_PRELU:
        return 0;
    case GOPS_ACTIVATION_LEAKY_RELU:
    case GOPS_ACTIVATION_SWISH:
    case GOPS_ACTIVATION_ELU:
        return 1;
    default:
        return 2;
    }
}

/* Those that change the result or the plan, as far as they are read (groupops/options.h), but the algorithm, which has
 * a message of its own; threads are each rank's own. */
static uint64_t hash_options(uint64_t hash, const gops_options *options, gops_type type)
{
    const gops_activation *activation = &options->activation;
    const bool saturates = type == GOPS_F8E4M3 || type == GOPS_F8E5M2;
    const double alpha = count_parameters(activation->kind) > 0 ? activation->alpha : 0;
    const double beta = count_parameters(activation->kind) > 1 ? activation->beta : 0;
    const int64_t words[] = {activation->kind,
                             options->max_workspace,
                             options->accuracy,
                             options->output_type,
                             options->residual_type,
                             saturates && options->saturate,
                             activation->kind != GOPS_ACTIVATION_NONE &&
                                 options->residual_after_activation};
    hash = add_hash(hash, words, sizeof words);
    hash = add_hash(hash, &alpha, sizeof alpha);
    return add_hash(hash, &beta, sizeof beta);
}

/* Tells problems apart by their values; structs have bytes of padding, too. */
static uint64_t hash_problem(const problem *given, const gops_options *options,
                             const gops_shape *shape)
{
    uint64_t hash = HASH_BASIS;
    hash = add_hash(hash, &given->operation, sizeof given->operation);
    hash = hash_tensor(hash, given->data);
    hash = hash_tensor(hash, given->second);
    hash = hash_tensor(hash, &shape->output);
    hash = hash_list(hash, &shape->pads_begin);
    hash = hash_list(hash, &shape->pads_end);
    hash = hash_attributes(hash, given);
    return hash_options(hash, options, given->data->type);
}

/* The first of the rank's checks: of what it was given. */
static gops_status check_problem(const problem *given, gops_options *options, gops_mpi_plan *plan,
                                 uint64_t *hash, gops_error *error)
{
    gops_status status = read_options(given->options, options, error);
    *hash = 0;
    if (status == GOPS_OK) {
        status = infer_shape(given, &plan->shape, error);
    }
    if (status == GOPS_OK) {
        status = gops_mpi_check_axes(plan->distribution, given->data, error);
    }
    if (status == GOPS_OK) {
        *hash = hash_problem(given, options, &plan->shape);
    }
    return status;
}

/* Collective: all ranks plan the algorithm that rank 0 chooses. */
static gops_status plan_whole(const problem *given, gops_options *options, uint64_t hash,
                              gops_mpi_plan *plan, gops_error *error)
{
    const gops_mpi_distribution *spread = plan->distribution;
    const char *named = options->algorithm != NULL ? options->algorithm : "auto";
    const uint64_t asked = add_hash(HASH_BASIS, named, strlen(named));
    struct {
        uint64_t hash, asked;
        char algorithm[sizeof plan->algorithm];
    } chosen = {hash, asked, ""};
    gops_error own = {GOPS_OK, ""};
    gops_status status = GOPS_OK;
    gops_plan_info info = GOPS_PLAN_INFO_INIT;
    MPI_Request request;
    if (spread->rank == 0) {
        status = create_plan(given, options, &plan->whole, &own);
        if (status == GOPS_OK) {
            gops_plan_get_info(plan->whole, &info, NULL);
            strncpy(chosen.algorithm, info.algorithm, sizeof chosen.algorithm - 1);
        }
    }
    GOPS_MPI_TRY(MPI_Ibcast(&chosen, (int)sizeof chosen, MPI_BYTE, 0, spread->comm, &request));
    GOPS_MPI_WAIT(&request);
    memcpy(plan->algorithm, chosen.algorithm, sizeof plan->algorithm);
    if (hash != chosen.hash) {
        status =
            gops_mpi_fail(&own, GOPS_INVALID,
                          "the problem, its attributes or options differ from those of rank 0");
    } else if (asked != chosen.asked) {
        status = gops_mpi_fail(&own, GOPS_INVALID, "options.algorithm differs from that of rank 0");
    } else if (spread->rank != 0 && chosen.algorithm[0] != '\0') {
        options->algorithm = plan->algorithm;
        status = create_plan(given, options, &plan->whole, &own);
    }
    if (status == GOPS_OK) {
        gops_plan_get_info(plan->whole, &info, NULL);
        plan->shape = info.shape;
        plan->output_type = info.shape.output.type;
    }
    return gops_mpi_agree(spread->comm, status, &own, error);
}

static int64_t at(const gops_list *list, int32_t axis)
{
    return list->count == 0 ? 1 : list->values[axis];
}

static void set_axes(const problem *given, gops_mpi_plan *plan)
{
    const gops_list *strides, *dilations;
    find_lists(given, &strides, &dilations);
    for (int32_t i = 0; i < given->data->rank - 2; i++) {
        const int64_t taps = given->second->dims[i + 3];
        plan->axis[i] = (gops_mpi_axis){
            .transposed = given->operation == GOPS_MPI_DECONV,
            .data = given->data->dims[i + 2],
            .output = plan->shape.output.dims[i + 2],
            .stride = at(strides, i),
            .reach = taps > 1 ? (taps - 1) * at(dilations, i) : 0,
            .pad = plan->shape.pads_begin.values[i],
        };
    }
}

/* Collective from here on. */
static gops_status finish(const problem *given, gops_options *options, gops_mpi_plan *plan,
                          gops_error *error)
{
    const gops_mpi_distribution *spread = plan->distribution;
    gops_error own = {GOPS_OK, ""};
    const gops_mpi_place place = gops_mpi_place_of(spread, spread->rank);
    int64_t end;
    plan->data_type = given->data->type;
    plan->residual_type = options->residual_type != 0 ? options->residual_type : plan->output_type;
    if (given->operation == GOPS_MPI_NORM) {
        plan->shape.groups = ((const gops_norm_attributes *)given->attributes)->num_groups;
    }
    plan->data = gops_mpi_brick_of(spread, given->data, plan->shape.groups, spread->rank);
    plan->output = gops_mpi_brick_of(spread, &plan->shape.output, plan->shape.groups, spread->rank);
    plan->reads = plan->data;
    gops_mpi_split(plan->shape.groups, spread->grid.groups, place.groups, &plan->group_begin, &end);
    plan->group_count = end - plan->group_begin;
    if (given->operation == GOPS_MPI_NORM) {
        const gops_status planned = gops_mpi_plan_norm(plan, given->attributes, options, &own);
        return gops_mpi_agree(spread->comm, planned, &own, error);
    }
    set_axes(given, plan);
    const gops_status status =
        gops_mpi_agree(spread->comm, gops_mpi_plan_pieces(plan, &own), &own, error);
    return status == GOPS_OK ? gops_mpi_plan_messages(plan, given->data, error) : status;
}

static gops_status create(const gops_mpi_distribution *distribution, const problem *given,
                          gops_mpi_plan **plan, gops_error *error)
{
    gops_error own = {GOPS_OK, ""};
    gops_options options;
    uint64_t hash = 0;
    gops_status status = GOPS_OK;
    if (plan != NULL) {
        *plan = NULL;
    }
    if (distribution == NULL) {
        return gops_mpi_fail(error, GOPS_INVALID, "distribution is NULL");
    }
    gops_mpi_plan *made = calloc(1, sizeof *made);
    if (made == NULL) {
        status = gops_mpi_fail(&own, GOPS_OUT_OF_MEMORY, "no memory for a plan");
    } else if (plan == NULL) {
        status = gops_mpi_fail(&own, GOPS_INVALID, "plan is NULL");
    } else {
        made->distribution = distribution;
        made->operation = given->operation;
        status = check_problem(given, &options, made, &hash, &own);
    }
    status = gops_mpi_agree(distribution->comm, status, &own, error);
    if (status == GOPS_OK) {
        status = plan_whole(given, &options, hash, made, error);
    }
    if (status == GOPS_OK && options.host != NULL) {
        /* An older or newer size, which the library has taken. */
        const size_t bytes = options.host->size;
        memcpy(&made->host, options.host, bytes < sizeof made->host ? bytes : sizeof made->host);
    }
    if (status == GOPS_OK) {
        status = finish(given, &options, made, error);
    }
    if (status != GOPS_OK) {
        gops_mpi_plan_destroy(made);
        return status;
    }
    *plan = made;
    return GOPS_OK;
}

gops_status gops_mpi_conv_plan_create(const gops_mpi_distribution *distribution,
                                      const gops_tensor *data, const gops_tensor *filter,
                                      const gops_conv_attributes *attributes,
                                      const gops_options *options, gops_mpi_plan **plan,
                                      gops_error *error)
{
    const problem given = {GOPS_MPI_CONV, data, filter, NULL, attributes, options};
    return create(distribution, &given, plan, error);
}

gops_status gops_mpi_deconv_plan_create(const gops_mpi_distribution *distribution,
                                        const gops_tensor *data, const gops_tensor *filter,
                                        const gops_deconv_attributes *attributes,
                                        const gops_options *options, gops_mpi_plan **plan,
                                        gops_error *error)
{
    const problem given = {GOPS_MPI_DECONV, data, filter, NULL, attributes, options};
    return create(distribution, &given, plan, error);
}

gops_status gops_mpi_norm_plan_create(const gops_mpi_distribution *distribution,
                                      const gops_tensor *data, const gops_tensor *scale,
                                      const gops_tensor *bias,
                                      const gops_norm_attributes *attributes,
                                      const gops_options *options, gops_mpi_plan **plan,
                                      gops_error *error)
{
    const problem given = {GOPS_MPI_NORM, data, scale, bias, attributes, options};
    return create(distribution, &given, plan, error);
}

void gops_mpi_plan_destroy(gops_mpi_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (int i = 0; i < plan->piece_count; i++) {
        gops_plan_destroy(plan->pieces[i].plan);
    }
    gops_plan_destroy(plan->whole);
    gops_plan_destroy(plan->measure);
    gops_plan_destroy(plan->normalize);
    free(plan->messages);
    free(plan);
}

gops_status gops_mpi_plan_get_info(const gops_mpi_plan *plan, gops_mpi_plan_info *info,
                                   gops_error *error)
{
    gops_plan_info whole = GOPS_PLAN_INFO_INIT;
    if (plan == NULL || info == NULL) {
        return gops_mpi_fail(error, GOPS_INVALID, "%s is NULL", plan == NULL ? "plan" : "info");
    }
    gops_plan_get_info(plan->whole, &whole, NULL);
    *info = (gops_mpi_plan_info){
        .shape = plan->shape,
        .data = gops_brick_part(&plan->data, plan->data_type),
        .output = gops_brick_part(&plan->output, plan->output_type),
        .reads = gops_brick_part(&plan->reads, plan->data_type),
        .first_group = plan->group_begin,
        .groups = plan->group_count,
        .algorithm = whole.algorithm,
        .workspace_bytes = plan->workspace_bytes,
        .messages = plan->requests,
    };
    for (int i = 0; i < plan->receives + plan->sends; i++) {
        int64_t *bytes = i < plan->receives ? &info->received_bytes : &info->sent_bytes;
        *bytes += (int64_t)plan->messages[i].bytes;
    }
    return GOPS_OK;
}
