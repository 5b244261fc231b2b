// Runs a command and makes one system call of one of its processes fail.
//
//   fail-call ROLE CALL ERROR NTH COMMAND...     the NTH call (from 1) of CALL fails with ERROR; "NTH+": all from it on
//   fail-call ROLE --count FILE COMMAND...       writes how often each call was made, "NUMBER COUNT" a line
//
// CALL and ERROR are numbers, as the kernel knows them. ROLE is a word of the command line of the processes whose calls
// count, all together, with their threads and with the children that they fork, until these run another program or
// show another command line: a supervisor's child that becomes the adapter of a script gives itself a new name then.
// Calls of the dynamic loader do not count: its failures are not the program's. A call that fails is not made, but for
// close(), which the kernel always carries out. The exit status is the command's own, or 128 and the number of the
// signal that ended it, and 125 if it cannot be traced.
#include <elf.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "tracer.hpp"

namespace {

/// Word of the command line of the processes whose children may show the command line of an adapter.
constexpr const char* parent_of_adapters = "__supervisor";

/// The options of the command line.
struct Order {
    std::string role;
    std::string count_file;  ///< empty: a call fails
    std::uint64_t call = 0;  ///< its number
    int error = 0;           ///< errno
    std::uint64_t nth = 0;   ///< from 1
    bool from_then_on = false;
};

/// Addresses, from `begin` to before `end`.
struct Range {
    std::uint64_t begin = 0, end = 0;
};

/// A thread that is traced.
struct Thread {
    bool counts = false;   ///< its process has the role
    bool renames = false;  ///< true inside the call that names it
    bool fails = false;    ///< true inside a call that fails
    Range loader = {};     ///< addresses of the code of the dynamic loader
};

/// Replaces the number of the call that the stopped thread is about to make by one that does not exist.
void skip_call(pid_t thread) {
#if defined(__x86_64__)
    ::ptrace(PTRACE_POKEUSER, thread, offsetof(user_regs_struct, orig_rax), -1L);
#else
    int none = -1;
    iovec data{&none, sizeof none};
    ::ptrace(PTRACE_SETREGSET, thread, NT_ARM_SYSTEM_CALL, &data);
#endif
}

/// Replaces the result of the call that the stopped thread has made.
void set_result(pid_t thread, long result) {
#if defined(__x86_64__)
    ::ptrace(PTRACE_POKEUSER, thread, offsetof(user_regs_struct, rax), result);
#else
    user_regs_struct registers{};
    iovec data{&registers, sizeof registers};
    ::ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &data);
    registers.regs[0] = static_cast<unsigned long long>(result);
    ::ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &data);
#endif
}

bool has_word(pid_t process, std::string_view word) {
    std::ifstream file("/proc/" + std::to_string(process) + "/cmdline", std::ios::binary);
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t at = 0; at < line.size(); at = line.find('\0', at) + 1) {
        const std::string_view argument(line.c_str() + at);
        if (argument == word || argument.substr(argument.rfind('/') + 1) == word) return true;
        if (line.find('\0', at) == std::string::npos) break;
    }
    return false;
}

Range loader_of(pid_t process) {
    std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
    Range range;
    for (std::string line; std::getline(maps, line);) {
        if (line.find("/ld-") == std::string::npos) continue;
        char* rest = nullptr;
        const std::uint64_t begin = std::strtoull(line.c_str(), &rest, 16), end = std::strtoull(rest + 1, nullptr, 16);
        range = {range.end == 0 ? begin : range.begin, end};
    }
    return range;
}

class FailCall : public hpo::campaign::Tracer {
   public:
    explicit FailCall(Order order) : order_(std::move(order)) {}

    void write_counts() const {
        std::ofstream file(order_.count_file);
        for (const auto& [call, count] : counts_) file << call << ' ' << count << '\n';
    }

   private:
    bool begins(pid_t thread) override {
        Thread& state = threads_[thread] = {};
        state.counts = has_word(thread, order_.role);
        const bool watched = state.counts || has_word(thread, parent_of_adapters);
        if (watched) state.loader = loader_of(thread);
        return watched;
    }

    void enters(pid_t thread, const __ptrace_syscall_info& call) override {
        Thread& state = threads_[thread];
        state.renames = call.entry.nr == SYS_prctl && call.entry.args[0] == PR_SET_NAME;
        if (!state.counts) return;
        if (call.instruction_pointer >= state.loader.begin && call.instruction_pointer < state.loader.end) return;
        const std::uint64_t made = ++counts_[call.entry.nr];
        state.fails = order_.count_file.empty() && call.entry.nr == order_.call &&
                      (made == order_.nth || (made > order_.nth && order_.from_then_on));
        if (state.fails && order_.call != SYS_close) skip_call(thread);
    }

    void leaves(pid_t thread, const __ptrace_syscall_info&) override {
        Thread& state = threads_[thread];
        if (state.fails) set_result(thread, -order_.error);
        state.fails = false;
        if (state.renames) state.counts = has_word(thread, order_.role);
        state.renames = false;
    }

    void ends(pid_t thread) override { threads_.erase(thread); }

    Order order_;
    std::map<pid_t, Thread> threads_;
    std::map<std::uint64_t, std::uint64_t> counts_;  ///< by the number of the call
};

}  // namespace

int main(int argc, char** argv) {
    const bool counts = argc > 4 && std::strcmp(argv[2], "--count") == 0;
    if (argc < 5 || (!counts && argc < 6)) {
        std::fprintf(
            stderr,
            "usage: fail-call ROLE CALL ERROR NTH[+] COMMAND...\n       fail-call ROLE --count FILE COMMAND...\n");
        return 125;
    }
    Order order{argv[1], counts ? argv[3] : ""};
    if (!counts) {
        order.call = std::strtoull(argv[2], nullptr, 10);
        order.error = std::atoi(argv[3]);
        order.nth = std::strtoull(argv[4], nullptr, 10);
        order.from_then_on = argv[4][std::strlen(argv[4]) - 1] == '+';
    }
    FailCall tracer(std::move(order));
    const int status = tracer.run(argv + (counts ? 4 : 5));
    if (counts) tracer.write_counts();
    return status;
}
