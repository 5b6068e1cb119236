/* ort_step.c: makes the steps of a region when a model is loaded, and runs one at each call. */
#include "engines/onnxruntime/region/ort_step.h"

#include "engines/onnxruntime/call/ort_plans.h"
#include "engines/onnxruntime/graph/ort_quantized.h"

#include <stdlib.h>
#include <string.h>

/* How many threads, `most` or fewer, the work of a step is worth: handing some of it to another takes as long as a core
 * takes for half of this, to a thread of a team less. */
static int32_t worth_threads(const gops_ort_runtime *runtime, int32_t most, double flops,
                             double bytes)
{
    const double worth_ns = runtime->may_spin ? 1500 : 8000;
    const double flops_a_ns = 60, bytes_a_ns = 30;
    const double parts = (flops / flops_a_ns + bytes / bytes_a_ns) / worth_ns;
    return parts >= most ? most : 1 + (int32_t)parts;
}

static gops_status create_plan(gops_ort_runtime *runtime, const gops_ort_member *member,
                               int32_t most, gops_ort_step *made, gops_error *error)
{
    const gops_ort_operation *operation = &member->claim.operation;
    const double products_a_float = 2; /* of 8 bits, at least, in the time of one of f32 */
    const gops_host host = gops_ort_host(runtime);
    gops_options options = gops_ort_options(runtime, operation, &host);
    options.threads = made->threads = worth_threads(
        runtime, most,
        gops_ort_member_flops(member) / (gops_ort_is_quantized(operation) ? products_a_float : 1),
        (double)(gops_ort_bytes(&member->data, 0) + gops_ort_bytes(&member->output, 0) +
                 gops_ort_bytes(&member->filter, 0)));
    options.data_channel_stride = made->data.plane;
    options.output_channel_stride = made->output.plane;
    return gops_ort_plan_create(operation, &member->data, &member->filter, &options, &made->plan,
                                error);
}

/* Keeps the constants that a call reads: biases, of f32 or i32, and a normalization's scales. Weights are packed. */
static bool keep_constants(gops_ort_member *member, const void *biases, gops_ort_step *made)
{
    made->biases = biases;
    if (member->claim.operation.kind == GOPS_ORT_NORM) {
        made->scales = made->made = member->made;
        member->made = NULL;
    } else if (biases != NULL) {
        const size_t bytes = (size_t)gops_ort_channels(&member->claim.operation, &member->filter) *
                             GOPS_ORT_BIAS_BYTES;
        made->biases = made->made = malloc(bytes);
        if (made->made == NULL) {
            return false;
        }
        memcpy(made->made, biases, bytes);
    }
    return true;
}

static ort_status *make_plan(gops_ort_runtime *runtime, gops_ort_member *member, int32_t most,
                             gops_ort_step *made)
{
    gops_ort_operation operation = member->claim.operation;
    gops_plan_info info = {.size = sizeof info};
    const int32_t *rounded = NULL; /* biases */
    void *folded = NULL;
    gops_error error;
    if (gops_ort_is_quantized(&operation) &&
        !gops_ort_fold(&member->claim, &operation, &folded, &rounded)) {
        return gops_ort_no_memory(runtime, "a node's constants");
    }
    gops_status status = create_plan(runtime, member, most, made, &error);
    if (status == GOPS_OK) {
        status = gops_plan_get_info(made->plan, &info, &error);
    }
    if (status == GOPS_OK && member->claim.operation.kind != GOPS_ORT_NORM) {
        status =
            gops_filter_create(made->plan, member->weights,
                               gops_ort_is_quantized(&operation) ? &operation.quantization : NULL,
                               &made->filter, &error);
    }
    made->workspace_bytes = info.workspace_bytes;
    const bool kept = status == GOPS_OK && gops_ort_make_slopes(&member->claim, &made->slopes) &&
                      keep_constants(member, rounded != NULL ? rounded : member->biases, made);
    free(folded);
    return status != GOPS_OK ? gops_ort_refused(runtime, member->claim.nodes[0]->name, &error)
           : !kept           ? gops_ort_no_memory(runtime, "a node's constants")
                             : NULL;
}

