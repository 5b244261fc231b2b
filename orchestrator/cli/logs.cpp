#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/regular_file.hpp"
#include "hpo/result.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/execution/log_reader.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/lookup/trial_choice.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {
namespace {

struct Arguments {
    std::string trial, study;
    bool follow = false;
};

struct File {
    int fd;
    ~File() {
        if (fd >= 0) ::close(fd);
    }
};

int run(const Arguments& arguments) {
    const auto chosen = split_trial(arguments.trial, arguments.study, true);
    StudySnapshot snapshot = snapshot_or_fail(choose_study(chosen.study));
    (void)snapshot.trial(*chosen.trial);
    const auto path = snapshot.folder.trial_log(*chosen.trial);
    const auto may_grow = [&] {
        return arguments.follow && snapshot.refresh().ok() && snapshot.holder &&
               !is_final(snapshot.trial(*chosen.trial).state);
    };
    const auto wait = [] { ::poll(nullptr, 0, 200); };

    or_fail(check_regular(path));
    File file{-1};
    while ((file.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) < 0) {
        if (errno != ENOENT) throw Fatal(path.string() + ": " + std::strerror(errno));
        if (may_grow()) {
            wait();
            continue;
        }
        const std::string trial = "trial " + std::to_string(*chosen.trial);
        if (snapshot.trial(*chosen.trial).attempt == 0) throw Fatal(trial + " has not started and has no log");
        std::fprintf(stderr, "hpo: %s has written nothing\n", trial.c_str());
        return 0;
    }
    // Escape codes in the log must not reach a terminal. A file or a pipe gets the bytes unchanged.
    const bool escape = view::is_terminal(STDOUT_FILENO);
    LogReader log(file.fd);
    const auto next = [&] {
        try {
            return log.next();
        } catch (const std::system_error& failed) {
            throw Fatal(path.string() + ": " + failed.code().message());
        }
    };
    for (bool last = false;;) {
        if (const std::string bytes = next(); !bytes.empty()) {
            print(escape ? printable(bytes, true) : bytes);
        } else if (last) {
            return 0;
        } else if (!may_grow()) {
            last = true;  // the trial may have written more just before it ended
        } else {
            wait();
        }
    }
}

}  // namespace

CommandAction logs(CLI::App& app) {
    const auto arguments = std::make_shared<Arguments>();
    app.add_option("TRIAL", arguments->trial, "A trial's number, or STUDY/TRIAL")->required();
    app.add_option("--study", arguments->study, "The study of the trial; default: the most recent one");
    app.add_flag("-f,--follow", arguments->follow, "Follow the log until the trial ends");
    return [arguments] { return run(*arguments); };
}

}  // namespace hpo::commands
