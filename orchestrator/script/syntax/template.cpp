#include "orchestrator/script/syntax/template.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "hpo/printable.hpp"

namespace hpo::script {

namespace {

/// Letters beyond ASCII consist of such bytes.
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_inner(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; }

constexpr std::string_view functions[] = {"flag:", "params:"};

/// Returns the length of the word that `rest` begins with.
std::size_t end_of_word(std::string_view rest) {
    if (rest.empty() || !is_letter(rest[0])) return 0;
    std::size_t end = 1;
    while (end < rest.size() && is_inner(rest[end])) ++end;
    return end;
}

/// Returns the length of a word with the part after its ':' or '!', as in lr:.4f, without blanks, commas and quotes, or
/// 0 if `rest` begins with none.
std::size_t end_of_word_with_rest(std::string_view rest) {
    const std::size_t word = end_of_word(rest);
    if (word == 0 || word == rest.size() || (rest[word] != ':' && rest[word] != '!')) return 0;
    const auto end = rest.find_first_of("{}\n\t ,'\"", word);
    return end == std::string_view::npos || end == word + 1 || rest[end] != '}' ? 0 : end;
}

/// Returns the length of the placeholder that `rest` begins with, or 0 if it begins with none.
std::size_t end_of_placeholder(std::string_view rest) {
    if (rest.empty() || !is_letter(rest[0])) return 0;
    for (const std::string_view function : functions)
        if (rest.starts_with(function)) {
            const auto end = rest.find_first_of("{}\n");
            return end == std::string_view::npos ? 0 : end;
        }
    return end_of_word(rest);
}

/// Calls `text(part)` for texts and `name(placeholder)` for placeholders of a template, in their order.
template <class Text, class Name>
void walk(std::string_view rest, Text&& text, Name&& name) {
    while (!rest.empty()) {
        const auto open = rest.find('{');
        text(rest.substr(0, open));
        if (open == std::string_view::npos) return;
        rest.remove_prefix(open);
        const bool doubled = rest.starts_with("{{");
        const std::size_t begin = doubled ? 2 : 1;
        const std::string_view inner = rest.substr(begin);
        const std::size_t with_rest = doubled ? end_of_word_with_rest(inner) : 0;
        const std::size_t end = begin + (with_rest != 0 ? with_rest : end_of_placeholder(inner));
        const bool closed = end > begin && rest.substr(end).starts_with(doubled ? "}}" : "}");
        if (!closed) {
            text(rest.substr(0, 1));
            rest.remove_prefix(1);
        } else if (doubled) {
            text(rest.substr(1, end));
            rest.remove_prefix(end + 2);
        } else {
            name(rest.substr(begin, end - begin));
            rest.remove_prefix(end + 1);
        }
    }
}

}  // namespace

bool hides(std::string_view name) {
    return name != "seed" && std::find(own_names.begin(), own_names.end(), name) != own_names.end();
}

std::vector<std::string_view> placeholders(std::string_view text) {
    std::vector<std::string_view> names;
    walk(
        text, [](std::string_view) {}, [&](std::string_view name) { names.push_back(name); });
    return names;
}

std::vector<Lookalike> lookalikes(std::string_view text) {
    std::vector<Lookalike> found;
    const auto offset = [&](std::string_view part) { return static_cast<std::size_t>(part.data() - text.data()); };
    const auto without_meaning = [&](std::string_view part) {
        const std::size_t at = offset(part);
        const char before = at == 0 ? ' ' : text[at - 1];
        if (part != "{" || before == '{' || before == '$') return;
        const std::string_view inner = text.substr(at + 1);
        const std::size_t begin = std::min(inner.find_first_not_of(' '), inner.size());
        const std::string_view name = inner.substr(begin, end_of_word(inner.substr(begin)));
        std::size_t end = begin == 0 ? end_of_word_with_rest(inner) : 0;
        const bool has_rest = end != 0;
        if (!has_rest) end = std::min(inner.find_first_not_of(' ', begin + name.size()), inner.size());
        if (name.empty() || !inner.substr(end).starts_with('}') || inner.substr(end).starts_with("}}")) return;
        found.push_back({text.substr(at, end + 2), name,
                         has_rest ? inner.substr(name.size() + 1, end - name.size() - 1) : std::string_view()});
    };
    walk(text, without_meaning, [&](std::string_view name) {
        const std::size_t at = offset(name) - 1;
        if (at > 0 && text[at - 1] == '$') found.push_back({text.substr(at - 1, name.size() + 3), name, ""});
    });
    return found;
}

Placeholder take_apart(std::string_view placeholder) {
    const auto colon = placeholder.find(':');
    if (colon == std::string_view::npos) return {Placeholder::Kind::value, std::string(placeholder), {}};
    const std::string_view function = placeholder.substr(0, colon), rest = placeholder.substr(colon + 1);
    if (function == "params") {
        Placeholder params{Placeholder::Kind::params, std::string(rest), {}};
        const bool known = rest.ends_with(".json") || rest.ends_with(".yaml") || rest.ends_with(".yml");
        if (!known || !is_file_name(rest))
            params.problem =
                "must name a file for all parameters that ends in .json, .yaml or .yml, such as "
                "{params:config.yaml}";
        return params;
    }
    const auto second = rest.find(':');
    Placeholder flag{Placeholder::Kind::flag, std::string(rest.substr(0, second)), {}};
    if (second != std::string_view::npos) {
        const std::string_view texts = rest.substr(second + 1);
        const auto third = texts.find(':');
        flag.if_true = texts.substr(0, third);
        if (third != std::string_view::npos) flag.if_false = texts.substr(third + 1);
    }
    if (flag.if_true.empty() || flag.if_false == std::string())
        flag.problem =
            "must give a text for a parameter that is true: {flag:tied:--tied}, or also for one that is false: "
            "{flag:tied:--tied:--no-tied}";
    return flag;
}

bool is_file_name(std::string_view name) {
    return !name.empty() && name.size() <= 64 && name[0] != '.' && name[0] != '-' &&
           std::all_of(name.begin(), name.end(), is_inner);
}

std::optional<std::string> fill(std::string_view text, const Lookup& lookup) {
    std::string filled;
    bool is_complete = true;
    walk(
        text, [&](std::string_view part) { filled += part; },
        [&](std::string_view name) {
            const auto value = lookup(std::string(name));
            is_complete = is_complete && value.has_value();
            if (value) filled += *value;
        });
    return is_complete ? std::optional(filled) : std::nullopt;
}

std::vector<std::string> fill(const std::vector<std::string>& command, const std::vector<ArgumentRange>& optional,
                              const Lookup& lookup) {
    const auto has_value = [&](std::size_t at) { return fill(command[at], lookup).has_value(); };
    std::vector<std::string> filled;
    bool after_option = false;  // true if the previous argument is an option without its value
    for (std::size_t at = 0; at < command.size(); ++at) {
        const auto range =
            std::find_if(optional.begin(), optional.end(), [&](const ArgumentRange& r) { return r.first == at; });
        if (range != optional.end()) {
            bool is_complete = true;
            for (std::size_t i = range->first; i < range->second; ++i) is_complete = is_complete && has_value(i);
            after_option = after_option && is_complete;
            if (!is_complete) {
                at = range->second - 1;
                continue;
            }
        }
        const std::string& argument = command[at];
        auto text = fill(argument, lookup);
        if (text)
            filled.push_back(std::move(*text));
        else if (after_option && argument.starts_with('{') && !argument.starts_with("{flag:"))
            filled.pop_back();
        after_option =
            text.has_value() && argument.starts_with('-') && argument.find_first_of("={") == std::string::npos;
    }
    return filled;
}

std::string variable_of(std::string_view name) {
    std::string variable = "HPO_PARAM_";
    while (!name.empty()) {
        const char c = name.front();
        std::uint32_t code = 0;
        const std::size_t length = std::max<std::size_t>(detail::utf8_sequence(name, code), 1);
        const bool kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (code >= 0x80) {
            char number[16];
            std::snprintf(number, sizeof number, "U%04X", static_cast<unsigned>(code));
            variable += number;
        } else {
            variable += kept ? c : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : '_';
        }
        name.remove_prefix(length);
    }
    return variable;
}

}  // namespace hpo::script
