/* ort_call.h: one call of a claim. */
#ifndef GROUPOPS_ENGINES_ORT_CALL_H
#define GROUPOPS_ENGINES_ORT_CALL_H

#include "engines/onnxruntime/call/ort_plans.h"

enum { GOPS_ORT_NOT_GIVEN = -1, GOPS_ORT_NAME_BYTES = 96 };

/* The object that the runtime calls for a claim. */
typedef struct gops_ort_compute {
    gops_ort_callee base;      /* first: the runtime's pointer to it is one to this */
    gops_ort_runtime *runtime; /* of the session */
    gops_ort_operation operation;
    int position[GOPS_ORT_INPUTS]; /* of each input among those of the call; GOPS_ORT_NOT_GIVEN */
    bool constant;                 /* weights and their zero points never change */
    void *folded;                  /* memory of gops_ort_fold or gops_ort_make_slopes */
    int64_t sloped;                /* channels that have a slope in it; 0: none has */
    const int32_t *bias;           /* in it; NULL: the bias is an input, or there is none */
    gops_ort_plans plans;
    char name[GOPS_ORT_NAME_BYTES];
} gops_ort_compute;

typedef struct gops_ort_input {
    gops_tensor tensor;
    const void *data;
} gops_ort_input;

/* Input number `input` of a call, and the memory of its output number `output`; `name` is the node's. */
ort_status *gops_ort_read_input(const gops_ort_runtime *runtime, const char *name,
                                const ort_kernel_context *context, size_t input,
                                gops_ort_input *read);
ort_status *gops_ort_make_output(const gops_ort_runtime *runtime, const char *name,
                                 ort_kernel_context *context, size_t output,
                                 const gops_tensor *tensor, void **data);

/* The weights as they are packed. *quantization gets the scales and zero points in `inputs`, if the
 * claim has them there; the library checks how many there are of the filter's. */
ort_status *gops_ort_describe_packing(const gops_ort_compute *self, const gops_ort_input *inputs,
                                      gops_quantization *quantization, gops_ort_weights *weights);

/* What the runtime calls. */
ort_status *gops_ort_call(ort_compute_info *info, void *state, ort_kernel_context *context);

#endif
