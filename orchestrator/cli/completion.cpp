#include "orchestrator/cli/completion.hpp"

#include <CLI/App.hpp>
#include <algorithm>

#include "orchestrator/cli/app.hpp"
#include "orchestrator/cli/value_candidates.hpp"

namespace hpo {

namespace {

using std::string;

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

const CLI::Option* find_option(const CLI::App& command, const string& name) {
    return name.size() > 1 && name[0] == '-' ? command.get_option_no_throw(name) : nullptr;
}

WordsBefore parse(const CLI::App& command, const std::vector<string>& words) {
    WordsBefore parsed;
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
    const WordsBefore parsed = parse(*command, words);
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
