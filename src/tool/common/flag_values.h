/* flag_values.h: the kinds of values that a flag can have. Each function reads `value` into the
 * field, or returns false and writes to `why` what is wrong with it: the end of a message that
 * begins with "--NAME=VALUE ". */
#ifndef GOPS_COMMON_FLAG_VALUES_H
#define GOPS_COMMON_FLAG_VALUES_H

#include "common/flags.h"

gops_flag_read_fn gops_read_text;       /* const char * */
gops_flag_read_fn gops_read_shape;      /* gops_tool_dims: 1 to GOPS_MAX_RANK integers */
gops_flag_read_fn gops_read_list;       /* gops_list: 1 to GOPS_MAX_SPATIAL integers */
gops_flag_read_fn gops_read_integer;    /* int64_t */
gops_flag_read_fn gops_read_i32;        /* int32_t */
gops_flag_read_fn gops_read_reps;       /* int64_t, 1 to GOPS_TOOL_MAX_REPS */
gops_flag_read_fn gops_read_threads;    /* int32_t, at least 0 */
gops_flag_read_fn gops_read_bytes;      /* int64_t, at least 0, or "unlimited" */
gops_flag_read_fn gops_read_real;       /* double */
gops_flag_read_fn gops_read_seconds;    /* double, at least 0, finite */
gops_flag_read_fn gops_read_choice;     /* int: the place in flag->value, "a|b|c" */
gops_flag_read_fn gops_read_type;       /* int: a gops_type */
gops_flag_read_fn gops_read_difference; /* double, at least 0 */
gops_flag_read_fn gops_read_ulp;        /* int64_t, at least 0 */
gops_flag_read_fn gops_read_input;      /* int: how many "NAME=FILE" there have been */
gops_flag_read_fn gops_read_activation; /* gops_activation: "relu", "clamp:-1,1" */
gops_flag_read_fn gops_read_algorithm;  /* const char *: "auto", "fastest", or the library's name */

#endif