static void make_pass(gops_ort_runtime *runtime, const gops_ort_placed_step *placed,
                      gops_ort_step *made)
{
    gops_ort_member *member = placed->member;
    const bool shuffles = member->kind == GOPS_ORT_SHUFFLE;
    const bool copies =
        member->kind == GOPS_ORT_CONCAT || member->kind == GOPS_ORT_SLICE || shuffles;
    const gops_tensor *data = copies ? &placed->data : &member->data;
    gops_ort_pass *pass = &made->pass;
    *pass = (gops_ort_pass){.type = data->type,
                            .vectors = gops_ort_find_vectors(),
                            .channels = data->dims[1],
                            .plane = gops_ort_elements(data, 2)};
    if (copies && data->type != GOPS_F32) {
        pass->kind = GOPS_ORT_PASS_CODES;
        pass->codes = made->made;
    } else if (copies) {
        pass->kind = GOPS_ORT_PASS_COPY;
        pass->step = shuffles ? member->groups : 1;
    } else if (member->kind == GOPS_ORT_GLOBAL_AVERAGE) {
        pass->kind = GOPS_ORT_PASS_AVERAGE;
    } else if (member->kind == GOPS_ORT_PRODUCT) {
        pass->kind = member->is_gate ? GOPS_ORT_PASS_SCALE : GOPS_ORT_PASS_PRODUCT;
    } else if (member->kind == GOPS_ORT_RESIZE) {
        *pass = gops_ort_pass_of_pool(&member->window, data, &member->output);
        pass->kind = member->resize.linear ? GOPS_ORT_PASS_LINEAR : GOPS_ORT_PASS_NEAREST;
        memcpy(pass->taps, member->resize.taps, sizeof pass->taps);
        made->made = member->resize.taps[0];
        member->resize.taps[0] = NULL;
    } else if (member->kind == GOPS_ORT_MAX_POOL || member->kind == GOPS_ORT_AVERAGE_POOL) {
        *pass = gops_ort_pass_of_pool(&member->window, data, &member->output);
        if (member->kind == GOPS_ORT_AVERAGE_POOL) {
            pass->kind = GOPS_ORT_PASS_SUM;
            pass->factor = 1 / (float)(pass->window.kernel[0] * pass->window.kernel[1]);
        }
    } else {
        pass->kind =
            member->kind == GOPS_ORT_CHANNEL_NORM ? GOPS_ORT_PASS_NORM : GOPS_ORT_PASS_AFFINE;
        pass->epsilon = (float)member->claim.operation.norm.epsilon;
        pass->relu = member->claim.operation.activation.kind == GOPS_ACTIVATION_RELU;
        pass->factors = member->weights;
        pass->summands = member->biases;
        made->made = member->made;
        member->made = NULL;
    }
    pass->data_step = placed->inputs[0].plane;
    pass->other_step = placed->inputs[1].plane;
    pass->output_step = placed->output.plane;
    memcpy(pass->by, member->by, sizeof pass->by);
    pass->output_by = member->output_by;
    pass->counts_padding = member->counts_padding;
    const gops_tensor *most = member->kind == GOPS_ORT_RESIZE ? &member->output : data;
    made->threads =
        worth_threads(runtime, gops_ort_processors(), 0, 2 * (double)gops_ort_bytes(most, 0));
}

ort_status *gops_ort_step_make(gops_ort_runtime *runtime, const gops_ort_placed_step *placed,
                               int32_t most, gops_ort_step *made)
{
    gops_ort_member *member = placed->member;
    made->data = placed->inputs[0];
    made->other = placed->inputs[1];
    made->output = placed->output;
    made->has_other = (member->kind == GOPS_ORT_PLAN || member->kind == GOPS_ORT_PRODUCT) &&
                      member->input_count == 2;
    if (gops_ort_has_plan(member)) {
        return make_plan(runtime, member, most, made);
    }
    if (placed->codes != NULL) {
        made->made = malloc(GOPS_ORT_CODES);
        if (made->made == NULL) {
            return gops_ort_no_memory(runtime, "a node's constants");
        }
        memcpy(made->made, placed->codes, GOPS_ORT_CODES);
    }
    make_pass(runtime, placed, made);
    return NULL;
}

/* One step of a call; the views' bases are those of the call. */
typedef struct running {
    const gops_ort_step *of;
    gops_ort_pass_operands operands;
} running;

static void run_part(void *argument, int64_t index)
{
    const running *now = argument;
    const gops_ort_pass *pass = &now->of->pass;
    const int64_t units = gops_ort_pass_units(pass), parts = now->of->threads;
    gops_ort_pass_run(pass, &now->operands, units * index / parts, units * (index + 1) / parts);
}

static ort_status *run_pass(gops_ort_runtime *runtime, const char *name, running *now)
{
    if (now->of->threads == 1) {
        run_part(now, 0);
        return NULL;
    }
    return gops_ort_parallel_for(runtime, name, run_part, now, now->of->threads);
}

static ort_status *run_plan(gops_ort_runtime *runtime, const char *name, const running *now,
                            void *workspace)
{
    const gops_ort_step *of = now->of;
    const gops_arguments arguments = {
        .size = sizeof arguments,
        .data = now->operands.data,
        .filter = of->filter,
        .scale = of->scales,
        .bias = of->biases,
        .output = now->operands.output,
        .residual = now->operands.other,
        .workspace = workspace,
        .workspace_bytes = of->workspace_bytes,
        .slopes = of->slopes,
    };
    gops_error error;
    return gops_execute(of->plan, &arguments, &error) == GOPS_OK
               ? NULL
               : gops_ort_refused(runtime, name, &error);
}

ort_status *gops_ort_step_run(gops_ort_runtime *runtime, const char *name,
                              const gops_ort_step *step, unsigned char *const *bases,
                              void *workspace)
{
    running now = {step,
                   {.data = gops_ort_view_start(&step->data, bases),
                    .other = step->has_other ? gops_ort_view_start(&step->other, bases) : NULL,
                    .output = gops_ort_view_start(&step->output, bases)}};
    return step->plan != NULL ? run_plan(runtime, name, &now, workspace)
                              : run_pass(runtime, name, &now);
}

void gops_ort_step_free(gops_ort_step *step)
{
    gops_filter_destroy(step->filter);
    gops_plan_destroy(step->plan);
    free(step->made);
    free(step->slopes);
}
