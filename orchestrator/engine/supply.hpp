// Where a study's next trial comes from when none is queued: a paused one that may go on, else a further seed of a
// configuration that may be the best, else a new configuration.
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
    /// Both outlive it. Without `ready`, new trials are proposed at once. With it, a slow sampler proposes on another
    /// thread, from which `ready` is called when further_trial() has one.
    Supply(const Study& study, Ledger& ledger, std::function<void()> ready = {})
        : study_(study), ledger_(ledger), ready_(std::move(ready)) {}

    /// A trial that is queued now and was not before, promoted or new. 0: none, or none yet.
    std::int64_t further_trial();
    /// Whether the budget, the patience and the space allow a new configuration.
    [[nodiscard]] bool may_propose() const;
    /// The configuration, by its first trial, that is to be trained with a further seed now; nothing: none.
    [[nodiscard]] std::optional<std::int64_t> to_repeat() const;
    /// Paused trials that may go on now, `most` of them.
    [[nodiscard]] std::vector<std::int64_t> promotions(std::size_t most) const;
    /// Why a study is over that has nothing left to do, as text.
    [[nodiscard]] std::string why_over() const;

   private:
    [[nodiscard]] bool may_begin() const;
    [[nodiscard]] bool out_of_patience() const;

    const Study& study_;
    Ledger& ledger_;
    std::function<void()> ready_;
    bool exhausted_ = false;  ///< the sampler has no further configuration
};

}  // namespace hpo
