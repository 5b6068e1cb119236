/* Random quantized convolutions, by the provider and by the runtime alone. Of what the runtime makes
 * a QLinearConv the bits are the same. All else it sums in floats: where all scales are powers of
 * two those are exact, and so the bits are the same too; elsewhere outputs differ by 1 at most. */
#include "ort_quantized_layer.h"

#include "elements.h"
#include "guarded_memory.h"
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 512 };

static ort_value *run_model(const gops_quantized_model *with, const gops_onnx_buffer *model,
                            const gops_ort_session_settings *settings, const char *type,
                            const char *what)
{
    ort_session *session = NULL;
    ort_value *output = NULL;
    if (gops_ort_works(gops_ort_open(model, settings, &session), what)) {
        const bool claimed = gops_ort_claimed_of(session, type) == 1;
        gops_test_check(settings->provider == NULL || claimed, "%s: %s is not claimed", what, type);
        gops_ort_works(gops_ort_run(session, with->inputs, with->count, &output), what);
    }
    gops_ort_load()->release_session(session);
    return output;
}

static ort_value *ask_oracle(const gops_quantized_problem *of, const gops_quantized_values *from,
                             const char *what)
{
    const gops_ort_session_settings best = {NULL, ORT_OPTIMIZE_ALL, 1, true},
                                    plain = {NULL, ORT_OPTIMIZE_NONE, 1, true};
    gops_quantized_model to;
    gops_onnx_buffer model;
    if (of->form != GOPS_QUANTIZED_INTEGER) {
        gops_quantized_write(&to, of, from, !gops_quantized_is_fusible(of), &model);
        ort_value *made =
            run_model(&to, &model, gops_quantized_is_fusible(of) ? &best : &plain, "", what);
        free(model.bytes);
        return made;
    }
    float *x = gops_test_allocate((size_t)from->x.count * sizeof *x);
    float *w = gops_test_allocate((size_t)from->w.count * sizeof *w);
    gops_quantized_write_differences(&to, of, from, x, w, &model);
    ort_value *made = run_model(&to, &model, &plain, "", what);
    free(model.bytes);
    free(x);
    free(w);
    return made;
}

static ort_value *ask_provider(const gops_quantized_problem *of, const gops_quantized_values *from,
                               int level, const char *what)
{
    const gops_ort_session_settings settings = {GROUPOPS_ORT_PROVIDER, level, 1 + level % 2, true};
    const char *type = of->form == GOPS_QUANTIZED_INTEGER  ? "ConvInteger"
                       : of->form == GOPS_QUANTIZED_LINEAR ? "QLinearConv"
                                                           : "QuantizeLinear";
    gops_quantized_model to;
    gops_onnx_buffer model;
    gops_quantized_write(&to, of, from, false, &model);
    ort_value *made = run_model(&to, &model, &settings, type, what);
    free(model.bytes);
    return made;
}

static long double element(gops_type type, const void *values, int64_t index)
{
    return gops_test_type_is_real(type)
               ? gops_test_get_real(type, values, index)
               : (long double)(int64_t)gops_test_get_integer(type, values, index);
}

static int compare(const gops_quantized_problem *of, ort_value *expected_value,
                   ort_value *got_value, const char *what, int *off)
{
    const bool exact =
        of->form == GOPS_QUANTIZED_INTEGER || gops_quantized_is_fusible(of) || of->powers_of_two;
    gops_tensor expected_tensor, tensor;
    const void *expected = gops_ort_values(expected_value, &expected_tensor);
    const void *got = gops_ort_values(got_value, &tensor);
    const gops_type type = expected_tensor.type;
    expected_tensor.type = tensor.type; /* ConvInteger's oracle is f32 */
    if (!gops_test_check(memcmp(&tensor, &expected_tensor, sizeof tensor) == 0,
                         "%s: the output's shape or type is another", what)) {
        return false;
    }
    for (int64_t i = 0; i < gops_test_elements(&tensor); i++) {
        const long double a = element(type, expected, i);
        const long double b = element(tensor.type, got, i);
        *off += a != b;
        if (!gops_test_check(fabsl(a - b) <= (exact ? 0 : 1), "%s: element %lld is %Lg, not %Lg",
                             what, (long long)i, b, a)) {
            return false;
        }
    }
    return true;
}

static void name_problem(const gops_quantized_problem *of, int level, char *name)
{
    static const char *const forms[] = {"ConvInteger", "QLinearConv", "Conv", "ConvTranspose"};
    size_t used = (size_t)snprintf(
        name, NAME_BYTES,
        "%s level %d, types %d %d %d, batch %lld, %lld groups of %lld to %lld, bias %d%s%s%s%s%s%s",
        forms[of->form], level, (int)of->x, (int)of->w, (int)of->y, (long long)of->batch,
        (long long)of->groups, (long long)of->channels_in, (long long)of->channels_out,
        (int)of->bias, of->residual ? ", residual" : "", of->activation != NULL ? ", " : "",
        of->activation != NULL ? of->activation : "", of->powers_of_two ? ", powers of two" : "",
        of->open ? ", open" : "", of->fed ? ", fed" : "");
    for (int i = 0; i < of->axes; i++) {
        used += (size_t)snprintf(name + used, NAME_BYTES - used, ", %lld/%lld*%lld+%lld+%lld s%lld",
                                 (long long)of->data[i], (long long)of->kernel[i],
                                 (long long)of->dilations[i], (long long)of->pads[i],
                                 (long long)of->pads[of->axes + i], (long long)of->strides[i]);
    }
}

static void check(gops_quantized_form form, uint64_t stream)
{
    static const int levels[] = {ORT_OPTIMIZE_NONE, 1, 2, 3, ORT_OPTIMIZE_ALL};
    enum { PROBLEMS = 150 };
    int fusible = 0, off = 0;
    gops_ort_load();
    for (int i = 0; i < PROBLEMS; i++) {
        gops_test_random random = gops_test_random_start(gops_test_seed(), stream + (uint64_t)i);
        const gops_quantized_problem of = gops_quantized_draw(&random, form);
        const int level = levels[i % 5];
        char name[NAME_BYTES];
        gops_quantized_values from = gops_quantized_draw_values(&random, &of);
        name_problem(&of, level, name);
        ort_value *expected = ask_oracle(&of, &from, name);
        ort_value *got = ask_provider(&of, &from, level, name);
        const bool right =
            expected != NULL && got != NULL && compare(&of, expected, got, name, &off);
        gops_ort_load()->release_value(expected);
        gops_ort_load()->release_value(got);
        gops_quantized_free(&from);
        fusible += gops_quantized_is_fusible(&of);
        if (!gops_test_check(right, "%s", name)) {
            break;
        }
    }
    printf("%d problems, a QLinearConv of the runtime %d, elements off by 1: %d\n", PROBLEMS,
           fusible, off);
}

static void integer(void)
{
    check(GOPS_QUANTIZED_INTEGER, 0);
}

static void linear(void)
{
    check(GOPS_QUANTIZED_LINEAR, 1000);
}

static void qdq(void)
{
    check(GOPS_QUANTIZED_CONV, 2000);
}

static void transposed(void)
{
    check(GOPS_QUANTIZED_DECONV, 3000);
}

int main(void)
{
    const gops_test_case cases[] = {{"integer", integer},
                                    {"linear", linear},
                                    {"qdq", qdq},
                                    {"transposed", transposed},
                                    {NULL, NULL}};
    const int status = gops_test_main("ONNX Runtime, quantized layers", cases);
    gops_ort_unload();
    return status;
}
