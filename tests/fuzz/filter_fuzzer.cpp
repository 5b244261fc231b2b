// Fuzzes the filter of hpo top. Parsing and matching must not fail, and blanks at the ends must not matter.
#include <cstdint>
#include <string>

#include "hpo/printable.hpp"
#include "orchestrator/view/trial_filter.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace hpo;

struct Sample {
    Study study;
    StudyRecord record;

    Sample() {
        study.objective = {"val_loss", Direction::minimize, Objective::At::best};
        study.space = {{.name = "training.lr"}, {.name = "optimizer"}, {.name = "hidden"}, {.name = "none"}};
        TrialRecord trial;
        trial.number = 7;
        trial.state = TrialState::stopped;
        trial.rule = "median";
        trial.reason = "worse than half of the trials";
        trial.params = {{"training.lr", 0.00087342}, {"optimizer", std::string("adamw")}, {"hidden", std::int64_t{64}}};
        trial.curve = {{.step = 3, .metrics = {{"val_loss", 0.25}, {"gap", NAN}}, .peak_bytes = 512 << 20}};
        score(trial, study.objective);
        record.trials = {trial, TrialRecord{.number = 8}};
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Sample sample;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto filter = view::parse_filter(text, sample.study, sample.record);
    if (!filter) {
        require(!filter.error().message.empty());
        require(printable(filter.error().message) == filter.error().message);
        return 0;
    }
    const auto again = view::parse_filter("  " + text, sample.study, sample.record);
    require(again && again->terms.size() == filter->terms.size());
    for (const TrialRecord& trial : sample.record.trials) {
        const bool match = view::matches(*filter, trial);
        require(match == view::matches(*again, trial));
        require(match || !filter->terms.empty());
        // Each term alone holds if all do.
        for (const auto& term : filter->terms) require(!match || view::matches({{term}}, trial));
    }
    return 0;
}
