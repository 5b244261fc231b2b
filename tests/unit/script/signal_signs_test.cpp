#include "orchestrator/script/syntax/signal_signs.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace hpo::script {
namespace {

struct Line {
    const char* text;
    int signal;  ///< 0: none
};

constexpr Line told[] = {
    {"Killed", SIGKILL},
    {"Segmentation fault", SIGSEGV},
    {"Segmentation fault (core dumped)", SIGSEGV},
    {"run.sh: line 3:  4242 Killed                  python3 train.py --lr 0.1", SIGKILL},
    {"bash: line 1: 4242 Aborted                 (core dumped) ./train", SIGABRT},
    {"run.sh: line 12: 4242 Terminated              python3 train.py", SIGTERM},
    {"zsh: killed     python3 train.py", SIGKILL},
    {"zsh: segmentation fault  ./train", SIGSEGV},
    {"fish: Job 1, 'python3 train.py' terminated by signal SIGKILL (Forced quit)", SIGKILL},
    {"make: *** [Makefile:2: train] Killed", SIGKILL},
    {"make[1]: *** [Makefile:2: train] Error 137", SIGKILL},
    {"make: *** [Makefile:2: train] Segmentation fault (core dumped)", SIGSEGV},
    {"Signal 9 (SIGKILL) received by PID 77", SIGKILL},
    {"exitcode  : -11 (pid: 77)", SIGSEGV},
    {"E1125 12:00:00 1 torch/x/api.py:826] failed (exitcode: -9) local_rank: 0 (pid: 77) of binary: python3", SIGKILL},
    {"subprocess.CalledProcessError: Command '['python3', 'train.py']' died with <Signals.SIGKILL: 9>.", SIGKILL},
    {"subprocess.CalledProcessError: Command 'sh run.sh' returned non-zero exit status 139.", SIGSEGV},
    {"torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal SIGKILL", SIGKILL},
    {"joblib.externals.loky.process_executor.TerminatedWorkerError: The exit codes are {SIGKILL(-9)}", SIGKILL},
    {"[2026-11-25 12:00:00] [ERROR] [launch.py:325:sigkill_handler] ['python3'] exits with return code = -9", SIGKILL},
    {"signal: killed", SIGKILL},
    {"error: process didn't exit successfully: `target/release/train` (signal: 9, SIGKILL: kill)", SIGKILL},
    {"npm ERR! signal SIGTERM", SIGTERM},
    {"mpirun noticed that process rank 0 with PID 0 on node n1 exited on signal 9 (Killed).", SIGKILL},
    {"[n1:00077] Signal: Segmentation fault (11)", SIGSEGV},
    {"YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)", SIGKILL},
    {"RuntimeError: DataLoader worker (pid 77) is killed by signal: Segmentation fault. ", SIGSEGV},
    {"srun: error: n1: task 0: Killed", SIGKILL},
    {"srun: error: n1: task 0: Out Of Memory", SIGKILL},
    {"slurmstepd: error: Detected 1 oom_kill event in StepId=5.0. Some of the step tasks have been OOM Killed.",
     SIGKILL},
    // Lines without a signal.
    {"make: *** [Makefile:2: train] Error 1", 0},
    {"W1125 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 78 closing signal SIGTERM", 0},
    {"subprocess.CalledProcessError: Command '['python3']' returned non-zero exit status 1.", 0},
    {"Killed 3 stale workers", 0},
    {"Terminated early: no improvement", 0},
    {"ValueError: the signal 9 is noise", 0},
    {"val_loss: 137", 0},
    {"epoch 137 loss 9", 0},
    {"", 0},
};

TEST(SignalSigns, ShellsAndLaunchersTellOfWhichSignalAProcessDied) {
    for (const Line& line : told) EXPECT_EQ(signal_named(line.text).value_or(0), line.signal) << line.text;
}

TEST(SignalSigns, AStatusStandsForASignalAsShellsAndPythonExitWithIt) {
    constexpr std::pair<int, int> statuses[] = {{137, SIGKILL}, {139, SIGSEGV}, {134, SIGABRT}, {143, SIGTERM},
                                                {130, SIGINT},  {247, SIGKILL}, {245, SIGSEGV}, {0, 0},
                                                {1, 0},         {2, 0},         {127, 0},       {128, 0},
                                                {254, 0},       {255, 0},       {200, 0}};
    for (const auto& [status, signal] : statuses) EXPECT_EQ(signal_of_status(status).value_or(0), signal) << status;
}

}  // namespace
}  // namespace hpo::script
