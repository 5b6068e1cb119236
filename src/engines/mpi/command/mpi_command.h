/* mpi_command.h: the command groupops-mpi: what its verbs share. All functions are collective but
 * where they say so: every rank reads the same words and makes the same calls. */
#ifndef GOPS_MPI_COMMAND_H
#define GOPS_MPI_COMMAND_H

#include "verbs/verbs.h"

#include <groupops/mpi.h>

/* The ranks and what the words say of them. */
typedef struct gops_mpi_world {
    int rank, ranks;
    const char *split; /* the value of --split; NULL: not given */
} gops_mpi_world;

/* Whether all ranks have done what `done` tells of this one. Where one has not, its error is that of
 * all ranks, and its rank stands in front of the message. */
bool gops_mpi_all(const gops_mpi_world *world, bool done, gops_tool_error *error);

/* The number that a hash begins with, and the hash of it and some bytes (FNV-1a, with the end of the bytes). */
#define GOPS_MPI_HASH UINT64_C(0xcbf29ce484222325)
uint64_t gops_mpi_hash(uint64_t hash, const char *bytes, size_t count);

/* Whether all ranks have the hash of rank 0; `what` is what it was made of. */
bool gops_mpi_all_have(const gops_mpi_world *world, uint64_t hash, const char *what,
                       gops_tool_error *error);

/* Whether the value of --split, which may be NULL, is a list of different axes. Not collective. */
bool gops_mpi_check_split(const char *split, gops_tool_error *error);

/* The grid that --split asks for, over tensors of so many axes; MPI_Dims_create divides the ranks
 * among the axes that it names. Not collective. */
bool gops_mpi_read_split(const gops_mpi_world *world, int32_t rank, gops_mpi_grid *grid,
                         gops_tool_error *error);

/* The distribution of that grid. */
bool gops_mpi_distribute(const gops_mpi_world *world, int32_t rank,
                         gops_mpi_distribution **distribution, gops_tool_error *error);

/* Plans the operation with the attributes and options of the settings. */
bool gops_mpi_plan_operation(const gops_command *command, const gops_settings *settings,
                             const gops_tensor *inputs, const gops_mpi_distribution *distribution,
                             gops_mpi_plan **plan, gops_mpi_plan_info *info,
                             gops_tool_error *error);

/* A line on standard error by rank 0 where work has taken a second since the last one. Not
 * collective. */
void gops_mpi_progress(const gops_mpi_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What a rank says of its time, in milliseconds, and of its halo, in bytes. */
typedef struct gops_mpi_line {
    double all, computing, waiting, copying;
    double sent, received, messages;
} gops_mpi_line;

/* Rank 0 prints those of all ranks, as a table or as JSON. */
bool gops_mpi_print_lines(const gops_mpi_world *world, const gops_mpi_line *line, bool json,
                          gops_tool_error *error);

/* Waits as MPI_Wait does, but lets others have the processor. Not collective. */
void gops_mpi_wait_for(MPI_Request *request);

typedef bool gops_mpi_verb(const gops_mpi_world *world, const gops_command *command,
                           gops_tool_error *error);
gops_mpi_verb gops_mpi_verb_run, gops_mpi_verb_bench, gops_mpi_verb_ir;

#endif
