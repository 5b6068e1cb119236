/*
 * The conversions of the types' rows on every instruction set that runs here, against codes.h: all
 * codes to f32; f32 and f64 to codes at, and one step to either side of, every value and every
 * border between two values, overflow and underflow included, NaNs, and random bits; all of it also
 * with flush-to-zero and denormals-are-zero set, as hosts do.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <groupops/plan.h>

#include "codes.h"
#include "methods/norm/norm.h"
#include "elements.h"
#include "harness.h"
#include "guarded_memory.h"
#include "random_numbers.h"

static const gops_type types[] = {GOPS_F16, GOPS_BF16, GOPS_F8E4M3, GOPS_F8E5M2};
enum { TYPES = sizeof types / sizeof types[0], RANDOM = 1 << 18 };

enum { FLUSH = 0x8040 }; /* flush to zero, denormals are zero */

static unsigned set_flush(int flush)
{
    unsigned before = 0;
#if defined(__SSE__)
    before = _mm_getcsr();
    _mm_setcsr(flush ? before | FLUSH : before);
#else
    (void)flush;
#endif
    return before;
}

static void restore(unsigned before)
{
#if defined(__SSE__)
    _mm_setcsr(before);
#else
    (void)before;
#endif
}

/* Whether a set before this one in the list has the same kernels: some take them from others. */
static bool seen_before(int isa)
{
    bool runs, found = false;
    setenv("GROUPOPS_ISA", gops_isa_name(isa, NULL), 1);
    const gops_kernels *kernels = gops_kernels_select();
    for (int i = 0; i < isa && !found; i++) {
        setenv("GROUPOPS_ISA", gops_isa_name(i, &runs), 1);
        found = runs && gops_kernels_select()->types == kernels->types &&
                gops_kernels_select()->norm == kernels->norm;
    }
    return found;
}

/* Calls `check` for every row of the four types, on every instruction set that has its own, in both modes. */
static void for_every_row(void (*check)(const gops_codes *codes, const gops_type_row *row,
                                        int saturating, int flush, const char *what))
{
    bool runs;
    for (int t = 0; t < TYPES; t++) {
        gops_codes codes = gops_codes_create(types[t]);
        const int modes = gops_test_type_bytes(types[t]) == 1 ? 2 : 1;
        for (int i = 0; gops_isa_name(i, &runs) != NULL; i++) {
            if (!runs || seen_before(i))
                continue;
            for (int mode = 0; mode < modes * 2; mode++) {
                char what[96];
                const int saturating = mode / 2, flush = mode % 2;
                setenv("GROUPOPS_ISA", gops_isa_name(i, NULL), 1);
                const gops_type_row *row =
                    gops_type_row_of(gops_kernels_select(), types[t],
                                     saturating ? GOPS_TYPE_SATURATING : GOPS_TYPE_USUAL);
                snprintf(what, sizeof what, "%s%s on %s%s", gops_type_name(types[t]),
                         saturating ? " saturating" : "", gops_isa_name(i, NULL),
                         flush ? " flushing denormals" : "");
                check(&codes, row, saturating, flush, what);
            }
        }
        gops_codes_destroy(&codes);
    }
    unsetenv("GROUPOPS_ISA");
}

static uint32_t code_at(const gops_codes *codes, const void *elements, int64_t i)
{
    return codes->sign > 0x80 ? ((const uint16_t *)elements)[i] : ((const uint8_t *)elements)[i];
}

static void check_load(const gops_codes *codes, const gops_type_row *row, int saturating, int flush,
                       const char *what)
{
    (void)saturating;
    const uint32_t count = codes->sign * 2;
    const size_t bytes = gops_test_type_bytes(codes->type);
    gops_test_guarded from = gops_test_guarded_create(count * bytes);
    gops_test_guarded to = gops_test_guarded_create(count * 4);
    for (uint32_t code = 0; code < count; code++) {
        gops_test_set_integer(bytes == 1 ? GOPS_U8 : GOPS_U16, from.memory, code, code);
    }
    unsigned before = set_flush(flush);
    row->load(to.memory, from.memory, count);
    restore(before);
    for (uint32_t code = 0; code < count; code++) {
        const uint32_t got = ((const uint32_t *)to.memory)[code];
        const uint32_t expected = gops_codes_float(codes, code);
        if (got != expected) {
            gops_test_check(0, "%s: code %#x is %#x, expected %#x", what, code, got, expected);
            break;
        }
    }
    gops_test_check(1, "%s", what);
    gops_test_guarded_destroy(&from);
    gops_test_guarded_destroy(&to);
}

