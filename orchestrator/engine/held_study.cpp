#include "orchestrator/engine/held_study.hpp"

#include <algorithm>

#include "hpo/doing.hpp"
#include "orchestrator/engine/warm_start.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace {

/// Returns true if a trial of the stored study, whose source is `before`, has a value, or if it cannot be read.
bool has_value(const Store& store, const std::string& before) {
    constexpr std::size_t batch_size = 10'000;
    StudyRecord record;
    record.thins = true;
    const auto study = parse_stored_study(before, "the stored study");
    if (!study || !store.read_summary(record)) return true;
    for (bool more = true; more;) {
        const auto batch = store.events(record.sequence, batch_size);
        if (!batch) return true;
        for (const StoredEvent& stored : *batch) apply(record, stored, study->objective);
        more = batch->size() == batch_size;
    }
    return std::any_of(record.trials.begin(), record.trials.end(),
                       [](const TrialRecord& trial) { return trial.value.has_value(); });
}

}  // namespace

Result<std::unique_ptr<HeldStudy>> HeldStudy::take(const Study& study, const StudyFolder& folder,
                                                   const Acceptance& accepted,
                                                   const std::function<void(const std::string&)>& warn) {
    auto proposer = Proposer::make(study);
    if (!proposer) return proposer.error();
    auto rules = Rules::make(study);
    if (!rules) return rules.error();
    std::vector<std::filesystem::path> missing = missing_parts(folder);
    if (const auto made = make_study_folder(folder); !made) return made.error();
    auto lock = HolderLock::take(folder);
    if (!lock) return lock.error();
    Takeback takeback(std::move(missing));
    auto store = open_store(folder.database(), warn);
    if (!store) return store.error();
    Continuation changes;
    if (const std::string before = (*store)->source(); !before.empty()) {
        auto welcome = accepted(before, [&] { return has_value(**store, before); });
        if (!welcome) return welcome.error();
        changes = *std::move(welcome);
    }
    std::string priors_text = (*store)->warm_start();
    if (study.learns_from_others()) {
        // The study keeps the prior trials of its beginning, even if the other studies have changed.
        const auto priors = priors_text.empty() ? load_prior_studies(study, warn) : read_prior_studies(priors_text);
        if (!priors) return priors.error();
        if (priors_text.empty()) priors_text = write_prior_studies(*priors);
        proposer = Proposer::make(study, *priors);
        if (!proposer) return proposer.error();
    }
    Store& events = **store;
    std::unique_ptr<HeldStudy> held(new HeldStudy{std::move(*lock), std::move(takeback), std::move(*store),
                                                  Ledger(study, events, std::move(*proposer), std::move(*rules)),
                                                  std::move(changes), std::move(priors_text)});
    const Doing reading("reads what the study has done");
    if (const auto replayed = held->ledger.replay(); !replayed) return replayed.error();
    return held;
}

Result<void> HeldStudy::show(const Study& study) {
    return store->source().empty() ? store->set_source(study.source) : Result<void>();
}

Result<void> HeldStudy::begin(const Study& study, const StudyFolder& folder,
                              const std::function<void(const std::string&)>& warn) {
    if (store->warm_start() != warm_start)
        if (const auto kept = store->set_warm_start(warm_start); !kept) return kept;
    if (const auto kept = store->set_source(study.source); !kept) return kept;
    if (const auto written = replace_file(folder.yaml(), study.source); !written) warn(written.error().message);
    takeback.forget();
    return {};
}

}  // namespace hpo
