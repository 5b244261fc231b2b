#include "orchestrator/script/syntax/steps.hpp"

#include <algorithm>
#include <utility>

#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

namespace {

constexpr std::size_t max_kept_bytes = 4096;             ///< of a line, whose words tell its kind
constexpr double least_pause = 0.2, longest_pause = 10;  ///< seconds
constexpr double pause_share = 0.1;                      ///< of the time of a step

std::vector<string> names_in(const StepNeeds& needs) {
    std::vector<string> names{needs.objective};
    names.insert(names.end(), needs.others.begin(), needs.others.end());
    return names;
}

/// Returns all numbers of a line with their names.
string content_of(const Reading& reading) {
    string content;
    char buffer[32];
    for (const NamedNumber& metric : reading.metrics)
        content +=
            metric.name + '=' + std::string(buffer, std::snprintf(buffer, sizeof buffer, "%.17g ", metric.number));
    return content;
}

/// Returns the number of a step in the line. Counts such as "steps: 100" may be those of an epoch.
std::optional<double> count_in(const Reading& reading) {
    constexpr string_view counters[] = {"step", "global_step", "iter", "iteration", "round"};
    for (const NamedNumber& one : reading.metrics)
        if (std::find(std::begin(counters), std::end(counters), lower_case(one.name)) != std::end(counters))
            return one.number;
    return {};
}

/// Returns true if a line tells how far its epoch is: "batch 3", "iter 4/40".
bool tells_progress(const Reading& reading) {
    const auto counts = [](const NamedNumber& one) { return is_counter(one.name) && !is_epoch(one.name); };
    const bool unfinished = reading.progress && !reading.counts_epochs &&
                            reading.progress->first < reading.progress->second &&
                            static_cast<double>(reading.progress->first) != reading.epoch;
    return unfinished || std::any_of(reading.metrics.begin(), reading.metrics.end(), counts);
}

/// Returns true for a progress bar: "100%|####| 50/50", "100% 148/148 [00:38<00:00, 3.82it/s]".
bool is_bar(string_view text) {
    const auto sign = text.find_first_not_of("0123456789. ");
    if (sign == string_view::npos || text[sign] != '%') return false;
    const string_view behind = text.substr(sign + 1), work = trim(behind).substr(0, trim(behind).find(' '));
    return behind.starts_with('|') || is_ratio(work);
}

/// The last line of a program that was killed, without the number that it may not have finished: "loss: 0."
string_view without_torn_number(string_view text) {
    const auto number = text.find_last_of(" \t=:,;|([{\"'");
    const bool torn =
        number + 1 < text.size() && is_digit(text.back() == '.' || text.back() == '-' ? '0' : text.back());
    return torn ? text.substr(0, number + 1) : text;
}

}  // namespace

StepReader::StepReader(std::unique_ptr<LineReader> reader, StepNeeds needs)
    : reader_(std::move(reader)),
      needs_(std::move(needs)),
      wanted_(names_in(needs_)),
      redraws_{Redraws{needs_.epochs, needs_.objective}, Redraws{needs_.epochs, needs_.objective}} {}

void StepReader::feed(string_view bytes, std::size_t stream, double now) {
    now_ = now;
    screens_.at(stream).feed(bytes, [&](string_view text, bool redrawn) { line(text, redrawn, stream); });
}

void StepReader::add(const Metrics& found, string_view text, double now) {
    now_ = now;
    Reading reading;
    for (const auto& [name, number] : found) {
        if (is_epoch(name)) reading.epoch = number;
        reading.metrics.push_back({name, name, number});
    }
    take_reading(reading);
    if (reported_ == 0 && given_ == 0) consider(text);
}

