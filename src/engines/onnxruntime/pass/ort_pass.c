/* ort_pass.c: which loops compute a pass; those over planes of f32, by AVX2 where that is used. */
#include "engines/onnxruntime/pass/ort_pass.h"

#include "engines/onnxruntime/pass/ort_pass_bytes.h"
#include "engines/onnxruntime/pass/ort_pass_codes.h"
#include "engines/onnxruntime/pass/ort_pass_integers.h"
#include "engines/onnxruntime/pass/ort_pass_resize.h"
#include "engines/onnxruntime/pass/ort_pass_window.h"

#include <math.h>
#include <string.h>

/* Pixels that are normalized together: of large planes, which lie far apart, whole kilobytes of each
 * channel took 0.6 of the time of 256 bytes; of small ones there would be too few blocks to share. */
enum { MAX_PIXELS = 256, MIN_PIXELS = 64, LARGE_PLANE = 1024 };

static int64_t pixels_of(const gops_ort_pass *pass)
{
    return pass->plane >= LARGE_PLANE ? MAX_PIXELS : MIN_PIXELS;
}

int64_t gops_ort_pass_units(const gops_ort_pass *pass)
{
    const int64_t pixels = pixels_of(pass);
    return pass->kind == GOPS_ORT_PASS_NORM ? (pass->plane + pixels - 1) / pixels : pass->channels;
}

/* A pixel whose moments floats do not hold. The sum of equal numbers is exact, and so is their mean. */
static void normalize_far(const gops_ort_pass *pass, float *to, const float *from)
{
    const int64_t step = pass->data_step;
    const double channels = (double)pass->channels;
    double sum = 0, squares = 0;
    for (int64_t c = 0; c < pass->channels; c++) {
        sum += (double)from[c * step];
    }
    for (int64_t c = 0; c < pass->channels; c++) {
        const double distance = (double)from[c * step] - sum / channels;
        squares += distance * distance;
    }
    const double factor = 1 / sqrt(squares / channels + (double)pass->epsilon);
    for (int64_t c = 0; c < pass->channels; c++) {
        const double normal = ((double)from[c * step] - sum / channels) * factor;
        const double result = normal * (double)pass->factors[c] + (double)pass->summands[c];
        to[c * pass->output_step] = (float)result;
    }
}

/* A channel's plane of f32. */
typedef void plane_fn(const gops_ort_pass *pass, int64_t channel, float *to, const float *from,
                      const float *other);

static void copy_plane(const gops_ort_pass *pass, int64_t channel, float *to, const float *from,
                       const float *other)
{
    (void)other;
    memcpy(to + channel * (pass->step - 1) * pass->output_step, from,
           (size_t)pass->plane * sizeof *to);
}

#define LOOPS "engines/onnxruntime/pass/ort_pass.inc.h"
#include "engines/onnxruntime/pass/ort_pass_sets.inc.h"

gops_ort_vectors gops_ort_find_vectors(void)
{
#ifdef __x86_64__
    const char *isa = gops_isa();
    if (isa != NULL && (strcmp(isa, "avx512vbmi") == 0 || strcmp(isa, "avx512bf16") == 0 ||
                        strcmp(isa, "amx") == 0)) {
        return GOPS_ORT_VBMI;
    }
    if (isa != NULL && strncmp(isa, "avx512", strlen("avx512")) == 0) {
        return GOPS_ORT_AVX512;
    }
    if (isa != NULL && strncmp(isa, "avx2", strlen("avx2")) == 0) {
        return GOPS_ORT_AVX2;
    }
#endif
    return GOPS_ORT_PLAIN;
}

gops_ort_pass gops_ort_pass_of_pool(const gops_ort_window *window, const gops_tensor *data,
                                    const gops_tensor *output)
{
    gops_ort_pass pass = {.kind = GOPS_ORT_PASS_MAX,
                          .type = data->type,
                          .vectors = gops_ort_find_vectors(),
                          .channels = data->dims[0] * data->dims[1],
                          .plane = gops_ort_elements(data, 2),
                          .data_step = gops_ort_elements(data, 2),
                          .output_step = gops_ort_elements(output, 2),
                          .factor = 1,
                          .window = *window};
    for (int i = 0; i < GOPS_ORT_WINDOW_AXES; i++) {
        pass.in[i] = data->dims[2 + i];
        pass.out[i] = output->dims[2 + i];
    }
    return pass;
}

static void run_planes(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                       int64_t first, int64_t last)
{
    BY_SET(pass, planes, pass, operands, first, last);
}

static void run_norm(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                     int64_t first, int64_t last)
{
    BY_SET(pass, normalize_all, pass, operands, first, last);
}

void gops_ort_pass_run(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                       int64_t first, int64_t last)
{
    typedef void run_fn(const gops_ort_pass *, const gops_ort_pass_operands *, int64_t, int64_t);
    static const struct {
        run_fn *floats, *codes; /* of f32; of 8-bit integers */
    } of_kind[] = {
        [GOPS_ORT_PASS_COPY] = {run_planes, NULL},
        [GOPS_ORT_PASS_CODES] = {NULL, gops_ort_pass_codes},
        [GOPS_ORT_PASS_AFFINE] = {run_planes, NULL},
        [GOPS_ORT_PASS_NORM] = {run_norm, NULL},
        [GOPS_ORT_PASS_SCALE] = {run_planes, gops_ort_pass_integers},
        [GOPS_ORT_PASS_PRODUCT] = {run_planes, gops_ort_pass_integers},
        [GOPS_ORT_PASS_MAX] = {gops_ort_pass_windows, gops_ort_pass_bytes},
        [GOPS_ORT_PASS_SUM] = {gops_ort_pass_windows, gops_ort_pass_integers},
        [GOPS_ORT_PASS_AVERAGE] = {run_planes, gops_ort_pass_integers},
        [GOPS_ORT_PASS_NEAREST] = {gops_ort_pass_resize, gops_ort_pass_resize},
        [GOPS_ORT_PASS_LINEAR] = {gops_ort_pass_resize, gops_ort_pass_resize},
    };
    const bool is_float = pass->type == GOPS_F32;
    (is_float ? of_kind[pass->kind].floats : of_kind[pass->kind].codes)(pass, operands, first,
                                                                        last);
}
