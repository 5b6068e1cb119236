/* ir_fuse.c: makes the Add and Relu layers that follow an operation its post-ops.
 *
 * The plan of a convolution or normalization also computes an Add whose other operand is a bias
 * (convolutions only) or has the output's shape, and a Relu, if each of these layers is the only
 * reader of the layer before it. The plan moves to the last fused layer, because the other operand
 * of an Add may be computed after the operation. The result is rounded once, after all post-ops. */
#include "ir/ir_run.h"

/* Appends the layer `next` to the list of fused layers that ends with `last`: `next` gets the plan
 * and its arguments. */
static void append_layer(gops_ir_run *run, int first, int last, int next)
{
    const gops_ir_step *from = &run->step[last];
    gops_ir_step *to = &run->step[next];
    gops_ir_step made = *from;
    made.prepare = to->prepare;
    made.output = to->output;
    made.bytes = to->bytes;
    made.held = to->held;
    made.users = to->users;
    made.user = to->user;
    made.algorithm = "fused";
    made.before = last;
    made.last = GOPS_IR_NONE;
    *to = made;
    run->step[last].plan = NULL;
    run->step[first].last = next;
}

/* Makes the Add the operation's bias or residual. */
static bool fuse_add(gops_ir_run *run, int first, int last, int next)
{
    const gops_ir_step *step = &run->step[last];
    const int mine = gops_ir_source(run, next, 0) == last ? 0 : 1;
    const int other = gops_ir_source(run, next, 1 - mine);
    const gops_tensor *added = &run->step[other].output;
    const bool is_norm = run->step[first].prepare == gops_ir_prepare_norm;
    int64_t channels;
    if (!gops_ir_same_shape(&run->step[next].output, &step->output)) {
        return false; /* the Add broadcasts the operation's output */
    }
    if (gops_ir_same_shape(added, &step->output) && step->residual == GOPS_IR_NONE) {
        append_layer(run, first, last, next);
        run->step[next].residual = other;
        return true;
    }
    if (!is_norm && step->bias == GOPS_IR_NONE &&
        gops_ir_is_bias(&step->output, added, &channels) && channels == step->output.dims[1]) {
        append_layer(run, first, last, next);
        run->step[next].bias = other;
        return true;
    }
    return false;
}

/* Replaces the operation's plan by one with the activation. */
static bool fuse_relu(gops_ir_run *run, int first, int last, int next, gops_tool_error *error)
{
    gops_ir_step *operation = &run->step[first];
    gops_ir_step *end = &run->step[last];
    gops_plan_destroy(operation->plan);
    operation->plan = NULL;
    run->options.activation.kind = GOPS_ACTIVATION_RELU;
    const bool made = operation->prepare(run, first, error);
    run->options.activation.kind = GOPS_ACTIVATION_NONE;
    if (!made) {
        return false;
    }
    if (first != last) {
        gops_plan_destroy(end->plan);
        end->plan = operation->plan;
        end->info = operation->info;
        end->problem = operation->problem;
        operation->plan = NULL;
    }
    append_layer(run, first, last, next);
    return true;
}

static bool fuse_operation(gops_ir_run *run, int first, gops_tool_error *error)
{
    int last = first;
    while (run->step[last].users == 1) {
        const int next = run->step[last].user;
        if (run->step[next].prepare == gops_ir_prepare_relu) {
            return fuse_relu(run, first, last, next, error);
        }
        /* An Add of two operations belongs to the first of them. */
        if (run->step[next].prepare != gops_ir_prepare_add ||
            run->step[next].before != GOPS_IR_NONE || !fuse_add(run, first, last, next)) {
            return true;
        }
        last = next;
    }
    return true;
}

bool gops_ir_fuse_all(gops_ir_run *run, gops_tool_error *error)
{
    for (int i = 0; i < run->model->layers; i++) {
        const gops_ir_step *step = &run->step[i];
        if (step->plan != NULL && step->before == GOPS_IR_NONE && !fuse_operation(run, i, error)) {
            return false;
        }
    }
    return true;
}
