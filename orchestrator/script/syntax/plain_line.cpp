#include "orchestrator/script/syntax/plain_line.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/token_line.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

namespace {

using Kind = Token::Kind;
using Words = std::vector<string_view>;

constexpr std::size_t max_words = 12;       ///< of a name with a separator
constexpr std::size_t max_pair_words = 3;   ///< of a name without one
constexpr std::size_t max_apart_words = 5;  ///< of a name that begins the line, with blanks before its number
constexpr std::size_t tab = 8;              ///< Token::gap of a tab

struct Pair {
    Words words;
    string qualifier;
    double number = 0;
    string_view unit{};
    Doubt doubt = Doubt::none;
};

class LineParser : TokenLine {
   public:
    LineParser(std::vector<Token> tokens, const string& label, Averages& averages, Reading& reading)
        : TokenLine(std::move(tokens)), label_(label), averages_(averages), reading_(reading) {}

    void run() {
        if (read_reversed()) return;
        while (at_ < tokens_.size()) step();
        end_part();
    }

    [[nodiscard]] const string& label() const { return label_; }
    [[nodiscard]] bool heading() const { return heading_ && !seen_metric_; }

   private:
    void step() {
        const Token& token = tokens_[at_];
        switch (token.kind) {
            case Kind::word:
                return on_word(token);
            case Kind::number:
                return on_number(token);
            case Kind::junk:
                return on_junk(token);
            case Kind::equals:
            case Kind::colon:
                return on_separator(token);
            case Kind::arrow:
                return on_arrow(token);
            case Kind::open:
                return on_open(token);
            case Kind::close:
                if (depth_ > 0) --depth_;
                return end_part_at(token);
            case Kind::quote:
                // A name in quotes begins another name.
                if (!words_.empty() && token.gap > 0) end_part();
                ++at_;
                return;
            case Kind::rule:
                if (token.text == "--" && is(at_ + 1, Kind::word) && tokens_[at_ + 1].gap == 0) return skip_option();
                if (!words_.empty() || !pairs_.empty()) return end_part_at(token);
                ++at_;
                return;
            case Kind::bar:
                if (is_value_bar()) return on_separator(token);
                return end_part_at(token);
            case Kind::comma:
                return end_part_at(token);
        }
    }

    /// Returns true if this bar is the only one, and stands between a name and the number at the end: "Accuracy |
    /// 0.85".
    [[nodiscard]] bool is_value_bar() const {
        return !words_.empty() && at_ + 2 == tokens_.size() && is(at_ + 1, Kind::number) &&
               std::count_if(tokens_.begin(), tokens_.end(), [](const Token& one) { return one.kind == Kind::bar; }) ==
                   1;
    }

    /// Skips "--lr=0.1" of a command that the script shows.
    void skip_option() {
        end_part();
        for (at_ += 2; at_ < tokens_.size() && tokens_[at_].gap == 0; ++at_) {
        }
    }

    void on_word(const Token& token) {
        if (!words_.empty() && token.gap > 0 && is_number_type(token.text))
            if (const auto value = value_at(at_)) {  // "loss tensor(0.5)"
                at_ = value->end;
                return on_bare_value(value->number, max_pair_words);
            }
        ++at_;
        if (token.gap >= 2 && !words_.empty()) end_part();
        if (token.gap >= tab && !pairs_.empty()) end_part();
        if (words_.size() < max_words) words_.push_back(token.text);
        constexpr std::size_t max_abbreviation = 4;  // "Avg. loss" is one name, after "Done." another begins
        if (token.sentence_end && token.text.size() > max_abbreviation) end_part();
    }

