#include "orchestrator/script/metrics.hpp"

#include <algorithm>
#include <boost/regex.hpp>
#include <charconv>
#include <nlohmann/json.hpp>

namespace hpo::script {

namespace {

using std::string;
using std::string_view;

constexpr std::size_t most_name_bytes = 64;
constexpr std::size_t most_pattern_bytes = 1000;
constexpr std::size_t most_columns = 4096;
constexpr string_view tune_metric = "[tune-metric]:";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_byte(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '/'; }

bool is_name(string_view name) {
    return !name.empty() && name.size() <= most_name_bytes && is_letter(name.front()) &&
           std::all_of(name.begin(), name.end(), is_name_byte);
}

string_view trim(string_view text) {
    const auto outer = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '"'; };
    while (!text.empty() && outer(text.front())) text.remove_prefix(1);
    while (!text.empty() && outer(text.back())) text.remove_suffix(1);
    return text;
}

/// The number that `text` begins with, and how many bytes it takes; nothing if a word goes on after it: 3s, 0x10.
std::optional<std::pair<double, std::size_t>> leading_number(string_view text) {
    const std::size_t sign = text.starts_with('+') ? 1 : 0;
    double number = 0;
    const auto [end, status] = std::from_chars(text.data() + sign, text.data() + text.size(), number);
    if (status != std::errc()) return {};
    const auto size = static_cast<std::size_t>(end - text.data());
    if (size < text.size() && (is_letter(text[size]) || is_digit(text[size]))) return {};
    return std::pair{number, size};
}

void add(Metrics& metrics, string_view name, double number) {
    if (!is_name(name)) return;
    const auto found = metrics.find(string(name));
    if (found != metrics.end())
        found->second = number;
    else if (metrics.size() < most_metrics)
        metrics.emplace(name, number);
}

void add_text(Metrics& metrics, string_view name, string_view text) {
    text = trim(text);
    if (const auto number = leading_number(text); number && number->second == text.size())
        add(metrics, trim(name), number->first);
}

/// Numbers of one object; flags, lists and other texts are no metrics.
void add_json(string_view text, Metrics& metrics) {
    auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded()) {
        // Python writes numbers that are not finite as bare words, which JSON does not know.
        string quoted(text);
        for (const string_view word : {"-Infinity", "Infinity", "NaN"})
            for (auto at = quoted.find(word); at != string::npos; at = quoted.find(word, at + word.size() + 2)) {
                if (at > 0 && (quoted[at - 1] == '-' || quoted[at - 1] == '"')) continue;
                quoted.insert(at + word.size(), 1, '"').insert(at, 1, '"');
            }
        json = nlohmann::json::parse(quoted, nullptr, false);
    }
    if (!json.is_object()) return;
    for (const auto& [name, value] : json.items()) {
        if (value.is_number()) add(metrics, name, value.get<double>());
        if (value.is_string()) add_text(metrics, name, value.get_ref<const string&>());
    }
}

class PlainReader final : public LineReader {
   public:
    void read(string_view line, Metrics& metrics) override {
        if (const auto at = line.find(tune_metric); at != string_view::npos)
            return add_json(line.substr(at + tune_metric.size()), metrics);
        for (auto sign = line.find('='); sign != string_view::npos; sign = line.find('=', sign + 1)) {
            std::size_t end = sign;
            while (end > 0 && line[end - 1] == ' ') --end;
            std::size_t begin = end;
            while (begin > 0 && is_name_byte(line[begin - 1])) --begin;
            string_view value = line.substr(sign + 1);
            while (value.starts_with(' ')) value.remove_prefix(1);
            if (const auto number = leading_number(value)) add(metrics, line.substr(begin, end - begin), number->first);
        }
    }
};

