/*
 * ort_pass_bytes.c: the largest of each window of 8-bit integers.
 *
 * A row of outputs is made of the largest of each column of its windows, then of the largest of neighbouring columns.
 * Signed integers are made unsigned ones in the same order by `flip`, so that 0 is the least, for padding.
 */
#include "engines/onnxruntime/pass/ort_pass_bytes.h"

#include <string.h>

#ifdef __SSE2__
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
    const uint8_t flip = pass->kind == GOPS_ORT_PASS_MAX_I8 ? 0x80 : 0;
    uint8_t columns[ROOM], largest[ROOM + BLOCK];
    memset(columns, 0, (size_t)(rows * pitch));
    for (int64_t r = 0; r < rows; r++) {
        const int64_t first = (row + r) * window->strides[Y] - window->pads_begin[Y];
        const int64_t end = first + window->kernel[Y];
        for (int64_t y = first > 0 ? first : 0; y < end && y < pass->in[Y]; y++) {
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

void gops_ort_pass_bytes(const gops_ort_pass *pass, const gops_ort_pass_operands *operands,
                         int64_t first, int64_t last)
{
    const uint8_t *data = operands->data;
    uint8_t *output = operands->output;
    const int64_t rows = rows_of(pass);
    for (int64_t i = first; i < last; i++) {
        const int64_t image = i / pass->channels, channel = i % pass->channels;
        const uint8_t *from = data + image * operands->data_stride + channel * pass->plane;
        uint8_t *to =
            output + image * operands->output_stride + channel * pass->out[Y] * pass->out[X];
        for (int64_t row = 0; row < pass->out[Y]; row += rows) {
            const int64_t left = pass->out[Y] - row;
            largest_rows(pass, from, row, left < rows ? left : rows, to + row * pass->out[X]);
        }
    }
}
