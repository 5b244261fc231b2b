#include "tests/contract/backends/rig.hpp"

namespace hpo::test {
namespace {

double smoothing_of(int lane) { return 0.1 * lane; }

std::int32_t label_of(int lane, std::int64_t row, std::int64_t classes) {
    return static_cast<std::int32_t>((row * 7 + lane) % classes);
}

double reference(const Shape& shape, const Numbers& z, int lane, double weight) {
    const auto classes = number(shape.columns);
    const double spread = smoothing_of(lane) / static_cast<double>(classes);
    double total = 0;
    for (std::size_t row = 0; row < number(shape.rows); ++row) {
        const double* x = z.data() + row * classes;
        const double greatest = *std::max_element(x, x + classes);
        double sum = 0;
        for (std::size_t c = 0; c < classes; ++c) sum += std::exp(x[c] - greatest);
        for (std::size_t c = 0; c < classes; ++c) {
            const bool hit = static_cast<int>(c) == label_of(lane, static_cast<std::int64_t>(row), shape.columns);
            total -= ((hit ? 1 - smoothing_of(lane) : 0) + spread) * (x[c] - greatest - std::log(sum));
        }
    }
    return weight * total;
}

struct Entropy {
    Tensor logits, labels, smoothing, loss, correct, gradient;

