#include "orchestrator/observers/run_observers.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "hpo/open_trials.hpp"
#include "hpo/printable.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/engine/log_lines.hpp"
#include "orchestrator/observers/session_pools.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/store/event_codec.hpp"
#include "orchestrator/view/output.hpp"
#include "orchestrator/view/progress.hpp"
#include "orchestrator/view/summary.hpp"
#include "orchestrator/view/terminal.hpp"
#include "orchestrator/view/trial_lines.hpp"

namespace hpo {

namespace {

using view::Moment;

Moment moment(const SessionView& view) { return {view.seconds, view.workers, true}; }

/// Writes to stdout until a write fails. A full disk is reported. A closed pipe is not, since its reader has left on
/// purpose.
class Output {
   public:
    void write(const std::string& text) {
        if (!alive_ || view::write_to(STDOUT_FILENO, text)) return;
        alive_ = false;
        if (errno == EPIPE || errno == ETIMEDOUT) return;
        problem_ = std::string("cannot write to standard output: ") + std::strerror(errno);
        (void)view::write_to(STDERR_FILENO, "hpo: " + problem_ + '\n');
    }
    [[nodiscard]] bool alive() const { return alive_; }
    [[nodiscard]] const std::string& problem() const { return problem_; }

   private:
    bool alive_ = true;
    std::string problem_;
};

std::string with_level(const Notice& notice) {
    const std::string level = notice.level == Notice::Level::error     ? "error: "
                              : notice.level == Notice::Level::warning ? "warning: "
                                                                       : "";
    const std::string trial = notice.trial ? "trial " + std::to_string(notice.trial) + ": " : "";
    return level + trial + printable(notice.text, true) + '\n';
}

/// Returns the first line for a study that has run before: "Resuming phase1: 12 of 64 trials started, 9 finished", or
/// "phase1 is complete (64/64); `--trials 128` adds more". Returns an empty text for a new study.
std::string greeting(const Study& study, const SessionView& view) {
    const auto begun = view.record.trials.size();
    if (begun == 0) return {};
    // The budget may have been lowered below the number of trials that have begun.
    const auto budget = std::max(study.budget.trials, static_cast<std::int64_t>(begun));
    const std::int64_t finished = count_ended(view.record);
    const std::string of = is_open_ended(study.budget) ? "" : " of " + std::to_string(budget);
    if (finished >= budget)
        return study.name + " is complete (" + std::to_string(finished) + "/" + std::to_string(budget) +
               "); `--trials " + std::to_string(2 * budget) + "` adds more\n";
    return "Resuming " + study.name + ": " + std::to_string(view::count_started(view.record)) + of +
           " trials started, " + std::to_string(finished) + " finished\n";
}

/// Answers on stderr.
class Answering : public RunObserver {
   public:
    void answer(const std::string& lines) override { (void)view::write_to(STDERR_FILENO, lines); }
};

class OnTerminal final : public Answering {
   public:
    explicit OnTerminal(const Study& study) : study_(study), bests_(study) {}
    ~OnTerminal() override { block_.clear(); }

    void begun(const SessionView& view) override {
        alive_ = block_.print_above(greeting(study_, view));
        bests_.start(view.record);
    }
    std::string happened(const StudyRecord& record, const StoredEvent& stored) override {
        const auto line = bests_.line(stored, record);
        return line.empty() ? line : line + '\n';
    }
    std::string ended_with_study(const StudyRecord&, std::span<const StoredEvent> ends) override {
        return end_with_study_line(ends.size()) + '\n';
    }
    void print(const std::string& lines) override { alive_ &= block_.print_above(lines); }
    void notice(const Notice& notice) override {
        if (notice.level != Notice::Level::info) alive_ &= block_.print_above(with_level(notice));
    }
    void answer(const std::string& lines) override {
        alive_ &= block_.clear();
        Answering::answer(lines);
    }
    std::string picture(const SessionView& view) override {
        Moment now = moment(view);
        add_pools(now, study_.name, ::getpid());
        return view::draw_progress(study_, view.record, now, view::screen_of_stdout());
    }
    bool draw(const std::string& picture) override { return alive_ &= block_.draw(picture); }

