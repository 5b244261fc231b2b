#include "orchestrator/study/document.hpp"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "orchestrator/study/utf8.hpp"

namespace hpo::study {

namespace {

/// An exception that ends parsing; thrown through yaml-cpp and caught in parse_yaml().
struct Refused {
    Location location;
    std::string message;
    std::optional<Location> first;  ///< of two equal keys
};

constexpr std::string_view list_as_key = "a key must be a word, not a list or a map";

constexpr std::string_view core_tag = "tag:yaml.org,2002:";

/// Returns true for the tags of YAML's core schema (!!str, !!int, ...). Other tags would create objects in the program
/// that reads the file.
bool is_core(std::string_view tag) {
    if (!tag.starts_with(core_tag)) return false;
    tag.remove_prefix(core_tag.size());
    for (const std::string_view kind : {"str", "int", "float", "bool", "null", "seq", "map"})
        if (tag == kind) return true;
    return false;
}

/// Builds the tree from yaml-cpp's events. Refuses documents that are too deep or too large, and YAML features that
/// studies do not need.
class Builder final : public YAML::EventHandler {
   public:
    Builder(std::string_view text, int source, Tags tags) : text_(text), source_(source), tags_(tags) {}

    Node root;

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (++documents_ > 1) throw Refused{location(mark), "a second document; a study file has only one", {}};
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(leaf(mark, anchor, Node::Kind::null)); }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        throw Refused{location(mark), "aliases (*name) are not used in study files; write the value out", {}};
    }
    void OnAnchor(const YAML::Mark& mark, const std::string&) override {
        throw Refused{location(mark), "anchors (&name) are not used in study files; write the value out", {}};
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        Node node = leaf(mark, anchor, Node::Kind::scalar);
        refuse_tag(mark, tag);
        // The tag decides the type, not the quotes: !!float 1e-4, !!int "5", !!str 5.
        node.plain = tag == "?" || (tag.starts_with(core_tag) && tag != std::string(core_tag) + "str");
        node.text = value;
        node.location.length = node.plain ? static_cast<int>(value.size()) : quoted_length(mark);
        for (std::string_view rest = value; !rest.empty();) {
            const std::size_t length = code_point_length(rest);
            if (length == 0 || is_control(rest.substr(0, length)))
                throw Refused{node.location, "a control character or broken UTF-8 in a value", {}};
            rest.remove_prefix(length);
        }
        add(std::move(node));
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, Node::Kind::list);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, Node::Kind::map);
    }
    void OnMapEnd() override { close(); }

    [[nodiscard]] Location location(const YAML::Mark& mark) const {
        if (mark.is_null()) return {source_, 0, 1, 1};
        return {source_, mark.line + 1, mark.column + 1, 1};
    }

   private:
    /// A list or map under construction. `key` is a key whose value has not been read yet.
    struct Level {
        Node node;
        std::optional<Entry> key;
    };

    /// Returns the length of the quoted text at `mark`. Refuses a text that is not closed, which yaml-cpp accepts at
    /// the end of the file.
    int quoted_length(const YAML::Mark& mark) const {
        const auto start = static_cast<std::size_t>(std::max(mark.pos, 0));
        if (start >= text_.size() || (text_[start] != '"' && text_[start] != '\'')) return 1;  // a block scalar
        const char quote = text_[start];
        for (std::size_t i = start + 1; i < text_.size(); ++i) {
            if (text_[i] == '\\' && quote == '"') {
                ++i;
            } else if (text_[i] == quote) {
                if (quote == '"' || i + 1 == text_.size() || text_[i + 1] != quote)
                    return static_cast<int>(i - start + 1);
                ++i;
            }
        }
        throw Refused{location(mark), "a quoted text that is not closed", {}};
    }

    Node leaf(const YAML::Mark& mark, YAML::anchor_t anchor, Node::Kind kind) {
        if (anchor != 0) OnAnchor(mark, {});
        if (++nodes_ > max_nodes)
            throw Refused{location(mark), "more than " + std::to_string(max_nodes) + " values", {}};
        Node node;
        node.kind = kind;
        node.location = location(mark);
        return node;
    }

    void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
        if (tag != "?" && tag != "!" && !tag.empty() && !(tags_ == Tags::core && is_core(tag)))
            throw Refused{location(mark), "tags (!name) are not used in study files", {}};
    }

    void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node::Kind kind) {
        refuse_tag(mark, tag);
        if (stack_.size() == max_depth)
            throw Refused{location(mark), "nested more than " + std::to_string(max_depth) + " deep", {}};
        if (!stack_.empty() && stack_.back().node.kind == Node::Kind::map && !stack_.back().key)
            throw Refused{location(mark), std::string(list_as_key), {}};
        stack_.push_back({leaf(mark, anchor, kind), {}});
    }

    void close() {
        Node node = std::move(stack_.back().node);
        stack_.pop_back();
        add(std::move(node));
    }

    void add(Node node) {
        if (stack_.empty()) {
            root = std::move(node);
            return;
        }
        Level& level = stack_.back();
        if (level.node.kind == Node::Kind::list) {
            level.node.items.push_back(std::move(node));
        } else if (level.key) {
            // yaml-cpp locates a missing value at the next token. Its key is the better location.
            if (node.kind == Node::Kind::null) node.location = level.key->location;
            level.key->value = std::move(node);
            level.node.entries.push_back(std::move(*level.key));
            level.key.reset();
        } else {
            if (node.kind != Node::Kind::scalar || node.text.empty())
                throw Refused{node.location, "a key without a name", {}};
            for (const Entry& entry : level.node.entries)
                if (entry.key == node.text)
                    throw Refused{node.location, "the key '" + printable(node.text) + "' appears twice",
                                  entry.location};
            level.key = Entry{std::move(node.text), node.location, {}};
        }
    }

    std::string_view text_;
    int source_;
    Tags tags_;
    int documents_ = 0;
    std::size_t nodes_ = 0;
    std::vector<Level> stack_;
};

