// The metrics of a trial's command as steps, from its output or from the file that the study names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/messages.hpp"
#include "orchestrator/script/metrics_file.hpp"
#include "orchestrator/script/syntax/missing_objective.hpp"
#include "orchestrator/script/syntax/steps.hpp"
#include "orchestrator/script/task.hpp"

namespace hpo::script {

class TrialMetrics {
   public:
    /// Prepares reading for a start of the command. `path` is that of the file; empty: they are in the output. A file
    /// in the trial's folder was left by an earlier attempt and is renamed.
    void begin(const Task& task, const to_worker::Run& run, const std::string& path);
    /// Ends reading: the script's client reports.
    void stop() { reader_.reset(); }
    [[nodiscard]] bool reads() const { return reader_.has_value(); }

    /// Returns the path of the file; empty: there is none.
    [[nodiscard]] std::string path() const { return file_ ? file_->path() : ""; }
    [[nodiscard]] bool in_file() const { return file_.has_value(); }

    /// Takes bytes of the output, unless the metrics are in a file. Times are in seconds since the start.
    void feed(std::string_view bytes, std::size_t stream, double now);
    /// Reads the new bytes of the file, as long as fewer than `most_waiting` steps wait to be taken. `last` is true
    /// after the command's end, when the whole rest is read. Returns true if there were any.
    bool read_file(bool last, std::size_t most_waiting, double now);
    /// Reads an unfinished last line of the output, unless a signal has ended the command.
    void finish(bool killed);

    /// Returns when wait_over() makes a step ready; see StepReader.
    [[nodiscard]] std::optional<double> waits_until() const;
    void wait_over(double now);
    /// Takes the oldest step that is ready, if there is one.
    std::optional<Step> take();
    [[nodiscard]] std::size_t waiting() const { return reader_ ? reader_->waiting() : 0; }
    /// Returns the metrics after the last step.
    [[nodiscard]] Metrics closing() const { return reader_ ? reader_->closing() : Metrics(); }

    /// Returns a warning of what could not be read, with the file's path. Each is given once, but for that of the file.
    std::string warning();
    /// Returns the reason for which the values of a trial that ended well are not its objective; see StepReader.
    [[nodiscard]] std::string refusal() const { return reader_ ? reader_->refusal() : ""; }
    /// Returns what was read in place of the objective.
    ReadInstead read_instead();

   private:
    [[nodiscard]] std::string file_problem() const { return file_ ? file_->problem() : ""; }

    std::optional<StepReader> reader_;  ///< nothing if hpo does not read the metrics
    std::optional<MetricsFile> file_;
};

}  // namespace hpo::script
