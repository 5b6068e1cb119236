/*
 * What is refused on one rank ends on all, with the same status and the rank in the message; grids
 * and parts; tensors that change their distribution.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements.h"
#include "lent_host.h"
#include "mpi_support.h"

enum { CHANNELS = 6, ROWS = 11, COLUMNS = 5, OUT = 2 };

static const gops_tensor data = {GOPS_F32, 4, {2, CHANNELS, ROWS, COLUMNS}};
static const gops_tensor filter_tensor = {GOPS_F32, 5, {2, OUT, CHANNELS / 2, 3, 3}};
static const gops_conv_attributes padded = {.pads_begin = {2, {1, 1}}, .pads_end = {2, {1, 1}}};

static gops_mpi_distribution *slabs(void)
{
    const gops_mpi_grid grid = {1, 1, {2, {GOPS_MPI_DIVIDE, 1}}};
    gops_mpi_distribution *made = NULL;
    gops_error error = {GOPS_OK, ""};
    mpi_check(gops_mpi_distribution_create(MPI_COMM_WORLD, &grid, &made, &error) == GOPS_OK, "%s",
              error.message);
    return made;
}

/* The last rank is the one that does something wrong. */
static int wrong(void)
{
    return mpi_rank == mpi_ranks - 1;
}

static void expect(gops_status got, const gops_error *error, gops_status status,
                   const char *message)
{
    char wanted[GOPS_MESSAGE_BYTES];
    snprintf(wanted, sizeof wanted, "rank %d: %s", mpi_ranks - 1, message);
    mpi_check(got == status && error->status == status && strcmp(error->message, wanted) == 0,
              "%s, status %d", error->message, (int)got);
}

static void plans_refused(void)
{
    gops_mpi_distribution *spread = slabs();
    gops_mpi_plan *plan = NULL;
    gops_error error = {GOPS_OK, ""};
    gops_conv_attributes attributes = padded;
    gops_options options = GOPS_OPTIONS_INIT;
    gops_tensor other = data;
    attributes.strides = (gops_list){2, {1, wrong() ? 0 : 1}};
    expect(
        gops_mpi_conv_plan_create(spread, &data, &filter_tensor, &attributes, NULL, &plan, &error),
        &error, GOPS_INVALID, "strides[1] is 0; it must be at least 1");
    mpi_check(plan == NULL, "a plan was made");
    options.algorithm = wrong() ? "fastest" : NULL;
    expect(
        gops_mpi_conv_plan_create(spread, &data, &filter_tensor, &padded, &options, &plan, &error),
        &error, GOPS_UNSUPPORTED,
        "algorithm is \"fastest\", which measures the whole problem on one machine; name the one "
        "that it found");
    options = (gops_options)GOPS_OPTIONS_INIT;
    options.moments = wrong() ? GOPS_MOMENTS_GIVEN : GOPS_MOMENTS_FOUND;
    expect(
        gops_mpi_conv_plan_create(spread, &data, &filter_tensor, &padded, &options, &plan, &error),
        &error, GOPS_UNSUPPORTED, "moments is 1; plans over MPI find them");
    options = (gops_options)GOPS_OPTIONS_INIT;
    options.output_channel_stride = wrong() ? 1009 : 0;
    expect(
        gops_mpi_conv_plan_create(spread, &data, &filter_tensor, &padded, &options, &plan, &error),
        &error, GOPS_UNSUPPORTED,
        "data_channel_stride is 0 and output_channel_stride 1009; plans over MPI take dense "
        "tensors");
    expect(gops_mpi_conv_plan_create(spread, &data, &filter_tensor, &padded, NULL,
                                     wrong() ? NULL : &plan, &error),
           &error, GOPS_INVALID, "plan is NULL");
    other.dims[3] += mpi_ranks > 1 && wrong();
    gops_status status =
        gops_mpi_conv_plan_create(spread, &other, &filter_tensor, &padded, NULL, &plan, &error);
    if (mpi_ranks > 1)
        expect(status, &error, GOPS_INVALID,
               "the problem, its attributes or options differ from those of rank 0");
    gops_mpi_plan_destroy(mpi_ranks > 1 ? NULL : plan);
    options = (gops_options)GOPS_OPTIONS_INIT;
    options.activation = (gops_activation){GOPS_ACTIVATION_LEAKY_RELU, wrong() ? 0.3 : 0.25, 0};
    plan = NULL;
    status =
        gops_mpi_conv_plan_create(spread, &data, &filter_tensor, &padded, &options, &plan, &error);
    if (mpi_ranks > 1)
        expect(status, &error, GOPS_INVALID,
               "the problem, its attributes or options differ from those of rank 0");
    gops_mpi_plan_destroy(plan);
    options = (gops_options)GOPS_OPTIONS_INIT;
    options.algorithm = wrong() ? "direct" : "implicit";
    plan = NULL;
    status =
        gops_mpi_conv_plan_create(spread, &data, &filter_tensor, &padded, &options, &plan, &error);
    if (mpi_ranks > 1)
        expect(status, &error, GOPS_INVALID, "options.algorithm differs from that of rank 0");
    gops_mpi_plan_destroy(plan);
    gops_mpi_distribution_destroy(spread);
}

