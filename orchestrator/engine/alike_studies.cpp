#include "orchestrator/engine/alike_studies.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "hpo/worker_key_defaults.hpp"
#include "orchestrator/sampling/proposer.hpp"
#include "orchestrator/script/syntax/interpreter.hpp"
#include "orchestrator/store/store.hpp"
#include "orchestrator/store/study_folder.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_looked_at = 200;  // some milliseconds each

/// Returns the words of a command that say which program trains, with absolute paths: the script or module that Python
/// runs; of other programs, which may be shells or launchers, the whole command. Returns nothing if relative paths may
/// belong to another folder: a stored study whose home is its user's current folder does not say which one that was,
/// unless the folder of all studies lies below it.
std::optional<std::vector<std::string>> program_of(const ScriptWorker& script) {
    std::vector<std::string> words = script.command;
    if (const auto interpreter = script::interpreter_arguments(words)) {
        words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(*interpreter));
        words.resize(words.front().starts_with('-') ? 2 : 1);  // -m and its module
    }
    const fs::path home = script.home.empty() ? fs::current_path() : fs::path(script.home);
    for (std::string& word : words) {
        const fs::path file = (home / word).lexically_normal();
        std::error_code ignored;
        if (!fs::is_regular_file(file, ignored)) continue;
        const bool known = !script.home.empty() || fs::path(word).is_absolute() || runs_folder().is_relative();
        if (!known) return std::nullopt;
        word = file.string();
    }
    return words;
}

/// Returns the type of the native worker's models, or nothing if the study searches it.
std::optional<Value> model_of(const Study& study) {
    const WorkerKey& key = *find_worker_key("type");
    for (const Dimension& dimension : study.space)
        if (dimension.name == key.name) return std::nullopt;
    const auto fixed = study.fixed.find(std::string(key.name));
    return fixed != study.fixed.end() ? fixed->second : default_value(key);
}

bool same_worker(const Study& one, const Study& other) {
    if (one.worker.index() != other.worker.index()) return false;
    if (one.native()) return model_of(one) == model_of(other);
    if (!one.script()) return true;
    const auto program = program_of(*one.script());
    return program && program == program_of(*other.script());
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
