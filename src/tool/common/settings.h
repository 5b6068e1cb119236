/* settings.h: what the flags of a command line, or of a line in a suite, have set. */
#ifndef GOPS_COMMON_SETTINGS_H
#define GOPS_COMMON_SETTINGS_H

#include <groupops/attributes.h>
#include <groupops/choices.h>
#include <groupops/plan.h>

#include <stdbool.h>

/* The dimensions of a shape on the command line; rank 0 when it was not given. */
typedef struct gops_tool_dims {
    int32_t rank;
    int64_t dims[GOPS_MAX_RANK];
} gops_tool_dims;

/* --reps: what the samples' memory allows; half a second of 0.5 us each. */
enum { GOPS_TOOL_MAX_REPS = 1 << 20 };

typedef struct gops_settings {
    /* run: paths of .npy files */
    const char *data_file;
    const char *filter_file;
    const char *scale_file;
    const char *bias_file;
    const char *residual_file;
    const char *output_file;
    /* plan and bench: shapes */
    gops_tool_dims data;
    gops_tool_dims filter;
    gops_tool_dims scale;
    gops_tool_dims bias;
    /* the specification's attributes */
    gops_list strides;
    gops_list pads_begin;
    gops_list pads_end;
    gops_list dilations;
    gops_list output_padding;
    gops_list output_shape;
    int auto_pad;          /* a gops_auto_pad */
    int output_shape_rule; /* a gops_output_shape_rule */
    int64_t num_groups;
    double epsilon;
    /* types and post-ops */
    int type; /* a gops_type; 0 when it was not given, as in the two below */
    int filter_type;
    int output_type;
    int residual_type; /* no flag: of the residual's file; 0: the output's */
    gops_activation activation;
    bool residual_after_activation;
    /* each a number, or the path of a .npy file; the folder operands reads them */
    const char *means;
    const char *variances;
    const char *slopes; /* of prelu */
    const char *filter_scales;
    const char *filter_zero_points;
    /* quantized convolutions */
    double data_scale;
    double output_scale;
    double residual_scale;
    int32_t data_zero_point;
    int32_t output_zero_point;
    int32_t residual_zero_point;
    /* options */
    const char *algorithm;
    int32_t threads;
    int64_t max_workspace;
    int accuracy; /* a gops_accuracy */
    const char *choices_file;
    gops_choices *choices; /* read from it; NULL: none */
    int64_t choices_read;  /* how many there were */
    bool json;
    /* bench */
    const char *suite;
    int64_t reps;
    double seconds;
    bool bare_gemm;
    const char *plot_file;
    /* compare */
    int64_t max_ulp;
    double max_difference;
    /* ir */
    int inputs; /* how many --input there are */
    const char *output_dir;
    /* Bit i is set when row i of the flag table was given. */
    uint64_t given;
} gops_settings;

#endif
