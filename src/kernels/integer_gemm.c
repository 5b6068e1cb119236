/* kernels/integer_gemm.c: kernels/integer_gemm.inc.h for 32 and 64 bits. */
#include "kernels/kernels.h"

#include <string.h>

#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64 };
#elif defined(__AVX2__)
enum { VECTOR_BYTES = 32 };
#else
enum { VECTOR_BYTES = 16 };
#endif

#define C uint32_t
#define LANES (VECTOR_BYTES / 4)
#define NAME(symbol) u32_##symbol
#include "kernels/integer_gemm.inc.h"

#define C uint64_t
#define LANES (VECTOR_BYTES / 8)
#define NAME(symbol) u64_##symbol
#include "kernels/integer_gemm.inc.h"

gops_integer_gemm *const GOPS_ISA_NAME(gops_integer_gemm_table)[GOPS_COMPUTES] = {
    [GOPS_COMPUTE_U32] = u32_integer_gemm,
    [GOPS_COMPUTE_U64] = u64_integer_gemm,
};