/* Bytes of the attributes that no field has, and values beyond a list's count, are other ones on each
 * rank, as they are on a stack. */
static void bytes_between(void)
{
    gops_mpi_distribution *spread = slabs();
    gops_conv_attributes attributes;
    gops_deconv_attributes transposed;
    gops_error error = {GOPS_OK, ""};
    gops_mpi_plan *plan = NULL;
    memset(&attributes, mpi_rank + 1, sizeof attributes);
    attributes.strides.count = attributes.dilations.count = 0;
    attributes.pads_begin.count = attributes.pads_end.count = 2;
    memcpy(attributes.pads_begin.values, padded.pads_begin.values, 2 * sizeof(int64_t));
    memcpy(attributes.pads_end.values, padded.pads_end.values, 2 * sizeof(int64_t));
    attributes.auto_pad = GOPS_AUTO_PAD_EXPLICIT;
    mpi_check(gops_mpi_conv_plan_create(spread, &data, &filter_tensor, &attributes, NULL, &plan,
                                        &error) == GOPS_OK,
              "%s", error.message);
    gops_mpi_plan_destroy(plan);
    memset(&transposed, mpi_rank + 1, sizeof transposed);
    transposed.strides.count = transposed.dilations.count = transposed.output_shape.count = 0;
    transposed.pads_begin.count = transposed.pads_end.count = transposed.output_padding.count = 0;
    transposed.auto_pad = GOPS_AUTO_PAD_EXPLICIT;
    transposed.output_shape_rule = GOPS_OUTPUT_SHAPE_SPEC;
    const gops_tensor filter = {GOPS_F32, 5, {2, CHANNELS / 2, OUT, 3, 3}};
    mpi_check(gops_mpi_deconv_plan_create(spread, &data, &filter, &transposed, NULL, &plan,
                                          &error) == GOPS_OK,
              "%s", error.message);
    gops_mpi_plan_destroy(plan);
    gops_mpi_distribution_destroy(spread);
}

