/* ort_chunks.c: finds such pairs, and how many channels a chunk has. */
#include "engines/onnxruntime/region/ort_chunks.h"

#include "base/machine.h"
#include "engines/onnxruntime/call/ort_plans.h"

#include <string.h>

enum {
    MIN_CHANNELS = 16, /* 8 of 16 -> 96 channels took 1.15 times as long as 16 (Intel Xeon) */
    UNIT = 8,          /* the channels of the largest tile of 1x1 layers */
    ENOUGH = 4,        /* chunks for a thread, where their number is no multiple of the threads' */
};

static bool is_conv(const gops_ort_member *member)
{
    return gops_ort_has_plan(member) && member->input_count == 1 &&
           member->claim.operation.kind == GOPS_ORT_CONV;
}

static bool is_pointwise(const gops_ort_member *member)
{
    return is_conv(member) && member->filter.dims[0] == 1 &&
           gops_ort_elements(&member->filter, 3) == 1 &&
           gops_ort_elements(&member->data, 2) == gops_ort_elements(&member->output, 2);
}

static bool is_depthwise(const gops_ort_member *member)
{
    return is_conv(member) && member->filter.dims[0] > 1 && member->filter.dims[2] == 1;
}

/* Whether the next member, and nothing else, reads what the member writes. */
static bool is_read_by_next(const gops_ort_members *members, const gops_ort_interface *interface,
                            size_t number)
{
    const char *name = members->items[number]->claim.output;
    bool is = strcmp(members->items[number + 1]->inputs[0], name) == 0;
    for (size_t i = 0; i < interface->output_count; i++) {
        is = is && strcmp(interface->outputs[i], name) != 0;
    }
    for (size_t i = number + 2; i < members->count; i++) {
        for (size_t k = 0; k < members->items[i]->input_count; k++) {
            is = is && strcmp(members->items[i]->inputs[k], name) != 0;
        }
    }
    return is;
}

static int64_t units_of(const gops_ort_member *member)
{
    return (member->output.dims[1] + UNIT - 1) / UNIT;
}

/* The fewest chunks that are as many for each thread, and fit the cache with the data and the output. */
static int64_t count_chunks(const gops_ort_member *first, const gops_ort_member *second)
{
    const int64_t channels = first->output.dims[1];
    const int64_t data = gops_ort_bytes(&first->data, 1),
                  between = gops_ort_bytes(&first->output, 1);
    const int64_t of_channel = (between + gops_ort_bytes(&second->output, 1)) / channels;
    const int64_t cache = gops_machine_read().l2_bytes, threads = gops_ort_processors();
    const int64_t units = units_of(first);
    const bool pays = between > cache || between / channels <= GOPS_PAGE_BYTES;
    if (!pays || between < 2 * data) {
        return 0;
    }
    for (int64_t count = 1; units / count * UNIT >= MIN_CHANNELS; count++) {
        const int64_t largest = (units + count - 1) / count * UNIT;
        if (data + of_channel * largest <= cache && count > 1 &&
            (count % threads == 0 || count >= ENOUGH * threads)) {
            return count;
        }
    }
    return 0;
}

void gops_ort_find_chunks(const gops_ort_members *members, const gops_ort_interface *interface)
{
    for (size_t i = 0; i + 1 < members->count; i++) {
        gops_ort_member *first = members->items[i];
        const gops_ort_member *second = members->items[i + 1];
        if (is_pointwise(first) && is_depthwise(second) && is_read_by_next(members, interface, i)) {
            first->chunks = count_chunks(first, second);
        }
    }
}

int64_t gops_ort_chunk_start(const gops_ort_member *member, int64_t chunk)
{
    const int64_t start = units_of(member) * chunk / member->chunks * UNIT;
    return start < member->output.dims[1] ? start : member->output.dims[1];
}
