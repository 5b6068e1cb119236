/* test_demo_wavelet.c: the demo's filter bank: is it one, does the library compute it, does it lead
 * back, and is the ratio that says so right? */
#include "demo/demo_psnr.h"
#include "demo/demo_zone_plate.h"
#include "harness.h"
#include "guarded_memory.h"
#include "random_numbers.h"
#include "tool_process.h"
#include "demo/wavelet.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAPS = GOPS_WAVELET_TAPS,
    BANDS = GOPS_WAVELET_BANDS,
    BEFORE = TAPS - 2, /* pixels that the first window reaches back */
};

#define UNIT (FLT_EPSILON / 2) /* unit roundoff of f32 */

/* Sums of six products of numbers below 1, each off by a few units of the last place. */
#define TAPS_BOUND (16 * DBL_EPSILON)

static void check_near(double got, double expected, double bound, const char *what, int index)
{
    gops_test_check(fabs(got - expected) <= bound, "%s %d: %.17g instead of %.17g", what, index,
                    got, expected);
}

static void low_pass(void)
{
    double taps[TAPS];
    double sum = 0;
    gops_wavelet_low_pass(taps);
    for (int t = 0; t < TAPS; t++)
        sum += taps[t];
    check_near(sum, sqrt(2), TAPS_BOUND, "sum of the taps", 0);
    for (int shift = 0; shift < TAPS; shift += 2) {
        double product = 0;
        for (int t = 0; t + shift < TAPS; t++)
            product += taps[t] * taps[t + shift];
        check_near(product, shift == 0 ? 1 : 0, TAPS_BOUND, "product of taps at distance", shift);
    }
    for (int power = 0; power < 3; power++) {
        double moment = 0;
        for (int t = 0; t < TAPS; t++)
            moment += (t % 2 == 0 ? 1 : -1) * pow(t, power) * taps[t];
        check_near(moment, 0, pow(TAPS, power) * TAPS_BOUND, "moment", power);
    }
}

static double value_or_zero(const float *filter, int y, int x)
{
    return y >= 0 && y < TAPS && x >= 0 && x < TAPS ? filter[y * TAPS + x] : 0;
}

/* Every two filters, one moved by any even distance, are orthogonal, and each has length 1. By
 * rounding two filters of length 1 to f32 their product moves by no more than two units. */
static void bank(void)
{
    enum { COLOURS = 3, SIZE = TAPS * TAPS };
    float filter[COLOURS * BANDS * SIZE];
    gops_wavelet_filter(COLOURS, filter);
    for (int pair = 0; pair < BANDS * BANDS; pair++) {
        const float *a = filter + pair / BANDS * SIZE;
        const float *b = filter + pair % BANDS * SIZE;
        for (int dy = -TAPS; dy <= TAPS; dy += 2) {
            for (int dx = -TAPS; dx <= TAPS; dx += 2) {
                double product = 0;
                for (int i = 0; i < SIZE; i++)
                    product += a[i] * value_or_zero(b, i / TAPS + dy, i % TAPS + dx);
                check_near(product, dy == 0 && dx == 0 && a == b, 2.1 * UNIT, "filters", pair);
            }
        }
    }
    for (int colour = 1; colour < COLOURS; colour++)
        gops_test_check(
            memcmp(filter + colour * BANDS * SIZE, filter, BANDS * SIZE * sizeof *filter) == 0,
            "colour %d has another filter", colour);
}

static int64_t mirrored(int64_t index, int64_t size)
{
    while (index < 0 || index >= size)
        index = index < 0 ? -1 - index : 2 * size - 1 - index;
    return index;
}

/* Subband value (y, x) by its definition, and the bound of the error with which any order of 36
 * rounded products and sums gives it. */
static double band_value(const gops_planes *picture, int64_t channel, int64_t y, int64_t x,
                         double *bound)
{
    static float filter[BANDS * TAPS * TAPS];
    double sum = 0, absolute = 0;
    gops_wavelet_filter(1, filter);
    for (int i = 0; i < TAPS * TAPS; i++) {
        const int64_t row = mirrored(2 * y + i / TAPS - BEFORE, picture->height);
        const int64_t column = mirrored(2 * x + i % TAPS - BEFORE, picture->width);
        const float *plane = gops_planes_channel(picture, channel / BANDS);
        const double product = (double)filter[channel % BANDS * TAPS * TAPS + i] *
                               plane[row * picture->width + column];
        sum += product;
        absolute += fabs(product);
    }
    *bound = 1.01 * TAPS * TAPS * UNIT * absolute;
    return sum;
}

static void check_bands(const gops_planes *picture, const gops_planes *bands)
{
    for (int64_t channel = 0; channel < bands->channels; channel++) {
        for (int64_t y = 0; y < bands->height; y++) {
            for (int64_t x = 0; x < bands->width; x++) {
                double bound;
                const double expected = band_value(picture, channel, y, x, &bound);
                const double got = gops_planes_channel(bands, channel)[y * bands->width + x];
                if (!(fabs(got - expected) <= bound)) {
                    gops_test_check(0, "subband %lld (%lld, %lld): %.9g instead of %.9g",
                                    (long long)channel, (long long)y, (long long)x, got, expected);
                    return;
                }
            }
        }
    }
    gops_test_check(1, "every subband value is right");
}

