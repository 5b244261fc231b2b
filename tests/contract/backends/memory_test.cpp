#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string_view>

#include "tests/contract/backends/harness.hpp"

namespace hpo::test {
namespace {

constexpr std::int64_t all_rows = 61, features_of_each = 33;

template <class T>
struct Held {
    /// If `outputs` is 0, a target is a class; otherwise it has `outputs` numbers.
    Held(Device& device, std::int64_t listed, std::int64_t outputs = 0) {
        Layout layout(1);
        samples.features = layout.add(type_of<T>(), all_rows, features_of_each);
        samples.targets = outputs > 0 ? layout.add(Type::f32, all_rows, outputs) : layout.add(Type::i32, all_rows, 1);
        if (listed > 0) samples.rows = layout.add(Type::i32, 1, listed);
        samples.count = listed > 0 ? listed : all_rows;
        samples.scale = 0.5F;
        samples.shift = -3;
        buffer = std::move(*device.allocate(layout.bytes()));
        samples.buffer = buffer.get();
        for (std::int64_t i = 0; i < all_rows * features_of_each; ++i) values.push_back(static_cast<T>(i % 251));
        for (std::int64_t i = 0; i < all_rows; ++i) labels.push_back(static_cast<std::int32_t>(1000 - i));
        for (std::int64_t i = 0; i < samples.count; ++i)
            rows.push_back(static_cast<std::int32_t>(listed > 0 ? (i * 7 + 3) % all_rows : i));
        const auto loader = device.stream(*buffer, 1);
        loader->write(samples.features, 0, std::span<const T>(values));
        for (std::int64_t i = 0; i < all_rows * outputs; ++i) target_numbers.push_back(0.25F * static_cast<float>(i));
        if (outputs > 0)
            loader->write(samples.targets, 0, std::span<const float>(target_numbers));
        else
            loader->write(samples.targets, 0, std::span<const std::int32_t>(labels));
        if (listed > 0) loader->write(samples.rows, 0, std::span<const std::int32_t>(rows));
    }

    /// Returns the normalised features of the samples with these numbers.
    [[nodiscard]] Numbers features(const std::vector<std::int64_t>& numbers) const {
        Numbers wanted;
        for (const std::int64_t sample : numbers)
            for (std::int64_t i = 0; i < features_of_each; ++i)
                wanted.push_back(
                    static_cast<double>(values[number(rows[number(sample)] * features_of_each + i)]) * 0.5 - 3);
        return wanted;
    }

    Samples samples;
    std::unique_ptr<Buffer> buffer;
    std::vector<T> values;
    std::vector<std::int32_t> labels, rows;
    std::vector<float> target_numbers;
};

struct Taken {
    Harness& harness;
    Tensor output = harness.output(11, features_of_each);
    Tensor targets = harness.integers<std::int32_t>(11, 1, [](int, std::int64_t) { return -1; });

