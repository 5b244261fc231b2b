// What the trials of a study say about its parameters and about the best of them: which parameters matter, which of
// their ranges end where the best values lie, how sure the best trial is, and what to do next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/analysis/ends.hpp"
#include "orchestrator/analysis/fanova.hpp"

namespace hpo::analysis {

struct Effect {
    std::string name;
    Share all;                  ///< over the whole space
    std::optional<Share> best;  ///< of what tells the best trials apart: values above theirs count as theirs
};

struct PairEffect {
    std::string first, second;
    Share share;
};

/// The best trials lie at the end of a range.
struct AtBound {
    std::string name;
    bool upper = false;
    Value bound;
    std::int64_t trials = 0, of = 0;  ///< so many of so many of the best
    bool final = false;               ///< the range cannot be wider there: 0, the limit of the key, or of the policy
};

/// By how much a value differs from one time to the next.
struct Noise {
    double deviation = 0;
    bool repeated =
        false;  ///< from repeats on other seeds; else from step to step of the late curves: at least so much
};

struct Importance {
    Ends ends;
    double explained = 0;           ///< see Variance; 0 where effects are empty
    std::vector<Effect> effects;    ///< the largest first; empty: fewer trials than tell, or nothing varies
    std::vector<PairEffect> pairs;  ///< sure ones alone
    std::int64_t best = 0;          ///< trials that Effect::best is about
    std::vector<AtBound> bounds;
    std::optional<Noise> noise;
    std::vector<std::int64_t> tied;  ///< trials within two deviations of the difference to the best one
    std::vector<std::string> next;   ///< what to do, a sentence each
    /// Whether the effects may be spoken of: they predict trials that they were not made from.
    [[nodiscard]] bool tells() const { return !effects.empty() && explained >= 0.2; }
};

/// `record` has whole curves. `repeated`: a standard deviation that repeats of the best have shown.
Importance importance_of(const Study& study, const StudyRecord& record, std::optional<double> repeated = {});

/// "width: 4 of the best 5 lie at its upper end, 512".
std::string bound_text(const AtBound& bound);

/// For the end of `hpo run`: six lines at most, of what is sure alone; none: nothing is.
std::vector<std::string> short_text(const Study& study, const Importance& importance);

/// All of it.
std::string whole_text(const Study& study, const Importance& importance);

}  // namespace hpo::analysis
