/*
 * ort_pass_integers.inc.h: the loops of passes over 8-bit integers, for the compiler to vectorize.
 * Parameters: those of ort_pass_sets.inc.h.
 */
TARGET static void NAME(to_floats)(const gops_ort_pass *pass, float *restrict to,
                                   const uint8_t *restrict from, int64_t count)
{
    const uint8_t flip = flip_of(pass->type);
    const int32_t zero = zero_of(pass->type, &pass->by[0]);
    const float scale = pass->by[0].scale;
    for (int64_t i = 0; i < count; i++) {
        to[i] = scale * (float)((int32_t)(uint8_t)(from[i] ^ flip) - zero);
    }
}

TARGET static void NAME(add)(float *restrict to, const float *restrict from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] += from[i];
    }
}

TARGET static void NAME(add_three)(float *restrict to, const float *restrict from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        to[i] = to[i] + from[i] + from[i + 1] + from[i + 2];
    }
}

/* A row of windows, one of which begins at each float of the data's row. */
TARGET static void NAME(add_columns)(const gops_ort_pass *pass, float *sums, const float *data,
                                     int64_t count)
{
    int64_t x = 0;
    for (; x + 3 <= pass->window.kernel[X]; x += 3) {
        NAME(add_three)(sums, data + x, count);
    }
    for (; x < pass->window.kernel[X]; x++) {
        NAME(add)(sums, data + x, count);
    }
}

/* Sums of the windows that begin at each float of a row; of all rows at once where these follow each other. */
TARGET static void NAME(sum_rows)(const gops_ort_pass *pass, const rows *of, float *sums,
                                  const float *data)
{
    const gops_ort_window *window = &pass->window;
    const bool joined = window->strides[Y] == 1;
    const int64_t parts = joined ? 1 : of->count;
    const int64_t count = (joined ? of->count : 1) * of->pitch - (window->kernel[X] - 1);
    for (int64_t i = 0; i < of->count * of->pitch; i++) {
        sums[i] = 0;
    }
    for (int64_t part = 0; part < parts; part++) {
        for (int64_t y = 0; y < window->kernel[Y]; y++) {
            NAME(add_columns)
            (pass, sums + part * of->pitch, data + (part * window->strides[Y] + y) * of->pitch,
             count);
        }
    }
}

/* Windows that do not all divide by one number, or do not begin at each float. */
TARGET static void NAME(divide)(const gops_ort_pass *pass, const rows *of, uint8_t *to,
                                const float *sums)
{
    const float scale = pass->output_by.scale, zero = (float)pass->output_by.zero_point;
    const float least = (float)least_of(pass->type);
    for (int64_t r = 0; r < of->count; r++) {
        const float *row = sums + r * of->pitch;
        for (int64_t x = 0; x < pass->out[X]; x++) {
            const float share = (float)share_of(pass, of->first + r, x);
            to[x] = gops_ort_round_units(row[x * pass->window.strides[X]] / share / scale + zero,
                                         least, 0);
        }
        to += pass->out[X];
    }
}

TARGET static void NAME(divide_all)(const gops_ort_pass *pass, uint8_t *restrict to,
                                    const float *restrict sums, int64_t count)
{
    const float scale = pass->output_by.scale, zero = (float)pass->output_by.zero_point;
    const float share = (float)share_of(pass, 0, 0), least = (float)least_of(pass->type);
    for (int64_t i = 0; i < count; i++) {
        to[i] = gops_ort_round_units(sums[i] / share / scale + zero, least, 0);
    }
}