/// Maps yaml-cpp's messages to messages with a cure.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> cures{{
    {"illegal map value", "a ':' where no key may stand: check the indentation, or quote a value that holds ': '"},
    {"end of map not found", "this line does not belong to the map above: check its indentation"},
    {"end of map flow not found", "a '}' or ',' is missing in a {...}"},
    {"end of sequence flow not found", "a ']' or ',' is missing in a [...]"},
    {"end of sequence not found", "this line does not belong to the list above: check its indentation"},
    {"the referenced anchor is not defined", "aliases (*name) are not used in study files; write the value out"},
    {"illegal flow end", "this bracket matches no open one"},
    {"illegal EOF in scalar", "a quoted text is not closed"},
    {"illegal document indicator in scalar", "a quoted text is not closed"},
    {"illegal tab when looking for indentation", "a tab in the indentation: use spaces"},
    {"bad file", "the file cannot be read"},
}};

std::string explain(const std::string& message) {
    for (const auto& [original, explanation] : cures)
        if (message == original) return std::string(explanation);
    return "not YAML: " + printable(message, 200);
}

/// Returns an error at the innermost bracket that is still open at the end of the text. yaml-cpp reports it far from
/// the bracket, or as another error.
std::optional<Refused> unclosed_bracket(std::string_view text, int source) {
    std::vector<Location> open;
    Location at{source, 1, 1, 1};
    char quote = 0;
    bool comment = false;
    char last = '\n';
    std::vector<char> kinds;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool starts = std::string_view(" \n\r\t[{,:").find(last) != std::string_view::npos;
        if (comment) {
            comment = c != '\n';
        } else if (quote != 0) {
            if (c == '\\' && quote == '"' && i + 1 < text.size() && text[i + 1] != '\n')
                ++i, ++at.column;
            else if (c == quote)
                quote = 0;
        } else if ((c == '"' || c == '\'') && starts) {
            quote = c;
        } else if (c == '#' && starts) {
            comment = true;
        } else if (c == '[' || c == '{') {
            open.push_back(at);
            kinds.push_back(c);
        } else if (c == ']' || c == '}') {
            if (open.empty() || kinds.back() != (c == ']' ? '[' : '{')) return {};
            open.pop_back();
            kinds.pop_back();
        }
        last = c;
        ++at.column;
        if (c == '\n') ++at.line, at.column = 1;
    }
    if (open.empty()) return {};
    return Refused{open.back(), std::string("this '") + kinds.back() + "' is not closed", {}};
}

