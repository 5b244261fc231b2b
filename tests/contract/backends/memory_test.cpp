#include <cstdlib>
#include <string_view>

#include "tests/contract/backends/rig.hpp"

namespace hpo::test {
namespace {

template <class T>
void gathers(Type type) {
    const std::int64_t samples_count = 37, features = 33, batch = 11;
    in_every_way([&](Rig& rig) {
        Layout layout(1);
        Samples samples;
        samples.features = layout.add(type, samples_count, features);
        samples.labels = layout.add(Type::i32, samples_count, 1);
        samples.scale = 0.5F;
        samples.shift = -3;
        const auto buffer = std::move(*rig.device().allocate(layout.bytes()));
        samples.buffer = buffer.get();
        std::vector<T> values(number(samples_count * features));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i % 251);
        std::vector<std::int32_t> labels(number(samples_count));
        for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(1000 - i);
        const auto loader = rig.device().stream(*buffer, 1);
        loader->write(samples.features, 0, std::span<const T>(values));
        loader->write(samples.labels, 0, std::span<const std::int32_t>(labels));

        const auto index = [=](int lane, std::int64_t i) {
            return static_cast<std::int32_t>((i * 7 + lane) % samples_count);
        };
        const Tensor indices = rig.integers<std::int32_t>(1, 3 * batch, index);
        const Tensor output = rig.output(batch, features);
        const Tensor targets = rig.integers<std::int32_t>(batch, 1, [](int, std::int64_t) { return -1; });
        rig.start();
        rig.stream().gather(samples, {indices.slice(batch, 1, batch), output, targets});
        for (int k = 0; k < rig.lanes(); ++k) {
            Numbers wanted;
            for (std::int64_t row = 0; row < batch; ++row) {
                const auto from = index(rig.name_of(k), batch + row);
                EXPECT_EQ(rig.stream().read<std::int32_t>(targets.at(row), k), labels[number(from)]);
                for (std::int64_t i = 0; i < features; ++i)
                    wanted.push_back(static_cast<double>(values[number(from * features + i)]) * 0.5 - 3);
            }
            expect_near(rig.values(output, k), wanted, 1e-6);
        }
    });
}

TEST(Gather, TakesRowsOfBytesAndNormalises) { gathers<std::uint8_t>(Type::u8); }
TEST(Gather, TakesRowsOfFloatsAndNormalises) { gathers<float>(Type::f32); }

TEST(Initialise, IsUniformByTheDocumentedDraws) {
    in_every_way([&](Rig& rig) {
        const Tensor weights = rig.output(17, 33);
        const Tensor seed = rig.lane_array<std::uint64_t>(
            [](int lane) { return (std::uint64_t{5} << 32) + static_cast<std::uint64_t>(lane); });
        rig.start();
        rig.stream().initialise(weights, 0.25F, seed, 9);
        for (int k = 0; k < rig.lanes(); ++k) {
            Numbers wanted;
            for (std::uint64_t e = 0; e < 17 * 33; ++e) {
                const auto bits = draw_bits((std::uint64_t{5} << 32) + static_cast<std::uint64_t>(rig.name_of(k)),
                                            Purpose::initialise, 9, e);
                wanted.push_back(0.25 * (static_cast<double>(bits >> 8) / 8388608.0 - 1));
            }
            expect_near(rig.values(weights, k), wanted, 0);
        }
    });
}

TEST(FillAndCopy, ReachEveryElementOfEveryLane) {
    for (const auto& shape : odd_shapes)
        in_every_way([&](Rig& rig) {
            const Tensor from = rig.random(shape.rows, shape.columns), to = rig.output(shape.rows, shape.columns);
            const Tensor filled = rig.output(shape.rows, shape.columns);
            rig.start();
            rig.stream().copy(from, to);
            rig.stream().fill(filled, 2.5F);
            for (int k = 0; k < rig.lanes(); ++k) {
                EXPECT_EQ(rig.bytes(from, k), rig.bytes(to, k));
                expect_near(rig.values(filled, k), Numbers(number(shape.rows * shape.columns), 2.5), 0);
            }
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
}

}  // namespace
}  // namespace hpo::test
