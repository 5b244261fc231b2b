// Opens hpo.log, the log of a study.
#pragma once

#include <spdlog/logger.h>

#include <filesystem>
#include <memory>

namespace hpo {

/// Lines begin with the local time and its offset from UTC: "2026-03-29 03:00:01.250 +0200 info ". A log that cannot be
/// written (a full disk) is dropped without an error. Throws spdlog::spdlog_ex if the file cannot be opened.
std::shared_ptr<spdlog::logger> open_study_log(const std::filesystem::path& file);

}  // namespace hpo
