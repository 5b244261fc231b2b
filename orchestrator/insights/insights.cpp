#include "orchestrator/insights/insights.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "hpo/standing.hpp"
#include "orchestrator/analysis/quicker.hpp"
#include "orchestrator/analysis/repeat_study.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/sampling/posterior_ranking.hpp"
#include "orchestrator/study/study_file.hpp"
#include "orchestrator/telemetry/session_telemetry.hpp"
#include "orchestrator/telemetry/verdict.hpp"
#include "orchestrator/view/posterior.hpp"

namespace hpo {

namespace {

/// Reads the complete curves and the parameters of the trials that are analysed into the snapshot.
Result<void> read_analysed(StudySnapshot& snapshot, std::size_t most = analysis::most_analysed) {
    for (const std::int64_t trial : analysis::analysed_trials(snapshot.study, snapshot.record, most)) {
        if (auto read = snapshot.read_parameters(trial); !read) return read;
        if (auto read = snapshot.read_steps(trial); !read) return read;
    }
    return {};
}

StudyFolder repeats_folder(const StudySnapshot& snapshot) { return study_folder(repeat_study(snapshot.study).name); }

/// Reads the parameters of the best trials into the snapshot; of all, where hpo best --repeat has trained some again,
/// which are found by their parameters.
Result<void> read_best_parameters(StudySnapshot& snapshot) {
    std::vector<const TrialRecord*> trials = analysis::best_trials(snapshot.study, snapshot.record);
    std::error_code ignored;
    if (std::filesystem::exists(repeats_folder(snapshot).database(), ignored))
        for (const TrialRecord& trial : snapshot.record.trials) trials.push_back(&trial);
    for (const TrialRecord* trial : trials)
        if (auto read = snapshot.read_parameters(trial->number); !read) return read;
    return {};
}

/// Returns the repeats of the configurations that hpo best --repeat has trained.
std::vector<Repeated> again_in_own_study(const StudySnapshot& snapshot,
                                         const std::vector<const TrialRecord*>& configurations) {
    std::error_code ignored;
    const StudyFolder folder = repeats_folder(snapshot);
    if (!std::filesystem::exists(folder.database(), ignored)) return {};
    const auto repeats = take_snapshot(folder);
    if (!repeats) return {};
    return rank_repeats(repeats->record, configurations, snapshot.study.objective.direction);
}

}  // namespace

analysis::Repeats repeats_of(const StudySnapshot& snapshot) {
    const auto configurations = ranking(snapshot.record, snapshot.study.objective);
    analysis::Repeats found;
    double squares = 0, degrees_of_freedom = 0;
    const auto add = [&](std::size_t seeds, double deviation) {
        const double degrees = static_cast<double>(seeds) - 1;
        squares += degrees * deviation * deviation;
        degrees_of_freedom += degrees;
    };
    for (const TrialRecord* configuration : configurations)
        if (const auto deviation = deviation_of_seeds(*configuration)) add(configuration->seeds.size(), *deviation);
    if (!configurations.empty()) found.of_best = static_cast<std::int64_t>(configurations.front()->seeds.size());
    for (const Repeated& repeated : again_in_own_study(snapshot, configurations)) {
        if (!configurations.empty() && repeated.first == configurations.front())
            found.of_best += static_cast<std::int64_t>(repeated.values.size());
        if (repeated.deviation) add(repeated.values.size(), *repeated.deviation);
    }
    // Without any variation the seed has no effect, and the repeats say nothing about noise.
    if (squares > 0) found.deviation = std::sqrt(squares / degrees_of_freedom);
    return found;
}

std::vector<std::string> labelled_lines(const std::string& label, const std::string& text) {
    constexpr std::size_t indent = 14, width = 80;
    std::vector<std::string> lines{label + std::string(indent - label.size(), ' ')};
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (lines.back().size() + word.size() + 1 > width) lines.emplace_back(indent, ' ');
        lines.back() += (lines.back().size() > indent ? " " : "") + word;
    }
    return lines;
}

