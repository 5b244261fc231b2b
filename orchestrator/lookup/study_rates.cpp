#include "orchestrator/lookup/study_rates.hpp"

#include "orchestrator/store/study_folder.hpp"
#include "orchestrator/telemetry/rates.hpp"

namespace hpo {

void StudyRates::add_to(TelemetrySample& sample) {
    for (const SessionReservations& session : read_sessions()) {
        StudySnapshot* snapshot = find(session);
        if (snapshot == nullptr || !snapshot->refresh()) continue;
        double rate = 0;
        for (const TrialRecord& trial : snapshot->record.trials)
            if (trial.state == TrialState::running && !trial.curve.empty())
                rate += trial.curve.back().iterations_per_second.value_or(0);
        if (rate > 0) sample.push_back(measurement("study " + session.study, Quantity::speed, rate));
    }
}

StudySnapshot* StudyRates::find(const SessionReservations& session) {
    const auto known = studies_.find(session.study);
    if (known != studies_.end()) return known->second ? &*known->second : nullptr;
    auto& study = studies_[session.study];
    const StudyFolder folder = study_folder(session.study);
    std::error_code none;
    if (!std::filesystem::exists(folder.database(), none)) return nullptr;
    auto snapshot = take_snapshot(folder);
    if (snapshot && snapshot->holder && snapshot->holder->pid == session.pid) study = std::move(*snapshot);
    return study ? &*study : nullptr;
}

}  // namespace hpo
