#include "orchestrator/engine/supply.hpp"

#include "orchestrator/engine/text.hpp"

namespace hpo {

std::int64_t Supply::further_trial() {
    if (const auto paused = promotions(1); !paused.empty()) return ledger_.promote(paused.front()), paused.front();
    if (const auto first = to_repeat()) return ledger_.repeat(*first);
    if (!may_propose()) return 0;
    if (const auto trial = ledger_.propose(ready_)) return *trial;
    if (const auto first = to_repeat()) return ledger_.repeat(*first);
    return 0;
}

bool Supply::is_over() const {
    const auto none_else = [this] { return promotions(1).empty() && !to_repeat(); };
    if (!none_else()) return false;
    if (!may_propose()) return true;
    return !ledger_.can_propose() && none_else();
}

bool Supply::may_propose() const { return !ledger_.exhausted() && may_begin(); }

bool Supply::may_begin() const {
    return !out_of_patience() && static_cast<std::int64_t>(ledger_.record().trials.size()) < study_.budget.trials;
}

/// Limits further seeds to a third of the trials while the space has new configurations, so that a study does not spend
/// its budget on the first ones.
std::optional<std::int64_t> Supply::to_repeat() const {
    if (study_.repeats == 1 || !may_begin()) return std::nullopt;
    if (!ledger_.exhausted() && 2 * (ledger_.repeats() + 1) > ledger_.configurations()) return std::nullopt;
    return ledger_.to_repeat();
}

std::vector<std::int64_t> Supply::promotions(std::size_t most) const {
    return ledger_.promotions(!may_propose(), most);
}

bool Supply::out_of_patience() const {
    return study_.budget.patience && ledger_.tried_since_best() >= *study_.budget.patience;
}

std::string Supply::why_over() const {
    if (ledger_.exhausted()) return ledger_.proposer().exhausted();
    if (out_of_patience())
        return counted(ledger_.tried_since_best(), "trial") + " without a better best (budget.patience)";
    return "trial budget reached";
}

}  // namespace hpo
