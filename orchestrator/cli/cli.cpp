#include "orchestrator/cli/cli.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "hpo/interrupted.hpp"
#include "hpo/printable.hpp"
#include "hpo/result.hpp"
#include "hpo/threads.hpp"
#include "orchestrator/cli/app.hpp"
#include "orchestrator/cli/command_line.hpp"
#include "orchestrator/cli/complete.hpp"
#include "orchestrator/cli/man.hpp"
#include "orchestrator/cluster/agent.hpp"
#include "orchestrator/devices/helper.hpp"
#include "orchestrator/execution/supervisor.hpp"
#include "orchestrator/execution/system.hpp"
#include "orchestrator/observers/notify.hpp"
#include "orchestrator/script/adapter.hpp"
#include "orchestrator/script/launcher_variables.hpp"
#include "orchestrator/script/rank_launcher.hpp"
#include "orchestrator/view/output.hpp"

namespace hpo {
namespace {

/// Errors quote paths and arguments, which may contain escape codes.
void complain(const char* prefix, std::string_view message) {
    std::fprintf(stderr, "%s%s\n", prefix, printable(message, true).c_str());
}

/// Ends hpo with a reason after SIGBUS. SQLite shares memory by way of a file, study.db-shm. The kernel sends the
/// signal where a page of it cannot be written, as under a quota on a file system that copies on write.
void end_without_memory_file(int) {
    constexpr std::string_view text =
        "hpo: a file that serves as memory (study.db-shm) cannot be read or written: free some space, raise the quota, "
        "or look for errors of the disk in the kernel's log (dmesg), then run again; reported results are stored\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(1);
}

}  // namespace

void print(std::string_view text) {
    ::signal(SIGPIPE, SIG_IGN);
    if (view::write_to(STDOUT_FILENO, text)) return;
    if (errno == EPIPE) throw Fatal("", 0);
    if (errno == ETIMEDOUT) throw Fatal("", exit_status_of(interrupted_by));
    throw Fatal(std::string("cannot write to standard output: ") + std::strerror(errno));
}

int run_cli(int argc, char** argv) {
    // The helper processes come first. They must start within a millisecond or two, and they take no options.
    if (argc > 1 && std::strcmp(argv[1], supervisor_command) == 0)
        return run_supervisor(argc, argv, {script_command, run_script});
    if (argc > 1 && std::strcmp(argv[1], device_helper_command) == 0) {
        (void)system::die_with_parent();  // without threads left, the helper does not notice the end itself while it
                                          // hangs
        return run_device_helper(argc, argv);
    }
    if (argc > 1 && std::strcmp(argv[1], script_command) == 0) return run_script(argc, argv);
    if (argc > 1 && std::strcmp(argv[1], ranks_command_name) == 0) return run_ranks(argc, argv);
    if (argc == 4 && std::strcmp(argv[1], notify_command) == 0) return run_notifications(argv[2], argv[3]);
    ::signal(SIGBUS, end_without_memory_file);
    script::leave_launcher();
    try {
        if (argc > 1 && std::strcmp(argv[1], agent_command) == 0) return run_agent();
        if (argc > 1 && std::strcmp(argv[1], complete_command) == 0) return run_complete({argv + 2, argv + argc});
        if (argc > 1 && std::strcmp(argv[1], man_command) == 0) return write_man_pages({argv + 2, argv + argc});
        return argc > 1 ? parse_and_run(argc, argv) : print_overview();
    } catch (const Refusal& refusal) {
        complain("", refusal.what());
        return refusal.exit_code();
    } catch (const Fatal& fatal) {
        if (*fatal.what()) complain("hpo: ", fatal.what());
        return fatal.exit_code();
    } catch (const std::bad_alloc&) {
        std::fputs("hpo: ", stderr);
        std::fputs(out_of_memory_message, stderr);
        return 1;
    } catch (const std::exception& error) {
        complain("hpo: ", error.what());
        return 1;
    }
}

}  // namespace hpo
