/* fuzz_png.c: the reader of the demo's pictures. */
#include "png/png_picture.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz_files.h"

/* Height and width, high byte first, after the signature and the chunk's length and name. */
static uint32_t read_size(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    enum { WIDTH_AT = 16, HEIGHT_AT = 20, MAX_PIXELS = 1 << 20 };
    static gops_fuzz_file file;
    gops_planes picture;
    gops_error error = {GOPS_OK, ""};
    /* Pictures that are truly large take long, and are one test in tests/tool/png. */
    if (count >= HEIGHT_AT + 4) {
        const uint64_t width = read_size(bytes + WIDTH_AT), height = read_size(bytes + HEIGHT_AT);
        if (width <= GOPS_PNG_MAX_SIDE && height <= GOPS_PNG_MAX_SIDE &&
            width * height > MAX_PIXELS && width * height <= GOPS_PNG_MAX_PIXELS)
            return 0;
    }
    gops_fuzz_file_set(&file, bytes, count);
    const gops_status status = gops_png_read(file.path, &picture, &error);
    gops_fuzz_require(status == GOPS_OK || (error.status == status && error.message[0] != '\0'),
                      "a refusal without a reason");
    gops_fuzz_require((status == GOPS_OK) == (picture.values != NULL),
                      "no picture, or one too many");
    gops_planes_release(&picture);
    return 0;
}
