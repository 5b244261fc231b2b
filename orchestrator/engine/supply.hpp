// Supplies a study's next trial when none is queued: a promoted paused one, else a further seed of a configuration that
// may be the best, else a new configuration.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hpo/study.hpp"
#include "orchestrator/engine/ledger.hpp"

namespace hpo {

class Supply {
   public:
    /// Both outlive the object. Without `ready`, new trials are proposed at once. With it, a slow sampler proposes on
    /// another thread, from which `ready` is called when further_trial() has one.
    Supply(const Study& study, Ledger& ledger, std::function<void()> ready = {})
        : study_(study), ledger_(ledger), ready_(std::move(ready)) {}

    /// Queues a promoted or new trial and returns its number; 0: none, or none yet.
    std::int64_t further_trial();
    /// Returns true if the budget, the patience and the space allow a new configuration.
    [[nodiscard]] bool may_propose() const;
    /// Returns true if no trial is left to begin, repeat or promote. Where that depends on the space alone, waits for a
    /// proposal of the sampler, which is not kept.
    [[nodiscard]] bool is_over() const;
    /// Returns the configuration, by its first trial, that gets a further seed now; nothing if there is none.
    [[nodiscard]] std::optional<std::int64_t> to_repeat() const;
    /// Returns at most `most` paused trials that are promoted now.
    [[nodiscard]] std::vector<std::int64_t> promotions(std::size_t most) const;
    /// Returns the reason why a study without further trials is over.
    [[nodiscard]] std::string why_over() const;

   private:
    [[nodiscard]] bool may_begin() const;
    [[nodiscard]] bool out_of_patience() const;

    const Study& study_;
    Ledger& ledger_;
    std::function<void()> ready_;
};

}  // namespace hpo
