/* ort_compute.c: makes the object that the runtime calls for a claim. */
#include "engines/onnxruntime/provider/ort_compute.h"

#include "engines/onnxruntime/call/ort_call.h"
#include "engines/onnxruntime/graph/ort_constant.h"
#include "engines/onnxruntime/graph/ort_quantized.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether all that is packed is constant; *inputs are then those of the claim's inputs. */
static ort_status *find_constants(gops_ort_compute *self, const gops_ort_claim *claim,
                                  gops_ort_input *inputs)
{
    static const int needed[] = {GOPS_ORT_FILTER,     GOPS_ORT_FILTER_ZERO,  GOPS_ORT_OUTPUT_ZERO,
                                 GOPS_ORT_DATA_SCALE, GOPS_ORT_FILTER_SCALE, GOPS_ORT_OUTPUT_SCALE};
    ort_status *status = NULL;
    self->constant = self->operation.kind != GOPS_ORT_NORM;
    for (size_t i = 0; i < sizeof needed / sizeof needed[0] && status == NULL && self->constant;
         i++) {
        if (claim->infos[needed[i]] != NULL) {
            gops_ort_constant constant;
            status = gops_ort_read_constant(self->runtime, claim->infos[needed[i]], &constant,
                                            &self->constant);
            inputs[needed[i]] = (gops_ort_input){constant.tensor, constant.values};
        }
    }
    return status;
}

/* Packs constant weights while the model is loaded, so that the first call is as fast as the
 * others. If the shapes are not known yet, or the library refuses, the first call tries again. */
static ort_status *pack_constant(gops_ort_compute *self, const gops_ort_claim *claim)
{
    gops_ort_input inputs[GOPS_ORT_INPUTS] = {{.data = NULL}};
    gops_tensor filter, *data = &inputs[GOPS_ORT_DATA].tensor;
    gops_quantization quantization;
    gops_ort_weights weights;
    gops_ort_taken taken;
    gops_error error;
    bool known;
    ort_status *status = find_constants(self, claim, inputs);
    if (status != NULL || !self->constant ||
        (status = gops_ort_value_tensor(self->runtime, claim->infos[GOPS_ORT_DATA], data,
                                        &known)) != NULL) {
        return status;
    }
    for (int32_t i = 0; i < data->rank; i++) {
        known = known && data->dims[i] >= 0;
    }
    if (!known ||
        !gops_ort_filter_tensor(&self->operation, &inputs[GOPS_ORT_FILTER].tensor, &filter)) {
        return NULL;
    }
    status = gops_ort_describe_packing(self, inputs, &quantization, &weights);
    if (status != NULL) { /* the first call says so */
        self->runtime->api->release_status(status);
        return NULL;
    }
    if (gops_ort_plans_take(&self->plans, data, &filter, &weights, &taken, &error) == GOPS_OK) {
        gops_ort_plans_give_back(&self->plans, &taken);
    }
    return NULL;
}

static ort_status *find_positions(gops_ort_compute *self, const gops_ort_claim *claim,
                                  const char *const *inputs, size_t input_count)
{
    for (int i = 0; i < GOPS_ORT_INPUTS; i++) {
        self->position[i] = GOPS_ORT_NOT_GIVEN;
        if (claim->inputs[i] == NULL) {
            continue;
        }
        for (size_t k = 0; k < input_count && self->position[i] == GOPS_ORT_NOT_GIVEN; k++) {
            if (strcmp(inputs[k], claim->inputs[i]) == 0) {
                self->position[i] = (int)k;
            }
        }
        if (self->position[i] == GOPS_ORT_NOT_GIVEN) {
            return gops_ort_fail(self->runtime, ORT_FAIL,
                                 "groupops, node \"%s\": input \"%s\" is none of the claim's",
                                 self->name, claim->inputs[i]);
        }
    }
    return NULL;
}

static void destroy(ort_compute_info *info)
{
    gops_ort_compute *self = (gops_ort_compute *)(void *)info;
    gops_ort_plans_close(&self->plans);
    free(self->folded);
    free(self);
}

/* What has slopes is not quantized. */
static bool fold(gops_ort_compute *self, const gops_ort_claim *claim)
{
    return self->sloped > 0 ? gops_ort_make_slopes(claim, &self->folded)
                            : gops_ort_fold(claim, &self->operation, &self->folded, &self->bias);
}

ort_status *gops_ort_compute_create(gops_ort_runtime *runtime, const gops_ort_claim *claim,
                                    const char *const *inputs, size_t input_count,
                                    ort_compute_info **info)
{
    gops_ort_compute *self = calloc(1, sizeof *self);
    if (self == NULL || !gops_ort_plans_open(runtime, &self->operation, &self->plans)) {
        free(self);
        return gops_ort_no_memory(runtime, "a node");
    }
    self->base = gops_ort_make_callee(gops_ort_call, destroy);
    self->runtime = runtime;
    self->operation = claim->operation;
    self->sloped = claim->slopes.count > 0 ? claim->channels : 0;
    snprintf(self->name, sizeof self->name, "%s", claim->nodes[0]->name);
    ort_status *status = find_positions(self, claim, inputs, input_count);
    if (status == NULL && !fold(self, claim)) {
        status = gops_ort_no_memory(runtime, "a node's constants");
    }
    if (status == NULL) {
        status = pack_constant(self, claim);
    }
    if (status != NULL) {
        destroy(&self->base.info);
        return status;
    }
    *info = &self->base.info;
    return NULL;
}
