#include "orchestrator/script/syntax/metrics.hpp"

#include <nlohmann/json.hpp>

#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

namespace {

constexpr std::size_t max_columns = 4096;
constexpr string_view tune_metric = "[tune-metric]:";

/// Adds the numbers of a JSON object, also those in quotes. Flags, lists and other texts are not metrics. Returns false
/// if the text is not an object.
bool add_json(string_view text, Metrics& metrics) {
    auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded()) {
        // Python writes numbers that are not finite as NaN and Infinity, which JSON does not have.
        string quoted(text);
        for (const string_view word : {"-Infinity", "Infinity", "NaN"})
            for (auto at = quoted.find(word); at != string::npos; at = quoted.find(word, at + word.size() + 2)) {
                if (at > 0 && (quoted[at - 1] == '-' || quoted[at - 1] == '"')) continue;
                quoted.insert(at + word.size(), 1, '"').insert(at, 1, '"');
            }
        json = nlohmann::json::parse(quoted, nullptr, false);
    }
    if (!json.is_object()) return false;
    for (const auto& [name, value] : json.items()) {
        if (value.is_number()) add(metrics, name, value.get<double>());
        if (value.is_string()) add_text(metrics, name, value.get_ref<const string&>());
    }
    return true;
}

/// Returns the position at which the name begins that ends at `end`.
std::size_t begin_of_name(string_view line, std::size_t end) {
    while (end > 0 && is_name_byte(line[end - 1])) --end;
    return end;
}

