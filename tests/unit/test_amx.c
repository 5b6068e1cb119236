/*
 * The plain C that stands in for AMX and AVX512-BF16 where a processor has neither: against products
 * made by plain loops, and against what Intel's manual says of order, rounding and denormals.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "harness.h"
#include "random_numbers.h"

#include "isa/amx_emulated.h"
#include "isa/amx_works.h"

enum { SUMS, A, B, ROWS = GOPS_AMX_ROWS, BYTES = GOPS_AMX_BYTES, VALUES = BYTES / 4, ROUNDS = 200 };

/* Memory that a tile is loaded from and stored to: rows lie further apart than they are long. */
typedef struct matrix {
    uint8_t row[ROWS][BYTES + 24];
} matrix;

/* One product: its sizes and what went in. */
typedef struct product {
    int m, n, k;
    matrix a, b, sums;
} product;

static uint32_t value_of(const matrix *from, int row, int at)
{
    uint32_t value;
    memcpy(&value, from->row[row] + at * 4, sizeof value);
    return value;
}

static float float_of(const matrix *from, int row, int at)
{
    const uint32_t bits = value_of(from, row, at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void set_float(matrix *to, int row, int at, float value)
{
    memcpy(to->row[row] + at * 4, &value, sizeof value);
}

/* The upper half of a float that has no other bits. */
static uint32_t bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    gops_test_check((bits & 0xffff) == 0, "%a is no bf16", (double)value);
    return bits >> 16;
}

static void set_pair(matrix *to, int row, int at, float lower, float upper)
{
    const uint32_t bits = bf16(upper) << 16 | bf16(lower);
    memcpy(to->row[row] + at * 4, &bits, sizeof bits);
}

static product start(gops_test_random *random, int m, int n, int k)
{
    static const uint8_t extremes[] = {0, 1, 127, 128, 129, 255};
    product p = {m, n, k, {{{0}}}, {{{0}}}, {{{0}}}};
    matrix *all[] = {&p.sums, &p.a, &p.b};
    for (int i = 0; i < 3; i++)
        for (int row = 0; row < ROWS; row++)
            for (size_t at = 0; at < sizeof all[i]->row[row]; at++)
                all[i]->row[row][at] = gops_test_random_chance(random, 30)
                                           ? extremes[gops_test_random_range(random, 0, 5)]
                                           : (uint8_t)gops_test_random_bits(random);
    return p;
}

/* Loads, multiplies, stores over the sums. */
static void run(product *p, void (*multiply)(gops_amx_emulated *, int, int, int))
{
    gops_amx_config config = {.palette = GOPS_AMX_PALETTE};
    gops_amx_emulated amx;
    const struct {
        matrix *at;
        int rows, values;
    } tiles[] = {{&p->sums, p->m, p->n}, {&p->a, p->m, p->k}, {&p->b, p->k, p->n}};
    for (int i = 0; i < 3; i++) {
        config.rows[i] = (uint8_t)tiles[i].rows;
        config.bytes[i] = (uint16_t)(tiles[i].values * 4);
    }
    gops_amx_emulated_begin(&amx, &config);
    for (int i = 0; i < 3; i++)
        gops_amx_emulated_load(&amx, i, tiles[i].at->row, sizeof tiles[i].at->row[0]);
    multiply(&amx, SUMS, A, B);
    gops_amx_emulated_store(&amx, SUMS, p->sums.row, sizeof p->sums.row[0]);
    gops_amx_emulated_end(&amx);
}

/* All sizes that a configuration can have; what lies beside the tile stays as it was. */
static void quads(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 1);
    for (int round = 0; round < ROUNDS; round++) {
        const int m = (int)gops_test_random_range(&random, 1, ROWS);
        const int n = (int)gops_test_random_range(&random, 1, VALUES);
        const int k = round == 0 ? VALUES : (int)gops_test_random_range(&random, 1, VALUES);
        product p = start(&random, m, n, k);
        const product before = p;
        run(&p, gops_amx_emulated_quads);
        int wrong = 0;
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                int64_t sum = value_of(&before.sums, i, j);
                for (int at = 0; at < k * 4; at++) {
                    const int left = before.a.row[i][at],
                              right = before.b.row[at / 4][j * 4 + at % 4];
                    sum += left * (right < 128 ? right : right - 256);
                }
                wrong += value_of(&p.sums, i, j) != (uint32_t)sum;
                set_float(&p.sums, i, j, float_of(&before.sums, i, j));
            }
        gops_test_check(wrong == 0, "%d of %d x %d sums of K %d are wrong", wrong, m, n, k);
        gops_test_check(memcmp(&p.sums, &before.sums, sizeof p.sums) == 0,
                        "%d x %d: something else was written", m, n);
    }
}

