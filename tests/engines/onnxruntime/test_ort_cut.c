/* The choice by a minimum cut, beside all choices. */
#include "engines/onnxruntime/worth/ort_cut.h"

#include "harness.h"
#include "random_numbers.h"

enum { MAX_COUNT = 11, MAX_BORDERS = 23 };

static double value_of(const double *gains, size_t count, const gops_ort_border *borders,
                       size_t border_count, unsigned taken)
{
    double value = 0;
    for (size_t i = 0; i < count; i++) {
        value += (taken >> i & 1) != 0 ? gains[i] : 0;
    }
    for (size_t i = 0; i < border_count; i++) {
        value -=
            (taken >> borders[i].one & 1) != (taken >> borders[i].other & 1) ? borders[i].cost : 0;
    }
    return value;
}

static int bits(unsigned set)
{
    int count = 0;
    for (; set != 0; set &= set - 1) {
        count++;
    }
    return count;
}

/* Whole numbers, so that sums have no rounding and often are equal. */
static void compare(gops_test_random *random)
{
    double gains[MAX_COUNT];
    gops_ort_border borders[MAX_BORDERS];
    bool taken[MAX_COUNT];
    const size_t count = (size_t)gops_test_random_range(random, 1, MAX_COUNT);
    const size_t border_count =
        count > 1 ? (size_t)gops_test_random_range(random, 0, MAX_BORDERS) : 0;
    unsigned best = 0, got = 0;
    for (size_t i = 0; i < count; i++) {
        gains[i] = (double)gops_test_random_range(random, -9, 9);
    }
    for (size_t i = 0; i < border_count; i++) {
        const int64_t one = gops_test_random_range(random, 0, (int64_t)count - 1);
        const int64_t step = gops_test_random_range(random, 1, (int64_t)count - 1);
        borders[i] = (gops_ort_border){(size_t)one, (size_t)((one + step) % (int64_t)count),
                                       (double)gops_test_random_range(random, 0, 7)};
    }
    for (unsigned set = 1; set < 1U << count; set++) {
        const double value = value_of(gains, count, borders, border_count, set);
        const double before = value_of(gains, count, borders, border_count, best);
        if (value > before || (value == before && bits(set) < bits(best))) {
            best = set;
        }
    }
    if (gops_test_check(gops_ort_cut(gains, count, borders, border_count, taken), "no memory")) {
        for (size_t i = 0; i < count; i++) {
            got |= (unsigned)taken[i] << i;
        }
        gops_test_check(got == best, "of %zu with %zu borders 0x%x is taken, not 0x%x", count,
                        border_count, got, best);
    }
}

static void choices(void)
{
    enum { CHOICES = 2000 };
    gops_test_random random = gops_test_random_start(gops_test_seed(), 1);
    for (int i = 0; i < CHOICES; i++) {
        compare(&random);
    }
}

static void nothing(void)
{
    bool taken[1];
    gops_test_check(gops_ort_cut(NULL, 0, NULL, 0, taken), "no memory");
}

int main(void)
{
    const gops_test_case cases[] = {{"choices", choices}, {"nothing", nothing}, {NULL, NULL}};
    return gops_test_main("choices by a minimum cut", cases);
}
