#include "orchestrator/study/overrides.hpp"

#include <algorithm>

namespace hpo::study {

void apply_override(Diagnostics& diagnostics, Node& root, const std::string& assignment) {
    const int source = diagnostics.add_option("--set " + assignment);
    const Location location{source, 0, 1, 1};
    const auto equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
        return diagnostics.error(location, "expected key=value, such as budget.trials=8");
    auto value = parse_yaml(std::string_view(assignment).substr(equals + 1), source, diagnostics);
    if (!value) return;
    if (equals + 1 == assignment.size())
        return diagnostics.error(location, "expected a value after '='; key=null removes a key");

    std::string_view path = std::string_view(assignment).substr(0, equals);
    if (static_cast<std::size_t>(std::count(path.begin(), path.end(), '.')) >= max_depth)
        return diagnostics.error(location, "nested more than " + std::to_string(max_depth) + " deep");
    Node* map = &root;
    std::string walked;
    while (true) {
        const auto dot = path.find('.');
        const std::string key(path.substr(0, dot));
        if (key.empty()) return diagnostics.error(location, "a key without a name in '" + printable(path) + "'");
        if (map->kind == Node::Kind::null) {
            map->kind = Node::Kind::map;
            map->location = location;
        }
        if (map->kind != Node::Kind::map)
            return diagnostics.error(location, "'" + printable(walked) + "' is not a map; set it as a whole: '" +
                                                   printable(walked) + "=[...]'");
        const auto found = std::find_if(map->entries.begin(), map->entries.end(),
                                        [&](const Entry& entry) { return entry.key == key; });
        if (dot == std::string_view::npos) {
            if (value->kind == Node::Kind::null) {
                if (found != map->entries.end()) map->entries.erase(found);
            } else if (found != map->entries.end()) {
                found->location = location;
                found->value = std::move(*value);
            } else {
                map->entries.push_back({key, location, std::move(*value)});
            }
            return;
        }
        Entry* next = nullptr;
        if (found != map->entries.end()) {
            next = &*found;
        } else {
            map->entries.push_back({key, location, Node{}});
            next = &map->entries.back();
            next->value.location = location;
        }
        map = &next->value;
        walked += (walked.empty() ? "" : ".") + key;
        path.remove_prefix(dot + 1);
    }
}

}  // namespace hpo::study
