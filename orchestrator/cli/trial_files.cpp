#include "orchestrator/cli/trial_files.hpp"

#include <filesystem>
#include <string>
#include <system_error>

namespace hpo {

view::TrialFiles files_of(const StudyFolder& folder, std::int64_t trial) {
    const auto if_exists = [](const std::filesystem::path& path) {
        std::error_code ignored;
        return std::filesystem::exists(path, ignored) ? path.string() : std::string();
    };
    return {if_exists(folder.trial_log(trial)), if_exists(folder.checkpoints(trial))};
}

}  // namespace hpo
