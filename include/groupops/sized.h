/**
 * @file
 * groupops/sized.h: the structs that begin with their own size, so that fields can be added.
 *
 * gops_options, gops_arguments, gops_quantization, gops_plan_info, gops_host and gops_gemm may get
 * further fields at their end. `size` says how large the struct was in the headers that a program
 * was built with, and one rule serves all six:
 *
 * - The size that the struct has or had in any release is taken. Fields that are behind the
 *   caller's size count as 0, which means the default; in gops_plan_info they are not written.
 * - A larger size, up to GOPS_MAX_STRUCT_BYTES, is that of headers newer than the library. What
 *   lies behind the fields that the library knows must be 0, since it can obey none of it; in
 *   gops_plan_info, which the library writes, it may be anything and becomes 0.
 * - All else is refused with GOPS_INVALID, and the message names the struct and both sizes.
 *
 * The initialisers set the size and make all other fields 0, in C and in C++:
 *
 *     gops_options options = GOPS_OPTIONS_INIT;
 *     options.threads = 4;
 *
 * The same in C in one step: gops_options options = {.size = sizeof options, .threads = 4}.
 */
#ifndef GROUPOPS_SIZED_H
#define GROUPOPS_SIZED_H

/** No struct of these will be larger. */
#define GOPS_MAX_STRUCT_BYTES 4096

/** Begins the variable of a type that has a `size`; GOPS_OPTIONS_INIT and its like name the type. */
#ifdef __cplusplus
#define GOPS_SIZED_INIT(type) gops_sized_init_<type>()
extern "C++" {
template <typename type>
inline type gops_sized_init_()
{
    type made = type();
    made.size = sizeof(type);
    return made;
}
}
#else
#define GOPS_SIZED_INIT(type)                                                                      \
    {                                                                                              \
        .size = sizeof(type)                                                                       \
    }
#endif

#endif