    void on_number(const Token& token) {
        ++at_;
        if (is_bar_after(at_ - 1)) return drop_part();
        if (words_.empty()) return skip_unit();  // "300 img/s"
        if (is(at_, Kind::colon) && is(at_ + 1, Kind::number) && tokens_[at_ + 1].percent) {
            note_epoch(token.number);
            return drop_part();  // "Epoch 1: 12%"
        }
        // "loss at step 100: 0.5" and "score at iteration 10 is 0.5"
        if (words_.size() > 2 && is_counter(words_.back()) && is_preposition(words_[words_.size() - 2]) &&
            (is_separator(at_) || is(at_, Kind::number) || is(at_, Kind::word))) {
            words_.resize(words_.size() - 2);
            return;
        }
        // "Loss step 100: 0.5" and "Loss value at 100: 0.5"
        const bool counts = is_counter(words_.back()) || is_preposition(words_.back());
        if (words_.size() > 1 && counts && is_separator(at_) && value_at(at_ + 1) && names_metric(words_.size() - 1)) {
            words_.pop_back();
            return;
        }
        if (skip_sample(token)) return;
        const auto average = average_at(at_, token.number);
        const Doubt doubt = average ? Doubt::none : doubt_of_bracket(at_);
        const bool apart = token.gap >= 2 && at_ == words_.size() + 1;  // "Root mean squared error   0.16"
        on_bare_value(average.value_or(token.number), apart ? max_apart_words : max_pair_words,
                      doubt == Doubt::none && !average && competes(token, at_) ? Doubt::several_numbers : doubt);
        if (token.sentence_end) end_part();
    }

    /// Returns true for a second number that may be the value as well. A whole number behind a fraction is a count:
    /// "accuracy 0.76 190" in scikit-learn's report.
    [[nodiscard]] bool competes(const Token& first, std::size_t at) const {
        const auto has_point = [](const Token& one) { return one.text.find('.') != string_view::npos; };
        return is_second_number(at) && (!has_point(first) || has_point(tokens_[at]));
    }

    /// Reads a line that is a number and then its name: "0.84 = Validation score (accuracy)".
    bool read_reversed() {
        if (!is(0, Kind::number) || !is(1, Kind::equals)) return false;
        if (tokens_[0].text.find('.') == string_view::npos) return false;  // of a legend: "1 = exit error"
        std::size_t end = 2;
        while (is(end, Kind::word)) words_.push_back(tokens_[end++].text);
        const bool bracket = is(end, Kind::open, "(") && is(tokens_.size() - 1, Kind::close, ")");
        const bool reversed = (bracket || end == tokens_.size()) && words_.size() > 1 &&
                              words_.size() <= max_pair_words && names_metric(words_.size());
        if (reversed) emit({words_, {}, tokens_[0].number});
        words_.clear();
        return reversed;
    }

    /// Skips the sample that a metric is of, and moves to the sign behind it: "Accuracy of the network on the 10000
    /// test images: 90 %" and "Mean reward over the last 100 episodes: 12.5". A phase within it is the label.
    bool skip_sample(const Token& count) {
        static constexpr std::array<string_view, 6> articles{"the", "all", "last", "past", "first", "these"};
        constexpr std::size_t max_sample_words = 3;
        const string last = lower_case(words_.back());
        const bool counts = is_preposition(last) || std::find(articles.begin(), articles.end(), last) != articles.end();
        if (!counts || count.text.find_first_not_of("0123456789,_") != string_view::npos) return false;
        const auto name_end = std::find_if(words_.begin() + 1, words_.end(), is_preposition);
        const auto name_size = static_cast<std::size_t>(name_end - words_.begin());
        const string name = join(words_, name_size);
        if (name_end == words_.end() || (!contains_metric_word(name) && !is_average(name))) return false;
        std::size_t end = at_;
        while (end <= at_ + max_sample_words && is(end, Kind::word) && !contains_metric_word(tokens_[end].text)) ++end;
        if (end == at_ || !is_separator(end) || !value_at(end + 1)) return false;
        // A count of other things may tell results apart: "accuracy with 3 neighbors: 0.9", "Loss for the 1 class:
        // 0.8".
        const auto of_sample = [&](const Token& one) {
            return is_sample(one.text) || phase_of(one.text) != Phase::none ||
                   (last == "after" && is_counter(one.text));
        };
        const auto begin = tokens_.begin();
        if (std::none_of(begin + static_cast<std::ptrdiff_t>(at_), begin + static_cast<std::ptrdiff_t>(end), of_sample))
            return false;
        for (std::size_t i = at_; i < end && phase_in(name) == Phase::none; ++i)
            if (phase_of(tokens_[i].text) != Phase::none) qualifier_ = string(tokens_[i].text);
        words_.resize(name_size);
        at_ = end;
        return true;
    }

