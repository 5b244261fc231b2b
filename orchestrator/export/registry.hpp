// The formats that a study can be exported to. For a new one add a file, which defines its row, and a line in
// registry.cpp: `hpo export` takes names, help and errors from the rows.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/export/output.hpp"

namespace hpo::exporting {

/// Returns a trial with all its steps. A study may have more steps than fit in memory: a format asks for a trial when
/// it writes it, and drops it before the next one.
using WholeTrial = std::function<Result<TrialRecord>(const TrialRecord& trial)>;

/// For a record that has all steps.
inline Result<TrialRecord> as_it_is(const TrialRecord& trial) { return trial; }

struct Format {
    std::string_view name;         ///< for --to
    std::string_view description;  ///< what is written, for people: "a row a trial"
    Output::Kind kind = Output::Kind::file;
    /// Prints a text format, which can go to standard output; nullptr for other formats.
    Result<void> (*print)(const Study& study, const StudyRecord& record, const WholeTrial& whole,
                          const Sink& sink) = nullptr;
    /// Writes another format: makes the file `path`, which must not exist, or fills the empty folder. Errors name
    /// `shown`, its final path.
    Result<void> (*write)(const Study& study, const StudyRecord& record, const WholeTrial& whole,
                          const std::filesystem::path& path, const std::filesystem::path& shown) = nullptr;
};

extern const Format csv_format;
extern const Format jsonl_format;
extern const Format optuna_format;
extern const Format tensorboard_format;

std::span<const Format* const> formats();

/// Returns the format with this name, or nullptr.
const Format* find_format(std::string_view name);

/// Writes any format to `path`, which must not exist or be an empty folder. `record` needs only the steps that count;
/// `whole` gives the others.
Result<void> write(const Format& format, const Study& study, const StudyRecord& record, const WholeTrial& whole,
                   const std::filesystem::path& path, const std::filesystem::path& shown);

}  // namespace hpo::exporting
