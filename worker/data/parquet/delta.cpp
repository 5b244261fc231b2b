#include "worker/data/parquet/delta.hpp"

#include <algorithm>

#include "worker/data/parquet/hybrid.hpp"

namespace hpo::parquet {
namespace {

constexpr std::uint64_t most_block_size = 1 << 20;

bool take_zigzag(std::span<const std::byte>& bytes, std::uint64_t& number) {
    std::uint64_t coded = 0;
    if (!take_varint(bytes, coded)) return false;
    number = (coded >> 1) ^ (~(coded & 1) + 1);
    return true;
}

}  // namespace

bool DeltaReader::read_header() {
    std::uint64_t block = 0;
    if (!take_varint(bytes_, block) || !take_varint(bytes_, groups_) || !take_varint(bytes_, count_) ||
        !take_zigzag(bytes_, last_))
        return false;
    if (groups_ == 0 || block > most_block_size || block % groups_ != 0) return false;
    group_size_ = block / groups_;
    left_ = count_;
    return group_size_ > 0 && group_size_ % 8 == 0 && count_ < std::uint64_t{1} << 32;
}

bool DeltaReader::next_block() {
    if (!take_zigzag(bytes_, least_) || bytes_.size() < groups_) return false;
    widths_ = bytes_.first(static_cast<std::size_t>(groups_));
    bytes_ = bytes_.subspan(widths_.size());
    return true;
}

bool DeltaReader::next_group() {
    if (widths_.empty() && !next_block()) return false;
    width_ = static_cast<int>(widths_.front());
    widths_ = widths_.subspan(1);
    const auto size = static_cast<std::size_t>(group_size_ / 8 * static_cast<std::uint64_t>(width_));
    if (width_ > 64 || bytes_.size() < size) return false;
    group_ = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    at_ = 0;
    group_left_ = group_size_;
    return true;
}

bool DeltaReader::read(std::span<std::uint64_t> to) {
    if (failed_ || to.size() > left_) return false;
    left_ -= to.size();
    if (!to.empty() && first_) {
        first_ = false;
        to.front() = last_;
        to = to.subspan(1);
    }
    while (!to.empty()) {
        if (group_left_ == 0 && !next_group()) return false;
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(group_left_, to.size()));
        for (std::size_t i = 0; i < count; ++i, ++at_) {
            // Sums wrap around, as the writer's differences did.
            last_ += least_ + packed_bits(group_, at_ * static_cast<std::uint64_t>(width_), width_);
            to[i] = last_;
        }
        group_left_ -= count;
        to = to.subspan(count);
    }
    return true;
}

bool DeltaReader::pass_over(std::span<const std::byte>& rest) {
    if (failed_) return false;
    std::uint64_t left = left_ - (first_ && left_ > 0 ? 1 : 0);
    left -= std::min(left, group_left_);
    for (; left > 0; left -= std::min(left, group_size_))
        if (!next_group()) return false;
    left_ = 0;
    rest = bytes_;
    return true;
}

}  // namespace hpo::parquet
