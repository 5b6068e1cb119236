/*
 * types/each_type.inc.h: the element types. To add one, add its number to gops_type of
 * groupops/tensor.h, its two conversions and its row here, and its name, number and variant to
 * GOPS_FLOAT_ROWS or GOPS_INTEGER_ROWS of types/types.h.
 *
 * Parameter: EACH_TYPE, a string: the file that is included for each row. In it are defined
 *
 *     T                 type: an element in memory
 *     C                 type: the compute type
 *     LOAD(T)           C: the value of an element
 *     STORE(C)          T: the element of a value
 *     NAME(symbol)      the symbol with the row's name in front
 *     ROW               initializer of name, type, compute and native
 *     VALUE(T)          double: floating point types alone
 *     ROUND(double)     T: floating point types alone
 *     INTEGER           defined for integers; C is then unsigned
 *     ELEMENT           type: the element's own type, where T only has its size
 *     LOAD_BLOCK(to, from, length), STORE_BLOCK(to, from, length)
 *                       statements: convert 16, 8 or 4 values; not for all types
 *     WIDEN, NARROW, LANES_LOAD, LANES_STORE
 *                       the same by functions of widen.h and small_float.h; not for all types
 *     ROUND_IN_BLOCKS   defined if rounding by blocks is faster than one by one
 *     NORM_IN_DOUBLES   defined if a normalization of this type needs doubles
 *     SHIFTED           defined if values may have a zero point, which is subtracted
 *     NEXT_SATURATES    defined if the next row is the same type, saturated: it defines LANES_STORE,
 *                       STORE, ROUND and NAME, and has the other macros of this row
 *
 * Floating point types below f32 are multiplied and added in f32. Integers are exact modulo 2^bits:
 * they are multiplied and added as unsigned integers of 16, 32 or 64 bits, whose arithmetic is
 * modular. A sum modulo 2^16 determines the result modulo 2^8 for every K.
 */
#include "base/checked.h"
#include "types/blocks.h"
#include "types/f16c.h"
#include "types/small_float.h"
#include "types/types.h"
#include "types/widen.h"

#include <string.h>

#define SAME(value) (value)

#define T float
#define C float
#define LOAD SAME
#define STORE SAME
#define VALUE (double)
#define ROUND (float)
#define NAME(symbol) f32_##symbol
#define ROW .name = "f32", .type = GOPS_F32, .compute = GOPS_COMPUTE_F32, .native = true
#include "types/one_type.inc.h"

#define T double
#define C double
#define LOAD SAME
#define STORE SAME
#define VALUE SAME
#define ROUND SAME
#define NORM_IN_DOUBLES
#define NAME(symbol) f64_##symbol
#define ROW .name = "f64", .type = GOPS_F64, .compute = GOPS_COMPUTE_F64, .native = true
#include "types/one_type.inc.h"

#ifdef __F16C__
#define LOAD_BLOCK f16c_load
#define STORE_BLOCK f16c_store
#endif
#define T uint16_t
#define C float
#define LOAD(code) gops_f16_load((uint32_t)(code))
#ifndef __F16C__
#define WIDEN gops_widen_u16
#define LANES_LOAD gops_lanes_f16_load
#define NARROW gops_narrow_u16
#define LANES_STORE gops_lanes_f16_store
#endif
#define STORE(value) (uint16_t) gops_f16_store(value)
#define VALUE (double)gops_f16_load
#define ROUND(value) (uint16_t) gops_f16_store(gops_round_to_odd(value))
#define NAME(symbol) f16_##symbol
#define ROW .name = "f16", .type = GOPS_F16, .compute = GOPS_COMPUTE_F32
#include "types/one_type.inc.h"

#define T uint16_t
#define C float
#define LOAD(code) gops_bf16_load((uint32_t)(code))
#define WIDEN gops_widen_u16
#define LANES_LOAD gops_lanes_bf16_load
#define NARROW gops_narrow_u16
#define LANES_STORE gops_lanes_bf16_store
#define STORE(value) (uint16_t) gops_bf16_store(value)
#define VALUE (double)gops_bf16_load
#define ROUND gops_bf16_round
#define NAME(symbol) bf16_##symbol
#define ROW .name = "bf16", .type = GOPS_BF16, .compute = GOPS_COMPUTE_F32
#include "types/one_type.inc.h"

#define T uint8_t
#define C float
#define LOAD(code) gops_f8e4m3_load((uint32_t)(code))
#define WIDEN gops_widen_u8
#define LANES_LOAD gops_lanes_f8e4m3_load
#define NARROW gops_narrow_u8
#define LANES_STORE gops_lanes_f8e4m3_store
#define STORE(value) (uint8_t) gops_f8e4m3_store(value)
#define VALUE (double)gops_f8e4m3_load
#define ROUND(value) (uint8_t) gops_f8e4m3_store(gops_round_to_odd(value))
#define ROUND_IN_BLOCKS
#define NAME(symbol) f8e4m3_##symbol
#define ROW .name = "f8e4m3", .type = GOPS_F8E4M3, .compute = GOPS_COMPUTE_F32
#define NEXT_SATURATES
#include "types/one_type.inc.h"

