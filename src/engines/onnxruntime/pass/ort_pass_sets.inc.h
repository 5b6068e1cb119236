/*
 * ort_pass_sets.inc.h: loops for every processor, as plain_..., and by AVX2 on x86-64, as avx2_....
 *
 * Parameters, which this file undefines:
 *
 *   LOOPS    a file of loops in quotes, whose parameters are TARGET, the function attribute that names an instruction
 *            set, or nothing, and NAME(symbol), which puts the set's name in front of a symbol
 *
 * None has fused multiply-add (CMakeLists.txt), so that the bits are the same. BY_SET(pass, symbol, ...) calls the
 * function `symbol`, compiled for the pass's instruction set, with the arguments that follow.
 */
#define TARGET
#define NAME(symbol) plain_##symbol
#include LOOPS
#undef TARGET
#undef NAME

#ifdef __x86_64__
#define TARGET __attribute__((target("avx2")))
#define NAME(symbol) avx2_##symbol
#include LOOPS
#undef TARGET
#undef NAME
#define BY_SET(pass, symbol, ...)                                                                  \
    ((pass)->vectors >= GOPS_ORT_AVX2 ? avx2_##symbol(__VA_ARGS__) : plain_##symbol(__VA_ARGS__))
#else
#define BY_SET(pass, symbol, ...) plain_##symbol(__VA_ARGS__)
#endif

#undef LOOPS
