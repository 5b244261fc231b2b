// The ends of a study's trials. For a trial that a rule stopped, the end is predicted from its curve
// (stopping/curve_model.hpp), with a deviation that is large where curves in this study have not proved predictive.
// Where too few trials reached the end to predict any, their values at an earlier step stand for the ends.
//
// A sample of a large study is analysed: more trials take longer and add next to nothing to the results.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"

namespace hpo::analysis {

/// The share of a value below which a difference is none.
inline constexpr double rounding = 1e-12;

/// The most ended trials that are analysed.
constexpr std::size_t most_analysed = 4000;
/// The same for `hpo show`, which answers at once.
constexpr std::size_t most_analysed_at_once = 1000;

/// Returns the numbers of the trials that are analysed, in ascending order: all ended trials, or `most` of them, drawn
/// by the study's seed, where more have ended.
std::vector<std::int64_t> analysed_trials(const Study& study, const StudyRecord& record,
                                          std::size_t most = most_analysed);

struct End {
    double loss = 0;  ///< smaller is better; a trial that diverged or failed has the worst value of the others
    bool predicted = false;
    std::string rule;  ///< the rule that stopped the trial
};

struct Ends {
    /// The ends in the order of record.trials. Absent if a trial has not ended, is not analysed, or nothing is known
    /// about its end.
    std::vector<std::optional<End>> of;
    std::int64_t
        trained = 0,
        predicted = 0,
        left_out =
            0;  ///< numbers of trials; stopped ones are left out where too few trials reached the end to predict any
    std::int64_t lost = 0;        ///< trials of `trained` that failed or diverged
    std::int64_t drawn_from = 0;  ///< ended trials from which those analysed were drawn; 0: all are analysed
    /// Above 0: too few trials reached the end to predict any, and `of` has their values at this step, the last one
    /// that nine tenths of the trials have reached. Trials stopped earlier are left out.
    std::int64_t at_step = 0;
    std::int64_t reached = 0;  ///< trials that have reached `at_step`
};

/// Returns the ends of the trials that are analysed (see analysed_trials), which must have whole curves in `record`.
/// `draw` 0 has the predictions. Others have ends drawn as these may be off: by a model of the curves that is drawn
/// from those possible, and each by its own deviation.
Ends ends_of(const Study& study, const StudyRecord& record, std::uint64_t draw = 0, std::size_t most = most_analysed);

/// The reliability of early values where a rule relies on them: the share of the pairs of trials trained to their end
/// that were in the same order at `step` as at their ends. 0.5 is chance. These trials were chosen among all by their
/// early values, so they are more alike than all are.
struct Agreement {
    std::int64_t step = 0;    ///< the first at which the rule stopped a trial
    std::int64_t trials = 0;  ///< trials trained to their end
    double share = 0;
};
/// Returns the agreement for each rule that stopped trials, among those that are analysed. Empty if fewer than eight
/// trials were trained to their end.
std::map<std::string, Agreement> agreement_of_ranks(const Study& study, const StudyRecord& record,
                                                    std::size_t most = most_analysed);

/// An estimate of the cost of a rule: how much better than the best trial of the study a trial that it stopped would
/// have ended, if it had ended one standard deviation better than predicted.
///
/// The estimate is no bound. Predictions rely on the trials that the rule let train on, which are not like those that
/// it stopped. Wider deviations do not make it one: after asha four deviations were still too few in four of ten
/// studies of simple curves (docs/performance.md has how often the cost was less, by rules and curves). The chance that
/// a stopped trial would have been the best is not computed: on recorded curves, such chances were several times too
/// high.
struct Cost {
    std::int64_t trials = 0;   ///< analysed trials that the rule stopped and whose end is predicted
    std::int64_t nearest = 0;  ///< the trial among them that might have ended best
    double predicted = 0;      ///< its predicted end, as the objective's metric
    double deviation = 0;      ///< one standard deviation of that prediction
    double about = 0;          ///< the estimate: how much better than the study's best trial it might have ended, or 0
};
/// Returns the cost of each rule that stopped trials. Empty if fewer than five trials were trained to their end.
/// Analysed trials must have whole curves in `record`.
std::map<std::string, Cost> cost_of_stopping(const Study& study, const StudyRecord& record,
                                             std::size_t most = most_analysed);

/// Returns the findings about each rule that stopped trials, as lines for the end of `hpo run`: its agreement and its
/// cost.
std::vector<std::string> stopping_text(const Study& study, const StudyRecord& record, std::size_t most = most_analysed);

}  // namespace hpo::analysis
