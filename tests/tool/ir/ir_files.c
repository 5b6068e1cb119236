/* ir_files.c: IR files for the tests of groupops ir. */
#include "ir_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ir_write(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}

void ir_write_text(const char *path, const char *text)
{
    ir_write(path, text, strlen(text));
}

void ir_change(char *to, size_t bytes, const char *from, const char *into)
{
    const char *found = strstr(ir_small_net, from);
    if (found == NULL || strstr(found + 1, from) != NULL) {
        fprintf(stderr, "\"%s\" is not once in the small net\n", from);
        exit(EXIT_FAILURE);
    }
    snprintf(to, bytes, "%.*s%s%s", (int)(found - ir_small_net), ir_small_net, into,
             found + strlen(from));
}

#define DIM(size) "               <dim>" #size "</dim>\n"

/* As the specification prints it. */
#define CONV_PAGE(attributes, data, filter, output)                                                \
    "   <layer type=\"GroupConvolution\" ...>\n"                                                   \
    "       <data " attributes " auto_pad=\"explicit\"/>\n"                                        \
    "       <input>\n"                                                                             \
    "           <port id=\"0\">\n" data "           </port>\n"                                     \
    "           <port id=\"1\">\n" filter "           </port>\n"                                   \
    "       </input>\n"                                                                            \
    "       <output>\n"                                                                            \
    "           <port id=\"2\" precision=\"FP32\">\n" output "           </port>\n"                \
    "       </output>\n"

const char ir_page_conv_1d[] =
    CONV_PAGE("dilations=\"1\" pads_begin=\"2\" pads_end=\"2\" strides=\"1\"",
              DIM(1) DIM(12) DIM(224), DIM(4) DIM(1) DIM(3) DIM(5), DIM(1) DIM(4) DIM(224));

const char ir_page_conv_2d[] =
    CONV_PAGE("dilations=\"1,1\" pads_begin=\"2,2\" pads_end=\"2,2\" strides=\"1,1\"",
              DIM(1) DIM(12) DIM(224) DIM(224), DIM(4) DIM(1) DIM(3) DIM(5) DIM(5),
              DIM(1) DIM(4) DIM(224) DIM(224));

const char ir_page_conv_3d[] =
    CONV_PAGE("dilations=\"1,1,1\" pads_begin=\"2,2,2\" pads_end=\"2,2,2\" strides=\"1,1,1\"",
              DIM(1) DIM(12) DIM(224) DIM(224) DIM(224), DIM(4) DIM(1) DIM(3) DIM(5) DIM(5) DIM(5),
              DIM(1) DIM(4) DIM(224) DIM(224) DIM(224));

const char ir_page_deconv[] =
    "<layer id=\"5\" name=\"upsampling_node\" type=\"GroupConvolutionBackpropData\">\n"
    "<data dilations=\"1,1\" pads_begin=\"1,1\" pads_end=\"1,1\" strides=\"2,2\"/>\n"
    "<input>\n"
    "<port id=\"0\">\n"
    "<dim>1</dim>\n"
    "<dim>20</dim>\n"
    "<dim>224</dim>\n"
    "<dim>224</dim>\n"
    "</port>\n"
    "<port id=\"1\">\n"
    "<dim>4</dim>\n"
    "<dim>5</dim>\n"
    "<dim>2</dim>\n"
    "<dim>3</dim>\n"
    "<dim>3</dim>\n"
    "</port>\n"
    "</input>\n"
    "<output>\n"
    "<port id=\"0\" precision=\"FP32\">\n"
    "<dim>1</dim>\n"
    "<dim>8</dim>\n"
    "<dim>447</dim>\n"
    "<dim>447</dim>\n"
    "</port>\n"
    "</output>\n"
    "</layer>\n";

const char ir_page_norm[] =
    " <layer ... type=\"GroupNormalization\">\n"
    "     <data epsilon=\"1e-5\" num_groups=\"4\"/>\n"
    "     <input>\n"
    "         <port id=\"0\">\n"
    "             <dim>3</dim>\n"
    "             <dim>12</dim>\n"
    "             <dim>100</dim>\n"
    "             <dim>100</dim>\n"
    "         </port>\n"
    "         <port id=\"1\">\n"
    "             <dim>12</dim> <!-- 12 scale values, 1 for each channel -->\n"
    "         </port>\n"
    "         <port id=\"2\">\n"
    "             <dim>12</dim> <!-- 12 bias values, 1 for each channel -->\n"
    "         </port>\n"
    "     </input>\n"
    "     <output>\n"
    "         <port id=\"3\">\n"
    "             <dim>3</dim>\n"
    "             <dim>12</dim>\n"
    "             <dim>100</dim>\n"
    "             <dim>100</dim>\n"
    "         </port>\n"
    "     </output>\n"
    " </layer>\n";

const char ir_small_net[] =
    "<?xml version=\"1.0\"?>\n"
    "<net name=\"small\" version=\"11\">\n"
    " <layers>\n"
    "  <layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">\n"
    "   <data shape=\"1,4,5\" element_type=\"f32\"/>\n"
    "   <output><port id=\"0\" precision=\"FP32\" "
    "names=\"x\"><dim>1</dim><dim>4</dim><dim>5</dim></port></output>\n"
    "  </layer>\n"
    "  <layer id=\"1\" name=\"w\" type=\"Const\" version=\"opset1\">\n"
    "   <data element_type=\"f32\" shape=\"2, 3, 2, 3\" offset=\"0\" size=\"144\"/>\n"
    "   <output><port id=\"0\" "
    "precision=\"FP32\"><dim>2</dim><dim>3</dim><dim>2</dim><dim>3</dim></port></output>\n"
    "  </layer>\n"
    "  <layer id=\"2\" name=\"conv\" type=\"GroupConvolution\" version=\"opset1\">\n"
    "   <data strides=\"1\" pads_begin=\"0\" pads_end=\"0\" dilations=\"1\" "
    "auto_pad=\"explicit\"/>\n"
    "   <rt_info><attribute name=\"fused_names_0\" version=\"0\" value=\"conv\"/></rt_info>\n"
    "   <input>\n"
    "    <port id=\"0\" precision=\"FP32\"><dim>1</dim><dim>4</dim><dim>5</dim></port>\n"
    "    <port id=\"1\" "
    "precision=\"FP32\"><dim>2</dim><dim>3</dim><dim>2</dim><dim>3</dim></port>\n"
    "   </input>\n"
    "   <output><port id=\"2\" "
    "precision=\"FP32\"><dim>1</dim><dim>6</dim><dim>3</dim></port></output>\n"
    "  </layer>\n"
    "  <layer id=\"3\" name=\"y\" type=\"Result\" version=\"opset1\">\n"
    "   <input><port id=\"0\" "
    "precision=\"FP32\"><dim>1</dim><dim>6</dim><dim>3</dim></port></input>\n"
    "  </layer>\n"
    " </layers>\n"
    " <edges>\n"
    "  <edge from-layer=\"0\" from-port=\"0\" to-layer=\"2\" to-port=\"0\"/>\n"
    "  <edge from-layer=\"1\" from-port=\"0\" to-layer=\"2\" to-port=\"1\"/>\n"
    "  <edge from-layer=\"2\" from-port=\"2\" to-layer=\"3\" to-port=\"0\"/>\n"
    " </edges>\n"
    " <rt_info/>\n"
    "</net>\n";
