/*
 * ort_pass_bytes.c: the largest of each window of 8-bit integers.
 *
 * A row of outputs is made of the largest of each column of its windows, then of the largest of neighbouring columns.
 * Signed integers are made unsigned ones in the same order by `flip`, so that 0 is the least, for padding.
 *
 * A small plane with a window around each element is taken as one row: an element of all windows lies as far from
 * their middles, and masks leave out what is beyond a window's row.
 *
 * Else AVX-512 loads only the bytes of a mask, so rows need no memory with padding around them: a register takes each
 * element of 64 windows side by side, every other or further one of which is then stored.
 */
#include "engines/onnxruntime/pass/ort_pass_bytes.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#elif defined __SSE2__
#include <emmintrin.h>
#endif

enum { Y, X };

enum {
    BLOCK = 16,
    HALF = BLOCK / 2,
    MAX_ROWS = 16,
    /* A row of the largest pool: data, and on both sides pads below the kernel. Of others it has room for several. */
    ROOM = GOPS_ORT_MAX_BYTES * 3 + BLOCK,
};

/* to[i] becomes the larger of itself and from[i] ^ flip. */
static inline void take_larger(uint8_t *restrict to, const uint8_t *restrict from, uint8_t flip,
                               int64_t count)
{
    int64_t i = 0;
#ifdef __SSE2__
    const __m128i flips = _mm_set1_epi8((char)flip);
    for (; i + BLOCK <= count; i += BLOCK) {
        const __m128i values = _mm_xor_si128(_mm_loadu_si128((const void *)(from + i)), flips);
        _mm_storeu_si128((void *)(to + i),
                         _mm_max_epu8(values, _mm_loadu_si128((const void *)(to + i))));
    }
    for (; i + HALF <= count; i += HALF) {
        const __m128i values = _mm_xor_si128(_mm_loadl_epi64((const void *)(from + i)), flips);
        _mm_storel_epi64((void *)(to + i),
                         _mm_max_epu8(values, _mm_loadl_epi64((const void *)(to + i))));
    }
#endif
    for (; i < count; i++) {
        const uint8_t value = from[i] ^ flip;
        to[i] = to[i] > value ? to[i] : value;
    }
}

#ifdef __SSE2__
/* Every other of 32 bytes. */
static inline __m128i even_bytes(const uint8_t *from)
{
    const __m128i low = _mm_set1_epi16(0xff);
    return _mm_packus_epi16(_mm_and_si128(_mm_loadu_si128((const void *)from), low),
                            _mm_and_si128(_mm_loadu_si128((const void *)(from + BLOCK)), low));
}
#endif

/* Of `from`, which has a block behind its last byte, every `stride`th. */
static inline void pick(uint8_t *restrict to, const uint8_t *restrict from, uint8_t flip,
                        int64_t stride, int64_t count)
{
    int64_t i = 0;
#ifdef __SSE2__
    const __m128i flips = _mm_set1_epi8((char)flip);
    for (; stride == 1 && i + BLOCK <= count; i += BLOCK) {
        _mm_storeu_si128((void *)(to + i),
                         _mm_xor_si128(_mm_loadu_si128((const void *)(from + i)), flips));
    }
    for (; stride == 2 && i + BLOCK <= count; i += BLOCK) {
        _mm_storeu_si128((void *)(to + i), _mm_xor_si128(even_bytes(from + 2 * i), flips));
    }
    for (; stride == 2 && i + HALF <= count; i += HALF) {
        _mm_storel_epi64((void *)(to + i), _mm_xor_si128(even_bytes(from + 2 * i), flips));
    }
#endif
    for (; i < count; i++) {
        to[i] = from[i * stride] ^ flip;
    }
}

static int64_t in_blocks(int64_t count)
{
    return (count + BLOCK - 1) / BLOCK * BLOCK;
}

/* Columns from the first window's first one to the last window's. */
static int64_t span_of(const gops_ort_pass *pass)
{
    return (pass->out[X] - 1) * pass->window.strides[X] + 1;
}

/* From one row to the next: the windows' columns, and blocks that begin at the last one's. */
static int64_t pitch_of(const gops_ort_pass *pass)
{
    return in_blocks(span_of(pass)) + pass->window.kernel[X] - 1;
}

static int64_t rows_of(const gops_ort_pass *pass)
{
    const int64_t rows = ROOM / pitch_of(pass);
    return rows < MAX_ROWS ? rows : MAX_ROWS;
}

