/* every_plan.h: one problem planned for every algorithm and instruction set, and a count of them. */
#ifndef GROUPOPS_TEST_EVERY_PLAN_H
#define GROUPOPS_TEST_EVERY_PLAN_H

#include "problem.h"

enum {
    GOPS_TEST_OPERATIONS = 3,
    /* At least as many as gops_algorithm_name and gops_isa_name have. */
    GOPS_TEST_ALGORITHMS = 20,
    GOPS_TEST_ISAS = 12,
    GOPS_TEST_RELAXED = 4, /* the witness that is */
};

/* What to do with each plan. Returns 0 to go no further. */
typedef int gops_test_each(void *context, const gops_plan *plan);

/* Calls `run` for every instruction set that runs here (where GROUPOPS_ISA is set: that one, or the case is skipped),
 * which it makes that of new plans. Returns whether these are all that the library was built for. */
bool gops_test_every_isa(void (*run)(void *context), void *context);

/* Plans the problem for each of those and every algorithm that takes it, whose name is then the problem's, and hands
 * each plan to `each`. Returns how many there were. */
int64_t gops_test_every_plan(gops_problem *problem, gops_test_each *each, void *context);

/* How often each algorithm ran: by operation, gops_algorithm_name and gops_isa_name. */
typedef struct gops_test_tally {
    int64_t times[GOPS_TEST_OPERATIONS][GOPS_TEST_ALGORITHMS][GOPS_TEST_ISAS];
} gops_test_tally;

/* The index of an algorithm's whole name, and that of the instruction set of plans made now. */
int gops_test_algorithm(const char *name);
int gops_test_isa(void);

/* Whether the library has that instruction set, and it runs here. */
bool gops_test_isa_runs(const char *isa);

/* Adds one for the plan, which was made for the problem by the instruction set in use. */
void gops_test_count(gops_test_tally *tally, const gops_problem *problem, const gops_plan *plan);

/* Small problems of which each algorithm serves one at least, where it has kernels for the
 * instruction set; `index` from 0, rank 0 beyond the last. */
gops_problem gops_test_witness(gops_problem_operation operation, gops_type type, int index);

/* Fails for each algorithm of that name (NULL: any name; "depthwise": all that begin with it and a
 * slash) that serves a witness of the operation in f32 and was not counted, on any of the
 * instruction sets that gops_test_every_plan goes through. */
void gops_test_check_tally(const gops_test_tally *tally, gops_problem_operation operation,
                           const char *name);

/* The first algorithm that serves a witness of any operation, and was not counted for any on any
 * instruction set; NULL: there is none. For programs without cases. */
const char *gops_test_left_out(const gops_test_tally *tally);

/* Fails for each algorithm that serves no witness of one of its operations on an instruction set that runs here and has
 * kernels for it. */
void gops_test_check_witnesses(void);

/* Executes the plan and compares what it gives with what is expected. Returns 0 where it failed,
 * and says by which instruction set and why the plan is as it is. */
int gops_test_one_result(gops_problem *problem, const gops_plan *plan,
                         gops_problem_buffers *buffers, gops_reference_result *expected);

/* Executes all of these on random values, compares each with the reference, and counts it; with a
 * name (as above) only what has it. One problem in four is executed again with gaps between channels. Returns 0, and does nothing, where the problem is not legal. */
int gops_test_every_result(gops_problem *problem, const char *name, gops_test_random *random,
                           gops_test_tally *tally);

/* The same once for `problem`, reshaped from the plan of `packed`, which packs its filter. Returns 0 where there is no such
 * plan: fails but where reshaping is unsupported and the shapes differ. */
int gops_test_reshaped_result(gops_problem packed, gops_problem problem, gops_test_random *random);

/* Leaves of the instruction sets only the one in use, for tests that run once with each: sets
 * GROUPOPS_ISA. Skips the case where none is in use. */
void gops_test_keep_isa(void);

#endif