/* Ranks may differ in what the plan does not read, and in nothing that it reads. */
static void options_compared(void)
{
    static const struct {
        gops_type type;
        gops_options options[2];
        bool is_read;
    } cases[] = {
        {GOPS_F32, {{.activation = {0}}, {.activation = {GOPS_ACTIVATION_NONE, 1, 2}}}, false},
        {GOPS_F32,
         {{.activation = {GOPS_ACTIVATION_RELU, 0, 0}},
          {.activation = {GOPS_ACTIVATION_RELU, 1, 2}}},
         false},
        {GOPS_F32,
         {{.activation = {GOPS_ACTIVATION_ELU, 1, 0}}, {.activation = {GOPS_ACTIVATION_ELU, 1, 2}}},
         false},
        {GOPS_F32,
         {{.activation = {GOPS_ACTIVATION_ELU, 1, 0}}, {.activation = {GOPS_ACTIVATION_ELU, 3, 0}}},
         true},
        {GOPS_F32,
         {{.activation = {GOPS_ACTIVATION_SWISH, 1, 0}},
          {.activation = {GOPS_ACTIVATION_SWISH, 3, 0}}},
         true},
        {GOPS_F32,
         {{.activation = {GOPS_ACTIVATION_CLAMP, 1, 2}},
          {.activation = {GOPS_ACTIVATION_CLAMP, 1, 3}}},
         true},
        {GOPS_F32,
         {{.activation = {GOPS_ACTIVATION_HARD_SIGMOID, 1, 2}},
          {.activation = {GOPS_ACTIVATION_HARD_SIGMOID, 1, 3}}},
         true},
        {GOPS_F32, {{.saturate = false}, {.saturate = true}}, false},
        {GOPS_F8E4M3, {{.saturate = false}, {.saturate = true}}, true},
        {GOPS_F8E5M2, {{.saturate = false}, {.saturate = true}}, true},
        {GOPS_F32, {{.saturate = false}, {.residual_after_activation = true}}, false},
        {GOPS_F32,
         {{.activation = {GOPS_ACTIVATION_RELU, 0, 0}},
          {.activation = {GOPS_ACTIVATION_RELU, 0, 0}, .residual_after_activation = true}},
         true},
        {GOPS_F32, {{.algorithm = NULL}, {.algorithm = "auto"}}, false},
        {GOPS_F32, {{.algorithm = NULL}, {.algorithm = "implicit"}}, true},
        {GOPS_F32, {{.algorithm = "implicit"}, {.algorithm = "auto"}}, true},
    };
    gops_mpi_distribution *spread = slabs();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gops_tensor x = data, weights = filter_tensor;
        gops_options options = cases[i].options[wrong()];
        gops_error error = {GOPS_OK, ""};
        gops_mpi_plan *plan = NULL;
        x.type = weights.type = cases[i].type;
        options.size = sizeof options;
        const gops_status status =
            gops_mpi_conv_plan_create(spread, &x, &weights, &padded, &options, &plan, &error);
        mpi_check((status == GOPS_OK) == (mpi_ranks == 1 || !cases[i].is_read), "case %d: %s",
                  (int)i, error.message);
        gops_mpi_plan_destroy(plan);
    }
    gops_mpi_distribution_destroy(spread);
}

static int fail_task(void *context, void (*task)(void *argument, int64_t index), void *argument,
                     int64_t count)
{
    (void)context;
    (void)task;
    (void)argument;
    (void)count;
    return 5;
}

