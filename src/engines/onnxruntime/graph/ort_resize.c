/* ort_resize.c: reads Resize and Upsample. */
#include "engines/onnxruntime/graph/ort_resize.h"

#include "engines/onnxruntime/graph/ort_attributes.h"
#include "engines/onnxruntime/graph/ort_constant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { Y, X, SPATIAL = 2 };

typedef enum coordinates {
    HALF_PIXEL,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    COORDINATES,
} coordinates;

typedef enum nearest {
    ROUND_PREFER_FLOOR,
    ROUND_PREFER_CEIL,
    FLOOR,
    CEIL,
    NEAREST,
} nearest;

/* How positions of the output become positions of the data. */
typedef struct positions {
    coordinates by;
    nearest rounds;
    float scales[SPATIAL];
} positions;

/* Which of some texts an attribute is; the first where it is missing, `count` if it is none. */
static int find(gops_ort_attributes *from, const char *name, const char *const *texts, int count)
{
    for (int i = 0; i < count; i++) {
        if (gops_ort_attribute_is(from, name, texts[i])) {
            return i;
        }
    }
    return count;
}

static bool read_attributes(gops_ort_attributes *from, gops_ort_resize *resize, positions *at)
{
    static const char *const modes[] = {"nearest", "linear"};
    static const char *const coordinate_modes[] = {"half_pixel", "pytorch_half_pixel",
                                                   "align_corners", "asymmetric"};
    static const char *const nearest_modes[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                                "ceil"};
    const bool is_resize = strcmp(from->node->type, "Resize") == 0 && from->node->version >= 11;
    const int mode = find(from, "mode", modes, 2);
    int64_t antialias = 0;
    gops_list axes = {0};
    resize->linear = mode == 1;
    *at = (positions){.by = ASYMMETRIC, .rounds = FLOOR};
    if (is_resize) {
        at->by = (coordinates)find(from, "coordinate_transformation_mode", coordinate_modes,
                                   COORDINATES);
        at->rounds = (nearest)find(from, "nearest_mode", nearest_modes, NEAREST);
        gops_ort_attribute_int(from, "antialias", &antialias);
        gops_ort_attribute_list(from, "axes", &axes);
    }
    return mode < 2 && at->by != COORDINATES && at->rounds != NEAREST &&
           (antialias == 0 || !resize->linear) && axes.count == 0 &&
           gops_ort_attribute_is(from, "keep_aspect_ratio_policy", "stretch") &&
           from->status == NULL && !from->malformed;
}

/* From the input of scales, or where there are none from the sizes. Down to fewer elements, operators before version 11
 * round otherwise. */
static ort_status *read_scales(const gops_ort_runtime *runtime, const gops_ort_node *node,
                               const gops_tensor *data, const gops_tensor *output, positions *at,
                               bool *reads)
{
    const bool is_new = strcmp(node->type, "Resize") == 0 && node->version >= 11;
    const size_t place = is_new ? 2 : 1, sizes = 3;
    gops_ort_constant constant;
    bool is = false;
    ort_status *status = NULL;
    *reads = node->input_count > place;
    if (*reads) {
        status = gops_ort_read_constant(runtime, node->inputs[place], &constant, &is);
    }
    if (status != NULL || !*reads) {
        return status;
    }
    const float *scales = constant.values;
    if (is && constant.count > 0) {
        *reads = constant.tensor.type == GOPS_F32 && constant.count == 2 + SPATIAL &&
                 scales[0] == 1 && scales[1] == 1;
        for (int axis = Y; axis <= X && *reads; axis++) {
            at->scales[axis] = scales[2 + axis];
            *reads = at->scales[axis] > 0 && (is_new || at->scales[axis] >= 1);
        }
        return NULL;
    }
    *reads = is_new && (node->inputs[place] == NULL || is) && node->input_count > sizes;
    if (*reads) {
        status = gops_ort_read_constant(runtime, node->inputs[sizes], &constant, reads);
    }
    for (int axis = Y; axis <= X; axis++) {
        at->scales[axis] = (float)output->dims[2 + axis] / (float)data->dims[2 + axis];
    }
    return status;
}

