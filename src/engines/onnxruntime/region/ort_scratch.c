/* ort_scratch.c: shares scratch memory, the largest buffers first. */
#include "engines/onnxruntime/region/ort_scratch.h"

#include <stdlib.h>

enum { CACHE_LINE = 64 };

static bool overlaps(const gops_ort_buffer *one, const gops_ort_buffer *other)
{
    return one->first <= other->last && other->first <= one->last;
}

static int compare_sizes(const void *left, const void *right)
{
    const gops_ort_buffer *one = *(gops_ort_buffer *const *)left,
                          *other = *(gops_ort_buffer *const *)right;
    return one->bytes > other->bytes ? -1 : one->bytes < other->bytes;
}

/* The lowest place beside the `count` buffers that have one already. */
static void find_place(gops_ort_buffer *const *placed, size_t count, gops_ort_buffer *one)
{
    bool moved = true;
    one->at = 0;
    while (moved) {
        moved = false;
        for (size_t i = 0; i < count; i++) {
            const gops_ort_buffer *other = placed[i];
            if (overlaps(one, other) && one->at < other->at + other->bytes &&
                other->at < one->at + one->bytes) {
                one->at = (other->at + other->bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
                moved = true;
            }
        }
    }
}

bool gops_ort_share_scratch(gops_ort_buffer *buffers, size_t buffer_count, int64_t *bytes)
{
    gops_ort_buffer **sorted = malloc((buffer_count + 1) * sizeof *sorted);
    if (sorted == NULL) {
        return false;
    }
    size_t count = 0;
    *bytes = 0;
    for (size_t i = 0; i < buffer_count; i++) {
        if (buffers[i].used) {
            sorted[count++] = &buffers[i];
        }
    }
    qsort(sorted, count, sizeof(void *), compare_sizes);
    for (size_t i = 0; i < count; i++) {
        find_place(sorted, i, sorted[i]);
        const int64_t end = sorted[i]->at + sorted[i]->bytes;
        *bytes = *bytes < end ? end : *bytes;
    }
    free(sorted);
    return true;
}
