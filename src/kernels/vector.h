/* kernels/vector.h: how wide a vector register of the instruction set is that is compiled for. */
#ifndef GOPS_KERNELS_VECTOR_H
#define GOPS_KERNELS_VECTOR_H

#if defined(__AVX512F__)
#define GOPS_VECTOR_BYTES 64
#elif defined(__AVX__)
#define GOPS_VECTOR_BYTES 32
#else
#define GOPS_VECTOR_BYTES 16
#endif

#endif
