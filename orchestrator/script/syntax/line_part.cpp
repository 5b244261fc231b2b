#include "orchestrator/script/syntax/line_part.hpp"

#include <algorithm>

#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

bool LinePart::names_metric(std::size_t count) const {
    return std::any_of(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(count), contains_metric_word);
}

void LinePart::note_epoch(double number) {
    const bool is_plain = words_.size() == 1 || (!metrics_.any() && pairs_.empty());
    if (reading_.epoch || depth_ > 0 || words_.empty() || !is_epoch(words_.back()) || !is_plain ||
        is_preposition(words_[0]))
        return;
    if (is_average_over(words_)) return;
    if (words_.size() > 1 && lower_case(words_.back()) == "epochs") return;  // "total number of epochs: 75"
    reading_.epoch = number;
}

void LinePart::note_progress(std::size_t at) {
    const auto progress = ratio_of(tokens_[at].text);
    if (!progress) return;
    if (!batches_ && counts_batches(at, progress->second)) batches_ = progress;
    if (!words_.empty() && is_epoch(words_.back())) note_epoch(static_cast<double>(progress->first));
    if (!reading_.progress) reading_.progress = progress;
}

bool LinePart::note_spaced_progress() {
    const auto is_whole = [&](std::size_t at) {
        return is(at, Kind::number) && tokens_[at].text.find_first_not_of("0123456789") == string_view::npos;
    };
    const bool ratio = is_whole(at_ - 1) && is(at_, Kind::junk, "/") && is_whole(at_ + 1) && is(at_ + 2, Kind::word);
    const std::size_t colon = at_ > 2 && is(at_ - 2, Kind::colon) ? 1 : 0;  // "epoch 3:  10 / 100 loss=0.5"
    const bool behind_number = words_.empty() && at_ > 1 + colon && is(at_ - 2 - colon, Kind::number);
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

bool LinePart::counts_batches(std::size_t at, std::int64_t total) const {
    const RatioOf of = ratio_of_at(at);
    if (of == RatioOf::outer_rounds) return false;
    if (reading_.epoch) return true;
    return averages_.epochs() == 0 ? of == RatioOf::named : total != averages_.epochs();
}

void LinePart::skip_unit() {
    if (is(at_, Kind::word, "per") && is(at_ + 1, Kind::word) && !is_separator(at_ + 2)) at_ += 2;  // "0.5 per frame"
    if (!is(at_, Kind::word) || !is_unit(tokens_[at_].text) || is_separator(at_ + 1) || is(at_ + 1, Kind::number))
        return;
    ++at_;
}

void LinePart::end_part_at(const Token& token) {
    end_part();
    if (token.text == "}") metrics_.clear_label();
    ++at_;
}

void LinePart::end_part() {
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

void LinePart::drop_part() {
    words_.clear();
    pairs_.clear();
    qualifier_.clear();
    prose_ = false;
    scaled_ = false;
}

std::optional<double> LinePart::average_at(std::size_t at, double of_batch) {
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

Doubt LinePart::doubt_of(std::size_t at) const {
    if (scaled_) return Doubt::scaled;
    const Doubt doubt = doubt_at(at);
    return doubt == Doubt::none || doubt == Doubt::in_brackets ? doubt_of_bracket(at) : doubt;
}

Doubt LinePart::doubt_of_bracket(std::size_t at) const {
    if (scaled_) return Doubt::scaled;
    if (!words_.empty() && is_average(join(words_, words_.size()))) return Doubt::none;  // which has no average
    if (doubt_at(at) == Doubt::in_brackets) return Doubt::in_brackets;
    const bool negative = is_negative_in_brackets(at);
    return negative && (reading_.progress || !averages_.empty()) ? Doubt::in_brackets : Doubt::none;
}

}  // namespace hpo::script
