#include "orchestrator/engine/warm_start.hpp"

#include "hpo/printable.hpp"
#include "hpo/shell_word.hpp"
#include "hpo/sqlite_file.hpp"
#include "orchestrator/engine/alike_studies.hpp"
#include "orchestrator/store/store.hpp"
#include "orchestrator/store/study_folder.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace {

namespace fs = std::filesystem;

/// Returns the folder of a study that is given by name or folder.
Result<StudyFolder> find_study(const std::string& named) {
    std::error_code ignored;
    if (is_study_name(named))
        if (const StudyFolder folder = study_folder(named); fs::exists(folder.database(), ignored)) return folder;
    const fs::path path = fs::path(named).lexically_normal();
    if (const StudyFolder folder{path.filename().empty() ? path.parent_path() : path};
        fs::exists(folder.database(), ignored))
        return folder;
    if (is_sqlite_file(path))
        return Error{"'" + named + "' is a database: hpo import " + shell_word(named) +
                     " stores the trials of a study of Optuna as a study, whose name belongs here"};
    return Error{"there is no study '" + named + "' below " + runs_folder().string() +
                 "/, and no folder of that name holds one (hpo ls lists all studies)"};
}

Result<PriorStudy> load(const Study& study, const std::string& named) {
    constexpr std::size_t at_once = 10'000;
    const auto folder = find_study(named);
    if (!folder) return folder.error();
    const auto store = open_store_read_only(folder->database());
    if (!store) return store.error();
    if ((*store)->source().empty()) return Error{"study '" + named + "' has not been started yet"};
    const auto other = parse_stored_study((*store)->source(), folder->yaml().string());
    if (!other) return Error{"study '" + named + "' cannot be read:\n" + other.error().message};
    StudyRecord record;
    record.thins = true;
    for (bool more = true; more;) {
        const auto events = (*store)->events(record.sequence, at_once);
        if (!events) return events.error();
        for (const StoredEvent& event : *events) apply(record, event, other->objective);
        more = events->size() == at_once;
    }
    PriorStudy prior = prior_study(study, *other, record);
    prior.name = named;
    prior.missing = (*store)->missing_results();
    if (prior.trials.empty())
        return Error{"study '" + named + "' has " +
                     (prior.outside > 0 ? "no ended trial that lies in this space" : "no ended trial") +
                     ": leave it out"};
    if (prior.common.empty())
        return Error{"study '" + named + "' varies none of this study's parameters: leave it out"};
    return prior;
}

void warn_of_missing(const PriorStudy& prior, const std::function<void(const std::string&)>& warn) {
    if (warn && !prior.missing.empty())
        warn("warm_start: " + prior.missing + ". This study learns without them; hpo run " + printable(prior.name) +
             " repeats these trials");
}

/// Returns the present trials of the studies that are most alike. A study with few trials shows little.
std::vector<PriorStudy> load_alike(const Study& study, const std::function<void(const std::string&)>& warn) {
    constexpr std::size_t most = 3, fewest_trials = 8;
    std::vector<PriorStudy> priors;
    for (const std::string& name : alike_studies(study)) {
        auto prior = load(study, name);
        if (!prior || prior->trials.size() < fewest_trials) continue;
        warn_of_missing(*prior, warn);
        priors.push_back(*std::move(prior));
        if (priors.size() == most) break;
    }
    return priors;
}

/// Returns the stored prior trials; empty if the study has not begun, or has begun without.
std::string kept_priors(const std::string& study) {
    std::error_code ignored;
    const StudyFolder folder = study_folder(study);
    if (!fs::exists(folder.database(), ignored)) return {};
    const auto store = open_store_read_only(folder.database());
    return store ? (*store)->warm_start() : std::string();
}

}  // namespace

std::string names_of_alike(const Study& study) {
    std::string names;
    for (const PriorStudy& prior : load_alike(study, {})) names += (names.empty() ? "" : ", ") + printable(prior.name);
    return names;
}

std::string warm_start_offer(const Study& study) {
    if (study.learns_from_others()) return {};
    const std::string names = names_of_alike(study);
    return names.empty() ? names : "'warm_start: auto' learns from " + names;
}

Result<std::vector<PriorStudy>> prior_studies_of(const Study& study) {
    if (!study.learns_from_others()) return std::vector<PriorStudy>();
    const std::string kept = kept_priors(study.name);
    return kept.empty() ? load_prior_studies(study) : read_prior_studies(kept);
}

Result<std::vector<PriorStudy>> load_prior_studies(const Study& study,
                                                   const std::function<void(const std::string&)>& warn) {
    if (study.warm_start_auto) return load_alike(study, warn);
    std::vector<PriorStudy> priors;
    for (const std::string& named : study.warm_start) {
        auto prior = load(study, named);
        if (!prior) return Error{"warm_start: " + prior.error().message};
        warn_of_missing(*prior, warn);
        priors.push_back(*std::move(prior));
    }
    return priors;
}

}  // namespace hpo
