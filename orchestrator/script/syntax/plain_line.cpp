#include "orchestrator/script/syntax/plain_line.hpp"

#include <optional>

#include "orchestrator/script/syntax/metric_groups.hpp"
#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

namespace {

constexpr std::size_t max_pair_words = 3;   ///< of a name without one
constexpr std::size_t max_apart_words = 5;  ///< of a name that begins the line, with blanks before its number
constexpr std::size_t tab = 8;              ///< Token::gap of a tab

class LineParser : MetricGroups {
   public:
    LineParser(std::vector<Token> tokens, const PlainLine& above, Averages& averages, Reading& reading)
        : MetricGroups(std::move(tokens), above.label, averages, reading) {
        batches_ = above.batches;
    }

    void run() {
        if (read_reversed()) return;
        for (const auto& [words, number] : reversed_list()) metrics_.add({words, {}, number});
        if (metrics_.any()) return;
        while (at_ < tokens_.size()) step();
        end_part();
    }

    [[nodiscard]] const string& label() const { return metrics_.label(); }
    [[nodiscard]] bool heading() const { return metrics_.heading(); }
    [[nodiscard]] const auto& batches() const { return batches_; }

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
                if (separates(at_)) return on_separator(token);
                if (token.text == "--" && is(at_ + 1, Kind::word) && tokens_[at_ + 1].gap == 0) return skip_option();
                if (!words_.empty() || !pairs_.empty()) return end_part_at(token);
                ++at_;
                return;
            case Kind::bar:
                if (!words_.empty() && is_value_bar(at_)) return on_separator(token);
                return end_part_at(token);
            case Kind::comma:
                return end_part_at(token);
        }
    }

    /// Returns true for a dash that separates the words of a part from its number, and nothing else is in the part:
    /// "iou_score - 0.61, dice_loss - 0.45]".
    [[nodiscard]] bool separates(std::size_t at) const {
        const bool ends = is(at + 2, Kind::comma) || is(at + 2, Kind::close, "]");
        return tokens_[at].text == "-" && words_.size() == 1 && pairs_.empty() && at > 1 && ends &&
               (is(at - 2, Kind::comma) || is(at - 2, Kind::open)) && is(at + 1, Kind::number) &&
               tokens_[at + 1].gap > 0;
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
        if (holds_pairs(at_++)) return;
        if (token.gap >= 2 && !words_.empty()) end_part();
        if (token.gap >= tab && !pairs_.empty()) end_part();
        if (words_.size() < max_words) words_.push_back(token.text);
        constexpr std::size_t max_abbreviation = 4;  // "Avg. loss" is one name, after "Done." another begins
        if (token.sentence_end && token.text.size() > max_abbreviation) end_part();
    }

    void on_number(const Token& token) {
        ++at_;
        if (is_bar_after(at_ - 1)) return words_.empty() ? end_part() : drop_part();
        if (note_spaced_progress()) return;
        if (words_.empty()) return skip_unit();  // "300 img/s"
        const bool percent = is(at_, Kind::colon) && is(at_ + 1, Kind::number) && tokens_[at_ + 1].percent;
        const bool described =
            percent && contains_metric_word(words_.back()) && is_bar_after(at_ + 1);  // "loss 0.5: 12%|# |"
        if (percent && !described) {
            note_epoch(token.number);
            return drop_part();  // "Epoch 1: 12%"
        }
        // "loss at step 100: 0.5" and "score at iteration 10 is 0.5"
        const bool last =
            words_.size() > 3 && (words_[words_.size() - 2] == "final" || words_[words_.size() - 2] == "last");
        const std::size_t place = last ? 3 : 2;
        if (words_.size() > place && is_counter(words_.back()) && is_preposition(words_[words_.size() - place]) &&
            (is_separator(at_) || is(at_, Kind::number) || is(at_, Kind::word))) {
            words_.resize(words_.size() - place);
            return;
        }
        // "Loss step 100: 0.5" and "Loss value at 100: 0.5"
        const bool counts = is_counter(words_.back()) || is_preposition(words_.back());
        if (words_.size() > 1 && counts && is_separator(at_) && value_at(at_ + 1) && names_metric(words_.size() - 1)) {
            words_.pop_back();
            return;
        }
        if (skip_sample(token) || take_threshold(token)) return;
        const auto average = average_at(at_, token.number);
        const Doubt doubt = average ? Doubt::none : doubt_of_bracket(at_);
        const bool apart = token.gap >= 2 && at_ == words_.size() + 1;  // "Root mean squared error   0.16"
        on_bare_value(average.value_or(token.number), apart ? max_apart_words : max_pair_words,
                      doubt == Doubt::none && !average && competes(at_) ? Doubt::several_numbers : doubt);
        if (token.sentence_end) end_part();
    }

    /// Reads a line that is a number and then its name: "0.84 = Validation score (accuracy)".
    bool read_reversed() {
        words_ = name_of_reversed();
        const bool reversed = words_.size() > 1 && words_.size() <= max_pair_words && names_metric(words_.size());
        if (reversed) metrics_.add({words_, {}, tokens_[0].number});
        words_.clear();
        return reversed;
    }

    /// Handles the number behind words without a separator, of which a name has at most `max_name`.
    void on_bare_value(double number, std::size_t max_name, Doubt doubt = Doubt::none) {
        note_epoch(number);
        const Words name = essence(words_);
        if (words_.back() == "is" && names_metric(words_.size())) max_name = max_words;
        if (name.empty() || name.size() > max_name || is_preposition(name.back()))
            prose_ = true;
        else
            pairs_.push_back(
                {words_, std::exchange(qualifier_, {}), number, is_percentage() ? "%" : unit_at(at_), doubt});
        words_.clear();
        scaled_ = false;
        skip_unit();
    }

    /// Returns true if the sign of a percentage stands before the words: "%WER 12.3".
    [[nodiscard]] bool is_percentage() const {
        const char* const begin = words_[0].data();
        return begin > tokens_[0].text.data() && begin[-1] == '%';
    }

    /// Returns the share at this token if the words before it are a name. A share without a percent sign is one of a
    /// metric only: "acc: 9/10 (0.9)", but no "Train: 9/10 (0.9)".
    [[nodiscard]] std::optional<Value> share_of(std::size_t at) const {
        if (words_.empty() || is_counter(words_.back())) return {};
        return share_at(at, contains_metric_word(words_.back()));
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
        if (is_label(words_)) metrics_.set_label(words_);
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
            if (is_label(words_)) label_bar();
            if (changes) at_ += 2;
            return drop_part();
        }
        // "Train: 3 [  50/100]" counts epochs, and "train: 468 loss: 0.5" batches
        const bool counts =
            words_.size() == 1 && phase_of(words_[0]) != Phase::none && (is(at_, Kind::open, "[") || names_result(at_));
        if (counts && digits.find_first_not_of("0123456789") == string_view::npos)
            metrics_.set_label(words_);
        else if (is_epoch(words_.back()) && counts_things(at_)) {
            // "1 epoch = 2640 batches"
        } else if (name_is_metric) {
            note_epoch(number);
            metrics_.add(
                {words_, std::exchange(qualifier_, {}), number, unit_at(at_), average ? Doubt::none : doubt_of(at_)});
        } else if (words_.size() > 1 && is_label(words_) && is_counter(words_.back()))
            label_bar(), note_epoch(number);  // "eval epoch:3 step:500 loss:0.5"
        words_.clear();
        scaled_ = false;
        skip_unit();
    }

    /// Returns true for a word at this token that the number before it counts, and names nothing behind it.
    [[nodiscard]] bool counts_things(std::size_t at) const {
        return is(at, Kind::word) && (is_sample(tokens_[at].text) || is_counter(tokens_[at].text)) &&
               !is_separator(at + 1) && !is(at + 1, Kind::number);
    }

    /// Returns true for a metric of its own at this token, with its separator.
    [[nodiscard]] bool names_result(std::size_t at) const {
        return is(at, Kind::word) && tokens_[at].gap == 1 && has_metric_word(tokens_[at].text) &&
               is_separator(at + 1) && value_at(at + 2);
    }

    /// Takes the words before a progress bar or a counter for the label of this line, and of no further one: "val:
    /// 100%|##| 9/9 [00:01, loss=0.5]".
    void label_bar() {
        metrics_.set_label(words_);
        metrics_.end_heading();
    }

    /// Handles words before a separator that no number follows.
    void without_value(const Token& separator) {
        // "phase=val", "Split: train"
        if (is_split_key(words_.back()) && is(at_, Kind::word) && phase_of(tokens_[at_].text) != Phase::none) {
            metrics_.set_label({tokens_[at_].text});
            words_.clear();
            qualifier_.clear();
            ++at_;
            return;
        }
        if (const auto share = share_of(at_)) {
            metrics_.add({words_, std::exchange(qualifier_, {}), share->number});
            words_.clear();
            at_ = share->end;
            return;
        }
        if (is_epoch(words_.back()) && is(at_, Kind::junk) && is_ratio(tokens_[at_].text)) return;  // "epoch=3 / 10"
        if (separator.kind == Kind::colon) {
            if (is_epoch(words_.back()) && (is(at_, Kind::open, "[") || is(at_, Kind::junk)))
                return;  // "Epoch: [3/10]"
            if (is_label(words_)) metrics_.set_label(words_);
            words_.clear();
            qualifier_.clear();
            return;
        }
        words_.clear();
        qualifier_.clear();
        if (!holds_pairs(at_)) at_ = text_end(at_);  // "metrics=OrderedDict([('loss', 0.5)])"
    }

    void on_open(const Token& token) {
        if (token.text == "(" && words_.empty() && (read_quoted_pair() || read_tuple())) return;
        if (token.text == "[" && !words_.empty() && is_epoch(words_.back())) {  // "Epoch [3/10]"
            ++at_;
            if (is(at_, Kind::number)) note_epoch(tokens_[at_].number);
            if (is(at_, Kind::junk)) note_progress(at_);
            if (is_label(words_)) metrics_.set_label(words_);
            words_.clear();
            while (at_ < tokens_.size() && !is(at_, Kind::close)) ++at_;
            ++at_;
            return;
        }
        if (token.text == "[" && words_.empty() && is_epoch_in_brackets()) return;
        if (!words_.empty() && is_scale_at(at_)) {
            scaled_ = true;
            at_ += 3;
            return;
        }
        if (token.text == "[" && !words_.empty() && may_hold_value(token))
            if (const auto value = value_at(at_)) {  // "loss [0.5]", but "loss[0]: 0.5" is an element
                at_ = value->end;
                return is_separator(at_) ? words_.clear() : on_bare_value(value->number, max_pair_words);
            }
        if (token.text == "(" && !words_.empty() &&
            (take_setting(token) || qualify() || skip_arguments() || skip_budget()))
            return;
        const bool indexed = token.text == "[" && token.gap == 0 && is(at_ + 2, Kind::close);
        if (indexed && !words_.empty() && has_metric_word(words_.back()) && is(at_ + 1, Kind::word) &&
            phase_of(tokens_[at_ + 1].text) != Phase::none && is_separator(at_ + 3) && value_at(at_ + 4) && qualify())
            return;  // "AUC[val]: 0.5"
        if (token.text == "[" && words_.empty() && is(at_ + 1, Kind::word) && is(at_ + 2, Kind::close) &&
            phase_of(tokens_[at_ + 1].text) != Phase::none) {  // "[val] loss: 0.5"
            metrics_.set_label({tokens_[at_ + 1].text});
            at_ += 3;
            return;
        }
        ++depth_;
        end_part_at(token);
    }

    /// Notes the epoch of a bracket that holds nothing else, and moves behind it: "[Epoch 3]", "[Epoch: 3/10]".
    bool is_epoch_in_brackets() {
        if (!is(at_ + 1, Kind::word) || !is_epoch(tokens_[at_ + 1].text)) return false;
        const std::size_t number = at_ + (is_separator(at_ + 2) ? 3 : 2);
        if ((!is(number, Kind::number) && !is(number, Kind::junk)) || !is(number + 1, Kind::close, "]")) return false;
        end_part();
        words_ = {tokens_[at_ + 1].text};
        if (is(number, Kind::number)) note_epoch(tokens_[number].number);
        if (is(number, Kind::junk)) note_progress(number);
        words_.clear();
        at_ = number + 2;
        return true;
    }
};

}  // namespace

PlainLine read_plain_line(string_view line, const PlainLine& above, Averages& averages, Reading& reading) {
    PlainLine result;
    LineParser parser(tokens_of(line, result.ambiguous), above, averages, reading);
    parser.run();
    result.label = parser.label();
    result.heading = parser.heading();
    result.batches = parser.batches();
    return result;
}

}  // namespace hpo::script
