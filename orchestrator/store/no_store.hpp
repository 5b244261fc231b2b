// A store that keeps nothing: for a session whose study ends with it.
#pragma once

#include "orchestrator/store/event_clock.hpp"
#include "orchestrator/store/store.hpp"

namespace hpo {

class NoStore final : public Store {
   public:
    [[nodiscard]] std::string source() const override { return {}; }
    Result<void> set_source(const std::string&) override { return {}; }
    Result<std::vector<StoredEvent>> events(std::int64_t, std::size_t) const override {
        return std::vector<StoredEvent>();
    }
    Result<StoredEvent> append(const Event& event) override { return StoredEvent{++sequence_, clock_.now(), event}; }

   private:
    EventClock clock_;
    std::int64_t sequence_ = 0;
};

}  // namespace hpo
