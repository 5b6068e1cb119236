/*
 * types/small_float.inc.h: the conversions that types/small_float.h derives, of one value or of as
 * many as a vector register holds.
 *
 * Parameters, which the file undefines:
 *
 *   BITS, FLOAT               types: uint32_t and float, or vectors of them
 *   SELECT(condition, a, b)   BITS: a where the condition holds, else b
 *   BITS_OF(FLOAT)            BITS: of the same bits
 *   FLOAT_OF(BITS)            FLOAT: of the same bits
 *   TO_FLOAT(BITS)            FLOAT: of the same value, which is small
 *   SMALL(symbol)             puts a name in front of a symbol
 */

/* The value of a code without its sign. Codes from `special` on are infinity and NaN, which keeps
 * its mantissa. */
static inline FLOAT SMALL(load_code)(BITS code, int mantissa, int bias, uint32_t special)
{
    const BITS shifted = code << (23 - mantissa);
    const BITS normal = shifted + ((uint32_t)(127 - bias) << 23);
    const BITS beyond = shifted | 0x7f800000;
    const FLOAT tiny = TO_FLOAT(code) * gops_power_of_two(1 - bias - mantissa);
    const BITS finite = SELECT(code >> mantissa != 0, normal, BITS_OF(tiny));
    return FLOAT_OF(SELECT(code >= special, beyond, finite));
}

/* The code nearest to a float's magnitude, at most `top`; `nan` for NaN. */
static inline BITS SMALL(store_code)(BITS magnitude, int mantissa, int bias, uint32_t top, BITS nan)
{
    const int drop = 23 - mantissa;
    const BITS rebiased = magnitude - ((uint32_t)(127 - bias) << 23);
    const BITS half = (rebiased >> drop & 1) + (((uint32_t)1 << (drop - 1)) - 1);
    const float step = gops_power_of_two(24 - bias - mantissa);
    const BITS tiny = BITS_OF(FLOAT_OF(magnitude) + step) - gops_bits_of(step);
    const BITS normal = (rebiased + half) >> drop;
    const BITS code = SELECT(magnitude < (uint32_t)(128 - bias) << 23, tiny, normal);
    const BITS most = code - code + top;
    const BITS finite = SELECT(code < top, code, most);
    return SELECT(magnitude > 0x7f800000, nan, finite);
}

/* A NaN becomes a quiet one, as in the processor's conversions. */
static inline FLOAT SMALL(f16_load)(BITS code)
{
    const BITS magnitude = code & 0x7fff;
    const BITS quiet = SELECT(magnitude > 0x7c00, magnitude | 0x200, magnitude);
    return FLOAT_OF(BITS_OF(SMALL(load_code)(quiet, 10, 15, 0x7c00)) | (code & 0x8000) << 16);
}

static inline BITS SMALL(f16_store)(FLOAT value)
{
    const BITS bits = BITS_OF(value), magnitude = bits & 0x7fffffff;
    const BITS nan = (magnitude >> 13 & 0x3ff) | 0x7e00;
    return SMALL(store_code)(magnitude, 10, 15, 0x7c00, nan) | (bits >> 16 & 0x8000);
}

static inline FLOAT SMALL(bf16_load)(BITS code)
{
    return FLOAT_OF(code << 16);
}

static inline BITS SMALL(bf16_store)(FLOAT value)
{
    const BITS bits = BITS_OF(value);
    const BITS rounded = (bits + (bits >> 16 & 1) + 0x7fff) >> 16;
    const BITS nan = bits >> 16 | 0x40;
    return SELECT((bits & 0x7fffffff) > 0x7f800000, nan, rounded);
}

/* There are no infinities; S.1111.111 is NaN, all other codes are finite. */
static inline FLOAT SMALL(f8e4m3_load)(BITS code)
{
    const BITS magnitude = code & 0x7f;
    const BITS nan = (code & 0) | 0x7fc00000;
    const BITS finite = BITS_OF(SMALL(load_code)(magnitude, 3, 7, 0x80));
    return FLOAT_OF(SELECT(magnitude == 0x7f, nan, finite) | (code & 0x80) << 24);
}

static inline BITS SMALL(f8e4m3_store_to)(FLOAT value, uint32_t top)
{
    const BITS bits = BITS_OF(value);
    const BITS nan = (bits & 0) | 0x7f;
    return SMALL(store_code)(bits & 0x7fffffff, 3, 7, top, nan) | (bits >> 24 & 0x80);
}

/* The OCP specification's non-saturating mode: values beyond 448, infinities too, become NaN. */
static inline BITS SMALL(f8e4m3_store)(FLOAT value)
{
    return SMALL(f8e4m3_store_to)(value, 0x7f);
}

/* Its saturating mode: they become 448. */
static inline BITS SMALL(f8e4m3_saturate)(FLOAT value)
{
    return SMALL(f8e4m3_store_to)(value, 0x7e);
}

/* A code is the upper half of an f16's. */
static inline FLOAT SMALL(f8e5m2_load)(BITS code)
{
    return SMALL(f16_load)(code << 8);
}

static inline BITS SMALL(f8e5m2_store_to)(FLOAT value, uint32_t top)
{
    const BITS bits = BITS_OF(value), magnitude = bits & 0x7fffffff;
    const BITS nan = (magnitude >> 21 & 1) | 0x7e;
    return SMALL(store_code)(magnitude, 2, 15, top, nan) | (bits >> 24 & 0x80);
}

/* Non-saturating: values beyond 57344 become infinity. */
static inline BITS SMALL(f8e5m2_store)(FLOAT value)
{
    return SMALL(f8e5m2_store_to)(value, 0x7c);
}

/* Saturating: they, and infinities, become 57344. */
static inline BITS SMALL(f8e5m2_saturate)(FLOAT value)
{
    return SMALL(f8e5m2_store_to)(value, 0x7b);
}

#undef BITS
#undef FLOAT
#undef SELECT
#undef BITS_OF
#undef FLOAT_OF
#undef TO_FLOAT
#undef SMALL
