/*
 * ort_pass_resize.inc.h: the loops over a row of outputs, for the compiler to vectorize.
 * Parameters: those of ort_pass_sets.inc.h.
 */
TARGET static void NAME(to_numbers)(const gops_ort_pass *pass, float *restrict to,
                                    const uint8_t *restrict codes)
{
    const uint8_t flip = pass->type == GOPS_I8 ? 0x80 : 0;
    const int32_t zero = pass->by[0].zero_point + flip;
    const float scale = pass->by[0].scale;
    const int64_t count = pass->in[X];
    for (int64_t x = 0; x < count; x++) {
        to[x] = (float)((int32_t)(uint8_t)(codes[x] ^ flip) - zero) * scale;
    }
}

TARGET static void NAME(interleave)(float *restrict to, const float *even, const float *odd,
                                    int64_t pairs)
{
    for (int64_t i = 0; i < pairs; i++) {
        to[2 * i] = even[i];
        to[2 * i + 1] = odd[i];
    }
}

TARGET static void NAME(gather_row)(const gops_ort_pass *pass, columns *of, int at,
                                    const float *row)
{
    const gops_ort_tap *taps = pass->taps[X], *pairs = taps + of->pairs;
    const int64_t begin = of->pairs, end = of->pairs_end;
    for (int64_t x = 0; x < pass->out[X]; x++) {
        x = x == begin ? end : x;
        of->first[at][x] = row[taps[x].first];
        of->second[at][x] = row[taps[x].second];
    }
    if (begin == end) {
        return;
    }
    NAME(interleave)
    (of->first[at] + begin, row + pairs[0].first, row + pairs[1].first, (end - begin) / 2);
    NAME(interleave)
    (of->second[at] + begin, row + pairs[0].second, row + pairs[1].second, (end - begin) / 2);
}

/* Gathers the numbers of a row, unless they are there; returns where. */
TARGET static int NAME(gather)(const gops_ort_pass *pass, columns *of, const void *plane,
                               int64_t row)
{
    const int at = (int)(row % 2);
    if (of->row[at] == row) {
        return at;
    }
    of->row[at] = row;
    if (pass->type == GOPS_F32) {
        NAME(gather_row)(pass, of, at, (const float *)plane + row * pass->in[X]);
    } else {
        float numbers[MAX_ROW];
        NAME(to_numbers)(pass, numbers, (const uint8_t *)plane + row * pass->in[X]);
        NAME(gather_row)(pass, of, at, numbers);
    }
    return at;
}

TARGET static void NAME(blend)(float *restrict to, const columns *restrict of, int upper, int lower,
                               const gops_ort_tap *row, int64_t count)
{
    const float *restrict a = of->first[upper], *restrict b = of->second[upper];
    const float *restrict c = of->first[lower], *restrict d = of->second[lower];
    const float above = row->of_first, below = row->of_second;
    for (int64_t x = 0; x < count; x++) {
        to[x] = of->of_first[x] * above * a[x] + of->of_second[x] * above * b[x] +
                of->of_first[x] * below * c[x] + of->of_second[x] * below * d[x];
    }
}

TARGET static void NAME(round_row)(const gops_ort_pass *pass, uint8_t *restrict to,
                                   const float *restrict numbers)
{
    const int64_t count = pass->out[X];
    const int32_t zero_point = pass->output_by.zero_point;
    const float scale = pass->output_by.scale;
    const float least = (float)((pass->type == GOPS_I8 ? INT8_MIN : 0) - zero_point);
    for (int64_t x = 0; x < count; x++) {
        to[x] = gops_ort_round_units(numbers[x] / scale, least, zero_point);
    }
}

TARGET static void NAME(interpolate)(const gops_ort_pass *pass, columns *of, void *to,
                                     const void *plane)
{
    const int64_t count = pass->out[X];
    float numbers[MAX_ROW];
    for (int64_t y = 0; y < pass->out[Y]; y++) {
        const gops_ort_tap *row = &pass->taps[Y][y];
        const int upper = NAME(gather)(pass, of, plane, row->first);
        const int lower = NAME(gather)(pass, of, plane, row->second);
        if (pass->type == GOPS_F32) {
            NAME(blend)((float *)to + y * count, of, upper, lower, row, count);
        } else {
            NAME(blend)(numbers, of, upper, lower, row, count);
            NAME(round_row)(pass, (uint8_t *)to + y * count, numbers);
        }
    }
}
