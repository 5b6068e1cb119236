/* ir_run.h: a model as it is executed.
 *
 * First every layer is prepared, in order: its shapes are inferred and compared with those that the
 * file states, its plan is made, its size is checked against the .bin file. Then Add and Relu
 * layers are fused with the operation before them (ir_fuse.c). Only then are elements allocated;
 * they are freed after their last use.
 *
 * A model may be run by the ranks of an MPI program (gops_ir_ranks): each prepares the whole of it, and
 * then holds a part of each tensor. A process alone holds all of them. */
#ifndef GOPS_IR_RUN_H
#define GOPS_IR_RUN_H

#include "ir/ir_model.h"
#include "npy/npy.h"

#include <groupops/plan.h>

/* The index of no layer. */
enum { GOPS_IR_NONE = -1 };

typedef struct gops_ir_run gops_ir_run;
typedef struct gops_ir_ranks gops_ir_ranks;

/* What of a tensor a process holds: a brick, and where in the whole it begins. */
typedef struct gops_ir_part {
    gops_tensor shape;
    int64_t begin[GOPS_MAX_RANK];
} gops_ir_part;

typedef enum gops_ir_operation {
    GOPS_IR_NO_OPERATION,
    GOPS_IR_CONV,
    GOPS_IR_DECONV,
    GOPS_IR_NORM,
} gops_ir_operation;

/* What a plan of the library is made from. */
typedef struct gops_ir_problem {
    gops_ir_operation operation;
    gops_tensor data, second, third; /* filter, or scale and bias */
    union {
        gops_conv_attributes conv;
        gops_deconv_attributes deconv;
        gops_norm_attributes norm;
    } attributes;
    gops_options options;
} gops_ir_problem;

/* Prepares layer `index`: fills its step but for the elements. */
typedef bool gops_ir_prepare_fn(gops_ir_run *run, int index, gops_tool_error *error);

typedef struct gops_ir_step {
    gops_ir_prepare_fn *prepare; /* of the layer's type */
    bool ungrouped;              /* of a convolution's type: the filter has no axis of groups */
    const char *algorithm;       /* for the table */
    gops_tensor output;
    gops_ir_part held; /* of the output */
    size_t bytes;      /* of what is held */
    void *elements;
    int users; /* how many inputs have yet to read the elements */
    int user;  /* a layer with such an input */
    double milliseconds;
    bool constant; /* it is a Const, or computed from constants (ir_constants.c) */
    /* A layer that is executed by a plan, and the layers whose outputs are its arguments. */
    gops_ir_problem problem;
    gops_ir_part reads; /* of its data */
    gops_plan *plan;
    gops_plan_info info;
    int weights, data, scale, bias, residual;
    bool pointwise; /* an Add or Relu without a plan, unless it is fused: of data and residual */
    int32_t axis;   /* along which a Concat joins the inputs of the model's layer; it has no data */
    /* Fused layers are a list from the last one, which has the plan and the arguments, to the first
     * one, the operation. So are folded ones, without a plan. */
    int before; /* the layer before this one in the list; GOPS_IR_NONE */
    int last;   /* in the first layer of the list: the last one; elsewhere GOPS_IR_NONE */
    /* Parameter */
    gops_npy_file file;
    /* Const */
    int64_t offset;
} gops_ir_step;

struct gops_ir_run {
    const gops_ir_model *model;
    gops_ir_step *step; /* one for each layer of the model */
    gops_options options;
    char *bin_path;
    int bin; /* a descriptor; -1 until a Const is met */
    int64_t bin_bytes;
    uint64_t live_bytes;  /* of all elements and packed filters */
    uint64_t max_bytes;   /* the machine's memory */
    gops_ir_ranks *ranks; /* NULL: a process alone */
};

/* Elements that a layer reads, and memory that was taken for them. */
typedef struct gops_ir_taken {
    const void *elements;
    gops_ir_part part;
    void *memory; /* NULL: they lie where the source has them */
    size_t bytes; /* of the memory */
} gops_ir_taken;

/* What the ranks of an MPI program do otherwise than a process alone (engines/mpi/command). All but
 * `read` are collective: every rank calls them for the same layers in the same order, and what fails on
 * one fails on all. */
struct gops_ir_ranks {
    /* Whether `done` holds on all ranks. */
    bool (*all)(const gops_ir_run *run, bool done, gops_tool_error *error);
    /* Fills in what each prepared layer holds, and plans convolutions and normalizations. */
    bool (*place)(gops_ir_run *run, gops_tool_error *error);
    /* Where the rank holds another part of the source than the layer reads, or `whole` is wanted,
     * and it holds a part, exchanges elements and puts those into *taken. */
    bool (*fetch)(gops_ir_run *run, int index, int source, bool whole, gops_ir_taken *taken,
                  gops_tool_error *error);
    /* Executes a convolution or normalization. */
    bool (*execute)(gops_ir_run *run, int index, const void *weights,
                    const gops_arguments *arguments, gops_tool_error *error);
    /* Writes what the ranks hold of the layer's output. */
    bool (*write)(const gops_ir_run *run, int index, const char *path, gops_tool_error *error);
    /* Reads what the rank holds of a Parameter's file, into memory that the caller frees. */
    bool (*read)(const gops_ir_step *step, void **elements, gops_tool_error *error);
    bool prints; /* this rank shows the table of layers */
};

/* run->ranks->all, where there are ranks. */
bool gops_ir_all(const gops_ir_run *run, bool done, gops_tool_error *error);

/* All of a tensor. */
gops_ir_part gops_ir_whole(const gops_tensor *tensor);

