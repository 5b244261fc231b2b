// Tests the steps of a trial: divergence, and metrics without which the trial cannot be judged. Pure.
#pragma once

#include <string>

#include "hpo/study.hpp"
#include "hpo/trial.hpp"

namespace hpo {

/// Returns why the trial has diverged in this step: an objective, a constraint's metric or the loss is not finite;
/// empty if it has not. Other metrics need not be finite (a best value before the first one, an undefined rate).
std::string divergence(const Report& report, const Objective& objective);

/// Returns why the trial cannot be judged: a step that may count for the objective lacks a metric of further objectives
/// or constraints; empty if it can. If the last step counts, earlier steps may lack them. `ended`: no step follows.
std::string unjudgeable(const TrialRecord& trial, const Objective& objective, bool ended);

}  // namespace hpo
