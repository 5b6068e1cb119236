/* ir_files.h: IR files for the tests of groupops ir, written by hand. */
#ifndef GROUPOPS_TEST_IR_FILES_H
#define GROUPOPS_TEST_IR_FILES_H

#include <stddef.h>

/* Writes a file. A failure ends the program. */
void ir_write(const char *path, const void *bytes, size_t count);
void ir_write_text(const char *path, const char *text);

/* The examples of the specification's pages, as they are printed. */
extern const char ir_page_conv_1d[], ir_page_conv_2d[], ir_page_conv_3d[], ir_page_deconv[],
    ir_page_norm[];

/* A net of a Parameter "x" f32 [1,4,5], a Const f32 [2,3,2,3] of 144 bytes at 0, a GroupConvolution
 * "conv" and a Result "y" of f32 [1,6,3]; its .bin has 144 bytes. */
extern const char ir_small_net[];
enum { IR_SMALL_BIN_BYTES = 144 };

/* Copies ir_small_net to `to` with the one place of `from` in it changed. */
void ir_change(char *to, size_t bytes, const char *from, const char *into);

#endif