void StepReader::finish(bool killed) {
    for (std::size_t stream = 0; stream < streams; ++stream) {
        screens_[stream].finish(
            [&](string_view text, bool redrawn) { line(killed ? without_torn_number(text) : text, redrawn, stream); });
        for (const Reading& reading : redraws_[stream].finish()) take_reading(reading);
    }
    take_waiting();
    if (given_ + (phase_ == Phase::after ? 1 : 0) == 1 && redrawn_changes_ > 1 && needs_.epochs == 0)
        bar_ = "its progress bar showed " + std::to_string(redrawn_changes_ + 1) + " values of '" + needs_.objective +
               "', and the last one alone is a step: if the bar counts epochs, state their number in budget.epochs";
    if (phase_ == Phase::after || (phase_ == Phase::before && reported_ > 0 && given_ == 0)) give();
}

void StepReader::line(string_view text, bool redrawn, std::size_t stream) {
    Reading reading;
    reader_->read(text, reading);
    reading.text = string(trim(text).substr(0, max_kept_bytes));
    note_unread(text, reading);
    note_ambiguous(text, reading);
    note_too_long(text, reading);
    subjects_.take(text, reading, objective_in(reading, needs_.objective) != nullptr);
    leave_out_settings(text, reading);
    if (const auto count = count_in(reading)) reached_ = count;
    reading.announced_best = std::exchange(best_follows_, reading.metrics.empty() && announces_best(text));
    if (reading.metrics.empty())
        evaluates_best_ = evaluates_best_ || (given_ + reported_ > 0 && evaluates_best(text));
    else if (std::exchange(evaluates_best_, false) && !reading.epoch)
        reading.announced_best = true;
    if (redrawn || redrawn_) note_redrawn(reading);
    const bool blank = text.find_first_not_of(" \t") == string_view::npos;
    Redraws& redraws = redraws_.at(stream);
    for (const Reading& counting : redrawn ? redraws.redrawn(reading) : redraws.ended(reading, blank))
        take_reading(counting);
    if (reported_ == 0 && given_ == 0) consider(text);
}

/// Removes the settings that a script shows, and variables of its environment that are hpo's: they are no metrics.
void StepReader::leave_out_settings(string_view text, Reading& reading) {
    const auto fits = [&](const NamedNumber& one) { return fits_needed(one); };
    if (shows_settings(text, reading) && std::none_of(reading.metrics.begin(), reading.metrics.end(), fits)) {
        reading.metrics.clear();
        reading.epoch.reset();  // the number of epochs
    }
    const bool begins =
        given_ + reported_ == 0 && !epoch_ &&
        std::none_of(open_.begin(), open_.end(), [](const auto& one) { return contains_metric_word(one.first); });
    if (begins && has_settings_alone(reading) && std::none_of(reading.metrics.begin(), reading.metrics.end(), fits))
        reading.metrics.clear();
    std::erase_if(reading.metrics, [](const NamedNumber& one) { return one.bare.starts_with("HPO_"); });
}

void StepReader::take_reading(const Reading& reading) {
    if (beyond_.empty()) beyond_ = reading.beyond;
    std::vector<WantedMetrics::Value> values = wanted_.find_in(reading);
    const auto objective =
        std::find_if(values.begin(), values.end(), [&](auto& one) { return one.name == needs_.objective; });
    if (objective == values.end() || needs_.reports > 1) return take_values(reading, values);
    if (!objective->replaced.empty()) reports_ = {};  // they were of another metric
    using Verdict = Reports::Verdict;
    const string_view before = string_view(reading.text).substr(0, reading.text.find(objective->bare));
    const Verdict verdict =
        reports_.judge({.value = objective->number,
                        .form = (reading.announced_best ? "best " : "") + form_of(reading.text, objective->bare),
                        .line = reading.text.substr(0, max_quoted_bytes),
                        .content = content_of(reading),
                        .epoch = reading.epoch ? reading.epoch : epoch_,
                        .announced = reading.announced_best,
                        .names_epoch = reading.epoch.has_value(),
                        .numbered = before.find_first_of("0123456789") != string_view::npos,
                        .count = count_in(reading),
                        .reached = reached_,
                        .round = subjects_.round(),
                        .running = reading.running,
                        .progress = reading.progress,
                        .unfinished = tells_progress(reading),
                        .subject = subjects_.of(reading, objective->bare),
                        .named = repetitions_in(reading.text)});
    if (!is_report(*objective)) return take_values(reading, values);
    if (verdict == Verdict::counts_waiting || verdict == Verdict::waits_anew) take_waiting();
    if (verdict == Verdict::counts) waiting_.reset();
    if (verdict == Verdict::waits || verdict == Verdict::waits_anew) {
        waiting_ = reading;
    } else if (verdict == Verdict::none) {
        for (const WantedMetrics::Value& value : values)
            if (phase_ != Phase::before) late_[value.name] = value.number;
    } else {
        take_values(reading, values);
    }
}

