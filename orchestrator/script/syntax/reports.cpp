#include "orchestrator/script/syntax/reports.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "orchestrator/script/syntax/metric_names.hpp"
#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

namespace {

constexpr std::size_t most_values = 10'000;
constexpr double rounding = 0.005;  ///< relative: a quotation may have fewer digits

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

bool same_but_rounded(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= rounding * std::abs(b);
}

}  // namespace

string form_of(string_view line, string_view name) {
    const string small = lower_case(line), wanted = lower_case(name);
    string_view before = string_view(small).substr(0, small.find(wanted));
    if (before.size() == small.size()) {  // a row of a table, which may have a label
        std::size_t label = 0;
        while (label < small.size() && is_letter(small[label])) ++label;
        before = before.substr(0, label);
    }
    string form;
    for (std::size_t at = 0; at < before.size();) {
        const auto end = std::min(before.find_first_of(" \t=:,;|()[]{}<>\"'", at), before.size());
        const string_view word = before.substr(at, end - at);
        at = end + 1;
        const bool plain = word.size() > 1 && std::all_of(word.begin(), word.end(), [](char c) {
                               return is_letter(c) || c == '-' || c == '_' || c == '.' || c == '!';
                           });
        if (plain && !is_word_of(word, passing_words)) form += (form.empty() ? "" : " ") + string(word);
    }
    if (before.size() + wanted.size() >= small.size()) return form;
    if (string_view("'\"").find(before.empty() ? ' ' : before.back()) != string_view::npos) form += before.back();
    const auto sign = small.find_first_not_of(" \t'\"", before.size() + wanted.size());
    if (sign != string::npos && string_view(":=").find(small[sign]) != string_view::npos) form += small[sign];
    return form;
}

bool quotes(string_view form) {
    for (std::size_t at = 0; at < form.size();) {
        const auto end = std::min(form.find_first_of(" -_.!:='\"", at), form.size());
        if (is_word_of(form.substr(at, end - at), quoting_words)) return true;
        at = end + 1;
    }
    return false;
}

Reports::Verdict Reports::judge(const Report& report) {
    const bool new_epoch = report.epoch && epoch_ != report.epoch;
    // A status may stand before the value: "epoch 3, improved: 0.7", "epoch 4, no gain: 0.7".
    // A bar over batches may still show the value of the epoch before.
    const bool bar = report.progress && report.epoch && static_cast<double>(report.progress->first) != *report.epoch;
    const bool stale = bar && last_ && *last_ == report.value;
    const bool begins_epoch = report.names_epoch && epoch_ && *report.epoch > *epoch_ && !stale;
    if (report.epoch) epoch_ = report.epoch;
    if (report.running && !found_) {
        const bool again = waiting_ && waiting_->running &&
                           (new_epoch || (report.progress && waiting_->progress &&
                                          report.progress->first <= waiting_->progress->first));
        const std::optional<Report> before = std::exchange(waiting_, report);
        if (again) remember(*before);
        return again ? Verdict::waits_anew : Verdict::waits;
    }
    if (report.running) return Verdict::none;
    if (quotes(report.form) && report.form != form_ && !(found_ && begins_epoch)) {
        if (found_) {
            if (!known(report)) warn(report, "the latter is taken for a quotation, which is no step");
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
    if (waiting_ && !waiting_->running && waiting_->names_epoch && *waiting_->epoch <= 1 && begins_epoch) {
        count(*std::exchange(waiting_, {}), Verdict::counts_waiting);
        forms_.insert(report.form);
        return count(report, Verdict::counts_waiting);
    }
    waiting_.reset();
    // By a logger as well as by print, or as the best of all at the end: "[3] valid_0's auc: 0.9".
    if (report.numbered && report.line != line_of_last_ && lines_.contains(report.line)) return Verdict::none;
    const bool again = found_ && report.epoch && !new_epoch && counted_in_ == epoch_;
    if (again && report.content == content_) return Verdict::none;  // by a logger and by print
    if (again && report.form == form_)
        warn("its epoch has several lines with the objective, and each is a step: '" + line_ + "', '" + report.line +
             "'; print it once an epoch, or set worker.step to their number in a step");
    if (!found_ || report.form == form_) return count(report, Verdict::counts);
    const bool known_form = forms_.contains(report.form);
    if (!begins_epoch) {
        if (last_ && same_but_rounded(report.value, *last_)) return Verdict::none;
        if (epoch_ && counted_in_ == epoch_) {
            if (!known(report)) warn(report, "the latter is no step, since its epoch has reported already");
            return Verdict::none;
        }
        if (!known_form && values_.size() > 1 && known(report)) return Verdict::none;
    }
    if (!known_form) warn(report, "both count as steps");
    if (forms_.size() < most_values) forms_.insert(report.form);
    return count(report, Verdict::counts);
}

bool Reports::known(const Report& report) const { return values_.contains(report.value); }

Reports::Verdict Reports::count(const Report& report, Verdict verdict) {
    if (!found_) form_ = report.form, line_ = report.line;
    found_ = true;
    remember(report);
    return verdict;
}

void Reports::remember(const Report& report) {
    counted_in_ = epoch_;
    last_ = report.value;
    content_ = report.content;
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
