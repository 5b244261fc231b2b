#include "worker/data/parquet/hybrid.hpp"

#include <algorithm>

namespace hpo::parquet {

bool take_varint(std::span<const std::byte>& bytes, std::uint64_t& number) {
    number = 0;
    for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
        const auto next = static_cast<std::uint64_t>(bytes.front());
        bytes = bytes.subspan(1);
        number |= (next & 0x7F) << shift;
        if ((next & 0x80) == 0) return true;
    }
    return false;
}

std::uint64_t packed_bits(std::span<const std::byte> bytes, std::uint64_t bit, int width) {
    std::uint64_t number = 0;
    for (int have = 0; have < width;) {
        const auto from = static_cast<int>(bit % 8);
        const int count = std::min(8 - from, width - have);
        const std::uint64_t piece =
            (static_cast<std::uint64_t>(bytes[static_cast<std::size_t>(bit / 8)]) >> from) & ((1U << count) - 1U);
        number |= piece << have;
        have += count;
        bit += static_cast<std::uint64_t>(count);
    }
    return number;
}

bool HybridReader::next_run() {
    std::uint64_t head = 0;
    if (!take_varint(bytes_, head)) return false;
    packed_ = (head & 1) != 0;
    head >>= 1;
    // No page has this many numbers, and the sums below cannot overflow.
    if (head == 0 || head > std::uint64_t{1} << 32) return false;
    if (packed_) {
        left_ = head * 8;
        // The last group of a page may be cut short; read() sees where it ends.
        const auto size = std::min<std::uint64_t>(head * static_cast<std::uint64_t>(width_), bytes_.size());
        run_ = bytes_.first(static_cast<std::size_t>(size));
        bytes_ = bytes_.subspan(run_.size());
        bit_ = 0;
        return true;
    }
    left_ = head;
    repeated_ = 0;
    const auto size = static_cast<std::size_t>((width_ + 7) / 8);
    if (bytes_.size() < size) return false;
    for (std::size_t i = 0; i < size; ++i) repeated_ |= static_cast<std::uint32_t>(bytes_[i]) << (8 * i);
    bytes_ = bytes_.subspan(size);
    return true;
}

bool HybridReader::read(std::span<std::uint32_t> to) {
    while (!to.empty()) {
        if (left_ == 0 && !next_run()) return false;
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, to.size()));
        if (packed_) {
            const auto width = static_cast<std::uint64_t>(width_);
            if (bit_ + count * width > std::uint64_t{8} * run_.size()) return false;
            for (std::size_t i = 0; i < count; ++i, bit_ += width)
                to[i] = static_cast<std::uint32_t>(packed_bits(run_, bit_, width_));
        } else {
            std::fill_n(to.begin(), count, repeated_);
        }
        to = to.subspan(count);
        left_ -= count;
    }
    return true;
}

bool HybridReader::at_end() const {
    if (!bytes_.empty()) return false;
    if (left_ < 8) return packed_ || left_ == 0;
    if (!packed_) return false;
    const std::uint64_t end =
        std::min(bit_ + left_ * static_cast<std::uint64_t>(width_), std::uint64_t{8} * run_.size());
    for (std::uint64_t bit = bit_; bit < end; ++bit)
        if (packed_bits(run_, bit, 1) != 0) return false;
    return true;
}

}  // namespace hpo::parquet