    /// Returns the first words in one text.
    static string join(const Words& words, std::size_t count) {
        string name;
        for (std::size_t i = 0; i < count; ++i) name += (i > 0 ? "_" : "") + string(words[i]);
        return name;
    }

    /// Returns true if one of the first words is of a metric.
    [[nodiscard]] bool names_metric(std::size_t count) const {
        return std::any_of(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(count), contains_metric_word);
    }

    /// Handles the number behind words without a separator, of which a name has at most `max_name`.
    void on_bare_value(double number, std::size_t max_name, Doubt doubt = Doubt::none) {
        note_epoch(number);
        const Words name = essence(words_);
        if (name.empty() || name.size() > max_name || is_preposition(name.back()))
            prose_ = true;
        else
            pairs_.push_back({words_, std::exchange(qualifier_, {}), number, unit_at(at_), doubt});
        words_.clear();
        scaled_ = false;
        skip_unit();
    }

    /// Returns the share at this token if the words before it are a name.
    [[nodiscard]] std::optional<Value> share_of(std::size_t at) const {
        return words_.empty() || is_counter(words_.back()) ? std::nullopt : share_at(at);
    }

    void on_junk(const Token& token) {
        if (!words_.empty() && joins_names(at_)) {
            const char* const begin = words_.back().data();
            const string_view second = tokens_[at_ + 1].text;
            words_.back() = string_view(begin, static_cast<std::size_t>(second.data() + second.size() - begin));
            at_ += 2;
            return;
        }
        if (const auto share = share_of(at_); share && is_share(words_.back())) {
            at_ = share->end;
            pairs_.push_back({std::exchange(words_, {}), std::exchange(qualifier_, {}), share->number});
            return;
        }
        note_progress(at_++);
        if (token.text == "+-" || token.text == "+/-" || token.text.ends_with('=')) {  // a deviation or a comparison
            if (is(at_, Kind::number) || is(at_, Kind::word)) ++at_;
        }
        if (is_label(words_)) set_label(words_);
        words_.clear();
    }

    /// "0.6 -> 0.5" is a change and not a metric.
    void on_arrow(const Token& token) {
        if (!words_.empty()) return on_separator(token);
        ++at_;
        if (at_ > 1 && is(at_ - 2, Kind::number) && is(at_, Kind::number)) drop_part(), ++at_;
    }

    void on_separator(const Token& separator) {
        const std::size_t next = ++at_;
        if (words_.empty()) return;
        if (read_several(next) || read_phases(next)) return;
        const auto value = value_at(next);
        if (!value) return without_value(separator);
        const bool adjacent = is(next, Kind::number) && tokens_[next].gap == 0 && separator.kind == Kind::colon;
        const string_view digits = tokens_[next].text;
        at_ = value->end;
        const auto average = average_at(at_, value->number);
        const double number = average.value_or(value->number);
        const bool name_is_metric = !adjacent || digits.find_first_not_of("+-0123456789") != string_view::npos ||
                                    has_metric_word(words_.back());
        const bool changes = is(at_, Kind::arrow) && is(at_ + 1, Kind::number);
        if (is_bar_after(next) || changes) {
            if (changes) at_ += 2;
            return drop_part();
        }
        // "Train: 3 [  50/100]" counts epochs
        const bool counts = words_.size() == 1 && phase_of(words_[0]) != Phase::none && is(at_, Kind::open, "[");
        if (counts && digits.find_first_not_of("0123456789") == string_view::npos)
            set_label(words_);
        else if (name_is_metric) {
            note_epoch(number);
            emit({words_, std::exchange(qualifier_, {}), number, unit_at(at_), average ? Doubt::none : doubt_of(at_)});
        }
        words_.clear();
        scaled_ = false;
        skip_unit();
    }

