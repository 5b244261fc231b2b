// Runs a command whose processes and threads stop before and after each system call. See ptrace(2).
#pragma once

#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>

namespace hpo::campaign {

class Tracer {
   public:
    virtual ~Tracer() = default;

    /// Runs the command to its end, with all that it has started. Returns its exit status, or 128 and the number of the
    /// signal that ended it; 125 if it cannot be traced.
    int run(char** command) {
        int gate[2];
        if (::pipe(gate) != 0) return 125;
        first_ = ::fork();
        if (first_ == 0) {
            char go;
            ::close(gate[1]);
            if (::read(gate[0], &go, 1) != 1) ::_exit(125);
            ::close(gate[0]);
            ::execvp(command[0], command);
            std::perror(command[0]);
            ::_exit(125);
        }
        constexpr long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                                 PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
        if (first_ < 0 || ::ptrace(PTRACE_SEIZE, first_, 0, options) != 0) return std::perror("ptrace"), 125;
        ::close(gate[0]);
        if (::write(gate[1], "g", 1) != 1) return 125;
        ::close(gate[1]);
        // Signals are for the command, which passes on its own end.
        for (const int one : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) std::signal(one, SIG_IGN);
        int status = 0;
        for (pid_t thread; (thread = ::waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;)
            if (thread > 0) changed(thread, status);
        return exit_;
    }

   protected:
    /// Is called for each new thread and after each execve(). Returns whether the thread stops at its calls.
    virtual bool begins(pid_t thread) = 0;
    /// The thread is about to make a call.
    virtual void enters(pid_t thread, const __ptrace_syscall_info& call) = 0;
    /// The thread has made the call that it entered last.
    virtual void leaves(pid_t thread, const __ptrace_syscall_info& call) = 0;
    virtual void ends(pid_t thread) = 0;

   private:
    void changed(pid_t thread, int status) {
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (thread == first_) exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            known_.erase(thread);
            watched_.erase(thread);
            ends(thread);
            return;
        }
        const int signal = WSTOPSIG(status), event = status >> 16;
        const bool is_new = known_.insert(thread).second;
        if (is_new || event == PTRACE_EVENT_EXEC) {
            if (begins(thread))
                watched_.insert(thread);
            else
                watched_.erase(thread);
        }
        int delivered = 0;
        if (signal == (SIGTRAP | 0x80)) {
            __ptrace_syscall_info call{};
            if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof call, &call) > 0) {
                if (call.op == PTRACE_SYSCALL_INFO_ENTRY) enters(thread, call);
                if (call.op == PTRACE_SYSCALL_INFO_EXIT) leaves(thread, call);
            }
        } else if (event == PTRACE_EVENT_STOP) {
            const bool stopped = signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
            if (stopped && !is_new) {
                ::ptrace(PTRACE_LISTEN, thread, 0, 0);
                return;
            }
        } else if (event == 0) {
            delivered = signal;
        }
        ::ptrace(watched_.count(thread) > 0 ? PTRACE_SYSCALL : PTRACE_CONT, thread, 0, static_cast<long>(delivered));
    }

    pid_t first_ = 0;
    int exit_ = 125;
    std::set<pid_t> known_, watched_;
};

}  // namespace hpo::campaign
