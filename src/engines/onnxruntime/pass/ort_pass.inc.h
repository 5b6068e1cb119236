/*
 * ort_pass.inc.h: the loops of passes, for the compiler to vectorize.
 * Parameters: those of ort_pass_sets.inc.h.
 */
TARGET static inline __attribute__((always_inline)) void
NAME(affine)(float *restrict to, const float *restrict from, const float *restrict other,
             float factor, float summand, const bool adds, const bool relu, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const float scaled = from[i] * factor + summand, value = adds ? scaled + other[i] : scaled;
        to[i] = relu && value < 0 ? 0 : value;
    }
}

TARGET static void NAME(affine_plane)(const gops_ort_pass *pass, int64_t channel, float *to,
                                      const float *from, const float *other)
{
    const float factor = pass->factors[channel], summand = pass->summands[channel];
    const int64_t count = pass->plane;
    if (other != NULL && pass->relu) {
        NAME(affine)(to, from, other, factor, summand, true, true, count);
    } else if (other != NULL) {
        NAME(affine)(to, from, other, factor, summand, true, false, count);
    } else if (pass->relu) {
        NAME(affine)(to, from, other, factor, summand, false, true, count);
    } else {
        NAME(affine)(to, from, other, factor, summand, false, false, count);
    }
}

TARGET static void NAME(scale)(float *restrict to, const float *restrict from, float factor,
                               int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i] * factor;
    }
}

TARGET static void NAME(scale_in_place)(float *data, float factor, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        data[i] *= factor;
    }
}

TARGET static void NAME(multiply)(float *restrict to, const float *restrict from,
                                  const float *restrict other, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i] * other[i];
    }
}

TARGET static void NAME(multiply_in_place)(float *restrict data, const float *restrict other,
                                           int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        data[i] *= other[i];
    }
}

TARGET static void NAME(scale_plane)(const gops_ort_pass *pass, int64_t channel, float *to,
                                     const float *from, const float *other)
{
    (void)channel;
    if (to == from) {
        NAME(scale_in_place)(to, *other, pass->plane);
    } else {
        NAME(scale)(to, from, *other, pass->plane);
    }
}

TARGET static void NAME(multiply_plane)(const gops_ort_pass *pass, int64_t channel, float *to,
                                        const float *from, const float *other)
{
    (void)channel;
    if (to == from) {
        NAME(multiply_in_place)(to, other, pass->plane);
    } else {
        NAME(multiply)(to, from, other, pass->plane);
    }
}

/* Sums in lanes, so that the order is the same for every vector length. */
TARGET static float NAME(average)(const float *from, int64_t count)
{
    enum { LANES = 16 };
    float lanes[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            lanes[k] += from[i + k];
        }
    }
    float rest = 0;
    for (; i < count; i++) {
        rest += from[i];
    }
    for (int k = 0; k < LANES / 2; k++) {
        lanes[k] += lanes[k + LANES / 2];
    }
    const float low = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    const float high = (lanes[4] + lanes[5]) + (lanes[6] + lanes[7]);
    return (low + high + rest) / (float)count;
}

TARGET static void NAME(average_plane)(const gops_ort_pass *pass, int64_t channel, float *to,
                                       const float *from, const float *other)
{
    (void)channel, (void)other;
    *to = NAME(average)(from, pass->plane);
}

/* Some pixels: means first, then the means of squared distances from them. */
TARGET static void NAME(normalize)(const gops_ort_pass *pass, float *to, const float *from,
                                   int64_t count)
{
    const int64_t data_step = pass->data_step, output_step = pass->output_step;
    const float share = 1 / (float)pass->channels;
    float means[MAX_PIXELS] = {0}, factors[MAX_PIXELS] = {0};
    for (int64_t c = 0; c < pass->channels; c++) {
        for (int64_t i = 0; i < count; i++) {
            means[i] += from[c * data_step + i];
        }
    }
    for (int64_t i = 0; i < count; i++) {
        means[i] *= share;
    }
    for (int64_t c = 0; c < pass->channels; c++) {
        for (int64_t i = 0; i < count; i++) {
            const float distance = from[c * data_step + i] - means[i];
            factors[i] += distance * distance;
        }
    }
    for (int64_t i = 0; i < count; i++) {
        factors[i] = 1 / sqrtf(factors[i] * share + pass->epsilon);
    }
    for (int64_t c = 0; c < pass->channels; c++) {
        const float factor = pass->factors[c], summand = pass->summands[c];
        for (int64_t i = 0; i < count; i++) {
            to[c * output_step + i] =
                (from[c * data_step + i] - means[i]) * factors[i] * factor + summand;
        }
    }
    for (int64_t i = 0; i < count; i++) {
        if (!(factors[i] > 0)) { /* NaN, or 0 of an infinite variance */
            normalize_far(pass, to + i, from + i);
        }
    }
}

TARGET static void NAME(normalize_all)(const gops_ort_pass *pass,
                                       const gops_ort_pass_operands *operands, int64_t first,
                                       int64_t last)
{
    const int64_t pixels = pixels_of(pass);
    const float *data = operands->data;
    float *output = operands->output;
    for (int64_t i = first; i < last; i++) {
        const int64_t pixel = i * pixels, left = pass->plane - pixel;
        NAME(normalize)(pass, output + pixel, data + pixel, left < pixels ? left : pixels);
    }
}

TARGET static void NAME(planes)(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                                int64_t first, int64_t last)
{
    static plane_fn *const of_kind[] = {
        [GOPS_ORT_PASS_COPY] = copy_plane,
        [GOPS_ORT_PASS_AFFINE] = NAME(affine_plane),
        [GOPS_ORT_PASS_SCALE] = NAME(scale_plane),
        [GOPS_ORT_PASS_PRODUCT] = NAME(multiply_plane),
        [GOPS_ORT_PASS_AVERAGE] = NAME(average_plane),
    };
    plane_fn *const compute = of_kind[pass->kind];
    const float *data = operands->data, *other = operands->other;
    float *output = operands->output;
    for (int64_t channel = first; channel < last; channel++) {
        compute(pass, channel, output + channel * pass->output_step,
                data + channel * pass->data_step,
                other != NULL ? other + channel * pass->other_step : NULL);
    }
}
