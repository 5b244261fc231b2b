#include "orchestrator/init/hydra_flags.hpp"

#include <algorithm>

#include "orchestrator/study/document.hpp"

namespace hpo::init {

namespace {

using study::Entry;
using study::Node;

bool is_name(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

/// Returns the text of an argument: config_path="conf".
std::string argument_of(std::string_view call, std::string_view key) {
    const auto at = call.find(std::string(key) + '=');
    if (at == std::string_view::npos) return {};
    const std::string_view value = call.substr(at + key.size() + 1);
    const auto open = value.find_first_of("\"',)");
    if (open == std::string_view::npos || (value[open] != '"' && value[open] != '\'')) return {};
    return std::string(value.substr(open + 1, value.find(value[open], open + 1) - open - 1));
}

Result<Node> parsed(const std::string& path, const ReadConfiguration& read) {
    const auto text = read(path);
    if (!text) return Error{path + ": the script's configuration (hydra.main) cannot be read"};
    study::Diagnostics errors(path, *text);
    auto root = study::parse_yaml(*text, 0, errors, study::Tags::core);
    if (!root) return Error{errors.text()};
    return *std::move(root);
}

/// Adds the scalars below a node. Hydra's own settings and names that an override cannot write are left out.
void add_scalars(const Node& node, const std::string& prefix, std::vector<Flag>& flags) {
    for (const Entry& entry : node.entries) {
        if (!is_name(entry.key) || (prefix.empty() && (entry.key == "defaults" || entry.key == "hydra"))) continue;
        const std::string name = prefix + entry.key;
        if (entry.value.kind == Node::Kind::map) add_scalars(entry.value, name + '.', flags);
        if (entry.value.kind != Node::Kind::scalar) continue;
        if (std::any_of(flags.begin(), flags.end(), [&](const Flag& one) { return one.option == name; })) continue;
        Flag flag;
        flag.option = name;
        flag.assigned = true;
        const std::string& value = entry.value.text;
        flag.required = value == "???";  // as Hydra marks what the command line must give
        if (!flag.required) flag.fallback = value;
        if (!entry.value.plain) flag.type = "str";
        flags.push_back(std::move(flag));
    }
}

}  // namespace

std::string HydraMain::file_of(const std::string& config) const {
    const std::string base = path.empty() ? config : path + '/' + config;
    return base.ends_with(".yaml") ? base : base + ".yaml";
}

std::optional<HydraMain> hydra_main(std::string_view python) {
    const auto at = python.find("@hydra.main(");
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view call = python.substr(at, python.find("\ndef ", at) - at);
    HydraMain main{argument_of(call, "config_path"), argument_of(call, "config_name")};
    if (main.path == ".") main.path.clear();
    if (main.name.empty()) main.name = "config";
    return main;
}

Result<std::vector<Flag>> hydra_flags(const HydraMain& main, const ReadConfiguration& read) {
    const auto primary = parsed(main.file(), read);
    if (!primary) return primary.error();
    std::vector<Flag> flags;
    add_scalars(*primary, "", flags);  // they go before those of groups, whose values they replace
    if (const Node* defaults = study::find(*primary, "defaults"))
        for (const Node& item : defaults->items)
            for (const Entry& group : item.entries) {
                const std::string& chosen = group.value.text;
                const bool plain = is_name(group.key) && group.value.kind == Node::Kind::scalar && is_name(chosen);
                if (!plain) continue;  // "override hydra/launcher: joblib", "optional model: null"
                const auto values = parsed(main.file_of(group.key + '/' + chosen), read);
                if (values) add_scalars(*values, group.key + '.', flags);
            }
    return flags;
}

}  // namespace hpo::init
