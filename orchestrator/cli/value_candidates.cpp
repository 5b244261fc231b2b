#include "orchestrator/cli/value_candidates.hpp"

#include <CLI/App.hpp>
#include <algorithm>
#include <iterator>
#include <string_view>

namespace hpo {

using std::string;
using std::string_view;

namespace {

/// Returns the words of CLI::IsMember, which are part of the name of an option's type: TEXT:{cpu,cuda}.
std::vector<Candidate> members(const CLI::Option& option) {
    const string type = option.get_type_name();
    const auto begin = type.find('{'), end = type.find('}');
    std::vector<Candidate> words;
    if (begin == string::npos || end == string::npos) return words;
    for (std::size_t at = begin + 1; at < end;) {
        const auto comma = std::min(type.find(',', at), end);
        words.push_back({type.substr(at, comma - at), ""});
        at = comma + 1;
    }
    return words;
}

void append(std::vector<Candidate>& to, std::vector<Candidate> more) {
    to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// STUDY/7 where `begin` has the study, otherwise trials of `study` and the studies to go on with.
std::vector<Candidate> trial_candidates(const string& begin, const string& study, string_view after_study,
                                        const CompletionSources& sources) {
    if (const auto slash = begin.rfind('/'); slash != string::npos) {
        auto trials = sources.trials(begin.substr(0, slash));
        for (Candidate& trial : trials) trial.word.insert(0, begin.substr(0, slash + 1));
        return trials;
    }
    auto found = sources.trials(study);
    if (!study.empty()) return found;
    auto studies = sources.studies();
    for (Candidate& one : studies) one.word += after_study;
    append(found, std::move(studies));
    return found;
}

}  // namespace

std::vector<Candidate> value_candidates(const CLI::App& command, const CLI::Option& option, const string& begin,
                                        const WordsBefore& parsed, const CompletionSources& sources) {
    if (auto words = members(option); !words.empty()) return words;
    const string name = option.get_name(option.get_positional()), verb = command.get_name();
    const string first = parsed.positionals.empty() ? "" : parsed.positionals.front();
    if (name == "--set")
        return key_candidates(begin, first.empty() ? std::vector<string>() : sources.parameters(first));
    if (name == "--backend") {
        const string key = "resources.backend=";
        auto words = key_candidates(key, {});
        for (Candidate& word : words) word.word.erase(0, key.size());
        return words;
    }
    if (name == "--study" || name == "--from") return sources.studies();
    if (name == "TRIAL" && verb == "show") return sources.trials(first);
    if (name == "TRIAL") return trial_candidates(begin, parsed.study, "/", sources);
    if (name == "WHAT" || name == "WHICH") return trial_candidates(begin, parsed.study, "", sources);
    if (name == "COMMAND" && verb == "help") {
        std::vector<Candidate> commands;
        for (const CLI::App* one : command.get_parent()->get_subcommands({}))
            commands.push_back({one->get_name(), one->get_description()});
        return commands;
    }
    std::vector<Candidate> found;
    if (name == "STUDY" || (name == "file" && (verb == "run" || verb == "ask-tell"))) found = sources.studies();
    if ((name == "STUDY" || name == "file") && verb != "rm") append(found, sources.files(begin));
    if (name == "STUDY" && verb == "plot") append(found, members(*command.get_option("KIND")));  // of the latest study
    return found;
}

}  // namespace hpo
