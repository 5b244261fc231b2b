// Makes the command of a trial from its task, with its files and its environment, and starts it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hpo/descriptor.hpp"
#include "hpo/messages.hpp"
#include "orchestrator/execution/child.hpp"
#include "orchestrator/script/preload.hpp"
#include "orchestrator/script/task.hpp"
#include "orchestrator/script/terminal.hpp"
#include "orchestrator/script/trial_values.hpp"

namespace hpo::script {

/// The reason why a command could not be started.
struct StartProblem {
    std::string text;
    bool passes;       ///< true for a shortage that may end soon
    bool own = false;  ///< true if hpo failed, not the script: a file or socket of its own cannot be made
};

/// A command that runs, in a process group of its own.
struct StartedCommand {
    pid_t pid = 0;
    Descriptor output;    ///< its standard error, and its standard output without a terminal
    Descriptor terminal;  ///< its standard output; empty: it has none
    Descriptor records;   ///< what the launcher of its ranks tells (rank_records.hpp); empty: it has no ranks
};

class Launch {
   public:
    /// Makes the trial's folder, the command's folder (`worker.cwd`) and the files of the task. The references outlive
    /// this object.
    Launch(const Task& task, const to_worker::Run& run);

    /// Returns the path of the file of metrics (`worker.metrics.file`); empty: the study has none.
    std::string metrics_file();
    /// Makes the command. Returns why it cannot be started, as far as that is known before.
    std::optional<StartProblem> make_command();
    /// Starts it: in the process that the preloaded interpreter has prepared, if there is one, which is used up. `more`
    /// are variables of its environment, and `reports` is the file to which stand-ins of other clients write.
    std::variant<StartedCommand, StartProblem> start(std::optional<Prepared>& prepared,
                                                     const std::vector<std::string>& more, const std::string& reports);

   private:
    void make_folders();
    void add_environment(const std::vector<std::string>& more, const std::string& reports);
    Terminal open_terminal_if_wanted();

    const Task& task_;
    const to_worker::Run& run_;
    TrialValues values_;
    supervisor::Start order_;
};

}  // namespace hpo::script
