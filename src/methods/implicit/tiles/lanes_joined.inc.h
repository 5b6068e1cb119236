/*
 * lanes_joined.inc.h: makes the blocked padded input of joined taps (gops_lanes_join).
 *
 * For each element of a block, the pixels of its channel that its tap meets are gathered into a row with their
 * padding, line after line of outputs; then such rows are interleaved as those of channels are. The rows stay in
 * the first level cache.
 *
 * Parameters: those of lanes_blocks.inc.h, FILLS_UP of lanes_input.inc.h, and
 *
 *   JOINED          name of the function
 *   LOAD_128, LOAD_256, LOAD_512(mask, padding, from)
 *                   with AVX-512: registers of so many bits with the elements of a mask, and padding for others
 *   FILL_512(value) a register of such elements
 *   EVEN_256        name of the intrinsic that takes the even elements of 256 bits
 */

enum {
    RUN = 256, /* positions at a time */
    SLACK = CHANNELS,
    MAX_LINES = 32, /* of them */
    MAX_MASKS = GOPS_LANES_BLOCK,
};

/* Elements `first`, first + stride and so on of rows of data, in which some lie. */
typedef struct joined_pixels {
    int64_t first, count;
    int64_t data; /* the length of a row; 0 where all is padding */
    T padding;
} joined_pixels;

GOPS_INLINE void gather_each(const T *from, const joined_pixels *pixels, int64_t stride, T *to)
{
    for (int64_t i = 0; i < pixels->count; i++) {
        const int64_t at = pixels->first + i * stride;
        to[i] = at >= 0 && at < pixels->data ? from[at] : pixels->padding;
    }
}

#if defined(__AVX512BW__) && !defined(GOPS_EMULATED_ISA)

enum { IN_128 = 16 / sizeof(T), IN_256 = 32 / sizeof(T), IN_512 = 64 / sizeof(T) };

/* Up to a register of neighbours, of which the mask's are inside of the data. */
GOPS_INLINE void gather_register(const T *from, uint64_t mask, __m512i padding, int64_t count,
                                 T *to)
{
    if (count <= IN_128) {
        _mm_storeu_si128((void *)to, LOAD_128(mask, _mm512_castsi512_si128(padding), from));
    } else if (count <= IN_256) {
        _mm256_storeu_si256((void *)to, LOAD_256(mask, _mm512_castsi512_si256(padding), from));
    } else {
        _mm512_storeu_si512((void *)to, LOAD_512(mask, padding, from));
    }
}

/* With a stride of 1 or 2. Writes up to a register more than `count` elements. */
GOPS_INLINE void gather_row(const T *from, const joined_pixels *pixels, const int stride, T *to)
{
    const uint64_t taken = stride == 1 ? ~UINT64_C(0) : UINT64_C(0x5555555555555555);
    const int64_t step = stride == 1 ? IN_512 : IN_128, count = pixels->count;
    const __m512i padding = FILL_512(pixels->padding);
    for (int64_t i = 0; i < count; i += step) {
        const int64_t at = pixels->first + i * stride;
        const uint64_t mask = gops_bits_between(-at, pixels->data - at) & taken;
        if (stride == 1) {
            gather_register(from + at, mask, padding, count - i, to + i);
        } else {
            const __m256i both = LOAD_256(mask, _mm512_castsi512_si256(padding), from + at);
            _mm_storeu_si128((void *)(to + i), EVEN_256(both));
        }
    }
}

/* Registers of neighbours, all of which lie one after the other in the data, but those that a mask leaves out. */
GOPS_INLINE void gather_masked(const T *from, const uint64_t *mask, T padding, int64_t count, T *to)
{
    for (int64_t i = 0; i < count; i += IN_512) {
        const __m512i pixels = LOAD_512(mask[i / IN_512], FILL_512(padding), from + i);
        _mm512_storeu_si512((void *)(to + i), pixels);
    }
}

#define INTERLEAVE(rows, to, count) interleave_run(rows, 1, to, count)
#define GATHERS_MASKED 1
#else
#define gather_row gather_each
#define INTERLEAVE interleave
#define GATHERS_MASKED 0
#define gather_masked(from, mask, padding, count, to)                                              \
    ((void)(from), (void)(mask), (void)(padding), (void)(count), (void)(to))
#endif

