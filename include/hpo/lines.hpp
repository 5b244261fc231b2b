// Splits a byte stream into lines in bounded memory. An over-long line is dropped and counted, and splitting continues
// after the next newline.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hpo {

class LineSplitter {
   public:
    /// `limit` is the maximum length of a line in bytes, its newline included.
    explicit LineSplitter(std::size_t limit) : limit_(limit) {}

    /// Calls `line(std::string_view)` for each complete line, without its newline. The view is valid until `line`
    /// returns.
    template <class F>
    void feed(std::string_view bytes, F&& line) {
        while (!bytes.empty()) {
            const auto end = bytes.find('\n');
            const auto part = bytes.substr(0, end);
            if (!skipping_ && kept_.size() + part.size() + 1 > limit_) {
                skipping_ = true;
                ++dropped_;
                kept_.clear();
            }
            if (end == std::string_view::npos) {
                if (!skipping_) kept_.append(part);
                return;
            }
            bytes.remove_prefix(end + 1);
            if (skipping_) {
                skipping_ = false;
            } else if (kept_.empty()) {
                line(part);
            } else {
                kept_.append(part);
                const std::string whole = std::move(kept_);
                kept_.clear();
                line(std::string_view(whole));
            }
        }
    }

    /// Returns the number of lines that have been dropped for their length.
    [[nodiscard]] std::int64_t dropped() const { return dropped_; }
    /// Returns the beginning of a line whose newline has not arrived.
    [[nodiscard]] std::string_view rest() const { return kept_; }

   private:
    std::size_t limit_;
    std::string kept_;
    bool skipping_ = false;
    std::int64_t dropped_ = 0;
};

}  // namespace hpo
