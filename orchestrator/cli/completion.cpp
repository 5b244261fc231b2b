#include "orchestrator/cli/completion.hpp"

#include <CLI/App.hpp>
#include <algorithm>
#include <string_view>

#include "orchestrator/cli/app.hpp"

namespace hpo {

namespace {

using std::string;
using std::string_view;

/// The words before the one that is completed, as the command understands them.
struct Parsed {
    std::vector<string> positionals;
    const CLI::Option* open = nullptr;  ///< the option whose value comes next
    string study;                       ///< the value of --study
    bool only_positionals = false;      ///< after --
};

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

const CLI::Option* find_option(const CLI::App& command, const string& name) {
    return name.size() > 1 && name[0] == '-' ? command.get_option_no_throw(name) : nullptr;
}

Parsed parse(const CLI::App& command, const std::vector<string>& words) {
    Parsed parsed;
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
        const string& word = words[i];
        if (parsed.open != nullptr) {
            if (parsed.open->check_lname("study")) parsed.study = word;
            parsed.open = nullptr;
        } else if (word == "--") {
            parsed.only_positionals = true;
        } else if (parsed.only_positionals || word.size() < 2 || word[0] != '-') {
            parsed.positionals.push_back(word);
        } else if (const CLI::Option* option = find_option(command, word); option && takes_value(*option)) {
            parsed.open = option;
        }
    }
    return parsed;
}

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

std::vector<Candidate> value_candidates(const CLI::App& command, const CLI::Option& option, const string& begin,
                                        const Parsed& parsed, const CompletionSources& sources) {
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

/// Returns the options by their long names, each with its description.
std::vector<Candidate> option_candidates(const CLI::App& command) {
    std::vector<Candidate> options;
    for (const CLI::Option* option : command.get_options())
        for (const string& name : option->get_lnames()) options.push_back({"--" + name, option->get_description()});
    return options;
}

/// Returns the positional argument that comes after `given` others; the last one may have several values.
const CLI::Option* positional(const CLI::App& command, std::size_t given) {
    for (const CLI::Option* option : command.get_options()) {
        if (!option->get_positional()) continue;
        const auto most = static_cast<std::size_t>(option->get_items_expected_max());
        if (given < most) return option;
        given -= most;
    }
    return nullptr;
}

std::vector<Candidate> all_candidates(const CLI::App& program, const std::vector<string>& words,
                                      const CompletionSources& sources) {
    const string& last = words.back();
    if (words.size() == 1) {
        std::vector<Candidate> found;
        if (last.starts_with('-')) return option_candidates(program);
        for (const CLI::App* one : program.get_subcommands({}))
            found.push_back({one->get_name(), one->get_description()});
        return found;
    }
    const CLI::App* command = find_command(program, words.front());
    if (command == nullptr) return {};
    const Parsed parsed = parse(*command, words);
    if (parsed.open != nullptr) return value_candidates(*command, *parsed.open, last, parsed, sources);
    if (last.starts_with('-') && !parsed.only_positionals) {
        const auto equals = last.find('=');
        if (equals == string::npos) return option_candidates(*command);
        const CLI::Option* option = find_option(*command, last.substr(0, equals));
        if (option == nullptr || !takes_value(*option)) return {};
        auto values = value_candidates(*command, *option, last.substr(equals + 1), parsed, sources);
        for (Candidate& value : values) value.word.insert(0, last.substr(0, equals + 1));
        return values;
    }
    const CLI::Option* next = positional(*command, parsed.positionals.size());
    return next == nullptr ? std::vector<Candidate>() : value_candidates(*command, *next, last, parsed, sources);
}

}  // namespace

std::vector<Candidate> candidates(const CLI::App& program, const std::vector<string>& words,
                                  const CompletionSources& sources) {
    if (words.empty()) return {};
    auto found = all_candidates(program, words, sources);
    std::erase_if(found, [&](const Candidate& one) { return !one.word.starts_with(words.back()); });
    return found;
}

}  // namespace hpo