#define LANES_STORE gops_lanes_f8e4m3_saturate
#define STORE(value) (uint8_t) gops_f8e4m3_saturate(value)
#define ROUND(value) (uint8_t) gops_f8e4m3_saturate(gops_round_to_odd(value))
#define NAME(symbol) f8e4m3_saturating_##symbol
#include "types/one_type.inc.h"

#define T uint8_t
#define C float
#define LOAD(code) gops_f8e5m2_load((uint32_t)(code))
#ifdef __F16C__
#define LOAD_BLOCK f8e5m2_f16c_load
#else
#define WIDEN gops_widen_u8
#define LANES_LOAD gops_lanes_f8e5m2_load
#endif
#define NARROW gops_narrow_u8
#define LANES_STORE gops_lanes_f8e5m2_store
#define STORE(value) (uint8_t) gops_f8e5m2_store(value)
#define VALUE (double)gops_f8e5m2_load
#define ROUND(value) (uint8_t) gops_f8e5m2_store(gops_round_to_odd(value))
#define NAME(symbol) f8e5m2_##symbol
#define ROW .name = "f8e5m2", .type = GOPS_F8E5M2, .compute = GOPS_COMPUTE_F32
#define NEXT_SATURATES
#include "types/one_type.inc.h"

#define LANES_STORE gops_lanes_f8e5m2_saturate
#define STORE(value) (uint8_t) gops_f8e5m2_saturate(value)
#define ROUND(value) (uint8_t) gops_f8e5m2_saturate(gops_round_to_odd(value))
#define NAME(symbol) f8e5m2_saturating_##symbol
#include "types/one_type.inc.h"

#define T int8_t
#define C uint16_t
#define LOAD_BLOCK gops_widen_i8_u16
#define LOAD (uint16_t)
#define STORE (int8_t)
#define INTEGER
#define NAME(symbol) i8_##symbol
#define ROW .name = "i8", .type = GOPS_I8, .compute = GOPS_COMPUTE_U16
#include "types/one_type.inc.h"

#define T uint8_t
#define C uint16_t
#define LOAD_BLOCK gops_widen_u8_u16
#define LOAD (uint16_t)
#define STORE (uint8_t)
#define INTEGER
#define NAME(symbol) u8_##symbol
#define ROW .name = "u8", .type = GOPS_U8, .compute = GOPS_COMPUTE_U16
#include "types/one_type.inc.h"

#define T uint16_t
#define C uint16_t
#define ELEMENT int16_t
#define LOAD SAME
#define STORE SAME
#define INTEGER
#define NAME(symbol) i16_##symbol
#define ROW .name = "i16", .type = GOPS_I16, .compute = GOPS_COMPUTE_U16, .native = true
#include "types/one_type.inc.h"

#define T uint16_t
#define C uint16_t
#define LOAD SAME
#define STORE SAME
#define INTEGER
#define NAME(symbol) u16_##symbol
#define ROW .name = "u16", .type = GOPS_U16, .compute = GOPS_COMPUTE_U16, .native = true
#include "types/one_type.inc.h"

#define T uint32_t
#define C uint32_t
#define ELEMENT int32_t
#define LOAD SAME
#define STORE SAME
#define INTEGER
#define NAME(symbol) i32_##symbol
#define ROW .name = "i32", .type = GOPS_I32, .compute = GOPS_COMPUTE_U32, .native = true
#include "types/one_type.inc.h"

#define T uint32_t
#define C uint32_t
#define LOAD SAME
#define STORE SAME
#define INTEGER
#define NAME(symbol) u32_##symbol
#define ROW .name = "u32", .type = GOPS_U32, .compute = GOPS_COMPUTE_U32, .native = true
#include "types/one_type.inc.h"

#define T uint64_t
#define C uint64_t
#define ELEMENT int64_t
#define LOAD SAME
#define STORE SAME
#define INTEGER
#define NAME(symbol) i64_##symbol
#define ROW .name = "i64", .type = GOPS_I64, .compute = GOPS_COMPUTE_U64, .native = true
#include "types/one_type.inc.h"

#define T uint64_t
#define C uint64_t
#define LOAD SAME
#define STORE SAME
#define INTEGER
#define NAME(symbol) u64_##symbol
#define ROW .name = "u64", .type = GOPS_U64, .compute = GOPS_COMPUTE_U64, .native = true
#include "types/one_type.inc.h"

/* The 8-bit integers as ConvInteger takes them: with zero points, and sums of 32 bits. */
#define T int8_t
#define C uint32_t
#define WIDEN gops_widen_i8
#define SHIFTED
#define LOAD (uint32_t)
#define STORE (int8_t)
#define INTEGER
#define NAME(symbol) i8_wide_##symbol
#define ROW .name = "i8", .type = GOPS_I8, .compute = GOPS_COMPUTE_U32
#include "types/one_type.inc.h"

#define T uint8_t
#define C uint32_t
#define WIDEN gops_widen_u8
#define SHIFTED
#define LOAD (uint32_t)
#define STORE (uint8_t)
#define INTEGER
#define NAME(symbol) u8_wide_##symbol
#define ROW .name = "u8", .type = GOPS_U8, .compute = GOPS_COMPUTE_U32
#include "types/one_type.inc.h"

#undef SAME
