/* mpi_command.c: what the verbs of groupops-mpi share. */
#include "mpi_command.h"

#include "common/clock.h"
#include "common/flags.h"
#include "common/terminal.h"

#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void gops_mpi_wait_for(MPI_Request *request)
{
    for (int done = 0; !done;) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            sched_yield();
        }
    }
}

bool gops_mpi_all(const gops_mpi_world *world, bool done, gops_tool_error *error)
{
    int wanted = done ? INT_MAX : world->rank, first;
    gops_tool_error said = {GOPS_EXIT_FAILED, ""};
    MPI_Request request;
    MPI_Iallreduce(&wanted, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
    gops_mpi_wait_for(&request);
    if (first == INT_MAX) {
        return true;
    }
    if (world->rank == first) {
        said = *error;
    }
    MPI_Ibcast(&said, (int)sizeof said, MPI_BYTE, first, MPI_COMM_WORLD, &request);
    gops_mpi_wait_for(&request);
    *error = said;
    /* The library has put its rank there already. */
    return strncmp(said.message, "rank ", 5) == 0 ? false
                                                  : gops_tool_prefix(error, "rank %d", first);
}

uint64_t gops_mpi_hash(uint64_t hash, const char *bytes, size_t count)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ (unsigned char)bytes[i]) * prime;
    }
    return hash * prime;
}

bool gops_mpi_all_have(const gops_mpi_world *world, uint64_t hash, const char *what,
                       gops_tool_error *error)
{
    uint64_t first = hash;
    MPI_Request request;
    MPI_Ibcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD, &request);
    gops_mpi_wait_for(&request);
    return gops_mpi_all(world,
                        hash == first || gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                                          "its %s are not those of rank 0", what),
                        error);
}

/* Sets the grid's number along the axis that a word of --split names. */
static bool split_axis(const char *word, size_t length, int32_t axes, gops_mpi_grid *grid)
{
    static const char names[] = "zyx";
    if (length == 5 && strncmp(word, "batch", 5) == 0) {
        grid->batch = GOPS_MPI_DIVIDE;
        return true;
    }
    if (length == 6 && strncmp(word, "groups", 6) == 0) {
        grid->groups = GOPS_MPI_DIVIDE;
        return true;
    }
    for (int32_t i = 0; i < 3; i++) {
        if (length == 1 && *word == names[2 - i] && i < axes) {
            grid->space.values[axes - 1 - i] = GOPS_MPI_DIVIDE;
            return true;
        }
    }
    return false;
}

bool gops_mpi_check_split(const char *split, gops_tool_error *error)
{
    static const char *const names[] = {"batch", "groups", "z", "y", "x"};
    enum { NAMES = sizeof names / sizeof names[0] };
    bool is_given[NAMES] = {false};
    const char *word = split;
    if (split != NULL && *split == '\0') {
        return gops_tool_refuse(error, GOPS_EXIT_USAGE,
                                "--split= is empty; there are batch, groups, z, y, x");
    }
    for (size_t length; word != NULL; word = word[length] == ',' ? word + length + 1 : NULL) {
        size_t i = 0;
        length = strcspn(word, ",");
        while (i < NAMES && (strlen(names[i]) != length || strncmp(word, names[i], length) != 0)) {
            i++;
        }
        if (i == NAMES) {
            return gops_tool_refuse(error, GOPS_EXIT_USAGE,
                                    "--split=%s: \"%.*s\" is none of batch, groups, z, y, x", split,
                                    (int)length, word);
        }
        if (is_given[i]) {
            return gops_tool_refuse(error, GOPS_EXIT_USAGE, "--split=%s: %s is there twice", split,
                                    names[i]);
        }
        is_given[i] = true;
    }
    return true;
}

bool gops_mpi_read_split(const gops_mpi_world *world, int32_t rank, gops_mpi_grid *grid,
                         gops_tool_error *error)
{
    const int32_t axes = rank > 2 ? rank - 2 : 0;
    *grid = (gops_mpi_grid){.space = {.count = axes}};
    if (world->split == NULL && world->ranks > 1) {
        return gops_tool_refuse(error, GOPS_EXIT_USAGE,
                                "--split is not given; it names the axes that %d ranks divide: "
                                "batch, groups, z, y, x",
                                world->ranks);
    }
    for (const char *word = world->split; word != NULL && *word != '\0';) {
        const size_t length = strcspn(word, ",");
        if (!split_axis(word, length, axes, grid)) {
            return gops_tool_refuse(error, GOPS_EXIT_USAGE,
                                    "--split=%s: \"%.*s\" is no axis of data with %d axes; there "
                                    "are batch, groups, and z, y, x, of which x is the last one",
                                    world->split, (int)length, word, (int)rank);
        }
        word += length + (word[length] == ',');
    }
    return true;
}

bool gops_mpi_distribute(const gops_mpi_world *world, int32_t rank,
                         gops_mpi_distribution **distribution, gops_tool_error *error)
{
    gops_mpi_grid grid;
    gops_error refusal;
    if (!gops_mpi_all(world, gops_mpi_read_split(world, rank, &grid, error), error)) {
        return false;
    }
    return gops_mpi_distribution_create(MPI_COMM_WORLD, &grid, distribution, &refusal) == GOPS_OK ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
}

bool gops_mpi_plan_operation(const gops_command *command, const gops_settings *settings,
                             const gops_tensor *inputs, const gops_mpi_distribution *distribution,
                             gops_mpi_plan **plan, gops_mpi_plan_info *info, gops_tool_error *error)
{
    const gops_options options = gops_operation_options(settings, NULL);
    const gops_conv_attributes conv = gops_operation_conv(settings);
    const gops_deconv_attributes deconv = gops_operation_deconv(settings);
    const gops_norm_attributes norm = gops_operation_norm(settings);
    gops_error refusal;
    gops_status status;
    switch (command->operation->bit) {
    case GOPS_OF_CONV:
        status = gops_mpi_conv_plan_create(distribution, &inputs[0], &inputs[1], &conv, &options,
                                           plan, &refusal);
        break;
    case GOPS_OF_DECONV:
        status = gops_mpi_deconv_plan_create(distribution, &inputs[0], &inputs[1], &deconv,
                                             &options, plan, &refusal);
        break;
    default:
        status = gops_mpi_norm_plan_create(distribution, &inputs[0], &inputs[1], &inputs[2], &norm,
                                           &options, plan, &refusal);
    }
    if (status == GOPS_OK) {
        status = gops_mpi_plan_get_info(*plan, info, &refusal);
    }
    return status == GOPS_OK || gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
}

void gops_mpi_progress(const gops_mpi_world *world, const char *format, ...)
{
    static double begin, last;
    const double now = gops_clock_ms();
    va_list values;
    if (begin == 0) {
        begin = last = now;
    }
    if (world->rank != 0 || now - last < 1000) {
        return;
    }
    last = now;
    char text[GOPS_TOOL_MESSAGE_BYTES];
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    fprintf(stderr, "groupops-mpi: %.1f s: ", (now - begin) / 1000);
    gops_terminal_print(stderr, text);
    fputc('\n', stderr);
}
