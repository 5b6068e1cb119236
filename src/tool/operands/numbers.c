/* numbers.c: reads a number or a file of them, and refuses by its flag's name what is none. */
#include "operands/numbers.h"

#include "npy/element.h"
#include "npy/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool gops_numbers_read(gops_tool_numbers *numbers, gops_type type, gops_tool_error *error)
{
    char *end;
    gops_npy_file file;
    numbers->number = strtod(numbers->text, &end);
    numbers->count = 1;
    if (end != numbers->text && *end == '\0') {
        return true;
    }
    if (!gops_npy_open(numbers->text, &file, error)) {
        return gops_tool_prefix(error, "--%s", numbers->flag);
    }
    const bool done = (type == 0 || gops_npy_retype(&file, type, error)) &&
                      gops_npy_read(&file, &numbers->elements, error);
    numbers->type = file.tensor.type;
    numbers->count = (int64_t)(file.bytes / gops_type_bytes(numbers->type));
    gops_npy_close(&file);
    return done || gops_tool_prefix(error, "--%s", numbers->flag);
}

bool gops_numbers_check_real(const gops_tool_numbers *numbers, gops_tool_error *error)
{
    return numbers->type == 0 || numbers->type == GOPS_F32 || numbers->type == GOPS_F64 ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED,
                            "--%s: the elements of %s are %s; f32 or f64 is needed", numbers->flag,
                            numbers->text, gops_type_name(numbers->type));
}

bool gops_numbers_check_count(const gops_tool_numbers *numbers, const gops_tensor *output,
                              gops_tool_error *error)
{
    const int64_t channels = output->dims[1];
    return numbers->count == 1 || numbers->count == channels ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED,
                            "--%s: %s has %" PRId64 " elements; there must be 1, or one for each "
                            "of the %" PRId64 " output channels",
                            numbers->flag, numbers->text, numbers->count, channels);
}

double gops_numbers_element(const gops_tool_numbers *numbers, int64_t index)
{
    if (numbers->elements == NULL) {
        return numbers->number;
    }
    return gops_element_load(numbers->type, (const char *)numbers->elements +
                                                (size_t)index * gops_type_bytes(numbers->type));
}

gops_numbers_place gops_numbers_place_of(const gops_tool_numbers *numbers, int64_t index)
{
    gops_numbers_place where = {""};
    if (numbers->type != 0) {
        snprintf(where.text, sizeof where.text, "[%" PRId64 "]", index);
    }
    return where;
}