TARGET static void NAME(average_windows)(const gops_ort_pass *pass, uint8_t *to,
                                         const uint8_t *plane)
{
    uint8_t codes[ROOM];
    float data[ROOM], sums[ROOM];
    rows of = plan_rows(pass);
    const int64_t some = of.count;
    for (; of.first < pass->out[Y]; of.first += some, to += some * pass->out[X]) {
        of.count = smaller(some, pass->out[Y] - of.first);
        NAME(to_floats)(pass, data, codes, copy_rows(pass, &of, codes, plane));
        NAME(sum_rows)(pass, &of, sums, data);
        if (!pass->counts_padding || pass->window.strides[X] != 1) {
            NAME(divide)(pass, &of, to, sums);
            continue;
        }
        NAME(divide_all)(pass, codes, sums, of.count * of.pitch);
        for (int64_t r = 0; r < of.count; r++) {
            memcpy(to + r * pass->out[X], codes + r * of.pitch, (size_t)pass->out[X]);
        }
    }
}

TARGET static uint8_t NAME(average_plane)(const gops_ort_pass *pass, const uint8_t *from)
{
    const uint8_t flip = flip_of(pass->type);
    const int32_t count = (int32_t)pass->plane, zero = pass->output_by.zero_point;
    const float factor = pass->by[0].scale / (pass->output_by.scale * (float)count);
    int32_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += (uint8_t)(from[i] ^ flip);
    }
    sum -= zero_of(pass->type, &pass->by[0]) * count;
    return gops_ort_round_units((float)sum * factor, (float)(least_of(pass->type) - zero), zero);
}

TARGET static void NAME(multiply_codes)(const gops_ort_pass *pass, uint8_t *restrict to,
                                        const uint8_t *restrict from, const uint8_t *restrict other,
                                        int64_t count)
{
    const uint8_t flip = flip_of(pass->type);
    const int32_t zero = zero_of(pass->type, &pass->by[0]);
    const int32_t other_zero = zero_of(pass->type, &pass->by[1]);
    const float factor = pass->by[0].scale * pass->by[1].scale / pass->output_by.scale;
    const float output_zero = (float)pass->output_by.zero_point;
    const float least = (float)least_of(pass->type);
    for (int64_t i = 0; i < count; i++) {
        const int32_t product = ((int32_t)(uint8_t)(from[i] ^ flip) - zero) *
                                ((int32_t)(uint8_t)(other[i] ^ flip) - other_zero);
        to[i] = gops_ort_round_units((float)product * factor + output_zero, least, 0);
    }
}

/* A plane, which may be written over its data. */
TARGET static void NAME(multiply_plane)(const gops_ort_pass *pass, uint8_t *to, const uint8_t *from,
                                        const uint8_t *other)
{
    uint8_t data[BLOCK], others[BLOCK];
    const bool is_gate = pass->kind == GOPS_ORT_PASS_SCALE;
    if (is_gate) {
        memset(others, *other, sizeof others);
    }
    for (int64_t i = 0; i < pass->plane; i += BLOCK) {
        const int64_t count = smaller(BLOCK, pass->plane - i);
        memcpy(data, from + i, (size_t)count);
        NAME(multiply_codes)(pass, to + i, data, is_gate ? others : other + i, count);
    }
}

TARGET static void NAME(integers)(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                                  int64_t first, int64_t last)
{
    const bool windows = pass->kind == GOPS_ORT_PASS_SUM;
    const int64_t out = windows                               ? pass->out[Y] * pass->out[X]
                        : pass->kind == GOPS_ORT_PASS_AVERAGE ? 1
                                                              : pass->plane;
    const int64_t others = pass->kind == GOPS_ORT_PASS_SCALE ? 1 : pass->plane;
    const uint8_t *data = operands->data, *second = operands->other;
    uint8_t *output = operands->output;
    for (int64_t i = first; i < last; i++) {
        const uint8_t *from = data + i * pass->plane;
        uint8_t *to = output + i * out;
        if (windows) {
            NAME(average_windows)(pass, to, from);
        } else if (pass->kind == GOPS_ORT_PASS_AVERAGE) {
            *to = NAME(average_plane)(pass, from);
        } else {
            NAME(multiply_plane)(pass, to, from, second + i * others);
        }
    }
}
