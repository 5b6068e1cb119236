/* harness.c: runs the cases of a test program by CUnit, and tells skipped from passed. */
#include "harness.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CUnit/Basic.h>

#include "lent_host.h"

enum { EXIT_SKIPPED = 77 };

static const gops_test_case *selected[256];
static int selected_count;
static int current = -1;
static int skipped;
static jmp_buf end_of_case;

void gops_test_skip(const char *format, ...)
{
    va_list arguments;
    printf("%s: skipped, because ", selected[current]->name);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    skipped++;
    longjmp(end_of_case, 1);
}

int gops_test_check(int holds, const char *format, ...)
{
    if (!holds) {
        va_list arguments;
        printf("\n%s: ", selected[current]->name);
        va_start(arguments, format);
        vprintf(format, arguments);
        va_end(arguments);
        printf("\n");
        fflush(stdout);
    }
    CU_assertImplementation(holds ? CU_TRUE : CU_FALSE, 0, "see the line above",
                            selected[current]->name, "", CU_FALSE);
    return holds;
}

/* CUnit calls the tests in the order they were added, one after another. */
static void run_next(void)
{
    const unsigned before = CU_get_number_of_asserts();
    current++;
    if (setjmp(end_of_case) == 0) {
        selected[current]->run();
        if (CU_get_number_of_asserts() == before)
            gops_test_check(0, "the case asserted nothing");
    }
}

static int add_cases(CU_pSuite suite, const gops_test_case *cases)
{
    const char *only = getenv("GROUPOPS_TEST_CASE");
    for (; cases->run != NULL; cases++) {
        if (only != NULL && strcmp(only, cases->name) != 0)
            continue;
        if (selected_count == (int)(sizeof selected / sizeof selected[0]))
            return 0;
        selected[selected_count++] = cases;
        if (CU_add_test(suite, cases->name, run_next) == NULL)
            return 0;
    }
    return 1;
}

static int exit_status(const char *suite)
{
    if (CU_get_number_of_tests_run() == 0) {
        fprintf(stderr, "%s: no case was run\n", suite);
        return EXIT_FAILURE;
    }
    if (CU_get_number_of_failures() != 0)
        return EXIT_FAILURE;
    if (skipped == selected_count)
        return EXIT_SKIPPED;
    return EXIT_SUCCESS;
}

int gops_test_main(const char *suite, const gops_test_case *cases)
{
    int status = EXIT_FAILURE;
    /* Memory that is freed stays with the program: getting fresh pages from the system for each tensor took
     * two thirds of some tests' time. */
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    gops_test_host_from_environment();
    if (CU_initialize_registry() != CUE_SUCCESS)
        return status;
    CU_pSuite registered = CU_add_suite(suite, NULL, NULL);
    if (registered != NULL && add_cases(registered, cases)) {
        CU_basic_set_mode(CU_BRM_VERBOSE);
        CU_basic_run_tests();
        status = exit_status(suite);
    } else {
        fprintf(stderr, "%s: CUnit would not take the cases\n", suite);
    }
    CU_cleanup_registry();
    return status;
}

int64_t gops_test_environment_number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? strtoll(text, NULL, 10) : otherwise;
}