/* What all blocks of a run of positions have in common. */
typedef struct joined_run {
    const gops_lanes_join *join;
    const T *data;
    int64_t channels, apart;
    T padding;
    int64_t first, count; /* the outputs of a line */
    int64_t lines;
    /* Where the data of a line begins for each tap that is joined with it; -1 where it is padding. */
    int64_t from[MAX_LINES][GOPS_LANES_BLOCK];
    /* Whether lines are whole rows of data, one after the other: the first of them begins at base[row], and a bit
     * of the mask of each tap says which of their positions are data. */
    bool whole;
    int64_t base[GOPS_LANES_BLOCK];
    uint64_t mask[MAX_MASKS][RUN * sizeof(T) / 64];
} joined_run;

/* A line of the copy: the position and the residue of each axis but the last, and where the residue begins. */
typedef struct joined_line {
    int64_t position[GOPS_MAX_SPATIAL], residue[GOPS_MAX_SPATIAL], start[GOPS_MAX_SPATIAL];
} joined_line;

static void begin_residue(const gops_padded_input *padded, const int64_t *origin, joined_line *line)
{
    for (int a = 0; a < padded->axes - 1; a++) {
        const gops_padded_axis *axis = &padded->axis[a];
        line->start[a] = origin[a] + line->residue[a] * axis->residue_step % axis->stride;
    }
}

static void next_line(const gops_padded_input *padded, const int64_t *origin, joined_line *line)
{
    int a = (int)padded->axes - 2;
    for (; a >= 0 && ++line->position[a] == padded->axis[a].length; a--) {
        line->position[a] = 0;
    }
    if (a < 0) {
        gops_padded_next_residue(padded, line->residue);
        begin_residue(padded, origin, line);
    }
}

/* Where its data begins for tap `row`, or -1. */
static int64_t find_line(const gops_padded_input *padded, const gops_lanes_join *join,
                         const joined_line *line, int64_t row)
{
    const int inner = (int)padded->axes - 2;
    int64_t pixels = join->data, from = 0;
    for (int a = inner; a >= 0; a--) {
        const int64_t moved = a == inner ? row * join->row_dilation : 0;
        const int64_t at = line->start[a] + line->position[a] * padded->axis[a].stride + moved;
        if (at < 0 || at >= padded->axis[a].data) {
            return -1;
        }
        from += at * pixels;
        pixels *= padded->axis[a].data;
    }
    return from;
}

/* Adds the line's positions that are data under the tap, `before` pixels to the left, to the mask. */
static void add_line(const joined_run *run, int64_t line, int64_t before, uint64_t *mask)
{
    const int64_t begin = gops_clamp(before, 0, run->count);
    const int64_t end = gops_clamp(run->join->data + before, begin, run->count);
    const int64_t from = line * run->count + begin, to = line * run->count + end;
    for (int64_t i = from / CHANNELS; i * CHANNELS < to; i++) {
        mask[i] |= gops_bits_between(from - i * CHANNELS, to - i * CHANNELS);
    }
}

/* Finds out whether lines are whole, and their masks. */
static void find_masks(joined_run *run)
{
    const gops_lanes_join *join = run->join;
    run->whole = GATHERS_MASKED && join->stride == 1 && run->first == 0 &&
                 run->count == join->data && join->taps * join->rows <= MAX_MASKS;
    for (int64_t row = 0; row < join->rows && run->whole; row++) {
        bool found = false;
        for (int64_t i = 0; i < run->lines; i++) {
            const int64_t base = run->from[i][row] - i * join->data;
            if (run->from[i][row] >= 0) {
                run->whole &= !found || run->base[row] == base;
                run->base[row] = base;
                found = true;
            }
        }
        run->base[row] = found ? run->base[row] : 0;
        for (int64_t tap = 0; tap < join->taps; tap++) {
            uint64_t *mask = run->mask[row * join->taps + tap];
            memset(mask, 0, sizeof run->mask[0]);
            for (int64_t i = 0; i < run->lines; i++) {
                if (run->from[i][row] >= 0) {
                    add_line(run, i, join->pad - tap * join->dilation, mask);
                }
            }
        }
    }
}

