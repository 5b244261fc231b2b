// Analyses the trials of a study: which parameters matter, which ranges end where the best trials lie, how certain the
// best trial is, and the next steps.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/analysis/ends.hpp"
#include "orchestrator/analysis/fanova.hpp"

namespace hpo::analysis {

struct Effect {
    std::string name;
    Share all;                  ///< share of the variance over the whole space
    std::optional<Share> best;  ///< share among the best trials: worse values are capped at the worst of these
};

struct PairEffect {
    std::string first, second;
    Share share;
};

/// A range whose end the best trials lie at.
struct AtBound {
    std::string name;
    bool upper = false;
    Value bound;
    std::int64_t trials = 0, of = 0;  ///< the number of best trials at the bound, and of best trials considered
    bool final = false;  ///< true if the range cannot be extended: the bound is 0, or a limit of the key or policy
};

/// The variation of the objective between repeated measurements.
struct Noise {
    enum class Source {
        repeats,          ///< measured with other seeds
        standard_errors,  ///< the best trial's standard error, say over folds; ties use the errors of both trials
        steps,            ///< from step to step of late curves, probably less than from seed to seed
    };
    double deviation = 0;
    Source source = Source::steps;
};

constexpr std::string_view to_text(Noise::Source source) {
    constexpr std::array<std::string_view, 3> names{"repeats", "standard_errors", "steps"};
    return names[static_cast<std::size_t>(source)];
}

struct Importance {
    Ends ends;
    double explained = 0;           ///< see Variance; 0 if there are no effects
    std::vector<Effect> effects;    ///< largest first; empty if there are too few trials or nothing varies
    std::string no_effects;         ///< the reason, in a sentence, if there are no effects
    std::vector<PairEffect> pairs;  ///< significant pairs only
    std::int64_t best = 0;          ///< the number of trials that Effect::best considers
    std::vector<AtBound> bounds;
    std::optional<Noise> noise;
    std::vector<std::int64_t> tied;  ///< trials within two deviations of the best one
    std::vector<std::string> next;   ///< recommendations, one sentence each
    /// Returns true if the effects are reliable, that is, if they predict trials that were held out.
    [[nodiscard]] bool tells() const { return !effects.empty() && explained >= 0.2; }
};

/// The findings about repeats of the best trials on other seeds.
struct Repeats {
    std::optional<double> deviation;  ///< one standard deviation; absent if they do not vary, or if there are none
    std::int64_t of_best = 0;         ///< number of repeats of the best trial
};

/// Analyses a study. `record` must have whole curves and parameters of those trials that analysed_trials() returns, and
/// parameters of those that best_trials() returns.
Importance importance_of(const Study& study, const StudyRecord& record, const Repeats& repeats = {},
                         std::size_t most = most_analysed);

/// Returns the best trials, whose parameters are compared with the ends of their ranges and shown by reports: a tenth
/// of all, but at least 20 and at most 1000.
std::vector<const TrialRecord*> best_trials(const Study& study, const StudyRecord& record);

/// Returns a text such as "width: 4 of the best 5 lie at its upper end, 512".
std::string bound_text(const AtBound& bound);

/// Returns "at epoch 3: " where values at an early step stand for the ends, else an empty text.
std::string early_text(const Study& study, const Ends& ends);

/// Returns at most five lines for the end of `hpo run`, with significant findings only.
std::vector<std::string> short_text(const Study& study, const Importance& importance);

/// Returns the full report of `hpo importance`.
std::string whole_text(const Study& study, const Importance& importance);

}  // namespace hpo::analysis