static void load(void)
{
    for_every_row(check_load);
}

/* A list of floats, as bits. */
typedef struct floats {
    uint32_t *bits;
    int64_t count, room;
} floats;

static void append(floats *list, uint32_t bits)
{
    if (list->count == list->room) {
        list->room = list->room * 2 + 1024;
        list->bits = realloc(list->bits, (size_t)list->room * sizeof *list->bits);
        if (list->bits == NULL) {
            abort();
        }
    }
    list->bits[list->count++] = bits;
}

/* The float and its neighbours, with both signs. */
static void append_around(floats *list, long double value)
{
    const float at = (float)value;
    const float three[] = {nextafterf(at, 0), at, nextafterf(at, INFINITY)};
    for (int i = 0; i < 3; i++) {
        uint32_t bits;
        memcpy(&bits, &three[i], sizeof bits);
        append(list, bits);
        append(list, bits | UINT32_C(0x80000000));
    }
}

static void append_random(floats *list, gops_test_random *random)
{
    for (int i = 0; i < RANDOM; i++) {
        append(list, (uint32_t)gops_test_random_bits(random));
    }
    for (int i = 0; i < 4096; i++) { /* NaNs */
        append(list, (uint32_t)gops_test_random_bits(random) | 0x7f800001);
    }
}

/* All that rounding can be put to the test with. A border lies in the middle of two values and is
 * itself a float: no format here has more than 11 significant bits. */
static floats every_border(const gops_codes *codes)
{
    floats list = {NULL, 0, 0};
    gops_test_random random = gops_test_random_start(gops_test_seed(), 71);
    for (uint32_t code = 0; code < codes->finite; code++) {
        append_around(&list, codes->value[code]);
        append_around(&list, (codes->value[code] + codes->value[code + 1]) / 2);
    }
    append_around(&list, codes->value[codes->finite]);
    for (int exponent = -149; exponent < 128; exponent++) {
        append_around(&list, ldexpl(1, exponent));
    }
    static const uint32_t special[] = {0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fa00000, 0x7fbfffff,
                                       0x7fc00000, 0x7fc00001, 0x7fffffff, 0x7f802000, 0x7f900000};
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        append(&list, special[i]);
        append(&list, special[i] | UINT32_C(0x80000000));
    }
    append_random(&list, &random);
    return list;
}

static uint32_t expected_code(const gops_codes *codes, uint32_t bits, int saturating)
{
    const uint32_t magnitude = bits & 0x7fffffff, sign = bits & UINT32_C(0x80000000);
    if (magnitude > 0x7f800000) {
        return gops_codes_round_nan(codes, sign, bits & 0x7fffff);
    }
    float value;
    memcpy(&value, &bits, sizeof value);
    return gops_codes_round(codes, (long double)value, saturating);
}

static void check_store(const gops_codes *codes, const gops_type_row *row, int saturating,
                        int flush, const char *what)
{
    floats list = every_border(codes);
    const size_t bytes = gops_test_type_bytes(codes->type);
    gops_test_guarded to = gops_test_guarded_create((size_t)list.count * bytes);
    unsigned before = set_flush(flush);
    row->store(to.memory, list.bits, list.count);
    restore(before);
    for (int64_t i = 0; i < list.count; i++) {
        const uint32_t got = code_at(codes, to.memory, i);
        const uint32_t expected = expected_code(codes, list.bits[i], saturating);
        if (got != expected) {
            gops_test_check(0, "%s: %#x becomes %#x, expected %#x", what, list.bits[i], got,
                            expected);
            break;
        }
    }
    gops_test_check(1, "%s", what);
    gops_test_guarded_destroy(&to);
    free(list.bits);
}

