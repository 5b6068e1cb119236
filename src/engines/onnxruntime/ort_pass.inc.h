/*
 * ort_pass.inc.h: the loops of passes, for the compiler to vectorize.
 *
 * Parameters:
 *
 *   TARGET        the function attribute that names an instruction set, or nothing
 *   NAME(symbol)  puts the instruction set's name in front of a symbol
 */
TARGET static void NAME(affine)(float *restrict to, const float *restrict from,
                                const float *restrict other, float factor, float summand, bool relu,
                                int64_t count)
{
    if (other != NULL) {
        for (int64_t i = 0; i < count; i++) {
            to[i] = from[i] * factor + summand + other[i];
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            to[i] = from[i] * factor + summand;
        }
    }
    for (int64_t i = 0; i < count && relu; i++) {
        to[i] = to[i] < 0 ? 0 : to[i];
    }
}

TARGET static void NAME(affine_plane)(const gops_ort_pass *pass, int64_t channel, float *to,
                                      const float *from, const float *other)
{
    enum { BLOCK = 2048 }; /* elements that stay in the L1 cache from one loop to the next */
    for (int64_t i = 0; i < pass->plane; i += BLOCK) {
        const int64_t left = pass->plane - i;
        NAME(affine)
        (to + i, from + i, other != NULL ? other + i : NULL, pass->factors[channel],
         pass->summands[channel], pass->relu, left < BLOCK ? left : BLOCK);
    }
}

TARGET static void NAME(scale)(float *restrict to, const float *restrict from, float factor,
                               int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i] * factor;
    }
}

TARGET static void NAME(multiply)(float *restrict to, const float *restrict from,
                                  const float *restrict other, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i] * other[i];
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

TARGET static void NAME(take_larger)(float *restrict to, const float *restrict from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = to[i] > from[i] ? to[i] : from[i];
    }
}

TARGET static void NAME(take_largest_of_three)(float *restrict to, const float *first,
                                               const float *second, const float *third,
                                               int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const float larger = first[i] > second[i] ? first[i] : second[i];
        to[i] = larger > third[i] ? larger : third[i];
    }
}

/* For kernels of 2 and 3 with stride 2. */
TARGET static void NAME(take_pairs)(float *restrict to, const float *restrict columns, bool three,
                                    int64_t count)
{
    for (int64_t i = 0; i < count && three; i++) {
        const float pair =
            columns[2 * i] > columns[2 * i + 1] ? columns[2 * i] : columns[2 * i + 1];
        to[i] = pair > columns[2 * i + 2] ? pair : columns[2 * i + 2];
    }
    for (int64_t i = 0; i < count && !three; i++) {
        to[i] = columns[2 * i] > columns[2 * i + 1] ? columns[2 * i] : columns[2 * i + 1];
    }
}

/* The largest of each output's columns, which are `step` apart. */
TARGET static void NAME(take_columns)(float *restrict to, const float *restrict columns,
                                      int64_t kernel, int64_t step, int64_t count)
{
    const int64_t span = (count - 1) * step + 1;
    float all[GOPS_ORT_MAX_ROW];
    float *largest = step == 1 ? to : all;
    if (step == 2 && (kernel == 2 || kernel == 3)) {
        NAME(take_pairs)(to, columns, kernel == 3, count);
        return;
    }
    if (kernel == 3) {
        NAME(take_largest_of_three)(largest, columns, columns + 1, columns + 2, span);
    } else {
        memcpy(largest, columns, (size_t)span * sizeof *largest);
        for (int64_t x = 1; x < kernel; x++) {
            NAME(take_larger)(largest, columns + x, span);
        }
    }
    for (int64_t i = 0; i < count && step > 1; i++) {
        to[i] = largest[i * step];
    }
}

/* The largest of rows y to end - 1. */
TARGET static void NAME(take_rows)(float *to, const float *plane, int64_t width, int64_t y,
                                   int64_t end, int64_t count)
{
    if (end - y == 3) {
        NAME(take_largest_of_three)
        (to, plane + y * width, plane + (y + 1) * width, plane + (y + 2) * width, count);
        return;
    }
    memcpy(to, plane + y * width, (size_t)count * sizeof *to);
    for (y++; y < end; y++) {
        NAME(take_larger)(to, plane + y * width, count);
    }
}