/* Sums of whole numbers are exact in any order. */
static void pairs(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 2);
    for (int round = 0; round < ROUNDS; round++) {
        const int m = (int)gops_test_random_range(&random, 1, ROWS);
        const int n = (int)gops_test_random_range(&random, 1, VALUES);
        const int k = (int)gops_test_random_range(&random, 1, VALUES);
        int left[ROWS][2 * VALUES], right[2 * VALUES][VALUES];
        product p = start(&random, m, n, k);
        for (int i = 0; i < m; i++)
            for (int at = 0; at < 2 * k; at += 2) {
                left[i][at] = (int)gops_test_random_range(&random, -255, 255);
                left[i][at + 1] = (int)gops_test_random_range(&random, -255, 255);
                set_pair(&p.a, i, at / 2, (float)left[i][at], (float)left[i][at + 1]);
            }
        for (int at = 0; at < 2 * k; at += 2)
            for (int j = 0; j < n; j++) {
                right[at][j] = (int)gops_test_random_range(&random, -255, 255);
                right[at + 1][j] = (int)gops_test_random_range(&random, -255, 255);
                set_pair(&p.b, at / 2, j, (float)right[at][j], (float)right[at + 1][j]);
            }
        int expected[ROWS][VALUES], wrong = 0;
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                expected[i][j] = (int)gops_test_random_range(&random, -100000, 100000);
                set_float(&p.sums, i, j, (float)expected[i][j]);
                for (int at = 0; at < 2 * k; at++)
                    expected[i][j] += left[i][at] * right[at][j];
            }
        run(&p, gops_amx_emulated_pairs);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++)
                wrong += float_of(&p.sums, i, j) != (float)expected[i][j];
        gops_test_check(wrong == 0, "%d of %d x %d sums of K %d are wrong", wrong, m, n, k);
    }
}

/* One sum of K pairs: what comes out when it begins with `sum`. */
static float sum_of(float sum, int k, const float (*a)[2], const float (*b)[2])
{
    product p = {1, 1, k, {{{0}}}, {{{0}}}, {{{0}}}};
    for (int i = 0; i < k; i++) {
        set_pair(&p.a, 0, i, a[i][0], a[i][1]);
        set_pair(&p.b, i, 0, b[i][0], b[i][1]);
    }
    set_float(&p.sums, 0, 0, sum);
    run(&p, gops_amx_emulated_pairs);
    return float_of(&p.sums, 0, 0);
}

static void expect(const char *what, float got, float expected)
{
    gops_test_check(got == expected && !signbit(got) == !signbit(expected), "%s: %a instead of %a",
                    what, (double)got, (double)expected);
}

/* Beside 2^24 a single 1 is lost, and a 2 is not. */
static void order_of_tiles(void)
{
    static const float one[][2] = {{1, 1}, {1, 0}}, lower[][2] = {{1, 0}, {1, 0}};
    static const float large[][2] = {{4096, 1}, {0, 0}}, by[][2] = {{4096, 1}, {0, 0}};
    expect("a lower and an upper product", sum_of(0x1p24f, 1, one, one), 0x1p24f + 2);
    expect("two lower ones", sum_of(0x1p24f, 2, lower, lower), 0x1p24f + 2);
    expect("lower and upper before the sum", sum_of(-0x1p24f, 1, large, by), 0);
}

static void denormals_of_tiles(void)
{
    static const float tiny[][2] = {{0x1p-127f, 0}}, big[][2] = {{0x1p100f, 0}};
    static const float small[][2] = {{0x1p-64f, 0}}, minus[][2] = {{-0x1p-64f, 0}};
    static const float least[][2] = {{0x1p-63f, 0}};
    expect("a denormal factor", sum_of(1, 1, tiny, big), 1);
    expect("a denormal sum", sum_of(0x1p-127f, 1, big, tiny), 0);
    expect("a denormal product", sum_of(0, 1, small, small), 0);
    expect("the least product", sum_of(0, 1, least, least), 0x1p-126f);
    expect("a negative one that cancels to a denormal",
           sum_of(0x1.8p-126f, 1, minus, (const float[][2]){{0x1p-62f, 0}}), 0);
}

static float pair(float sum, float a0, float a1, float b0, float b1)
{
    return gops_bf16_add_pair(sum, bf16(a1) << 16 | bf16(a0), bf16(b1) << 16 | bf16(b0));
}

/* VDPBF16PS adds the upper product first, each with one rounding, to even. */
static void lanes(void)
{
    expect("upper first", pair(-0x1p24f, 0.5f, 4096, 1, 4096), 0.5f);
    expect("lower last", pair(-0x1p24f, 4096, 0.5f, 4096, 1), 0);
    expect("a tie to even, below", pair(0x1p24f, 1, 0, 1, 0), 0x1p24f);
    expect("a tie to even, above", pair(0x1p24f + 2, 1, 0, 1, 0), 0x1p24f + 4);
    expect("one rounding", pair(1, 0x1.02p-12f, 0, 0x1.02p-12f, 0), 1 + 0x1p-23f);
    expect("a denormal factor", pair(1, 0x1p-127f, 0, 0x1p120f, 0), 1);
    expect("a denormal sum", pair(0x1p-130f, 0, 0, 0, 0), 0);
    expect("a denormal result", pair(0, 0x1p-100f, 0, 0x1p-100f, 0), 0);
    expect("a negative one", pair(0, 0, -0x1p-100f, 0, 0x1p-100f), 0);
    expect("infinity", pair(0, INFINITY, 0, 2, 0), INFINITY);
    gops_test_check(isnan(pair(0, INFINITY, 0, 0, 0)) && isnan(pair(0, 0, NAN, 0, 0)) &&
                        isnan(pair(0, INFINITY, 0, 0x1p-127f, 0)),
                    "no NaN");
}

/* What AMX is tried with before it is chosen. */
static void known_products(void)
{
    gops_test_check(gops_amx_works_amx_emulated(), "they are not as expected");
}

int main(void)
{
    static const gops_test_case cases[] = {{"quads", quads},
                                           {"pairs", pairs},
                                           {"order_of_tiles", order_of_tiles},
                                           {"denormals_of_tiles", denormals_of_tiles},
                                           {"lanes", lanes},
                                           {"known_products", known_products},
                                           {NULL, NULL}};
    return gops_test_main("tiles and pairs in plain C", cases);
}
