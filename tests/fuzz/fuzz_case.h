/*
 * fuzz_case.h: one operation with everything that can be chosen about it, read from bytes.
 *
 * The bytes at the front make a small problem that is legal more often than not; those behind them
 * replace single numbers of it by ones that nothing holds back.
 */
#ifndef GROUPOPS_TEST_FUZZ_CASE_H
#define GROUPOPS_TEST_FUZZ_CASE_H

#include <stddef.h>

#include "fuzz.h"
#include "problem.h"
#include "random_quantized.h"

/* What the elements of the inputs are. */
typedef enum gops_fuzz_filling {
    GOPS_FUZZ_RANDOM,    /* as the random tests have them: the reference knows the result */
    GOPS_FUZZ_WHOLE,     /* small whole numbers with zeros among them: likewise */
    GOPS_FUZZ_BIT_NOISE, /* any bits, NaN and infinities among them */
    GOPS_FUZZ_FILLINGS
} gops_fuzz_filling;

/* The size of gops_options as it was first: groupops/sized.h. */
#define GOPS_FUZZ_OLD_OPTIONS offsetof(gops_options, residual_type)

typedef struct gops_fuzz_case {
    gops_problem problem; /* its pointers point into `memory` */
    gops_tensor scale, bias;
    gops_options options;
    int32_t saturate; /* not 0: the option; a bool holds no other numbers */
    char *isa;        /* "GROUPOPS_ISA=...", for putenv */
    uint64_t seed;
    gops_fuzz_filling filling;
    int order;         /* in which the host runs the slots; 0: the library's own threads */
    int own_workspace; /* given by the caller */
    int offset;        /* of each buffer, in elements */
    int with_moments;
    int update; /* the filter is packed a second time */
    /* Elements between images. */
    int data_gap, output_gap, residual_gap;
    /* The plan is first made for this data, and then reshaped; rank 0: it is not. */
    gops_tensor reshaped_from;
    int edited;      /* how many numbers were replaced */
    int sane_fusion; /* an activation whose rounding errors the reference bounds */
    gops_random_quantization memory;
} gops_fuzz_case;

void gops_fuzz_case_read(gops_fuzz_bytes *bytes, gops_fuzz_case *c);

/* fuzz_edits.c: replaces up to 8 numbers of the case by what the bytes that are left say. */
void gops_fuzz_edit(gops_fuzz_bytes *bytes, gops_fuzz_case *c);

/* Whether the descriptors and attributes are such that shape inference must accept them, from the
 * contract in groupops/attributes.h. *is_huge tells that some size does not fit 63 bits, for which
 * they must be refused all the same. The reference's geometry is filled in where it is legal. */
int gops_fuzz_case_is_legal(const gops_fuzz_case *c, gops_reference_geometry *geometry,
                            gops_tensor *output, int *is_huge);

/* Sets the options' channel strides by the gaps. `output` is NULL where the problem is to be refused: it
 * and options of the old size lose their gaps. */
void gops_fuzz_set_strides(gops_fuzz_case *c, const gops_tensor *output);

/* Whether options.size is, when zeros follow the struct where it is larger. */
int gops_fuzz_case_has_legal_size(const gops_fuzz_case *c);

/* Whether the types that the options name exist, which is checked before the tensors. */
int gops_fuzz_case_has_types(const gops_fuzz_case *c);

/* Whether the options are legal for a legal problem, whichever algorithm they ask for. */
int gops_fuzz_case_has_legal_options(const gops_fuzz_case *c);

/* Whether a legal plan packs a filter with the problem's quantization. */
int gops_fuzz_case_has_legal_quantization(const gops_fuzz_case *c);

/* The product of the dimensions, or `most` + 1 where it is more. */
int64_t gops_fuzz_elements(const gops_tensor *tensor, int64_t most);

#endif
