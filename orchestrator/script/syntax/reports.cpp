#include "orchestrator/script/syntax/reports.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "orchestrator/script/syntax/metric_names.hpp"
#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

namespace {

constexpr std::size_t most_values = 10'000;

constexpr string_view passing_words[] = {
    "info", "debug", "warn", "warning", "error", "trace", "notice", "critical", "mon", "tue", "wed", "thu",
    "fri",  "sat",   "sun",  "jan",     "feb",   "mar",   "apr",    "may",      "jun", "jul", "aug", "sep",
    "oct",  "nov",   "dec",  "am",      "pm",    "utc",   "ms",     "sec",      "min", "eta", "it",  "us"};
constexpr string_view quoting_words[] = {"best",      "loaded",   "loading",   "target",  "resume",   "resumed",
                                         "resuming",  "restored", "restoring", "initial", "baseline", "sanity",
                                         "namespace", "config",   "args",      "saved",   "saving",   "checkpoint",
                                         "improved",  "previous", "prev",      "before",  "final",    "wandb",
                                         "threshold", "goal",     "untrained", "from"};

template <std::size_t n>
bool is_word_of(string_view word, const string_view (&words)[n]) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

/// Returns true if `longer` is `line` behind what a logger adds: "INFO: epoch 1 ...", but not "11: ..." of "1: ...".
bool is_logged(string_view longer, string_view line) {
    if (longer.size() <= line.size() || !longer.ends_with(line)) return false;
    return string_view(" \t:]").find(longer[longer.size() - line.size() - 1]) != string_view::npos;
}

/// Returns true if the line has a time with fractions of a second, which no other report has: 07:28:46,538.
bool has_fine_clock(string_view line) {
    constexpr string_view shape = "00:00:00.000";
    const auto fits = [](char c, char like) {
        return like == '0' ? is_digit(c) : like == '.' ? c == '.' || c == ',' : c == like;
    };
    return std::search(line.begin(), line.end(), shape.begin(), shape.end(), fits) != line.end();
}

std::vector<string_view> quoting_words_in(string_view form) {
    std::vector<string_view> found;
    for (std::size_t at = 0; at < form.size();) {
        const auto end = std::min(form.find_first_of(" -_.!:='\"", at), form.size());
        const string_view word = form.substr(at, end - at);
        if (is_word_of(word, quoting_words)) found.push_back(word);
        at = end + 1;
    }
    return found;
}

/// Returns true for a form whose quoting word is "final" alone.
bool is_final(string_view form) { return quoting_words_in(form) == std::vector<string_view>{"final"}; }

/// Returns the names of a report's content.
string names_in(string_view content) {
    string names;
    for (bool named = true; const char c : content) {
        if (c == '=' || c == ' ') named = c == ' ';
        if (named) names += c;
    }
    return names;
}

/// Returns the cure of several results whose subjects differ at `key`.
const char* cure_of(const string& key) {
    return is_repetition(key)
               ? "print their mean at the end and set objective.metric to its name, as in mean_acc"
               : "train one in a trial, or print the result that counts last and set objective.metric to its name";
}

}  // namespace

string form_of(string_view line, string_view name) {
    const string small = lower_case(line);
    string wanted = lower_case(name);
    if (small.find(wanted) == string::npos) std::replace(wanted.begin(), wanted.end(), '_', ' ');  // "val loss"
    string_view before = string_view(small).substr(0, small.find(wanted));
    const bool row = before.size() == small.size();
    if (row) {  // of a table, which may have a label
        std::size_t label = 0;
        while (label < small.size() && is_letter(small[label])) ++label;
        before = before.substr(0, label);
    }
    string form;
    for (std::size_t at = 0; at < before.size();) {
        const auto end = std::min(before.find_first_of(" \t=:,;|()[]{}<>\"'", at), before.size());
        const string_view word = before.substr(at, end - at);
        at = end + 1;
        const bool plain = word.size() > 1 && std::any_of(word.begin(), word.end(), is_letter) &&
                           std::all_of(word.begin(), word.end(), [](char c) {
                               return is_letter(c) || c == '-' || c == '_' || c == '.' || c == '!';
                           });
        if (plain && !is_word_of(word, passing_words)) form += (form.empty() ? "" : " ") + string(word);
    }
    if (row || before.size() + wanted.size() >= small.size()) return form;
    if (string_view("'\"").find(before.empty() ? ' ' : before.back()) != string_view::npos) form += before.back();
    const auto sign = small.find_first_not_of(" \t'\"", before.size() + wanted.size());
    if (sign != string::npos && string_view(":=").find(small[sign]) != string_view::npos) form += small[sign];
    return form;
}

