/*
 * problem.h: one operation on tensors with attributes and options, as the tests pass it around.
 */
#ifndef GROUPOPS_TEST_PROBLEM_H
#define GROUPOPS_TEST_PROBLEM_H

#include <groupops/plan.h>

#include "reference_fusion.h"
#include "guarded_memory.h"
#include "random_numbers.h"

/* A list of an attribute: .strides = LIST(2, 1). */
#define LIST(...)                                                                                  \
    {                                                                                              \
        sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                                        \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

typedef enum gops_problem_operation {
    GOPS_PROBLEM_CONV,
    GOPS_PROBLEM_DECONV,
    GOPS_PROBLEM_NORM
} gops_problem_operation;

typedef struct gops_problem {
    gops_problem_operation operation;
    gops_tensor data;
    gops_tensor filter; /* convolutions */
    gops_conv_attributes conv;
    gops_deconv_attributes deconv;
    gops_norm_attributes norm;
    /* Options; zeros are the defaults. */
    const char *algorithm;
    int32_t threads;
    int64_t max_workspace;
    bool divisible;
    const gops_host *host;
    gops_choices *choices;
    gops_type output_type;
    bool saturate;
    gops_accuracy accuracy;
    /* Of a quantized problem (problem_quantization.h): what gops_arguments.data_zero_point gets;
     * NULL: nothing. */
    const int64_t *data_zero_point;
    /* And what gops_filter_create gets, NULL where size and the filter's zero points are 0. Its own
     * filter_zero_points are not read; these are, in whatever type the filter has. */
    gops_quantization quantization;
    const int64_t *filter_zero_points;
    int64_t filter_zero_point_count;
    gops_type residual_type;
    /* Fused into the store. with_bias is for convolutions. */
    gops_activation activation;
    int with_bias;
    int with_residual;
    int residual_after; /* the activation */
    /* Elements between the images of a tensor that is a slice of a larger one. */
    int64_t data_gap;
    int64_t output_gap;
    int64_t residual_gap;
    /* Elements behind each channel; the residual has the output's. */
    int64_t data_channel_gap;
    int64_t output_channel_gap;
    int residual_in_place; /* the residual lies where the output goes */
    /* NULL, or the plan that packs the filter, where it is not the one that is executed. */
    const gops_plan *packer;
    int update; /* the filter is packed with other weights, and then with the right ones */
} gops_problem;

/* Input and output buffers of a problem, guarded, with random inputs. */
typedef struct gops_problem_buffers {
    gops_test_guarded data;
    gops_test_guarded weights;
    gops_test_guarded scale;
    gops_test_guarded bias;
    gops_test_guarded residual;
    gops_test_guarded slopes;
    gops_test_guarded output;
} gops_problem_buffers;

/* The problem as the words after `groupops plan` and the options that are not the defaults. */
typedef struct gops_problem_text {
    char text[1024];
} gops_problem_text;
const char *gops_problem_describe(const gops_problem *problem, gops_problem_text *text);

/* GroupNormalization-12 of [batch, channels, pixels]. */
gops_problem gops_problem_of_norm(gops_type type, int64_t batch, int64_t channels, int64_t pixels,
                                  int64_t groups, double epsilon);

/* A descriptor [C] of the type of the data. */
gops_tensor gops_problem_coefficients(const gops_problem *problem);

/* With channel strides where there are channel gaps, and the output is one. */
gops_options gops_problem_options(const gops_problem *problem);

/* Gives both the longer of their channel strides, so that a plan for the one can be made from a plan for
 * the other; no gaps where strides would be long, or one of them is refused. */
void gops_problem_share_strides(gops_problem *one, gops_problem *other);

gops_status gops_problem_shape(const gops_problem *problem, gops_shape *shape, gops_error *error);
gops_status gops_problem_plan(const gops_problem *problem, gops_plan **plan, gops_error *error);
/* With these options in place of the problem's; NULL: the defaults. */
gops_status gops_problem_plan_with(const gops_problem *problem, const gops_options *options,
                                   gops_plan **plan, gops_error *error);

/* The reference's shape: 1, or 0 where the problem is to be refused. A normalization's is that of
 * its data. `geometry` is filled in for convolutions. */
int gops_problem_reference_shape(const gops_problem *problem, gops_reference_geometry *geometry,
                                 gops_tensor *output);

/* Buffers for an output of that shape; the inputs come from `random`. */
gops_problem_buffers gops_problem_buffers_create(const gops_problem *problem,
                                                 const gops_tensor *output,
                                                 gops_test_random *random);
/* Those of a normalization without residual whose data are uniformly distributed around a mean, up to
 * `spread` away from it, and rounded to their type. */
gops_problem_buffers gops_problem_buffers_of_mean(const gops_problem *problem, long double mean,
                                                  long double spread, gops_test_random *random);
void gops_problem_buffers_destroy(gops_problem_buffers *buffers);

/* What the reference computes from the buffers. */
void gops_problem_reference(const gops_problem *problem, const gops_problem_buffers *buffers,
                            gops_reference_result *result);

/* Executes a plan on the buffers: packs the filter, executes, destroys the filter. `workspace` not
 * NULL is handed over as workspace. */
gops_status gops_problem_execute(const gops_problem *problem, const gops_plan *plan,
                                 const gops_problem_buffers *buffers,
                                 const gops_test_guarded *workspace, size_t workspace_bytes,
                                 gops_error *error);

/* Fills the output with 0xff, NaN in every floating point type: what an execution does not write is then not what
 * the one before wrote. */
void gops_problem_clear_output(const gops_problem *problem, const gops_problem_buffers *buffers);

/* Makes the plan, executes it, destroys it. */
gops_status gops_problem_run(const gops_problem *problem, const gops_problem_buffers *buffers,
                             gops_error *error);

/* Compares the output with the reference's result, by bounds or by equality, whichever the type
 * asks for. Prints and returns 0 when they differ. */
int gops_problem_compare(const gops_problem *problem, const gops_reference_result *result,
                         const void *output);

/* All of it: shape, random inputs, run, compare, each asserted. Returns whether all held. */
int gops_problem_check(const gops_problem *problem, gops_test_random *random);

#endif
