/* planes.c: spreads dense tensors over larger ones, gathers them again, and looks at what lies between. */
#include "planes.h"

#include <string.h>

#include "elements.h"

int64_t gops_test_pixels(const gops_tensor *tensor)
{
    int64_t pixels = 1;
    for (int32_t i = 2; i < tensor->rank; i++)
        pixels *= tensor->dims[i];
    return pixels;
}

int64_t gops_test_channel_stride(const gops_tensor *tensor, int64_t channel_gap)
{
    return channel_gap == 0 ? 0 : gops_test_pixels(tensor) + channel_gap;
}

int64_t gops_test_image_stride(const gops_tensor *tensor, int64_t channel_gap, int64_t image_gap)
{
    return image_gap == 0 ? 0
                          : tensor->dims[1] * (gops_test_pixels(tensor) + channel_gap) + image_gap;
}

gops_test_planes gops_test_planes_of(const gops_tensor *tensor, int64_t channel_gap,
                                     int64_t image_gap)
{
    const size_t size = gops_test_type_bytes(tensor->type);
    gops_test_planes p = {.images = (size_t)tensor->dims[0],
                          .channels = tensor->rank > 1 ? (size_t)tensor->dims[1] : 1};
    p.channel = (size_t)gops_test_pixels(tensor) * size;
    p.plane = p.channel + (size_t)channel_gap * size;
    p.image = p.channels * p.plane + (size_t)image_gap * size;
    if (gops_test_elements(tensor) > 0)
        p.whole = (p.images - 1) * p.image + (p.channels - 1) * p.plane + p.channel;
    return p;
}

/* Where channel `number` of all begins. */
static size_t begin_of(const gops_test_planes *p, size_t number)
{
    return number / p->channels * p->image + number % p->channels * p->plane;
}

void gops_test_planes_spread(const gops_test_planes *planes, const void *dense, void *to)
{
    for (size_t i = 0; i < planes->images * planes->channels && planes->whole > 0; i++)
        memcpy((unsigned char *)to + begin_of(planes, i),
               (const unsigned char *)dense + i * planes->channel, planes->channel);
}

void gops_test_planes_gather(const gops_test_planes *planes, const void *from, void *dense)
{
    for (size_t i = 0; i < planes->images * planes->channels && planes->whole > 0; i++)
        memcpy((unsigned char *)dense + i * planes->channel,
               (const unsigned char *)from + begin_of(planes, i), planes->channel);
}

size_t gops_test_planes_written(const gops_test_planes *planes, const void *memory)
{
    const unsigned char *bytes = memory;
    size_t written = 0;
    for (size_t i = 0; i + 1 < planes->images * planes->channels && planes->whole > 0; i++)
        for (size_t b = begin_of(planes, i) + planes->channel; b < begin_of(planes, i + 1); b++)
            written += bytes[b] != GOPS_TEST_GAP;
    return written;
}
