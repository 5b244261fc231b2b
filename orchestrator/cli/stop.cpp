#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "hpo/printable.hpp"
#include "hpo/result.hpp"
#include "hpo/shell_word.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/control_client.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/trial_choice.hpp"
#include "orchestrator/slurm/study_job.hpp"
#include "orchestrator/store/holder_lock.hpp"

namespace hpo::commands {
namespace {

/// Returns how to cancel a job of Slurm that may run the study, or wait to; empty if none was submitted.
std::string about_its_job(const StudyFolder& study) {
    if (!slurm::had_job(study)) return {};
    return "; its job of Slurm, if there is one, is cancelled by " + slurm::cancelling(study);
}

/// Returns the user who runs a study that this user may not stop; empty if this user may.
std::string other_user(const StudyFolder& study) {
    struct stat lock {};
    if (::access(study.lock().c_str(), R_OK) == 0 || ::stat(study.lock().c_str(), &lock) != 0) return {};
    const passwd* owner = ::getpwuid(lock.st_uid);
    return owner ? owner->pw_name : "user " + std::to_string(lock.st_uid);
}

/// Returns where a study that runs on another host, which cannot be reached from here, is stopped.
std::string where_to_stop(const StudyFolder& study, const Holder& holder, const std::string& argument) {
    const std::string command = "hpo stop " + shell_word(argument);
    return "study " + study.name() + " is run on " + printable(holder.host) + " by process " +
           std::to_string(holder.pid) + ": " + command + " works only there" +
           (slurm::had_job(study) ? ", as by " + slurm::within_job(study, command) : "");
}

int run(const std::string& argument, const std::string& study_argument) {
    const auto chosen = split_trial(argument, study_argument, /*trial_required=*/false);
    const StudyFolder study = choose_study(chosen.study, Unbegun::allowed);
    const auto holder = holder_of(study);
    if (!holder)
        throw Fatal("study " + study.name() + " is not running: there is nothing to stop" + about_its_job(study));
    if (const std::string user = other_user(study); !user.empty())
        throw Fatal("study " + study.name() + " is run by " + printable(user) + ", who alone can stop it");
    if (const auto stopped = ask_to_stop(*holder, chosen.trial); !stopped) {
        const bool elsewhere = holder->host != host_name();
        throw Fatal((elsewhere ? where_to_stop(study, *holder, argument) : stopped.error().message) +
                    (chosen.trial ? "" : about_its_job(study)));
    }
    print(chosen.trial ? "trial " + std::to_string(*chosen.trial) + " of " + study.name() + " is stopping\n"
                       : "study " + study.name() + " is stopping; it can be resumed\n");
    return 0;
}

}  // namespace

CommandAction stop(CLI::App& app) {
    struct Arguments {
        std::string argument, study;
    };
    const auto arguments = std::make_shared<Arguments>();
    app.add_option("WHAT", arguments->argument, "A trial's number, STUDY/TRIAL, or a study")->required();
    app.add_option("--study", arguments->study, "The study of the trial; default: the most recent one");
    return [arguments] { return run(arguments->argument, arguments->study); };
}

}  // namespace hpo::commands