/* Rows of outputs from `row` on. Each loop does all of them before the next one begins, since a load that takes from
 * two stores waits until they are in the cache. */
static void largest_rows(const gops_ort_pass *pass, const uint8_t *plane, int64_t row, int64_t rows,
                         uint8_t *to)
{
    const gops_ort_window *window = &pass->window;
    const int64_t width = pass->in[X], kernel = window->kernel[X], pad = window->pads_begin[X];
    const int64_t span = span_of(pass), pitch = pitch_of(pass);
    const int64_t covered = span + kernel - 1 - pad;
    const uint8_t flip = pass->type == GOPS_I8 ? 0x80 : 0;
    uint8_t columns[ROOM], largest[ROOM + BLOCK];
    memset(columns, 0, (size_t)(rows * pitch));
    for (int64_t r = 0; r < rows; r++) {
        const gops_ort_range of = gops_ort_covered(window, Y, pass->in[Y], row + r);
        for (int64_t y = of.begin; y < of.end; y++) {
            take_larger(columns + r * pitch + pad, plane + y * width, flip,
                        covered < width ? covered : width);
        }
    }
    memcpy(largest, columns, (size_t)(rows * pitch));
    for (int64_t x = 1; x < kernel; x++) {
        for (int64_t r = 0; r < rows; r++) {
            take_larger(largest + r * pitch, columns + r * pitch + x, 0, in_blocks(span));
        }
    }
    for (int64_t r = 0; r < rows; r++) {
        pick(to + r * pass->out[X], largest + r * pitch, flip, window->strides[X], pass->out[X]);
    }
}

/* A plane. */
static void find_largest(const gops_ort_pass *pass, const uint8_t *plane, uint8_t *to)
{
    const int64_t rows = rows_of(pass);
    for (int64_t row = 0; row < pass->out[Y]; row += rows) {
        const int64_t left = pass->out[Y] - row;
        largest_rows(pass, plane, row, left < rows ? left : rows, to + row * pass->out[X]);
    }
}

enum {
    SMALL_KERNEL = 5,
    SMALL_ROW = 128,
    SMALL_PLANE = 4096,
    EDGE = SMALL_KERNEL * (SMALL_ROW + 1)
};

/* For each column of windows around the elements of a plane, 255 where it lies in the row, else 0. */
typedef struct columns {
    uint8_t of[SMALL_KERNEL][SMALL_PLANE];
} columns;

static bool is_around(const gops_ort_pass *pass)
{
    bool is = pass->plane <= SMALL_PLANE && pass->in[X] <= SMALL_ROW;
    for (int axis = Y; axis <= X; axis++) {
        is = is && pass->window.kernel[axis] <= SMALL_KERNEL && pass->window.strides[axis] == 1 &&
             pass->out[axis] == pass->in[axis];
    }
    return is;
}

static void find_columns(const gops_ort_pass *pass, columns *found)
{
    for (int64_t k = 0; k < pass->window.kernel[X]; k++) {
        const int64_t shift = k - pass->window.pads_begin[X];
        for (int64_t i = 0; i < pass->plane; i++) {
            const int64_t x = i % pass->in[X] + shift;
            found->of[k][i] = x >= 0 && x < pass->in[X] ? UINT8_MAX : 0;
        }
    }
}

#define LOOPS "engines/onnxruntime/pass/ort_pass_bytes.inc.h"
#include "engines/onnxruntime/pass/ort_pass_sets.inc.h"

#ifdef __x86_64__
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl")))

enum { LANES = 64 };

/* Of the lanes from `lane` on, those whose column lies below `end`. */
static inline __mmask64 lanes_between(int64_t lane, int64_t end)
{
    lane = lane > 0 ? lane : 0;
    end = end < LANES ? end : LANES;
    return end <= lane ? 0 : ~(__mmask64)0 >> (LANES - end) & ~(__mmask64)0 << lane;
}

/* Windows of a row of outputs. */
typedef struct window_row {
    const uint8_t *from; /* where their first row begins; of rows that exist, so many */
    int64_t rows, width;
    int64_t columns; /* of a window */
    __m512i flip;
} window_row;

/* The largest of `rows` elements, each below the one before, in the columns of the mask; 0 elsewhere. */
TARGET static inline __m512i largest_of_rows(const window_row *of, const int64_t rows,
                                             int64_t column, __mmask64 mask)
{
    __m512i all = _mm512_setzero_si512();
    for (int64_t y = 0; y < rows; y++) {
        const __m512i row = _mm512_maskz_loadu_epi8(mask, of->from + y * of->width + column);
        all = _mm512_mask_max_epu8(all, mask, all, _mm512_xor_si512(row, of->flip));
    }
    return all;
}

