#include "orchestrator/store/log_checkpoints.hpp"

#include <utility>

namespace hpo {

namespace {
constexpr int long_log = 1500;        // pages
constexpr int longest_log = 2000;     // from which the writer moves it, if no other does
constexpr int longest_beside = 8000;  // from which the writer helps, if commits never leave time to move all
constexpr int most_turns = 5;         // pages of commits meanwhile are left, fewer in each turn
constexpr int patience_ms = 0;
}  // namespace

void LogCheckpoints::begin(const std::filesystem::path& file, sqlite::Database& writer) {
    auto opened = sqlite::Database::open(file, sqlite::Mode::read_write, patience_ms);
    // The first read opens the log, so that a renamed folder does not matter.
    if (opened && opened->value("SELECT 1 FROM study")) {
        opened->checkpoint_on_close(false);
        connection_ = *std::move(opened);
    }
    writer.on_commit([this, &writer](int pages) { committed(writer, pages); });
}

void LogCheckpoints::committed(sqlite::Database& writer, int pages) {
    pages_ = pages;
    if (pages >= (connection_ ? longest_beside : longest_log)) (void)writer.checkpoint();
}

void LogCheckpoints::move_long_log() {
    if (!connection_ || pages_ < long_log) return;
    for (int turn = 0; turn < most_turns && !connection_->checkpoint(); ++turn) continue;
}

}  // namespace hpo
