#include "orchestrator/cli/study_source.hpp"

#include <filesystem>

#include "hpo/result.hpp"
#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/stopping/registry.hpp"
#include "orchestrator/store/study_folder.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

Vocabulary known_parts() { return {sampler_vocabulary(), rule_vocabulary()}; }

Study load_study(const std::string& name, const std::vector<std::string>& set) {
    std::filesystem::path file = name;
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored) && is_study_name(name))
        if (const auto stored = study_folder(name).yaml(); std::filesystem::exists(stored, ignored)) file = stored;
    auto study = read_study(file, set, known_parts());
    if (!study) throw Fatal(study.error().message);
    return std::move(*study);
}

}  // namespace hpo
