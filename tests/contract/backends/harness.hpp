// The test bench of all operations: an arena with gaps between the tensors, random inputs that differ between replicas,
// and outputs that are NaN at first.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "hpo/random.hpp"
#include "tests/contract/backends/present.hpp"

namespace hpo::test {

using Numbers = std::vector<double>;

/// Replicas `first_replica` to `first_replica + replicas - 1` of a computation. A test declares tensors, calls `start`,
/// enqueues operations and reads the tensors.
class Harness {
   public:
    Harness(Device& device, int replicas, int first_replica)
        : device_(device), layout_(replicas), first_replica_(first_replica) {}

    /// Declares a tensor with uniform values in [low, high), which differ between tensors and replicas.
    Tensor random(std::int64_t rows, std::int64_t columns, double low = -1, double high = 1) {
        const std::uint64_t number = declared_.size();
        return declare<float>(rows, columns, false, [=](int replica, std::int64_t i) {
            return static_cast<float>(low + (high - low) * draw_unit(7, Purpose::synthetic,
                                                                     number * 8 + static_cast<std::uint64_t>(replica),
                                                                     static_cast<std::uint64_t>(i)));
        });
    }
    Tensor output(std::int64_t rows, std::int64_t columns) {
        return declare<float>(rows, columns, false,
                              [](int, std::int64_t) { return std::numeric_limits<float>::quiet_NaN(); });
    }
    /// Declares a tensor for rounded operands.
    Tensor rounded(std::int64_t rows, std::int64_t columns, Type type) {
        Tensor tensor =
            declare<std::uint16_t>(rows, columns, false, [](int, std::int64_t) { return std::uint16_t{0}; });
        tensor.type = type;
        return tensor;
    }
    template <class T>
    Tensor integers(std::int64_t rows, std::int64_t columns, std::function<T(int replica, std::int64_t i)> value) {
        return declare<T>(rows, columns, false, std::move(value));
    }
    Tensor floats(std::int64_t rows, std::int64_t columns, std::function<double(int replica, std::int64_t i)> value) {
        return declare<float>(rows, columns, false,
                              [value](int replica, std::int64_t i) { return static_cast<float>(value(replica, i)); });
    }
    template <class T = float>
    Tensor per_replica(std::function<T(int replica)> value) {
        return declare<T>(1, 1, true, [value](int replica, std::int64_t) { return value(replica); });
    }

    /// Ends the declarations. Allocates the memory, and writes the pattern of the gaps and the values.
    void start() {
        arena_ = std::move(*device_.allocate(layout_.bytes()));
        stream_ = device_.stream(*arena_, layout_.replicas());
        stream_->write_bytes(everything(), 0, std::vector<std::byte>(layout_.bytes(), pattern));
        for (const auto& declared : declared_)
            for (int replica = 0; replica < layout_.replicas(); ++replica)
                declared.write(*stream_, replica, first_replica_ + replica);
    }

    Device& device() { return device_; }
    Stream& stream() { return *stream_; }
    Buffer& arena() { return *arena_; }
    [[nodiscard]] int replicas() const { return layout_.replicas(); }
    /// Returns the number from which the values of `replica` are drawn. It is the same alone and among other replicas.
    [[nodiscard]] int value_index_of(int replica) const { return first_replica_ + replica; }

    Numbers values(const Tensor& tensor, int replica) {
        std::vector<float> raw(static_cast<std::size_t>(tensor.elements()));
        stream_->read(tensor, replica, std::span<float>(raw));
        return {raw.begin(), raw.end()};
    }
    std::vector<std::byte> bytes(const Tensor& tensor, int replica) {
        std::vector<std::byte> raw(tensor.bytes());
        stream_->read_bytes(tensor, replica, raw);
        return raw;
    }

    /// Returns the bytes of all tensors of one replica.
    std::vector<std::byte> replica_bytes(int replica) {
        std::vector<std::byte> all;
        for (const auto& declared : declared_) {
            const auto one = bytes(declared.tensor, replica);
            all.insert(all.end(), one.begin(), one.end());
        }
        return all;
    }

