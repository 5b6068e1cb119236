/*
 * base/float_state.h: the caller's floating point modes, carried to the threads that work for it.
 *
 * Every thread has its own modes for flushing denormals to zero, for reading them as zero and for
 * rounding. The result must not depend on which thread executes an item, so a worker takes over the
 * caller's modes during an execution and restores its own afterwards. Which exceptions trap is not
 * taken over.
 */
#ifndef GOPS_BASE_FLOAT_STATE_H
#define GOPS_BASE_FLOAT_STATE_H

#include <stdint.h>

typedef uint64_t gops_float_state;

#if defined(__SSE2__)

/* MXCSR: flush to zero, denormals are zero, rounding control (Intel SDM, volume 1, 10.2.3). */
#define GOPS_FLOAT_MODES ((gops_float_state)(0x8000 | 0x0040 | 0x6000))

static inline gops_float_state gops_float_read(void)
{
    return __builtin_ia32_stmxcsr();
}

static inline void gops_float_write(gops_float_state state)
{
    __builtin_ia32_ldmxcsr((unsigned)state);
}

#elif defined(__aarch64__)

/* FPCR: FZ, FZ16, DN and RMode (Arm ARM, C5.2.8). */
#define GOPS_FLOAT_MODES                                                                           \
    ((gops_float_state)1 << 24 | (gops_float_state)1 << 19 | (gops_float_state)1 << 25 |           \
     (gops_float_state)3 << 22)

static inline gops_float_state gops_float_read(void)
{
    gops_float_state state;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state));
    return state;
}

static inline void gops_float_write(gops_float_state state)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(state) : "memory");
}

#else /* a processor whose modes we do not know */

#define GOPS_FLOAT_MODES ((gops_float_state)0)

static inline gops_float_state gops_float_read(void)
{
    return 0;
}

static inline void gops_float_write(gops_float_state state)
{
    (void)state;
}

#endif

/* Takes over the modes in `wanted`; returns the state for gops_float_leave. */
static inline gops_float_state gops_float_enter(gops_float_state wanted)
{
    const gops_float_state own = gops_float_read();
    if (((own ^ wanted) & GOPS_FLOAT_MODES) != 0) {
        gops_float_write((own & ~GOPS_FLOAT_MODES) | (wanted & GOPS_FLOAT_MODES));
    }
    return own;
}

static inline void gops_float_leave(gops_float_state own, gops_float_state wanted)
{
    if (((own ^ wanted) & GOPS_FLOAT_MODES) != 0) {
        gops_float_write(own);
    }
}

#endif