static void store(void)
{
    for_every_row(check_store);
}

/* What the row makes of a double: a normalization of elements 1 with mean 0, which are their own
 * scale, by this inverse of the deviation. A variance of 0 is not for floats. */
static void round_doubles(const gops_type_row *row, const void *one, void *to, double value,
                          int64_t count)
{
    uint64_t zero = 0;
    gops_test_set_real(row->type, &zero, 0, -0.0L);
    const gops_scaling scaling = {.moments = {1, 0, 0, 0},
                                  .inverse = value,
                                  .scale = one,
                                  .bias = &zero,
                                  .pixels = count,
                                  .least = -INFINITY,
                                  .most = INFINITY};
    gops_kernels_select()->norm->apply[row->index](to, one, 0, count, &scaling);
}

/* Whether -0 * 1 - 0 is -0 in one rounding; valgrind's is 0. */
static int fma_keeps_signs(void)
{
    volatile double zero = -0.0;
    return signbit(fma(zero, 1, zero));
}

enum { RUN = 37 }; /* long enough for every vector loop, and for what these leave over */

static int check_double(const gops_codes *codes, const gops_type_row *row, double value,
                        int saturating, int flush, const char *what)
{
    uint16_t one[RUN], to[RUN];
    if (value == 0 && !fma_keeps_signs()) {
        return 1;
    }
    for (int i = 0; i < RUN; i++) {
        gops_test_set_real(codes->type, one, i, 1);
    }
    const uint32_t expected = gops_codes_round(codes, (long double)value, saturating);
    unsigned before = set_flush(flush);
    round_doubles(row, one, to, value, RUN);
    restore(before);
    for (int i = 0; i < RUN; i++) {
        const uint32_t got = code_at(codes, to, i);
        if (got != expected) {
            return gops_test_check(0, "%s: %a becomes %#x, expected %#x", what, value, got,
                                   expected);
        }
    }
    return gops_test_check(1, "%s", what);
}

/* A double next to a border is nearer to it than any float: rounded to a float first, it would lie
 * on the border and could go the wrong way. */
static void check_round(const gops_codes *codes, const gops_type_row *row, int saturating,
                        int flush, const char *what)
{
    const uint32_t step = codes->finite > 4096 && flush ? 7 : 1;
    int good = 1;
    for (uint32_t code = 0; good && code < codes->finite; code += step) {
        const double border = (double)((codes->value[code] + codes->value[code + 1]) / 2);
        const double at[] = {border, nextafter(border, 0), nextafter(border, INFINITY),
                             (double)codes->value[code]};
        for (int i = 0; good && i < 8; i++) {
            good =
                check_double(codes, row, i % 2 ? -at[i / 2] : at[i / 2], saturating, flush, what);
        }
    }
    static const double far[] = {1e39,     0x1.ffffffp127, 0x1.fefffffffffffp127,
                                 1e300,    INFINITY,       1e-46,
                                 0x1p-150, 0x1.8p-150,     1e-300,
                                 0};
    for (size_t i = 0; good && i < sizeof far / sizeof far[0]; i++) {
        good = check_double(codes, row, far[i], saturating, flush, what) &&
               check_double(codes, row, -far[i], saturating, flush, what);
    }
}

static void from_double(void)
{
    for_every_row(check_round);
}

/* Runs of every length: nothing but the run is written, and it does not matter where an element
 * lies in it. */
static void check_lengths(const gops_codes *codes, const gops_type_row *row, int saturating,
                          int flush, const char *what)
{
    (void)saturating;
    (void)flush;
    enum { LONGEST = 70 };
    const size_t bytes = gops_test_type_bytes(codes->type);
    gops_test_random random = gops_test_random_start(gops_test_seed(), 72);
    for (int64_t count = 0; count <= LONGEST; count++) {
        gops_test_guarded small = gops_test_guarded_create((size_t)count * bytes);
        gops_test_guarded large = gops_test_guarded_create((size_t)count * 4);
        gops_test_guarded back = gops_test_guarded_create((size_t)count * bytes);
        gops_test_random_fill(&random, codes->type, small.memory, count);
        row->load(large.memory, small.memory, count);
        row->store(back.memory, large.memory, count);
        gops_test_check(memcmp(small.memory, back.memory, (size_t)count * bytes) == 0,
                        "%s: a run of %d does not come back", what, (int)count);
        gops_test_guarded_destroy(&small);
        gops_test_guarded_destroy(&large);
        gops_test_guarded_destroy(&back);
    }
}

