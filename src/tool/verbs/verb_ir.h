/* verb_ir.h: runs an OpenVINO IR by one process or by many. */
#ifndef GOPS_VERB_IR_H
#define GOPS_VERB_IR_H

#include "ir/ir_run.h"
#include "verbs/verbs.h"

/* What gops_verb_ir does; by the ranks of an MPI program, unless `ranks` is NULL. */
bool gops_verb_ir_by(const gops_command *command, gops_ir_ranks *ranks, gops_tool_error *error);

#endif
