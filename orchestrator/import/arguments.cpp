#include "orchestrator/import/arguments.hpp"

#include <algorithm>

#include "orchestrator/script/syntax/template.hpp"

namespace hpo::importing {

std::string without_placeholders(std::string_view text) {
    constexpr std::size_t most_braced = 200;
    const auto inner = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
               c == '-';
    };
    std::string out;
    while (!text.empty()) {
        std::size_t end = 1;
        if (text.front() == '{')
            while (end < text.size() && inner(text[end])) ++end;
        const std::string_view braced = end < text.size() && text[end] == '}' ? text.substr(0, end + 1) : "";
        const auto lookalikes = script::lookalikes(text.front() == '{' ? text.substr(0, most_braced) : "");
        if (!lookalikes.empty() && lookalikes[0].text.data() == text.data() && !lookalikes[0].rest.empty()) {
            out += '{' + std::string(lookalikes[0].text) + '}';
            text.remove_prefix(lookalikes[0].text.size());
        } else if (!script::placeholders(braced).empty()) {
            out += '{' + std::string(braced) + '}';
            text.remove_prefix(braced.size());
        } else {
            out += text.front();
            text.remove_prefix(1);
        }
    }
    return out;
}

std::optional<std::vector<std::string>> split_shell_line(std::string_view line) {
    std::vector<std::string> arguments;
    std::string argument;
    bool begun = false;  // true within an argument, which may be empty ("")
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        const bool escapes = c == '\\' && quote != '\'' && i + 1 < line.size() &&
                             (quote == 0 || line[i + 1] == '"' || line[i + 1] == '\\');
        if (escapes) {
            argument += line[++i];
            begun = true;
        } else if (quote != 0) {
            if (quote == '"' && (c == '$' || c == '`')) return {};
            if (c == quote)
                quote = 0;
            else
                argument += c;
        } else if (c == '"' || c == '\'') {
            quote = c;
            begun = true;
        } else if (c == ' ' || c == '\t') {
            if (begun) arguments.push_back(std::move(argument));
            argument.clear();
            begun = false;
        } else if (std::string_view("$`|&;<>()*?[]#~\n\r\\").find(c) != std::string_view::npos) {
            return {};
        } else {
            argument += c;
            begun = true;
        }
    }
    if (quote != 0) return {};
    if (begun) arguments.push_back(std::move(argument));
    // NAME=value before a command sets a variable, which needs a shell.
    if (arguments.empty() || arguments.front().empty() || arguments.front().find('=') != std::string::npos) return {};
    return arguments;
}

}  // namespace hpo::importing
