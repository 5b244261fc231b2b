#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {

/// Returns the names in a folder, sorted.
inline std::vector<std::string> names_in(const testing::TemporaryFolder& folder) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
        found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
}

inline void put(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

inline std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// Returns a study with two parameters. `momentum` is active only with sgd.
inline Study small_study() {
    Study study;
    study.name = "small";
    study.objective = {"val_loss", Direction::minimize, Objective::At::best};
    Dimension optimizer{"optimizer"};
    optimizer.kind = Kind::categorical;
    optimizer.choices = {std::string("adamw"), std::string("sgd, slow \"one\"")};
    Dimension momentum{"momentum"};
    momentum.when = {{"optimizer", {optimizer.choices[1]}}};
    study.space = {optimizer, momentum};
    study.worker = ScriptWorker{.command = {"true"}};
    return study;
}

inline TrialRecord small_trial(std::int64_t number, TrialState state, std::vector<double> losses) {
    const Study study = small_study();
    TrialRecord trial;
    trial.number = number;
    trial.state = state;
    trial.attempt = 1;
    trial.params = {{"optimizer", study.space[0].choices[0]}};
    trial.queued_at = 1.8e9 + static_cast<double>(number);
    trial.started_at = state == TrialState::queued ? 0 : trial.queued_at + 0.25;
    trial.ended_at = is_final(state) ? trial.started_at + 10 : 0;
    for (const double loss : losses) {
        Report report;
        report.step = trial.steps() + 1;
        report.metrics = {{"val_loss", loss}, {"loss", 2 * loss}};
        trial.curve.push_back(report);
    }
    score(trial, study.objective);
    return trial;
}

/// The WholeTrial for a record that has all steps.
inline Result<TrialRecord> as_it_is(const TrialRecord& trial) { return trial; }

}  // namespace hpo
