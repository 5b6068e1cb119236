/* Describes a tensor and asks for its size. */
#include <groupops/tensor.h>
#include <stdio.h>

int main(void)
{
    gops_tensor data = {GOPS_BF16, 4, {1, 12, 224, 224}}; /* batch, channels, height, width */
    gops_error error;
    size_t bytes;
    if (gops_tensor_bytes(&data, &bytes, &error) != GOPS_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("%zu bytes of %s, %zu each\n", bytes, gops_type_name(data.type),
           gops_type_bytes(data.type));
    return gops_type_from_name("bf16") != GOPS_BF16;
}
