#include "orchestrator/engine/alike_studies.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "hpo/dimension_value.hpp"
#include "orchestrator/sampling/proposer.hpp"
#include "orchestrator/store/store.hpp"
#include "orchestrator/store/study_folder.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_looked_at = 200;  // some milliseconds each

/// Returns the file that a script's command runs, or its words before the first placeholder if it names no file.
std::string program_of(const ScriptWorker& script) {
    const fs::path home = script.home.empty() ? fs::current_path() : fs::path(script.home);
    std::string words;
    for (const std::string& word : script.command) {
        if (word.find('{') != std::string::npos) break;
        std::error_code ignored;
        const fs::path file = (home / word).lexically_normal();
        if (fs::is_regular_file(file, ignored)) return file.string();
        words += word + '\n';
    }
    return words;
}

bool same_worker(const Study& one, const Study& other) {
    if (one.worker.index() != other.worker.index()) return false;
    if (one.native()) {
        const auto model = [](const Study& study) {
            const auto found = study.fixed.find("model.type");
            return found != study.fixed.end() ? to_text(found->second) : std::string();
        };
        return model(one) == model(other);
    }
    return !one.script() || program_of(*one.script()) == program_of(*other.script());
}

bool same_objective(const Objective& one, const Objective& other) {
    return one.metric == other.metric && one.direction == other.direction && one.further.empty() &&
           other.further.empty();
}

}  // namespace

std::size_t parameters_alike(const Study& study, const Study& other) {
    if (!same_objective(study.objective, other.objective) || !same_worker(study, other)) return 0;
    const auto alike = std::count_if(study.space.begin(), study.space.end(), [&](const Dimension& mine) {
        return std::any_of(other.space.begin(), other.space.end(),
                           [&](const Dimension& its) { return its.name == mine.name && its.kind == mine.kind; });
    });
    const auto count = static_cast<std::size_t>(alike);
    // Without a worker, equal parameters are the only sign of the same problem.
    if (!study.has_worker()) return count == study.space.size() && count == other.space.size() ? count : 0;
    return 2 * count >= study.space.size() ? count : 0;
}

std::vector<std::string> alike_studies(const Study& study) {
    std::vector<std::pair<std::size_t, std::string>> found;
    if (!may_learn_from_others(study)) return {};
    std::vector<StudyFolder> folders = list_studies(runs_folder());
    if (folders.size() > most_looked_at) folders.resize(most_looked_at);
    for (const StudyFolder& folder : folders) {
        if (folder.name() == study.name) continue;
        const auto store = open_store_read_only(folder.database());
        if (!store || (*store)->source().empty()) continue;
        const auto other = parse_stored_study((*store)->source(), folder.yaml().string());
        if (!other) continue;
        if (const std::size_t alike = parameters_alike(study, *other); alike > 0)
            found.emplace_back(alike, folder.name());
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> names;
    for (auto& [alike, name] : found) names.push_back(std::move(name));
    return names;
}

}  // namespace hpo