class PatternReader final : public LineReader {
   public:
    /// Throws boost::regex_error.
    explicit PatternReader(const std::vector<string>& patterns) {
        for (const string& pattern : patterns) {
            Pattern& made = patterns_.emplace_back();
            string perl;
            for (std::size_t at = 0; at < pattern.size(); ++at) {
                const auto rest = string_view(pattern).substr(at);
                if (rest.starts_with('\\') && rest.size() > 1) {
                    perl += rest.substr(0, 2);
                    ++at;
                    continue;
                }
                const std::size_t skip = rest.starts_with("(?P<") ? 4 : rest.starts_with("(?<") ? 3 : 0;
                if (skip != 0 && rest.size() > skip && is_letter(rest[skip])) {
                    made.names.emplace_back(rest.substr(skip, rest.find('>') - skip));
                    perl += "(?<";
                    at += skip - 1;
                    continue;
                }
                perl += rest.front();
            }
            made.expression = boost::regex(perl, boost::regex::perl);
            if (made.names.empty() && made.expression.mark_count() < 2)
                throw std::invalid_argument(
                    "needs a group with the metric's name, such as loss: (?<loss>[0-9.]+), or two groups: the name and "
                    "the number");
        }
    }

    void read(string_view line, Metrics& metrics) override {
        using Match = boost::match_results<string_view::const_iterator>;
        for (const Pattern& pattern : patterns_) {
            try {
                boost::regex_iterator<string_view::const_iterator> found(line.begin(), line.end(), pattern.expression);
                for (const decltype(found) none; found != none; ++found) {
                    const Match& match = *found;
                    if (pattern.names.empty()) add_text(metrics, match[1].str(), match[2].str());
                    for (const string& name : pattern.names)
                        if (match[name].matched) add_text(metrics, name, match[name].str());
                }
            } catch (const std::runtime_error&) {
                // The pattern is too costly for this line (Boost counts its steps): the line has no metric.
            }
        }
    }

   private:
    struct Pattern {
        boost::regex expression;
        std::vector<string> names;
    };
    std::vector<Pattern> patterns_;
};

class FileReader final : public LineReader {
   public:
    void read(string_view line, Metrics& metrics) override {
        if (line.starts_with('{')) return add_json(line, metrics);
        const bool header = columns_.empty();
        for (std::size_t column = 0; column < most_columns; ++column) {
            const auto comma = line.find(',');
            const string_view cell = line.substr(0, comma);
            if (header)
                columns_.emplace_back(trim(cell));
            else if (column < columns_.size())
                add_text(metrics, columns_[column], cell);
            if (comma == string_view::npos) break;
            line.remove_prefix(comma + 1);
        }
    }

   private:
    std::vector<string> columns_;
};

}  // namespace

string problem_of_pattern(const string& pattern) {
    if (pattern.size() > most_pattern_bytes) return "is longer than 1000 bytes";
    try {
        PatternReader reader({pattern});
        return {};
    } catch (const boost::regex_error& error) {
        return "is no regular expression (error at its byte " + std::to_string(error.position() + 1) + ")";
    } catch (const std::exception& error) {
        return error.what();
    }
}

Result<std::unique_ptr<LineReader>> make_output_reader(const std::vector<string>& patterns) {
    if (patterns.empty()) return std::unique_ptr<LineReader>(std::make_unique<PlainReader>());
    for (const string& pattern : patterns)
        if (const string problem = problem_of_pattern(pattern); !problem.empty())
            return Error{"the pattern '" + pattern + "' " + problem};
    return std::unique_ptr<LineReader>(std::make_unique<PatternReader>(patterns));
}

std::unique_ptr<LineReader> make_file_reader() { return std::make_unique<FileReader>(); }

void StepReader::feed(string_view bytes) {
    lines_.feed(bytes, [this](string_view text) { line(text); });
}

void StepReader::finish() {
    if (!lines_.rest().empty()) feed("\n");
}

void StepReader::line(string_view text) {
    // A bar of progress returns to the line's begin: each of its states is a line.
    while (!text.empty()) {
        const auto end = text.find('\r');
        Metrics found;
        reader_->read(text.substr(0, end), found);
        for (const auto& [name, number] : found)
            if (name == objective_)
                open_[name] = number;
            else
                add(open_, name, number);
        if (found.contains(objective_)) steps_.push_back(std::exchange(open_, {}));
        if (end == string_view::npos) return;
        text.remove_prefix(end + 1);
    }
}

std::optional<Metrics> StepReader::take() {
    if (steps_.empty()) return {};
    Metrics first = std::move(steps_.front());
    steps_.pop_front();
    return first;
}

string StepReader::seen() const {
    string names;
    for (const auto& [name, number] : open_) names += (names.empty() ? "" : ", ") + name;
    return names;
}

}  // namespace hpo::script
