// Judges which lines with the objective report a step. Scripts also quote it: a new best, a loaded checkpoint, the best
// at the end, the average so far of a batch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "orchestrator/script/syntax/subjects.hpp"

namespace hpo::script {

/// A line with the objective.
struct Report {
    double value = 0;
    std::string form;               ///< form_of() of the line
    std::string line;               ///< quoted in warnings
    std::string content;            ///< all its numbers with their names
    std::optional<double> epoch;    ///< the one that the line or one before it names
    bool announced = false;         ///< by the line before it, as that of the best model
    bool names_epoch = false;       ///< true if the line itself names the epoch
    bool numbered = false;          ///< true if a number stands before the objective
    std::optional<double> count;    ///< the number of a step or an iteration in the line
    std::optional<double> reached;  ///< the last step or iteration that a line has named
    std::optional<double> round;    ///< the one that the line or one before it names
    bool running = false;           ///< an average so far, on a line with the progress of its batches
    std::optional<std::pair<std::int64_t, std::int64_t>> progress;
    bool unfinished = false;  ///< true if the line tells how far an epoch is: "batch 3", "iter 4/40"
    Subject subject{};        ///< that the value is of
    Subject named{};          ///< the repetitions that the line itself names
};

/// Returns the words before `name` in a line, in lower case, without those that hold digits, levels of logs, months and
/// days, and the signs around the name. Lines of one print statement have one form.
std::string form_of(std::string_view line, std::string_view name);

/// Returns true for a line of words that announces the best result in the next one: "Best iteration is:".
bool announces_best(std::string_view line);

/// Returns true for a line such as "Validating runs/weights/best.pt...", which results of the best model follow.
bool evaluates_best(std::string_view line);

/// Returns true for a form with a word of quotations, such as best, loaded or target.
bool quotes(std::string_view form);

/// Reports are lines of one form. A quotation, or an average so far, waits until it is known that nothing better
/// reports the objective. Lines of another form do not report it again in the same epoch, nor where they repeat a
/// value.
class Reports {
   public:
    enum class Verdict : std::uint8_t {
        counts,          ///< reports a step; what waits is no report
        counts_waiting,  ///< reports a step, as what waits does
        waits,           ///< may report a step, and what waited before is none
        waits_anew,      ///< may report a step, and what waits does report one
        none             ///< is no report
    };
    Verdict judge(const Report& report);

    /// Returns a warning about lines of several kinds. Later calls return an empty text.
    std::string warning() { return std::exchange(warning_, {}); }

    /// Returns the reason for which the last report is no result of the whole, with the cure: it is of one of several
    /// folds, and no report of all has followed. Returns an empty text if there is none.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }

   private:
    /// The reports of the folds of an output, or of its seeds.
    struct Repeated {
        std::string first, text;        ///< the numbers of the first one and the last one
        std::string line;               ///< the first line of all
        std::int64_t count = 0;         ///< reports of the last one
        std::int64_t count_before = 0;  ///< of the one before it
        bool several = false;
    };

    /// A report's place among the epochs.
    struct Place {
        bool new_epoch = false;     ///< true if it is not of the epoch before
        bool begins_epoch = false;  ///< true if its line names a later epoch than the lines before
        bool again = false;         ///< true if its epoch has a report
    };
    using Judgement = std::optional<Verdict>;  ///< of a rule; nothing if the rule does not apply
    using Rule = Judgement (Reports::*)(const Report& report, const Place& place);
    static const Rule rules[];

    Judgement line_twice(const Report& report, const Place& place);
    Judgement average_waits(const Report& report, const Place& place);
    Judgement average_beside_reports(const Report& report, const Place& place);
    Judgement quotation(const Report& report, const Place& place);
    Judgement status_of_first_epoch(const Report& report, const Place& place);
    Judgement nothing_waits(const Report& report, const Place& place);
    Judgement line_again(const Report& report, const Place& place);
    Judgement content_again(const Report& report, const Place& place);
    Judgement epoch_of_another_stream(const Report& report, const Place& place);
    Judgement end_of_another_loop(const Report& report, const Place& place);
    Judgement line_of_known_form(const Report& report, const Place& place);
    Judgement rounded_value_again(const Report& report, const Place& place);
    Judgement end_of_epoch(const Report& report, const Place& place);
    Judgement epoch_again(const Report& report, const Place& place);
    Judgement value_of_another_form(const Report& report, const Place& place);
    Judgement line_of_new_form(const Report& report, const Place& place);

    [[nodiscard]] bool known(const Report& report) const;
    /// Returns true for the metrics of the last report with other numbers than any report has had.
    [[nodiscard]] bool has_new_numbers(const Report& report) const;
    /// Returns true if the value, or one of fewer digits or more, has counted.
    [[nodiscard]] bool repeats_rounded(const Report& report) const;
    Verdict count(const Report& report, Verdict verdict, bool again = false);
    void remember(const Report& report, bool again = false);
    void note_several(const Report& report, bool again);
    void note_repetitions(const Report& report, bool goes_on);
    void warn(std::string text);
    void warn_of_epoch(const std::string& line, const std::string& other);
    void warn(const Report& report, const std::string& fate);

    std::string form_;          ///< of the lines that count
    std::string line_;          ///< the first of them
    bool found_ = false;        ///< true if a line that is no quotation and no running average counts
    bool unfinished_ = false;   ///< true if all lines that have counted in the epoch tell how far it is
    bool ends_report_ = false;  ///< true once a line at the end of an epoch has counted beside them
    std::optional<Report> waiting_;
    std::optional<double> epoch_;                                    ///< the last one that was named
    std::optional<double> counted_in_;                               ///< the epoch of the last report that counted
    std::optional<double> last_;                                     ///< its value
    std::string content_;                                            ///< all its numbers
    std::optional<std::pair<std::int64_t, std::int64_t>> progress_;  ///< of it
    std::set<std::string> forms_;     ///< further ones of lines that count, at most most_values
    std::set<std::string> lines_;     ///< that have counted and are numbered, at most most_values
    std::set<std::string> contents_;  ///< of reports, at most most_values
    std::string line_of_last_;
    std::optional<double> reached_, round_;                                ///< of the last report that counted
    std::map<std::string, std::pair<std::string, std::string>> subjects_;  ///< the first of each key, and its line
    std::map<std::string, Repeated> repeated_;                             ///< of each key, such as fold
    std::string refusal_;
    std::set<double> values_;  ///< that have counted, at most most_values
    std::map<std::pair<double, double>, std::string>
        reported_;  ///< epochs that lines name, with their values: the lines
    std::string warning_;
    bool warned_ = false;
};

}  // namespace hpo::script
