// The formats that a study can be exported to. A new one is a file here, which defines its row, and a line in
// registry.cpp: `hpo export` takes names, help and errors from the rows.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/export/output.hpp"

namespace hpo::exporting {

struct Format {
    std::string_view name;         ///< for --to
    std::string_view description;  ///< "a row a trial": what is written, for people
    Output::Kind kind = Output::Kind::file;
    bool every_step = true;  ///< needs all steps of all trials, not just those that count
    /// Of a format that is text, and can go to standard output; else nullptr.
    Result<void> (*print)(const Study& study, const StudyRecord& record, const Sink& sink) = nullptr;
    /// Of another one: makes the file at `path`, which does not exist, or fills the empty folder. Errors name `shown`,
    /// where it will lie.
    Result<void> (*write)(const Study& study, const StudyRecord& record, const std::filesystem::path& path,
                          const std::filesystem::path& shown) = nullptr;
};

extern const Format csv_format;
extern const Format jsonl_format;
extern const Format optuna_format;
extern const Format tensorboard_format;

std::span<const Format* const> formats();

/// nullptr: there is none of this name.
const Format* find_format(std::string_view name);

/// What `hpo export` writes, in `path`, which does not exist or is an empty folder.
Result<void> write(const Format& format, const Study& study, const StudyRecord& record,
                   const std::filesystem::path& path, const std::filesystem::path& shown);

}  // namespace hpo::exporting