    /// Reads several metrics with their numbers: "Train/Valid Acc: 0.7/0.6", "loss / acc: 0.5 / 0.7", and where each
    /// word is of a metric "precision recall f1 = 0.5 0.6 0.7". In "val/acc: 9/10" the sign is a part of a name.
    bool read_several(std::size_t at) {
        const auto joined = std::find_if(words_.begin(), words_.end(), [](string_view word) {
            return word.find('/') != string_view::npos && !is_unit(word);
        });
        std::vector<Words> names;
        if (joined != words_.end()) {
            const auto place = static_cast<std::size_t>(joined - words_.begin());
            for (const string_view part : split_at_slashes(*joined)) {
                names.push_back(words_);
                names.back()[place] = trim(part);
            }
            const auto is_of_phase = [&](const Words& words) { return phase_of(words[place]) != Phase::none; };
            const auto phases = std::count_if(names.begin(), names.end(), is_of_phase);
            if (phases != 0 && phases != static_cast<std::ptrdiff_t>(names.size())) return false;
        } else {
            // "f1 score" is one name
            const auto is_name = [](string_view word) {
                return has_metric_word(word) && word != "score" && word != "error" && word != "loss";
            };
            if (words_.size() < 2 || !std::all_of(words_.begin(), words_.end(), is_name)) return false;
            for (const string_view word : words_) names.push_back({word});
        }
        std::vector<double> numbers;
        const std::size_t end = numbers_at(at, joined != words_.end(), numbers);
        if (numbers.size() != names.size()) return false;
        const string label = label_;
        for (std::size_t i = 0; i < names.size(); ++i) {
            emit({names[i], qualifier_, numbers[i]});
            label_ = label;
        }
        words_.clear();
        qualifier_.clear();
        at_ = end;
        return true;
    }

    /// Reads the numbers of several phases in brackets: "acc: (train=0.92, test=0.91)".
    bool read_phases(std::size_t at) {
        if (!is(at, Kind::open, "(")) return false;
        std::vector<Pair> pairs;
        do {
            const Token* const phase = is(at + 1, Kind::word) ? &tokens_[at + 1] : nullptr;
            if (phase == nullptr || phase_of(phase->text) == Phase::none || !is_separator(at + 2)) return false;
            if (!is(at + 3, Kind::number)) return false;
            pairs.push_back({words_, string(phase->text), tokens_[at + 3].number});
            at += 4;
        } while (is(at, Kind::comma));
        if (!is(at, Kind::close, ")")) return false;
        for (const Pair& pair : pairs) emit(pair);
        words_.clear();
        at_ = at + 1;
        return true;
    }

    /// Handles words before a separator that no number follows.
    void without_value(const Token& separator) {
        // "phase=val", "Split: train"
        if (is_split_key(words_.back()) && is(at_, Kind::word) && phase_of(tokens_[at_].text) != Phase::none) {
            set_label({tokens_[at_].text});
            words_.clear();
            qualifier_.clear();
            ++at_;
            return;
        }
        if (const auto share = share_of(at_)) {
            emit({words_, std::exchange(qualifier_, {}), share->number});
            words_.clear();
            at_ = share->end;
            return;
        }
        if (is_epoch(words_.back()) && is(at_, Kind::junk) && is_ratio(tokens_[at_].text)) return;  // "epoch=3 / 10"
        if (separator.kind == Kind::colon) {
            if (is_epoch(words_.back()) && (is(at_, Kind::open, "[") || is(at_, Kind::junk)))
                return;  // "Epoch: [3/10]"
            if (is_label(words_)) set_label(words_);
            words_.clear();
            qualifier_.clear();
            return;
        }
        words_.clear();
        qualifier_.clear();
        if (is(at_, Kind::quote)) {  // name="a text"
            const string_view quote = tokens_[at_].text;
            std::size_t end = at_ + 1;
            while (end < tokens_.size() && !is(end, Kind::quote, quote)) ++end;
            if (end < tokens_.size()) at_ = end + 1;
        } else if (is(at_, Kind::word) || is(at_, Kind::junk)) {
            ++at_;
            while (at_ < tokens_.size() && tokens_[at_].gap == 0 && !is(at_, Kind::comma) && !is(at_, Kind::close) &&
                   !is(at_, Kind::bar))
                ++at_;
        }
    }