static void executions_refused(void)
{
    gops_mpi_distribution *spread = slabs();
    gops_mpi_plan *plan = NULL;
    gops_mpi_filter *filter = NULL;
    gops_mpi_plan_info info;
    gops_error error = {GOPS_OK, ""};
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    gops_options options = GOPS_OPTIONS_INIT;
    gops_host host = GOPS_HOST_INIT;
    float x[2 * CHANNELS * ROWS * COLUMNS] = {0}, y[2 * 2 * OUT * ROWS * COLUMNS];
    float weights[2 * OUT * CHANNELS / 2 * 9] = {0};
    gops_mpi_conv_plan_create(spread, &data, &filter_tensor, &padded, NULL, &plan, &error);
    expect(gops_mpi_filter_create(plan, weights, NULL, wrong() ? NULL : &filter, &error), &error,
           GOPS_INVALID, "filter is NULL");
    mpi_check(filter == NULL, "a filter was made");
    mpi_check(gops_mpi_filter_create(plan, weights, NULL, &filter, &error) == GOPS_OK, "%s",
              error.message);
    gops_mpi_plan_get_info(plan, &info, NULL);
    arguments.data = x;
    arguments.output = y;
    mpi_check(gops_mpi_execute(plan, filter, &arguments, NULL, &error) == GOPS_OK, "%s",
              error.message);
    expect(gops_mpi_execute(plan, wrong() ? NULL : filter, &arguments, NULL, &error), &error,
           GOPS_INVALID, "filter is NULL");
    expect(gops_mpi_execute(plan, filter, wrong() ? NULL : &arguments, NULL, &error), &error,
           GOPS_INVALID, "arguments is NULL");
    arguments.size = sizeof arguments - (size_t)wrong();
    char message[96];
    snprintf(message, sizeof message, "arguments.size is %zu; it must be %zu", sizeof arguments - 1,
             sizeof arguments);
    expect(gops_mpi_execute(plan, filter, &arguments, NULL, &error), &error, GOPS_INVALID, message);
    arguments.size = sizeof arguments;
    arguments.data_stride = wrong() ? 7 : 0;
    expect(gops_mpi_execute(plan, filter, &arguments, NULL, &error), &error, GOPS_INVALID,
           "arguments has strides 7, 0, 0; the parts of tensors over MPI are dense");
    arguments.data_stride = 0;
    if (gops_test_elements(&info.output.shape) > 0 || !wrong()) {
        arguments.output = wrong() ? (void *)((char *)y + 1) : y;
    }
    gops_status status = gops_mpi_execute(plan, filter, &arguments, NULL, &error);
    mpi_check(status == GOPS_INVALID && strstr(error.message, "arguments.output is not aligned"),
              "%s", error.message);
    gops_mpi_filter_destroy(filter);
    gops_mpi_plan_destroy(plan);

    /* What fails in the middle of an execution. */
    host.parallel_for = wrong() ? fail_task : gops_test_in_turn_for;
    options.host = &host;
    options.threads = 2;
    const gops_tensor larger = {GOPS_F32, 4, {2, CHANNELS, 97, 89}};
    float *large = calloc(2 * CHANNELS * 97 * 89, sizeof *large);
    float *output = calloc(2 * 2 * OUT * 97 * 89, sizeof *output);
    gops_mpi_conv_plan_create(spread, &larger, &filter_tensor, &padded, &options, &plan, &error);
    gops_mpi_filter_create(plan, weights, NULL, &filter, &error);
    arguments.data = large;
    arguments.output = output;
    expect(gops_mpi_execute(plan, filter, &arguments, NULL, &error), &error, GOPS_HOST_FAILED,
           "host.parallel_for returned 5");
    gops_mpi_filter_destroy(filter);
    gops_mpi_plan_destroy(plan);
    free(large);
    free(output);
    gops_mpi_distribution_destroy(spread);
}

/* Moments that a normalization is to write to addresses that its floats cannot have. */
static void moments_misaligned(void)
{
    gops_mpi_distribution *spread = slabs();
    const gops_tensor channels = {GOPS_F32, 1, {CHANNELS}};
    const gops_norm_attributes attributes = {.num_groups = 3, .epsilon = 1e-3};
    gops_mpi_plan *plan = NULL;
    gops_error error = {GOPS_OK, ""};
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    float x[2 * CHANNELS * ROWS * COLUMNS] = {0}, y[2 * CHANNELS * ROWS * COLUMNS];
    float scale[CHANNELS] = {0}, moments[2 * 3 + 1];
    mpi_check(gops_mpi_norm_plan_create(spread, &data, &channels, &channels, &attributes, NULL,
                                        &plan, &error) == GOPS_OK,
              "%s", error.message);
    arguments.data = x;
    arguments.scale = arguments.bias = scale;
    arguments.output = y;
    arguments.mean = (char *)moments + wrong();
    expect(gops_mpi_execute(plan, NULL, &arguments, NULL, &error), &error, GOPS_INVALID,
           "arguments.mean is not aligned to its elements' 4 bytes");
    arguments.mean = moments;
    arguments.variance = (char *)moments + 2 * wrong();
    expect(gops_mpi_execute(plan, NULL, &arguments, NULL, &error), &error, GOPS_INVALID,
           "arguments.variance is not aligned to its elements' 4 bytes");
    gops_mpi_plan_destroy(plan);
    gops_mpi_distribution_destroy(spread);
}