    void expect_gaps_untouched() {
        auto arena = bytes(everything(), 0);
        for (const auto& declared : declared_)
            for (int replica = 0; replica < replicas(); ++replica) {
                const auto first =
                    declared.tensor.offset + static_cast<std::size_t>(replica) * declared.tensor.replica_stride;
                for (std::size_t i = 0; i < declared.tensor.bytes(); ++i) arena[first + i] = pattern;
            }
        for (std::size_t i = 0; i < arena.size(); ++i)
            ASSERT_EQ(arena[i], pattern) << "byte " << i << " lies in no tensor and was written";
    }

   private:
    static constexpr std::byte pattern{0xA5};

    struct Declared {
        Tensor tensor;
        std::function<void(Stream&, int replica, int name)> write;
    };

    template <class T>
    Tensor declare(std::int64_t rows, std::int64_t columns, bool array, std::function<T(int, std::int64_t)> value) {
        const Tensor tensor = array ? layout_.add_per_replica(type_of<T>()) : layout_.add(type_of<T>(), rows, columns);
        layout_.add(Type::u8, 1, 64);
        declared_.push_back({tensor, [tensor, value](Stream& stream, int replica, int name) {
                                 std::vector<T> values(static_cast<std::size_t>(tensor.elements()));
                                 for (std::size_t i = 0; i < values.size(); ++i)
                                     values[i] = value(name, static_cast<std::int64_t>(i));
                                 stream.write(tensor, replica, std::span<const T>(values));
                             }});
        return tensor;
    }

    [[nodiscard]] Tensor everything() const { return {0, 0, 1, static_cast<std::int64_t>(layout_.bytes()), Type::u8}; }

    Device& device_;
    Layout layout_;
    int first_replica_;
    std::vector<Declared> declared_;
    std::unique_ptr<Buffer> arena_;
    std::unique_ptr<Stream> stream_;
};

inline void expect_near(const Numbers& got, const Numbers& wanted, double tolerance) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], wanted[i], tolerance * (1 + std::abs(wanted[i]))) << "element " << i;
}

/// Runs `computation` on every device of this machine, with three replicas and with each of them alone. Expects the
/// same bits from both, and that nothing outside of the tensors was written.
inline void fused_and_alone(const std::function<void(Harness&)>& computation) {
    for (const Present& present : present_devices()) {
        SCOPED_TRACE(present.device->name());
        constexpr int replicas = 3;
        Harness together(*present.device, replicas, 0);
        computation(together);
        together.expect_gaps_untouched();
        for (int replica = 0; replica < replicas; ++replica) {
            SCOPED_TRACE("replica " + std::to_string(replica));
            Harness alone(*present.device, 1, replica);
            computation(alone);
            alone.expect_gaps_untouched();
            if (present.same_bits) {
                ASSERT_EQ(alone.replica_bytes(0), together.replica_bytes(replica))
                    << "the replica depends on its company";
            }
        }
    }
}

/// Runs `computation` with one replica on every device of this machine.
inline void on_every_device(const std::function<void(Harness&)>& computation) {
    for (const Present& present : present_devices()) {
        SCOPED_TRACE(present.device->name());
        Harness harness(*present.device, 1, 0);
        computation(harness);
    }
}

/// Returns the 16-bit precisions of a device.
inline std::vector<Precision> narrow_precisions(const Device& device) {
    std::vector<Precision> all;
    for (const Precision precision : {Precision::bfloat16, Precision::float16})
        if (device.computes_in(precision)) all.push_back(precision);
    return all;
}

struct Shape {
    std::int64_t rows;
    std::int64_t columns;
};
inline constexpr Shape odd_shapes[] = {{1, 1}, {1, 3}, {3, 1}, {3, 7}, {7, 17}, {17, 33}, {5, 65}, {2, 129}, {3, 257}};

/// Returns the gradient of `f` at `point` by central differences.
inline Numbers differences(Numbers point, const std::function<double(const Numbers&)>& f, double step = 1e-5) {
    Numbers gradient(point.size());
    for (std::size_t i = 0; i < point.size(); ++i) {
        const double middle = point[i];
        point[i] = middle + step;
        const double above = f(point);
        point[i] = middle - step;
        gradient[i] = (above - f(point)) / (2 * step);
        point[i] = middle;
    }
    return gradient;
}

inline double dot(const Numbers& a, const Numbers& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

inline std::size_t number(std::int64_t value) { return static_cast<std::size_t>(value); }

}  // namespace hpo::test
