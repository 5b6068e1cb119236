/* planes.h: where the channels of a tensor's images lie, with gaps behind channels and behind images. */
#ifndef GROUPOPS_TEST_PLANES_H
#define GROUPOPS_TEST_PLANES_H

#include <stddef.h>

#include <groupops/tensor.h>

/* What fills the gaps, as it does all memory of the tests: NaN in every floating point type. */
enum { GOPS_TEST_GAP = 0xff };

/* In bytes, but for the counts. */
typedef struct gops_test_planes {
    size_t images, channels; /* channels of an image */
    size_t channel;          /* the pixels of one */
    size_t plane, image;     /* from one channel, and from one image, to the next */
    size_t whole;            /* up to the last pixel: the gaps behind it need not exist */
} gops_test_planes;

/* Of [N, C, ...], or of a list, so many elements behind each channel and so many more behind each image. */
gops_test_planes gops_test_planes_of(const gops_tensor *tensor, int64_t channel_gap,
                                     int64_t image_gap);

/* Elements of a channel. */
int64_t gops_test_pixels(const gops_tensor *tensor);

/* Elements from one channel to the next as gops_options takes them, 0 where there is no gap. */
int64_t gops_test_channel_stride(const gops_tensor *tensor, int64_t channel_gap);
/* And from one image to the next, as gops_arguments takes them. */
int64_t gops_test_image_stride(const gops_tensor *tensor, int64_t channel_gap, int64_t image_gap);

/* Copies a dense tensor to where its channels lie, and leaves the gaps alone; and the way back. */
void gops_test_planes_spread(const gops_test_planes *planes, const void *dense, void *to);
void gops_test_planes_gather(const gops_test_planes *planes, const void *from, void *dense);

/* How many bytes of the gaps are not GOPS_TEST_GAP. */
size_t gops_test_planes_written(const gops_test_planes *planes, const void *memory);

#endif
