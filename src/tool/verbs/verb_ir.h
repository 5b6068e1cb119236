/* verb_ir.h: groupops ir: runs an OpenVINO IR. */
#ifndef GOPS_VERBS_VERB_IR_H
#define GOPS_VERBS_VERB_IR_H

/* `words[0]` is the first word after "ir". Returns the exit code; one that is not 0 comes with one
 * line on standard error. */
int gops_tool_ir(int count, char **words);

#endif
