#include "orchestrator/script/syntax/tokens.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

namespace {

using Kind = Token::Kind;

constexpr string_view gap_bytes = " \t";
constexpr string_view leader = "....";  ///< from here on dots lead from a name to its number
constexpr string_view junk_ends = " \t,;|()[]{}\"'";

bool is_word_begin(char c) { return is_letter(c) || static_cast<std::uint8_t>(c) >= 0x80; }
bool is_word_byte(char c) {
    return is_word_begin(c) || is_digit(c) || string_view("._-/@%^+&").find(c) != string_view::npos;
}

class Tokenizer {
   public:
    Tokenizer(string_view line, string_view& ambiguous) : rest_(line), ambiguous_(ambiguous) {}

    std::vector<Token> run() {
        while (true) {
            std::size_t gap = 0;
            for (; !rest_.empty() && gap_bytes.find(rest_.front()) != string_view::npos; rest_.remove_prefix(1))
                gap += rest_.front() == '\t' ? 8 : 1;
            if (rest_.empty()) return std::move(tokens_);
            Token token = next();
            token.gap = gap;
            tokens_.push_back(token);
        }
    }

   private:
    Token next() {
        // A sign of money belongs to the number behind a separator: "profit: $1,234.5".
        if (rest_.front() == '$' && tokens_are_value() && rest_.size() > 1 && is_digit(rest_[1]))
            rest_.remove_prefix(1);
        const char c = rest_.front();
        if (auto number = take_number()) return *number;
        if (is_word_begin(c)) return take_word();
        if (is_digit(c)) return take_junk();
        if (rest_.starts_with(leader)) return take_leader();
        if (rest_.starts_with("->") || rest_.starts_with("=>")) return take(Kind::arrow, 2);
        if (rest_.starts_with("-->") || rest_.starts_with("==>")) return take(Kind::arrow, 3);
        if (rest_.starts_with("+-") || rest_.starts_with("+/-")) return take(Kind::junk, rest_[1] == '-' ? 2 : 3);
        if (rest_.starts_with(":=")) return take(Kind::equals, 2);
        if ((c == '<' || c == '>' || c == '!' || c == '~' || c == '=') && rest_.size() > 1 && rest_[1] == '=' &&
            !rest_.starts_with("==="))
            return take(Kind::junk, 2);
        if (c == '/' || c == '\\' || c == '~' || c == '$') return take_junk();
        if (c == '=' && !rest_.starts_with("===")) return take(Kind::equals, 1);
        if (string_view("-=*#+_").find(c) != string_view::npos)
            return take(Kind::rule, std::min(rest_.find_first_not_of(c), rest_.size()));
        switch (c) {
            case ':':
                return take(Kind::colon, 1);
            case ',':
            case ';':
                return take(Kind::comma, 1);
            case '|':
                return take(Kind::bar, 1);
            case '(':
            case '[':
            case '{':
            case '<':
                return take(Kind::open, 1);
            case ')':
            case ']':
            case '}':
            case '>':
                return take(Kind::close, 1);
            case '"':
            case '\'':
            case '`':
                return take(Kind::quote, 1);
            default:
                return take(Kind::junk, 1);
        }
    }

    Token take(Kind kind, std::size_t size) {
        Token token;
        token.kind = kind;
        token.text = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return token;
    }

    /// Takes dots such as those of "Accuracy ........ 0.91", which stand for a separator before a number, and for
    /// nothing before another separator.
    Token take_leader() {
        const std::size_t dots = std::min(rest_.find_first_not_of('.'), rest_.size());
        const auto next_at = rest_.find_first_not_of(gap_bytes, dots);
        const bool named = !tokens_.empty() && tokens_.back().kind == Kind::word && next_at != string_view::npos;
        if (named && (rest_[next_at] == ':' || rest_[next_at] == '=')) {
            rest_.remove_prefix(next_at);
            return next();
        }
        return take(named && leading_number(rest_.substr(next_at)) ? Kind::equals : Kind::junk, dots);
    }

    Token take_junk() {
        std::size_t size = 1;
        while (size < rest_.size() && (junk_ends.find(rest_[size]) == string_view::npos ||
                                       (rest_[size] == ',' && size + 1 < rest_.size() && is_digit(rest_[size + 1]))))
            ++size;
        if (rest_[size - 1] == ':' && size > 1) --size;  // a label: "3/10: loss 0.5"
        const string_view text = rest_.substr(0, size);
        if (const auto colon = text.find(':'); colon != string_view::npos && is_ratio(text.substr(0, colon)))
            size = colon;  // "3/10:loss 0.5"
        if (text.size() > 1 && text.ends_with('/') && std::all_of(text.begin(), text.end() - 1, is_digit)) {  // "3/ 10"
            const auto total = rest_.find_first_not_of(' ', size);
            if (total != string_view::npos && is_digit(rest_[total])) {
                size = total;
                while (size < rest_.size() && is_digit(rest_[size])) ++size;
            }
        }
        return take(Kind::junk, size);
    }

