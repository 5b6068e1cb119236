/* mpi_lines.c: what the ranks say of their time. */
#include "mpi_command.h"

#include <stdio.h>
#include <stdlib.h>

static void print_line(const gops_mpi_line *line, int rank, bool json)
{
    printf(json ? "{\"rank\": %d, \"ms_min\": %.4f, \"computing\": %.4f, \"waiting\": %.4f, "
                  "\"copying\": %.4f, \"sent_bytes\": %.0f, \"received_bytes\": %.0f, "
                  "\"messages\": %.0f}\n"
                : "%5d %10.3f %10.3f %10.3f %10.3f %12.0f %12.0f %8.0f\n",
           rank, line->all, line->computing, line->waiting, line->copying, line->sent,
           line->received, line->messages);
}

bool gops_mpi_print_lines(const gops_mpi_world *world, const gops_mpi_line *line, bool json,
                          gops_tool_error *error)
{
    gops_mpi_line *lines = calloc((size_t)world->ranks, sizeof *lines);
    const int bytes = (int)sizeof *line;
    const bool done = gops_mpi_all(
        world, lines != NULL || gops_tool_refuse(error, GOPS_EXIT_FAILED, "no memory"), error);
    if (done) {
        MPI_Gather(line, bytes, MPI_BYTE, lines, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    if (done && world->rank == 0) {
        if (!json) {
            printf("%5s %10s %10s %10s %10s %12s %12s %8s\n", "rank", "ms", "computing", "waiting",
                   "copying", "sent", "received", "messages");
        }
        for (int i = 0; i < world->ranks; i++) {
            print_line(&lines[i], i, json);
        }
    }
    free(lines);
    return done;
}