bool announces_best(string_view line) {
    line = trim(line);
    if (!line.ends_with(':') || line.find_first_of("=|{") != string_view::npos) return false;
    const std::string small = lower_case(line);
    return small.starts_with("best ") || small.find(" best ") != std::string::npos;
}

bool evaluates_best(string_view line) {
    constexpr string_view verbs[] = {"validating", "evaluating", "testing", "loading",
                                     "loaded",     "restoring",  "restored"};
    const std::string small = lower_case(trim(line));
    const bool begins =
        std::any_of(std::begin(verbs), std::end(verbs), [&](string_view verb) { return small.starts_with(verb); });
    return begins && small.find("best") != std::string::npos;
}

bool quotes(string_view form) { return !quoting_words_in(form).empty(); }

// The first rule that applies decides. A further rule is a function with its reason, and its place in this table.
constexpr Reports::Rule Reports::rules[] = {
    &Reports::line_twice,          &Reports::average_waits,         &Reports::average_beside_reports,
    &Reports::quotation,           &Reports::status_of_first_epoch, &Reports::nothing_waits,
    &Reports::line_again,          &Reports::content_again,         &Reports::epoch_of_another_stream,
    &Reports::end_of_epoch,        &Reports::end_of_another_loop,   &Reports::line_of_known_form,
    &Reports::rounded_value_again, &Reports::epoch_again,           &Reports::value_of_another_form,
    &Reports::line_of_new_form,
};

Reports::Verdict Reports::judge(const Report& report) {
    const bool new_epoch = report.epoch && epoch_ != report.epoch;
    // A bar over batches may still show the value of the epoch before.
    const bool bar = report.progress && report.epoch && static_cast<double>(report.progress->first) != *report.epoch;
    const bool stale = bar && last_ && *last_ == report.value;
    const bool begins_epoch = report.names_epoch && epoch_ && *report.epoch > *epoch_ && !stale;
    if (report.epoch) epoch_ = report.epoch;
    const bool again = found_ && report.epoch && !new_epoch && counted_in_ == epoch_ && report.round == round_;
    const Place place{.new_epoch = new_epoch, .begins_epoch = begins_epoch, .again = again};
    for (const Rule rule : rules)
        if (const auto verdict = (this->*rule)(report, place)) return *verdict;
    return Verdict::none;
}

/// A logger with two handlers prints each line twice, with one time.
Reports::Judgement Reports::line_twice(const Report& report, const Place&) {
    const bool twice = report.line == (waiting_ ? waiting_->line : line_of_last_) &&
                       report.content == (waiting_ ? waiting_->content : content_) && has_fine_clock(report.line);
    if (!twice) return {};
    return waiting_ ? Verdict::waits : Verdict::none;
}

/// An average so far waits for a better one of its epoch, or for a line without progress. The one before reports the
/// last epoch or round if another begins.
Reports::Judgement Reports::average_waits(const Report& report, const Place& place) {
    if (!report.running || found_) return {};
    const bool restarts =
        waiting_ && report.progress && waiting_->progress && report.progress->first <= waiting_->progress->first;
    const bool again = waiting_ && waiting_->running && (place.new_epoch || restarts);
    const std::optional<Report> before = std::exchange(waiting_, report);
    if (!again) return Verdict::waits;
    remember(*before);
    if (report.epoch && !place.new_epoch) warn_of_epoch(before->line, report.line);
    return Verdict::waits_anew;
}

/// Lines without progress report, so that averages so far do not.
Reports::Judgement Reports::average_beside_reports(const Report& report, const Place&) {
    return report.running || (ends_report_ && report.unfinished) ? Judgement{Verdict::none} : Judgement{};
}

/// Best values and the like are quoted, unless the last evaluation has a value of its own ("Final evaluation | val
/// loss: 0.4"). But a status may stand before the value of a new epoch: "epoch 3, improved: 0.7", "epoch 4, no gain:
/// 0.7". The first quotation waits: with a second one of its form they are the reports.
Reports::Judgement Reports::quotation(const Report& report, const Place& place) {
    if (!quotes(report.form) || report.form == form_ || (found_ && place.begins_epoch)) return {};
    if (found_ && is_final(report.form) && !report.announced && !repeats_rounded(report)) {
        warn(report, "both count as steps");
        return count(report, Verdict::counts);
    }
    if (found_) {
        if (!known(report) && !report.announced) warn(report, "the latter is taken for a quotation, which is no step");
        return Verdict::none;
    }
    if (!waiting_ || waiting_->running || waiting_->form != report.form) {
        const bool running = waiting_ && waiting_->running;
        if (!running) waiting_ = report;
        return running ? Verdict::none : Verdict::waits;
    }
    count(*std::exchange(waiting_, {}), Verdict::counts_waiting);
    return count(report, Verdict::counts_waiting);
}

