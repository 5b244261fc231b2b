// The script of a fake worker: a list of directives NAME[=VALUE][@MOMENT] such as "steps=5;die=SIGSEGV@3". FAKES.md
// lists them.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::fake {

inline constexpr long at_end = -1;

struct Directive {
    std::string name;
    std::string value;
    long moment = 1;  ///< the step before whose report it happens; 0 is before `started`, at_end after `finished`

    [[nodiscard]] double number(double otherwise) const { return value.empty() ? otherwise : std::stod(value); }
    [[nodiscard]] long count(long otherwise) const { return value.empty() ? otherwise : std::stol(value); }
};

inline std::vector<Directive> parse_script(std::string_view text) {
    std::vector<Directive> script;
    while (!text.empty()) {
        const auto end = text.find(';');
        std::string_view part = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        Directive directive;
        if (const auto at = part.rfind('@'); at != std::string_view::npos) {
            const std::string_view moment = part.substr(at + 1);
            directive.moment = at_end;
            if (moment != "end") std::from_chars(moment.data(), moment.data() + moment.size(), directive.moment);
            part = part.substr(0, at);
        }
        if (const auto equals = part.find('='); equals != std::string_view::npos) {
            directive.value = part.substr(equals + 1);
            part = part.substr(0, equals);
        }
        directive.name = part;
        if (!directive.name.empty()) script.push_back(std::move(directive));
    }
    return script;
}

inline const Directive* find(const std::vector<Directive>& script, std::string_view name) {
    for (const auto& directive : script)
        if (directive.name == name) return &directive;
    return nullptr;
}

}  // namespace hpo::fake