    void on_open(const Token& token) {
        if (token.text == "[" && !words_.empty() && is_epoch(words_.back())) {  // "Epoch [3/10]"
            ++at_;
            if (is(at_, Kind::number)) note_epoch(tokens_[at_].number);
            if (is(at_, Kind::junk)) note_progress(at_);
            if (is_label(words_)) set_label(words_);
            words_.clear();
            while (at_ < tokens_.size() && !is(at_, Kind::close)) ++at_;
            ++at_;
            return;
        }
        if (!words_.empty() && is_scale_at(at_)) {
            scaled_ = true;
            at_ += 3;
            return;
        }
        if (token.text == "[" && !words_.empty() && has_metric_word(words_.back()))
            if (const auto value = value_at(at_)) {  // "loss [0.5]", but "loss[0]: 0.5" is an element
                at_ = value->end;
                return is_separator(at_) ? words_.clear() : on_bare_value(value->number, max_pair_words);
            }
        if (token.text == "(" && !words_.empty() && (qualify() || skip_arguments())) return;
        const bool indexed = token.text == "[" && token.gap == 0 && is(at_ + 2, Kind::close);
        if (indexed && !words_.empty() && has_metric_word(words_.back()) && is(at_ + 1, Kind::word) &&
            phase_of(tokens_[at_ + 1].text) != Phase::none && is_separator(at_ + 3) && value_at(at_ + 4) && qualify())
            return;  // "AUC[val]: 0.5"
        if (token.text == "[" && words_.empty() && is(at_ + 1, Kind::word) && is(at_ + 2, Kind::close) &&
            phase_of(tokens_[at_ + 1].text) != Phase::none) {  // "[val] loss: 0.5"
            set_label({tokens_[at_ + 1].text});
            at_ += 3;
            return;
        }
        ++depth_;
        end_part_at(token);
    }

    /// Reads the words in brackets after a name: "RMSE (val): 0.5", "Epoch(val) [1]", "time (s): 3".
    bool qualify() {
        std::size_t close = at_ + 1;
        Words inner;
        constexpr std::size_t max_inner = 4;
        for (; close < tokens_.size() && !is(close, Kind::close) && close - at_ <= max_inner; ++close) {
            if (is(close, Kind::word))
                inner.push_back(tokens_[close].text);
            else if (!is(close, Kind::junk))
                return false;
        }
        if (!is(close, Kind::close)) return false;
        const bool has_phase = inner.size() == 1 && phase_of(inner[0]) != Phase::none;
        if (has_phase && is_counter(words_.back())) {
            set_label(inner);
            words_ = {words_.back()};
        } else {
            const bool named = is_separator(close + 1) || is(close + 1, Kind::number) ||
                               (is(close + 1, Kind::word) && is_preposition(tokens_[close + 1].text));
            if (!named) return false;
            if (inner.size() == 1 && joins_phases(inner[0])) {  // "loss (train/val): 0.5/0.6"
                words_.insert(words_.begin(), inner[0]);
                at_ = close + 1;
                return true;
            }
            for (const string_view word : inner)
                if (!is_unit(word) || (word == "min" && contains_metric_word(words_.back())))
                    qualifier_ += (qualifier_.empty() ? "" : "_") + string(word);
        }
        at_ = close + 1;
        return true;
    }

    /// Skips the arguments of a call that is shown with its value: "accuracy(x, y) = 0.5". One that names the data is
    /// the label: "acc(model, val) = 0.5", "acc(x_val, y_val) = 0.5".
    bool skip_arguments() {
        if (tokens_[at_].gap > 0) return false;
        bool several = false;
        std::size_t end = at_ + 1;
        constexpr std::size_t max_arguments = 32;  // tokens
        for (int open = 1; end < tokens_.size() && end - at_ < max_arguments && open > 0; ++end) {
            open += is(end, Kind::open) ? 1 : is(end, Kind::close) ? -1 : 0;
            several = several || is(end, Kind::comma);
        }
        if (!several || !is(end, Kind::equals)) return false;
        for (std::size_t i = at_ + 1; i < end && qualifier_.empty(); ++i)
            if (is(i, Kind::word)) qualifier_ = phase_word_of(tokens_[i].text);
        at_ = end;
        return true;
    }

    /// Returns the part of a name that names data: val of "x_val". Returns an empty text if there is none.
    static string_view phase_word_of(string_view name) {
        for (std::size_t begin = 0; begin < name.size();) {
            const auto end = std::min(name.find_first_of("_.-/", begin), name.size());
            const string_view part = name.substr(begin, end - begin);
            if (phase_of(part) != Phase::none) return part;
            begin = end + 1;
        }
        return phase_in(name) != Phase::none ? name : string_view{};  // "xVal"
    }

