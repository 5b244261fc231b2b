#include "tests/contract/backends/harness.hpp"

namespace hpo::test {
namespace {

double smoothing_of(int replica) { return 0.1 * replica; }

std::int32_t label_of(int replica, std::int64_t row, std::int64_t classes) {
    return static_cast<std::int32_t>((row * 7 + replica) % classes);
}

double reference(const Shape& shape, const Numbers& z, int replica, double weight) {
    const auto classes = number(shape.columns);
    const double spread = smoothing_of(replica) / static_cast<double>(classes);
    double total = 0;
    for (std::size_t row = 0; row < number(shape.rows); ++row) {
        const double* x = z.data() + row * classes;
        const double greatest = *std::max_element(x, x + classes);
        double sum = 0;
        for (std::size_t c = 0; c < classes; ++c) sum += std::exp(x[c] - greatest);
        for (std::size_t c = 0; c < classes; ++c) {
            const bool hit = static_cast<int>(c) == label_of(replica, static_cast<std::int64_t>(row), shape.columns);
            total -= ((hit ? 1 - smoothing_of(replica) : 0) + spread) * (x[c] - greatest - std::log(sum));
        }
    }
    return weight * total;
}

struct Entropy {
    Tensor logits, labels, smoothing, loss, correct, gradient;

