/*
 * ort_member.h: what a region computes step by step: convolutions and normalizations with the
 * nodes that are part of their calls (a claim), and the operators that stand between them.
 *
 * All shapes are those that the model gives for an image, and weights are constants: then everything is planned when
 * the model is loaded. What is not so is claimed node by node, or left to the runtime.
 *
 * Operators that are no convolutions in ONNX become one where the library's is as good: a batch
 * normalization, an Add of two tensors and an activation are a convolution of each channel by one
 * weight, with post-ops; an average over windows that has post-ops has equal weights.
 */
#ifndef GROUPOPS_ENGINES_ORT_MEMBER_H
#define GROUPOPS_ENGINES_ORT_MEMBER_H

#include "engines/onnxruntime/graph/ort_operands.h"
#include "engines/onnxruntime/graph/ort_pool.h"
#include "engines/onnxruntime/pass/ort_pass.h"

typedef enum gops_ort_member_kind {
    GOPS_ORT_PLAN,           /* the claim */
    GOPS_ORT_MAX_POOL,       /* over two axes */
    GOPS_ORT_AVERAGE_POOL,   /* likewise; all windows divide by the same count */
    GOPS_ORT_GLOBAL_AVERAGE, /* over all spatial axes */
    GOPS_ORT_PRODUCT,        /* of two tensors, or of one with a number for each plane */
    GOPS_ORT_CONCAT, /* of channels; integers of 8 bits through tables, so one of a single operand is a function */
    GOPS_ORT_CHANNEL_NORM, /* each pixel over its channels */
    GOPS_ORT_SLICE,        /* of channels */
    GOPS_ORT_SHUFFLE,      /* of channels: one of each group, or of each input, in turn */
    GOPS_ORT_RESIZE,       /* planes in another size */
} gops_ort_member_kind;

typedef struct gops_ort_member {
    gops_ort_member_kind kind;
    /* Of other kinds than a plan: nodes, output and a norm's epsilon. A Split's second slice and further ones of floats
     * have no node, but name it as nodes[0]. */
    gops_ort_claim claim;
    /* The values that it reads, without constants: of a plan its data, and the residual if any; of a
     * product first the one that has the output's shape. */
    const char *two_inputs[2];
    const char *const *inputs;
    size_t input_count;
    gops_tensor data, output; /* data: of the first input */
    gops_ort_window window;
    gops_ort_resize resize;
    int64_t start;       /* of a slice: its first channel */
    int64_t groups;      /* of a shuffle */
    bool is_gate;        /* a product whose second input has a number for each plane */
    bool counts_padding; /* an average of integers divides by as many for all windows */
    /* The weights and biases of a plan, or scales and biases: of the claim's constants, or made here,
     * all in `made`. filter is the descriptor; biases may be NULL. */
    gops_tensor filter;
    const void *weights, *biases;
    float *made;
    /* Of integers with scales, but of a plan: what they stand for. */
    gops_ort_linear by[2], output_by;
    /* Of a Concat of such: its inputs, and what each of their 256 codes becomes. */
    const char **names;
    uint8_t (*codes)[GOPS_ORT_CODES];
    bool stands_alone;     /* the provider can claim it without a region */
    int32_t level;         /* gops_ort_members_sort */
    double gain;           /* gops_ort_choose */
    double flops_left_out; /* gops_ort_member_drop_taps */
    size_t last;           /* the number of its last node in the graph */
    int64_t chunks;        /* gops_ort_find_chunks: of its output channels; 0: all at once */
    int64_t plane;         /* gops_ort_find_planes: of its output, elements from one to the next */
    bool is_affine;        /* a plan that does no more than scale, shift and perhaps relu */
    bool is_matrix;        /* a plan of what the model has as a product by a matrix */
    struct gops_ort_member *next; /* that was read with it, before it is in a list; NULL: none */
    size_t chain; /* in a list: of what was read with it, from 1 up; 0: nothing was */
} gops_ort_member;

/* Whether a plan of the library computes it, and not a pass. */
static inline bool gops_ort_has_plan(const gops_ort_member *member)
{
    return member->kind == GOPS_ORT_PLAN && !member->is_affine;
}

/* Makes a member of a claim of f32, or a quantized one, whose shapes and constants are known; *member is NULL where
 * they are not. */
ort_status *gops_ort_member_of_claim(const gops_ort_graph *graph, const gops_ort_claim *claim,
                                     gops_ort_member **member);

/* Likewise of a pool of 8-bit integers. */
ort_status *gops_ort_member_of_pool(const gops_ort_graph *graph, const gops_ort_claim *claim,
                                    const gops_ort_pool *pool, gops_ort_member **member);

enum { GOPS_ORT_BIAS_BYTES = 4 }; /* of f32 or i32 */

/* Reads a node that is no claim's, and those that become part of it. *member is NULL if it is none
 * that a region has. */
ort_status *gops_ort_member_of_node(const gops_ort_graph *graph, gops_ort_node *node,
                                    gops_ort_member **member);