static void check_size(int64_t channels, int64_t height, int64_t width, gops_test_random *random)
{
    gops_planes picture, bands, joined;
    gops_demo_step step;
    gops_error error;
    if (gops_planes_create(channels, height, width, &picture, &error) != GOPS_OK)
        gops_test_skip("%s", error.message);
    for (int64_t i = 0; i < channels * height * width; i++)
        picture.values[i] = (float)(0.5 + 0.5 * gops_test_random_real(random));
    if (gops_test_check(gops_wavelet_split(&picture, 0, &bands, &step, &error) == GOPS_OK, "%s",
                        error.message)) {
        gops_test_check(bands.channels == BANDS * channels &&
                            bands.height == (height + 1) / 2 + 2 &&
                            bands.width == (width + 1) / 2 + 2,
                        "the subbands of %lldx%lld are %lldx%lld", (long long)height,
                        (long long)width, (long long)bands.height, (long long)bands.width);
        check_bands(&picture, &bands);
        if (gops_test_check(gops_wavelet_join(&bands, height, width, 0, &joined, &step, &error) ==
                                GOPS_OK,
                            "%s", error.message)) {
            const gops_demo_difference difference = gops_demo_compare(&picture, &joined);
            gops_test_check(
                joined.height == height && joined.width == width && difference.psnr > 120,
                "%lldx%lld: PSNR %g dB", (long long)height, (long long)width, difference.psnr);
            gops_planes_release(&joined);
        }
        gops_planes_release(&bands);
    }
    gops_planes_release(&picture);
}

static void there_and_back(void)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 0);
    for (int64_t height = 1; height <= 9; height++)
        for (int64_t width = 1; width <= 9; width++)
            check_size(height % 2 ? 3 : 1, height, width, &random);
    for (int i = 0; i < 20; i++) {
        const int64_t height = gops_test_random_range(&random, 10, 71);
        check_size(3, height, gops_test_random_range(&random, 10, 71), &random);
    }
}

/* Every channel to mean 1/2 and standard deviation 1/6, less what epsilon takes; a constant channel
 * to 1/2. */
static void normalized(void)
{
    gops_planes plate, bands, shown;
    gops_demo_step step;
    gops_error error;
    if (gops_demo_zone_plate(211, 307, &plate, &error) != GOPS_OK ||
        gops_wavelet_split(&plate, 0, &bands, &step, &error) != GOPS_OK)
        gops_test_skip("%s", error.message);
    const int64_t count = bands.height * bands.width;
    float *constant = gops_planes_channel(&bands, 5);
    for (int64_t i = 0; i < count; i++)
        constant[i] = 0.3F;
    const gops_status status = gops_wavelet_normalize(&bands, 0, &shown, &step, &error);
    gops_test_check(status == GOPS_OK, "%s", error.message);
    for (int64_t channel = 0; status == GOPS_OK && channel < shown.channels; channel++) {
        const float *value = gops_planes_channel(&shown, channel);
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < count; i++)
            sum += value[i];
        for (int64_t i = 0; i < count; i++)
            squares += pow(value[i] - sum / (double)count, 2);
        /* The values are some units off, the mean of the constant channel one unit of 0.3, blown
         * up by 1 / (6 sqrt(epsilon)), about 150. */
        check_near(sum / (double)count, 0.5, 150 * UNIT, "mean of channel", (int)channel);
        /* Their variances are above 0.01: epsilon takes less than one ten thousandth of the
         * standard deviation of 1/6. */
        check_near(sqrt(squares / (double)count), channel == 5 ? 0 : 1.0 / 6, 1e-4 / 6,
                   "standard deviation of channel", (int)channel);
    }
    gops_planes_release(&shown);
    gops_planes_release(&bands);
    gops_planes_release(&plate);
}

static void psnr(void)
{
    float a[6] = {0, 0.25F, 0.5F, 0.75F, 1, 0.125F};
    float b[6];
    const gops_planes expected = {1, 2, 3, a};
    const gops_planes actual = {1, 2, 3, b};
    memcpy(b, a, sizeof a);
    gops_demo_difference d = gops_demo_compare(&expected, &actual);
    gops_test_check(isinf(d.psnr) && d.psnr > 0 && d.largest == 0 && d.values == 6,
                    "equal pictures: %g dB", d.psnr);
    b[5] = 0.375F; /* squares 1/16 and 1/64, over 6 values: 5/384 */
    b[1] = 0.125F;
    d = gops_demo_compare(&expected, &actual);
    check_near(d.psnr, 10 * log10(384.0 / 5), 1e-12, "PSNR", 0);
    gops_test_check(d.largest == 0.25 && d.channel == 0 && d.row == 1 && d.column == 2,
                    "the largest error is %g at (%lld, %lld, %lld)", d.largest,
                    (long long)d.channel, (long long)d.row, (long long)d.column);
    b[3] = NAN;
    d = gops_demo_compare(&expected, &actual);
    gops_test_check(isnan(d.psnr) && isnan(d.largest) && d.row == 1 && d.column == 0,
                    "not a number: %g dB, largest %g", d.psnr, d.largest);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"low_pass", low_pass},     {"bank", bank}, {"there_and_back", there_and_back},
        {"normalized", normalized}, {"psnr", psnr}, {0},
    };
    return gops_test_main("demo_wavelet", cases);
}
