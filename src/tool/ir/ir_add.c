/* ir_add.c: Add, with NumPy's broadcasting: shapes are aligned at their last axes, and an axis that
 * is missing or has length 1 is broadcast. */
#include "ir/ir_run.h"

#include <string.h>
#include <strings.h>

bool gops_ir_is_bias(const gops_tensor *data, const gops_tensor *added, int64_t *channels)
{
    *channels = 1;
    if (added->rank > data->rank) {
        return false;
    }
    for (int32_t i = 0; i < added->rank; i++) {
        const int32_t axis = i + data->rank - added->rank;
        if (added->dims[i] != 1 && (axis != 1 || added->dims[i] != data->dims[1])) {
            return false;
        }
        *channels *= added->dims[i];
    }
    return true;
}

/* The length of an axis of a shape of `rank` axes in a tensor of lower or equal rank: 1 if the
 * tensor lacks the axis. */
static int64_t aligned_dim(const gops_tensor *tensor, int32_t rank, int32_t axis)
{
    const int32_t own = axis - (rank - tensor->rank);
    return own >= 0 ? tensor->dims[own] : 1;
}

static bool broadcast_shape(const gops_tensor *one, const gops_tensor *other, gops_tensor *output)
{
    const int32_t rank = one->rank > other->rank ? one->rank : other->rank;
    *output = (gops_tensor){.type = one->type, .rank = rank};
    for (int32_t axis = 0; axis < rank; axis++) {
        const int64_t a = aligned_dim(one, rank, axis);
        const int64_t b = aligned_dim(other, rank, axis);
        if (a != b && a != 1 && b != 1) {
            return false;
        }
        output->dims[axis] = a == 1 ? b : a;
    }
    return true;
}

bool gops_ir_is_broadcast(const gops_tensor *from, const gops_tensor *to)
{
    bool fine = from->rank <= to->rank;
    for (int32_t axis = 0; fine && axis < to->rank; axis++) {
        const int64_t dim = aligned_dim(from, to->rank, axis);
        fine = dim == 1 || dim == to->dims[axis];
    }
    return fine;
}

void gops_ir_broadcast(const gops_tensor *from, const void *elements, const gops_ir_part *to,
                       int64_t first, int64_t count, void *broadcast)
{
    const gops_tensor *shape = &to->shape;
    const size_t bytes = gops_type_bytes(shape->type);
    int64_t index[GOPS_MAX_RANK] = {0};
    int64_t strides[GOPS_MAX_RANK] = {0}; /* 0 along an axis that is broadcast */
    int64_t stride = 1;
    int64_t at = 0;
    for (int32_t axis = shape->rank - 1; count > 0 && axis >= 0; axis--) {
        const int64_t dim = aligned_dim(from, shape->rank, axis);
        strides[axis] = dim == 1 ? 0 : stride;
        stride *= dim;
        index[axis] = first % shape->dims[axis];
        first /= shape->dims[axis];
        at += (to->begin[axis] + index[axis]) * strides[axis];
    }
    for (int64_t i = 0; i < count; i++) {
        memcpy((char *)broadcast + (size_t)i * bytes, (const char *)elements + (size_t)at * bytes,
               bytes);
        for (int32_t axis = shape->rank - 1; axis >= 0; axis--) {
            at += strides[axis];
            if (++index[axis] < shape->dims[axis]) {
                break;
            }
            at -= strides[axis] * shape->dims[axis];
            index[axis] = 0;
        }
    }
}

bool gops_ir_read_broadcast(const gops_ir_run *run, int index, bool *none, gops_tool_error *error)
{
    const char *broadcast = gops_ir_attribute_value(&run->model->layer[index], "auto_broadcast");
    *none = broadcast != NULL && strcasecmp(broadcast, "none") == 0;
    return broadcast == NULL || *none || strcasecmp(broadcast, "numpy") == 0 ||
           gops_ir_refuse(run, index, error, "auto_broadcast \"%.40s\" is not run", broadcast);
}

bool gops_ir_prepare_add(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    const gops_tensor *one = gops_ir_input(run, index, 0), *other = gops_ir_input(run, index, 1);
    bool none;
    gops_ir_text first;
    gops_ir_text second;
    if (!gops_ir_read_broadcast(run, index, &none, error)) {
        return false;
    }
    step->pointwise = true;
    step->algorithm = "-";
    step->data = gops_ir_source(run, index, 0);
    step->residual = gops_ir_source(run, index, 1);
    return (one->type == other->type && broadcast_shape(one, other, &step->output) &&
            (!none || gops_ir_same_shape(one, other))) ||
           gops_ir_refuse(run, index, error, "%s and %s cannot be added%s",
                          gops_ir_call_tensor(one, &first), gops_ir_call_tensor(other, &second),
                          none ? " with auto_broadcast \"none\"" : "");
}
