// Converts the collectors of metrics of Katib. Katib takes the names and the numbers of metrics from lines of text by
// regular expressions with two groups, from the output of a container or from a file into which it writes.
#include <algorithm>
#include <vector>

#include "orchestrator/import/distributions.hpp"
#include "orchestrator/import/katib.hpp"
#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/study/fields.hpp"

namespace hpo::importing {

namespace {

using std::string;
using std::string_view;
using study::find;
using study::Node;
using study::printable;

/// The format of Katib if an experiment names none, with our number: name=0.123.
constexpr string_view default_format = R"(([\w|-]+)\s*=\s*([+-]?\d*(\.\d+)?([Ee][+-]?\d+)?))";

struct Span {
    std::size_t first = 0, last = 0;  ///< of a group's brackets
};

/// Returns the groups of a regular expression that capture, in the order of their opening brackets.
std::vector<Span> capturing_groups(string_view pattern) {
    std::vector<Span> groups;
    std::vector<std::optional<std::size_t>> open;
    bool in_class = false;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        const char c = pattern[at];
        if (c == '\\') {
            ++at;
        } else if (in_class) {
            in_class = c != ']';
        } else if (c == '[') {
            in_class = true;
        } else if (c == '(') {
            const string_view rest = pattern.substr(at);
            const bool captures = !rest.starts_with("(?") || rest.starts_with("(?P<");
            open.push_back(captures ? std::optional(groups.size()) : std::nullopt);
            if (captures) groups.push_back({at, pattern.size()});
        } else if (c == ')' && !open.empty()) {
            if (open.back()) groups[*open.back()].last = at;
            open.pop_back();
        }
    }
    return groups;
}

/// Returns the text as a regular expression that matches it alone.
string escaped_text(string_view text) {
    string out;
    for (const char c : text) {
        if (string_view(R"(\^$.|?*+()[]{}/)").find(c) != string_view::npos && c != '/') out += '\\';
        out += c;
    }
    return out;
}

/// Escapes braces that do not count repetitions, which have no meaning for Katib's expressions.
string with_escaped_braces(string_view pattern) {
    string out;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        const string_view rest = pattern.substr(at);
        if (rest.starts_with('\\') && rest.size() > 1) {
            out += rest.substr(0, 2);
            ++at;
            continue;
        }
        const auto end = rest.find('}');
        const bool counts = rest.starts_with('{') && end != string_view::npos && end > 1 &&
                            rest.substr(1, end - 1).find_first_not_of("0123456789,") == string_view::npos;
        if (counts) {
            out += rest.substr(0, end + 1);
            at += end;
        } else {
            if (rest[0] == '{' || rest[0] == '}') out += '\\';
            out += rest[0];
        }
    }
    return out;
}

/// Returns the pattern that reads one metric by a format of Katib, whose first group is the name and whose second one
/// is the number; nothing if it has no two groups.
std::optional<string> pattern_of(string_view format, string_view metric) {
    const auto groups = capturing_groups(format);
    if (groups.size() < 2 || groups[1].first < groups[0].last || groups[1].last >= format.size()) return {};
    const auto text = [&](std::size_t from, std::size_t to) {
        return with_escaped_braces(format.substr(from, to - from));
    };
    return text(0, groups[0].first) + R"((?<![\w|-]))" + escaped_text(metric) +
           text(groups[0].last + 1, groups[1].first) + "(?<" + metric_name_of(metric) + ">{number})" +
           text(groups[1].last + 1, format.size());
}

class KatibMetrics {
   public:
    KatibMetrics(const Reading& reading, const std::vector<string>& metrics)
        : reading_(reading), builder_(reading.builder), metrics_(metrics) {}

