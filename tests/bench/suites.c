#include "suites.h"

#include "bench/suite.h"

static bool time_suite(const char *path, gops_peer_time *time, void *context,
                       gops_tool_error *error)
{
    gops_suite suite;
    bool done = gops_suite_read(path, &suite, error);
    for (size_t i = 0; done && i < suite.count; i++) {
        gops_peer_problem problem;
        done = gops_peer_problem_create(&suite.layers[i], 0, false, &problem, error);
        if (done) {
            done = time(&problem, context, error);
            gops_peer_problem_destroy(&problem);
        }
    }
    gops_suite_release(&suite);
    return done;
}

int gops_peer_time_suites(int count, char **words, gops_peer_time *time, void *context)
{
    gops_tool_error error;
    for (int word = 1; word < count; word++) {
        if (!time_suite(words[word], time, context, &error)) {
            gops_tool_print_error(words[0], &error);
            return error.exit_code;
        }
    }
    return GOPS_EXIT_DONE;
}
