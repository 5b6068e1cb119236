/* ir_run.h: a model as it is executed.
 *
 * First every layer is prepared, in order: shapes are inferred and compared with those that the
 * file states, plans are made, sizes are checked against the .bin; then Add and Relu are drawn into
 * the operation before them (ir_fuse.c). Only then is memory for elements taken, and let go again
 * after its last use. */
#ifndef GOPS_IR_RUN_H
#define GOPS_IR_RUN_H

#include "ir/ir_model.h"
#include "npy/npy.h"

#include <groupops/plan.h>

/* An input of the command line: --input=NAME=FILE. */
typedef struct gops_ir_given {
    const char *text; /* "NAME=FILE" */
    bool used;
} gops_ir_given;

/* The index of no layer. */
enum { GOPS_IR_NONE = -1 };

struct gops_ir_run;

/* Prepares layer `index`: fills its step but for the elements. */
typedef bool gops_ir_prepare(struct gops_ir_run *run, int index, gops_tool_error *error);

typedef struct gops_ir_step {
    gops_ir_prepare *prepare; /* what did so */
    const char *algorithm;    /* for the table */
    gops_tensor output;
    size_t bytes;
    void *elements;
    int users; /* inputs that have yet to read the elements */
    int user;  /* one of the layers that do */
    double milliseconds;
    /* A layer that runs by a plan: the layers that its arguments come from. */
    gops_plan *plan;
    gops_plan_info info;
    int weights; /* the filter; NONE with ones != 0: that many times the number 1 */
    int data, scale, bias, residual;
    int64_t ones;
    bool broadcast; /* data and residual are repeated to the output's shape first */
    /* Layers that are executed at once are a list from the last of them, which has the plan and the
     * arguments, to the first, whose operation it is. */
    int before; /* the one before this one in the list; NONE */
    int last;   /* of the first in the list: the last one; NONE elsewhere */
    /* Parameter */
    gops_npy_file file;
    /* Const */
    int64_t offset;
} gops_ir_step;

typedef struct gops_ir_run {
    const gops_ir_model *model;
    gops_ir_step *step; /* one for each layer of the model */
    gops_ir_given *given;
    int given_count;
    gops_options options;
    char *bin_path;
    int bin; /* a descriptor; -1 until a Const is met */
    int64_t bin_bytes;
    uint64_t live_bytes; /* of all elements and packed filters */
    uint64_t most_bytes; /* the machine's memory */
} gops_ir_run;

gops_ir_prepare gops_ir_prepare_parameter, gops_ir_prepare_const, gops_ir_prepare_result,
    gops_ir_prepare_conv, gops_ir_prepare_group_conv, gops_ir_prepare_deconv,
    gops_ir_prepare_group_deconv, gops_ir_prepare_norm, gops_ir_prepare_add, gops_ir_prepare_relu,
    gops_ir_prepare_reshape, gops_ir_prepare_convert;

/* What the layers begin with: nothing prepared, nothing open. */
gops_ir_step gops_ir_step_begin(void);

/* The number of elements; false: it is beyond what a tensor may have. */
bool gops_ir_count(const gops_tensor *tensor, int64_t *count);

/* Plans output = data, with the options, over [batch, channels, rest]: a convolution with one
 * channel a group and a 1 for its filter, whose bias, residual and activation do the work. */
bool gops_ir_plan_identity(gops_ir_run *run, int index, const int64_t shape[3],
                           const gops_options *options, gops_tool_error *error);

/* Whether `added` has, by NumPy's broadcasting, a single element or one for each channel of the
 * data; *channels is how many. */
bool gops_ir_is_bias(const gops_tensor *data, const gops_tensor *added, int64_t *channels);
bool gops_ir_same_shape(const gops_tensor *one, const gops_tensor *other);

/* Repeats the elements of `from` along the axes that NumPy's broadcasting to `to` asks for. */
void gops_ir_repeat(const gops_tensor *from, const void *elements, const gops_tensor *to,
                    void *repeated);

/* The element types that Convert goes from and to, exactly (ir_convert.c). */
void gops_ir_convert(gops_type from, const void *elements, gops_type to, void *converted,
                     int64_t count);

/* Draws Add and Relu into the prepared operation before them where nothing else reads its output.
 */
bool gops_ir_fuse_all(gops_ir_run *run, gops_tool_error *error);

/* Reads the elements of a prepared Const. */
bool gops_ir_read_const(const gops_ir_run *run, int index, void *elements, gops_tool_error *error);

/* The numbers of an input that must come from a Const of i32 or i64 of rank 1: how many; -1 after a
 * refusal. `what` names it. */
int gops_ir_constant_input(const gops_ir_run *run, int index, int input, const char *what,
                           int64_t values[GOPS_MAX_RANK], gops_tool_error *error);

/* The layer that an input takes from, and its tensor. */
int gops_ir_source(const gops_ir_run *run, int index, int input);
const gops_tensor *gops_ir_input(const gops_ir_run *run, int index, int input);

/* Fails with "layer ...: " before the message. */
bool gops_ir_refuse(const gops_ir_run *run, int index, gops_tool_error *error, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));

/* Prepares all layers in order, and compares shapes with those stated. */
bool gops_ir_prepare_all(gops_ir_run *run, gops_tool_error *error);

/* Executes them; the elements that Results take stay. */
bool gops_ir_execute_all(gops_ir_run *run, gops_tool_error *error);

/* Writes a .npy file for each Result. Two that would have the same name are refused by
 * gops_ir_check_names. `folder` is made where it does not exist. */
bool gops_ir_check_names(const gops_ir_run *run, gops_tool_error *error);
bool gops_ir_write_outputs(const gops_ir_run *run, const char *folder, gops_tool_error *error);

void gops_ir_run_release(gops_ir_run *run);

#endif
