// hpo keys: lists the keys of study files.
#include <CLI/App.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/printable.hpp"
#include "hpo/result.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/output/key_tables.hpp"
#include "orchestrator/view/table.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {
namespace {

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return result;
}

/// Removes the rows whose key and meaning do not contain `word`, in any case, and the sections that become empty.
void keep_matching(std::vector<KeySection>& sections, std::string_view word) {
    const std::string wanted = lower(word);
    for (KeySection& section : sections)
        std::erase_if(section.rows, [&](const KeyRow& row) {
            return lower(row.key).find(wanted) == std::string::npos &&
                   lower(row.meaning).find(wanted) == std::string::npos;
        });
    std::erase_if(sections, [](const KeySection& section) { return section.rows.empty(); });
}

std::string as_tables(const std::vector<KeySection>& sections) {
    std::string text;
    for (const KeySection& section : sections) {
        view::Table table({{"KEY"}, {"DEFAULT"}, {"VALUES"}, {"MEANING"}});
        for (const KeyRow& row : section.rows) table.add({row.key, row.fallback, row.values, row.meaning});
        // The table is never cut to the terminal's width, since its meanings must be readable. The terminal wraps them.
        view::Screen screen = view::screen_of_stdout();
        screen.width = std::numeric_limits<int>::max();
        text += (text.empty() ? "" : "\n") + std::string(section.title) + "\n" + table.draw(screen);
    }
    return text;
}

struct KeysArguments {
    std::string word;
    bool json = false, markdown = false;
};

int print_keys(const KeysArguments& arguments) {
    auto sections = key_sections();
    keep_matching(sections, arguments.word);
    if (sections.empty())
        throw Fatal("no key or meaning contains '" + printable(arguments.word) + "'; hpo keys lists all of them");
    print(arguments.json ? keys_json(sections) : arguments.markdown ? keys_markdown(sections) : as_tables(sections));
    return 0;
}

}  // namespace

CommandAction keys(CLI::App& app) {
    const auto arguments = std::make_shared<KeysArguments>();
    app.add_option("WORD", arguments->word, "Only keys whose name or meaning contains this word");
    auto* json = app.add_flag("--json", arguments->json, "One JSON object for programs");
    app.add_flag("--markdown", arguments->markdown, "Tables in Markdown")->excludes(json);
    return [arguments] { return print_keys(*arguments); };
}

}  // namespace hpo::commands