/* Of 64 columns from `column` on, of which some may be outside. */
TARGET static inline __m512i largest_of_columns(const window_row *of, int64_t column)
{
    const __mmask64 mask = lanes_between(-column, of->width - column);
    return of->rows == 3   ? largest_of_rows(of, 3, column, mask)
           : of->rows == 2 ? largest_of_rows(of, 2, column, mask)
                           : largest_of_rows(of, of->rows, column, mask);
}

/* Each word's next one. */
TARGET static inline __m512i next_words(__m512i words)
{
    const __m512i quarters = _mm512_alignr_epi32(words, words, 4);
    return _mm512_alignr_epi8(quarters, words, 2);
}

/* Windows of at most three columns two apart, 31 of them: a word has two columns, the third is in the next word. */
enum { OF_2 = 31 };
TARGET static inline __m256i largest_of_2(const window_row *of, int64_t column)
{
    const __m512i words = largest_of_columns(of, column);
    __m512i all = words;
    if (of->columns > 1) {
        all = _mm512_max_epu8(all, _mm512_srli_epi16(words, 8));
    }
    if (of->columns > 2) {
        all = _mm512_max_epu8(all, next_words(words));
    }
    return _mm512_cvtepi16_epi8(_mm512_xor_si512(all, of->flip));
}

/* Any windows, one for each of 64 columns. */
TARGET static inline __m512i largest_of_64(const window_row *of, int64_t column)
{
    __m512i all = largest_of_columns(of, column);
    for (int64_t x = 1; x < of->columns; x++) {
        all = _mm512_max_epu8(all, largest_of_columns(of, column + x));
    }
    return _mm512_xor_si512(all, of->flip);
}

/* Every `stride`th of them, `count` in all. */
TARGET static inline void store_strided(uint8_t *to, __m512i all, int64_t stride, int64_t count)
{
    if (stride == 1) {
        _mm512_mask_storeu_epi8(to, lanes_between(0, count), all);
        return;
    }
    uint8_t some[LANES];
    _mm512_storeu_si512((void *)some, all);
    for (int64_t i = 0; i < count; i++) {
        to[i] = some[i * stride];
    }
}

TARGET static void find_largest_by_avx512(const gops_ort_pass *pass, const uint8_t *plane,
                                          uint8_t *to)
{
    const gops_ort_window *window = &pass->window;
    const int64_t stride = window->strides[X], width = pass->out[X], pad = window->pads_begin[X];
    const bool of_2 = stride == 2 && window->kernel[X] <= 3;
    const int64_t some = of_2 ? OF_2 : (LANES - 1) / stride + 1; /* outputs of a register */
    for (int64_t y = 0; y < pass->out[Y]; y++, to += width) {
        const gops_ort_range rows = gops_ort_covered(window, Y, pass->in[Y], y);
        const window_row of = {
            .from = plane + rows.begin * pass->in[X],
            .rows = rows.end - rows.begin,
            .width = pass->in[X],
            .columns = window->kernel[X],
            .flip = _mm512_set1_epi8(pass->type == GOPS_I8 ? INT8_MIN : 0),
        };
        for (int64_t x = 0; x < width; x += some) {
            const int64_t column = x * stride - pad, count = width - x < some ? width - x : some;
            if (of_2) {
                _mm256_mask_storeu_epi8(to + x, (__mmask32)lanes_between(0, count),
                                        largest_of_2(&of, column));
            } else {
                store_strided(to + x, largest_of_64(&of, column), stride, count);
            }
        }
    }
}
#endif

void gops_ort_pass_bytes(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                         int64_t first, int64_t last)
{
    const uint8_t *data = operands->data;
    uint8_t *output = operands->output;
    const bool around = is_around(pass);
    columns masks;
    if (around) {
        find_columns(pass, &masks);
    }
    for (int64_t i = first; i < last; i++) {
        const uint8_t *from = data + i * pass->plane;
        uint8_t *to = output + i * pass->out[Y] * pass->out[X];
        if (around) {
            BY_SET(pass, largest_around, pass, &masks, from, to);
            continue;
        }
#ifdef __x86_64__
        if (pass->vectors >= GOPS_ORT_AVX512) {
            find_largest_by_avx512(pass, from, to);
            continue;
        }
#endif
        find_largest(pass, from, to);
    }
}
