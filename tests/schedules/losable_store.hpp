// A store in memory that fails and loses as a disk does. A kill of the process loses events that were added and not
// written; a power cut loses written events behind the last synchronisation, from a random one on. A write that fails
// stores nothing, and the added events go on waiting. The contract is that of store.hpp.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/clock.hpp"
#include "orchestrator/store/store.hpp"
#include "tests/schedules/dice.hpp"

namespace hpo::schedules {

class LosableStore final : public Store {
   public:
    explicit LosableStore(const Clock& clock) : clock_(clock) {}

    // ---- The contract.

    [[nodiscard]] std::string source() const override { return source_; }
    Result<void> set_source(const std::string& yaml) override { return source_ = yaml, settle(); }
    [[nodiscard]] std::string seen_data() const override { return seen_data_; }
    Result<void> set_seen_data(const std::string& text) override { return seen_data_ = text, flush(); }

    Result<std::vector<StoredEvent>> events(std::int64_t after, std::size_t limit) const override {
        const auto from = std::min(static_cast<std::size_t>(after), kept_.size());
        const auto to = std::min(from + limit, kept_.size());
        return std::vector<StoredEvent>(kept_.begin() + static_cast<std::ptrdiff_t>(from),
                                        kept_.begin() + static_cast<std::ptrdiff_t>(to));
    }
    Result<StoredEvent> append(const Event& event) override {
        if (fails()) return Error{"disk full"};
        auto added = add(event);
        written_ = kept_.size();
        return added;
    }
    Result<StoredEvent> add(const Event& event) override {
        kept_.push_back({static_cast<std::int64_t>(kept_.size()) + 1, clock_.now().count(), event});
        return kept_.back();
    }
    Result<void> flush() override {
        if (written_ == kept_.size()) return {};
        if (fails()) return Error{"disk full"};
        written_ = kept_.size();
        return {};
    }
    Result<void> summarize(const StudyRecord&, std::span<const std::int64_t>) override { return flush(); }
    Result<void> remark(const std::string&, std::span<const Mark>) override { return flush(); }
    [[nodiscard]] std::int64_t results() const override { return results_upto(kept_.size()); }
    [[nodiscard]] Result<std::int64_t> results_on_disk() const override {
        if (lost_disk_) return Error{"input/output error"};
        return results_upto(durable_);
    }
    void when_on_disk(std::function<void()> listener) override { listener_ = std::move(listener); }
    Result<void> settle() override {
        if (auto flushed = flush(); !flushed) return flushed;
        if (lost_disk_) return Error{"input/output error"};
        durable_ = written_;
        return {};
    }

    // ---- What happens to it.

    /// Lets `writes_fail` decide about each write from now on.
    void fail_writes(std::function<bool()> writes_fail) { writes_fail_ = std::move(writes_fail); }
    /// Lets all synchronisations fail from now on.
    void lose_disk() {
        lost_disk_ = true;
        if (listener_) listener_();
    }
    /// Brings the written events to the disk, as the store's thread does.
    void synchronise() {
        if (lost_disk_ || durable_ == written_) return;
        durable_ = written_;
        if (listener_) listener_();
    }
    void begin_session() {
        begun_with_ = kept_.size();
        lost_disk_ = false;
    }
    /// The process that used it has ended.
    void lose_unwritten() {
        kept_.resize(written_);
        listener_ = {};
        writes_fail_ = {};
    }
    void cut_power(Dice& dice) {
        written_ = static_cast<std::size_t>(
            dice.between(static_cast<std::int64_t>(durable_), static_cast<std::int64_t>(written_)));
        durable_ = written_;
        lose_unwritten();
    }
    [[nodiscard]] std::size_t written() const { return written_; }
    [[nodiscard]] const std::vector<StoredEvent>& kept() const { return kept_; }

   private:
    bool fails() { return writes_fail_ && writes_fail_(); }
    [[nodiscard]] std::int64_t results_upto(std::size_t end) const {
        std::int64_t count = 0;
        for (std::size_t i = begun_with_; i < end; ++i)
            count += std::holds_alternative<event::Finished>(kept_[i].event) ||
                     std::holds_alternative<event::SessionEnded>(kept_[i].event);
        return count;
    }

    const Clock& clock_;
    std::vector<StoredEvent> kept_;
    std::size_t written_ = 0, durable_ = 0, begun_with_ = 0;
    bool lost_disk_ = false;
    std::function<bool()> writes_fail_;
    std::function<void()> listener_;
    std::string source_, seen_data_;
};

}  // namespace hpo::schedules
