/* The matrix products that the library asks of a host. */
#include "counted_gemm.h"
#include "elements.h"
#include "harness.h"
#include "problem.h"

/* Runs the problem with the counting GEMMs; `data`, unless NULL, gets the address of the data. */
static gops_test_products count_products(gops_problem problem, const void **data)
{
    gops_test_random random = gops_test_random_start(gops_test_seed(), 51);
    gops_test_products seen = {.lock = PTHREAD_MUTEX_INITIALIZER};
    gops_gemm gemm = gops_test_counted_gemm(&seen);
    gops_host host = {.size = sizeof host, .gemm = &gemm};
    gops_reference_geometry g;
    gops_tensor output;
    gops_reference_result result;
    gops_problem_text text;
    gops_error error = {GOPS_OK, ""};
    problem.host = &host;
    gops_problem_reference_shape(&problem, &g, &output);
    gops_problem_buffers buffers = gops_problem_buffers_create(&problem, &output, &random);
    gops_test_check(gops_problem_run(&problem, &buffers, &error) == GOPS_OK, "%s: %s",
                    gops_problem_describe(&problem, &text), error.message);
    gops_problem_reference(&problem, &buffers, &result);
    gops_test_check(gops_problem_compare(&problem, &result, buffers.output.memory),
                    "wrong values with the host's GEMM");
    gops_reference_result_destroy(&result);
    if (data != NULL)
        *data = buffers.data.memory;
    gops_problem_buffers_destroy(&buffers);
    return seen;
}

/* GOPS_UNLIMITED: one GEMM for each of 2 images and 3 groups, of the sizes of the definition. */
static void one_gemm_per_group_and_image(void)
{
    static const gops_type types[] = {GOPS_F32, GOPS_F64};
    for (int i = 0; i < 2; i++) {
        gops_problem c = gops_test_gemm_conv(types[i]), d = gops_test_gemm_deconv(types[i]);
        c.max_workspace = d.max_workspace = GOPS_UNLIMITED;
        gops_test_products p = count_products(c, NULL);
        gops_test_check(p.calls == 6 && p.m == 7 && p.n == 14 * 30 && p.k == 5 * 6,
                        "conv: %lld calls, the last of M %d, N %d, K %d", (long long)p.calls, p.m,
                        p.n, p.k);
        p = count_products(d, NULL);
        gops_test_check(p.calls == 6 && p.m == 7 * 6 && p.n == 11 * 13 && p.k == 5,
                        "deconv: %lld calls, the last of M %d, N %d, K %d", (long long)p.calls, p.m,
                        p.n, p.k);
    }
}

/* Whatever the budget, the blocks together multiply what the definition does, and nothing twice. */
static void blocks_multiply_once(void)
{
    static const int64_t budgets[] = {700, 3000, 20000, 200000, 0};
    for (int i = 0; i < 5; i++) {
        gops_problem c = gops_test_gemm_conv(GOPS_F32), d = gops_test_gemm_deconv(GOPS_F64);
        c.max_workspace = d.max_workspace = budgets[i];
        gops_test_products p = count_products(c, NULL);
        gops_test_check(p.multiplications == 6LL * 7 * 14 * 30 * 5 * 6,
                        "conv, budget %lld: %lld multiplications", (long long)budgets[i],
                        (long long)p.multiplications);
        gops_test_check(budgets[i] != 700 || p.calls > 6, "conv: %lld calls", (long long)p.calls);
        p = count_products(d, NULL);
        gops_test_check(p.multiplications == 6LL * 7 * 6 * 11 * 13 * 5,
                        "deconv, budget %lld: %lld multiplications", (long long)budgets[i],
                        (long long)p.multiplications);
        gops_test_check(budgets[i] != 700 || p.calls > 6, "deconv: %lld calls", (long long)p.calls);
    }
}

/* A 1x1 kernel, stride 1, no pads: B is the input itself, group by group, and no workspace. */
static void pointwise_reads_the_input(void)
{
    gops_problem p = gops_test_gemm_conv(GOPS_F32);
    const void *data;
    gops_plan *plan;
    gops_plan_info info = {.size = sizeof info};
    p.conv = (gops_conv_attributes){.dilations = LIST(3, 2)};
    p.filter.dims[3] = p.filter.dims[4] = 1;
    p.max_workspace = GOPS_UNLIMITED;
    gops_test_products seen = count_products(p, &data);
    gops_test_check(seen.calls == 6 && seen.lowest_b == data &&
                        seen.highest_b == (const float *)data + 5 * 5 * 29 * 31,
                    "%lld calls, B from byte %lld to byte %lld of the input", (long long)seen.calls,
                    (long long)((const char *)seen.lowest_b - (const char *)data),
                    (long long)((const char *)seen.highest_b - (const char *)data));
    gops_test_check(gops_problem_plan(&p, &plan, NULL) == GOPS_OK, "plan");
    gops_plan_get_info(plan, &info, NULL);
    gops_test_check(info.workspace_bytes == 0, "%zu bytes of workspace", info.workspace_bytes);
    gops_plan_destroy(plan);
}

int main(void)
{
    static const gops_test_case cases[] = {
        {"one_gemm_per_group_and_image", one_gemm_per_group_and_image},
        {"blocks_multiply_once", blocks_multiply_once},
        {"pointwise_reads_the_input", pointwise_reads_the_input},
        {NULL, NULL}};
    return gops_test_main("matrix products that a host lends", cases);
}
