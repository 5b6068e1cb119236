/* amx_works.amx.isa.c: tries the tile instructions once, on products that are known. */
#include "isa/amx_works.h"

#include "isa/amx.h"
#include "isa/isa.h"

#include <string.h>

/* The tiles, as literal numbers. */
#define SUMS 0
#define A 1
#define B 2
enum { ROWS = GOPS_AMX_ROWS, VALUES = GOPS_AMX_BYTES / 4 };

/* Products of whole numbers, exact for all types: a is [ROWS][K], b is [K][VALUES]. */
enum { MAX_K = GOPS_AMX_BYTES };
typedef struct factors {
    int32_t a[ROWS][MAX_K], b[MAX_K][VALUES];
} factors;

typedef enum product { QUADS, SIGNED_QUADS, PAIRS } product;

/* Numbers without a pattern, `count` of them from the lows on; it is prime. */
static void fill(factors *f, int32_t low_a, int32_t low_b, int32_t count)
{
    for (int32_t k = 0; k < MAX_K; k++) {
        for (int32_t i = 0; i < ROWS; i++) {
            f->a[i][k] = low_a + (k * k * 5 + i * 29 + i * k * 3) % count;
            f->b[k][i] = low_b + (i * i * 31 + k * 7 + i * k) % count;
        }
    }
}

/* Begins with sums of 1, multiplies, and compares; the tiles' rows are the factors, packed. */
static bool is_right(const factors *f, int k, product of, const void *a, const void *b)
{
    static const gops_amx_config config = GOPS_AMX_FULL;
    int32_t sums[ROWS][VALUES];
    float reals[ROWS][VALUES];
    gops_amx_tiles amx;
    for (int i = 0; i < ROWS * VALUES; i++) {
        sums[i / VALUES][i % VALUES] = 1;
        reals[i / VALUES][i % VALUES] = 1;
    }
    gops_amx_begin(&amx, &config);
    gops_amx_load(&amx, A, a, GOPS_AMX_BYTES);
    gops_amx_load(&amx, B, b, GOPS_AMX_BYTES);
    if (of == PAIRS) {
        gops_amx_load(&amx, SUMS, reals, GOPS_AMX_BYTES);
        gops_amx_pairs(&amx, SUMS, A, B);
        gops_amx_store(&amx, SUMS, reals, GOPS_AMX_BYTES);
    } else {
        gops_amx_load(&amx, SUMS, sums, GOPS_AMX_BYTES);
        if (of == SIGNED_QUADS) {
            gops_amx_signed_quads(&amx, SUMS, A, B);
        } else {
            gops_amx_quads(&amx, SUMS, A, B);
        }
        gops_amx_store(&amx, SUMS, sums, GOPS_AMX_BYTES);
    }
    gops_amx_end(&amx);
    for (int i = 0; i < ROWS * VALUES; i++) {
        const int row = i / VALUES, column = i % VALUES;
        int32_t expected = 1;
        for (int at = 0; at < k; at++) {
            expected += f->a[row][at] * f->b[at][column];
        }
        if (of == PAIRS ? reals[row][column] != (float)expected : sums[row][column] != expected) {
            return false;
        }
    }
    return true;
}

static bool quads_work(product of)
{
    enum { COUNT = 251 };
    factors f;
    uint8_t a[ROWS][MAX_K], b[MAX_K / 4][VALUES][4];
    fill(&f, of == SIGNED_QUADS ? INT8_MIN : 0, of == SIGNED_QUADS ? 0 : INT8_MIN, COUNT);
    for (int k = 0; k < MAX_K; k++) {
        for (int i = 0; i < ROWS; i++) {
            a[i][k] = (uint8_t)f.a[i][k];
            b[k / 4][i][k % 4] = (uint8_t)f.b[k][i];
        }
    }
    return is_right(&f, MAX_K, of, a, b);
}

static uint16_t to_bf16(int32_t number)
{
    const float real = (float)number;
    uint32_t bits;
    memcpy(&bits, &real, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static bool pairs_work(void)
{
    enum { LOW = -50, COUNT = 101, K = MAX_K / 2 };
    factors f;
    uint16_t a[ROWS][K], b[K / 2][VALUES][2];
    fill(&f, 0, LOW, COUNT);
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < ROWS; i++) {
            a[i][k] = to_bf16(f.a[i][k]);
            b[k / 2][i][k % 2] = to_bf16(f.b[k][i]);
        }
    }
    return is_right(&f, K, PAIRS, a, b);
}

bool GOPS_ISA_NAME(gops_amx_works)(void)
{
    return quads_work(QUADS) && quads_work(SIGNED_QUADS) && pairs_work();
}
