#include "orchestrator/cli/study_source.hpp"

#include <filesystem>

#include "hpo/result.hpp"
#include "orchestrator/cli/study_choice.hpp"
#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/stopping/registry.hpp"
#include "orchestrator/store/study_folder.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

Vocabulary known_parts() { return {sampler_vocabulary(), rule_vocabulary()}; }

namespace {

/// The errors of overrides begin with "--set key=value: "; those of the file come first.
[[noreturn]] void refuse(std::string message, const Overrides& overrides) {
    const bool usage = message.starts_with("--set ");
    for (const auto& [assignment, typed] : overrides.typed) {
        const std::string shown = "--set " + assignment + ": ";
        for (std::size_t at = 0; (at = message.find(shown, at)) != std::string::npos; at += typed.size())
            message.replace(at, shown.size(), typed + ": ");
    }
    if (usage) throw Fatal(message, 2);
    throw Refusal(message);
}

}  // namespace

Study load_study(const std::string& name, const Overrides& overrides) {
    std::filesystem::path file = name;
    std::error_code ignored;
    if (std::filesystem::status(file, ignored).type() == std::filesystem::file_type::not_found && is_study_name(name)) {
        file = study_folder(name).yaml();
        if (!std::filesystem::exists(file, ignored)) no_such_study(name, "no file and no study");
    }
    auto study = read_study(file, overrides.set, known_parts());
    if (!study) refuse(study.error().message, overrides);
    return std::move(*study);
}

}  // namespace hpo