    Entropy(Harness& harness, const Shape& shape, double size = 4) {
        logits = harness.random(shape.rows, shape.columns, -size, size);
        labels = harness.integers<std::int32_t>(
            shape.rows, 1, [=](int replica, std::int64_t row) { return label_of(replica, row, shape.columns); });
        smoothing = harness.per_replica<float>([](int replica) { return static_cast<float>(smoothing_of(replica)); });
        loss = harness.output(1, 1);
        correct = harness.integers<std::int32_t>(1, 1, [](int, std::int64_t) { return 1000; });
        gradient = harness.output(shape.rows, shape.columns);
    }
};

TEST(CrossEntropy, AScaleIsOfTheGradientAlone) {
    fused_and_alone([&](Harness& harness) {
        const Entropy plain(harness, {17, 33});
        const Tensor scaled = harness.output(17, 33), loss = harness.output(1, 1);
        const Tensor scale = harness.per_replica<float>([](int replica) { return replica == 1 ? 1024.0F : 8.0F; });
        harness.start();
        const auto with = [&](const Tensor& gradient, const Tensor& its_loss, const Tensor& its_scale) {
            harness.stream().enqueue(CrossEntropy{.logits = plain.logits,
                                                  .labels = plain.labels,
                                                  .smoothing = plain.smoothing,
                                                  .loss = its_loss,
                                                  .correct = plain.correct,
                                                  .gradient = gradient,
                                                  .weight = 0.25F,
                                                  .write = Write::set,
                                                  .scale = its_scale});
        };
        with(plain.gradient, plain.loss, {});
        with(scaled, loss, scale);
        for (int k = 0; k < harness.replicas(); ++k) {
            Numbers wanted = harness.values(plain.gradient, k);
            for (double& g : wanted) g *= harness.value_index_of(k) == 1 ? 1024 : 8;
            expect_near(harness.values(scaled, k), wanted, 1e-5);
            EXPECT_EQ(harness.values(loss, k), harness.values(plain.loss, k));
        }
    });
}

TEST(CrossEntropy, AgreesWithItsDefinitionAndFiniteDifferences) {
    for (const auto& shape : odd_shapes)
        fused_and_alone([&](Harness& harness) {
            const Entropy c(harness, shape);
            harness.start();
            const float weight = 1.0F / static_cast<float>(shape.rows);
            harness.stream().enqueue(CrossEntropy{.logits = c.logits,
                                                  .labels = c.labels,
                                                  .smoothing = c.smoothing,
                                                  .loss = c.loss,
                                                  .correct = c.correct,
                                                  .gradient = c.gradient,
                                                  .weight = weight,
                                                  .write = Write::set});
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers z = harness.values(c.logits, k);
                const auto loss = [&](const Numbers& v) {
                    return reference(shape, v, harness.value_index_of(k), weight);
                };
                expect_near(harness.values(c.loss, k), {loss(z)}, 2e-6);
                expect_near(harness.values(c.gradient, k), differences(z, loss), 2e-6);
            }
        });
}

TEST(CrossEntropy, LeavesPaddingOutOfEachReplicasMean) {
    // The last micro-batches of three batches have 700, 4 and 0 of 1000 rows. A row is a sample or a step of one.
    constexpr std::uint32_t batches[] = {1700, 1004, 1000};
    constexpr std::int64_t valid_rows[] = {700, 4, 0}, classes = 3;
    for (const std::uint32_t per_sample : {1U, 4U})
        fused_and_alone([&](Harness& harness) {
            const Entropy c(harness, {1000, classes});
            const Tensor weights =
                harness.per_replica<float>([&](int replica) { return 1.0F / static_cast<float>(batches[replica]); });
            const Extent extent{
                .batch = harness.per_replica<std::uint32_t>([&](int replica) { return batches[replica] / per_sample; }),
                .rows = harness.per_replica<std::uint32_t>([&](int) { return 1000U / per_sample; }),
                .micro_batch = 1,
                .rows_per_sample = per_sample};
            harness.start();
            harness.stream().enqueue(CrossEntropy{.logits = c.logits,
                                                  .labels = c.labels,
                                                  .smoothing = c.smoothing,
                                                  .loss = c.loss,
                                                  .correct = c.correct,
                                                  .gradient = c.gradient,
                                                  .weight = 99,
                                                  .write = Write::set,
                                                  .scale = {},
                                                  .weights = weights,
                                                  .extent = extent});
            for (int k = 0; k < harness.replicas(); ++k) {
                const int name = harness.value_index_of(k);
                const Shape shape{valid_rows[name], classes};
                Numbers z = harness.values(c.logits, k), gradient = harness.values(c.gradient, k);
                z.resize(number(shape.rows * classes));
                expect_near(harness.values(c.loss, k), {reference(shape, z, name, 1.0 / batches[name])}, 2e-6);
                int hits = 0;
                for (std::int64_t row = 0; row < shape.rows; ++row)
                    hits += std::max_element(z.begin() + row * classes, z.begin() + (row + 1) * classes) - z.begin() -
                                row * classes ==
                            label_of(name, row, classes);
                EXPECT_EQ(harness.stream().read<std::int32_t>(c.correct, k), hits);
                for (std::size_t i = 0; i < gradient.size(); ++i)
                    EXPECT_EQ(gradient[i] != 0, i < z.size()) << "replica " << name << ", element " << i;
            }
        });
}

TEST(CrossEntropy, CountsRowsWhoseFirstGreatestLogitIsTheLabels) {
    fused_and_alone([&](Harness& harness) {
        const Entropy c(harness, {17, 10});
        harness.start();
        harness.stream().enqueue(CrossEntropy{.logits = c.logits,
                                              .labels = c.labels,
                                              .smoothing = c.smoothing,
                                              .loss = c.loss,
                                              .correct = c.correct,
                                              .gradient = {},
                                              .weight = 1,
                                              .write = Write::set});
        for (int k = 0; k < harness.replicas(); ++k) {
            const Numbers z = harness.values(c.logits, k);
            int wanted = 0;
            for (std::int64_t row = 0; row < 17; ++row)
                wanted += std::max_element(z.begin() + row * 10, z.begin() + row * 10 + 10) - z.begin() - row * 10 ==
                          label_of(harness.value_index_of(k), row, 10);
            EXPECT_EQ(harness.stream().read<std::int32_t>(c.correct, k), wanted);
        }
        harness.stream().enqueue(Fill{c.logits, 1});
        const std::vector<std::int32_t> firsts(17, 0);
        for (int k = 0; k < harness.replicas(); ++k)
            harness.stream().write(c.labels, k, std::span<const std::int32_t>(firsts));
        harness.stream().enqueue(CrossEntropy{.logits = c.logits,
                                              .labels = c.labels,
                                              .smoothing = c.smoothing,
                                              .loss = c.loss,
                                              .correct = c.correct,
                                              .gradient = {},
                                              .weight = 1,
                                              .write = Write::set});
        for (int k = 0; k < harness.replicas(); ++k) EXPECT_EQ(harness.stream().read<std::int32_t>(c.correct, k), 17);
    });
}

TEST(CrossEntropy, IsTheMeanOfThousandsOfRows) {
    fused_and_alone([&](Harness& harness) {
        const Shape shape{2345, 3};
        const Entropy c(harness, shape);
        harness.start();
        const float weight = 1.0F / 2345;
        harness.stream().enqueue(CrossEntropy{.logits = c.logits,
                                              .labels = c.labels,
                                              .smoothing = c.smoothing,
                                              .loss = c.loss,
                                              .correct = c.correct,
                                              .gradient = {},
                                              .weight = weight,
                                              .write = Write::set});
        for (int k = 0; k < harness.replicas(); ++k) {
            const Numbers z = harness.values(c.logits, k);
            expect_near(harness.values(c.loss, k), {reference(shape, z, harness.value_index_of(k), weight)}, 2e-6);
            int wanted = 0;
            for (std::int64_t row = 0; row < shape.rows; ++row)
                wanted += std::max_element(z.begin() + row * 3, z.begin() + row * 3 + 3) - z.begin() - row * 3 ==
                          label_of(harness.value_index_of(k), row, 3);
            EXPECT_EQ(harness.stream().read<std::int32_t>(c.correct, k), wanted);
        }
    });
}

TEST(CrossEntropy, WritesTheGradientOverTheLogitsIfAskedTo) {
    fused_and_alone([&](Harness& harness) {
        const Entropy c(harness, {7, 33});
        harness.start();
        harness.stream().enqueue(CrossEntropy{.logits = c.logits,
                                              .labels = c.labels,
                                              .smoothing = c.smoothing,
                                              .loss = c.loss,
                                              .correct = c.correct,
                                              .gradient = c.gradient,
                                              .weight = 1,
                                              .write = Write::set});
        harness.stream().enqueue(CrossEntropy{.logits = c.logits,
                                              .labels = c.labels,
                                              .smoothing = c.smoothing,
                                              .loss = c.loss,
                                              .correct = c.correct,
                                              .gradient = c.logits,
                                              .weight = 1,
                                              .write = Write::set});
        for (int k = 0; k < harness.replicas(); ++k)
            EXPECT_EQ(harness.bytes(c.gradient, k), harness.bytes(c.logits, k));
    });
}

TEST(CrossEntropy, AddsLossAndCountOfLaterBatches) {
    fused_and_alone([&](Harness& harness) {
        const Entropy c(harness, {7, 10});
        harness.start();
        harness.stream().enqueue(CrossEntropy{.logits = c.logits,
                                              .labels = c.labels,
                                              .smoothing = c.smoothing,
                                              .loss = c.loss,
                                              .correct = c.correct,
                                              .gradient = {},
                                              .weight = 1,
                                              .write = Write::set});
        std::vector<float> loss;
        std::vector<std::int32_t> correct;
        for (int k = 0; k < harness.replicas(); ++k) {
            loss.push_back(harness.stream().read<float>(c.loss, k));
            correct.push_back(harness.stream().read<std::int32_t>(c.correct, k));
        }
        harness.stream().enqueue(CrossEntropy{.logits = c.logits,
                                              .labels = c.labels,
                                              .smoothing = c.smoothing,
                                              .loss = c.loss,
                                              .correct = c.correct,
                                              .gradient = {},
                                              .weight = 1,
                                              .write = Write::add});
        for (int k = 0; k < harness.replicas(); ++k) {
            EXPECT_FLOAT_EQ(harness.stream().read<float>(c.loss, k), 2 * loss[number(k)]);
            EXPECT_EQ(harness.stream().read<std::int32_t>(c.correct, k), 2 * correct[number(k)]);
        }
    });
}

TEST(CrossEntropy, StaysFiniteForLogitsInTheThousandsAndShowsNaN) {
    fused_and_alone([&](Harness& harness) {
        const Entropy c(harness, {7, 10}, 5000);
        harness.start();
        harness.stream().enqueue(CrossEntropy{.logits = c.logits,
                                              .labels = c.labels,
                                              .smoothing = c.smoothing,
                                              .loss = c.loss,
                                              .correct = c.correct,
                                              .gradient = c.gradient,
                                              .weight = 1,
                                              .write = Write::set});
        for (int k = 0; k < harness.replicas(); ++k) {
            expect_near(harness.values(c.loss, k),
                        {reference({7, 10}, harness.values(c.logits, k), harness.value_index_of(k), 1)}, 1e-5);
            for (const double g : harness.values(c.gradient, k)) EXPECT_TRUE(std::isfinite(g));
            harness.stream().write(c.logits.at(25), k, std::numeric_limits<float>::quiet_NaN());
        }
        harness.stream().enqueue(CrossEntropy{.logits = c.logits,
                                              .labels = c.labels,
                                              .smoothing = c.smoothing,
                                              .loss = c.loss,
                                              .correct = c.correct,
                                              .gradient = {},
                                              .weight = 1,
                                              .write = Write::set});
        for (int k = 0; k < harness.replicas(); ++k) EXPECT_TRUE(std::isnan(harness.stream().read<float>(c.loss, k)));
    });
}

double class_weight(int replica, std::int64_t column) {
    return 0.25 * (replica + 1) + 0.5 * static_cast<double>(column % 3);
}

Tensor class_weights(Harness& harness, std::int64_t columns) {
    return harness.floats(1, columns, [](int replica, std::int64_t i) { return class_weight(replica, i); });
}

TEST(CrossEntropy, CountsARowAsTheWeightOfItsLabel) {
    const Shape shape{17, 33};
    fused_and_alone([&](Harness& harness) {
        const Entropy c(harness, shape);
        const Tensor weights = class_weights(harness, shape.columns);
        harness.start();
        harness.stream().enqueue(CrossEntropy{.logits = c.logits,
                                              .labels = c.labels,
                                              .smoothing = c.smoothing,
                                              .loss = c.loss,
                                              .correct = c.correct,
                                              .gradient = c.gradient,
                                              .weight = 0.125F,
                                              .class_weights = weights});
        for (int k = 0; k < harness.replicas(); ++k) {
            const Numbers z = harness.values(c.logits, k);
            const int name = harness.value_index_of(k);
            const auto loss = [&](const Numbers& v) {
                double sum = 0;
                for (std::int64_t row = 0; row < shape.rows; ++row) {
                    const auto its = v.begin() + row * shape.columns;
                    double exponentials = 0, all = 0;
                    for (auto x = its; x != its + shape.columns; ++x) exponentials += std::exp(*x), all += *x;
                    const std::int32_t label = label_of(name, row, shape.columns);
                    const double mean = all / static_cast<double>(shape.columns);
                    sum += class_weight(name, label) *
                           (std::log(exponentials) - (1 - smoothing_of(name)) * its[label] - smoothing_of(name) * mean);
                }
                return 0.125 * sum;
            };
            expect_near(harness.values(c.loss, k), {loss(z)}, 2e-6);
            expect_near(harness.values(c.gradient, k), differences(z, loss), 2e-6);
        }
    });
}

/// A label of binary cross-entropy.
double truth(int replica, std::int64_t element) { return (element * 5 + replica) % 3 == 0 ? 1 : 0; }

struct Binary {
    Entropy c;
    Tensor labels;

