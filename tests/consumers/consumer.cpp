// consumer.cpp: the installed package as a C++11 program uses it; built from outside the tree.
#include <groupops/groupops.h>

#include <cstdio>
#include <memory>
#include <vector>

namespace
{

struct destroy {
    void operator()(gops_plan *plan) const
    {
        gops_plan_destroy(plan);
    }
};

int fail(const char *what, const gops_error &error)
{
    std::fprintf(stderr, "%s: %s\n", what, error.message);
    return 1;
}

} // namespace

// Two groups of two channels. Group 1 holds 2 2 | 4 4: mean 3, variance 1, and with an epsilon that
// is lost beside it in f32 its elements become exactly -1 and +1, scaled and shifted.
int main()
{
    const std::vector<float> data_values = {1, 3, 5, 7, 2, 2, 4, 4};
    const std::vector<float> scale_values = {1, 2, 1, 3};
    const std::vector<float> bias_values = {0, 0, 10, 0};
    const std::vector<float> expected = {9, 9, 3, 3}; // of group 1
    std::vector<float> output(data_values.size());

    const gops_tensor data = {GOPS_F32, 3, {1, 4, 2}};
    const gops_tensor scale = {GOPS_F32, 1, {4}};
    gops_norm_attributes attributes = {};
    attributes.num_groups = 2;
    attributes.epsilon = 1.0 / (1LL << 40);

    gops_error error;
    gops_plan *made = nullptr;
    if (gops_norm_plan_create(&data, &scale, &scale, &attributes, nullptr, &made, &error) !=
        GOPS_OK) {
        return fail("plan", error);
    }
    const std::unique_ptr<gops_plan, destroy> plan(made);

    gops_arguments arguments = GOPS_ARGUMENTS_INIT;
    arguments.data = data_values.data();
    arguments.scale = scale_values.data();
    arguments.bias = bias_values.data();
    arguments.output = output.data();
    if (gops_execute(plan.get(), &arguments, &error) != GOPS_OK) {
        return fail("execute", error);
    }
    for (std::size_t i = 0; i < expected.size(); i++) {
        if (output[4 + i] != expected[i]) {
            std::fprintf(stderr, "output[%zu] is %g, not %g\n", 4 + i,
                         static_cast<double>(output[4 + i]), static_cast<double>(expected[i]));
            return 1;
        }
    }
    std::printf("groupops %s, %s: right\n", gops_version(), gops_blas());
    return 0;
}