    /// Reads the average behind the value of a batch, and moves behind it: "0.8 (0.9)" on a line with its progress, as
    /// PyTorch's ImageNet example and timm print it, or "0.8 (avg: 0.9)". Returns nothing if there is none.
    std::optional<double> average_at(std::size_t at, double of_batch) {
        static constexpr std::array<string_view, 5> names{"avg", "average", "mean", "avg.", "ave"};
        if (!is(at, Kind::open, "(")) return {};
        std::size_t number = at + 1;
        const bool named = is(number, Kind::word) &&
                           std::find(names.begin(), names.end(), lower_case(tokens_[number].text)) != names.end();
        if (named) number += is_separator(number + 1) ? 2 : 1;
        if (!is(number, Kind::number) || tokens_[number].percent || !is(number + 1, Kind::close, ")")) return {};
        if (tokens_[number].text.starts_with('+')) return {};  // a change
        const bool changes = tokens_[number].number < 0 && of_batch >= 0;
        if (!named && !batches_ && (changes || !averages_.has(words_, tokens_, at))) return {};
        at_ = number + 2;
        if (batches_) {
            reading_.running = true;
            reading_.progress = batches_;
            averages_.add(words_, tokens_);
        }
        return tokens_[number].number;
    }

    /// Returns the doubt about the number that ends before this token and is no average.
    [[nodiscard]] Doubt doubt_of(std::size_t at) const {
        if (scaled_) return Doubt::scaled;
        const Doubt doubt = doubt_at(at);
        return doubt == Doubt::none ? doubt_of_bracket(at) : doubt;
    }

    /// Returns the doubt because of a number in brackets at this token, as doubt_at() does, or where the line or the
    /// output may show averages, which can be negative.
    [[nodiscard]] Doubt doubt_of_bracket(std::size_t at) const {
        if (scaled_) return Doubt::scaled;
        if (doubt_at(at) == Doubt::in_brackets) return Doubt::in_brackets;
        const bool negative = is(at, Kind::open, "(") && is(at + 1, Kind::number) && !tokens_[at + 1].percent &&
                              tokens_[at + 1].text.starts_with('-') && is(at + 2, Kind::close, ")");
        return negative && (reading_.progress || !averages_.empty()) ? Doubt::in_brackets : Doubt::none;
    }

    void skip_unit() {
        if (!is(at_, Kind::word) || !is_unit(tokens_[at_].text) || is_separator(at_ + 1) || is(at_ + 1, Kind::number))
            return;
        ++at_;
    }

    /// Sets the epoch if these words before its number are about the epoch of the line.
    void note_epoch(double number) {
        const bool is_plain = words_.size() == 1 || (!seen_metric_ && pairs_.empty());
        if (reading_.epoch || depth_ > 0 || words_.empty() || !is_epoch(words_.back()) || !is_plain ||
            is_preposition(words_[0]))
            return;
        if (is_average_over(words_)) return;
        reading_.epoch = number;
    }

    /// Returns true for "acc over epoch".
    static bool is_average_over(const Words& words) {
        return words.size() > 1 && (words[words.size() - 2] == "over" || words[words.size() - 2] == "per");
    }

    void note_progress(std::size_t at) {
        const auto progress = ratio_of(tokens_[at].text);
        if (!progress) return;
        if (!batches_ && counts_batches(at, progress->second)) batches_ = progress;
        if (!words_.empty() && is_epoch(words_.back())) note_epoch(static_cast<double>(progress->first));
        if (!reading_.progress) reading_.progress = progress;
    }