    Binary(Harness& harness, const Shape& shape, double size = 4)
        : c(harness, shape, size), labels(harness.floats(shape.rows, shape.columns, [](int replica, std::int64_t i) {
              return truth(replica, i);
          })) {}
    [[nodiscard]] CrossEntropy arguments(float weight) const {
        return {.logits = c.logits,
                .labels = labels,
                .smoothing = c.smoothing,
                .loss = c.loss,
                .correct = c.correct,
                .gradient = c.gradient,
                .weight = weight};
    }
};

double binary_reference(const Numbers& z, std::size_t count, std::int64_t columns, int replica, double weight,
                        bool weighed) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto element = static_cast<std::int64_t>(i);
        const double y = truth(replica, element) * (1 - smoothing_of(replica)) + smoothing_of(replica) / 2;
        const double positive = y * (weighed ? class_weight(replica, element % columns) : 1);
        const double of_one = std::max(-z[i], 0.0) + std::log1p(std::exp(-std::abs(z[i])));  // -log(sigmoid(z))
        sum += positive * of_one + (1 - y) * (of_one + z[i]);
    }
    return weight * sum;
}

std::int32_t binary_hits(const Numbers& z, std::size_t count, int replica) {
    std::int32_t hits = 0;
    for (std::size_t i = 0; i < count; ++i) hits += (z[i] > 0) == (truth(replica, static_cast<std::int64_t>(i)) > 0);
    return hits;
}

