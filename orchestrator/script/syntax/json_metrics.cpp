#include "orchestrator/script/syntax/json_metrics.hpp"

#include <nlohmann/json.hpp>

#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

namespace {

constexpr std::size_t max_depth = 32;
constexpr string_view json_blanks = " \t\r\n";

/// A recursive parser of JSON and similar notations: single quotes, NaN, None, tuples, calls.
class ObjectParser {
   public:
    ObjectParser(string_view text, Reading& reading) : text_(text), reading_(reading) {}

    /// Returns the number of bytes of the object, or 0.
    std::size_t run() { return object("", 0) ? at_ : 0; }

   private:
    void skip_blanks() {
        while (at_ < text_.size() && json_blanks.find(text_[at_]) != string_view::npos) ++at_;
    }
    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(char c) {
        skip_blanks();
        if (peek() != c) return false;
        ++at_;
        return true;
    }

    bool object(const string& path, std::size_t depth) {
        if (depth > max_depth || !take('{')) return false;
        if (take('}')) return true;
        while (true) {
            skip_blanks();
            const auto key = peek() == '"' || peek() == '\'' ? quoted() : bare_word();
            if (!key || !take(':')) return false;
            if (!member(path.empty() ? *key : path + "." + *key, *key, depth + 1)) return false;
            if (take('}')) return true;
            if (!take(',')) return false;
            if (take('}')) return true;
        }
    }

    /// Reads a value, and adds it under its name if it is a number.
    bool member(const string& path, const string& key, std::size_t depth) {
        skip_blanks();
        if (peek() == '{') return object(path, depth);
        std::optional<double> number;
        const std::size_t begin = at_;
        if (!value(number, depth)) return false;
        if (!number && path == key && is_split_key(key)) {
            const string_view text = trim(text_.substr(begin, at_ - begin));
            const string_view word = text.starts_with('\'') && text.size() > 1 ? text.substr(1, text.size() - 2) : text;
            if (phase_of(word) != Phase::none) reading_.split = string(word);
        }
        if (!number) return true;
        if (is_epoch(path)) reading_.epoch = number;
        reading_.add(path, *number, key);
        return true;
    }

    /// Reads any value but an object of which numbers are wanted. `number` is set if the value stands for one.
    bool value(std::optional<double>& number, std::size_t depth) {
        skip_blanks();
        if (depth > max_depth) return false;
        const char c = peek();
        if (c == '"' || c == '\'') {
            const auto text = quoted();
            if (!text) return false;
            const string_view inner = trim(*text);
            if (const auto found = leading_number(inner); found && found->second == inner.size()) number = found->first;
            return true;
        }
        if (c == '{') {
            Reading ignored;
            ObjectParser parser(text_.substr(at_), ignored);
            if (!parser.object("", depth + 1)) return false;
            at_ += parser.at_;
            return true;
        }
        if (c == '[' || c == '(') {
            ++at_;
            return list(c == '[' ? ']' : ')', number, depth);
        }
        if (c == '<') return angle_brackets();
        const auto word = bare_word();
        if (!word) return false;
        if (peek() == '(') {
            ++at_;
            std::optional<double> first;
            if (!arguments(first, depth)) return false;
            if (wraps_a_number(*word)) number = first;
            return true;
        }
        if (const auto found = leading_number(*word); found && found->second == word->size()) number = found->first;
        return true;
    }

    /// Reads a list after its bracket. A list of one number stands for the number.
    bool list(char close, std::optional<double>& number, std::size_t depth) {
        std::size_t items = 0;
        std::optional<double> item;
        while (!take(close)) {
            if (items++ > 0 && !take(',')) return false;
            if (take(close)) break;
            item.reset();
            if (!value(item, depth + 1)) return false;
        }
        if (items == 1) number = item;
        return true;
    }

    /// Reads the arguments of a call after its bracket. `first` is the first one.
    bool arguments(std::optional<double>& first, std::size_t depth) {
        for (std::size_t count = 0; !take(')'); ++count) {
            if (count > 0 && !take(',')) return false;
            if (take(')')) return true;
            std::optional<double> item;
            if (!value(item, depth + 1)) return false;
            if (take('=')) {
                item.reset();
                if (!value(item, depth + 1)) return false;
                item.reset();
            }
            if (count == 0) first = item;
        }
        return true;
    }

    bool angle_brackets() {
        std::size_t open = 0;
        for (; at_ < text_.size(); ++at_) {
            if (text_[at_] == '<') ++open;
            if (text_[at_] == '>' && --open == 0) return ++at_, true;
        }
        return false;
    }

    std::optional<string> quoted() {
        const char quote = text_[at_];
        std::size_t end = at_ + 1;
        bool escapes = false;
        while (end < text_.size() && text_[end] != quote) {
            escapes = escapes || text_[end] == '\\';
            end += text_[end] == '\\' ? 2 : 1;
        }
        if (end >= text_.size()) return {};
        const string_view all = text_.substr(at_, end + 1 - at_);
        at_ = end + 1;
        if (!escapes) return string(all.substr(1, all.size() - 2));
        const auto json = nlohmann::json::parse(all, nullptr, false);
        return json.is_string() ? json.get<string>() : string(all.substr(1, all.size() - 2));
    }

    std::optional<string> bare_word() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && string_view(" \t\r\n,:=(){}[]\"'<>").find(text_[at_]) == string_view::npos) ++at_;
        return at_ > begin ? std::optional(string(text_.substr(begin, at_ - begin))) : std::nullopt;
    }

    string_view text_;
    std::size_t at_ = 0;
    Reading& reading_;
};

}  // namespace

std::size_t add_json(string_view text, Reading& reading) {
    Reading found;
    const std::size_t size = ObjectParser(text, found).run();
    if (size == 0) return 0;
    if (found.epoch) reading.epoch = found.epoch;
    reading.split = found.split;
    if (reading.too_long.empty()) reading.too_long = found.too_long;
    for (const NamedNumber& metric : found.metrics) reading.add(metric.name, metric.number, metric.bare);
    return size;
}

}  // namespace hpo::script
