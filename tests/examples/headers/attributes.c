/* The shape of an output, without making a plan. */
#include <groupops/attributes.h>
#include <stdio.h>

int main(void)
{
    gops_tensor data = {GOPS_F32, 4, {1, 20, 224, 224}};
    gops_tensor filter = {GOPS_F32, 5, {4, 5, 2, 3, 3}}; /* groups, C_IN, C_OUT, kernel */
    gops_deconv_attributes attributes = {
        .strides = {2, {2, 2}}, .pads_begin = {2, {1, 1}}, .pads_end = {2, {1, 1}}};
    gops_shape shape;
    gops_error error;
    if (gops_deconv_shape(&data, &filter, &attributes, &shape, &error) != GOPS_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const int64_t *dims = shape.output.dims;
    printf("%d groups, output %d x %d x %d x %d\n", (int)shape.groups, (int)dims[0], (int)dims[1],
           (int)dims[2], (int)dims[3]);
    return 0;
}
