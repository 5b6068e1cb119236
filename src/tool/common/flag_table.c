/* flag_table.c: the flags. A new one is a row here and a field in gops_settings. */
#include "common/flag_values.h"

enum {
    SHAPES = GOPS_IN_PLAN | GOPS_IN_BENCH | GOPS_IN_LAYER,
    ATTRIBUTES = SHAPES | GOPS_IN_RUN,
    CONVOLUTIONS = GOPS_OF_CONV | GOPS_OF_DECONV,
    OPERATIONS = CONVOLUTIONS | GOPS_OF_NORM,
    ALL = OPERATIONS | GOPS_OF_SUITE,
};

#define FIELD(name) offsetof(gops_settings, name), sizeof((gops_settings *)0)->name

const gops_flag gops_flags[] = {
    {"data", gops_read_text, GOPS_IN_RUN, OPERATIONS, OPERATIONS, FIELD(data_file), "FILE",
     "the input tensor, a .npy file"},
    {"filter", gops_read_text, GOPS_IN_RUN, CONVOLUTIONS, CONVOLUTIONS, FIELD(filter_file), "FILE",
     "the filter, a .npy file"},
    {"scale", gops_read_text, GOPS_IN_RUN, GOPS_OF_NORM, GOPS_OF_NORM, FIELD(scale_file), "FILE",
     "a factor for each channel, a .npy file"},
    {"bias", gops_read_text, GOPS_IN_RUN, GOPS_OF_NORM, GOPS_OF_NORM, FIELD(bias_file), "FILE",
     "a summand for each channel, a .npy file"},
    {"output", gops_read_text, GOPS_IN_RUN, OPERATIONS, OPERATIONS, FIELD(output_file), "FILE",
     "the .npy file to write, whole or not at all"},

    {"data", gops_read_shape, SHAPES, OPERATIONS, OPERATIONS, FIELD(data), "SHAPE",
     "the input tensor's shape, N,C,..."},
    {"filter", gops_read_shape, SHAPES, CONVOLUTIONS, CONVOLUTIONS, FIELD(filter), "SHAPE",
     "its shape: conv G,C_OUT,C_IN,...; deconv G,C_IN,C_OUT,..."},
    {"scale", gops_read_shape, SHAPES, GOPS_OF_NORM, 0, FIELD(scale), "SHAPE",
     "its shape (default C)"},
    {"bias", gops_read_shape, SHAPES, GOPS_OF_NORM, 0, FIELD(bias), "SHAPE",
     "its shape (default C)"},

    {"strides", gops_read_list, ATTRIBUTES, CONVOLUTIONS, 0, FIELD(strides), "LIST",
     "for each spatial axis (default 1)"},
    {"pads-begin", gops_read_list, ATTRIBUTES, CONVOLUTIONS, 0, FIELD(pads_begin), "LIST",
     "before each spatial axis (default 0)"},
    {"pads-end", gops_read_list, ATTRIBUTES, CONVOLUTIONS, 0, FIELD(pads_end), "LIST",
     "after each spatial axis (default 0)"},
    {"dilations", gops_read_list, ATTRIBUTES, CONVOLUTIONS, 0, FIELD(dilations), "LIST",
     "for each spatial axis (default 1)"},
    {"auto-pad", gops_read_choice, ATTRIBUTES, CONVOLUTIONS, 0, FIELD(auto_pad),
     "explicit|same_upper|same_lower|valid", "explicit counts the pads given (default)"},
    {"output-padding", gops_read_list, ATTRIBUTES, GOPS_OF_DECONV, 0, FIELD(output_padding), "LIST",
     "enlarges the output at its high end (default 0)"},
    {"output-shape", gops_read_list, ATTRIBUTES, GOPS_OF_DECONV, 0, FIELD(output_shape), "LIST",
     "the output's spatial axes; pads follow from it"},
    {"output-shape-rule", gops_read_choice, ATTRIBUTES, GOPS_OF_DECONV, 0, FIELD(output_shape_rule),
     "spec|openvino|onnx", "how pads follow from output-shape (default spec)"},
    {"num-groups", gops_read_integer, ATTRIBUTES, GOPS_OF_NORM, GOPS_OF_NORM, FIELD(num_groups),
     "NUMBER", "divides the channels"},
    {"epsilon", gops_read_real, ATTRIBUTES, GOPS_OF_NORM, GOPS_OF_NORM, FIELD(epsilon), "NUMBER",
     "added to the variance"},

    {"type", gops_read_type, ATTRIBUTES, ALL, 0, FIELD(type), "TYPE",
     "element type (run: what u1 or u2 of the files stand for; else f32)"},
    {"algorithm", gops_read_algorithm, ATTRIBUTES, ALL, 0, FIELD(algorithm), "NAME",
     "of those that info shows, or fastest, by measuring (default auto)"},
    {"threads", gops_read_threads, ATTRIBUTES | GOPS_IN_IR, ALL, 0, FIELD(threads), "NUMBER",
     "the most for one execution (default 0: as OpenMP)"},
    {"max-workspace", gops_read_bytes, ATTRIBUTES, ALL, 0, FIELD(max_workspace), "BYTES",
     "the most, or unlimited (default 0: 4 MiB a thread)"},
    {"accuracy", gops_read_choice, ATTRIBUTES, ALL, 0, FIELD(accuracy), "exact|relaxed",
     "relaxed: bf16 by instructions that flush denormals"},

    {"choices", gops_read_text, GOPS_IN_RUN | GOPS_IN_PLAN | GOPS_IN_BENCH, ALL, 0,
     FIELD(choices_file), "FILE", "what was measured before; fastest adds to it"},

    {"suite", gops_read_text, GOPS_IN_BENCH, GOPS_OF_SUITE, GOPS_OF_SUITE, FIELD(suite), "NAME",
     "the layers of a suite, by its name or the path of its file"},
    {"reps", gops_read_count, GOPS_IN_BENCH, ALL, 0, FIELD(reps), "NUMBER",
     "the fewest repetitions (default 10)"},
    {"seconds", gops_read_seconds, GOPS_IN_BENCH, ALL, 0, FIELD(seconds), "NUMBER",
     "the shortest time to go on repeating (default 0.5)"},
    {"bare-gemm", NULL, GOPS_IN_BENCH | GOPS_IN_LAYER, CONVOLUTIONS | GOPS_OF_SUITE, 0,
     FIELD(bare_gemm), "", "times the BLAS calls by themselves, too"},
    {"json", NULL, GOPS_IN_PLAN | GOPS_IN_BENCH, ALL, 0, FIELD(json), "",
     "one JSON object (bench: a line for each layer)"},
    {"output-dir", gops_read_text, GOPS_IN_IR, ALL, 0, FIELD(output_dir), "DIR",
     "where the outputs go, NAME.npy each (default .)"},
    {NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL},
};

_Static_assert(sizeof gops_flags / sizeof gops_flags[0] <= 65, "gops_settings.given has 64 bits");
