/* ort_rates.h: how fast the runtime's own provider is on the processor, beside ours. */
#ifndef GROUPOPS_ENGINES_ORT_RATES_H
#define GROUPOPS_ENGINES_ORT_RATES_H

#include <stdint.h>

/* Dense layers: a network's first, others of few channels, kernels of 1 with few channels, with strides, with many
 * channels on small planes, and by the pixels of a row, and all else by these. */
typedef enum gops_ort_dense {
    GOPS_ORT_FIRST,
    GOPS_ORT_THIN,
    GOPS_ORT_FEW,
    GOPS_ORT_STRIDED,
    GOPS_ORT_DEEP,
    GOPS_ORT_POINT_56,
    GOPS_ORT_POINT_28,
    GOPS_ORT_POINT_13,
    GOPS_ORT_POINT_0,
    GOPS_ORT_ROWS_56,
    GOPS_ORT_ROWS_28,
    GOPS_ORT_ROWS_13,
    GOPS_ORT_ROWS_0,
    GOPS_ORT_DENSE_KINDS,
} gops_ort_dense;

/* How the runtime compares. */
typedef struct gops_ort_rates {
    double flops_a_ns;                     /* of its dense layers */
    double gains[GOPS_ORT_DENSE_KINDS];    /* what ours take less, of its time */
    double winograd[GOPS_ORT_DENSE_KINDS]; /* Winograd's */
    double transposed_ns;                  /* what a dense transposed layer takes less for a flop */
    double depthwise_ns;                   /* and a depthwise one for an output */
    double large_depthwise_ns;             /* of seven taps and more an axis */
    double odd_depthwise_ns;               /* of channels that do not fill blocks */
    double matrix_ns;       /* and a kernel of 1 for a flop of the runtime's product by a matrix */
    double lowered_ns;      /* and groups which its layout does not have, for a flop */
    double blocks_ns[3];    /* and groups of one, two or more blocks of channels */
    double gate_ns;         /* and the product with a gate, for an element */
    double norm_ns;         /* and a normalization */
    double average_ns;      /* and an average over windows, for an output */
    double exp_ns, hard_ns; /* what an activation by exp, or a hard swish, takes more */
    double clip_ns;         /* and a Clip less, a pass of the runtime's, for an output */
    double maximum_ns;      /* and a maximum more */
    double step_ns;         /* what a node of the runtime costs by itself */
    double call_ns;         /* what a value costs that enters or leaves a call */
    int64_t block;          /* channels that its layout keeps side by side */
    /* What counts of a node's gain where regions are taken in part; 0: they are whole or not. An estimate that
     * stands out in its region is too high more often than too low. */
    double part;
} gops_ort_rates;

/* Those of this processor. What is no x86-64 counts as an AMD EPYC with AVX-512. */
const gops_ort_rates *gops_ort_rates_here(void);

/* What was measured on one processor and is taken for all of them, in ns for an element of a tensor. */
typedef struct gops_ort_common_rates {
    double reorder_ns;             /* what the runtime takes between its layout and ONNX's */
    double concat_ns;              /* and for a Concat, which copies */
    double affine_ns;              /* what it takes more than we do for a batch normalization */
    double channel_norm_ns;        /* and for a normalization over channels in parts */
    double layer_norm_ns;          /* and for one that is a node */
    double matrix_pass_ns;         /* and behind a product by a matrix */
    double interpolate_ns;         /* what we take more than it in its layout, for an output */
    double interpolate_plainly_ns; /* and it in ONNX's layout more than in its own */
    double gemm_ns; /* what our `gemm` of 8 bits takes more than it with VNNI, for an operation */
} gops_ort_common_rates;

extern const gops_ort_common_rates gops_ort_rates_everywhere;

/* How the runtime's products of u8 by i8 compare, which it adds up in pairs of 16 bits that saturate. What
 * ours take less, in ns: for an operation, or for an output of a depthwise layer. */
typedef struct gops_ort_8_bit_rates {
    double dense_ns[GOPS_ORT_DENSE_KINDS];
    double strided_ns;    /* of larger kernels than 1 */
    double grouped_ns[4]; /* of up to 7, 15, 31 and more channels */
    double transposed_ns; /* with the conversions to floats and back */
    double depthwise_ns;
    double reorder_ns; /* for a value between its layout, channels last, and another */
} gops_ort_8_bit_rates;

/* NULL where ours are faster: the processor has products of four, or both add up pairs of 16 bits. */
const gops_ort_8_bit_rates *gops_ort_8_bit_rates_here(void);

#endif
