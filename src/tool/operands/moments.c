/* moments.c: means and variances, each a number or a file with one for each group, of all images or
 * of every one. */
#include "operands/moments.h"

#include "operands/numbers.h"

#include <inttypes.h>
#include <stdlib.h>

static bool check_count(const gops_tool_numbers *read, int64_t groups, int64_t all,
                        gops_tool_error *error)
{
    return read->count == 1 || read->count == groups || read->count == all ||
           gops_tool_refuse(error, GOPS_EXIT_FAILED,
                            "--%s: %s has %" PRId64 " elements; there must be 1, or one for each "
                            "of the %" PRId64 " groups, of one image or of all",
                            read->flag, read->text, read->count, groups);
}

/* Variances have a root with the epsilon. */
static bool check_variances(const gops_tool_numbers *read, double epsilon, gops_tool_error *error)
{
    for (int64_t i = 0; i < read->count; i++) {
        const double variance = gops_numbers_element(read, i);
        if (!(variance + epsilon > 0)) {
            return gops_tool_refuse(error, GOPS_EXIT_FAILED,
                                    "--%s: element %" PRId64
                                    " of %s is %g; with epsilon %g it must "
                                    "be above 0",
                                    read->flag, i, read->text, variance, epsilon);
        }
    }
    return true;
}

static bool fill(const gops_tool_numbers *read, bool doubles, int64_t all, void **moments,
                 gops_tool_error *error)
{
    *moments = calloc((size_t)all + 1, sizeof(double));
    if (*moments == NULL) {
        return gops_tool_refuse(error, GOPS_EXIT_FAILED, "--%s: no memory", read->flag);
    }
    for (int64_t i = 0; i < all; i++) {
        const double moment = gops_numbers_element(read, i % read->count);
        if (doubles) {
            ((double *)*moments)[i] = moment;
        } else {
            ((float *)*moments)[i] = (float)moment;
        }
    }
    return true;
}

static bool read_moments(const char *flag, const char *text, const gops_settings *settings,
                         const gops_tensor *data, void **moments, gops_tool_error *error)
{
    gops_tool_numbers read = {.flag = flag, .text = text};
    const int64_t groups = settings->num_groups, all = data->dims[0] * groups;
    const bool are_variances = text == settings->variances;
    const bool done = gops_numbers_read(&read, 0, error) && gops_numbers_check_real(&read, error) &&
                      check_count(&read, groups, all, error) &&
                      (!are_variances || check_variances(&read, settings->epsilon, error)) &&
                      fill(&read, data->type == GOPS_F64, all, moments, error);
    free(read.elements);
    return done;
}

bool gops_tool_moments_read(const gops_settings *settings, const gops_tensor *data, void **means,
                            void **variances, gops_tool_error *error)
{
    *means = NULL;
    *variances = NULL;
    return settings->means == NULL ||
           (read_moments("means", settings->means, settings, data, means, error) &&
            read_moments("variances", settings->variances, settings, data, variances, error));
}
