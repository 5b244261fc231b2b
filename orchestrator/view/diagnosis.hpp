// Draws the results of `hpo doctor` and `hpo doctor --self-test`.
#pragma once

#include <string>

#include "orchestrator/doctor/diagnosis.hpp"
#include "orchestrator/doctor/self_test.hpp"
#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// Draws a line for each finding, below it the consequence and the cure, and a last line with the result.
std::string draw_diagnosis(const Diagnosis& diagnosis, const Screen& screen);

/// Draws two lines: a promise of the self-test, and the observation.
std::string draw_promise(const Promise& promise, const Screen& screen);
/// Draws the last line of the self-test, which names the folder that was kept.
std::string draw_self_test_end(const SelfTestResult& result, const Screen& screen);

}  // namespace hpo::view