    void read(const Node& spec) {
        const Node* node = find(spec, "metricsCollectorSpec");
        const Node* source = node == nullptr ? nullptr : find(*node, "source");
        const Node* collector = node == nullptr ? nullptr : find(*node, "collector");
        const string kind = collector == nullptr ? "" : text_of(find(*collector, "kind"));
        if (kind == "File" && !file(*collector, source)) return;
        if (!kind.empty() && kind != "StdOut" && kind != "File") return refuse(*collector, kind);
        const Node* filter = source == nullptr ? nullptr : find(*source, "filter");
        const Node* formats = filter == nullptr ? nullptr : find(*filter, "metricsFormat");
        if (is_json_)
            add_json();
        else if (formats == nullptr || formats->items.empty())
            add(default_format);
        else
            add_formats(*formats);
    }

   private:
    void add_formats(const Node& formats) {
        for (const Node& item : formats.items)
            if (!add(item.text))
                builder_.remark("worker", item.location,
                                "this metricsFormat is left out: it must be an expression with two groups, the name "
                                "and the number");
        if (builder_.script().metrics->patterns.empty())
            reading_.error(formats.location,
                           "no metricsFormat can be used: an expression with two groups, the name "
                           "and the number, is needed");
    }

    void refuse(const Node& collector, const string& kind) {
        const string how = kind == "TensorFlowEvent" ? "hpo does not read event files of TensorFlow"
                           : kind == "Custom"        ? "the image of a custom collector does not run here"
                           : kind == "None" || kind == "Push"
                               ? "the script sends its metrics to Katib itself, which does not run here"
                               : "hpo has no such collector";
        reading_.error(collector.location, "collector '" + printable(kind) + "': " + how + "; let the script print " +
                                               metrics_.front() + "=0.123 at each step, and write kind: StdOut");
    }

    /// Sends the metrics of a script that takes the name of its metrics file as an argument to its output instead.
    bool file(const Node& collector, const Node* source) {
        const Node* system = source == nullptr ? nullptr : find(*source, "fileSystemPath");
        const string path = system == nullptr ? "" : text_of(find(*system, "path"));
        is_json_ = system != nullptr && text_of(find(*system, "format")) == "JSON";
        bool is_argument = false;
        const auto replace = [&](string& text) {
            for (auto at = path.empty() ? string::npos : text.find(path); at != string::npos;
                 at = text.find(path, at)) {
                text.replace(at, path.size(), "/dev/stdout");
                is_argument = true;
            }
        };
        for (string& argument : builder_.script().command) replace(argument);
        for (auto& [name, value] : builder_.script().environment.own)
            if (value) replace(*value);
        if (is_argument) {
            builder_.remark("worker", collector.location,
                            "the metrics that the script writes into " + path +
                                " are read from its output instead, to which it writes them by way of /dev/stdout");
            return true;
        }
        reading_.error(collector.location, "the script writes its metrics into " +
                                               (path.empty() ? string("a file") : printable(path)) +
                                               ", which no argument names: let it print " + metrics_.front() +
                                               "=0.123 at each step, and write kind: StdOut");
        return false;
    }

    /// Adds patterns for all metrics. Returns false if the format is none for the objective.
    bool add(string_view format) {
        bool is_first = true;
        for (const string& metric : metrics_) {
            const auto pattern = pattern_of(format, metric);
            const bool is_valid = pattern && script::problem_of_pattern(*pattern).empty();
            if (is_valid) builder_.script().metrics->patterns.push_back(*pattern);
            if (is_first && !is_valid) return false;
            is_first = false;
        }
        return true;
    }

    void add_json() {
        for (const string& metric : metrics_)
            builder_.script().metrics->patterns.push_back("\"" + escaped_text(metric) + R"("\s*:\s*"?(?<)" +
                                                          metric_name_of(metric) + ">{number})");
    }

    const Reading& reading_;
    StudyBuilder& builder_;
    const std::vector<string>& metrics_;
    bool is_json_ = false;
};

}  // namespace

void read_katib_metrics(const Reading& reading, const Node& spec, const std::vector<string>& metrics) {
    if (!metrics.empty()) KatibMetrics(reading, metrics).read(spec);
}

}  // namespace hpo::importing