    /// Returns true if the ratio at this token, of this total, is the progress of batches, and not of epochs, folds and
    /// the like. A ratio without a name may count epochs unless the line names its epoch.
    [[nodiscard]] bool counts_batches(std::size_t at, std::int64_t total) const {
        static constexpr std::array<string_view, 15> outer{"fold",  "folds",  "episode", "episodes",   "cycle",
                                                           "trial", "trials", "run",     "runs",       "seed",
                                                           "gen",   "repeat", "stage",   "generation", "task"};
        const auto is_outer = [&](const string& word) {
            return is_epoch(word) || std::find(outer.begin(), outer.end(), word) != outer.end();
        };
        std::size_t before = at;
        while (before > 0 && (is_separator(before - 1) || is(before - 1, Kind::open))) --before;
        const bool behind_number = before > 0 && before < at && is(before - 1, Kind::number);  // "Train: 0 [50/100]"
        const bool named = before > 0 && is(before - 1, Kind::word);
        if (named && is_outer(lower_case(tokens_[before - 1].text))) return false;
        if (is(at + 1, Kind::word) && is_outer(lower_case(tokens_[at + 1].text)) && !is(at + 2, Kind::number) &&
            !is_separator(at + 2))
            return false;  // "3/10 epochs"
        if (reading_.epoch) return true;
        return averages_.epochs() == 0 ? named || behind_number : total != averages_.epochs();
    }

    void set_label(const Words& words) {
        for (const string_view word : words)
            if (phase_of(word) != Phase::none) {
                label_ = string(word);
                heading_ = true;
                return;
            }
    }

    void end_part_at(const Token& token) {
        end_part();
        if (token.text == "}") label_.clear();
        ++at_;
    }

    /// Ends a part of the line. Its pairs without separators are metrics unless it has other words.
    void end_part() {
        if (!words_.empty()) {
            if (is_label(words_))
                set_label(words_);
            else
                prose_ = true;
        }
        if (!prose_)
            for (const Pair& pair : pairs_) emit(pair);
        heading_ = heading_ && !prose_;
        drop_part();
    }

    void drop_part() {
        words_.clear();
        pairs_.clear();
        qualifier_.clear();
        prose_ = false;
        scaled_ = false;
    }

    void emit(const Pair& pair) {
        Words words = essence(pair.words);
        if (words.empty()) return;
        string owner;
        for (std::size_t i = 0; i + 1 < words.size(); ++i)
            if (words[i].ends_with("'s")) {  // "valid_0's auc"
                for (std::size_t j = 0; j <= i; ++j) owner += (j > 0 ? "_" : "") + string(words[j]);
                owner.resize(owner.size() - 2);
                words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
                break;
            }
        if (words.size() > 1 && phase_of(words[0]) != Phase::none) {
            label_ = string(words[0]);
            if (is_counter(words.back()) && !is_average_over(words)) words.erase(words.begin(), words.end() - 1);
        }
        const string name = join(words, words.size());
        seen_metric_ = seen_metric_ || !is_counter(name);
        const string& label = !owner.empty() ? owner : !pair.qualifier.empty() ? pair.qualifier : label_;
        const bool labelled =
            !label.empty() && !is_general(name) && (&label != &label_ || phase_in(name) == Phase::none);
        const string full = labelled ? label + "_" + name : name;
        NamedNumber* const before = reading_.find(name_of(full));
        reading_.add(full, pair.number, name);
        if (before != nullptr) {
            if (before->number != pair.number) before->doubt = Doubt::several_times;
        } else if (NamedNumber* const added = reading_.find(name_of(full))) {
            added->unit = pair.unit;
            added->doubt = pair.doubt;
        }
    }

    std::size_t at_ = 0;
    Words words_;          ///< before the next separator or number
    string qualifier_;     ///< the words in brackets after them
    bool scaled_ = false;  ///< true if a power of ten is in brackets after them
    std::vector<Pair> pairs_;
    bool prose_ = false;     ///< true if this part of the line has words without a number
    std::size_t depth_ = 0;  ///< of brackets
    string label_;
    bool heading_ = false;
    bool seen_metric_ = false;
    std::optional<std::pair<std::int64_t, std::int64_t>> batches_;  ///< the progress of batches
    Averages& averages_;
    Reading& reading_;
};

}  // namespace

PlainLine read_plain_line(string_view line, const string& label, Averages& averages, Reading& reading) {
    PlainLine result;
    LineParser parser(tokens_of(line, result.ambiguous), label, averages, reading);
    parser.run();
    result.label = parser.label();
    result.heading = parser.heading();
    return result;
}

}  // namespace hpo::script
