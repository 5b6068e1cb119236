/* types/type_rows.c: the rows of the element types. To add a type, add its two conversions and its
 * row here. Compiled once for each instruction set. */
#include "kernels/kernels.h"

#include "base/checked.h"
#include "types/types.h"

enum {
    GOPS_NORM_LANES = 16, /* two AVX-512 vectors of double: enough chains to hide the additions */
    GOPS_NORM_BLOCK = 4096,
};

#define SAME(value) (value)

#define T float
#define C float
#define LOAD SAME
#define STORE SAME
#define VALUE (double)
#define ROUND (float)
#define NAME(symbol) f32_##symbol
#define ROW .type = GOPS_F32, .compute = GOPS_COMPUTE_F32, .plain = 1
#include "types/type.inc.h"

#define T double
#define C double
#define LOAD SAME
#define STORE SAME
#define VALUE SAME
#define ROUND SAME
#define NAME(symbol) f64_##symbol
#define ROW .type = GOPS_F64, .compute = GOPS_COMPUTE_F64, .plain = 1
#include "types/type.inc.h"

const gops_type_row *GOPS_ISA_NAME(gops_type_rows)(gops_type type)
{
    static const gops_type_row *const rows[] = {[GOPS_F32] = &f32_row, [GOPS_F64] = &f64_row};
    return (size_t)type < sizeof rows / sizeof rows[0] ? rows[type] : NULL;
}
