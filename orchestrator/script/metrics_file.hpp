// Follows the file into which a script writes its metrics: appended parts and replacements.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "orchestrator/script/syntax/file_metrics.hpp"

namespace hpo::script {

class MetricsFile {
   public:
    /// The present content counts for other trials, and is not reported. `epochs` is the number of epochs of the trial,
    /// 0 if it is unknown.
    MetricsFile(std::string path, const std::string& objective, std::int64_t epochs = 0);

    /// Reads new content and returns true if there was any. Stops early if `enough()` is true. Never blocks: only
    /// regular files are read.
    bool read(const std::function<bool()>& enough, const FileMetrics::Record& record);
    /// The script has ended, and read() has read everything.
    void finish(const FileMetrics::Record& record) { metrics_.finish(record); }

    [[nodiscard]] const std::string& path() const { return path_; }
    /// Returns why the file, or a part of it, could not be read: "it is a directory". May be empty.
    [[nodiscard]] std::string problem() const;

   private:
    [[nodiscard]] bool continues(int file) const;

    std::string path_;
    FileMetrics metrics_;
    std::int64_t offset_ = 0;  ///< up to which it has been read, in bytes
    std::string begin_, end_;  ///< of the part that has been read
    std::string unreadable_;   ///< why it could not be opened or read the last time
};

}  // namespace hpo::script
