/* type_rows.isa.c: the rows of the element types. */
#include "types/types.h"

#define INDEX(name) name##_index = GOPS_ROW_##name,
enum { GOPS_FLOAT_ROWS(INDEX) GOPS_INTEGER_ROWS(INDEX) };
#undef INDEX

#define EACH_TYPE "types/type.inc.h"
#include "types/each_type.inc.h"

const struct gops_type_rows GOPS_ISA_NAME(gops_type_rows) = {{
    {
        [GOPS_F64] = &f64_row,
        [GOPS_F32] = &f32_row,
        [GOPS_F16] = &f16_row,
        [GOPS_BF16] = &bf16_row,
        [GOPS_F8E4M3] = &f8e4m3_row,
        [GOPS_F8E5M2] = &f8e5m2_row,
        [GOPS_I8] = &i8_row,
        [GOPS_I16] = &i16_row,
        [GOPS_I32] = &i32_row,
        [GOPS_I64] = &i64_row,
        [GOPS_U8] = &u8_row,
        [GOPS_U16] = &u16_row,
        [GOPS_U32] = &u32_row,
        [GOPS_U64] = &u64_row,
    },
    [GOPS_TYPE_SATURATING] =
        {
            [GOPS_F8E4M3] = &f8e4m3_saturating_row,
            [GOPS_F8E5M2] = &f8e5m2_saturating_row,
        },
    [GOPS_TYPE_WIDE] =
        {
            [GOPS_I8] = &i8_wide_row,
            [GOPS_U8] = &u8_wide_row,
        },
}};