/// Suggests a space for `key:value` on the error's line or the line above. YAML reads it as a single text, so that the
/// error only appears later.
std::string missing_space(std::string_view text, Location location, std::string_view message) {
    if (message != "illegal map value") return {};
    for (int line = 1; line <= location.line && !text.empty(); ++line) {
        const auto end = text.find('\n');
        const std::string_view content = text.substr(0, end);
        const auto start = content.find_first_not_of(" -");
        const auto colon = content.find(':');
        const bool lacks_space = start != std::string_view::npos && colon != std::string_view::npos && start < colon &&
                                 colon + 1 < content.size() && content[colon + 1] != ' ' &&
                                 content[colon + 1] != '\r' &&
                                 content.substr(start, colon - start).find_first_of(" #\"'") == std::string_view::npos;
        if (lacks_space && line + 1 >= location.line)
            return "; is a space missing after '" + printable(content.substr(start, colon - start)) + ":' in line " +
                   std::to_string(line) + "?";
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return {};
}

/// Returns an error at the first byte that a study file must not contain. Runs before yaml-cpp reads the text.
std::optional<Refused> refused_bytes(std::string_view text, int source) {
    if (text.size() > max_bytes) return Refused{{source, 0, 1, 1}, "larger than 256 KiB: this is not a study file", {}};
    Location at{source, 1, 1, 1};
    bool indentation = true;
    while (!text.empty()) {
        const std::size_t length = code_point_length(text);
        if (length == 0) return Refused{at, "not UTF-8", {}};
        if (is_control(text.substr(0, length))) return Refused{at, "a control character", {}};
        if (text[0] == '\r' && !text.starts_with("\r\n")) return Refused{at, "a carriage return within a line", {}};
        if (text[0] == '\t' && indentation) return Refused{at, "a tab in the indentation: use spaces", {}};
        indentation = text[0] == '\n' || (indentation && text[0] == ' ');
        at.column += static_cast<int>(length);
        if (text[0] == '\n') ++at.line, at.column = 1;
        text.remove_prefix(length);
    }
    return {};
}

}  // namespace

std::optional<Node> parse_yaml(std::string_view text, int source, Diagnostics& diagnostics, Tags tags) {
    Builder builder(text, source, tags);
    try {
        if (auto refused = refused_bytes(text, source)) throw Refused(std::move(*refused));
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(builder)) {
        }
        return std::move(builder.root);
    } catch (const Refused& refused) {
        if (const auto bracket = refused.message == list_as_key ? unclosed_bracket(text, source) : std::nullopt) {
            diagnostics.error(bracket->location, bracket->message);
            return {};
        }
        diagnostics.error(refused.location, refused.message);
        if (refused.first) diagnostics.note(*refused.first, "it appears here first");
    } catch (const YAML::DeepRecursion& error) {
        diagnostics.error(builder.location(error.mark), "nested more than " + std::to_string(max_depth) + " deep");
    } catch (const YAML::Exception& error) {
        const Location location = builder.location(error.mark);
        if (const auto bracket = unclosed_bracket(text, source))
            diagnostics.error(bracket->location, bracket->message);
        else
            diagnostics.error(location, explain(error.msg) + missing_space(text, location, error.msg));
    } catch (const std::exception& error) {
        // yaml-cpp lets some exceptions of the standard library pass, for instance for numbers in directives.
        diagnostics.error({source, 0, 1, 1}, explain(error.what()));
    }
    return {};
}

std::string problem_of_yaml(const std::string& text) {
    try {
        (void)YAML::LoadAll(text);
    } catch (const YAML::Exception& error) {
        return "line " + std::to_string(error.mark.line + 1) + ", column " + std::to_string(error.mark.column + 1) +
               ": " + error.msg;
    }
    return {};
}

const Node* find(const Node& map, std::string_view key) {
    for (const Entry& entry : map.entries)
        if (entry.key == key) return &entry.value;
    return nullptr;
}

}  // namespace hpo::study