    /// Takes a number, and words such as nan only where a value may stand.
    std::optional<Token> take_number() {
        const char c = rest_.front();
        const bool is_name = is_letter(c);
        if (!is_name && !is_digit(c) && string_view("+-.").find(c) == string_view::npos) return {};
        if (is_name && (tokens_.empty() || (c != 'n' && c != 'N' && c != 'i' && c != 'I'))) return {};
        string with_point;
        auto number = leading_number(rest_);
        if (!number && !is_name) number = number_before_sign();
        std::size_t size = number ? number->second : 0;
        if (number && tokens_are_value() && goes_on_in_groups(size)) return {};
        if (number && is_digit(c))
            if (const std::size_t ratio = spaced_ratio(size)) return take(Kind::junk, ratio);
        if (!number && !is_name) {
            const std::size_t comma_end = decimal_comma();
            if (comma_end == 0) return {};
            with_point = string(rest_.substr(0, comma_end));
            std::replace(with_point.begin(), with_point.end(), ',', '.');
            number = number_at_begin(with_point);
            if (!number || number->second != with_point.size()) return {};
            size = comma_end;
        }
        if (!number) return {};
        Token token = take(Kind::number, size);
        token.number = number->first;
        if (rest_.starts_with('%')) {
            token.percent = true;
            rest_.remove_prefix(1);
        }
        if (rest_.starts_with('.') && !rest_.starts_with("..")) {
            token.sentence_end = true;
            rest_.remove_prefix(1);
        }
        return token;
    }

    /// Returns the number before its unit, as in 0.91nats, or before the deviation that xgboost.cv prints: 0.91+0.02.
    [[nodiscard]] std::optional<std::pair<double, std::size_t>> number_before_sign() const {
        auto number = number_at_begin(rest_);
        if (!number) return {};
        const string_view rest = rest_.substr(number->second);
        std::size_t size = 0;
        while (size < rest.size() && is_letter(rest[size])) ++size;
        constexpr string_view units[] = {"nats", "nat", "bits", "bpc", "bpd", "dB", "db"};
        const bool unit = std::find(std::begin(units), std::end(units), rest.substr(0, size)) != std::end(units) &&
                          (size == rest.size() || string_view(" \t,;|)]}").find(rest[size]) != string_view::npos);
        const bool has_point = rest_.substr(0, number->second).find('.') != string_view::npos;
        const bool deviation =
            has_point && rest.starts_with('+') && leading_number(rest.substr(1)) && tokens_are_value();
        return unit || deviation ? number : std::nullopt;
    }

    /// Returns true behind the separator of a name, where a value stands.
    [[nodiscard]] bool tokens_are_value() const {
        return !tokens_.empty() && (tokens_.back().kind == Kind::equals || tokens_.back().kind == Kind::colon);
    }

    /// Returns the length of a ratio of whole numbers with blanks around its sign and its percentage behind it, as in
    /// "9000 / 10000 (90%)", without the percentage. Its first number has `size` digits. Returns 0 if there is none.
    [[nodiscard]] std::size_t spaced_ratio(std::size_t size) const {
        const auto skip = [&](std::size_t at, auto is_skipped) {
            while (at < rest_.size() && is_skipped(rest_[at])) ++at;
            return at;
        };
        const auto is_blank = [](char c) { return c == ' '; };
        if (skip(0, is_digit) != size) return 0;
        const std::size_t sign = skip(size, is_blank);
        if (sign >= rest_.size() || rest_[sign] != '/') return 0;
        const std::size_t total = skip(sign + 1, is_blank), end = skip(total, is_digit), open = skip(end, is_blank);
        if (end == total || open >= rest_.size() || rest_[open] != '(') return 0;
        const std::size_t percentage = skip(open + 1, is_blank);
        const std::size_t sign_at = skip(percentage, [](char c) { return is_digit(c) || c == '.' || c == ' '; });
        const bool percent = percentage < sign_at && sign_at < rest_.size() && rest_[sign_at] == '%';
        return percent ? end : 0;
    }

