/* mpi_npy.c: a rank's part of a .npy file. */
#include "mpi_npy.h"

#include "common/memory.h"
#include "common/regular_file.h"
#include "common/whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The axis at place `i` of the file's order, slowest first. */
static int32_t axis_at(const gops_mpi_runs *at, int32_t i)
{
    return at->fortran ? at->whole->rank - 1 - i : i;
}

gops_mpi_runs gops_mpi_first_run(const gops_tensor *whole, const gops_mpi_part *part, bool fortran)
{
    gops_mpi_runs at = {
        .whole = whole, .part = part, .fortran = fortran, .outer = whole->rank, .run = 1};
    while (at.outer > 0) {
        const int32_t axis = axis_at(&at, --at.outer);
        at.run *= part->shape.dims[axis];
        if (part->shape.dims[axis] != whole->dims[axis]) {
            break;
        }
    }
    return at;
}

int64_t gops_mpi_run_begin(const gops_mpi_runs *at)
{
    int64_t begin = 0;
    for (int32_t i = 0; i < at->whole->rank; i++) {
        const int32_t axis = axis_at(at, i);
        begin = begin * at->whole->dims[axis] + at->part->offset[axis] + at->index[axis];
    }
    return begin;
}

void gops_mpi_next_run(gops_mpi_runs *at)
{
    for (int32_t i = at->outer - 1; i >= 0; i--) {
        const int32_t axis = axis_at(at, i);
        if (++at->index[axis] < at->part->shape.dims[axis]) {
            return;
        }
        at->index[axis] = 0;
    }
}

/* Elements in Fortran order into the order of memory, last axis fastest. */
static void transpose(const gops_tensor *shape, const char *from, char *to, size_t bytes,
                      int64_t count)
{
    int64_t index[GOPS_MAX_RANK] = {0};
    for (int64_t i = 0; i < count; i++) {
        int64_t place = 0;
        for (int32_t axis = 0; axis < shape->rank; axis++) {
            place = place * shape->dims[axis] + index[axis];
        }
        memcpy(to + (size_t)place * bytes, from + (size_t)i * bytes, bytes);
        for (int32_t axis = 0; axis < shape->rank && ++index[axis] == shape->dims[axis]; axis++) {
            index[axis] = 0;
        }
    }
}

bool gops_mpi_npy_read(const gops_npy_file *file, const gops_mpi_part *part, void **elements,
                       gops_tool_error *error)
{
    const size_t bytes = gops_type_bytes(file->tensor.type);
    const bool swap = file->header.big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    size_t count;
    gops_error refusal;
    gops_mpi_runs at = gops_mpi_first_run(&file->tensor, part, file->header.fortran_order);
    *elements = NULL;
    if (gops_tensor_bytes(&part->shape, &count, &refusal) != GOPS_OK) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s", refusal.message);
    }
    char *memory = malloc(count + 1);
    if (memory == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: no memory for %zu bytes of it",
                                file->path, count);
    }
    const size_t run = (size_t)at.run * bytes;
    bool done = true;
    for (size_t filled = 0; done && filled < count; filled += run) {
        done =
            gops_regular_file_read(file->descriptor, memory + filled, run,
                                   file->begin + gops_mpi_run_begin(&at) * (int64_t)bytes, error) ||
            gops_tool_prefix(error, "%s", file->path);
        gops_mpi_next_run(&at);
    }
    if (done && swap) {
        gops_memory_swap(memory, count, bytes);
    }
    if (done && file->header.fortran_order) {
        char *ordered = malloc(count + 1);
        done = ordered != NULL ||
               gops_tool_refuse(error, GOPS_EXIT_FAILED, "%s: no memory for %zu bytes of it",
                                file->path, count);
        if (done) {
            transpose(&part->shape, memory, ordered, bytes, (int64_t)(count / bytes));
            free(memory);
            memory = ordered;
        }
    }
    if (!done) {
        free(memory);
        return false;
    }
    *elements = memory;
    return true;
}

