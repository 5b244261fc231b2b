#include "orchestrator/lookup/study_choice.hpp"

#include <optional>
#include <system_error>
#include <vector>

#include "hpo/nearest.hpp"
#include "hpo/printable.hpp"
#include "hpo/result.hpp"
#include "orchestrator/study/diagnostics.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

bool has_database(const StudyFolder& study) {
    std::error_code ignored;
    return fs::exists(study.database(), ignored);
}

/// Returns the study if there is one. Throws Fatal if it has not begun, and the command needs that.
std::optional<StudyFolder> present(const StudyFolder& study, Unbegun unbegun) {
    std::error_code ignored;
    const bool submitted = fs::exists(study.job_script(), ignored);
    if (has_database(study) || (submitted && unbegun == Unbegun::allowed)) return study;
    if (submitted)
        throw Fatal("study " + study.name() +
                    " has not begun: a job of Slurm was submitted for it, which hpo run FILE --on slurm follows");
    return std::nullopt;
}

}  // namespace

void no_such_study(const std::string& argument, const std::string& problem) {
    const auto studies = list_studies(runs_folder());
    const std::string message = problem + " '" + printable(argument) + "'";
    if (studies.empty())
        throw Fatal(message + "; there are no studies in " + runs_folder().string() +
                    "/ yet: hpo run FILE.yaml starts one");
    std::vector<std::string> names;
    for (const StudyFolder& study : studies) names.push_back(study.name());
    const auto nearest = hpo::nearest(argument, {names.begin(), names.end()});
    std::string existing;
    constexpr std::size_t shown = 8;
    for (std::size_t i = 0; i < names.size() && i < shown; ++i) existing += (i ? ", " : "") + names[i];
    if (names.size() > shown) existing += ", ... (hpo ls)";
    throw Fatal(message + (nearest.empty() ? "" : "; did you mean '" + std::string(nearest) + "'?") +
                "; there are: " + existing);
}

StudyFolder choose_study(const std::string& argument, Unbegun unbegun) {
    const auto studies = list_studies(runs_folder());
    if (argument.empty()) {
        if (studies.empty())
            throw Fatal("there are no studies in " + runs_folder().string() + "/ yet: hpo run FILE.yaml starts one");
        return studies.front();
    }
    if (is_study_name(argument))
        if (const auto named = present(study_folder(argument), unbegun)) return *named;
    const fs::path path = fs::path(argument).lexically_normal();
    if (const auto folder = present({path.filename().empty() ? path.parent_path() : path}, unbegun)) return *folder;
    if (std::error_code ignored; fs::is_regular_file(path, ignored)) {
        const auto study = read_study(path);
        if (!study) throw Fatal(study.error().message);
        if (const auto named = present(study_folder(study->name), unbegun)) return *named;
        throw Fatal("study " + study->name + " has not been run yet: hpo run " + argument + " starts it");
    }
    no_such_study(argument);
}

bool is_study(const std::string& argument) {
    if (argument.empty()) return false;
    return has_database({fs::path(argument)}) || has_database(study_folder(argument));
}

}  // namespace hpo
