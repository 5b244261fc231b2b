// A store in memory with the contract of store.hpp. Every append from the sequence number `fail_from` on fails, as on a
// full disk.
#pragma once

#include <limits>

#include "orchestrator/store/store.hpp"

namespace hpo::testing {

class MemoryStore : public Store {
   public:
    [[nodiscard]] std::string source() const override { return source_; }
    Result<void> set_source(const std::string& yaml) override { return source_ = yaml, Result<void>{}; }
    [[nodiscard]] std::string scripts() const override { return scripts_; }
    Result<void> set_scripts(const std::string& text) override { return scripts_ = text, Result<void>{}; }
    [[nodiscard]] std::string seen_data() const override { return seen_data_; }
    Result<void> set_seen_data(const std::string& text) override { return seen_data_ = text, Result<void>{}; }

    Result<std::vector<StoredEvent>> events(std::int64_t after, std::size_t limit) const override {
        const auto from = std::min(static_cast<std::size_t>(after), kept.size());
        const auto to = std::min(from + limit, kept.size());
        return std::vector<StoredEvent>(kept.begin() + static_cast<std::ptrdiff_t>(from),
                                        kept.begin() + static_cast<std::ptrdiff_t>(to));
    }
    Result<StoredEvent> append(const Event& event) override {
        const auto sequence = static_cast<std::int64_t>(kept.size()) + 1;
        if (sequence >= fail_from) return Error{"disk full"};
        kept.push_back({sequence, static_cast<double>(sequence), event});
        return kept.back();
    }

    std::vector<StoredEvent> kept;
    std::int64_t fail_from = std::numeric_limits<std::int64_t>::max();

   private:
    std::string source_, seen_data_, scripts_;
};

}  // namespace hpo::testing
