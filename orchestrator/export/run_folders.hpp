// The common part of formats that write a folder or a file for each trial: names of runs that stay the same, and the
// files of a tree of folders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/output/output_path.hpp"

namespace hpo::exporting {

/// Returns 32 hexadecimal digits, which differ between studies and trials, and are the same at each export.
std::string run_id(const Study& study, const TrialRecord& trial);

/// Writes the files of one folder tree, until one fails.
class Tree {
   public:
    /// Error messages have `shown` in place of `folder`.
    Tree(std::filesystem::path folder, std::filesystem::path shown)
        : folder_(std::move(folder)), shown_(std::move(shown)) {}

    void folder(const std::string& name);
    void file(const std::string& name, std::string_view content);
    [[nodiscard]] Result<void> result() const { return result_; }

   private:
    std::filesystem::path folder_, shown_;
    Result<void> result_;
};

}  // namespace hpo::exporting
