#include "orchestrator/cli/trial_files.hpp"

#include <filesystem>
#include <string>
#include <system_error>

#include "orchestrator/cli/notes.hpp"

namespace hpo {

view::TrialFiles files_of(const StudyFolder& folder, std::int64_t trial) {
    const auto if_exists = [](const std::filesystem::path& path) {
        std::error_code ignored;
        return std::filesystem::exists(path, ignored) ? path.string() : std::string();
    };
    view::TrialFiles files{if_exists(folder.trial_log(trial)), if_exists(folder.checkpoints(trial))};
    const Notes notes = readable_notes(folder);
    files.tags = tags_text(notes.of(trial));
    files.notes = notes_text(notes.of(trial));
    return files;
}

}  // namespace hpo
