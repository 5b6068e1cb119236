/* ir_pointwise.c: Relu and Reshape, and the elements of an Add or Relu that is not fused: in the arithmetic of their
 * type, integers modulo 2^bits. */
#include "ir/ir_run.h"

#include <string.h>
#include <strings.h>

/* Elements at a time, which the L1 keeps. */
enum { BLOCK = 256 };

#define ADD(type)                                                                                  \
    for (int64_t i = 0; i < count; i++) {                                                          \
        ((type *)sums)[i] = (type)(((const type *)one)[i] + ((const type *)other)[i]);             \
    }

/* f16, bf16 and 8-bit floats, whose sums a double holds well enough to round once. */
static void add_small(gops_type type, const void *one, const void *other, void *sums, int64_t count)
{
    double values[BLOCK], added[BLOCK];
    gops_ir_convert(type, one, GOPS_F64, values, count);
    gops_ir_convert(type, other, GOPS_F64, added, count);
    for (int64_t i = 0; i < count; i++) {
        values[i] += added[i];
    }
    gops_ir_convert(GOPS_F64, values, type, sums, count);
}

static void add(gops_type type, const void *one, const void *other, void *sums, int64_t count)
{
    const size_t bytes = gops_type_bytes(type);
    if (type == GOPS_F64) {
        ADD(double)
    } else if (type == GOPS_F32) {
        ADD(float)
    } else if (type <= GOPS_F8E5M2) {
        add_small(type, one, other, sums, count);
    } else if (bytes == sizeof(uint8_t)) {
        ADD(uint8_t)
    } else if (bytes == sizeof(uint16_t)) {
        ADD(uint16_t)
    } else if (bytes == sizeof(uint32_t)) {
        ADD(uint32_t)
    } else {
        ADD(uint64_t)
    }
}

/* NaN stays. */
static void cut_below_zero(gops_type type, const char *elements, char *cut, int64_t count)
{
    const size_t bytes = gops_type_bytes(type);
    double values[BLOCK];
    gops_ir_convert(type, elements, GOPS_F64, values, count);
    memcpy(cut, elements, (size_t)count * bytes);
    for (int64_t i = 0; i < count; i++) {
        if (values[i] <= 0) {
            memset(cut + (size_t)i * bytes, 0, bytes);
        }
    }
}

void gops_ir_compute_pointwise(gops_ir_step *step, const gops_ir_inputs *inputs)
{
    const gops_type type = step->output.type;
    const size_t bytes = gops_type_bytes(type);
    const int64_t count = (int64_t)(step->bytes / bytes);
    for (int64_t first = 0; first < count; first += BLOCK) {
        const size_t at = (size_t)first * bytes;
        const int64_t block = count - first < BLOCK ? count - first : BLOCK;
        const char *data = (const char *)inputs->data.elements + at;
        if (step->prepare == gops_ir_prepare_relu) {
            cut_below_zero(type, data, (char *)step->elements + at, block);
        } else {
            add(type, data, (const char *)inputs->residual.elements + at,
                (char *)step->elements + at, block);
        }
    }
}

bool gops_ir_prepare_relu(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    (void)error;
    step->output = *gops_ir_input(run, index, 0);
    step->data = gops_ir_source(run, index, 0);
    step->pointwise = true;
    step->algorithm = "-";
    return true;
}

/* Computes the dimension that the shape leaves open (-1), so that there are as many elements as in the input. Sizes
 * that are `copied` from it count on neither side, as they may be 0. */
static bool resolve_unknown(gops_tensor *tensor, int unknown, const gops_tensor *input,
                            const bool *copied)
{
    gops_tensor known = *tensor, others = *input;
    int64_t count, known_count;
    if (unknown < 0) {
        return gops_ir_count(tensor, &known_count) && gops_ir_count(input, &count) &&
               known_count == count;
    }
    known.dims[unknown] = 1;
    for (int axis = 0; axis < known.rank; axis++) {
        if (copied[axis]) {
            known.dims[axis] = others.dims[axis] = 1;
        }
    }
    if (!gops_ir_count(&known, &known_count) || !gops_ir_count(&others, &count) ||
        known_count == 0 || count % known_count != 0) {
        return false;
    }
    tensor->dims[unknown] = count / known_count;
    return true;
}

/* Reads special_zero, false where it is missing. */
static bool read_special_zero(const gops_ir_run *run, int index, bool *special,
                              gops_tool_error *error)
{
    const char *text = gops_ir_attribute_value(&run->model->layer[index], "special_zero");
    *special = text != NULL && (strcasecmp(text, "true") == 0 || strcmp(text, "1") == 0);
    return text == NULL || *special || strcasecmp(text, "false") == 0 || strcmp(text, "0") == 0 ||
           gops_ir_refuse(run, index, error, "special_zero \"%.40s\" is neither true nor false",
                          text);
}

bool gops_ir_prepare_reshape(gops_ir_run *run, int index, gops_tool_error *error)
{
    gops_ir_step *step = &run->step[index];
    const gops_tensor *input = gops_ir_input(run, index, 0);
    gops_ir_text text, shape;
    bool special, fine = true, copied[GOPS_MAX_RANK] = {false};
    int unknown = -1;
    if (!read_special_zero(run, index, &special, error)) {
        return false;
    }
    const int rank = gops_ir_constant_input(run, index, 1, "the shape", step->output.dims, error);
    if (rank < 0) {
        return false;
    }
    step->output.type = input->type;
    step->output.rank = (int32_t)rank;
    const gops_tensor asked = step->output;
    step->data = gops_ir_source(run, index, 0);
    step->constant = run->step[step->data].constant;
    step->algorithm = step->constant ? "folded" : "-";
    for (int axis = 0; axis < rank; axis++) {
        int64_t *dim = &step->output.dims[axis];
        if (*dim == 0 && special) {
            fine = fine && axis < input->rank;
            copied[axis] = fine;
            *dim = fine ? input->dims[axis] : 0;
        } else if (*dim == -1) {
            fine = fine && unknown < 0;
            unknown = axis;
        } else {
            fine = fine && *dim >= 0;
        }
    }
    return (fine && resolve_unknown(&step->output, unknown, input, copied)) ||
           gops_ir_refuse(run, index, error, "the shape, %s, does not go with the input, %s",
                          gops_ir_call_tensor(&asked, &shape), gops_ir_call_tensor(input, &text));
}
