/* depthwise_permuted_filters.inc.h: the filters of a call of depthwise_permuted.inc.h, one after the other. */

typedef __m512i bytes;

GOPS_INLINE uint64_t first_bits(int64_t count)
{
    return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

/* What the filters of a call have of their own, and how far one is from the next one. Kept in memory:
 * a broadcast from memory takes a load port, one from a register takes a port that multiplies. */
typedef struct permuted_filters {
    const gops_permuted_call *call;
    int64_t image, weights, output;
    int64_t left; /* filters of the group, with the one that is next */
    uint32_t starts[GOPS_PERMUTED_FILTERS];
    float scales[GOPS_PERMUTED_FILTERS];
} permuted_filters;

/* A filter of a call, its image and its outputs. */
typedef struct permuted_filter {
    permuted_filters *of;
    int64_t number; /* in the call */
    const uint8_t *data;
    const int32_t *weights; /* [parts, kernel_y, row_quads], or [parts, whole_quads]; 4 taps each */
    uint8_t *output;
} permuted_filter;

/* The first filter of a call. */
static __attribute__((noinline)) permuted_filter
begin_filters(permuted_filters *filters, const gops_permuted_call *call, bool whole)
{
    const gops_permuted_shape *shape = call->shape;
    const int64_t rows = GOPS_PERMUTED_PARTS * shape->kernel_y * shape->row_quads;
    const bytes zero = _mm512_set1_epi32((int32_t)call->zero_of_sums);
    filters->call = call;
    filters->image = call->data_step;
    filters->weights = call->weights_step;
    filters->output = call->output_step;
    filters->left = call->channels_out - call->first_in_group;
    for (int64_t i = 0; i < call->count; i += GOPS_PERMUTED_LANES) {
        const __mmask16 mask =
            (__mmask16)first_bits(gops_min(call->count - i, GOPS_PERMUTED_LANES));
        const bytes sums = _mm512_maskz_loadu_epi32(mask, call->weight_sums + i);
        const bytes bias = call->bias != NULL ? _mm512_maskz_loadu_epi32(mask, call->bias + i)
                                              : _mm512_setzero_si512();
        _mm512_storeu_si512(filters->starts + i,
                            _mm512_sub_epi32(bias, _mm512_mullo_epi32(zero, sums)));
        if (call->codes) {
            _mm512_storeu_ps(filters->scales + i, _mm512_maskz_loadu_ps(mask, call->scales + i));
        }
    }
    return (permuted_filter){
        .of = filters,
        .data = call->data,
        .weights = call->weights + (whole ? rows : 0),
        .output = call->output,
    };
}

GOPS_INLINE void next_filter(permuted_filter *filter)
{
    permuted_filters *filters = filter->of;
    filter->number++;
    filter->weights += filters->weights;
    filter->output += filters->output;
    if (--filters->left == 0) {
        filters->left = filters->call->channels_out;
        filter->data += filters->image;
    }
}

GOPS_INLINE bytes start_of(const permuted_filter *filter)
{
    return _mm512_set1_epi32((int32_t)filter->of->starts[filter->number]);
}

GOPS_INLINE __m512 scale_of(const permuted_filter *filter)
{
    return _mm512_set1_ps(filter->of->scales[filter->number]);
}

GOPS_INLINE int32_t parts_of(const permuted_filter *filter)
{
    return filter->of->call->parts[filter->number];
}