TEST(BinaryCrossEntropy, AgreesWithItsDefinitionAndFiniteDifferences) {
    for (const auto& shape : odd_shapes)
        fused_and_alone([&](Harness& harness) {
            const Binary b(harness, shape);
            const float weight = 1.0F / static_cast<float>(shape.rows * shape.columns);
            CrossEntropy arguments = b.arguments(weight);
            arguments.class_weights = class_weights(harness, shape.columns);
            harness.start();
            harness.stream().enqueue(BinaryCrossEntropy{arguments});
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers z = harness.values(b.c.logits, k);
                const int name = harness.value_index_of(k);
                const auto loss = [&](const Numbers& v) {
                    return binary_reference(v, v.size(), shape.columns, name, weight, true);
                };
                expect_near(harness.values(b.c.loss, k), {loss(z)}, 2e-6);
                expect_near(harness.values(b.c.gradient, k), differences(z, loss), 2e-6);
                EXPECT_EQ(harness.stream().read<std::int32_t>(b.c.correct, k), binary_hits(z, z.size(), name));
            }
        });
}

TEST(BinaryCrossEntropy, LeavesPaddingOutOfEachReplicasMeanAndScalesTheGradientAlone) {
    // The last micro-batches of three batches have 700, 1 and 0 of 1000 rows.
    constexpr std::uint32_t batches[] = {1700, 1001, 1000};
    constexpr std::int64_t valid_rows[] = {700, 1, 0}, columns = 3;
    fused_and_alone([&](Harness& harness) {
        const Binary b(harness, {1000, columns});
        CrossEntropy arguments = b.arguments(99);
        arguments.weights =
            harness.per_replica<float>([&](int replica) { return 1.0F / static_cast<float>(batches[replica]); });
        arguments.scale = harness.per_replica<float>([](int replica) { return replica == 1 ? 1024.0F : 8.0F; });
        arguments.extent = {harness.per_replica<std::uint32_t>([&](int replica) { return batches[replica]; }),
                            harness.per_replica<std::uint32_t>([](int) { return 1000U; }), 1};
        harness.start();
        harness.stream().enqueue(BinaryCrossEntropy{arguments});
        for (int k = 0; k < harness.replicas(); ++k) {
            const int name = harness.value_index_of(k);
            const auto valid = number(valid_rows[name] * columns);
            const Numbers z = harness.values(b.c.logits, k), gradient = harness.values(b.c.gradient, k);
            expect_near(harness.values(b.c.loss, k),
                        {binary_reference(z, valid, columns, name, 1.0 / batches[name], false)}, 2e-6);
            EXPECT_EQ(harness.stream().read<std::int32_t>(b.c.correct, k), binary_hits(z, valid, name));
            for (std::size_t i = 0; i < gradient.size(); ++i) {
                const double y =
                    truth(name, static_cast<std::int64_t>(i)) * (1 - smoothing_of(name)) + smoothing_of(name) / 2;
                const double scale = name == 1 ? 1024 : 8;
                const double wanted = i < valid ? scale / batches[name] * (1 / (1 + std::exp(-z[i])) - y) : 0;
                ASSERT_NEAR(gradient[i], wanted, 1e-5 * (1 + std::abs(wanted))) << "replica " << name << ", " << i;
            }
        }
    });
}