gops_ir_prepare_fn gops_ir_prepare_parameter, gops_ir_prepare_const, gops_ir_prepare_result,
    gops_ir_prepare_conv, gops_ir_prepare_deconv, gops_ir_prepare_norm, gops_ir_prepare_add,
    gops_ir_prepare_relu, gops_ir_prepare_reshape, gops_ir_prepare_convert,
    gops_ir_prepare_subtract, gops_ir_prepare_multiply, gops_ir_prepare_concat;

/* The step of a layer that is not prepared yet. */
gops_ir_step gops_ir_step_initial(void);

/* The number of elements; false if a tensor may not have so many. */
bool gops_ir_count(const gops_tensor *tensor, int64_t *count);

/* Whether NumPy's broadcasting adds `added` as a single number (*channels is 1) or as one for each
 * channel of the data. */
bool gops_ir_is_bias(const gops_tensor *data, const gops_tensor *added, int64_t *channels);
bool gops_ir_same_shape(const gops_tensor *one, const gops_tensor *other);

/* Whether NumPy's rules broadcast `from` to the shape of `to`. */
bool gops_ir_is_broadcast(const gops_tensor *from, const gops_tensor *to);

/* Elements `first` to `first + count - 1` of that part of `from` broadcast to the whole of which `to` is
 * a part. */
void gops_ir_broadcast(const gops_tensor *from, const void *elements, const gops_ir_part *to,
                       int64_t first, int64_t count, void *broadcast);

/* Counts memory as in use; systems promise more than they have, so more than the machine has is
 * refused here. */
bool gops_ir_reserve(gops_ir_run *run, int index, size_t bytes, gops_tool_error *error);

/* ir_take.c: what a layer's plan reads. */
typedef struct gops_ir_inputs {
    gops_ir_taken data, residual;       /* parts like the layer's own */
    gops_ir_taken weights, scale, bias; /* whole */
} gops_ir_inputs;
bool gops_ir_take_inputs(gops_ir_run *run, int index, gops_ir_inputs *inputs,
                         gops_tool_error *error);
void gops_ir_release_inputs(gops_ir_run *run, gops_ir_inputs *inputs);

/* Computes what is held of an Add or Relu. */
void gops_ir_compute_pointwise(gops_ir_step *step, const gops_ir_inputs *inputs);

/* A part of the output of layer `source`, for the caller to release, also after a failure. A collective
 * call, but what fails on one rank may not fail on the others. */
bool gops_ir_take_part(gops_ir_run *run, int index, int source, const gops_ir_part *wanted,
                       gops_ir_taken *taken, gops_tool_error *error);
void gops_ir_release_taken(gops_ir_run *run, gops_ir_taken *taken);

/* Executes a Concat. */
bool gops_ir_concat(gops_ir_run *run, int index, gops_tool_error *error);

/* Reads the attribute auto_broadcast: *none, or NumPy's rules. */
bool gops_ir_read_broadcast(const gops_ir_run *run, int index, bool *none, gops_tool_error *error);

/* The types that Convert goes to, and in which Subtract and Multiply compute: f64 f32 f16 bf16. */
bool gops_ir_computes_in(gops_type type);

/* Converts elements to a type that has all of their values (ir_convert.c). */
void gops_ir_convert(gops_type from, const void *elements, gops_type to, void *converted,
                     int64_t count);

/* Rounds a sum or product of two numbers of the type as the type's own arithmetic does. */
double gops_ir_round(gops_type type, double value);

/* Makes lists of the constant layers that are folded in one pass, and computes such a list from its
 * last layer (ir_constants.c). */
void gops_ir_fold_all(gops_ir_run *run);
void gops_ir_fold(const gops_ir_run *run, int index);

/* Makes Add and Relu post-ops of the prepared operation before them, where nothing else reads its
 * output. */
bool gops_ir_fuse_all(gops_ir_run *run, gops_tool_error *error);

/* Reads the elements of a prepared Const. */
bool gops_ir_read_const(const gops_ir_run *run, int index, void *elements, gops_tool_error *error);

/* Reads an input that must be integers with rank 1, from a Const or a Parameter's file. Returns how many numbers it
 * has, or -1 after a refusal; `what` names the input in the message. */
int gops_ir_constant_input(const gops_ir_run *run, int index, int input, const char *what,
                           int64_t values[GOPS_MAX_RANK], gops_tool_error *error);

/* The layer whose output an input reads, and that output's tensor. */
int gops_ir_source(const gops_ir_run *run, int index, int input);
const gops_tensor *gops_ir_input(const gops_ir_run *run, int index, int input);

/* Fails with "layer ...: " before the message. */
bool gops_ir_refuse(const gops_ir_run *run, int index, gops_tool_error *error, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));

/* Prepares all layers in order, and compares shapes with those stated. */
bool gops_ir_prepare_all(gops_ir_run *run, gops_tool_error *error);

/* Executes the prepared layers. Only the elements that Results read are still allocated after. */
bool gops_ir_execute_all(gops_ir_run *run, gops_tool_error *error);

/* Before execution: refuses a model with two Results of the same file name. */
bool gops_ir_check_names(const gops_ir_run *run, gops_tool_error *error);

/* Before execution: makes `folder` if it does not exist, and refuses one that the Results' files cannot
 * be written to. */
bool gops_ir_make_folder(const gops_ir_run *run, const char *folder, gops_tool_error *error);

/* Writes a .npy file for each Result into `folder`. */
bool gops_ir_write_outputs(const gops_ir_run *run, const char *folder, gops_tool_error *error);

void gops_ir_run_release(gops_ir_run *run);

#endif