/// What waits was the status of the first epoch if this line begins the next one.
Reports::Judgement Reports::status_of_first_epoch(const Report& report, const Place& place) {
    if (!waiting_ || waiting_->running || !waiting_->names_epoch || *waiting_->epoch > 1 || !place.begins_epoch)
        return {};
    count(*std::exchange(waiting_, {}), Verdict::counts_waiting);
    forms_.insert(report.form);
    return count(report, Verdict::counts_waiting);
}

/// This line is better than what waits, which is no report.
Reports::Judgement Reports::nothing_waits(const Report&, const Place&) {
    waiting_.reset();
    return {};
}

/// A line that has counted is printed again by a logger as well, or as the best of all at the end: "[3] valid_0's auc:
/// 0.9". An epoch of its own, which another line names, may have a line as an earlier one, as in bars of Keras.
Reports::Judgement Reports::line_again(const Report& report, const Place& place) {
    const bool of_new_epoch = place.new_epoch && !report.names_epoch;
    const bool repeats =
        report.numbered && !of_new_epoch && report.line != line_of_last_ && lines_.contains(report.line);
    return repeats ? Judgement{Verdict::none} : Judgement{};
}

/// A logger and print show the same numbers of an epoch or a step. Another epoch may have the same numbers.
Reports::Judgement Reports::content_again(const Report& report, const Place& place) {
    const bool same_step = place.again || (report.count && !place.new_epoch);
    const bool more = place.again && report.content.starts_with(content_);  // further metrics behind those of the line
    return found_ && same_step && (more || report.content == content_) ? Judgement{Verdict::none} : Judgement{};
}

/// Another stream shows an earlier epoch with the value that has counted for it, and the same text behind or without
/// what a logger adds. Another fold's epoch, which may have the same value, has a line of the same kind.
Reports::Judgement Reports::epoch_of_another_stream(const Report& report, const Place& place) {
    if (!report.names_epoch || place.again || std::isnan(*report.epoch) || std::isnan(report.value)) return {};
    const auto before = reported_.find({*report.epoch, report.value});
    if (before == reported_.end()) return {};
    const bool repeats = is_logged(before->second, report.line) || is_logged(report.line, before->second);
    return repeats ? Judgement{Verdict::none} : Judgement{};
}

/// A full bar of another number of batches in an epoch that has reported is of other data, as that of Keras' evaluate()
/// behind fit().
Reports::Judgement Reports::end_of_another_loop(const Report& report, const Place& place) {
    const auto is_full = [](const auto& progress) { return progress && progress->first == progress->second; };
    const bool other = place.again && report.form == form_ && is_full(report.progress) && is_full(progress_) &&
                       report.progress->second != progress_->second;
    if (!other) return {};
    warn(report, "the latter is no step, since its epoch has reported already");
    return Verdict::none;
}

/// Lines of the first form report, as the first line of all does.
Reports::Judgement Reports::line_of_known_form(const Report& report, const Place& place) {
    if (found_ && report.form != form_) return {};
    return count(report, Verdict::counts, place.again);
}

/// A line of another form rounds the value of the last report.
Reports::Judgement Reports::rounded_value_again(const Report& report, const Place& place) {
    const bool repeats = !place.begins_epoch && last_ && same_but_rounded(report.value, *last_);
    return repeats ? Judgement{Verdict::none} : Judgement{};
}

/// A line that tells no progress reports the epoch better than those before it, which tell how far it is. Such lines
/// count no more from here on.
Reports::Judgement Reports::end_of_epoch(const Report& report, const Place& place) {
    const bool ends = found_ && unfinished_ && !report.unfinished && !report.progress && !place.begins_epoch &&
                      epoch_ && counted_in_ == epoch_ && !known(report) && !same_but_rounded(report.value, *last_);
    if (!ends) return {};
    warned_ = false;
    warn(report, "the former tell how far an epoch is, and from here on the latter alone count");
    ends_report_ = true;
    form_ = report.form;
    return count(report, Verdict::counts);
}

/// An epoch has one report.
Reports::Judgement Reports::epoch_again(const Report& report, const Place& place) {
    if (place.begins_epoch || !epoch_ || counted_in_ != epoch_) return {};
    if (!known(report) || has_new_numbers(report))
        warn(report, "the latter is no step, since its epoch has reported already");
    return Verdict::none;
}

/// A line of a form that has never counted shows a value that has: a summary.
Reports::Judgement Reports::value_of_another_form(const Report& report, const Place& place) {
    const bool summary = !place.begins_epoch && !forms_.contains(report.form) && values_.size() > 1 && known(report);
    return summary ? Judgement{Verdict::none} : Judgement{};
}