/* The pixels of a channel under a tap. `stride` is 1, 2 or another one. */
GOPS_INLINE void gather_lines(const joined_run *run, int64_t row, int64_t tap, const T *channel,
                              const int stride, T *to)
{
    joined_pixels pixels = {
        .first = run->first * run->join->stride + tap * run->join->dilation - run->join->pad,
        .count = run->count,
        .padding = run->padding,
    };
    for (int64_t i = 0; i < run->lines; i++, to += run->count) {
        const int64_t at = run->from[i][row];
        const T *from = channel + gops_max(at, 0);
        pixels.data = at >= 0 ? run->join->data : 0;
        if (stride <= 2) {
            gather_row(from, &pixels, stride, to);
        } else {
            gather_each(from, &pixels, run->join->stride, to);
        }
    }
}

/* A plane of a position: that of the data, and the taps. */
typedef struct joined_plane {
    int64_t q, tap, row;
} joined_plane;

GOPS_INLINE void next_plane(const gops_lanes_join *join, joined_plane *plane)
{
    if (++plane->q == join->planes) {
        plane->q = 0;
        plane->row += plane->tap + 1 == join->taps;
        plane->tap = plane->tap + 1 == join->taps ? 0 : plane->tap + 1;
    }
}

/* Gathers the rows of a block, which begins with `plane`; this becomes that of the next one. */
static void gather_block(const joined_run *run, joined_plane *plane, T to[CHANNELS][RUN + SLACK],
                         block_rows *rows)
{
    const gops_lanes_join *join = run->join;
    for (int i = 0; i < CHANNELS; i++) {
        const int64_t c = plane->q * CHANNELS_OF_LANE + i % CHANNELS_OF_LANE;
        const T *channel = run->data + c * run->apart;
        rows->row[i] = to[i];
        if (plane->row >= join->rows || c >= run->channels) {
            rows->row[i] = FILLS_UP(to[0]);
        } else if (run->whole) {
            const int64_t shift = plane->tap * join->dilation - join->pad;
            gather_masked(channel + run->base[plane->row] + shift,
                          run->mask[plane->row * join->taps + plane->tap], run->padding,
                          run->lines * run->count, to[i]);
        } else if (join->stride == 1) {
            gather_lines(run, plane->row, plane->tap, channel, 1, to[i]);
        } else if (join->stride == 2) {
            gather_lines(run, plane->row, plane->tap, channel, 2, to[i]);
        } else {
            gather_lines(run, plane->row, plane->tap, channel, 3, to[i]);
        }
        if (i % CHANNELS_OF_LANE == CHANNELS_OF_LANE - 1) {
            next_plane(join, plane);
        }
    }
}

void GOPS_ISA_NAME(JOINED)(const gops_padded_input *padded, const gops_lanes_join *join,
                           const int64_t *origin, int64_t channels, const gops_lanes_source *source,
                           uint32_t *to)
{
    T gathered[CHANNELS][RUN + SLACK];
    block_rows rows = {.begin = gathered[0], .end = gathered[CHANNELS - 1] + RUN + SLACK};
    joined_run run; /* most of which is not used */
    joined_line at = {{0}, {0}, {0}};
    const int64_t last = padded->axes - 1, length = padded->axis[last].length;
    const int64_t planes = join->rows * join->taps * join->planes;
    const int64_t blocks = gops_ceil_div(planes, GOPS_LANES_BLOCK);
    const int64_t lines = padded->values / length, most = gops_clamp(RUN / length, 1, MAX_LINES);
    lane_block *next = (lane_block *)(void *)to;
    rows.flip = source->flip;
    run.join = join;
    run.data = (const void *)source->data;
    run.channels = channels;
    run.apart = source->apart;
    run.padding = (T)(source->zero ^ source->flip);
    begin_residue(padded, origin, &at);
    for (int64_t line = 0; line < lines; line += run.lines) {
        run.lines = gops_min(lines - line, most);
        for (int64_t i = 0; i < run.lines; i++) {
            for (int64_t row = 0; row < join->rows; row++) {
                run.from[i][row] = find_line(padded, join, &at, row);
            }
            next_line(padded, origin, &at);
        }
        for (int64_t first = 0; first < length; first += run.count) {
            run.first = origin[last] + first;
            run.count = gops_min(length - first, RUN);
            joined_plane plane = {0, 0, 0};
            find_masks(&run);
            for (int64_t block = 0; block < blocks; block++) {
                gather_block(&run, &plane, gathered, &rows);
                INTERLEAVE(&rows, next + block * padded->plane + line * length + first,
                           run.lines * run.count);
            }
        }
    }
    /* The tiles of the last pixels may read these (lanes_input.inc.h). */
    fill_run(next + blocks * padded->plane, (lane_block){{0}}, LANES_OF_4);
}