void StepReader::take_waiting() {
    if (!waiting_) return;
    const Reading reading = *std::exchange(waiting_, {});
    take_values(reading, wanted_.find_in(reading));
}

bool StepReader::is_report(const WantedMetrics::Value& value) const {
    return value.name == needs_.objective && (value.replaced.empty() || !open_.contains(needs_.objective));
}

void StepReader::take_values(const Reading& reading, const std::vector<WantedMetrics::Value>& values) {
    if (phase_ != Phase::before && begins_step(reading, values)) begin_step();
    if (reading.epoch) epoch_ = reading.epoch;
    bool reports = false;
    for (const WantedMetrics::Value& value : values) {
        const bool is_new = !open_.contains(value.name);
        if (is_new && open_.size() + 1 + needs_.others.size() >= max_metrics && !is_needed(value.name)) {
            if (beyond_.empty()) beyond_ = value.name;
            continue;
        }
        if (!value.replaced.empty() && !is_new) open_[value.replaced] = open_[value.name];
        open_[value.name] = value.number;
        last_at_ = now_;
        const bool is_objective = value.name == needs_.objective;
        reports = reports || (is_objective && (value.replaced.empty() || is_new));
        if (is_objective || !is_new || phase_ == Phase::before) continue;
        followers_.insert(value.name);
        if (phase_ == Phase::given) late_[value.name] = value.number;
    }
    if (reports && ++reported_ == needs_.reports) {
        phase_ = Phase::after;
        objective_at_ = now_;
    }
    const auto is_here = [&](const string& name) { return open_.contains(name); };
    const bool all_here = given_ > 0 && !irregular_ && std::all_of(expected_.begin(), expected_.end(), is_here);
    if (phase_ == Phase::after && all_here && has_needed()) give();
}

/// Returns true if a line is about the step after the one whose objective has been read.
bool StepReader::begins_step(const Reading& reading, const std::vector<WantedMetrics::Value>& values) const {
    if (std::any_of(values.begin(), values.end(), [&](auto& one) { return is_report(one); })) return true;
    if (reading.epoch && epoch_) return *reading.epoch != *epoch_;
    return std::any_of(values.begin(), values.end(), [&](const WantedMetrics::Value& one) {
        return open_.contains(one.name) && one.replaced.empty() && !is_general(one.name);
    });
}

void StepReader::begin_step() {
    if (phase_ == Phase::after) give();
    irregular_ = irregular_ || (given_ > 1 && followers_ != expected_);
    expected_ = std::exchange(followers_, {});
    spared_.clear();
    for (const string& name : needs_.others)
        if (!open_.contains(name)) spared_.insert(name);
    previous_at_ = objective_at_;
    open_.clear();
    late_.clear();
    reported_ = 0;
    phase_ = Phase::before;
}

void StepReader::give() {
    ready_.push_back({open_, objective_at_});
    ++given_;
    phase_ = Phase::given;
    wanted_.settle();
}

/// Returns true if the step has the metrics that the study needs. Metrics that the step before lacked may be missing,
/// except in the last step, which is waited for.
bool StepReader::has_needed() const {
    const bool is_last = given_ + 1 == needs_.epochs;
    return std::all_of(needs_.others.begin(), needs_.others.end(), [&](const string& name) {
        return open_.contains(name) || (!is_last && spared_.contains(name));
    });
}