typedef struct memory_host {
    int taken, given;
    int fails;
} memory_host;

static void *take_memory(void *context, size_t bytes, size_t alignment)
{
    memory_host *host = context;
    host->taken++;
    return host->fails ? NULL : aligned_alloc(alignment, (bytes + 63) / 64 * 64);
}

static void give_memory(void *context, void *memory)
{
    ((memory_host *)context)->given++;
    free(memory);
}

/* A workspace that is not given comes from the allocator of the plan's host. */
static void host_allocates(void)
{
    gops_mpi_distribution *spread = slabs();
    gops_mpi_plan *plan = NULL;
    gops_mpi_filter *filter = NULL;
    gops_mpi_plan_info info;
    gops_error error = {GOPS_OK, ""};
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    gops_options options = GOPS_OPTIONS_INIT;
    gops_host host = GOPS_HOST_INIT;
    memory_host memory = {0};
    char message[96];
    float x[2 * CHANNELS * ROWS * COLUMNS] = {0}, y[2 * 2 * OUT * ROWS * COLUMNS];
    float weights[2 * OUT * CHANNELS / 2 * 9] = {0};
    host.allocate = take_memory;
    host.release = give_memory;
    host.context = &memory;
    options.host = &host;
    gops_mpi_conv_plan_create(spread, &data, &filter_tensor, &padded, &options, &plan, &error);
    memset(&host, 0, sizeof host); /* it was copied */
    mpi_check(gops_mpi_filter_create(plan, weights, NULL, &filter, &error) == GOPS_OK, "%s",
              error.message);
    gops_mpi_plan_get_info(plan, &info, NULL);
    arguments.data = x;
    arguments.output = y;
    memory.taken = memory.given = 0;
    mpi_check(gops_mpi_execute(plan, filter, &arguments, NULL, &error) == GOPS_OK, "%s",
              error.message);
    mpi_check(memory.taken == 1 && memory.given == 1, "taken %d times, given back %d", memory.taken,
              memory.given);
    memory.fails = wrong();
    snprintf(message, sizeof message, "no memory for %zu bytes of workspace", info.workspace_bytes);
    const gops_status status = gops_mpi_execute(plan, filter, &arguments, NULL, &error);
    mpi_check(status == GOPS_OUT_OF_MEMORY && (!wrong() || strstr(error.message, message) != NULL),
              "%s, status %d", error.message, (int)status);
    gops_mpi_filter_destroy(filter);
    gops_mpi_plan_destroy(plan);
    gops_mpi_distribution_destroy(spread);
}

/* One row of data, of which the last of several ranks has none, and a row of outputs for each rank:
 * where `data` may be NULL, it is `output` that is missing. */