TEST(BinaryCrossEntropy, AddsLaterBatchesStaysFiniteForLogitsInTheThousandsAndShowsNaN) {
    fused_and_alone([&](Harness& harness) {
        const Binary b(harness, {345, 10}, 5000);
        harness.start();
        CrossEntropy arguments = b.arguments(0.5F);
        harness.stream().enqueue(BinaryCrossEntropy{arguments});
        arguments.write = Write::add;
        harness.stream().enqueue(BinaryCrossEntropy{arguments});
        for (int k = 0; k < harness.replicas(); ++k) {
            const Numbers z = harness.values(b.c.logits, k);
            const int name = harness.value_index_of(k);
            expect_near(harness.values(b.c.loss, k), {2 * binary_reference(z, z.size(), 10, name, 0.5, false)}, 1e-5);
            EXPECT_EQ(harness.stream().read<std::int32_t>(b.c.correct, k), 2 * binary_hits(z, z.size(), name));
            for (const double g : harness.values(b.c.gradient, k)) EXPECT_TRUE(std::isfinite(g));
        }
        arguments.gradient = b.c.logits;
        harness.stream().enqueue(BinaryCrossEntropy{arguments});
        for (int k = 0; k < harness.replicas(); ++k) {
            EXPECT_EQ(harness.bytes(b.c.gradient, k), harness.bytes(b.c.logits, k));
            harness.stream().write(b.c.logits.at(25), k, std::numeric_limits<float>::quiet_NaN());
        }
        harness.stream().enqueue(BinaryCrossEntropy{arguments});
        for (int k = 0; k < harness.replicas(); ++k) EXPECT_TRUE(std::isnan(harness.stream().read<float>(b.c.loss, k)));
    });
}

}  // namespace
}  // namespace hpo::test