/// Scripts may print their reports in several ways.
Reports::Judgement Reports::line_of_new_form(const Report& report, const Place&) {
    if (!forms_.contains(report.form)) warn(report, "both count as steps");
    if (forms_.size() < most_values) forms_.insert(report.form);
    return count(report, Verdict::counts);
}

bool Reports::known(const Report& report) const { return values_.contains(report.value); }

bool Reports::has_new_numbers(const Report& report) const {
    const bool alike = names_in(report.content) == names_in(content_);
    return alike && std::count(report.content.begin(), report.content.end(), '=') > 1 &&
           !contents_.contains(report.content);
}

bool Reports::repeats_rounded(const Report& report) const {
    return std::any_of(values_.begin(), values_.end(),
                       [&](double value) { return same_but_rounded(report.value, value); });
}

Reports::Verdict Reports::count(const Report& report, Verdict verdict, bool again) {
    if (!found_) form_ = report.form, line_ = report.line;
    found_ = true;
    const bool goes_on = again && report.progress && (unfinished_ || report.unfinished);  // "iter 9/9" is of them, too
    unfinished_ = report.epoch && (report.unfinished || goes_on);
    remember(report, again);
    return verdict;
}

/// Tells that several lines report what has one value: an epoch, or several folds, of which the mean is wanted. Where
/// epochs or steps go on, headings may be of stages of one training.
void Reports::note_several(const Report& report, bool again) {
    if (again) warn_of_epoch(line_, report.line);
    const auto rises = [](const auto& now, const auto& before) { return now && before && *now > *before; };
    const bool goes_on = rises(epoch_, counted_in_) || rises(report.reached, reached_) || rises(report.round, round_);
    note_repetitions(report, goes_on);
    for (const auto& [key, text] : report.subject) {
        const auto [first, is_new] = subjects_.try_emplace(key, text, report.line);
        const bool differs = !is_new && first->second.first != text;
        if (!differs || (goes_on && !tells_trainings_apart(key))) continue;
        warn("its lines with the objective are " + difference_of(key, first->second.first, text) +
             ", and each is a step: '" + first->second.second + "', '" + report.line + "'; " + cure_of(key));
    }
}

/// Notes that a report is of one of several folds: its line names the fold, or is one of as many as the fold before
/// has. A further line below the heading of the last fold may be of all.
void Reports::note_repetitions(const Report& report, bool goes_on) {
    refusal_.clear();
    for (const auto& [key, text] : report.subject) {
        if (!is_part_of_result(key)) continue;
        Repeated& repeated = repeated_[key];
        if (repeated.count == 0) repeated.text = repeated.first = text, repeated.line = report.line;
        if (repeated.text != text) {
            repeated.several = repeated.several || !goes_on;
            repeated.count_before = std::exchange(repeated.count, 0);
            repeated.text = text;
        }
        ++repeated.count;
        const bool of_part = report.named.contains(key) || !is_repetition(key) ||
                             (repeated.count <= repeated.count_before && report.form == form_);
        if (repeated.several && of_part)
            refusal_ = "the last value of the objective is that of one " + key + ", and its lines are " +
                       difference_of(key, repeated.first, text) + ": '" + repeated.line + "', '" + report.line + "'; " +
                       cure_of(key);
    }
}

void Reports::warn_of_epoch(const string& line, const string& other) {
    warn("its epoch has several lines with the objective, and each is a step: '" + line + "', '" + other +
         "'; print it once an epoch, or set worker.step to their number in a step");
}

void Reports::remember(const Report& report, bool again) {
    note_several(report, again);
    counted_in_ = epoch_;
    reached_ = report.reached;
    round_ = report.round;
    last_ = report.value;
    content_ = report.content;
    if (contents_.size() < most_values) contents_.insert(content_);
    progress_ = report.progress;
    const bool is_named = report.names_epoch && !std::isnan(*report.epoch) && !std::isnan(report.value);
    if (is_named && reported_.size() < most_values) reported_.try_emplace({*report.epoch, report.value}, report.line);
    line_of_last_ = report.line;
    if (report.numbered && lines_.size() < most_values) lines_.insert(report.line);
    if (values_.size() < most_values && !std::isnan(report.value)) values_.insert(report.value);
}

void Reports::warn(string text) {
    if (!std::exchange(warned_, true)) warning_ = std::move(text);
}

void Reports::warn(const Report& report, const string& fate) {
    warn("lines of two kinds have the objective, '" + line_ + "' and '" + report.line + "': " + fate +
         "; worker.metrics.stdout takes a pattern for the lines that count");
}

}  // namespace hpo::script
