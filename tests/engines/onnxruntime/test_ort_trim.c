/* Axes of convolutions without the taps that meet padding alone. */
#include "engines/onnxruntime/region/ort_trim.h"

#include "elements.h"
#include "harness.h"

#include <stdbool.h>

/* One axis, resolved. */
static bool resolve(int64_t kernel, int64_t data_size, const gops_conv_attributes *attributes,
                    gops_axis *axis)
{
    const gops_tensor data = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, data_size);
    const gops_tensor filter = GOPS_TEST_TENSOR(GOPS_F32, 1, 1, 1, kernel);
    gops_conv_geometry geometry;
    const bool done =
        gops_conv_resolve(&data, &filter, attributes, 0, &geometry, NULL, NULL) == GOPS_OK;
    *axis = geometry.axis[0];
    return done;
}

/* The tap that reads that pixel for an output, -1 where none does. */
static int64_t tap_of(const gops_axis *axis, int64_t output, int64_t pixel)
{
    for (int64_t tap = 0; tap < axis->kernel; tap++) {
        if (output * axis->stride + tap * axis->dilation - axis->pad_begin == pixel) {
            return tap;
        }
    }
    return -1;
}

/* Whether outputs read the same pixels by the same taps, counted from `first`. */
static bool read_alike(const gops_axis *all, const gops_axis *kept, int64_t first)
{
    bool alike = all->output == kept->output;
    for (int64_t i = 0; i < all->output * all->data; i++) {
        const int64_t tap = tap_of(all, i / all->data, i % all->data);
        const int64_t now = tap_of(kept, i / all->data, i % all->data);
        alike = alike && now == (tap < 0 ? -1 : tap - first);
    }
    return alike;
}

/* Taps that meet padding alone are left out at both ends, and nothing else changes. */
static void trimmed(void)
{
    enum { PADS = 9, DILATIONS = 6, ALL = 5 * 4 * 3 * DILATIONS * PADS * PADS };
    int64_t left_out = 0;
    for (int64_t i = 0; i < ALL; i++) {
        const int64_t begin = i % PADS, end = i / PADS % PADS, rest = i / PADS / PADS;
        const int64_t dilation = 1 + rest % DILATIONS, stride = 1 + rest / DILATIONS % 3;
        const int64_t kernel = 1 + rest / DILATIONS / 3 % 4, data = 1 + rest / DILATIONS / 12;
        gops_conv_attributes attributes = {.strides = {1, {stride}},
                                           .dilations = {1, {dilation}},
                                           .pads_begin = {1, {begin}},
                                           .pads_end = {1, {end}}};
        gops_axis axis, again;
        if (!resolve(kernel, data, &attributes, &axis)) {
            continue; /* the kernel is larger than the padded data */
        }
        gops_axis kept = axis;
        const int64_t first = gops_ort_trim(&kept);
        attributes.pads_begin.values[0] = kept.pad_begin;
        attributes.pads_end.values[0] = kept.pad_end;
        left_out += axis.kernel - kept.kernel;
        const bool resolves = resolve(kept.kernel, data, &attributes, &again);
        const bool alone = kernel == 1 || begin != end || begin % dilation != 0 ||
                           begin / dilation * 2 + 1 != kernel || data > dilation || stride > 1;
        gops_test_check(
            read_alike(&axis, &kept, first) && resolves && again.output == axis.output &&
                (alone || kept.kernel == 1),
            "data %d, kernel %d, stride %d, dilation %d, pads %d and %d: %d taps from %d",
            (int)data, (int)kernel, (int)stride, (int)dilation, (int)begin, (int)end,
            (int)kept.kernel, (int)first);
    }
    gops_test_check(left_out > 0, "no tap is left out");
}

int main(void)
{
    static const gops_test_case cases[] = {{"trimmed", trimmed}, {NULL, NULL}};
    return gops_test_main("ONNX Runtime, taps left out", cases);
}
