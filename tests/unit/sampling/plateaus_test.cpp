#include "orchestrator/sampling/plateaus.hpp"

#include <gmock/gmock.h>

#include "support.hpp"

namespace hpo {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

Inputs inputs_of(const std::vector<std::vector<double>>& rows, std::vector<bool> categorical) {
    Inputs inputs{rows.size(), std::move(categorical), {}};
    for (std::size_t d = 0; d < inputs.dimensions(); ++d)
        for (const auto& row : rows) inputs.values.push_back(row[d]);
    return inputs;
}

TEST(PlateausTest, AreBetweenInputsWithEqualTargets) {
    const Inputs inputs = inputs_of({{0.2, 0}, {0.6, 0}, {0.9, 0}, {0.3, 1}}, {false, true});
    const std::vector<double> targets{1, 1, 2, 1};
    const Plateaus plateaus(inputs, targets);
    const auto log_new = [&](double x, double category) { return plateaus.log_new(std::vector{x, category}); };
    EXPECT_NEAR(log_new(0.4, 0), std::log(0.5), 1e-12) << "as likely as not, before any trial has shown it";
    EXPECT_EQ(log_new(0.1, 0), 0);
    EXPECT_EQ(log_new(0.7, 0), 0);
    EXPECT_EQ(log_new(0.4, 1), 0) << "another category";
}

TEST(PlateausTest, AreLikelierTheMoreEnclosedTrialsAreEqual) {
    const std::vector<std::vector<double>> rows{{0.1}, {0.8}, {0.3}, {0.5}, {0.6}};
    const auto at = [&](double inner, double x) {
        const std::vector<double> targets{1, 1, inner, inner, inner};
        return Plateaus(inputs_of(rows, {false}), targets).log_new(std::vector{x});
    };
    EXPECT_LT(at(1, 0.4), std::log(0.2));
    EXPECT_LT(at(1, 0.2), std::log(0.2)) << "all of the box, which grows with its members";
    EXPECT_EQ(at(2, 0.2), 0) << "another target is enclosed";
    EXPECT_NEAR(at(2, 0.4), std::log(2.0 / 3), 1e-12)
        << "of four enclosed trials three differ: a coincidence is likelier";
}

TEST(PlateausTest, AreAskedLessButForAGoodReason) {
    class Rising final : public Acquisition {
       public:
        std::vector<double> values(const std::vector<std::vector<double>>& inputs) const override {
            std::vector<double> all;
            for (const auto& input : inputs) all.push_back(3 * input[0]);
            return all;
        }
        double value(std::span<const double> input, std::span<double> gradient) const override {
            gradient[0] = 3;
            return 3 * input[0];
        }
    };
    const Rising rising;
    const std::vector<double> targets{1, 1};
    const Plateaus plateaus(inputs_of({{0.2}, {0.6}}, {false}), targets);
    const Unrepeated acquisition(rising, plateaus);
    EXPECT_THAT(acquisition.values({{0.1}, {0.4}}), ElementsAre(DoubleEq(3 * 0.1), DoubleEq(3 * 0.4 + std::log(0.5))));
    double slope = 0;
    EXPECT_DOUBLE_EQ(acquisition.value(std::vector{0.4}, {&slope, 1}), 3 * 0.4 + std::log(0.5));
    EXPECT_EQ(slope, 3);
}

}  // namespace
}  // namespace hpo
