#include "orchestrator/script/template.hpp"

#include <algorithm>

namespace hpo::script {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_inner(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; }

/// Calls `text(stretch)` and `name(name)` for what the template is made of, in its order.
template <class Text, class Name>
void walk(std::string_view rest, Text&& text, Name&& name) {
    while (!rest.empty()) {
        const auto open = rest.find('{');
        text(rest.substr(0, open));
        if (open == std::string_view::npos) return;
        rest.remove_prefix(open);
        const bool doubled = rest.starts_with("{{");
        const std::size_t begin = doubled ? 2 : 1;
        std::size_t end = begin;
        if (end < rest.size() && is_letter(rest[end]))
            while (end < rest.size() && is_inner(rest[end])) ++end;
        const bool closed = end > begin && rest.substr(end).starts_with(doubled ? "}}" : "}");
        if (!closed) {
            text(rest.substr(0, 1));
            rest.remove_prefix(1);
        } else if (doubled) {
            text(rest.substr(1, end));
            rest.remove_prefix(end + 2);
        } else {
            name(std::string(rest.substr(begin, end - begin)));
            rest.remove_prefix(end + 1);
        }
    }
}

}  // namespace

bool hides(std::string_view name) {
    return name != "seed" && std::find(own_names.begin(), own_names.end(), name) != own_names.end();
}

std::vector<std::string> placeholders(std::string_view text) {
    std::vector<std::string> names;
    walk(
        text, [](std::string_view) {}, [&](std::string name) { names.push_back(std::move(name)); });
    return names;
}

std::optional<std::string> fill(std::string_view text, const Lookup& lookup) {
    std::string filled;
    bool whole = true;
    walk(
        text, [&](std::string_view stretch) { filled += stretch; },
        [&](const std::string& name) {
            const auto value = lookup(name);
            whole = whole && value.has_value();
            if (value) filled += *value;
        });
    return whole ? std::optional(filled) : std::nullopt;
}

std::vector<std::string> fill(const std::vector<std::string>& command, const Lookup& lookup) {
    std::vector<std::string> filled;
    bool option = false;  // the last one is an option of its own
    for (const std::string& argument : command) {
        auto text = fill(argument, lookup);
        if (text)
            filled.push_back(std::move(*text));
        else if (option && argument.starts_with('{'))
            filled.pop_back();
        option = text.has_value() && argument.starts_with('-') && argument.find_first_of("={") == std::string::npos;
    }
    return filled;
}

std::string variable_of(std::string_view name) {
    std::string variable = "HPO_PARAM_";
    for (const char c : name) {
        const bool kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        variable += kept ? c : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : '_';
    }
    return variable;
}

}  // namespace hpo::script
