// The layout of the memory of a fused group: tensors as plain numbers, and the layout that places them. Pure: no memory
// is touched here, so that planning and training use the same code.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

namespace hpo {

enum class Type : std::uint8_t { f32, i32, u32, u64, u8, bf16, f16 };

constexpr std::size_t size_of(Type type) {
    switch (type) {
        case Type::u8:
            return 1;
        case Type::bf16:
        case Type::f16:
            return 2;
        case Type::u64:
            return 8;
        default:
            return 4;
    }
}

template <class T>
constexpr Type type_of();
template <>
constexpr Type type_of<float>() {
    return Type::f32;
}
template <>
constexpr Type type_of<std::int32_t>() {
    return Type::i32;
}
template <>
constexpr Type type_of<std::uint32_t>() {
    return Type::u32;
}
template <>
constexpr Type type_of<std::uint64_t>() {
    return Type::u64;
}
template <>
constexpr Type type_of<std::uint16_t>() {  // as bits
    return Type::bf16;
}
template <>
constexpr Type type_of<std::uint8_t>() {
    return Type::u8;
}

/// Everything in an arena begins at a multiple of this many bytes: a cache line, and the widest vector register.
inline constexpr std::size_t alignment = 64;

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// The effect of an operation on a gradient: it writes the gradient, or adds to it (micro-batches after the first).
enum class Write : std::uint8_t { set, add };

/// One row-major matrix for each replica of a group, as an offset into a buffer. A default-constructed one means
/// "none".
struct Tensor {
    std::size_t offset = 0;          ///< bytes from the buffer's start to replica 0's first element
    std::size_t replica_stride = 0;  ///< bytes from one replica's first element to the next replica's
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    Type type = Type::f32;

    explicit operator bool() const { return rows > 0; }
    [[nodiscard]] std::int64_t elements() const { return rows * columns; }  ///< of one replica
    [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(type); }

    /// A matrix inside this one: `count_rows` x `count_columns` dense elements from element `first` on.
    [[nodiscard]] Tensor slice(std::int64_t first, std::int64_t count_rows, std::int64_t count_columns) const {
        assert(first >= 0 && first + count_rows * count_columns <= elements());
        return {offset + static_cast<std::size_t>(first) * size_of(type), replica_stride, count_rows, count_columns,
                type};
    }
    /// The first `count` rows: a batch shorter than planned.
    [[nodiscard]] Tensor first_rows(std::int64_t count) const { return slice(0, count, columns); }
    /// The matrices of all replicas with the gaps between them, for one copy of all: as replica 0's row of elements,
    /// replica k's first at k * replica_stride / size_of(type).
    [[nodiscard]] Tensor all_replicas(int replicas) const {
        const std::size_t elements_of_all = static_cast<std::size_t>(replicas) * replica_stride / size_of(type);
        return {offset, 0, 1, static_cast<std::int64_t>(elements_of_all), type};
    }
    /// Replica `k`'s matrix as replica 0's, for a stream of one replica.
    [[nodiscard]] Tensor replica(int k) const {
        Tensor tensor = *this;
        tensor.offset += static_cast<std::size_t>(k) * replica_stride;
        return tensor;
    }
    /// One element of a row: entry `index` of a table, for instance this iteration's learning rate.
    [[nodiscard]] Tensor at(std::int64_t index) const { return slice(index, 1, 1); }
};

/// The most replicas of a group. Numbers per replica are laid out for this many, so that each further replica takes the
/// same bytes.
inline constexpr int max_replicas = 256;

/// Places tensors one behind the other. `bytes()` is the exact size of the arena: a + b * replicas for the same
/// tensors.
class Layout {
   public:
    explicit Layout(int replicas) : replicas_(replicas) { assert(replicas > 0 && replicas <= max_replicas); }

    /// A matrix for each replica, each aligned.
    Tensor add(Type type, std::int64_t rows, std::int64_t columns) {
        const std::size_t stride = aligned(static_cast<std::size_t>(rows * columns) * size_of(type));
        return place({0, stride, rows, columns, type}, stride * static_cast<std::size_t>(replicas_));
    }
    /// A matrix that all replicas share.
    Tensor add_shared(Type type, std::int64_t rows, std::int64_t columns) {
        const std::size_t bytes = static_cast<std::size_t>(rows * columns) * size_of(type);
        return place({0, 0, rows, columns, type}, aligned(bytes));
    }
    /// One number for each replica, side by side: an array of K.
    Tensor add_per_replica(Type type) {
        const std::size_t stride = size_of(type);
        return place({0, stride, 1, 1, type}, aligned(stride * static_cast<std::size_t>(max_replicas)));
    }

    [[nodiscard]] int replicas() const { return replicas_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

   private:
    Tensor place(Tensor tensor, std::size_t bytes) {
        tensor.offset = bytes_;
        bytes_ += bytes;
        return tensor;
    }

    int replicas_;
    std::size_t bytes_ = 0;
};

}  // namespace hpo
