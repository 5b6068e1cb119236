/* wavelet.h: an orthogonal wavelet filter bank, as the three operations of the library.
 *
 * Splitting is a GroupConvolution with stride 2 and one group for each colour, whose four output
 * channels are the subbands: LL, HL, LH, HH. The first letter tells which half of the horizontal
 * frequencies a subband holds (Low, High), the second which of the vertical ones. Joining is the
 * GroupConvolutionBackpropData with the very same filter values, since the bank is orthogonal: its
 * inverse is its adjoint.
 *
 * Borders. An output pixel is the sum of the up to TAPS / 2 windows along each axis that cover it;
 * it is right when all of them were computed. Splitting therefore extends the picture by TAPS - 2
 * pixels before the first and after the last (one more where the size is odd, so that windows at
 * every second pixel come out even), and joining gives these widths to pads_begin and pads_end,
 * which cut exactly the extension off again. Any values would do for the extension, zeros too;
 * mirrored pixels make no false edges in the subbands. */
#ifndef GOPS_DEMO_WAVELET_H
#define GOPS_DEMO_WAVELET_H

#include "demo/demo_run.h"
#include "png/picture.h"

#define GOPS_WAVELET_TAPS 6
#define GOPS_WAVELET_BANDS 4

/* The low-pass filter; its values sum to sqrt(2). */
void gops_wavelet_low_pass(double taps[GOPS_WAVELET_TAPS]);

/* Writes the filter [colours, BANDS, 1, TAPS, TAPS] of GroupConvolution, which read as [GROUPS,
 * C_IN, C_OUT, Y, X] is that of GroupConvolutionBackpropData. */
void gops_wavelet_filter(int64_t colours, float *filter);

/* *bands: channel BANDS * colour + band, half the picture's size rounded up, plus 2, each way. */
gops_status gops_wavelet_split(const gops_planes *picture, int32_t threads, gops_planes *bands,
                               gops_demo_step *step, gops_error *error);

/* The inverse; `height` and `width` are those of the picture that was split. */
gops_status gops_wavelet_join(const gops_planes *bands, int64_t height, int64_t width,
                              int32_t threads, gops_planes *picture, gops_demo_step *step,
                              gops_error *error);

/* The subbands to look at, by GroupNormalization with every channel a group: mean to 0.5, and three
 * standard deviations down and up from there to 0 and 1. */
gops_status gops_wavelet_normalize(const gops_planes *bands, int32_t threads,
                                   gops_planes *normalized, gops_demo_step *step,
                                   gops_error *error);

#endif
