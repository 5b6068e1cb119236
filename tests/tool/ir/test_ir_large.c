/* test_ir_large.c: the specification's example of three spatial axes: 17 GMAC, 0.7 GB. */
#include "ir_files.h"
#include "harness.h"
#include "tool_process.h"

#include <string.h>

static void convolution_3d(void)
{
    static const char row[] = "GroupConvolution              f32 [1,4,224,224,224] ";
    tool_result result;
    ir_write_text("page.xml", ir_page_conv_3d);
    tool_run(&result, "ir page.xml", NULL);
    gops_test_check(result.exit_code == 0, "%d: %s", result.exit_code, result.err);
    gops_test_check(strstr(result.out, row) != NULL, "\"%s\" is not in\n%s", row, result.out);
    gops_test_check(tool_folder_count() == 2, "there are %d files", tool_folder_count());
}

int main(void)
{
    static const gops_test_case cases[] = {{"convolution 3d", convolution_3d}, {0}};
    tool_folder_enter();
    const int status = gops_test_main("ir_large", cases);
    tool_folder_leave();
    return status;
}