    /// Expects these samples, and padding.
    template <class T>
    void expect(const Held<T>& held, int replica, const std::vector<std::int64_t>& numbers) {
        Numbers wanted = held.features(numbers);
        wanted.resize(11 * features_of_each);
        expect_near(harness.values(output, replica), wanted, 1e-6);
        for (auto i = static_cast<std::int64_t>(numbers.size()); i < 11; ++i)
            EXPECT_EQ(harness.stream().read<std::int32_t>(targets.at(i), replica), 0);
        for (std::size_t i = 0; i < numbers.size(); ++i)
            EXPECT_EQ(harness.stream().read<std::int32_t>(targets.at(static_cast<std::int64_t>(i)), replica),
                      held.labels[number(held.rows[number(numbers[i])])]);
    }
};

/// The second micro-batch of batches of 13, 12 and 22 samples. The first one took 7, 11 and 11 samples, so 6, 1 and 11
/// are left. The last number is the number of rows.
constexpr std::uint32_t batches[] = {13, 12, 22}, firsts[] = {7, 11, 11}, ends[] = {13, 12, 22};

Extent second_micro_batch(Harness& harness) {
    return {harness.per_replica<std::uint32_t>([](int replica) { return batches[replica]; }),
            harness.per_replica<std::uint32_t>([](int replica) { return firsts[replica]; }), 1};
}

template <class T>
void gathers_in_order(std::int64_t listed) {
    fused_and_alone([&](Harness& harness) {
        const Held<T> held(harness.device(), listed);
        Taken taken{harness};
        harness.start();
        harness.stream().enqueue(
            Gather{.samples = held.samples, .output = taken.output, .targets = taken.targets, .first = 20});
        std::vector<std::int64_t> numbers(11);
        std::iota(numbers.begin(), numbers.end(), 20);
        for (int k = 0; k < harness.replicas(); ++k) taken.expect(held, k, numbers);
    });
}

TEST(Gather, TakesRowsOfBytesInOrderAndNormalises) { gathers_in_order<std::uint8_t>(0); }
TEST(Gather, TakesRowsOfFloatsInOrderAndNormalises) { gathers_in_order<float>(0); }
TEST(Gather, TakesTargetsOfSeveralNumbers) {
    constexpr std::int64_t outputs = 3;
    fused_and_alone([&](Harness& harness) {
        const Held<float> held(harness.device(), 37, outputs);
        const Tensor output = harness.output(11, features_of_each), targets = harness.output(11, outputs);
        const Extent extent = second_micro_batch(harness);
        const Tensor seed = harness.per_replica<std::uint64_t>([](int) { return 5U; });
        const Tensor iteration = harness.per_replica<std::uint32_t>([](int) { return 1U; });
        harness.start();
        const auto number_of = [&](std::int64_t sample, std::int64_t i) {
            return static_cast<double>(held.target_numbers[number(held.rows[number(sample)] * outputs + i)]);
        };
        harness.stream().enqueue(Gather{.samples = held.samples, .output = output, .targets = targets, .first = 20});
        for (int k = 0; k < harness.replicas(); ++k) {
            const Numbers got = harness.values(targets, k);
            for (std::int64_t i = 0; i < 11 * outputs; ++i)
                EXPECT_EQ(got[number(i)], number_of(20 + i / outputs, i % outputs)) << i;
        }
        harness.stream().enqueue(Gather{.samples = held.samples,
                                        .output = output,
                                        .targets = targets,
                                        .first = 0,
                                        .extent = extent,
                                        .seed = seed,
                                        .iteration = iteration,
                                        .augment = {}});
        for (int k = 0; k < harness.replicas(); ++k) {
            const auto name = number(harness.value_index_of(k));
            const std::uint32_t epoch = 37 / batches[name];
            const EpochOrder order(5, 1 / epoch, 37);
            Numbers wanted;
            for (std::uint32_t row = firsts[name]; row < ends[name]; ++row)
                for (std::int64_t i = 0; i < outputs; ++i)
                    wanted.push_back(number_of(order.at(1 % epoch * batches[name] + row), i));
            wanted.resize(11 * outputs);  // padding is 0
            EXPECT_EQ(harness.values(targets, k), wanted);
        }
    });
}

TEST(Gather, TakesTheRowsThatAreListed) { gathers_in_order<std::uint8_t>(37); }

TEST(Gather, RoundsWhatGoesToAnOutputOf16Bits) {
    for (const Precision precision : {Precision::bfloat16, Precision::float16})
        for (const bool training : {false, true})
            fused_and_alone([&](Harness& harness) {
                Held<std::uint8_t> held(harness.device(), 0);
                held.samples.scale = 0.37F;
                Taken wide{harness}, narrow{harness};
                narrow.output = harness.rounded(11, features_of_each, operand_type(precision));
                const Tensor rounded = harness.rounded(11, features_of_each, operand_type(precision));
                Gather gather{.samples = held.samples, .output = wide.output, .targets = wide.targets, .first = 20};
                if (training) {
                    gather.first = 0;
                    gather.extent = second_micro_batch(harness);
                    gather.seed = harness.per_replica<std::uint64_t>([](int) { return 5U; });
                    gather.iteration = harness.per_replica<std::uint32_t>([](int) { return 2U; });
                }
                harness.start();
                if (!harness.device().computes_in(precision)) return;
                harness.stream().enqueue(gather);
                gather.output = narrow.output;
                gather.targets = narrow.targets;
                harness.stream().enqueue(
                    Fill{{narrow.output.offset, narrow.output.replica_stride, 11, features_of_each / 2}, 7});
                harness.stream().enqueue(gather);
                harness.stream().enqueue(Round{wide.output, rounded});
                for (int k = 0; k < harness.replicas(); ++k) {
                    EXPECT_EQ(harness.bytes(narrow.output, k), harness.bytes(rounded, k));
                    EXPECT_EQ(harness.bytes(narrow.targets, k), harness.bytes(wide.targets, k));
                }
            });
}

TEST(Gather, ShufflesAsTheDocumentedOrderSays) {
    // Several epochs of 37 samples, of which 11, 1 and 15 are left over in each. The replicas are at different
    // iterations.
    for (const std::uint32_t iteration : {0U, 1U, 2U, 7U, 100'000U})
        fused_and_alone([&](Harness& harness) {
            const Held<std::uint8_t> held(harness.device(), 37);
            Taken taken{harness};
            const auto seed_of = [](int replica) {
                return (std::uint64_t{9} << 33) + static_cast<std::uint64_t>(replica);
            };
            const auto iteration_of = [=](int replica) { return iteration + 5 * static_cast<std::uint32_t>(replica); };
            const Tensor seed = harness.per_replica<std::uint64_t>(seed_of);
            const Tensor at = harness.per_replica<std::uint32_t>(iteration_of);
            const Extent extent = second_micro_batch(harness);
            harness.start();
            harness.stream().enqueue(Gather{.samples = held.samples,
                                            .output = taken.output,
                                            .targets = taken.targets,
                                            .first = 0,
                                            .extent = extent,
                                            .seed = seed,
                                            .iteration = at,
                                            .augment = {}});
            for (int k = 0; k < harness.replicas(); ++k) {
                const int name = harness.value_index_of(k);
                const std::uint32_t epoch = 37 / batches[name];
                const EpochOrder order(seed_of(name), iteration_of(name) / epoch, 37);
                std::vector<std::int64_t> numbers;
                for (std::uint32_t i = firsts[name]; i < ends[name]; ++i)
                    numbers.push_back(order.at(iteration_of(name) % epoch * batches[name] + i));
                taken.expect(held, k, numbers);
            }
        });
}

TEST(Gather, ShiftsAndMirrorsImagesAsTheDocumentedDrawsSay) {
    // The 33 features are 11 x 3 or 3 x 11 pixels with 1 channel, or 1 x 11 pixels with 3 channels.
    const Augment all[] = {{11, 3, 2, true}, {11, 3, 0, true}, {3, 11, 2, false}, {1, 11, 5, true}};
    for (const Augment& augment : all)
        fused_and_alone([&](Harness& harness) {
            const Held<std::uint8_t> held(harness.device(), 37);
            Taken taken{harness};
            const auto seed_of = [](int replica) {
                return (std::uint64_t{3} << 40) + static_cast<std::uint64_t>(replica);
            };
            const Tensor seed = harness.per_replica<std::uint64_t>(seed_of);
            const Tensor at = harness.per_replica<std::uint32_t>(
                [](int replica) { return 70U + static_cast<std::uint32_t>(replica); });
            const Extent extent = second_micro_batch(harness);
            harness.start();
            harness.stream().enqueue(Gather{.samples = held.samples,
                                            .output = taken.output,
                                            .targets = taken.targets,
                                            .first = 0,
                                            .extent = extent,
                                            .seed = seed,
                                            .iteration = at,
                                            .augment = augment});
            const std::int64_t channels = features_of_each / (augment.height * augment.width);
            for (int k = 0; k < harness.replicas(); ++k) {
                const int name = harness.value_index_of(k);
                const std::uint32_t iteration = 70U + static_cast<std::uint32_t>(name);
                const std::uint32_t epoch = 37 / batches[name];
                const EpochOrder order(seed_of(name), iteration / epoch, 37);
                Numbers wanted;
                for (std::uint32_t i = firsts[name]; i < ends[name]; ++i) {
                    const Numbers whole = held.features({order.at(iteration % epoch * batches[name] + i)});
                    const PhiloxBlock draw = draw_block(seed_of(name), Purpose::augment, iteration, i);
                    const auto shift = [&](std::uint32_t word) {
                        return static_cast<std::int64_t>(word / 0x1p32 * static_cast<double>(2 * augment.shift + 1)) -
                               augment.shift;
                    };
                    for (std::int64_t y = 0; y < augment.height; ++y)
                        for (std::int64_t x = 0; x < augment.width; ++x)
                            for (std::int64_t c = 0; c < channels; ++c) {
                                const bool mirrored = augment.flip && draw[2] % 2 == 1;
                                const std::int64_t from_y = y + shift(draw[0]);
                                const std::int64_t from_x = (mirrored ? augment.width - 1 - x : x) + shift(draw[1]);
                                const bool inside =
                                    from_y >= 0 && from_y < augment.height && from_x >= 0 && from_x < augment.width;
                                wanted.push_back(
                                    inside ? whole[number((from_y * augment.width + from_x) * channels + c)] : -3);
                            }
                }
                wanted.resize(11 * features_of_each);
                expect_near(harness.values(taken.output, k), wanted, 1e-6);
            }
        });
}

TEST(Gather, TakesEachReplicasOwnPartOfTheSamples) {
    // Three parts of 7 samples of 33 features; of the second part 5 are listed, of the others 6. Replica r has part
    // 2 - r mod 3 and normalises it its own way. In the second round the features are the same for all parts.
    constexpr std::int64_t count = 7, columns = 33, parts = 3;
    for (const bool shared : {false, true})
        fused_and_alone([&](Harness& harness) {
            Layout layout(parts);
            const Tensor features =
                shared ? layout.add_shared(Type::f32, count, columns) : layout.add(Type::f32, count, columns);
            const Tensor labels = layout.add(Type::i32, count, 1), rows = layout.add(Type::i32, 1, 6);
            const auto buffer = *harness.device().allocate(layout.bytes());
            const auto value_of = [&](std::int64_t part, std::int64_t i) {
                return static_cast<float>((shared ? 0 : 1000 * part) + i);
            };
            const auto row_of = [=](std::int64_t part, std::int64_t i) { return (3 * i + part) % count; };
            {
                const auto stream = harness.device().stream(*buffer, parts);
                for (int part = 0; part < parts; ++part) {
                    std::vector<float> values;
                    for (std::int64_t i = 0; i < count * columns; ++i) values.push_back(value_of(part, i));
                    stream->write(features, part, std::span<const float>(values));
                    std::vector<std::int32_t> targets, listed;
                    for (int i = 0; i < count; ++i) targets.push_back(10 * part + i);
                    for (int i = 0; i < 6; ++i) listed.push_back(static_cast<std::int32_t>(row_of(part, i)));
                    stream->write(labels, part, std::span<const std::int32_t>(targets));
                    stream->write(rows, part, std::span<const std::int32_t>(listed));
                }
                stream->synchronise();
            }
            const auto part_of = [](int replica) { return 2 - replica % 3; };
            const auto listed_of = [&](int replica) { return part_of(replica) == 1 ? 5U : 6U; };
            const Tensor output = harness.output(4, columns);
            const Tensor targets = harness.integers<std::int32_t>(4, 1, [](int, std::int64_t) { return -1; });
            const Gather::Fold fold{
                harness.per_replica<std::uint32_t>([&](int r) { return static_cast<std::uint32_t>(part_of(r)); }),
                harness.per_replica<std::uint32_t>([&](int r) { return listed_of(r); }),
                harness.per_replica<float>([](int r) { return 1.0F + static_cast<float>(r); }),
                harness.per_replica<float>([](int r) { return static_cast<float>(10 * r); })};
            const Tensor seed = harness.per_replica<std::uint64_t>([](int r) { return 5U + static_cast<unsigned>(r); });
            const Tensor at = harness.per_replica<std::uint32_t>([](int) { return 3U; });
            const Tensor batch = harness.per_replica<std::uint32_t>([](int) { return 4U; });
            harness.start();
            const Samples samples{buffer.get(), features, labels, rows, 6, -100, -100};
            const auto expect = [&](int k, const std::vector<std::int64_t>& positions) {
                const int name = harness.value_index_of(k);
                Numbers wanted, wanted_targets;
                for (const std::int64_t position : positions) {
                    const std::int64_t row = row_of(part_of(name), position);
                    for (std::int64_t i = 0; i < columns; ++i)
                        wanted.push_back(value_of(part_of(name), row * columns + i) * (1.0 + name) + 10 * name);
                    wanted_targets.push_back(static_cast<double>(10 * part_of(name) + row));
                }
                expect_near(harness.values(output, k), wanted, 1e-6);
                for (std::int64_t i = 0; i < 4; ++i)
                    EXPECT_EQ(harness.stream().read<std::int32_t>(targets.at(i), k), wanted_targets[number(i)]);
            };
            harness.stream().enqueue(
                Gather{.samples = samples, .output = output, .targets = targets, .first = 1, .fold = fold});
            for (int k = 0; k < harness.replicas(); ++k) expect(k, {1, 2, 3, 4});
            harness.stream().enqueue(Gather{.samples = samples,
                                            .output = output,
                                            .targets = targets,
                                            .first = 0,
                                            .extent = {batch, batch},
                                            .seed = seed,
                                            .iteration = at,
                                            .augment = {},
                                            .fold = fold});
            for (int k = 0; k < harness.replicas(); ++k) {
                const int name = harness.value_index_of(k);
                const EpochOrder order(5U + static_cast<unsigned>(name), 3, listed_of(name));
                expect(k, {order.at(0), order.at(1), order.at(2), order.at(3)});
            }
        });
}

TEST(Stage, BringsEachReplicaItsOwnSamplesInTheOrderTheyLieIn) {
    fused_and_alone([&](Harness& harness) {
        constexpr std::int64_t batch = 7, columns = 33, labels_at = 256;
        std::array<Tensor, 2> regions;
        for (Tensor& region : regions)
            region = harness.integers<std::uint8_t>(1, labels_at + 4 * batch, [](int, std::int64_t) { return 9; });
        const Tensor output = harness.output(5, columns);
        const Tensor targets = harness.integers<std::int32_t>(5, 1, [](int, std::int64_t) { return -1; });
        const Tensor seed =
            harness.per_replica<std::uint64_t>([](int replica) { return 5U + static_cast<unsigned>(replica); });
        const Tensor at = harness.per_replica<std::uint32_t>([](int) { return 3U; });
        const Tensor size = harness.per_replica<std::uint32_t>([](int) { return 7U; });
        const Tensor rows = harness.per_replica<std::uint32_t>([](int) { return 4U; });
        harness.start();
        const auto stage = harness.stream().stage(regions[0].all_replicas(harness.replicas()).bytes());
        // There are more batches than parts, so the test waits for parts.
        for (int time = 0; time < 5; ++time) {
            const Tensor& region = regions[static_cast<std::size_t>(time % 2)];
            const Tensor all = region.all_replicas(harness.replicas());
            Samples samples{&harness.arena(),
                            {region.offset, region.replica_stride, batch, columns, Type::u8},
                            {region.offset + labels_at, region.replica_stride, batch, 1, Type::i32},
                            {},
                            batch};
            samples.staged = true;
            const std::span<std::byte> part = stage->next();
            ASSERT_EQ(part.size(), all.bytes());
            std::fill(part.begin(), part.end(), std::byte{0xA5});
            const auto pixel = [=](int name, std::int64_t i) { return (i * 3 + name * 50 + time) % 251; };
            for (int k = 0; k < harness.replicas(); ++k) {
                std::byte* region_of_replica = part.data() + static_cast<std::size_t>(k) * region.replica_stride;
                for (std::int64_t i = 0; i < batch * columns; ++i)
                    region_of_replica[i] = static_cast<std::byte>(pixel(harness.value_index_of(k), i));
                for (std::int32_t i = 0; i < batch; ++i) {
                    const std::int32_t label = 100 * harness.value_index_of(k) + 10 * time + i;
                    std::memcpy(region_of_replica + labels_at + 4 * i, &label, 4);
                }
            }
            stage->send(all);
            harness.stream().enqueue(Gather{.samples = samples,
                                            .output = output,
                                            .targets = targets,
                                            .first = 0,
                                            .extent = {size, rows, 1},
                                            .seed = seed,
                                            .iteration = at,
                                            .augment = {}});
            for (int k = 0; k < harness.replicas(); ++k) {
                Numbers wanted;
                for (std::int64_t i = 4 * columns; i < 7 * columns; ++i)
                    wanted.push_back(static_cast<double>(pixel(harness.value_index_of(k), i)));
                wanted.resize(5 * columns);
                expect_near(harness.values(output, k), wanted, 0);
                EXPECT_EQ(harness.stream().read<std::int32_t>(targets.at(2), k),
                          100 * harness.value_index_of(k) + 10 * time + 6);
            }
        }
    });
}

TEST(Initialise, IsUniformByTheDocumentedDraws) {
    fused_and_alone([&](Harness& harness) {
        const Tensor weights = harness.output(17, 33);
        const Tensor seed = harness.per_replica<std::uint64_t>(
            [](int replica) { return (std::uint64_t{5} << 32) + static_cast<std::uint64_t>(replica); });
        harness.start();
        harness.stream().enqueue(Initialise{weights, 0.25F, seed, 9});
        for (int k = 0; k < harness.replicas(); ++k) {
            Numbers wanted;
            for (std::uint64_t e = 0; e < 17 * 33; ++e) {
                const auto bits =
                    draw_bits((std::uint64_t{5} << 32) + static_cast<std::uint64_t>(harness.value_index_of(k)),
                              Purpose::initialise, 9, e);
                wanted.push_back(0.25 * (static_cast<double>(bits >> 8) / 8388608.0 - 1));
            }
            expect_near(harness.values(weights, k), wanted, 0);
        }
    });
}

TEST(FillAndCopy, ReachEveryElementOfEveryReplica) {
    for (const auto& shape : odd_shapes)
        fused_and_alone([&](Harness& harness) {
            const Tensor from = harness.random(shape.rows, shape.columns),
                         to = harness.output(shape.rows, shape.columns);
            const Tensor filled = harness.output(shape.rows, shape.columns);
            harness.start();
            harness.stream().enqueue(Copy{from, to});
            harness.stream().enqueue(Fill{filled, 2.5F});
            for (int k = 0; k < harness.replicas(); ++k) {
                EXPECT_EQ(harness.bytes(from, k), harness.bytes(to, k));
                expect_near(harness.values(filled, k), Numbers(number(shape.rows * shape.columns), 2.5), 0);
            }
        });
}

/// Copies more than a backend's pinned memory, so that the parts of a copy take turns in it.
TEST(Copies, OfMegabytesArriveWholeInBothDirections) {
    for (const Present& present : present_devices()) {
        constexpr std::int64_t count = 1'300'007;
        Layout layout(2);
        const Tensor numbers = layout.add(Type::u32, 1, count);
        const Tensor small = layout.add(Type::u32, 1, 3);
        const auto arena = std::move(*present.device->allocate(layout.bytes()));
        const auto stream = present.device->stream(*arena, 2);
        std::vector<std::uint32_t> values(count), got(count), few(3);
        for (const std::uint32_t first : {1U, 5U}) {
            for (int replica = 0; replica < 2; ++replica) {
                std::iota(values.begin(), values.end(), first + static_cast<std::uint32_t>(replica));
                stream->write(numbers, replica, std::span<const std::uint32_t>(values));
                values.assign(values.size(), 0);  // the host memory may be reused at once
                stream->write(small, replica, std::span<const std::uint32_t>(values).first(3));
            }
            for (int replica = 1; replica >= 0; --replica) {
                stream->read(small, replica, std::span(few));
                stream->read(numbers, replica, std::span(got));
                std::iota(values.begin(), values.end(), first + static_cast<std::uint32_t>(replica));
                EXPECT_TRUE(got == values) << present.device->name();
                EXPECT_EQ(few, std::vector<std::uint32_t>(3, 0));
            }
        }
    }
}

TEST(Copies, FromAnotherArenaTakeTheSelectedReplicas) {
    for (const Present& present : present_devices()) {
        Layout narrow(2), wide(4);
        const Tensor from = narrow.add(Type::f32, 3, 5);
        (void)wide.add(Type::f32, 9, 9);
        const Tensor to = wide.add(Type::f32, 3, 5);
        const auto old_arena = std::move(*present.device->allocate(narrow.bytes()));
        const auto arena = std::move(*present.device->allocate(wide.bytes()));
        const auto old_stream = present.device->stream(*old_arena, 2);
        const auto stream = present.device->stream(*arena, 4);
        std::vector<float> values(15), got(15);
        for (int replica = 0; replica < 2; ++replica) {
            std::iota(values.begin(), values.end(), static_cast<float>(100 * replica + 1));
            old_stream->write(from, replica, std::span<const float>(values));
        }
        stream->select_replicas(0, 2);
        stream->copy_from(*old_arena, from, to);
        for (int replica = 0; replica < 3; ++replica) {
            if (replica < 2)
                std::iota(values.begin(), values.end(), static_cast<float>(100 * replica + 1));
            else
                values.assign(15, 0);
            stream->read(to, replica, std::span(got));
            EXPECT_EQ(got, values) << present.device->name() << " replica " << replica;
        }
    }
}

TEST(Advance, CountsTheLivingAndKeepsLossAndNormInTheirSlots) {
    fused_and_alone([&](Harness& harness) {
        Advance c;
        c.iteration =
            harness.per_replica<std::uint32_t>([](int replica) { return 7U + static_cast<std::uint32_t>(replica); });
        c.alive = harness.per_replica<std::uint8_t>([](int replica) { return replica == 1 ? 0 : 1; });
        c.window_index = harness.per_replica<std::uint32_t>([](int replica) { return replica == 2 ? 1U : 0U; });
        c.loss = harness.random(1, 1);
        c.norm = harness.random(1, 1);
        c.losses = harness.output(1, 4);
        c.norms = harness.output(1, 4);
        harness.start();
        for (int i = 0; i < 2; ++i) harness.stream().enqueue(c);
        for (int k = 0; k < harness.replicas(); ++k) {
            const std::size_t first = harness.value_index_of(k) == 2 ? 1 : 0;
            EXPECT_EQ(harness.stream().read<std::uint32_t>(c.window_index, k), first + 2);
            EXPECT_EQ(
                harness.stream().read<std::uint32_t>(c.iteration, k),
                7U + static_cast<std::uint32_t>(harness.value_index_of(k)) + (harness.value_index_of(k) == 1 ? 0 : 2));
            const Numbers losses = harness.values(c.losses, k), norms = harness.values(c.norms, k);
            for (std::size_t window_index = 0; window_index < 4; ++window_index) {
                const bool written = window_index >= first && window_index < first + 2;
                EXPECT_EQ(written, losses[window_index] == harness.values(c.loss, k)[0]) << window_index;
                EXPECT_EQ(written, norms[window_index] == harness.values(c.norm, k)[0]) << window_index;
            }
        }
    });
}

TEST(Repeat, DoesTheSameEachTimeOnWhatLiesInTheArenaThen) {
    fused_and_alone([&](Harness& harness) {
        const Tensor x = harness.random(3, 7), w = harness.random(5, 7), y = harness.output(3, 5),
                     kept = harness.output(3, 5);
        const Tensor iteration = harness.per_replica<std::uint32_t>([](int) { return 0; });
        const Tensor alive = harness.per_replica<std::uint8_t>([](int) { return 1; });
        harness.start();
        int asked = 0;
        const auto operations = [&] {
            ++asked;
            harness.stream().enqueue(Linear{x, w, y});
            harness.stream().enqueue(Copy{y, kept});
            harness.stream().enqueue(Activate{.activation = Activation::relu, .pre = y, .output = y});
            harness.stream().enqueue(Advance{.iteration = iteration, .alive = alive});
        };
        for (int time = 0; time < 5; ++time) {
            harness.stream().enqueue(Fill{x, static_cast<float>(time) - 2});
            const std::uint64_t before = harness.device().launches();
            harness.stream().repeat(1, operations);
            if (harness.device().backend() == "cuda" && time >= 1) {
                EXPECT_EQ(harness.device().launches(), before + 1);
                EXPECT_EQ(asked, 2);
            }
            for (int k = 0; k < harness.replicas(); ++k) {
                const Numbers weights = harness.values(w, k), got = harness.values(kept, k),
                              positive = harness.values(y, k);
                for (std::size_t o = 0; o < 5; ++o) {
                    double sum = 0;
                    for (std::size_t i = 0; i < 7; ++i) sum += (time - 2) * weights[o * 7 + i];
                    EXPECT_NEAR(got[o], sum, 1e-5);
                    EXPECT_NEAR(positive[o], std::max(sum, 0.0), 1e-5);
                }
            }
        }
        for (int k = 0; k < harness.replicas(); ++k) EXPECT_EQ(harness.stream().read<std::uint32_t>(iteration, k), 5U);
        // Another name gives another repetition.
        harness.stream().repeat(2, [&] { harness.stream().enqueue(Fill{y, 3}); });
        EXPECT_EQ(harness.values(y, 0)[0], 3);
    });
}

TEST(Device, GivesZeroedMemoryOfExactlyTheBytesAskedFor) {
    for (const Present& present : present_devices()) {
        SCOPED_TRACE(present.device->name());
        const auto buffer = std::move(*present.device->allocate(1000));
        EXPECT_EQ(buffer->bytes(), 1000U);
        std::vector<std::byte> content(1000, std::byte{1});
        present.device->stream(*buffer, 1)->read_bytes({0, 0, 1, 1000, Type::u8}, 0, content);
        EXPECT_EQ(content, std::vector<std::byte>(1000));
    }
}

TEST(Device, SaysSoWhenThereIsNotEnoughMemoryAndStaysWell) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer's allocator ends the program instead";
#endif
    for (const Present& present : present_devices()) {
        SCOPED_TRACE(present.device->name());
        const auto buffer = present.device->allocate(std::size_t{1} << 60);
        ASSERT_FALSE(buffer.ok());
        EXPECT_NE(buffer.error().message.find("1152921504606846976 bytes"), std::string::npos)
            << buffer.error().message;
        EXPECT_TRUE(present.device->allocate(1000).ok());
    }
}

TEST(Device, NamesItsBackendFirst) {
    for (const Present& present : present_devices()) {
        const std::string name = present.device->name();
        EXPECT_EQ(name.find(std::string(present.device->backend()) + ", "), 0U) << name;
    }
}

bool is_present(std::string_view backend) {
    const auto all = present_devices();
    return std::any_of(all.begin(), all.end(), [&](const Present& p) { return p.device->backend() == backend; });
}

TEST(Device, OfEveryBackendThatIsToBeTestedThereIsOne) {
    if (const char* asked = std::getenv("HPO_TEST_BACKEND")) {
        EXPECT_TRUE(is_present(asked)) << asked;
    } else {
        EXPECT_TRUE(is_present("cpu"));
        EXPECT_TRUE(is_present("opencl")) << "apt install pocl-opencl-icd";
    }
    const auto all = present_devices();
    const auto by_clblast = [](const Present& p) { return p.device->name().find(", CLBlast") != std::string::npos; };
    if (std::getenv("HPO_TEST_CLBLAST")) {
        EXPECT_TRUE(std::any_of(all.begin(), all.end(), by_clblast)) << "apt install libclblast1";
    }
}

}  // namespace
}  // namespace hpo::test
