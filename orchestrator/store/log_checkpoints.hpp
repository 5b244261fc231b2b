// Moves the write-ahead log of a study's database into its file, on the thread that synchronises. It waits for the disk
// several times, and the writer would pause for that in the loop of the study.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>

#include "orchestrator/store/sqlite.hpp"

namespace hpo {

class LogCheckpoints {
   public:
    /// Begins for the database of `writer`, which this must not outlive. Opens a second connection for the thread. If
    /// that fails, as where one connection has locked the file for itself, the writer moves the log.
    void begin(const std::filesystem::path& file, sqlite::Database& writer);

    /// Moves the log if it is long. Called by the thread.
    void move_long_log();

   private:
    void committed(sqlite::Database& writer, int pages);

    std::optional<sqlite::Database> connection_;
    std::atomic<int> pages_{0};  ///< in the log after the last commit
};

}  // namespace hpo