std::string limit_of_machine(const StudySnapshot& snapshot) {
    // Programs that failed before their first value hardly loaded the machine.
    const auto has_value = [](const TrialRecord& trial) { return trial.value.has_value(); };
    if (std::ranges::none_of(snapshot.record.trials, has_value)) return {};
    // Several hosts are not sampled.
    if (std::ranges::any_of(snapshot.record.trials,
                            [](const TrialRecord& trial) { return !trial.allocation->host.empty(); }))
        return {};
    const auto rows = snapshot.store->telemetry();
    if (!rows) return {};
    const TelemetrySummary summary = summarise(*rows);
    if (!enough_for_a_verdict(summary)) return {};
    const bool native = snapshot.study.native();
    return verdict(summary, {.cores = read_host().cores, .within_cores = native}).front();
}

namespace {

std::vector<std::string> machine_lines(const StudySnapshot& snapshot) {
    const std::string limit = limit_of_machine(snapshot);
    return limit.empty() ? std::vector<std::string>() : labelled_lines("Machine", limit);
}

/// Returns lines about trials that are nearly as good as the best and took much less time.
std::vector<std::string> quicker_lines(const StudySnapshot& snapshot) {
    const std::string text = analysis::quicker_text(analysis::front_of_time(snapshot.study, snapshot.record));
    return text.empty() ? std::vector<std::string>() : labelled_lines("Quicker", text);
}

/// Returns lines about the configuration to choose where trainings are noisy. Reads the parameters of the trials.
std::vector<std::string> choice_lines(StudySnapshot& snapshot) {
    constexpr std::size_t most_trials = 1000;
    if (snapshot.record.trials.size() > most_trials) return {};
    for (const TrialRecord& trial : snapshot.record.trials)
        if (!snapshot.read_parameters(trial.number)) return {};
    const auto ranking = posterior_ranking(snapshot.study, snapshot.record);
    if (!ranking) return {};
    const std::string text = view::better_choice_text(snapshot.study, snapshot.record, *ranking);
    return text.empty() ? std::vector<std::string>() : labelled_lines("Choice", text);
}

std::vector<std::string> importance_lines(StudySnapshot& snapshot) {
    constexpr std::int64_t max_steps = 200'000;
    if (!snapshot.study.objective.further.empty()) return {};  // there is no single best trial
    std::int64_t steps = 0;
    for (const std::int64_t trial : analysis::analysed_trials(snapshot.study, snapshot.record))
        steps += snapshot.record.trial(trial).trained;
    if (steps > max_steps || !read_analysed(snapshot)) return {};
    return analysis::short_text(snapshot.study,
                                analysis::importance_of(snapshot.study, snapshot.record, repeats_of(snapshot)));
}

}  // namespace

analysis::Importance whole_importance_of(StudySnapshot& snapshot) {
    if (const auto read = read_best_parameters(snapshot); !read) throw Fatal(read.error().message);
    if (const auto read = read_analysed(snapshot); !read) throw Fatal(read.error().message);
    return analysis::importance_of(snapshot.study, snapshot.record, repeats_of(snapshot));
}

Insights insights_at_once(StudySnapshot& snapshot) {
    constexpr std::size_t most = analysis::most_analysed_at_once;
    if (const auto read = read_best_parameters(snapshot); !read) throw Fatal(read.error().message);
    if (const auto read = read_analysed(snapshot, most); !read) throw Fatal(read.error().message);
    const analysis::Importance importance =
        analysis::importance_of(snapshot.study, snapshot.record, repeats_of(snapshot), most);
    Insights insights;
    insights.stopping = analysis::stopping_text(snapshot.study, snapshot.record, most);
    insights.lines = quicker_lines(snapshot);
    for (std::string& line : machine_lines(snapshot)) insights.lines.push_back(std::move(line));
    insights.whole = analysis::whole_text(snapshot.study, importance);
    if (const std::int64_t ended = importance.ends.drawn_from; ended > 0)
        insights.whole += "\nhpo importance " + snapshot.study.name + " looks at " +
                          std::to_string(std::min<std::int64_t>(ended, analysis::most_analysed)) +
                          " trials, which takes longer.\n";
    return insights;
}

std::vector<std::string> insights_of(StudySnapshot& snapshot) {
    std::vector<std::string> lines = importance_lines(snapshot);
    for (std::string& line : choice_lines(snapshot)) lines.push_back(std::move(line));
    for (std::string& line : quicker_lines(snapshot)) lines.push_back(std::move(line));
    for (std::string& line : machine_lines(snapshot)) lines.push_back(std::move(line));
    return lines;
}

}  // namespace hpo
