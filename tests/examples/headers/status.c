/* What a refused call says: a status for the program, a message for the person. */
#include <groupops/groupops.h>
#include <stdio.h>

int main(void)
{
    gops_tensor data = {GOPS_F32, 4, {1, 8, 14, 14}};
    gops_tensor filter = {GOPS_F32, 5, {2, 4, 4, 3, 3}};
    gops_conv_attributes attributes = {.strides = {2, {1, 0}}}; /* 0 is no stride */
    gops_shape shape;
    gops_error error;
    gops_status status = gops_conv_shape(&data, &filter, &attributes, &shape, &error);
    printf("%s: %s\n", gops_status_name(status), error.message);
    return status != GOPS_INVALID;
}