static void lengths(void)
{
    for_every_row(check_lengths);
}

/* The thresholds of the OCP specification (section 5.2.1 and its tables of values), by name. */
static void ocp_facts(void)
{
    static const struct {
        gops_type type;
        float value;
        uint32_t usual, saturating;
    } facts[] = {
        {GOPS_F8E4M3, 448, 0x7e, 0x7e},
        {GOPS_F8E4M3, 464, 0x7e, 0x7e},
        {GOPS_F8E4M3, 0x1.d00002p8f, 0x7f, 0x7e},
        {GOPS_F8E4M3, 480, 0x7f, 0x7e},
        {GOPS_F8E4M3, INFINITY, 0x7f, 0x7e},
        {GOPS_F8E4M3, -INFINITY, 0xff, 0xfe},
        {GOPS_F8E4M3, 0x1p-9f, 0x01, 0x01},
        {GOPS_F8E4M3, 0x1p-10f, 0x00, 0x00},
        {GOPS_F8E4M3, 0x1p-6f, 0x08, 0x08},
        {GOPS_F8E4M3, NAN, 0x7f, 0x7f},
        {GOPS_F8E5M2, 57344, 0x7b, 0x7b},
        {GOPS_F8E5M2, 61440, 0x7c, 0x7b},
        {GOPS_F8E5M2, 0x1.dffffep15f, 0x7b, 0x7b},
        {GOPS_F8E5M2, INFINITY, 0x7c, 0x7b},
        {GOPS_F8E5M2, -INFINITY, 0xfc, 0xfb},
        {GOPS_F8E5M2, 0x1p-16f, 0x01, 0x01},
        {GOPS_F8E5M2, 0x1p-17f, 0x00, 0x00},
        {GOPS_F8E5M2, 0x1p-14f, 0x04, 0x04},
    };
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        for (int saturating = 0; saturating <= 1; saturating++) {
            uint8_t got;
            const uint32_t expected = saturating ? facts[i].saturating : facts[i].usual;
            const gops_type_row *row =
                gops_type_row_of(gops_kernels_select(), facts[i].type,
                                 saturating ? GOPS_TYPE_SATURATING : GOPS_TYPE_USUAL);
            row->store(&got, &facts[i].value, 1);
            gops_test_check(got == expected, "%s: %a becomes %#x, expected %#x",
                            gops_type_name(facts[i].type), (double)facts[i].value, got, expected);
        }
    }
}

/* Sums modulo 2^16, all of them, to the low 8 bits. */
static void sums_of_integers(void)
{
    enum { SUMS = 1 << 16 };
    static uint16_t sums[SUMS];
    static uint8_t got[SUMS];
    bool runs;
    for (int i = 0; i < SUMS; i++) {
        sums[i] = (uint16_t)((uint32_t)i * 40503);
    }
    for (int i = 0; gops_isa_name(i, &runs) != NULL; i++) {
        if (!runs) {
            continue;
        }
        setenv("GROUPOPS_ISA", gops_isa_name(i, NULL), 1);
        const gops_type_row *row =
            gops_type_row_of(gops_kernels_select(), GOPS_U8, GOPS_TYPE_USUAL);
        row->store(got, sums, SUMS);
        for (int n = 0; n < SUMS; n++) {
            gops_test_check(got[n] == sums[n] % 256, "%u becomes %u", sums[n], got[n]);
        }
    }
    unsetenv("GROUPOPS_ISA");
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"load", load},       {"store", store},         {"from_double", from_double},
        {"lengths", lengths}, {"ocp_facts", ocp_facts}, {"sums_of_integers", sums_of_integers},
        {NULL, NULL}};
    return gops_test_main("conversions", cases);
}
