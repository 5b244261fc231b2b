// Groups the metrics that a script's lines hold into steps.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/redraws.hpp"
#include "orchestrator/script/syntax/reports.hpp"
#include "orchestrator/script/syntax/screen.hpp"
#include "orchestrator/script/syntax/wanted.hpp"

namespace hpo::script {

/// The metrics that a study needs of its script's steps.
struct StepNeeds {
    std::string objective;
    std::vector<std::string> others{};  ///< metrics of further objectives and of constraints
    std::int64_t reports = 1;           ///< of the objective, that make one step
    std::int64_t epochs = 0;            ///< steps of the trial; 0 if unknown
    bool by_patterns = false;           ///< patterns of the study choose the lines that count
};

struct Step {
    Metrics metrics;
    double at = 0;  ///< when its objective was read
};

/// Groups lines into steps. A step has all metrics that were read up to its objective since the previous step, and
/// those after the objective until the next step begins: with the next epoch, or with a metric that the step already
/// has. If a name occurs repeatedly before the objective, its last value counts.
///
/// A step is ready to be taken when the next one begins; at the end; or as soon as it has the needed metrics and the
/// metrics that followed the objective in the step before. As long as that is unknown, in the first step, a pause of a
/// tenth of the step's time also makes it ready. An unfinished step at the end is dropped unless there was no other.
class StepReader {
   public:
    static constexpr std::size_t streams = 2;

    StepReader(std::unique_ptr<LineReader> reader, StepNeeds needs);

    /// Reads bytes of a stream. Lines of different streams are kept apart. `now` is in seconds and never decreases.
    void feed(std::string_view bytes, std::size_t stream = 0, double now = 0);
    /// Takes the metrics of a line, or of a record of a file, that was read elsewhere.
    void add(const Metrics& found, std::string_view text, double now = 0);
    /// Reads the last line if it has no newline, without the number at its end if the program was killed, since a part
    /// of it may be missing. Must be called at the end.
    void finish(bool killed = false);
    /// Returns when wait_over() makes a step ready if nothing is read before.
    [[nodiscard]] std::optional<double> waits_until() const;
    void wait_over(double now);

    /// Returns the oldest step that is ready, or nothing if there is none.
    std::optional<Step> take();
    [[nodiscard]] std::size_t waiting() const { return ready_.size(); }
    /// Returns the metrics that were read after the last step and belong to no other.
    [[nodiscard]] const Metrics& closing() const { return late_; }

    /// Returns the metrics read since the last step.
    [[nodiscard]] const Metrics& seen() const { return open_; }
    /// Returns the line that most resembles a report of the objective, as long as the objective has not been read. May
    /// be empty.
    [[nodiscard]] const std::string& nearest() const { return nearest_; }
    /// Returns the reason for which the values so far are not the objective of the trial, with the cure: the last one
    /// is of one of several folds, or the objective's very name was printed later than one that was used in its place.
    /// Returns an empty text if there is none, and where patterns choose the lines.
    [[nodiscard]] std::string refusal() const;
    /// Returns a warning of LineReader or WantedMetrics, or about printed metrics that are not kept. Each is given
    /// once.
    [[nodiscard]] std::string warning();

   private:
    enum class Phase : std::uint8_t {
        before,  ///< the objective has not been read
        after,   ///< the objective has been read, and further metrics may follow
        given    ///< the step is ready, and the next one has not begun
    };

    void line(std::string_view text, bool redrawn, std::size_t stream);
    void leave_out_settings(std::string_view text, Reading& reading);
    [[nodiscard]] bool fits_needed(const NamedNumber& metric) const;
    void take_reading(const Reading& reading);
    void take_values(const Reading& reading, const std::vector<WantedMetrics::Value>& values);
    [[nodiscard]] bool is_report(const WantedMetrics::Value& value) const;
    void take_waiting();
    [[nodiscard]] bool begins_step(const Reading& reading, const std::vector<WantedMetrics::Value>& values) const;
    void begin_step();
    void give();
    [[nodiscard]] bool has_needed() const;
    [[nodiscard]] bool is_needed(const std::string& name) const;
    void consider(std::string_view text);
    void note_unread(std::string_view text, const Reading& reading);
    void note_too_long(std::string_view text, const Reading& reading);
    void note_ambiguous(std::string_view text, const Reading& reading);
    void note_redrawn(const Reading& reading);
    [[nodiscard]] std::string not_kept();

    std::unique_ptr<LineReader> reader_;
    StepNeeds needs_;
    WantedMetrics wanted_;
    std::array<Screen, streams> screens_{Screen{max_text_line}, Screen{max_text_line}};
    std::array<Redraws, streams> redraws_;
    double now_ = 0;

    Reports reports_;
    std::optional<Reading> waiting_;  ///< with an objective that may be no report

    Phase phase_ = Phase::before;
    Metrics open_;                           ///< of the step that has begun
    std::int64_t reported_ = 0;              ///< reports of the objective in it
    std::optional<double> epoch_;            ///< the last one that was printed
    std::optional<double> reached_;          ///< the last step or iteration that was printed
    Subjects subjects_;                      ///< of the lines so far
    bool best_follows_ = false;              ///< true if the line before announced the best result
    bool evaluates_best_ = false;            ///< true if a line said that the best model is evaluated, until it is
    std::set<std::string> followers_;        ///< names that came after its objective
    Metrics late_;                           ///< metrics that came after the step was given
    double objective_at_ = 0, last_at_ = 0;  ///< when its objective and its last metric were read

    std::int64_t given_ = 0;          ///< number of steps
    std::set<std::string> expected_;  ///< the followers of the step before
    std::set<std::string> spared_;    ///< needed names that the step before lacked
    bool irregular_ = false;          ///< true if steps have different followers
    double previous_at_ = 0;          ///< objective_at_ of the step before

    std::string too_long_;              ///< the first metric that is not kept, since its name is too long
    std::string beyond_;                ///< the first metric that is not kept, since there are too many
    std::optional<double> redrawn_;     ///< the objective in a line that was drawn again
    std::int64_t redrawn_changes_ = 0;  ///< of it
    std::string bar_;                   ///< the warning that a bar may count epochs
    std::string listed_;                ///< the first line with several records that have the objective
    std::string unread_;     ///< the first line with the objective's name and no number behind it that can be read
    std::string ambiguous_;  ///< the warning of the first number that may be one or several
    bool ambiguous_is_objective_ = false;
    bool told_ambiguous_ = false, told_beyond_ = false, told_long_line_ = false, told_unread_ = false,
         told_listed_ = false, told_too_long_ = false;

    std::deque<Step> ready_;
    std::string nearest_;
    int likeness_ = 0;  ///< of `nearest_`
};

}  // namespace hpo::script
