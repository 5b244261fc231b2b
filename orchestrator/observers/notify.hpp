// hpo run --notify COMMAND: runs a command at the end of a study, on a new best and on trouble.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hpo/descriptor.hpp"
#include "orchestrator/engine/run_observer.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo {

/// The internal command by which the program starts the process that runs the commands: hpo __notify COMMAND LOG.
inline constexpr const char* notify_command = "__notify";

/// The contents of a notification (docs/json.md).
using Facts = nlohmann::ordered_json;

/// Passes facts to a process of its own, which runs the command for them, one after the other. Neither waits nor
/// throws: facts that cannot be passed are dropped.
class Notifier {
   public:
    /// Starts the process. The output of the command, and its failures, are appended to `log`.
    Notifier(const std::string& command, const std::filesystem::path& log);
    /// Waits for the commands if the study has ended, each for 10 seconds at most, and else ends them. Prints a warning
    /// if commands have failed.
    ~Notifier();
    Notifier(const Notifier&) = delete;
    Notifier& operator=(const Notifier&) = delete;

    void tell(const Facts& facts);

   private:
    Descriptor socket_;
    pid_t pid_ = 0;
    std::filesystem::path log_;
};

/// Returns the facts that every notification has: "schema", "event", "study", "folder", "text".
Facts notification(const std::string& event, const Study& study, const StudyFolder& folder, const std::string& text);

/// Returns an observer that passes everything on to `inner`, and new bests and trouble to `notifier` once their events
/// are on the disk. `study` and `notifier` must outlive it.
std::unique_ptr<RunObserver> notifying(std::unique_ptr<RunObserver> inner, const Study& study,
                                       const StudyFolder& folder, Notifier& notifier);

/// Tells of the end of a session, with its best trial.
void notify_end(Notifier& notifier, const Study& study, const StudyFolder& folder, const RunOutcome& outcome);

/// The process of notify_command, which reads facts from standard input. Returns the number of commands that failed, at
/// most 255, as its exit status.
int run_notifications(const std::string& command, const std::string& log);

}  // namespace hpo
