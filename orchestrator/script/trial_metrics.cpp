#include "orchestrator/script/trial_metrics.hpp"

#include <filesystem>
#include <system_error>

#include "hpo/study.hpp"
#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

namespace {

/// Returns the number of epochs of the trial; 0 if it is unknown, since the script ends by itself.
std::int64_t epochs_of(const to_worker::Run& run) { return run.steps == Budget::most_epochs ? 0 : run.steps; }

}  // namespace

void TrialMetrics::begin(const Task& task, const to_worker::Run& run, const std::string& path) {
    if (task.reads_metrics)
        if (auto reader = make_output_reader(task.patterns, epochs_of(run)))
            reader_.emplace(*std::move(reader), StepNeeds{.objective = run.objective.metric,
                                                          .others = task.needed,
                                                          .reports = task.reports,
                                                          .epochs = epochs_of(run),
                                                          .by_patterns = !task.patterns.empty()});
    if (path.empty()) return;
    std::error_code ignored;
    if (path.starts_with(run.folder))
        std::filesystem::rename(path, path + ".attempt-" + std::to_string(run.id.attempt - 1), ignored);
    file_.emplace(path, run.objective.metric, epochs_of(run));
}

void TrialMetrics::feed(std::string_view bytes, std::size_t stream, double now) {
    if (reader_ && !file_) reader_->feed(bytes, stream, now);
}

bool TrialMetrics::read_file(bool last, std::size_t most_waiting, double now) {
    if (!file_ || !reader_) return false;
    const auto enough = [&] { return !last && reader_->waiting() >= most_waiting; };
    const FileMetrics::Record record = [&](const Metrics& metrics, std::string_view text) {
        reader_->add(metrics, text, now);
    };
    const bool any = file_->read(enough, record);
    if (last) file_->finish(record);
    return any;
}

void TrialMetrics::finish(bool killed) {
    if (reader_) reader_->finish(killed);
}

std::optional<double> TrialMetrics::waits_until() const { return reader_ ? reader_->waits_until() : std::nullopt; }

void TrialMetrics::wait_over(double now) {
    if (reader_) reader_->wait_over(now);
}

std::optional<Step> TrialMetrics::take() { return reader_ ? reader_->take() : std::nullopt; }

std::string TrialMetrics::warning() {
    const std::string problem = file_problem();
    if (!problem.empty()) return file_->path() + ": " + problem;
    return reader_ ? reader_->warning() : "";
}

ReadInstead TrialMetrics::read_instead() {
    if (!reader_) return {};
    const std::string problem = file_problem();
    return {reader_->seen(), problem.empty() ? reader_->warning() : problem, reader_->nearest()};
}

}  // namespace hpo::script
