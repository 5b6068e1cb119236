/*
 * isa.h: the code that is compiled once for each instruction set, behind one table.
 *
 * The build compiles *.isa.c, wherever they lie, several times, each time with GOPS_ISA defined as
 * the set's name; GOPS_ISA_NAME(x) makes the symbols differ.
 */
#ifndef GOPS_ISA_H
#define GOPS_ISA_H

#include "methods/depthwise/depthwise.h"
#include "methods/gemm/integer_gemm.h"
#include "methods/pointwise/pointwise.h"
#include "methods/direct/direct.h"
#include "methods/implicit/implicit_tile.h"
#include "methods/gemm/scatter.h"
#include "types/types.h"

#define GOPS_PASTE_NAMES(symbol, isa) symbol##_##isa
#define GOPS_PASTE(symbol, isa) GOPS_PASTE_NAMES(symbol, isa)
#define GOPS_ISA_NAME(symbol) GOPS_PASTE(symbol, GOPS_ISA)

typedef struct gops_kernels {
    const char *isa;
    int64_t vector_bytes; /* of the widest register */
    /* The row of a type, or NULL where it is not offered. */
    const gops_type_row *(*type_row)(gops_type type, gops_type_variant variant);
    /* By compute type: adds a block of columns onto the output. col2im.inc.h */
    gops_col2im_fn *const *col2im;
    /* By compute type: implicit_tile.h */
    const gops_tiles *const *tiles;
    /* By compute type, NULL for integers: direct.h */
    const gops_direct_kernels *const *strips;
    /* By compute type, NULL for integers: pointwise.h */
    const gops_pointwise *const *pointwise;
    /* By compute type, GOPS_COMPUTE_U32 and U64: the matrix product. integer_gemm.inc.h */
    gops_integer_gemm_fn *const *integer_gemm;
    /* By compute type, F32 and F64, whose values are integers: turns them into the unsigned type of
     * the same size where they lie, or adds them to `sums` as such unless that is NULL. */
    gops_wrap_fn *const *wrap;
    /* By compute type: rows of depthwise convolutions. depthwise_rows.inc.h */
    const gops_depthwise_kernels *direct;
    /* By compute type: the same on the image itself; NULL where it is not offered.
     * depthwise_masked.inc.h */
    gops_depthwise_image_fn *const *masked;
    /* By compute type: the same by moving lanes. depthwise_shuffle.isa.c */
    const gops_depthwise_shuffle_kernels *lanes;
} gops_kernels;

/* The best table that runs here, or the one that GROUPOPS_ISA names; NULL where that is none. */
const gops_kernels *gops_kernels_select(void);

#ifdef GOPS_ISA
extern const gops_kernels GOPS_ISA_NAME(gops_kernels);
const gops_type_row *GOPS_ISA_NAME(gops_type_rows)(gops_type type, gops_type_variant variant);
extern gops_col2im_fn *const GOPS_ISA_NAME(gops_col2im_table)[GOPS_COMPUTES];
extern const gops_tiles *const GOPS_ISA_NAME(gops_tile_table)[GOPS_COMPUTES];
extern const gops_direct_kernels *const GOPS_ISA_NAME(gops_direct_table)[GOPS_COMPUTES];
extern const gops_pointwise *const GOPS_ISA_NAME(gops_pointwise_table)[GOPS_COMPUTES];
extern gops_integer_gemm_fn *const GOPS_ISA_NAME(gops_integer_gemm_table)[GOPS_COMPUTES];
extern gops_wrap_fn *const GOPS_ISA_NAME(gops_wrap_table)[GOPS_COMPUTES];
extern const gops_depthwise_kernels GOPS_ISA_NAME(gops_depthwise_table)[GOPS_COMPUTES];
extern gops_depthwise_image_fn *const GOPS_ISA_NAME(gops_depthwise_masked_table)[GOPS_COMPUTES];
extern const gops_depthwise_shuffle_kernels
    GOPS_ISA_NAME(gops_depthwise_shuffle_table)[GOPS_COMPUTES];
#endif

#endif
