/* ir_concat.c: Concat, which joins tensors along an axis. */
#include "ir/ir_run.h"

#include <string.h>

/* Reads the attribute axis; one below 0 counts from the last. */
static bool read_axis(gops_ir_run *run, int index, int32_t rank, gops_tool_error *error)
{
    const char *text = gops_ir_attribute_value(&run->model->layer[index], "axis");
    int64_t axis = 0;
    if (text == NULL || gops_ir_integers(text, 1, &axis) != 1 || axis < -rank || axis >= rank) {
        return gops_ir_refuse(run, index, error, "axis \"%.40s\" is none of the %d of its inputs",
                              text != NULL ? text : "", (int)rank);
    }
    run->step[index].axis = (int32_t)(axis < 0 ? axis + rank : axis);
    return true;
}

bool gops_ir_prepare_concat(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    gops_ir_text first;
    gops_ir_text other;
    step->output = *gops_ir_input(run, index, 0);
    step->algorithm = "-";
    if (!read_axis(run, index, step->output.rank, error)) {
        return false;
    }
    int64_t *sum = &step->output.dims[step->axis];
    for (int i = 1; i < run->model->layer[index].inputs; i++) {
        const gops_tensor *added = gops_ir_input(run, index, i);
        gops_tensor like = *added;
        like.dims[step->axis] = *sum;
        if (added->type != step->output.type || !gops_ir_same_shape(&like, &step->output) ||
            added->dims[step->axis] > INT64_MAX - *sum) {
            return gops_ir_refuse(run, index, error, "%s and %s cannot be joined along axis %d",
                                  gops_ir_call_tensor(gops_ir_input(run, index, 0), &first),
                                  gops_ir_call_tensor(added, &other), (int)step->axis);
        }
        *sum += added->dims[step->axis];
    }
    return true;
}

/* Puts the part of an input behind `begin` indices of the axis. */
static void copy_input(const gops_ir_step *step, const gops_ir_taken *taken, int64_t begin)
{
    const gops_tensor *to = &step->held.shape;
    size_t inner = gops_type_bytes(to->type);
    int64_t outer = 1;
    if (step->bytes == 0) {
        return; /* the other sizes may be any */
    }
    for (int32_t axis = 0; axis < step->axis; axis++) {
        outer *= to->dims[axis];
    }
    for (int32_t axis = step->axis + 1; axis < to->rank; axis++) {
        inner *= (size_t)to->dims[axis];
    }
    const size_t run = (size_t)taken->part.shape.dims[step->axis] * inner;
    const size_t stride = (size_t)to->dims[step->axis] * inner;
    for (int64_t i = 0; i < outer; i++) {
        memcpy((char *)step->elements + (size_t)i * stride + (size_t)begin * inner,
               (const char *)taken->elements + (size_t)i * run, run);
    }
}

bool gops_ir_concat(gops_ir_run *run, int index, gops_tool_error *error)
{
    const gops_ir_step *step = &run->step[index];
    int64_t begin = 0;
    for (int i = 0; i < run->model->layer[index].inputs; i++) {
        const int source = gops_ir_source(run, index, i);
        const int64_t count = run->step[source].output.dims[step->axis];
        gops_ir_part wanted = step->held; /* of this input: all along the axis */
        gops_ir_taken taken = {0};
        wanted.shape.dims[step->axis] = count;
        const bool done =
            gops_ir_all(run, gops_ir_take_part(run, index, source, &wanted, &taken, error), error);
        if (done) {
            copy_input(step, &taken, begin);
        }
        gops_ir_release_taken(run, &taken);
        if (!done) {
            return false;
        }
        begin += count;
    }
    return true;
}