static void outputs_missing(void)
{
    const gops_tensor row = {GOPS_F32, 4, {2, CHANNELS, 1, COLUMNS}};
    const gops_conv_attributes attributes = {.pads_begin = {2, {mpi_ranks, 1}},
                                             .pads_end = {2, {1, 1}}};
    gops_mpi_distribution *spread = slabs();
    gops_mpi_plan *plan = NULL;
    gops_mpi_filter *filter = NULL;
    gops_mpi_plan_info info;
    gops_error error = {GOPS_OK, ""};
    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    float x[2 * CHANNELS * COLUMNS] = {0}, y[2 * 2 * OUT * COLUMNS];
    float weights[2 * OUT * CHANNELS / 2 * 9] = {0};
    mpi_check(gops_mpi_conv_plan_create(spread, &row, &filter_tensor, &attributes, NULL, &plan,
                                        &error) == GOPS_OK,
              "%s", error.message);
    mpi_check(gops_mpi_filter_create(plan, weights, NULL, &filter, &error) == GOPS_OK, "%s",
              error.message);
    gops_mpi_plan_get_info(plan, &info, NULL);
    mpi_check(info.data.shape.dims[2] == (mpi_rank == 0) && info.output.shape.dims[2] == 1,
              "%d rows, %d of outputs", (int)info.data.shape.dims[2],
              (int)info.output.shape.dims[2]);
    arguments.data = mpi_rank == 0 ? x : NULL;
    arguments.output = y;
    mpi_check(gops_mpi_execute(plan, filter, &arguments, NULL, &error) == GOPS_OK, "%s",
              error.message);
    arguments.output = wrong() ? NULL : y;
    expect(gops_mpi_execute(plan, filter, &arguments, NULL, &error), &error, GOPS_INVALID,
           "arguments.output is NULL");
    gops_mpi_filter_destroy(filter);
    gops_mpi_plan_destroy(plan);
    gops_mpi_distribution_destroy(spread);
}

static void grids_refused(void)
{
    gops_mpi_distribution *made = NULL;
    gops_error error = {GOPS_OK, ""};
    char message[96];
    gops_mpi_grid grid = {mpi_ranks, 2, {0, {0}}};
    const gops_mpi_grid fits = {mpi_ranks, 0, {0, {0}}};
    mpi_check(gops_mpi_distribution_create(MPI_COMM_WORLD, &grid, &made, &error) == GOPS_INVALID &&
                  made == NULL,
              "a grid of twice the ranks");
    grid = (gops_mpi_grid){GOPS_MPI_DIVIDE, -2, {0, {0}}};
    snprintf(message, sizeof message, "grid.groups is -2; it must be -1 (GOPS_MPI_DIVIDE) to %d",
             mpi_ranks);
    expect(gops_mpi_distribution_create(MPI_COMM_WORLD, wrong() ? &grid : &fits, &made, &error),
           &error, GOPS_INVALID, message);
    grid = (gops_mpi_grid){1, 1, {2, {1, mpi_ranks + 1}}};
    snprintf(message, sizeof message, "grid.space[1] is %d; it must be -1 (GOPS_MPI_DIVIDE) to %d",
             mpi_ranks + 1, mpi_ranks);
    expect(gops_mpi_distribution_create(MPI_COMM_WORLD, wrong() ? &grid : &fits, &made, &error),
           &error, GOPS_INVALID, message);
    expect(gops_mpi_distribution_create(MPI_COMM_WORLD, wrong() ? NULL : &fits, &made, &error),
           &error, GOPS_INVALID, "grid is NULL");
    expect(gops_mpi_distribution_create(MPI_COMM_WORLD, &fits, wrong() ? NULL : &made, &error),
           &error, GOPS_INVALID, "distribution is NULL");
    mpi_check(made == NULL, "a distribution was made");
    grid = (gops_mpi_grid){GOPS_MPI_DIVIDE, GOPS_MPI_DIVIDE, {1, {GOPS_MPI_DIVIDE}}};
    mpi_check(gops_mpi_distribution_create(MPI_COMM_WORLD, &grid, &made, &error) == GOPS_OK, "%s",
              error.message);
    grid = gops_mpi_distribution_grid(made);
    mpi_check(grid.batch * grid.groups * grid.space.values[0] == mpi_ranks, "%d %d %d", grid.batch,
              grid.groups, (int)grid.space.values[0]);
    gops_mpi_part part;
    const gops_tensor negative = {GOPS_F32, 3, {1, 2, -5}};
    mpi_check(gops_mpi_part_of(made, &negative, 1, 0, &part, &error) == GOPS_INVALID,
              "a dimension below 0");
    gops_mpi_distribution_destroy(made);
}

