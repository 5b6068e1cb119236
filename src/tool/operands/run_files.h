/* run_files.h: the .npy files that `run` computes from. They are opened and checked before any element is
 * read or any large buffer is allocated. */
#ifndef GOPS_OPERANDS_RUN_FILES_H
#define GOPS_OPERANDS_RUN_FILES_H

#include "common/operation.h"
#include "npy/npy.h"

typedef struct gops_run_files {
    gops_npy_file inputs[GOPS_TOOL_MAX_INPUTS];
    gops_tensor tensors[GOPS_TOOL_MAX_INPUTS]; /* those of the inputs */
    gops_npy_file bias, residual;              /* of a convolution; closed: none is given */
} gops_run_files;

/* Opens the files that the settings name, and gives them the types that these state. Sets
 * settings->residual_type. The caller closes *files, also after a failure. */
bool gops_run_files_open(const gops_tool_operation *operation, gops_settings *settings,
                         gops_run_files *files, gops_tool_error *error);
void gops_run_files_close(gops_run_files *files);

/* Whether bias and residual fit the output of the convolution; the bias gets its type. */
bool gops_run_files_check(const gops_settings *settings, gops_run_files *files,
                          const gops_tensor *output, gops_tool_error *error);

/* The type that the output's file names: if the elements of `data` came as u2 (half floats), those
 * of the output are written so too. */
gops_type gops_run_files_stored(const gops_run_files *files, const gops_tensor *output);

#endif
