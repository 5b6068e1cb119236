/* ir_convert.c: Convert to a floating point type that has all values of the type converted from, as
 * constants of f16 or u8 are brought back to f32. Conversions that round are refused. */
#include "ir/ir_run.h"

#include "npy/element.h"

#include <string.h>

double gops_ir_round(gops_type type, double value)
{
    double element; /* as wide as any */
    gops_element_store(type, value, &element);
    return gops_element_load(type, &element);
}

void gops_ir_convert(gops_type from, const void *elements, gops_type to, void *converted,
                     int64_t count)
{
    const size_t from_bytes = gops_type_bytes(from);
    const size_t to_bytes = gops_type_bytes(to);
    if (from == to) {
        memcpy(converted, elements, (size_t)count * to_bytes);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        gops_element_store(
            to, gops_element_load(from, (const unsigned char *)elements + (size_t)i * from_bytes),
            (unsigned char *)converted + (size_t)i * to_bytes);
    }
}

bool gops_ir_computes_in(gops_type type)
{
    return type == GOPS_F64 || type == GOPS_F32 || type == GOPS_F16 || type == GOPS_BF16;
}

/* Binary digits that an element's value may have, from the first that is not 0 to the last. */
static int digits(gops_type type)
{
    static const int of_reals[] = {[GOPS_F64] = 53, [GOPS_F32] = 24,   [GOPS_F16] = 11,
                                   [GOPS_BF16] = 8, [GOPS_F8E4M3] = 4, [GOPS_F8E5M2] = 3};
    return type <= GOPS_F8E5M2 ? of_reals[type] : 8 * (int)gops_type_bytes(type);
}

static bool is_exact(gops_type from, gops_type to)
{
    /* bf16 has exponents that f16 does not have. */
    const bool fits = digits(from) <= digits(to) && !(from == GOPS_BF16 && to == GOPS_F16);
    return from == to || (gops_ir_computes_in(to) && fits);
}

bool gops_ir_prepare_convert(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    const char *name = gops_ir_attribute_value(&run->model->layer[index], "destination_type");
    const gops_type to = name != NULL ? gops_ir_type(name) : 0;
    const gops_tensor *from = gops_ir_input(run, index, 0);
    if (to == 0) {
        return gops_ir_refuse(run, index, error, "destination_type \"%.40s\" is not offered",
                              name != NULL ? name : "");
    }
    step->output = *from;
    step->output.type = to;
    step->data = gops_ir_source(run, index, 0);
    step->constant = run->step[step->data].constant;
    step->algorithm = step->constant ? "folded" : "-";
    return is_exact(from->type, to) ||
           gops_ir_refuse(run, index, error,
                          "from %s to %s is not run: a type goes to f64, f32, f16 or bf16 that "
                          "has all of its values",
                          gops_type_name(from->type), gops_type_name(to));
}
