/*
 * isa.h: the code that is compiled once for each instruction set, behind one table.
 *
 * The build compiles each file *.isa.c, in whatever folder, once for each instruction set, with
 * GOPS_ISA defined as the name of the set. GOPS_ISA_NAME(symbol) makes the symbols differ.
 *
 * A set may only add a few instructions to another one, its base (cmake/isa.cmake). For it only the
 * files *.KIND.isa.c of the kinds that it has are compiled, and its table takes what is not in these
 * from the base: GOPS_BASE_NAME(symbol); or, what multiplies 8 bits, from sets of its own choice:
 * GOPS_VNNI_NAME(symbol), GOPS_VBMI_NAME(symbol). A set that has all of its own is its own base.
 */
#ifndef GOPS_ISA_H
#define GOPS_ISA_H

#include <stdint.h>

#define GOPS_PASTE_NAMES(symbol, isa) symbol##_##isa
#define GOPS_PASTE(symbol, isa) GOPS_PASTE_NAMES(symbol, isa)
#define GOPS_ISA_NAME(symbol) GOPS_PASTE(symbol, GOPS_ISA)
#define GOPS_BASE_NAME(symbol) GOPS_PASTE(symbol, GOPS_BASE_ISA)
#define GOPS_VNNI_NAME(symbol) GOPS_PASTE(symbol, GOPS_VNNI_ISA)
#define GOPS_VBMI_NAME(symbol) GOPS_PASTE(symbol, GOPS_VBMI_ISA)

/* One member for each folder that has such code. Only that folder knows what its member holds. */
typedef struct gops_kernels {
    const char *isa;
    int64_t vector_bytes;                            /* of the widest register */
    const struct gops_type_rows *types;              /* types/types.h */
    const struct gops_post_ops_kernels *post_ops;    /* post_ops/post_ops.h */
    const struct gops_gemm_kernels *gemm;            /* methods/gemm/gemm_kernels.h */
    const struct gops_implicit_kernels *implicit;    /* methods/implicit/tiles/implicit_tile.h */
    const struct gops_lanes_kernels *lanes;          /* methods/implicit/tiles/lanes.h */
    const struct gops_bf16_kernels *bf16;            /* likewise; NULL where there are none */
    const struct gops_direct_kernels *const *direct; /* by compute type: methods/direct/direct.h */
    const struct gops_pointwise *const *pointwise;   /* likewise: methods/pointwise/pointwise.h */
    const struct gops_winograd_kernels *const *winograd;      /* .../winograd/winograd.h */
    const struct gops_depthwise_forms *depthwise;             /* methods/depthwise/depthwise.h */
    const struct gops_depthwise_permuted *depthwise_permuted; /* .../depthwise_permuted.h */
    const struct gops_depthwise_pairs *depthwise_pairs;       /* .../depthwise_pairs.h */
    const struct gops_norm_kernels *norm;                     /* methods/norm/norm.h */
} gops_kernels;

/* The best table that this processor can run, or the one that the environment variable GROUPOPS_ISA
 * names; NULL where it names none that can run. */
const gops_kernels *gops_kernels_select(void);

/* The table that every processor can run. */
extern const gops_kernels gops_kernels_portable;

#ifdef GOPS_ISA
extern const gops_kernels GOPS_ISA_NAME(gops_kernels);
extern const struct gops_type_rows GOPS_BASE_NAME(gops_type_rows);
extern const struct gops_post_ops_kernels GOPS_BASE_NAME(gops_post_ops_kernels);
extern const struct gops_gemm_kernels GOPS_BASE_NAME(gops_gemm_kernels);
extern const struct gops_implicit_kernels GOPS_BASE_NAME(gops_implicit_kernels);
extern const struct gops_lanes_kernels GOPS_VNNI_NAME(gops_lanes_kernels);
#ifdef GOPS_HAS_BF16
extern const struct gops_bf16_kernels GOPS_ISA_NAME(gops_bf16_kernels);
#endif
extern const struct gops_direct_kernels *const GOPS_BASE_NAME(gops_direct_table)[];
extern const struct gops_pointwise *const GOPS_BASE_NAME(gops_pointwise_table)[];
extern const struct gops_winograd_kernels *const GOPS_BASE_NAME(gops_winograd_table)[];
extern const struct gops_depthwise_forms GOPS_BASE_NAME(gops_depthwise_forms);
extern const struct gops_depthwise_pairs GOPS_VNNI_NAME(gops_depthwise_pairs);
extern const struct gops_depthwise_permuted GOPS_VBMI_NAME(gops_depthwise_permuted);
extern const struct gops_norm_kernels GOPS_BASE_NAME(gops_norm_kernels);
#endif

#endif