/* The largest of each column first, with padding that is below all numbers. */
TARGET static void NAME(max_plane)(const gops_ort_pass *pass, float *to, const float *plane)
{
    const gops_ort_window *window = &pass->window;
    const int64_t width = pass->in[X], begin = window->pads_begin[X];
    const int64_t span = (pass->out[X] - 1) * window->strides[X] + window->kernel[X];
    const int64_t covered = span - begin < width ? span - begin : width;
    float columns[GOPS_ORT_MAX_ROW];
    for (int64_t i = 0; i < span; i++) {
        columns[i] = -INFINITY;
    }
    for (int64_t row = 0; row < pass->out[Y]; row++) {
        const int64_t first = row * window->strides[Y] - window->pads_begin[Y];
        const int64_t end =
            first + window->kernel[Y] < pass->in[Y] ? first + window->kernel[Y] : pass->in[Y];
        NAME(take_rows)(columns + begin, plane, width, first > 0 ? first : 0, end, covered);
        NAME(take_columns)
        (to + row * pass->out[X], columns, window->kernel[X], window->strides[X], pass->out[X]);
    }
}

/* Some pixels: means first, then the means of squared distances from them. */
TARGET static void NAME(normalize)(const gops_ort_pass *pass, float *to, const float *from,
                                   int64_t count)
{
    const int64_t plane = pass->plane;
    const float share = 1 / (float)pass->channels;
    float means[MAX_PIXELS] = {0}, factors[MAX_PIXELS] = {0};
    for (int64_t c = 0; c < pass->channels; c++) {
        for (int64_t i = 0; i < count; i++) {
            means[i] += from[c * plane + i];
        }
    }
    for (int64_t i = 0; i < count; i++) {
        means[i] *= share;
    }
    for (int64_t c = 0; c < pass->channels; c++) {
        for (int64_t i = 0; i < count; i++) {
            const float distance = from[c * plane + i] - means[i];
            factors[i] += distance * distance;
        }
    }
    for (int64_t i = 0; i < count; i++) {
        factors[i] = 1 / sqrtf(factors[i] * share + pass->epsilon);
    }
    for (int64_t c = 0; c < pass->channels; c++) {
        const float factor = pass->factors[c], summand = pass->summands[c];
        for (int64_t i = 0; i < count; i++) {
            to[c * plane + i] = (from[c * plane + i] - means[i]) * factors[i] * factor + summand;
        }
    }
}

TARGET static void NAME(normalize_all)(const gops_ort_pass *pass,
                                       const gops_ort_pass_operands *operands, int64_t first,
                                       int64_t last)
{
    const int64_t blocks = gops_ort_pass_units(pass) / pass->images, pixels = pixels_of(pass);
    for (int64_t i = first; i < last; i++) {
        const int64_t image = i / blocks, pixel = i % blocks * pixels;
        const int64_t left = pass->plane - pixel;
        NAME(normalize)
        (pass, operands->output + image * operands->output_stride + pixel,
         operands->data + image * operands->data_stride + pixel, left < pixels ? left : pixels);
    }
}

TARGET static void NAME(run)(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                             int64_t first, int64_t last)
{
    const int64_t out = pass->kind == GOPS_ORT_PASS_MAX       ? pass->out[Y] * pass->out[X]
                        : pass->kind == GOPS_ORT_PASS_AVERAGE ? 1
                                                              : pass->plane;
    const int64_t others = pass->kind == GOPS_ORT_PASS_SCALE ? 1 : pass->plane;
    if (pass->kind == GOPS_ORT_PASS_NORM) {
        NAME(normalize_all)(pass, operands, first, last);
        return;
    }
    for (int64_t i = first; i < last; i++) {
        const int64_t image = i / pass->channels, channel = i % pass->channels;
        const float *from = operands->data + image * operands->data_stride + channel * pass->plane;
        float *to = operands->output + image * operands->output_stride + channel * out;
        const float *other =
            operands->other != NULL
                ? operands->other + image * operands->other_stride + channel * others
                : NULL;
        switch (pass->kind) {
        case GOPS_ORT_PASS_COPY:
            memcpy(to + channel * (pass->step - 1) * pass->plane, from,
                   (size_t)pass->plane * sizeof *to);
            break;
        case GOPS_ORT_PASS_AFFINE:
            NAME(affine_plane)(pass, channel, to, from, other);
            break;
        case GOPS_ORT_PASS_SCALE:
            NAME(scale)(to, from, *other, pass->plane);
            break;
        case GOPS_ORT_PASS_PRODUCT:
            NAME(multiply)(to, from, other, pass->plane);
            break;
        case GOPS_ORT_PASS_MAX:
            NAME(max_plane)(pass, to, from);
            break;
        case GOPS_ORT_PASS_AVERAGE:
            *to = NAME(average)(from, pass->plane);
            break;
        case GOPS_ORT_PASS_NORM:
            break;
        }
    }
}

#undef TARGET
#undef NAME
