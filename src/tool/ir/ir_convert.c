/* ir_convert.c: Convert from one floating point type to a wider one that has all of its values, as
 * the constants of a model compressed to f16 are brought back to f32. Conversions that round, and
 * those of integers, are refused. */
#include "ir/ir_run.h"

#include "types/small_float.h"

#include <string.h>

static double load_float(gops_type type, const unsigned char *element)
{
    uint16_t half;
    float single;
    double whole;
    switch (type) {
    case GOPS_F8E4M3:
        return (double)gops_f8e4m3_load(*element);
    case GOPS_F8E5M2:
        return (double)gops_f8e5m2_load(*element);
    case GOPS_F16:
        memcpy(&half, element, sizeof half);
        return (double)gops_f16_load(half);
    case GOPS_BF16:
        memcpy(&half, element, sizeof half);
        return (double)gops_bf16_load(half);
    case GOPS_F32:
        memcpy(&single, element, sizeof single);
        return (double)single;
    default:
        memcpy(&whole, element, sizeof whole);
        return whole;
    }
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
        const double value =
            load_float(from, (const unsigned char *)elements + (size_t)i * from_bytes);
        const float single = (float)value;
        memcpy((char *)converted + (size_t)i * to_bytes,
               to == GOPS_F64 ? (const void *)&value : (const void *)&single, to_bytes);
    }
}

static bool is_exact(gops_type from, gops_type to)
{
    const bool from_float = from >= GOPS_F64 && from <= GOPS_F8E5M2;
    return from == to || (from_float && to == GOPS_F64) ||
           (from_float && from != GOPS_F64 && to == GOPS_F32);
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
    step->algorithm = "-";
    return is_exact(from->type, to) ||
           gops_ir_refuse(run, index, error,
                          "from %s to %s is not run: a floating point type goes to f32 or f64 "
                          "that has all of its values",
                          gops_type_name(from->type), gops_type_name(to));
}