   private:
    const Study& study_;
    view::LiveBlock block_;
    view::NewBests bests_;
    bool alive_ = true;
};

class InLines final : public Answering {
   public:
    explicit InLines(const Study& study) : study_(study), lines_(study) {}

    void begun(const SessionView& view) override {
        out_.write(greeting(study_, view));
        lines_.start(view.record);
        spoke_at_ = view.seconds;
    }
    std::string happened(const StudyRecord& record, const StoredEvent& stored) override {
        const auto line = lines_.line(stored, record);
        spoke_ |= !line.empty();
        return line.empty() ? line : line + '\n';
    }
    std::string ended_with_study(const StudyRecord&, std::span<const StoredEvent> ends) override {
        return end_with_study_line(ends.size()) + '\n';
    }
    void print(const std::string& lines) override { out_.write(lines); }
    void notice(const Notice& notice) override {
        // The line of the trial's event has already reported the failure.
        if (notice.trial && notice.level == Notice::Level::error) return;
        if (notice.level != Notice::Level::info) (void)view::write_to(STDERR_FILENO, with_level(notice));
    }
    /// A session of long trials says from time to time how far it is.
    std::string picture(const SessionView& view) override {
        if (std::exchange(spoke_, false)) spoke_at_ = view.seconds;
        if (view.seconds - spoke_at_ < longest_silence) return {};
        spoke_at_ = view.seconds;
        Moment now = moment(view);
        now.waits = view.waits;
        return view::running_line(study_, view.record, now) + '\n';
    }
    bool draw(const std::string& picture) override {
        if (!picture.empty()) out_.write(picture);
        return out_.alive();
    }
    std::string output_problem() const override { return out_.problem(); }

   private:
    static constexpr double longest_silence = 600;  // seconds

    const Study& study_;
    view::TrialLines lines_;
    bool spoke_ = false;   ///< since the last picture
    double spoke_at_ = 0;  ///< seconds of the study
    Output out_;
};

class InJson final : public Answering {
   public:
    explicit InJson(const Study& study) : study_(study) {}

    std::string happened(const StudyRecord& record, const StoredEvent& stored) override {
        std::string lines;
        const auto line = [&](const char* name, std::int64_t trial, const Report* report = nullptr) {
            nlohmann::ordered_json json{
                {"schema", json_schema}, {"event", name}, {"study", study_.name}, {"time", utc_text(stored.time)}};
            json.update(trial_json(record.trial(trial)));
            if (report) json["report"] = wire::described(*report);
            lines = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
        };
        std::visit(Overloaded{[&](const event::Launched& e) { line("launched", e.trial); },
                              [&](const event::Reported& e) { line("reported", e.trial, &e.report); },
                              [&](const event::Paused& e) { line("paused", e.trial); },
                              [&](const event::Requeued& e) { line("requeued", e.trial); },
                              [&](const event::Finished& e) { line("finished", e.trial); },
                              [&](const event::Closing& e) { line("closing", e.trial); }, [](const auto&) {}},
                   stored.event);
        return lines;
    }
    std::string ended_with_study(const StudyRecord& record, std::span<const StoredEvent> ends) override {
        std::string lines;
        for (const StoredEvent& end : ends) lines += happened(record, end);
        return lines;
    }
    void print(const std::string& lines) override { out_.write(lines); }
    void notice(const Notice& notice) override {
        if (notice.level != Notice::Level::info) (void)view::write_to(STDERR_FILENO, with_level(notice));
    }
    bool draw(const std::string&) override { return out_.alive(); }
    std::string output_problem() const override { return out_.problem(); }

   private:
    const Study& study_;
    Output out_;
};

class Quiet final : public Answering {
   public:
    void notice(const Notice& notice) override {
        if (notice.level == Notice::Level::error) (void)view::write_to(STDERR_FILENO, with_level(notice));
    }
};

}  // namespace

std::unique_ptr<RunObserver> make_run_observer(RunStyle style, const Study& study) {
    if (style == RunStyle::json) return std::make_unique<InJson>(study);
    if (style == RunStyle::quiet) return std::make_unique<Quiet>();
    if (view::is_terminal(STDOUT_FILENO)) return std::make_unique<OnTerminal>(study);
    return std::make_unique<InLines>(study);
}

}  // namespace hpo