    Entropy(Rig& rig, const Shape& shape, double size = 4) {
        logits = rig.random(shape.rows, shape.columns, -size, size);
        labels = rig.integers<std::int32_t>(
            shape.rows, 1, [=](int lane, std::int64_t row) { return label_of(lane, row, shape.columns); });
        smoothing = rig.lane_array<float>([](int lane) { return static_cast<float>(smoothing_of(lane)); });
        loss = rig.output(1, 1);
        correct = rig.integers<std::int32_t>(1, 1, [](int, std::int64_t) { return 1000; });
        gradient = rig.output(shape.rows, shape.columns);
    }
};

TEST(CrossEntropy, AScaleIsOfTheGradientAlone) {
    in_every_way([&](Rig& rig) {
        const Entropy plain(rig, {17, 33});
        const Tensor scaled = rig.output(17, 33), loss = rig.output(1, 1);
        const Tensor scale = rig.lane_array<float>([](int lane) { return lane == 1 ? 1024.0F : 8.0F; });
        rig.start();
        const auto with = [&](const Tensor& gradient, const Tensor& its_loss, const Tensor& its_scale) {
            rig.stream().cross_entropy({plain.logits, plain.labels, plain.smoothing, its_loss, plain.correct, gradient,
                                        0.25F, Write::set, its_scale});
        };
        with(plain.gradient, plain.loss, {});
        with(scaled, loss, scale);
        for (int k = 0; k < rig.lanes(); ++k) {
            Numbers wanted = rig.values(plain.gradient, k);
            for (double& g : wanted) g *= rig.name_of(k) == 1 ? 1024 : 8;
            expect_near(rig.values(scaled, k), wanted, 1e-5);
            EXPECT_EQ(rig.values(loss, k), rig.values(plain.loss, k));
        }
    });
}

TEST(CrossEntropy, AgreesWithItsDefinitionAndFiniteDifferences) {
    for (const auto& shape : odd_shapes)
        in_every_way([&](Rig& rig) {
            const Entropy c(rig, shape);
            rig.start();
            const float weight = 1.0F / static_cast<float>(shape.rows);
            rig.stream().cross_entropy(
                {c.logits, c.labels, c.smoothing, c.loss, c.correct, c.gradient, weight, Write::set});
            for (int k = 0; k < rig.lanes(); ++k) {
                const Numbers z = rig.values(c.logits, k);
                const auto loss = [&](const Numbers& v) { return reference(shape, v, rig.name_of(k), weight); };
                expect_near(rig.values(c.loss, k), {loss(z)}, 2e-6);
                expect_near(rig.values(c.gradient, k), differences(z, loss), 2e-6);
            }
        });
}

TEST(CrossEntropy, LeavesPaddingOutOfEachLanesMean) {
    // The last pass of batches of three sizes: 700, 1 and no rows of 1000.
    constexpr std::uint32_t batches[] = {1700, 1001, 1000};
    constexpr std::int64_t own_of[] = {700, 1, 0}, classes = 3;
    in_every_way([&](Rig& rig) {
        const Entropy c(rig, {1000, classes});
        const Tensor weights =
            rig.lane_array<float>([&](int lane) { return 1.0F / static_cast<float>(batches[lane]); });
        const Pass pass{rig.lane_array<std::uint32_t>([&](int lane) { return batches[lane]; }),
                        rig.lane_array<std::uint32_t>([](int) { return 1000U; }), 1};
        rig.start();
        rig.stream().cross_entropy(
            {c.logits, c.labels, c.smoothing, c.loss, c.correct, c.gradient, 99, Write::set, {}, weights, pass});
        for (int k = 0; k < rig.lanes(); ++k) {
            const int name = rig.name_of(k);
            const Shape shape{own_of[name], classes};
            Numbers z = rig.values(c.logits, k), gradient = rig.values(c.gradient, k);
            z.resize(number(shape.rows * classes));
            expect_near(rig.values(c.loss, k), {reference(shape, z, name, 1.0 / batches[name])}, 2e-6);
            int hits = 0;
            for (std::int64_t row = 0; row < shape.rows; ++row)
                hits += std::max_element(z.begin() + row * classes, z.begin() + (row + 1) * classes) - z.begin() -
                            row * classes ==
                        label_of(name, row, classes);
            EXPECT_EQ(rig.stream().read<std::int32_t>(c.correct, k), hits);
            for (std::size_t i = 0; i < gradient.size(); ++i)
                EXPECT_EQ(gradient[i] != 0, i < z.size()) << "lane " << name << ", element " << i;
        }
    });
}

TEST(CrossEntropy, CountsRowsWhoseFirstGreatestLogitIsTheLabels) {
    in_every_way([&](Rig& rig) {
        const Entropy c(rig, {17, 10});
        rig.start();
        rig.stream().cross_entropy({c.logits, c.labels, c.smoothing, c.loss, c.correct, {}, 1, Write::set});
        for (int k = 0; k < rig.lanes(); ++k) {
            const Numbers z = rig.values(c.logits, k);
            int wanted = 0;
            for (std::int64_t row = 0; row < 17; ++row)
                wanted += std::max_element(z.begin() + row * 10, z.begin() + row * 10 + 10) - z.begin() - row * 10 ==
                          label_of(rig.name_of(k), row, 10);
            EXPECT_EQ(rig.stream().read<std::int32_t>(c.correct, k), wanted);
        }
        rig.stream().fill(c.logits, 1);
        const std::vector<std::int32_t> firsts(17, 0);
        for (int k = 0; k < rig.lanes(); ++k) rig.stream().write(c.labels, k, std::span<const std::int32_t>(firsts));
        rig.stream().cross_entropy({c.logits, c.labels, c.smoothing, c.loss, c.correct, {}, 1, Write::set});
        for (int k = 0; k < rig.lanes(); ++k) EXPECT_EQ(rig.stream().read<std::int32_t>(c.correct, k), 17);
    });
}

TEST(CrossEntropy, IsTheMeanOfThousandsOfRows) {
    in_every_way([&](Rig& rig) {
        const Shape shape{2345, 3};
        const Entropy c(rig, shape);
        rig.start();
        const float weight = 1.0F / 2345;
        rig.stream().cross_entropy({c.logits, c.labels, c.smoothing, c.loss, c.correct, {}, weight, Write::set});
        for (int k = 0; k < rig.lanes(); ++k) {
            const Numbers z = rig.values(c.logits, k);
            expect_near(rig.values(c.loss, k), {reference(shape, z, rig.name_of(k), weight)}, 2e-6);
            int wanted = 0;
            for (std::int64_t row = 0; row < shape.rows; ++row)
                wanted += std::max_element(z.begin() + row * 3, z.begin() + row * 3 + 3) - z.begin() - row * 3 ==
                          label_of(rig.name_of(k), row, 3);
            EXPECT_EQ(rig.stream().read<std::int32_t>(c.correct, k), wanted);
        }
    });
}

TEST(CrossEntropy, WritesTheGradientOverTheLogitsIfAskedTo) {
    in_every_way([&](Rig& rig) {
        const Entropy c(rig, {7, 33});
        rig.start();
        rig.stream().cross_entropy({c.logits, c.labels, c.smoothing, c.loss, c.correct, c.gradient, 1, Write::set});
        rig.stream().cross_entropy({c.logits, c.labels, c.smoothing, c.loss, c.correct, c.logits, 1, Write::set});
        for (int k = 0; k < rig.lanes(); ++k) EXPECT_EQ(rig.bytes(c.gradient, k), rig.bytes(c.logits, k));
    });
}

TEST(CrossEntropy, AddsLossAndCountOfLaterBatches) {
    in_every_way([&](Rig& rig) {
        const Entropy c(rig, {7, 10});
        rig.start();
        rig.stream().cross_entropy({c.logits, c.labels, c.smoothing, c.loss, c.correct, {}, 1, Write::set});
        std::vector<float> loss;
        std::vector<std::int32_t> correct;
        for (int k = 0; k < rig.lanes(); ++k) {
            loss.push_back(rig.stream().read<float>(c.loss, k));
            correct.push_back(rig.stream().read<std::int32_t>(c.correct, k));
        }
        rig.stream().cross_entropy({c.logits, c.labels, c.smoothing, c.loss, c.correct, {}, 1, Write::add});
        for (int k = 0; k < rig.lanes(); ++k) {
            EXPECT_FLOAT_EQ(rig.stream().read<float>(c.loss, k), 2 * loss[number(k)]);
            EXPECT_EQ(rig.stream().read<std::int32_t>(c.correct, k), 2 * correct[number(k)]);
        }
    });
}

TEST(CrossEntropy, StaysFiniteForLogitsInTheThousandsAndShowsNaN) {
    in_every_way([&](Rig& rig) {
        const Entropy c(rig, {7, 10}, 5000);
        rig.start();
        rig.stream().cross_entropy({c.logits, c.labels, c.smoothing, c.loss, c.correct, c.gradient, 1, Write::set});
        for (int k = 0; k < rig.lanes(); ++k) {
            expect_near(rig.values(c.loss, k), {reference({7, 10}, rig.values(c.logits, k), rig.name_of(k), 1)}, 1e-5);
            for (const double g : rig.values(c.gradient, k)) EXPECT_TRUE(std::isfinite(g));
            rig.stream().write(c.logits.at(25), k, std::numeric_limits<float>::quiet_NaN());
        }
        rig.stream().cross_entropy({c.logits, c.labels, c.smoothing, c.loss, c.correct, {}, 1, Write::set});
        for (int k = 0; k < rig.lanes(); ++k) EXPECT_TRUE(std::isnan(rig.stream().read<float>(c.loss, k)));
    });
}

}  // namespace
}  // namespace hpo::test
