/* fuzz_results.h: plans a case, executes it in several ways, and compares the results. */
#ifndef GROUPOPS_TEST_FUZZ_RESULTS_H
#define GROUPOPS_TEST_FUZZ_RESULTS_H

#include "fuzz_buffers.h"

gops_status gops_fuzz_make_plan(const gops_fuzz_case *c, const gops_options *options,
                                gops_plan **plan, gops_error *error);

/* Every refusal says why. */
void gops_fuzz_check_refusal(const char *what, gops_status status, const gops_error *error);

/* Packs and executes. Every element is the reference's; one thread and many, in whatever order the
 * host runs them, with a workspace of the caller's or without, give the same bits, and so does a part
 * by itself; a reshaped plan and given moments give a result as good. Returns 0 where the plan's
 * quantization must be refused, and is. */
int gops_fuzz_check_results(gops_fuzz_case *c, const gops_plan *plan, const gops_tensor *output,
                            gops_fuzz_buffers *b);

#endif
