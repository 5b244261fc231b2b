// The formats that a study can be exported to. A new one needs a file that defines its row, and a line in registry.cpp.
// `hpo export` takes its names, help and errors from the rows.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/output/output_path.hpp"

namespace hpo::exporting {

/// Returns a trial with all its steps. A study may have more steps than fit in memory, so a format reads one trial at a
/// time.
using WholeTrial = std::function<Result<TrialRecord>(const TrialRecord& trial)>;

/// Returns true if a worker has started the trial. A trial without a start has no place on a time axis.
inline bool has_begun(const TrialRecord& trial) { return trial.started_at != 0; }

struct Format {
    std::string_view name;         ///< for --to
    std::string_view description;  ///< for the help: "one row per trial"
    OutputPath::Kind kind = OutputPath::Kind::file;
    /// Returns true for the trials that the format has a place for. nullptr: all.
    bool (*takes)(const TrialRecord& trial) = nullptr;
    std::string_view taken_once = "started";  ///< the state from which on trials are exported: "started" or "ended"
    /// Prints a text format, which may be written to standard output. nullptr for other formats.
    Result<void> (*print)(const Study& study, const StudyRecord& record, const WholeTrial& whole,
                          const Sink& sink) = nullptr;
    /// Writes any other format: creates the file `path`, which must not exist, or fills the empty folder `path`. Error
    /// messages contain `shown`, its final path. nullptr for text formats.
    Result<void> (*write)(const Study& study, const StudyRecord& record, const WholeTrial& whole,
                          const std::filesystem::path& path, const std::filesystem::path& shown) = nullptr;
};

extern const Format csv_format;
extern const Format jsonl_format;
extern const Format optuna_format;
extern const Format tensorboard_format;
extern const Format mlflow_format;
extern const Format wandb_format;

std::span<const Format* const> formats();

/// Returns the format with this name, or nullptr if there is none.
const Format* find_format(std::string_view name);

/// Writes a study in any format to `path`, which must not exist or be an empty folder. The curves in `record` may be
/// thinned; `whole` returns the complete ones. Error messages contain `shown`, the final path.
Result<void> write(const Format& format, const Study& study, const StudyRecord& record, const WholeTrial& whole,
                   const std::filesystem::path& path, const std::filesystem::path& shown);

}  // namespace hpo::exporting
