/* wavelet_filter.c: the taps of the filter bank.
 *
 * Daubechies' orthogonal wavelet with three vanishing moments (Ten Lectures on Wavelets, 1992,
 * chapter 6), six taps, in closed form instead of a table of numbers.
 *
 * Wanted: H(z) = sum h[t] z^t with |H|^2 + |H(-z)|^2 = 2 on the unit circle (orthogonality) and a
 * zero of order 3 at z = -1 (the moments): H(z) = sqrt(2) ((1 + z) / 2)^3 Q(z). With
 * y = sin^2(w/2) the first condition reads (1-y)^3 |Q|^2 + y^3 |Q(-z)|^2 = 1, and its solution of
 * least degree is the start of the series of (1-y)^-3:
 *     |Q|^2 = 1 + 3 y + 6 y^2.
 * Put y = (2 - z - 1/z) / 4 and Q(z) = a + b z + c z^2 and compare the powers of z:
 *     z^2:  a c           =  3/8
 *     z^1:  b (a + c)     = -9/4
 *     z^0:  a^2 + b^2 + c^2 = 19/4
 * Together with Q(1) = a + b + c = 1 the second gives b = (1 - sqrt 10) / 2 and
 * a + c = (1 + sqrt 10) / 2, and then the first a - c = sqrt(5 + 2 sqrt 10) / 2; the third holds.
 */
#include "demo/wavelet.h"

#include <math.h>

void gops_wavelet_low_pass(double taps[GOPS_WAVELET_TAPS])
{
    double root = sqrt(10.0);
    double sum = (1.0 + root) / 2.0;
    double difference = sqrt(5.0 + 2.0 * root) / 2.0;
    double q[3] = {(sum + difference) / 2.0, (1.0 - root) / 2.0, (sum - difference) / 2.0};
    static const double cube[4] = {1.0, 3.0, 3.0, 1.0}; /* (1 + z)^3 */

    for (int t = 0; t < GOPS_WAVELET_TAPS; t++) {
        taps[t] = 0.0;
        for (int i = 0; i < 3; i++) {
            if (t - i >= 0 && t - i < 4) {
                taps[t] += q[i] * cube[t - i];
            }
        }
        taps[t] *= sqrt(2.0) / 8.0;
    }
}

/* The high-pass filter is the low-pass one reversed, with every second sign changed: that makes it
 * orthogonal to the low-pass filter in every position two pixels apart. */
void gops_wavelet_filter(int64_t colours, float *filter)
{
    double taps[2][GOPS_WAVELET_TAPS];

    gops_wavelet_low_pass(taps[0]);
    for (int t = 0; t < GOPS_WAVELET_TAPS; t++) {
        taps[1][t] = (t % 2 == 0 ? 1.0 : -1.0) * taps[0][GOPS_WAVELET_TAPS - 1 - t];
    }

    for (int64_t colour = 0; colour < colours; colour++) {
        for (int band = 0; band < GOPS_WAVELET_BANDS; band++) {
            const double *vertical = taps[band / 2];
            const double *horizontal = taps[band % 2];
            for (int y = 0; y < GOPS_WAVELET_TAPS; y++) {
                for (int x = 0; x < GOPS_WAVELET_TAPS; x++) {
                    *filter++ = (float)(vertical[y] * horizontal[x]);
                }
            }
        }
    }
}
