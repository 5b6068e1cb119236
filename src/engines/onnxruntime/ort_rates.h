/* ort_rates.h: how fast the runtime's own provider is on the processor, beside ours. */
#ifndef GROUPOPS_ENGINES_ORT_RATES_H
#define GROUPOPS_ENGINES_ORT_RATES_H

#include <stdbool.h>
#include <stdint.h>

/* Dense layers: a network's first, others of few channels, kernels of 1, and all else by the pixels of a
 * row. */
typedef enum gops_ort_dense {
    GOPS_ORT_FIRST,
    GOPS_ORT_THIN,
    GOPS_ORT_FEW,
    GOPS_ORT_POINT,
    GOPS_ORT_STRIDED,
    GOPS_ORT_ROWS_56,
    GOPS_ORT_ROWS_28,
    GOPS_ORT_ROWS_13,
    GOPS_ORT_ROWS_0,
    GOPS_ORT_DENSE_KINDS,
} gops_ort_dense;

/* How the runtime compares. */
typedef struct gops_ort_rates {
    double flops_a_ns;                     /* of its dense layers; 0: they take as long as ours */
    double gains[GOPS_ORT_DENSE_KINDS];    /* what ours take less, of its time */
    double winograd[GOPS_ORT_DENSE_KINDS]; /* Winograd's */
    double transposed_ns;                  /* what a dense transposed layer takes less for a flop */
    double depthwise_ns;                   /* and a depthwise one for an output */
    double matrix_ns;       /* and a kernel of 1 for a flop of the runtime's product by a matrix */
    double exp_ns, hard_ns; /* what an activation by exp, or a hard swish, takes more */
    double maximum_ns;      /* and a maximum for an output */
    int64_t block;          /* channels that its layout keeps side by side */
    bool has_slow_block;    /* groups of one block gain */
} gops_ort_rates;

/* Those of this processor. What is no x86-64 counts as an AMD EPYC with AVX-512. */
const gops_ort_rates *gops_ort_rates_here(void);

#endif