    /// Returns true if groups of three digits follow the number after blanks, as in "1 234.5": one number or several.
    bool goes_on_in_groups(std::size_t size) {
        const string_view first = rest_.substr(0, size);
        if (first.size() > 3 || first[0] == '0' || !std::all_of(first.begin(), first.end(), is_digit)) return false;
        std::size_t end = size;
        const auto digit_at = [&](std::size_t at) { return at < rest_.size() && is_digit(rest_[at]); };
        while (end < rest_.size() && rest_[end] == ' ' && digit_at(end + 1) && digit_at(end + 2) && digit_at(end + 3) &&
               !digit_at(end + 4))
            end += 4;
        if (end == size) return false;
        if (ambiguous_.empty()) ambiguous_ = rest_.substr(0, end);
        return true;
    }

    /// Returns the length of a number with a decimal comma, or 0 if it begins with none. With three digits after the
    /// comma it may as well be thousands, unless 0 is before it.
    std::size_t decimal_comma() {
        std::size_t at = rest_[0] == '-' || rest_[0] == '+' ? 1 : 0;
        const std::size_t digits = at;
        while (at < rest_.size() && is_digit(rest_[at])) ++at;
        const std::size_t whole = at - digits;
        if (whole == 0 || at + 1 >= rest_.size() || rest_[at] != ',' || !is_digit(rest_[at + 1])) return 0;
        const std::size_t fraction_begin = ++at;
        while (at < rest_.size() && is_digit(rest_[at])) ++at;
        const std::size_t fraction = at - fraction_begin;
        if (at + 1 < rest_.size() && (rest_[at] == 'e' || rest_[at] == 'E')) {
            std::size_t exponent = at + 1;
            if (rest_[exponent] == '-' || rest_[exponent] == '+') ++exponent;
            const std::size_t first = exponent;
            while (exponent < rest_.size() && is_digit(rest_[exponent])) ++exponent;
            if (exponent > first) at = exponent;
        }
        const string_view after = rest_.substr(at);
        if (!after.empty() && string_view(" \t;)]|%").find(after[0]) == string_view::npos &&
            !(after[0] == ',' && (after.size() == 1 || !is_digit(after[1]))))
            return 0;
        const bool zero = whole == 1 && rest_[digits] == '0';
        if (fraction == 3 && !zero) {
            if (ambiguous_.empty()) ambiguous_ = rest_.substr(0, at);
            return 0;
        }
        return at;
    }

    Token take_word() {
        std::size_t size = 1;
        for (; size < rest_.size(); ++size) {
            const char c = rest_[size];
            if (c == '-' && rest_.substr(size).starts_with("->")) break;
            if (c == '.' && rest_.substr(size).starts_with(leader)) break;
            if (c == '-' && rest_.substr(size).starts_with("-->")) break;
            if (is_word_byte(c)) continue;
            if (c == '\'' && rest_.substr(size).starts_with("'s") &&
                (size + 2 == rest_.size() || !is_word_byte(rest_[size + 2]))) {
                size += 1;
                continue;
            }
            if (c == '(') {
                const auto close = rest_.find(')', size);
                const std::size_t length = close == string_view::npos ? 0 : close - size - 1;
                const string_view inner = rest_.substr(size + 1, length);
                const auto number = leading_number(inner);  // nan of "tensor(nan)" is no part of a name
                const bool name = length > 0 && length <= 12 && is_word_begin(inner[0]) && !number &&
                                  std::all_of(inner.begin(), inner.end(), is_word_byte);
                if (name && phase_of(inner) == Phase::none) {
                    size = close;
                    continue;
                }
            }
            if (c == ':' && rest_.substr(0, size).find('@') != string_view::npos) {
                // mAP@0.5:0.95 is a name where a separator follows
                std::size_t end = size + 1;
                while (end < rest_.size() && (is_digit(rest_[end]) || rest_[end] == '.')) ++end;
                const auto sign = rest_.find_first_not_of(gap_bytes, end);
                if (end > size + 1 && sign != string_view::npos && (rest_[sign] == ':' || rest_[sign] == '=')) {
                    size = end - 1;
                    continue;
                }
            }
            break;
        }
        constexpr string_view ordinal = "\u7b2c";  // before the number of an epoch in Chinese and Japanese
        const string_view word = rest_.substr(0, size);
        if (word.starts_with(ordinal) && std::any_of(word.begin(), word.end(), is_digit)) return take(Kind::junk, size);
        Token token;
        token.kind = Kind::word;
        token.text = rest_.substr(0, size);
        rest_.remove_prefix(size);
        while (token.text.size() > 1 && string_view(".-/+&").find(token.text.back()) != string_view::npos) {
            token.sentence_end = token.sentence_end || token.text.back() == '.';
            token.text.remove_suffix(1);
        }
        return token;
    }

    string_view rest_;
    string_view& ambiguous_;
    std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(string_view line, string_view& ambiguous) { return Tokenizer(line, ambiguous).run(); }

}  // namespace hpo::script