bool StepReader::is_needed(const string& name) const {
    return name == needs_.objective ||
           std::find(needs_.others.begin(), needs_.others.end(), name) != needs_.others.end();
}

bool StepReader::fits_needed(const NamedNumber& metric) const {
    const auto names = names_in(needs_);
    return std::any_of(names.begin(), names.end(), [&](const string& name) {
        return fit(metric.name, name) != Fit::none || fit(metric.bare, name) != Fit::none;
    });
}

std::optional<double> StepReader::waits_until() const {
    if (phase_ != Phase::after || !has_needed() || (given_ == 0 && wanted_.is_doubtful(needs_.objective))) return {};
    return last_at_ + std::clamp(pause_share * (objective_at_ - previous_at_), least_pause, longest_pause);
}

void StepReader::wait_over(double now) {
    if (const auto until = waits_until(); until && now >= *until) give();
}

std::optional<Step> StepReader::take() {
    if (ready_.empty()) return {};
    Step first = std::move(ready_.front());
    ready_.pop_front();
    return first;
}

string StepReader::warning() {
    if (string text = reader_->warning(); !text.empty()) return text;
    if (string text = wanted_.warning(); !text.empty()) return text;
    if (string text = reports_.warning(); !text.empty()) return text;
    return not_kept();
}

string StepReader::refusal() const {
    if (needs_.by_patterns || needs_.reports > 1) return {};
    return wanted_.refusal().empty() ? reports_.refusal() : wanted_.refusal();
}

/// Counts how often the objective changes in a line that is drawn again.
void StepReader::note_redrawn(const Reading& reading) {
    const NamedNumber* const objective = objective_in(reading, needs_.objective);
    if (objective == nullptr) return;
    redrawn_changes_ += redrawn_ && *redrawn_ != objective->number ? 1 : 0;
    redrawn_ = objective->number;
}

/// Notes a line where something behind the objective's name is no number that can be read: "val_loss: <0.001".
void StepReader::note_unread(string_view text, const Reading& reading) {
    const auto is_objective = [&](const string& name) { return fit(name, needs_.objective) != Fit::none; };
    if (listed_.empty() && std::any_of(reading.listed.begin(), reading.listed.end(), is_objective))
        listed_ = trim(text).substr(0, max_quoted_bytes);
    if (!unread_.empty() || !reading.listed.empty()) return;
    if (std::any_of(reading.unread.begin(), reading.unread.end(),
                    [&](const string& column) { return fit(column, needs_.objective) <= Fit::spelling; }))
        unread_ = trim(text).substr(0, max_quoted_bytes);
    const string printed = wanted_.printed_bare(needs_.objective), &name = printed.empty() ? needs_.objective : printed;
    if (!unread_.empty()) return;
    const auto at = text.find(name);
    if (at == string_view::npos || (at > 0 && (is_letter(text[at - 1]) || is_digit(text[at - 1])))) return;
    const string_view behind = text.substr(at + name.size());
    if (behind.empty() || string_view(" \t:=").find(behind.front()) == string_view::npos) return;
    string_view rest = trim(behind);
    const bool separated = rest.starts_with(':') || rest.starts_with('=');
    if (separated) rest = trim(rest.substr(1));
    if (printed.empty()) {  // a line of too many names is told of elsewhere
        const string_view word = rest.substr(0, rest.find_first_of(" \t,;)]"));
        if (const auto number = leading_number(word); number && number->second == word.size()) return;
    }
    if (!separated) {  // "val_acc <- the best", "loss 0.9 is better than 0.95", "loss 3/10: ..." of a batch
        const string_view word = rest.substr(0, rest.find_first_of(" \t,;:)]"));
        const auto number = leading_number(word);
        const string_view after = trim(rest.substr(word.size()));
        if (after.starts_with('=') || after.starts_with(':')) return;  // "acc 0to5 = 0.9"
        if (word.empty() || !is_digit(word[0]) || is_ratio(word) || (number && number->second == word.size())) return;
    }
    if (is_bar(rest)) return;  // "mAP@.5:.95: 100%|####| 50/50" heads a table
    if (rest.empty() || (!is_digit(rest[0]) && string_view("<>~+-.").find(rest[0]) == string_view::npos)) return;
    const bool read = std::any_of(reading.metrics.begin(), reading.metrics.end(), [&](const NamedNumber& one) {
        return one.bare == name || one.name == name || one.name.ends_with(name);
    });
    if (!read) unread_ = trim(text).substr(0, max_quoted_bytes);
}

