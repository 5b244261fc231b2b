#include "orchestrator/script/syntax/plain_line.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "orchestrator/script/syntax/labelled_metrics.hpp"
#include "orchestrator/script/syntax/metric_directions.hpp"
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

class LineParser : TokenLine {
   public:
    LineParser(std::vector<Token> tokens, const string& label, Averages& averages, Reading& reading)
        : TokenLine(std::move(tokens)), metrics_(label, reading), averages_(averages), reading_(reading) {}

    void run() {
        if (read_reversed()) return;
        for (const auto& [words, number] : reversed_list()) metrics_.add({words, {}, number});
        if (metrics_.any()) return;
        while (at_ < tokens_.size()) step();
        end_part();
    }

    [[nodiscard]] const string& label() const { return metrics_.label(); }
    [[nodiscard]] bool heading() const { return metrics_.heading(); }

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
        if (skip_sample(token) || take_threshold(token)) return;
        const auto average = average_at(at_, token.number);
        const Doubt doubt = average ? Doubt::none : doubt_of_bracket(at_);
        const bool apart = token.gap >= 2 && at_ == words_.size() + 1;  // "Root mean squared error   0.16"
        on_bare_value(average.value_or(token.number), apart ? max_apart_words : max_pair_words,
                      doubt == Doubt::none && !average && competes(at_) ? Doubt::several_numbers : doubt);
        if (token.sentence_end) end_part();
    }

    /// Notes the progress of the number before this token, behind a label, a counter or nothing, and moves behind it:
    /// "epoch 5  1000 / 8223 loss=2.5", "valid subset  100 / 131 loss=3.5".
    bool note_spaced_progress() {
        const auto is_whole = [&](std::size_t at) {
            return is(at, Kind::number) && tokens_[at].text.find_first_not_of("0123456789") == string_view::npos;
        };
        const bool ratio =
            is_whole(at_ - 1) && is(at_, Kind::junk, "/") && is_whole(at_ + 1) && is(at_ + 2, Kind::word);
        const bool behind_number = words_.empty() && at_ > 1 && is(at_ - 2, Kind::number);
        if (!ratio || (!behind_number && !is_label(words_))) return false;
        const std::pair progress{static_cast<std::int64_t>(tokens_[at_ - 1].number),
                                 static_cast<std::int64_t>(tokens_[at_ + 1].number)};
        if (!reading_.progress) reading_.progress = progress;
        if (!batches_ && reading_.epoch) batches_ = progress;
        if (is_label(words_)) metrics_.set_label(words_);
        words_.clear();
        at_ += 2;
        return true;
    }

    /// Takes a share right before the separator of a number for a part of the name: "mAP 0.5: 0.61".
    bool take_threshold(const Token& token) {
        const auto is_fraction = [&](std::size_t at) { return tokens_[at].text.find('.') != string_view::npos; };
        const bool threshold = is_fraction(at_ - 1) && token.number > 0 && token.number <= 1 && !token.percent &&
                               token.gap == 1 && !is_progress(words_.back()) &&
                               better_of(words_.back()) != Better::lower && at_ + 1 < tokens_.size() &&
                               is_fraction(at_ + 1) && is_separator(at_) && tokens_[at_].gap == 0 &&
                               value_at(at_ + 1) && !is_bar_after(at_ + 1);
        if (threshold) words_.push_back(token.text);
        return threshold;
    }

    /// Reads a line that is a number and then its name: "0.84 = Validation score (accuracy)".
    bool read_reversed() {
        words_ = name_of_reversed();
        const bool reversed = words_.size() > 1 && words_.size() <= max_pair_words && names_metric(words_.size());
        if (reversed) metrics_.add({words_, {}, tokens_[0].number});
        words_.clear();
        return reversed;
    }

    /// Skips the sample that a metric is of, and moves to the sign behind it: "Accuracy of the network on the 10000
    /// test images: 90 %" and "Mean reward over the last 100 episodes: 12.5". A phase within it is the label.
    bool skip_sample(const Token& count) {
        if (!counts_sample(words_.back(), count)) return false;
        const auto name_end = std::find_if(words_.begin() + 1, words_.end(), is_preposition);
        const auto name_size = static_cast<std::size_t>(name_end - words_.begin());
        const string name = join(words_, name_size);
        if (name_end == words_.end() || (!contains_metric_word(name) && !is_average(name))) return false;
        const std::size_t end = sample_end(at_, words_.back());
        if (end == at_) return false;
        for (std::size_t i = at_; i < end && phase_in(name) == Phase::none; ++i)
            if (phase_of(tokens_[i].text) != Phase::none) qualifier_ = string(tokens_[i].text);
        const string_view preposition = words_[name_size];
        if (preposition == "for" || preposition == "on" || preposition == "with")
            reading_.sample = string(count.text) + ' ' + string(tokens_[at_].text);
        words_.resize(name_size);
        at_ = end;
        return true;
    }

    /// Returns true if one of the first words is of a metric.
    [[nodiscard]] bool names_metric(std::size_t count) const {
        return std::any_of(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(count), contains_metric_word);
    }

    /// Handles the number behind words without a separator, of which a name has at most `max_name`.
    void on_bare_value(double number, std::size_t max_name, Doubt doubt = Doubt::none) {
        note_epoch(number);
        const Words name = essence(words_);
        if (words_.back() == "is" && names_metric(words_.size())) max_name = max_words;
        if (name.empty() || name.size() > max_name || is_preposition(name.back()))
            prose_ = true;
        else
            pairs_.push_back({words_, std::exchange(qualifier_, {}), number, unit_at(at_), doubt});
        words_.clear();
        scaled_ = false;
        skip_unit();
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
        else if (name_is_metric) {
            note_epoch(number);
            metrics_.add(
                {words_, std::exchange(qualifier_, {}), number, unit_at(at_), average ? Doubt::none : doubt_of(at_)});
        } else if (words_.size() > 1 && is_label(words_) && is_counter(words_.back()))
            label_bar(), note_epoch(number);  // "eval epoch:3 step:500 loss:0.5"
        words_.clear();
        scaled_ = false;
        skip_unit();
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

    /// Reads several metrics with their numbers: "Train/Valid Acc: 0.7/0.6", "loss / acc: 0.5 / 0.7", and where each
    /// word is of a metric "precision recall f1 = 0.5 0.6 0.7". In "val/acc: 9/10" the sign is a part of a name.
    bool read_several(std::size_t at) {
        const auto [names, slashes] = names_in(words_);
        if (names.empty()) return false;
        std::vector<double> numbers;
        const std::size_t end = numbers_at(at, slashes, numbers);
        if (numbers.size() != names.size()) return false;
        const string label = metrics_.label();
        for (std::size_t i = 0; i < names.size(); ++i) {
            metrics_.add({names[i], qualifier_, numbers[i]});
            metrics_.label_again(label);
        }
        words_.clear();
        qualifier_.clear();
        at_ = end;
        return true;
    }

    /// Reads the numbers of several phases in brackets: "acc: (train=0.92, test=0.91)".
    bool read_phases(std::size_t at) {
        const std::size_t end = phases_end(at);
        if (end == at) return false;
        for (; at + 4 < end; at += 4) metrics_.add({words_, string(tokens_[at + 1].text), tokens_[at + 3].number});
        words_.clear();
        at_ = end;
        return true;
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

    /// Reads names in brackets that have their numbers in brackets: "(loss, acc) = (0.5, 0.7)".
    bool read_tuple() {
        constexpr std::size_t most_names = 12;
        std::vector<Words> names;
        std::size_t at = at_;
        do {
            names.emplace_back();
            for (++at; is(at, Kind::word); ++at) names.back().push_back(tokens_[at].text);
        } while (!names.back().empty() && is(at, Kind::comma) && names.size() < most_names);
        if (!is(at, Kind::close, ")") || !is_separator(at + 1) || !is(at + 2, Kind::open, "(") || names.size() < 2)
            return false;
        std::vector<double> numbers;
        const std::size_t end = numbers_at(at + 3, false, numbers);
        if (numbers.size() != names.size() || !is(end, Kind::close, ")") || names.back().empty()) return false;
        end_part();
        for (const Words& name : names)
            metrics_.add({name, {}, numbers[static_cast<std::size_t>(&name - names.data())]});
        at_ = end + 1;
        return true;
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
        if (token.text == "(" && !words_.empty() && (take_setting(token) || qualify() || skip_arguments())) return;
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

    /// Reads a name in quotes with its number, as Python shows the items of a dictionary: "[('loss', 0.5), ('acc',
    /// 1)]".
    bool read_quoted_pair() {
        const string_view quote = is(at_ + 1, Kind::quote) ? tokens_[at_ + 1].text : string_view{};
        Words name;
        std::size_t at = at_ + 2;
        for (; !quote.empty() && is(at, Kind::word) && name.size() < max_words; ++at) name.push_back(tokens_[at].text);
        if (name.empty() || !is(at, Kind::quote, quote) || !is(at + 1, Kind::comma)) return false;
        const auto value = value_at(at + 2);
        if (!value || !is(value->end, Kind::close, ")")) return false;
        end_part();
        metrics_.add({name, {}, value->number});
        at_ = value->end + 1;
        return true;
    }

    /// Returns true if a list of pairs in brackets begins behind this word: "OrderedDict([('loss', 0.5)])".
    [[nodiscard]] bool holds_pairs(std::size_t word) const {
        return is(word, Kind::word) && is(word + 1, Kind::open, "(") && tokens_[word + 1].gap == 0 &&
               is(word + 2, Kind::open, "[") && is(word + 3, Kind::open, "(") && is(word + 4, Kind::quote);
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

    /// Returns true if the bracket at this token, behind words, may hold their value and not an index or a counter:
    /// "Pseudo dice [0.81]".
    [[nodiscard]] bool may_hold_value(const Token& bracket) const {
        if (has_metric_word(words_.back())) return true;
        const bool call = is(at_ + 1, Kind::word) && is(at_ + 2, Kind::open);
        const std::size_t number = at_ + (call ? 3 : 1);
        return bracket.gap > 0 && is(number, Kind::number) && tokens_[number].text.find('.') != string_view::npos;
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
            metrics_.set_label(inner);
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

    /// Takes a count in brackets right behind a name for a part of it: NDCG_k_20 of "NDCG(k=20) = 0.5".
    bool take_setting(const Token& bracket) {
        const bool count = is(at_ + 1, Kind::word) && is(at_ + 2, Kind::equals) && is(at_ + 3, Kind::number) &&
                           is(at_ + 4, Kind::close, ")") && is_separator(at_ + 5) && value_at(at_ + 6);
        if (!count || bracket.gap > 0 || is_progress(tokens_[at_ + 1].text) ||
            tokens_[at_ + 3].text.find_first_not_of("0123456789") != string_view::npos)
            return false;
        words_.push_back(tokens_[at_ + 1].text);
        words_.push_back(tokens_[at_ + 3].text);
        at_ += 5;
        return true;
    }

    /// Skips the arguments of a call that is shown with its value: "accuracy(x, y) = 0.5". One that names the data is
    /// the label: "acc(model, val) = 0.5", "acc(x_val, y_val) = 0.5".
    bool skip_arguments() {
        const std::size_t end = arguments_end(at_);
        if (end == at_) return false;
        for (std::size_t i = at_ + 1; i < end && qualifier_.empty(); ++i)
            if (is(i, Kind::word)) qualifier_ = phase_word_of(tokens_[i].text);
        at_ = end;
        return true;
    }

    /// Reads the average behind the value of a batch, and moves behind it: "0.8 (0.9)" on a line with its progress, as
    /// PyTorch's ImageNet example and timm print it, or "0.8 (avg: 0.9)". Returns nothing if there is none.
    std::optional<double> average_at(std::size_t at, double of_batch) {
        const auto average = average_in_brackets(at);
        if (!average) return {};
        const bool changes = average->number < 0 && of_batch >= 0;
        if (!average->named && !batches_ && (changes || !averages_.has(words_, tokens_, at))) return {};
        at_ = average->end;
        if (batches_) {
            reading_.running = true;
            reading_.progress = batches_;
            averages_.add(words_, tokens_);
        }
        return average->number;
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
        const bool negative = is_negative_in_brackets(at);
        return negative && (reading_.progress || !averages_.empty()) ? Doubt::in_brackets : Doubt::none;
    }

    void skip_unit() {
        if (is(at_, Kind::word, "per") && is(at_ + 1, Kind::word) && !is_separator(at_ + 2))
            at_ += 2;  // "0.5 per frame"
        if (!is(at_, Kind::word) || !is_unit(tokens_[at_].text) || is_separator(at_ + 1) || is(at_ + 1, Kind::number))
            return;
        ++at_;
    }

    /// Sets the epoch if these words before its number are about the epoch of the line.
    void note_epoch(double number) {
        const bool is_plain = words_.size() == 1 || (!metrics_.any() && pairs_.empty());
        if (reading_.epoch || depth_ > 0 || words_.empty() || !is_epoch(words_.back()) || !is_plain ||
            is_preposition(words_[0]))
            return;
        if (is_average_over(words_)) return;
        if (words_.size() > 1 && lower_case(words_.back()) == "epochs") return;  // "total number of epochs: 75"
        reading_.epoch = number;
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
        const RatioOf of = ratio_of_at(at);
        if (of == RatioOf::outer_rounds) return false;
        if (reading_.epoch) return true;
        return averages_.epochs() == 0 ? of == RatioOf::named : total != averages_.epochs();
    }

    void end_part_at(const Token& token) {
        end_part();
        if (token.text == "}") metrics_.clear_label();
        ++at_;
    }

    /// Ends a part of the line. Its pairs without separators are metrics unless it has other words.
    void end_part() {
        if (!words_.empty()) {
            if (is_label(words_))
                metrics_.set_label(words_);
            else
                prose_ = true;
        }
        if (!prose_)
            for (const PrintedMetric& pair : pairs_) metrics_.add(pair);
        if (prose_) metrics_.end_heading();
        drop_part();
    }

    void drop_part() {
        words_.clear();
        pairs_.clear();
        qualifier_.clear();
        prose_ = false;
        scaled_ = false;
    }

    std::size_t at_ = 0;
    Words words_;          ///< before the next separator or number
    string qualifier_;     ///< the words in brackets after them
    bool scaled_ = false;  ///< true if a power of ten is in brackets after them
    std::vector<PrintedMetric> pairs_;
    bool prose_ = false;     ///< true if this part of the line has words without a number
    std::size_t depth_ = 0;  ///< of brackets
    LabelledMetrics metrics_;
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
