/* ir_constants.c: Subtract and Multiply of constants, and the folding of constant layers.
 *
 * Compressed weights are a chain in front of a convolution:
 *
 *     Const of u8 or i8 -> Convert -> Subtract zero points -> Multiply by scales -> Reshape
 *
 * A chain of constant layers each of which is read by the next one alone is folded: one pass over
 * blocks of elements takes the Const to the weights, so that nothing in between is in memory. Each
 * layer rounds to its type, as if it were computed on its own. */
#include "ir/ir_run.h"

/* Elements at a time, which the L1 keeps. */
enum { BLOCK = 256 };

static bool check_constant(const gops_ir_run *run, int index, int input, gops_tool_error *error)
{
    const int source = gops_ir_source(run, index, input);
    gops_ir_text name;
    return run->step[source].constant ||
           gops_ir_refuse(run, index, error,
                          "input %d is not a constant but %s; %s is run on constants, as weights "
                          "are compressed",
                          input, gops_ir_call_layer(&run->model->layer[source], &name),
                          run->model->layer[index].type);
}

static bool prepare_arithmetic(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    const gops_tensor *inputs[2] = {gops_ir_input(run, index, 0), gops_ir_input(run, index, 1)};
    gops_ir_text first;
    gops_ir_text second;
    bool none;
    if (!check_constant(run, index, 0, error) || !check_constant(run, index, 1, error) ||
        !gops_ir_read_broadcast(run, index, &none, error)) {
        return false;
    }
    if (inputs[0]->type != inputs[1]->type || !gops_ir_computes_in(inputs[0]->type)) {
        return gops_ir_refuse(
            run, index, error, "%s and %s are not of one of the types f64, f32, f16, bf16",
            gops_ir_call_tensor(inputs[0], &first), gops_ir_call_tensor(inputs[1], &second));
    }
    step->constant = true;
    step->algorithm = "folded";
    for (int data = 0; data < 2; data++) {
        const gops_tensor *other = inputs[1 - data];
        if (none ? gops_ir_same_shape(other, inputs[data])
                 : gops_ir_is_broadcast(other, inputs[data])) {
            step->output = *inputs[data];
            step->data = gops_ir_source(run, index, data);
            step->residual = gops_ir_source(run, index, 1 - data);
            return true;
        }
    }
    return gops_ir_refuse(run, index, error, "neither of %s and %s is broadcast to the other%s",
                          gops_ir_call_tensor(inputs[0], &first),
                          gops_ir_call_tensor(inputs[1], &second),
                          none ? " with auto_broadcast \"none\"" : "");
}

bool gops_ir_prepare_subtract(gops_ir_run *run, int index, gops_tool_error *error)
{
    return prepare_arithmetic(run, index, error);
}

bool gops_ir_prepare_multiply(gops_ir_run *run, int index, gops_tool_error *error)
{
    return prepare_arithmetic(run, index, error);
}

/* Constant, and computed by a layer. */
static bool is_computed(const gops_ir_step *step)
{
    return step->constant && step->data != GOPS_IR_NONE;
}

void gops_ir_fold_all(gops_ir_run *run)
{
    for (int i = 0; i < run->model->layers; i++) {
        gops_ir_step *step = &run->step[i];
        if (is_computed(step) && is_computed(&run->step[step->data]) &&
            run->step[step->data].users == 1) {
            step->before = step->data;
        }
    }
}

/* Subtracts the other operand of the layer from the values, or multiplies them by it; they are
 * elements `first` on of its data. */
static void compute(const gops_ir_run *run, int at, int64_t first, int64_t count, double *values)
{
    const gops_ir_step *step = &run->step[at];
    const gops_ir_step *other = &run->step[step->residual];
    const gops_type type = step->output.type;
    const bool multiplies = step->prepare == gops_ir_prepare_multiply;
    const bool data_is_first = gops_ir_source(run, at, 0) == step->data;
    double elements[BLOCK];
    double operand[BLOCK];
    gops_ir_broadcast(&other->output, other->elements, &step->held, first, count, elements);
    gops_ir_convert(type, elements, GOPS_F64, operand, count);
    for (int64_t i = 0; i < count; i++) {
        const double left = data_is_first ? values[i] : operand[i];
        const double right = data_is_first ? operand[i] : values[i];
        values[i] = gops_ir_round(type, multiplies ? left * right : left - right);
    }
}

void gops_ir_fold(const gops_ir_run *run, int index)
{
    const gops_ir_step *step = &run->step[index];
    bool computes = step->residual != GOPS_IR_NONE;
    int start = index;
    while (run->step[start].before != GOPS_IR_NONE) {
        start = run->step[start].before;
        computes = computes || run->step[start].residual != GOPS_IR_NONE;
    }
    const gops_ir_step *from = &run->step[run->step[start].data];
    const gops_type from_type = from->output.type;
    const gops_type type = step->output.type;
    const size_t from_bytes = gops_type_bytes(from_type);
    const size_t bytes = gops_type_bytes(type);
    const int64_t count = (int64_t)(step->bytes / bytes);
    if (!computes) {
        gops_ir_convert(from_type, from->elements, type, step->elements, count);
        return;
    }
    for (int64_t first = 0; first < count; first += BLOCK) {
        const int64_t block = count - first < BLOCK ? count - first : BLOCK;
        double values[BLOCK];
        gops_ir_convert(from_type, (const char *)from->elements + (size_t)first * from_bytes,
                        GOPS_F64, values, block);
        for (int at = start; at != index; at = run->step[at].user) {
            if (run->step[at].residual != GOPS_IR_NONE) {
                compute(run, at, first, block, values);
            }
        }
        if (step->residual != GOPS_IR_NONE) {
            compute(run, index, first, block, values);
        }
        gops_ir_convert(GOPS_F64, values, type, (char *)step->elements + (size_t)first * bytes,
                        block);
    }
}
