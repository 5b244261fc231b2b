#include "orchestrator/cli/complete.hpp"

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/app.hpp"
#include "orchestrator/cli/completion.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

std::vector<Candidate> studies_here() {
    std::vector<Candidate> found;
    for (const StudyFolder& folder : list_studies(runs_folder())) found.push_back({folder.name(), "study"});
    return found;
}

std::vector<Candidate> trials_known(const std::string& study) {
    std::vector<Candidate> found;
    const StudySnapshot snapshot = snapshot_or_fail(choose_study(study), TrialParts::standing);
    for (const TrialRecord& trial : snapshot.record.trials)
        found.push_back({std::to_string(trial.number),
                         std::string(to_text(trial.state)) + (trial.value ? " " + short_number(*trial.value) : "")});
    return found;
}

std::vector<Candidate> yaml_files(const std::string& begin) {
    const auto slash = begin.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : begin.substr(0, slash + 1);
    std::vector<Candidate> found;
    std::error_code error;
    for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        std::error_code ignored;
        const bool is_folder = entry->is_directory(ignored), hidden = name.starts_with('.');
        const std::string extension = entry->path().extension().string();
        if (!hidden && (is_folder || extension == ".yaml" || extension == ".yml"))
            found.push_back({folder + name + (is_folder ? "/" : ""), is_folder ? "folder" : "file"});
    }
    std::sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.word < b.word; });
    return found;
}

std::vector<std::string> parameters_of(const std::string& study) {
    std::vector<std::string> names;
    std::error_code ignored;
    const auto file = fs::is_regular_file(study, ignored) ? read_study(study, {}, known_parts()) : Error{""};
    const Space space = file ? file->space : snapshot_or_fail(choose_study(study), TrialParts::standing).study.space;
    for (const Dimension& dimension : space) names.push_back(dimension.name);
    return names;
}

/// Calls `find`, and returns nothing where it fails.
template <class Found, class Find>
auto or_nothing(Find find) {
    return [find](const std::string& argument) {
        try {
            return find(argument);
        } catch (const std::exception&) {
            return Found();
        }
    };
}

}  // namespace

int run_complete(const std::vector<std::string>& words) {
    CLI::App app;
    const DeclaredCommands declared = declare_commands(app);
    using Candidates = std::vector<Candidate>;
    const CompletionSources sources{studies_here, or_nothing<Candidates>(trials_known),
                                    or_nothing<Candidates>(yaml_files),
                                    or_nothing<std::vector<std::string>>(parameters_of)};
    std::string text;
    for (const Candidate& one : candidates(app, words, sources))
        if (printable(one.word) == one.word) text += one.word + '\t' + printable_line(one.meaning) + '\n';
    print(text);
    return 0;
}

}  // namespace hpo
