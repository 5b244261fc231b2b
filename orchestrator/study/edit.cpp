#include "orchestrator/study/edit.hpp"

#include <algorithm>
#include <vector>

#include "orchestrator/study/document.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace {

using study::Entry;
using study::Location;
using study::Node;

/// The offset of a location in the text.
std::size_t offset_of(std::string_view text, const Location& location) {
    std::size_t at = 0;
    for (int line = 1; line < location.line; ++line) {
        at = text.find('\n', at);
        if (at == std::string_view::npos) return text.size();
        ++at;
    }
    return std::min(text.size(), at + static_cast<std::size_t>(location.column - 1));
}

/// Returns the end of a scalar or of a list in flow style that begins at `at`; npos if it has another form.
std::size_t end_of_value(std::string_view text, std::size_t at, const Node& node) {
    if (node.kind == Node::Kind::list) {
        if (at >= text.size() || text[at] != '[') return std::string_view::npos;
        const auto end = text.find(']', at);
        // A nested list or a quoted bracket is not edited.
        if (end == std::string_view::npos ||
            text.substr(at + 1, end - at - 1).find_first_of("[\"'#") != std::string_view::npos)
            return std::string_view::npos;
        return end + 1;
    }
    if (node.kind != Node::Kind::scalar || !node.plain) return std::string_view::npos;
    return text.substr(at, node.text.size()) == node.text ? at + node.text.size() : std::string_view::npos;
}

std::size_t line_begin(std::string_view text, std::size_t at) {
    const auto before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    return before == std::string_view::npos ? 0 : before + 1;
}

bool add_to_map(std::string& text, const Node& map, const std::string& line) {
    const std::size_t at = offset_of(text, map.location);
    if (map.kind != Node::Kind::map || map.entries.empty()) return false;
    if (at < text.size() && text[at] == '{') {  // in flow style: before its first key
        text.insert(at + 1, line + ", ");
        return true;
    }
    const std::size_t first = offset_of(text, map.entries.front().location);
    const std::size_t begin = line_begin(text, first);
    text.insert(begin, std::string(first - begin, ' ') + line + '\n');
    return true;
}

bool change(std::string& text, const Node& root, const KeyAndValue& wanted) {
    const auto& [key, value] = wanted;
    const Node* map = &root;
    std::string_view path = key;
    for (;;) {
        const auto dot = path.find('.');
        const std::string name(path.substr(0, dot));
        const Node* found = study::find(*map, name);
        if (found == nullptr) {
            std::string line = std::string(path);
            std::string closing;
            for (std::size_t at = 0; (at = line.find('.', at)) != std::string::npos; closing += '}') {
                line.replace(at, 1, ": {");
                at += 3;
            }
            line += ": " + value + closing;
            if (map != &root) return add_to_map(text, *map, line);
            if (!text.empty() && text.back() != '\n') text += '\n';
            text += line + '\n';
            return true;
        }
        if (dot == std::string_view::npos) {
            const std::size_t at = offset_of(text, found->location);
            const std::size_t end = end_of_value(text, at, *found);
            if (end == std::string_view::npos) return false;
            text.replace(at, end - at, value);
            return true;
        }
        if (found->kind == Node::Kind::null || found->kind != Node::Kind::map) return false;
        map = found;
        path.remove_prefix(dot + 1);
    }
}

}  // namespace

Result<std::string> edit_study(std::string_view before, const std::string& file_name,
                               std::span<const KeyAndValue> changes, const Vocabulary& vocabulary) {
    std::string text(before);
    std::vector<std::string> set;
    for (const KeyAndValue& wanted : changes) {
        study::Diagnostics diagnostics(file_name, text);
        const auto root = study::parse_yaml(text, 0, diagnostics);
        if (!root) return Error{diagnostics.text()};
        if (!change(text, *root, wanted))
            return Error{file_name + ": '" + study::printable(wanted.first) + "' cannot be changed in place; write " +
                         wanted.first + ": " + wanted.second};
        set.push_back(wanted.first + '=' + wanted.second);
    }
    const auto expected = parse_study(before, file_name, set, vocabulary);
    if (!expected) return expected.error();
    const auto made = parse_study(text, file_name, {}, vocabulary);
    if (!made) return made.error();
    if (write_study(*made) != write_study(*expected))
        return Error{file_name + ": the changes cannot be written in place; make them by hand"};
    return text;
}

}  // namespace hpo