static bool write_at(gops_whole_file *file, const char *memory, size_t count, int64_t offset,
                     gops_tool_error *error)
{
    for (size_t done = 0; done < count;) {
        const ssize_t wrote =
            pwrite(file->descriptor, memory + done, count - done, (off_t)(offset + (int64_t)done));
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0) {
            return gops_tool_refuse_errno(error, "%s: it cannot be written", file->path);
        }
        done += (size_t)wrote;
    }
    return true;
}

static bool write_part(gops_whole_file *file, const gops_tensor *tensor, const gops_mpi_part *part,
                       const void *elements, size_t begin, gops_tool_error *error)
{
    const size_t bytes = gops_type_bytes(tensor->type);
    int64_t count = part != NULL ? 1 : 0;
    for (int32_t i = 0; part != NULL && i < tensor->rank; i++) {
        count *= part->shape.dims[i];
    }
    if (count == 0) {
        return true;
    }
    gops_mpi_runs at = gops_mpi_first_run(tensor, part, false);
    bool done = true;
    for (int64_t written = 0; done && written < count; written += at.run) {
        done =
            write_at(file, (const char *)elements + (size_t)written * bytes, (size_t)at.run * bytes,
                     (int64_t)begin + gops_mpi_run_begin(&at) * (int64_t)bytes, error);
        gops_mpi_next_run(&at);
    }
    return done;
}

static bool refuse_device(const char *path, gops_tool_error *error)
{
    return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                            "%s: it is no file to which several ranks can write", path);
}

bool gops_mpi_npy_try(const char *path, gops_tool_error *error)
{
    gops_file_target target;
    if (gops_file_target_find(path, &target) &&
        (target.kind == GOPS_TARGET_OPEN ||
         (target.kind == GOPS_TARGET_OTHER && !S_ISDIR(target.status.st_mode)))) {
        return refuse_device(path, error);
    }
    return gops_whole_file_try(path, error);
}

/* Rank 0 makes the temporary file, the others open it. */
static bool open_all(const gops_mpi_world *world, const char *path, const void *start,
                     size_t start_bytes, gops_whole_file *file, bool *opened,
                     gops_tool_error *error)
{
    char temporary[PATH_MAX] = "";
    bool done = true;
    if (world->rank == 0) {
        *opened = done = gops_whole_file_open(path, file, error);
        if (done && !file->replaces) {
            done = refuse_device(path, error);
        }
        done = done && write_at(file, start, start_bytes, 0, error);
        if (done) {
            strcpy(temporary, file->temporary);
        }
    }
    if (!gops_mpi_all(world, done, error)) {
        return false;
    }
    MPI_Bcast(temporary, (int)sizeof temporary, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (world->rank != 0) {
        *opened = done = gops_whole_file_join(path, temporary, file, error);
    }
    return gops_mpi_all(world, done, error);
}

bool gops_mpi_npy_write(const gops_mpi_world *world, const char *path, const gops_tensor *tensor,
                        gops_type stored, const gops_mpi_part *part, const void *elements,
                        gops_tool_error *error)
{
    unsigned char start[GOPS_NPY_START_BYTES];
    const size_t start_bytes = gops_npy_format_start(start, tensor, stored);
    gops_whole_file file = {.descriptor = -1};
    bool opened = false;
    bool done = open_all(world, path, start, start_bytes, &file, &opened, error);
    if (done) {
        done = write_part(&file, tensor, part, elements, start_bytes, error);
        if (done && world->rank != 0) {
            done = gops_whole_file_leave(&file, error);
            opened = false;
        }
        done = gops_mpi_all(world, done, error);
    }
    if (done && world->rank == 0) {
        done = gops_whole_file_finish(&file, error);
        opened = false;
    } else if (!done && opened) {
        gops_whole_file_discard(&file);
    }
    return gops_mpi_all(world, done, error);
}
