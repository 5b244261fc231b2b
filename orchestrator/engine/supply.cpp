#include "orchestrator/engine/supply.hpp"

#include "orchestrator/engine/text.hpp"

namespace hpo {

std::int64_t Supply::further_trial() {
    if (const auto paused = promotions(1); !paused.empty()) return ledger_.promote(paused.front()), paused.front();
    if (!may_propose()) return 0;
    if (const auto trial = ledger_.propose(ready_)) return *trial;
    exhausted_ = true;
    return 0;
}

bool Supply::may_propose() const {
    return !exhausted_ && !out_of_patience() &&
           static_cast<std::int64_t>(ledger_.record().trials.size()) < study_.budget.trials;
}

std::vector<std::int64_t> Supply::promotions(std::size_t most) const {
    return ledger_.promotions(!may_propose(), most);
}

bool Supply::out_of_patience() const {
    return study_.budget.patience && ledger_.tried_since_best() >= *study_.budget.patience;
}

std::string Supply::why_over() const {
    if (exhausted_) return ledger_.proposer().exhausted();
    if (out_of_patience())
        return count(ledger_.tried_since_best(), "trial", "trials") + " without a better best (budget.patience)";
    return "trial budget reached";
}

}  // namespace hpo
