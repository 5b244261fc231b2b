#include "worker/data/parquet/input.hpp"

#include <algorithm>

namespace hpo::parquet {

Result<std::span<const std::byte>> InputWindow::peek(std::size_t least) {
    constexpr std::size_t at_once = std::size_t{1} << 16;
    const std::size_t have = held_.size() - at_;
    if (have < least && next_ < end_) {
        held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(at_));
        at_ = 0;
        const auto more = static_cast<std::size_t>(std::min(
            end_ - next_, static_cast<std::int64_t>(std::max(least - have, at_once - std::min(at_once, have)))));
        held_.resize(have + more);
        if (auto read = input_.read(next_, std::span(held_).subspan(have)); !read) return read.error();
        next_ += static_cast<std::int64_t>(more);
        // A page may be much larger than those before and after it.
        if (held_.capacity() > 2 * std::max(held_.size(), at_once)) held_.shrink_to_fit();
    }
    return std::span<const std::byte>(held_).subspan(at_);
}

}  // namespace hpo::parquet