/* The parts of all ranks are the whole, and differ by one index at most. */
static void parts(void)
{
    gops_mpi_distribution *spread = slabs();
    gops_mpi_part part;
    gops_error error = {GOPS_OK, ""};
    int64_t next = 0;
    for (int rank = 0; rank < mpi_ranks; rank++) {
        gops_mpi_part_of(spread, &data, 2, rank, &part, &error);
        const int64_t more = part.shape.dims[2] - ROWS / mpi_ranks;
        mpi_check(part.offset[2] == next && more == (rank < ROWS % mpi_ranks), "rank %d", rank);
        next += part.shape.dims[2];
    }
    mpi_check(next == ROWS, "%d rows", (int)next);
    mpi_check(gops_mpi_part_of(spread, &data, 5, 0, &part, &error) == GOPS_INVALID &&
                  strcmp(error.message, "groups is 5; the tensor has 6 channels") == 0,
              "%s", error.message);
    mpi_check(gops_mpi_part_of(spread, &data, 2, mpi_ranks, &part, &error) == GOPS_INVALID,
              "a rank too many");
    gops_mpi_distribution_destroy(spread);
}

/* Random tensors from one random distribution to another. */
static void redistributed(void)
{
    enum { ROUNDS = 40 };
    gops_test_random random = gops_test_random_start(gops_test_seed(), 7);
    for (int i = 0; i < ROUNDS; i++) {
        gops_tensor tensor = {i % 2 ? GOPS_F32 : GOPS_U8, 3 + i % 3, {0}};
        const int64_t groups = gops_test_random_range(&random, 1, 5);
        gops_mpi_distribution *spread[2] = {NULL, NULL};
        gops_mpi_part has[2];
        gops_error error = {GOPS_OK, ""};
        for (int32_t axis = 0; axis < tensor.rank; axis++)
            tensor.dims[axis] = gops_test_random_range(&random, 1, 9);
        tensor.dims[1] *= groups;
        const size_t bytes = gops_test_type_bytes(tensor.type);
        char *whole = malloc((size_t)gops_test_elements(&tensor) * bytes);
        gops_test_random_fill(&random, tensor.type, whole, gops_test_elements(&tensor));
        void *parts_of[2];
        for (int side = 0; side < 2; side++) {
            const gops_mpi_grid grid = mpi_random_grid(tensor.rank - 2, &random);
            gops_mpi_distribution_create(MPI_COMM_WORLD, &grid, &spread[side], &error);
            gops_mpi_part_of(spread[side], &tensor, groups, mpi_rank, &has[side], &error);
            parts_of[side] = mpi_cut(&tensor, whole, &has[side]);
        }
        const size_t count = (size_t)gops_test_elements(&has[1].shape) * bytes;
        char *got = calloc(count + 1, 1);
        gops_status status =
            gops_mpi_redistribute(spread[0], spread[1], &tensor, groups, parts_of[0], got, &error);
        mpi_check(status == GOPS_OK && memcmp(got, parts_of[1], count) == 0, "round %d: %s", i,
                  error.message);
        for (int side = 0; side < 2; side++) {
            gops_mpi_distribution_destroy(spread[side]);
            free(parts_of[side]);
        }
        free(got);
        free(whole);
    }
}

