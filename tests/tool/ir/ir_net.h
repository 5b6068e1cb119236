/* ir_net.h: an IR that a test builds layer by layer: net.xml and net.bin in the current folder. */
#ifndef GROUPOPS_TEST_IR_NET_H
#define GROUPOPS_TEST_IR_NET_H

#include "random_numbers.h"
#include "tool_process.h"

#include <groupops/tensor.h>

#include <stdio.h>

enum { IR_NET_MAX_LAYERS = 32, IR_NET_MAX_BIN = 1 << 16 };

typedef struct ir_net {
    int version;
    gops_type type;
    const char *dtype; /* NumPy's name of the type, as tool_npy.h has it */
    FILE *xml;
    gops_test_random random;
    int layers;
    gops_tensor tensor[IR_NET_MAX_LAYERS]; /* of each layer's output */
    int inputs[IR_NET_MAX_LAYERS];
    char edges[8192];
    unsigned char bin[IR_NET_MAX_BIN];
    size_t bin_bytes;
    char line[256]; /* the words of the command */
} ir_net;

/* An IR of that version whose elements are of the type; the caller frees it. */
ir_net *ir_net_begin(int version, gops_type type, const char *dtype);

/* Adds a layer with the attributes in `data` and inputs from the layers in `from`; NULL: it has no
 * output. Returns its number for others to take from. Version 10 files state no precision at
 * inputs. */
int ir_net_layer(ir_net *to, const char *name, const char *type, const char *data,
                 const gops_tensor *output, int inputs, const int *from);
#define IR_LAYER(net, name, type, data, output, ...)                                               \
    ir_net_layer(net, name, type, data, output, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), \
                 (const int[]){__VA_ARGS__})

/* A Const with the elements; they go to the .bin behind a byte that nothing reads, so that they
 * are not aligned. */
int ir_net_const(ir_net *to, const char *name, gops_tensor tensor, const void *elements);

/* A Const of random elements, for the caller to free. */
int ir_net_random(ir_net *to, const char *name, gops_tensor tensor, void **elements);

/* A Parameter of random elements, which are written to NAME.npy. */
int ir_net_parameter(ir_net *to, const char *name, gops_tensor tensor, void **elements);

void ir_net_result(ir_net *to, const char *name, int from);

/* Writes the files and runs them, outputs to the folder "out". */
void ir_net_run(ir_net *made, tool_result *result);

/* Writes the files and runs them: one line that has `message` in it, exit code 1 and no output. */
void ir_net_expect_refused(ir_net *made, const char *message);

/* The output of a Result, for the caller to free; one that is not there ends the program. */
void *ir_net_read(const ir_net *made, const char *name, const gops_tensor *tensor);

#endif
