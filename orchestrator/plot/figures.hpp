// Turns a study into figures. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/analysis/importance.hpp"
#include "orchestrator/page/columns.hpp"
#include "orchestrator/plot/figure.hpp"

namespace hpo::plot {

/// Returns the values of the trials by number and the best so far, a panel an objective.
Figure history(const Study& study, const StudyRecord& record);

/// Returns the learning curves by trial number, the best one above the others with a mark at its best value.
Figure curves(const Study& study, const StudyRecord& record, const std::map<std::int64_t, page::CurvePoints>& curves);

/// Returns a bar a parameter: its share of the variance and one standard deviation of that.
Figure importance(const Study& study, const analysis::Importance& importance);

/// Returns a panel a parameter: the values of the trials over it.
Figure slice(const Study& study, const StudyRecord& record);

/// Returns parallel coordinates with at most `most_axes` (at least 2) parameters and the objective, the better tenth
/// above the others.
Figure parallel(const Study& study, const StudyRecord& record, std::size_t most_axes);

/// Returns a row a device: the trials that ran there.
Figure timeline(const Study& study, std::span<const page::Attempt> attempts);

/// Returns the Pareto front of a study with several objectives: a panel for each pair of them, at most six.
Figure front(const Study& study, const StudyRecord& record);

}  // namespace hpo::plot