/// Reads name=0.3 and name = 0.3.
void add_assigned(string_view line, std::size_t sign, Metrics& metrics) {
    std::size_t end = sign;
    while (end > 0 && line[end - 1] == ' ') --end;
    const std::size_t begin = begin_of_name(line, end);
    string_view value = line.substr(sign + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    if (const auto number = leading_number(value)) add(metrics, line.substr(begin, end - begin), number->first);
}

/// Reads name: 0.3, 'name': 0.3 and name:0.3 (but not cuda:0). Words before a plain name are a part of it: in "val
/// loss: 0.3" the name is val_loss, not loss.
void add_after_colon(string_view line, std::size_t colon, Metrics& metrics) {
    string_view value = line.substr(colon + 1);
    const bool apart = value.starts_with(' ') || value.starts_with('\t');
    while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
    const auto number = leading_number(value);
    if (!number) return;
    if (!apart && value.substr(0, number->second).find_first_not_of("+-0123456789") == string_view::npos) return;
    const bool quoted = colon > 0 && (line[colon - 1] == '\'' || line[colon - 1] == '"');
    const std::size_t end = quoted ? colon - 1 : colon;
    std::size_t begin = begin_of_name(line, end);
    string name(line.substr(begin, end - begin));
    const bool plain = !quoted && name.find_first_of("_/.-") == string::npos;
    while (plain && begin > 1 && line[begin - 1] == ' ' && name.size() <= max_name_bytes) {
        const std::size_t before = begin_of_name(line, begin - 1);
        const string_view word = line.substr(before, begin - 1 - before);
        if (!is_name(word)) break;
        name.insert(0, string(word) + '_');
        begin = before;
    }
    add(metrics, name, number->first);
}

/// Reads lines such as "epoch 3 loss 0.5": names of up to three words, each followed by a number, and nothing else.
void add_pairs(string_view line, Metrics& metrics) {
    constexpr string_view separators = " \t\r,;|()[]:";
    constexpr std::size_t max_words = 3;
    Metrics found;
    string name;
    std::size_t words = 0;
    while (!line.empty()) {
        const char first = line.front();
        if (separators.find(first) != string_view::npos) {
            line.remove_prefix(1);
            if (words == 0 || first == ' ' || first == '\t' || first == '\r') continue;
            if (first != ':') return;  // words without a number
            name.clear(), words = 0;   // a label: "test set: loss 0.5"
            continue;
        }
        const auto end = line.find_first_of(" \t\r,;|()[]");
        string_view token = line.substr(0, end);
        line.remove_prefix(token.size());
        const bool label = token.size() > 1 && token.ends_with(':');
        if (label) token.remove_suffix(1);
        const auto number = leading_number(token);
        if (number && words > 0 && (number->second == token.size() || token.substr(number->second) == "%")) {
            add(found, name, number->first);
            name.clear(), words = 0;
        } else if (is_name(token)) {
            if (++words > max_words) return;
            name += (words > 1 ? "_" : "") + string(token);
            if (label) name.clear(), words = 0;
        } else if (is_digit(token.front()) || (token.size() > 1 && is_digit(token[1]))) {
            name.clear(), words = 0;  // not a metric's value: 3/10, 12ms, #5, 2024-05-01
        } else if (words > 0) {
            return;
        }
    }
    if (words > 0) return;
    for (const auto& [known, value] : found) add(metrics, known, value);
}

class PlainReader final : public LineReader {
   public:
    void read(string_view line, Metrics& metrics) override {
        if (const auto at = line.find(tune_metric); at != string_view::npos) {
            add_json(line.substr(at + tune_metric.size()), metrics);
            return;
        }
        if (trim(line).starts_with('{') && add_json(line, metrics)) return;
        const std::size_t before = metrics.size();
        for (auto at = line.find_first_of("=:"); at != string_view::npos; at = line.find_first_of("=:", at + 1))
            line[at] == '=' ? add_assigned(line, at, metrics) : add_after_colon(line, at, metrics);
        if (metrics.size() == before) add_pairs(line, metrics);
    }
};

class FileReader final : public LineReader {
   public:
    void read(string_view line, Metrics& metrics) override {
        if (line.starts_with('{')) {
            add_json(line, metrics);
            return;
        }
        const bool header = columns_.empty();
        for (std::size_t column = 0; column < max_columns; ++column) {
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

Result<std::unique_ptr<LineReader>> make_output_reader(const std::vector<string>& patterns) {
    if (patterns.empty()) return std::unique_ptr<LineReader>(std::make_unique<PlainReader>());
    return make_pattern_reader(patterns);
}

std::unique_ptr<LineReader> make_file_reader() { return std::make_unique<FileReader>(); }

void StepReader::feed(string_view bytes, std::size_t stream) {
    lines_.at(stream).feed(bytes, [this](string_view text) { line(text); });
}

void StepReader::finish() {
    for (std::size_t stream = 0; stream < streams; ++stream)
        if (!lines_[stream].rest().empty()) feed("\n", stream);
    if (reported_ > 0 && !stepped_) steps_.push_back(std::exchange(open_, {}));
}

void StepReader::line(string_view text) {
    // A progress bar returns to the beginning of its line. Each of its states is read as a line.
    while (!text.empty()) {
        const auto end = text.find('\r');
        Metrics found;
        reader_->read(text.substr(0, end), found);
        for (const auto& [name, number] : found)
            if (name == objective_)
                open_[name] = number;
            else
                add(open_, name, number);
        if (!found.contains(objective_)) {
            if (reported_ == 0 && !stepped_) consider(text.substr(0, end));
        } else if (++reported_ == reports_) {
            steps_.push_back(std::exchange(open_, {}));
            reported_ = 0;
            stepped_ = true;
        }
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

/// Keeps the line as nearest() if it resembles a report of the objective more than earlier lines do. Parts of the
/// objective's name and a number count.
void StepReader::consider(string_view text) {
    const auto letters = [](string_view from) {
        string lower;
        for (const char c : from)
            if (is_letter(c) && c != '_') lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
        return lower;
    };
    const string line = letters(text);
    int likeness = text.find_first_of("0123456789") != string_view::npos ? 1 : 0;
    for (string_view rest = objective_; !rest.empty();) {
        const auto end = rest.find_first_of("_/.-");
        const string part = letters(rest.substr(0, end));
        if (part.size() > 1 && line.find(part) != string::npos) likeness += 2;
        rest.remove_prefix(end == string_view::npos ? rest.size() : end + 1);
    }
    if (line.find(letters(objective_)) != string::npos) likeness += 10;
    if (likeness <= likeness_) return;
    likeness_ = likeness;
    nearest_ = trim(text).substr(0, max_quoted_bytes);
}

string StepReader::seen() const {
    string names;
    for (const auto& [name, number] : open_) names += (names.empty() ? "" : ", ") + name;
    return names;
}

}  // namespace hpo::script
