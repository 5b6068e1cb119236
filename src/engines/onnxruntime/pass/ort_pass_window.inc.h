/*
 * ort_pass_window.inc.h: the largest or the sum of the elements of each window of a plane.
 *
 * Parameters, of which this file undefines those from NAME on:
 *
 *   TARGET             the function attribute that names an instruction set, or nothing
 *   VECTOR, LANES      a type of some floats, and how many
 *   LOAD(p)            of floats at any address
 *   STORE(p, v)        likewise
 *   ALL(f), TIMES(v, w), EVENS(p), ODDS(p), IN_ORDER(v)
 *                      ort_pass_windows.inc.h
 *   NAME(symbol)       puts a prefix in front of a symbol
 *   FIRST(v)           what a window begins with: v, or EMPTY in place of a NaN that is left out, so that
 *                      rows that were joined have none
 *   COMBINE(v, w)      of what a window has so far and another vector of the data, lane by lane
 *   COMBINE_ONE(a, b)  of two floats of the data
 *   EMPTY              what combined with a number is that number
 *
 * Loops are over whole vectors: the last one begins where it ends with the row, and does again some of
 * the one before.
 */

/* What a row of fewer than LANES leaves of a vector is for the next row to overwrite, if there is `room` up
 * to the plane's end. */
TARGET static inline void NAME(store_row)(float *to, VECTOR lanes, int64_t count, int64_t room)
{
    if (room >= LANES) {
        STORE(to, lanes);
        return;
    }
    float some[LANES];
    STORE(some, lanes);
    for (int64_t i = 0; i < count; i++) {
        to[i] = some[i];
    }
}

/* Rows `width` apart become one. */
TARGET static void NAME(join_rows)(float *to, const float *from, int64_t width, int64_t rows,
                                   int64_t count)
{
    for (int64_t i = 0; i < count && rows == 3; i = next_vector(i, LANES, count)) {
        STORE(to + i, COMBINE(COMBINE(FIRST(LOAD(from + i)), LOAD(from + width + i)),
                              LOAD(from + 2 * width + i)));
    }
    for (int64_t i = 0; i < count && rows != 3; i = next_vector(i, LANES, count)) {
        VECTOR all = FIRST(LOAD(from + i));
        for (int64_t y = 1; y < rows; y++) {
            all = COMBINE(all, LOAD(from + y * width + i));
        }
        STORE(to + i, all);
    }
}

/* Columns of a row become windows; what lies behind them may be read. */
TARGET static void NAME(join_columns)(const gops_ort_pass *pass, float *to, const float *columns,
                                      int64_t room, float *joined)
{
    const int64_t kernel = pass->window.kernel[X], step = pass->window.strides[X];
    const int64_t count = pass->out[X], span = (count - 1) * step + 1;
    const VECTOR factor = ALL(pass->factor);
    if (step == 2 && (kernel == 2 || kernel == 3)) {
        for (int64_t i = 0; i < count; i = next_vector(i, LANES, count)) {
            const float *first = columns + 2 * i; /* reads first[2 * LANES + 1] at last */
            VECTOR all = COMBINE(EVENS(first), ODDS(first));
            if (kernel == 3) {
                all = COMBINE(all, EVENS(first + 2));
            }
            NAME(store_row)(to + i, TIMES(IN_ORDER(all), factor), count, room - i);
        }
        return;
    }
    for (int64_t i = 0; i < span; i = next_vector(i, LANES, span)) {
        VECTOR all = LOAD(columns + i);
        for (int64_t x = 1; x < kernel; x++) {
            all = COMBINE(all, LOAD(columns + i + x));
        }
        STORE(joined + i, TIMES(all, factor));
    }
    for (int64_t i = 0; i < count; i++) {
        to[i] = joined[i * step];
    }
}

/* First the rows of some windows, then their columns: a vector that lies across two which were stored just
 * before waits for both. The data's rows have at least LANES. */
TARGET static void NAME(windows)(const gops_ort_pass *pass, float *to, const float *plane)
{
    enum { SLACK = 4 * LANES, SOME = 256 };
    const gops_ort_window *window = &pass->window;
    const int64_t width = pass->in[X], begin = window->pads_begin[X],
                  room = pass->out[Y] * pass->out[X];
    const int64_t span = gops_ort_reach(window, X, pass->out[X]);
    const int64_t needed = span - begin > LANES ? span - begin : LANES;
    const int64_t covered = needed < width ? needed : width;
    const int64_t pitch = span > begin + covered ? span : begin + covered;
    const int64_t fit = SOME / pitch > 1 ? SOME / pitch : 1;
    const int64_t rows = fit < pass->out[Y] ? fit : pass->out[Y];
    float columns[GOPS_ORT_MAX_ROW + LANES + SLACK], joined[GOPS_ORT_MAX_ROW + LANES];
    for (int64_t i = 0; i < rows * pitch + SLACK; i++) {
        columns[i] = EMPTY;
    }
    for (int64_t from = 0; from < pass->out[Y]; from += rows) {
        const int64_t end = from + rows < pass->out[Y] ? from + rows : pass->out[Y];
        for (int64_t row = from; row < end; row++) {
            const gops_ort_range of = gops_ort_covered(window, Y, pass->in[Y], row);
            NAME(join_rows)
            (columns + (row - from) * pitch + begin, plane + of.begin * width, width,
             of.end - of.begin, covered);
        }
        for (int64_t row = from; row < end; row++) {
            const int64_t at = row * pass->out[X];
            NAME(join_columns)(pass, to + at, columns + (row - from) * pitch, room - at, joined);
        }
    }
}

#if LANES > 1
/* Windows of three by three around each element of a small plane: neighbours in all rows as if they were
 * one, what that got wrong at the ends of rows, then the rows above and below. */
TARGET static void NAME(windows_around)(const gops_ort_pass *pass, float *to, const float *plane)
{
    const int64_t width = pass->in[X], count = pass->plane;
    float memory[SMALL_PLANE + 2 * SMALL_ROW];
    float *joined = memory + width;
    for (int64_t i = 0; i < width; i++) {
        memory[i] = joined[count + i] = EMPTY;
    }
    for (int64_t i = 1; i < count - 1; i = next_vector(i, LANES, count - 1)) {
        STORE(joined + i,
              COMBINE(COMBINE(FIRST(LOAD(plane + i - 1)), LOAD(plane + i)), LOAD(plane + i + 1)));
    }
    for (int64_t i = 0, last = width - 1; i < count; i += width, last += width) {
        joined[i] = COMBINE_ONE(plane[i], plane[i + 1]);
        joined[last] = COMBINE_ONE(plane[last - 1], plane[last]);
    }
    for (int64_t i = 0; i < count; i = next_vector(i, LANES, count)) {
        const VECTOR all =
            COMBINE(COMBINE(LOAD(joined + i - width), LOAD(joined + i)), LOAD(joined + i + width));
        STORE(to + i, TIMES(all, ALL(pass->factor)));
    }
}
#endif

#undef NAME
#undef FIRST
#undef COMBINE
#undef COMBINE_ONE
#undef EMPTY
