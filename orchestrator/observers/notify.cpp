#include "orchestrator/observers/notify.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/execution/spawn.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/view/summary.hpp"
#include "os/descriptors.hpp"
#include "os/process.hpp"

namespace hpo {

Notifier::Notifier(const std::string& command, const std::filesystem::path& log) : log_(log) {
    os::Pair pair = os::message_pair();
    if (!pair) return;
    socket_ = std::move(pair.one);
    if (spawn({.command = {os::own_program(), notify_command, command, log.string()}, .in = pair.other.get()}, pid_) !=
        0)
        socket_.reset();
}

Notifier::~Notifier() {
    socket_.reset();
    int status = 0;
    while (pid_ != 0 && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    const int failures = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    if (failures > 0)
        std::fprintf(stderr, "hpo: warning: the command of --notify failed %s; see %s\n",
                     failures == 1 ? "once" : (std::to_string(failures) + " times").c_str(),
                     printable(log_.string()).c_str());
}

void Notifier::tell(const Facts& facts) {
    const std::string text = facts.dump(-1, ' ', false, Facts::error_handler_t::replace);
    if (socket_) (void)::send(socket_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

Facts notification(const std::string& event, const Study& study, const StudyFolder& folder, const std::string& text) {
    std::error_code ignored;
    return {{"schema", json_schema},
            {"event", event},
            {"study", study.name},
            {"folder", std::filesystem::absolute(folder.path, ignored).string()},
            {"metric", study.objective.metric},
            {"text", printable_line(text)}};
}

namespace {

class Notifying final : public RunObserver {
   public:
    Notifying(std::unique_ptr<RunObserver> inner, const Study& study, const StudyFolder& folder, Notifier& notifier)
        : inner_(std::move(inner)), study_(study), folder_(folder), notifier_(notifier), bests_(study) {}

    void begun(const SessionView& view) override {
        bests_.start(view.record);
        inner_->begun(view);
    }
    std::string happened(const StudyRecord& record, const StoredEvent& stored) override {
        if (const std::string line = bests_.line(stored, record); !line.empty()) {
            waiting_ = notification("best", study_, folder_, study_.name + ": " + line);
            if (const TrialRecord* best = best_trial(record, study_.objective)) waiting_["best"] = trial_json(*best);
        }
        return inner_->happened(record, stored);
    }
    std::string ended_with_study(const StudyRecord& record, std::span<const StoredEvent> ends) override {
        return inner_->ended_with_study(record, ends);
    }
    void print(const std::string& lines) override { inner_->print(lines); }
    void notice(const Notice& notice) override {
        if (notice.level >= Notice::Level::warning) {
            const std::string trial = notice.trial ? "trial " + std::to_string(notice.trial) + ": " : "";
            Facts facts = notification("trouble", study_, folder_, study_.name + ": " + trial + notice.text);
            facts["trial"] = notice.trial ? Facts(notice.trial) : Facts(nullptr);
            notifier_.tell(facts);
        }
        inner_->notice(notice);
    }
    void answer(const std::string& lines) override { inner_->answer(lines); }
    /// A picture is drawn once everything before it is on the disk.
    std::string picture(const SessionView& view) override {
        if (!waiting_.is_null()) ready_ = std::exchange(waiting_, nullptr);
        return inner_->picture(view);
    }
    bool draw(const std::string& picture) override {
        if (!ready_.is_null()) notifier_.tell(std::exchange(ready_, nullptr));
        return inner_->draw(picture);
    }
    std::string output_problem() const override { return inner_->output_problem(); }

   private:
    std::unique_ptr<RunObserver> inner_;
    const Study& study_;
    const StudyFolder folder_;
    Notifier& notifier_;
    view::NewBests bests_;
    Facts waiting_, ready_;  ///< the latest new best: of the past, and as of the last picture
};

}  // namespace

std::unique_ptr<RunObserver> notifying(std::unique_ptr<RunObserver> inner, const Study& study,
                                       const StudyFolder& folder, Notifier& notifier) {
    return std::make_unique<Notifying>(std::move(inner), study, folder, notifier);
}

void notify_end(Notifier& notifier, const Study& study, const StudyFolder& folder, const RunOutcome& outcome) {
    const TrialRecord* best = best_trial(outcome.record, study.objective);
    const std::string value = best ? ", best " + study.objective.metric + ' ' + short_number(*best->value) +
                                         " (trial " + std::to_string(best->number) + ')'
                                   : "";
    Facts facts = notification("ended", study, folder, study.name + ": " + outcome.reason + value);
    facts["reason"] = outcome.reason;
    facts["seconds"] = outcome.seconds;
    facts["begun"] = view::count_started(outcome.record);
    facts["ended"] = count_ended(outcome.record);
    facts["best"] = best ? trial_json(*best) : nlohmann::ordered_json(nullptr);
    notifier.tell(facts);
}

}  // namespace hpo