/* In floats, as the runtime computes it. */
static float position_of(const positions *at, int axis, int64_t i, int64_t in, int64_t out)
{
    const float scale = at->scales[axis], half = 0.5F, number = (float)i;
    if (scale == 1) {
        return number;
    }
    switch (at->by) {
    case ASYMMETRIC:
        return number / scale;
    case ALIGN_CORNERS:
        return out == 1 ? 0 : number * (float)(in - 1) / (float)(out - 1);
    case PYTORCH_HALF_PIXEL:
        return out == 1 ? 0 : (number + half) / scale - half;
    default:
        return (number + half) / scale - half;
    }
}

/* What is near enough to the middle between two elements counts as that, as in the runtime. */
static float round_by(nearest how, float position)
{
    const float half = 0.5F, near = 1e-6F, whole = floorf(position);
    switch (how) {
    case FLOOR:
        return whole;
    case CEIL:
        return ceilf(position);
    default:
        return fabsf(position - whole - half) > near ? roundf(position)
               : how == ROUND_PREFER_FLOOR           ? whole
                                                     : whole + 1;
    }
}

static gops_ort_tap tap_of(bool linear, const positions *at, float position, int64_t in)
{
    const float last = (float)(in - 1), half = 0.5F;
    const float inside = fmaxf(0, fminf(linear ? position : round_by(at->rounds, position), last));
    gops_ort_tap tap = {.first = (int32_t)inside};
    tap.second = tap.first + 1 < in ? tap.first + 1 : tap.first;
    tap.of_first = tap.first == tap.second ? half : fabsf(inside - (float)tap.second);
    tap.of_second = tap.first == tap.second ? half : fabsf(inside - (float)tap.first);
    return tap;
}

/* Floats hold all positions of the spatial axes. */
static bool has_positions(const gops_tensor *data, const gops_tensor *output)
{
    const int64_t most = 1 << 24;
    bool has = true;
    for (int axis = Y; axis <= X; axis++) {
        has = has && data->dims[2 + axis] <= most && output->dims[2 + axis] <= most;
    }
    return has;
}

ort_status *gops_ort_read_resize(const gops_ort_runtime *runtime, const gops_ort_node *node,
                                 const gops_tensor *data, const gops_tensor *output,
                                 gops_ort_resize *resize, bool *reads)
{
    gops_ort_attributes attributes = {runtime, node, NULL, false};
    positions at;
    *reads = data->rank == 2 + SPATIAL && output->rank == data->rank &&
             data->dims[0] == output->dims[0] && data->dims[1] == output->dims[1] &&
             has_positions(data, output) && read_attributes(&attributes, resize, &at);
    ort_status *status = attributes.status;
    if (status == NULL && *reads) {
        status = read_scales(runtime, node, data, output, &at, reads);
    }
    if (status != NULL || !*reads) {
        return status;
    }
    if (gops_ort_same_shape(data, output)) { /* by whatever scale, the runtime copies it */
        at.scales[Y] = at.scales[X] = 1;
    }
    resize->taps[Y] = malloc((size_t)(output->dims[2] + output->dims[3]) * sizeof *resize->taps[Y]);
    if (resize->taps[Y] == NULL) {
        return gops_ort_no_memory(runtime, "a node");
    }
    resize->taps[X] = resize->taps[Y] + output->dims[2];
    for (int axis = Y; axis <= X; axis++) {
        const int64_t in = data->dims[2 + axis], out = output->dims[2 + axis];
        for (int64_t i = 0; i < out; i++) {
            resize->taps[axis][i] =
                tap_of(resize->linear, &at, position_of(&at, axis, i, in, out), in);
        }
    }
    return NULL;
}
