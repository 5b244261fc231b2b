#include <gtest/gtest.h>

#include "orchestrator/import/convert.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::importing {
namespace {

/// The conversion into a vocabulary that has the sampler grid.
Study converted_grid(const std::string& parameters) {
    static constexpr Option points{"points", OptionType::integer, 2, 1e6};
    static constexpr PartOptions samplers[] = {{"grid", "", {&points, 1}}, {"sobol", "", {}}};
    const auto made = convert(
        "program: t\nmethod: grid\nmetric: {name: loss}\nparameters:\n" + parameters, "sweep.yaml", any_tool,
        {samplers, {}}, [](const std::string& file) -> Result<std::string> { return Error{file + ": No such file"}; });
    EXPECT_TRUE(made) << made.error().message;
    return made ? *parse_study(made->yaml, "s.yaml") : Study{};
}

TEST(ConvertedGrid, TakesEveryValueOfEveryRange) {
    const Study small = converted_grid("  a: {values: [1, 2, 3]}\n  b: {min: 1, max: 4}\n");
    EXPECT_EQ(small.sampler.type, "grid");
    EXPECT_TRUE(small.sampler.options.empty());
    EXPECT_EQ(small.budget.trials, 12);
    const Study large = converted_grid("  a: {min: 1, max: 40}\n");
    EXPECT_EQ(large.sampler.options.at("points"), Value{std::int64_t{40}});
    EXPECT_EQ(large.budget.trials, 40);
}

}  // namespace
}  // namespace hpo::importing