/* The last rank lacks something, or has a distribution of another communicator. */
static void redistributions_refused(void)
{
    const gops_mpi_grid batch = {GOPS_MPI_DIVIDE, 1, {0, {0}}};
    gops_mpi_distribution *source = slabs(), *target = NULL, *reversed = NULL, *alone = NULL;
    gops_error error = {GOPS_OK, ""};
    MPI_Comm backwards, own;
    float x[2 * CHANNELS * ROWS * COLUMNS] = {0}, y[2 * CHANNELS * ROWS * COLUMNS];
    MPI_Comm_split(MPI_COMM_WORLD, 0, -mpi_rank, &backwards);
    MPI_Comm_split(MPI_COMM_WORLD, mpi_rank, 0, &own);
    gops_mpi_distribution_create(MPI_COMM_WORLD, &batch, &target, &error);
    gops_mpi_distribution_create(backwards, &batch, &reversed, &error);
    gops_mpi_distribution_create(own, &batch, &alone, &error);
    expect(gops_mpi_redistribute(source, wrong() ? NULL : target, &data, 2, x, y, &error), &error,
           GOPS_INVALID, "target is NULL");
    expect(gops_mpi_redistribute(source, target, wrong() ? NULL : &data, 2, x, y, &error), &error,
           GOPS_INVALID, "tensor is NULL");
    expect(gops_mpi_redistribute(source, target, &data, wrong() ? 5 : 2, x, y, &error), &error,
           GOPS_INVALID, "groups is 5; the tensor has 6 channels");
    expect(gops_mpi_redistribute(source, target, &data, 2, wrong() ? NULL : x, y, &error), &error,
           GOPS_INVALID, "from is NULL");
    if (mpi_ranks > 1) {
        static const char other[] = "the tensor, groups or grids are not those of rank 0";
        gops_tensor halves = data, narrow = data, image = data;
        halves.type = GOPS_F16;
        narrow.dims[3]--;
        image.dims[0] = 1;
        /* Rank 0 has all of one image: the last rank may lack `from`, but not `to`. */
        expect(gops_mpi_redistribute(target, source, &image, 2, mpi_rank == 0 ? x : NULL,
                                     wrong() ? NULL : y, &error),
               &error, GOPS_INVALID, "to is NULL");
        expect(gops_mpi_redistribute(source, target, wrong() ? &halves : &data, 2, x, y, &error),
               &error, GOPS_INVALID, other);
        expect(gops_mpi_redistribute(source, target, wrong() ? &narrow : &data, 2, x, y, &error),
               &error, GOPS_INVALID, other);
        expect(gops_mpi_redistribute(source, target, &data, wrong() ? 3 : 2, x, y, &error), &error,
               GOPS_INVALID, other);
        expect(gops_mpi_redistribute(source, wrong() ? alone : target, &data, 2, x, y, &error),
               &error, GOPS_INVALID, "the distributions have other ranks");
        expect(gops_mpi_redistribute(source, wrong() ? reversed : target, &data, 2, x, y, &error),
               &error, GOPS_INVALID, "the distributions have other ranks");
        /* Of an odd number the one in the middle has the same rank in both. */
        const gops_status status = gops_mpi_redistribute(source, reversed, &data, 2, x, y, &error);
        mpi_check(status == GOPS_INVALID &&
                      strcmp(error.message, "rank 0: the distributions have other ranks") == 0,
                  "%s, status %d", error.message, (int)status);
    }
    mpi_check(gops_mpi_redistribute(NULL, target, &data, 2, x, y, &error) == GOPS_INVALID &&
                  strcmp(error.message, "source is NULL") == 0,
              "%s", error.message);
    mpi_check(gops_mpi_redistribute(source, target, &data, 2, x, y, &error) == GOPS_OK, "%s",
              error.message);
    gops_mpi_distribution_destroy(source);
    gops_mpi_distribution_destroy(target);
    gops_mpi_distribution_destroy(reversed);
    gops_mpi_distribution_destroy(alone);
    MPI_Comm_free(&backwards);
    MPI_Comm_free(&own);
}

int main(int count, char **words)
{
    static const gops_test_case cases[] = {
        {"plans_refused", plans_refused},
        {"options_compared", options_compared},
        {"bytes_between", bytes_between},
        {"executions_refused", executions_refused},
        {"moments_misaligned", moments_misaligned},
        {"host_allocates", host_allocates},
        {"outputs_missing", outputs_missing},
        {"grids_refused", grids_refused},
        {"parts", parts},
        {"redistributed", redistributed},
        {"redistributions_refused", redistributions_refused},
        {NULL, NULL},
    };
    return mpi_test_main(&count, &words, "mpi_refusals", cases);
}
