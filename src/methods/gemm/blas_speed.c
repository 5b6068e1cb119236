/*
 * blas_speed.c: how fast the linked BLAS multiplies, by the name of the kernels it runs.
 *
 * A BLAS picks its kernels from a list of processors that ends when it was released. The kernels
 * that it picks for a newer processor may be several times slower than those that would run there.
 *
 * The speed is looked up by the name of the kernels; no product is timed. The name is the same in
 * every process, however busy the machine is, so a shape always has the same plan, and asking for
 * it takes no time.
 */
#include "methods/gemm/gemm.h"

#include <groupops/plan.h>

#include "base/host_default.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <strings.h>

typedef struct speed {
    const char *core;
    double f32, f64; /* GFLOP/s of one core */
} speed;

/*
 * Measured: M 256, N 384, K 576 on one core of a Zen 5 by OpenBLAS 0.3.21 and BLIS 0.9.0, each name
 * forced. The rows of SSE kernels (Prescott and those after it) have the ratio to Haswell of an
 * Intel processor, family 6, model 207, where they are slower. SapphireRapids and the rows of FMA4
 * kernels (Bulldozer to Excavator) are estimates, as neither processor runs them.
 */
static const speed speeds[] = {
    /* The first row is the BLAS that the methods' estimates were fitted with. */
    {"Haswell", 116, 56},        {"Zen", 113, 55},         {"zen2", 112, 53},
    {"zen3", 113, 54},           {"SkylakeX", 215, 90},    {"Cooperlake", 216, 90},
    {"SapphireRapids", 216, 90}, {"skx", 190, 100},        {"Sandybridge", 105, 46},
    {"Bulldozer", 55, 20},       {"Piledriver", 55, 20},   {"Steamroller", 55, 20},
    {"Excavator", 55, 20},       {"Prescott", 28, 12},     {"Core2", 28, 12},
    {"Penryn", 28, 12},          {"Dunnington", 28, 12},   {"Nehalem", 28, 12},
    {"Barcelona", 28, 12},       {"Bobcat", 28, 12},       {"Nano", 28, 12},
    {"Opteron", 28, 12},         {"Opteron_SSE3", 28, 12}, {"Athlon", 28, 12},
    {"Katmai", 28, 12},          {"Atom", 28, 6},          {"generic", 37, 10},
    {"reference", 8, 4},
};

/* Quantized plans multiply 32 bits here, 8 or 16 by other methods. Dense and 1x1 layers took 4 to 15 times as long as
 * was estimated without this by AVX2, 1.4 to 5 times by AVX-512, 5 to 30 by SSE2 (Intel Xeon, Granite Rapids class). */
static const double QUANTIZED_SLOWER = 4;

/* A name that is not listed counts as the first row. */
static const speed *look_up(const char *core)
{
    for (size_t i = 0; core != NULL && i < sizeof speeds / sizeof speeds[0]; i++) {
        if (strcasecmp(speeds[i].core, core) == 0) {
            return &speeds[i];
        }
    }
    return &speeds[0];
}

double gops_gemm_speed(const gops_plan *plan)
{
    static const speed *_Atomic found; /* every thread that looks it up finds the same row */
    const gops_compute compute = plan->type->compute;
    const bool is_f32 = compute == GOPS_COMPUTE_F32 && plan->gemm.sgemm == gops_cblas.sgemm;
    const bool is_f64 = compute == GOPS_COMPUTE_F64 && plan->gemm.dgemm == gops_cblas.dgemm;
    if (!is_f32 && !is_f64) {
        return plan->quantized ? 1 / QUANTIZED_SLOWER : 1;
    }
    const speed *at = atomic_load_explicit(&found, memory_order_relaxed);
    if (at == NULL) {
        at = look_up(gops_blas_core());
        atomic_store_explicit(&found, at, memory_order_relaxed);
    }
    return is_f32 ? at->f32 / speeds[0].f32 : at->f64 / speeds[0].f64;
}