/* Likewise what computes 8-bit integers of others (ort_member_integers.c). */
ort_status *gops_ort_member_of_integers(const gops_ort_graph *graph, gops_ort_node *node,
                                        gops_ort_member **member);

/* With all that were read with it. */
void gops_ort_member_free(gops_ort_member *member);

/* Makes a member with the claim's data and residual as inputs and an output like the data; NULL: no
 * memory. */
gops_ort_member *gops_ort_member_make(gops_ort_member_kind kind, const gops_ort_claim *claim,
                                      const gops_tensor *data);

/* A node that is being read, with a claim of it, and what its first input and output are. */
typedef struct gops_ort_reading {
    const gops_ort_graph *graph;
    gops_ort_node *node;
    gops_ort_claim claim;
    gops_tensor data, output;
} gops_ort_reading;

/* The same, with what it computes integers of. */
typedef struct gops_ort_integers {
    gops_ort_reading reading;
    gops_ort_operands operands;
} gops_ort_integers;

/* Makes a Concat of the operands, with memory for their codes; one of a single operand is any function of its
 * elements. NULL: no memory. */
gops_ort_member *gops_ort_member_make_codes(const gops_ort_integers *from);

/* Whether products of integers, in units of the output's, can be rounded to integers. */
bool gops_ort_has_product(const gops_ort_linear *one, const gops_ort_linear *other,
                          const gops_ort_linear *output);

/* Reads an activation, or one that its own data is multiplied by (ort_member_codes.c). */
ort_status *gops_ort_member_of_codes(gops_ort_integers *from, gops_ort_member **member);
ort_status *gops_ort_member_of_integer_concat(gops_ort_integers *from, gops_ort_member **member);

/* Makes a member of the claim, as a convolution of each channel by `taps` weights of its own, with
 * memory for weights and biases, which are zeros. */
ort_status *gops_ort_member_make_depthwise(gops_ort_reading *from, int64_t taps,
                                           gops_ort_member **member);

/* Adds to a claim what gops_ort_add_post_ops does, unless what is added to it is a constant: a region
 * gets none. */
ort_status *gops_ort_member_add_post_ops(const gops_ort_graph *graph, gops_ort_claim *claim);

/* Reads a layer normalization of `data` over the channels, or a ReduceMean that begins one, and what
 * follows with the channels last. */
ort_status *gops_ort_member_of_layer_norm(gops_ort_reading *from, gops_ort_member **member);

/* Reads a pool over two axes; an average is one if all windows have as many elements, their padding
 * counted or not there, and with what follows it a convolution. */
ort_status *gops_ort_member_of_max_pool(gops_ort_reading *from, gops_ort_member **member);
ort_status *gops_ort_member_of_average_pool(gops_ort_reading *from, gops_ort_member **member);

/* Reads a Resize or Upsample of two spatial axes. */
ort_status *gops_ort_member_of_resize(gops_ort_reading *from, gops_ort_member **member);

/* Reads a Split of channels: a chain of slices, of which the first claims the node. Of integers, `behind` has the node
 * that quantizes each part; else it is NULL. */
ort_status *gops_ort_member_of_split(gops_ort_reading *from, gops_ort_node *const *behind,
                                     gops_ort_member **member);
/* Reads a Slice, or a Reshape that begins a shuffle. */
ort_status *gops_ort_member_of_slice(gops_ort_reading *from, gops_ort_member **member);
ort_status *gops_ort_member_of_shuffle(gops_ort_reading *from, gops_ort_member **member);
/* Reads a Concat of channels. */
ort_status *gops_ort_member_of_concat(gops_ort_reading *from, gops_ort_member **member);
/* Makes a Concat whose operands are the groups of a shuffle behind it that shuffle. */
ort_status *gops_ort_member_shuffle_concat(const gops_ort_graph *graph, gops_ort_member *concat);

/* Reads an InstanceNormalization. Exporters below opset 18 write a group normalization as one between
 * two Reshape, with a Mul and an Add of constants for each channel: these become part of it. */
ort_status *gops_ort_member_of_instance(gops_ort_reading *from, gops_ort_member **member);

/* Leaves out taps of a convolution, whose weights are known, that meet padding at every output. False: no memory. */
bool gops_ort_member_drop_taps(gops_ort_member *member);

/* Multiplications and additions of a convolution or its transposed form, 0 of anything else. */
double gops_ort_member_flops(const gops_ort_member *member);

/* Whether each channel of the data has one number in the gate. */
bool gops_ort_is_gate(const gops_tensor *data, const gops_tensor *gate);

/* Whether all dimensions of a tensor are given and above 0. */
bool gops_ort_is_closed(const gops_tensor *tensor);
/* The tensor of one image of a value that is no constant; *is is false where another size than the batch is open, and
 * where the value has not the graph's batch. */
ort_status *gops_ort_read_operand(const gops_ort_graph *graph, const ort_value_info *info,
                                  gops_tensor *tensor, bool *is);
/* The same, and *is is false if it is not of f32. */
ort_status *gops_ort_read_fed(const gops_ort_graph *graph, const ort_value_info *info,
                              gops_tensor *tensor, bool *is);

#endif
