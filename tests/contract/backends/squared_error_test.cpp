#include "tests/contract/backends/harness.hpp"

namespace hpo::test {
namespace {

struct Errors {
    Tensor predictions, targets, loss, absolute, gradient;

    Errors(Harness& harness, const Shape& shape)
        : predictions(harness.random(shape.rows, shape.columns, -4, 4)),
          targets(harness.random(shape.rows, shape.columns, -3, 3)),
          loss(harness.output(1, 1)),
          absolute(harness.output(1, 1)),
          gradient(harness.output(shape.rows, shape.columns)) {}

    [[nodiscard]] SquaredError arguments(float weight, Write write = Write::set) const {
        return {.predictions = predictions,
                .targets = targets,
                .loss = loss,
                .absolute = absolute,
                .gradient = gradient,
                .weight = weight,
                .write = write};
    }
};

double squared_errors(const Numbers& p, const Numbers& t, std::size_t count) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += (p[i] - t[i]) * (p[i] - t[i]);
    return sum;
}

double absolutes(const Numbers& p, const Numbers& t, std::size_t count) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += std::abs(p[i] - t[i]);
    return sum;
}

TEST(SquaredError, AgreesWithItsDefinitionAndFiniteDifferences) {
    for (const auto& shape : odd_shapes)
        fused_and_alone([&](Harness& harness) {
            const Errors e(harness, shape);
            harness.start();
            const float weight = 1.0F / static_cast<float>(shape.rows * shape.columns);
            harness.stream().enqueue(e.arguments(weight));
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers p = harness.values(e.predictions, k), t = harness.values(e.targets, k);
                const auto loss = [&](const Numbers& v) { return weight * squared_errors(v, t, v.size()); };
                expect_near(harness.values(e.loss, k), {loss(p)}, 2e-6);
                expect_near(harness.values(e.absolute, k), {weight * absolutes(p, t, p.size())}, 2e-6);
                expect_near(harness.values(e.gradient, k), differences(p, loss), 2e-6);
            }
        });
}

TEST(SquaredError, IsTheMeanOfThousandsOfRowsAndAddsLaterBatches) {
    fused_and_alone([&](Harness& harness) {
        const Errors e(harness, {12'345, 3});
        harness.start();
        SquaredError arguments = e.arguments(1.0F / (3 * 12'345));
        arguments.gradient = {};
        harness.stream().enqueue(arguments);
        arguments.write = Write::add;
        harness.stream().enqueue(arguments);
        for (int k = 0; k < harness.replicas(); ++k) {
            const Numbers p = harness.values(e.predictions, k), t = harness.values(e.targets, k);
            expect_near(harness.values(e.loss, k), {2 * arguments.weight * squared_errors(p, t, p.size())}, 5e-6);
            expect_near(harness.values(e.absolute, k), {2 * arguments.weight * absolutes(p, t, p.size())}, 5e-6);
        }
    });
}

TEST(SquaredError, LeavesPaddingOutOfEachReplicasMean) {
    // The last micro-batches of three batches have 700, 1 and 0 of 1000 rows.
    constexpr std::uint32_t batches[] = {1700, 1001, 1000};
    constexpr std::int64_t valid_rows[] = {700, 1, 0}, outputs = 3;
    fused_and_alone([&](Harness& harness) {
        const Errors e(harness, {1000, outputs});
        SquaredError arguments = e.arguments(99);
        arguments.weights =
            harness.per_replica<float>([&](int replica) { return 1.0F / static_cast<float>(batches[replica]); });
        arguments.scale = harness.per_replica<float>([](int replica) { return replica == 1 ? 1024.0F : 8.0F; });
        arguments.extent = {harness.per_replica<std::uint32_t>([&](int replica) { return batches[replica]; }),
                            harness.per_replica<std::uint32_t>([](int) { return 1000U; }), 1};
        harness.start();
        harness.stream().enqueue(arguments);
        for (int k = 0; k < harness.replicas(); ++k) {
            const int name = harness.value_index_of(k);
            const auto valid = number(valid_rows[name] * outputs);
            const Numbers p = harness.values(e.predictions, k), t = harness.values(e.targets, k);
            expect_near(harness.values(e.loss, k), {squared_errors(p, t, valid) / batches[name]}, 2e-6);
            expect_near(harness.values(e.absolute, k), {absolutes(p, t, valid) / batches[name]}, 2e-6);
            const Numbers gradient = harness.values(e.gradient, k);
            for (std::size_t i = 0; i < gradient.size(); ++i) {
                const double scale = name == 1 ? 1024 : 8;
                const double wanted = i < valid ? 2 * scale / batches[name] * (p[i] - t[i]) : 0;
                ASSERT_NEAR(gradient[i], wanted, 1e-5 * (1 + std::abs(wanted))) << "replica " << name << ", " << i;
            }
        }
    });
}

TEST(SquaredError, WritesTheGradientOverThePredictionsIfAskedToAndShowsNaN) {
    fused_and_alone([&](Harness& harness) {
        const Errors e(harness, {7, 3});
        harness.start();
        SquaredError arguments = e.arguments(1);
        harness.stream().enqueue(arguments);
        arguments.gradient = e.predictions;
        harness.stream().enqueue(arguments);
        for (int k = 0; k < harness.replicas(); ++k) {
            EXPECT_EQ(harness.bytes(e.gradient, k), harness.bytes(e.predictions, k));
            harness.stream().write(e.predictions.at(5), k, std::numeric_limits<float>::quiet_NaN());
        }
        harness.stream().enqueue(arguments);
        for (int k = 0; k < harness.replicas(); ++k) EXPECT_TRUE(std::isnan(harness.stream().read<float>(e.loss, k)));
    });
}

}  // namespace
}  // namespace hpo::test