/// Notes the first metric whose name is too long. Words of a sentence before a number are none.
void StepReader::note_too_long(string_view text, const Reading& reading) {
    const string& name = reading.too_long;
    const bool metric = has_metric_word(name) || text.find(name) != string_view::npos;
    if (too_long_.empty() && !name.empty() && metric) too_long_ = name.substr(0, max_quoted_bytes);
}

/// Notes the first number of a line that may be one or several. Beside an objective that is read it is of something
/// else, unless its name ends as that of the objective does.
void StepReader::note_ambiguous(string_view text, const Reading& reading) {
    if (reading.ambiguous.empty() || ambiguous_is_objective_) return;
    const auto last_word = [](string_view name) { return lower_case(name.substr(name.find_last_of("_-/. ") + 1)); };
    ambiguous_is_objective_ = last_word(reading.name_of_ambiguous) == last_word(needs_.objective);
    if (!ambiguous_.empty() && !ambiguous_is_objective_) return;
    ambiguous_ =
        "'" + reading.ambiguous + "' is not read, since " +
        (reading.ambiguous.find(',') != string::npos ? "its comma may be decimal or of thousands"
                                                     : "it may be one number or several") +
        ": print a point, as in 0.25, and no groups of digits. The line: " + string(text.substr(0, max_quoted_bytes));
}

string StepReader::not_kept() {
    const auto is_found = [&](const string& name) { return !wanted_.printed_bare(name).empty(); };
    if (!listed_.empty() && !is_found(needs_.objective) && !std::exchange(told_listed_, true))
        return "a line has several records with '" + needs_.objective +
               "' and is left out: print each record on a line of its own. The line: " + listed_;
    const auto needed = names_in(needs_);
    const bool all_found = std::all_of(needed.begin(), needed.end(), is_found);
    if (!ambiguous_.empty() && (ambiguous_is_objective_ || !all_found) && !std::exchange(told_ambiguous_, true))
        return ambiguous_;
    if (!bar_.empty()) return std::exchange(bar_, {});
    if (!unread_.empty() && !std::exchange(told_unread_, true))
        return "'" + needs_.objective + "' has no number that can be read in this line, which is left out: " + unread_;
    const bool long_line =
        std::any_of(screens_.begin(), screens_.end(), [](const Screen& one) { return one.dropped() > 0; });
    if (long_line && !std::exchange(told_long_line_, true))
        return "a line of its output has more than " + std::to_string(max_text_line / 1024) +
               " KiB and is not read: print metrics on shorter lines";
    if (!too_long_.empty() && !std::exchange(told_too_long_, true))
        return "a name of more than " + std::to_string(max_name_bytes) + " bytes is not kept: print '" + too_long_ +
               "' under a shorter one";
    if (!beyond_.empty() && !std::exchange(told_beyond_, true))
        return "of more than " + std::to_string(max_metrics - 1) + " metrics of a step the first are kept, and '" +
               beyond_ + "' is not: print fewer";
    return {};
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
    for (string_view rest = needs_.objective; !rest.empty();) {
        const auto end = rest.find_first_of("_/.-");
        const string part = letters(rest.substr(0, end));
        if (part.size() > 1 && line.find(part) != string::npos) likeness += 2;
        rest.remove_prefix(end == string_view::npos ? rest.size() : end + 1);
    }
    if (line.find(letters(needs_.objective)) != string::npos) likeness += 10;
    if (likeness <= likeness_) return;
    likeness_ = likeness;
    nearest_ = trim(text).substr(0, max_quoted_bytes);
}

}  // namespace hpo::script
