#include "tests/contract/execution/refused_calls.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "orchestrator/execution/descendants.hpp"

namespace hpo::testing_execution {

void refuse_calls(const std::vector<int>& calls, const std::vector<int>& prctl_options) {
    const auto field = [](std::size_t offset) {
        return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
    };
    const auto end = [](std::uint32_t action) { return sock_filter BPF_STMT(BPF_RET | BPF_K, action); };
    const auto unless_equal = [](int value, std::uint8_t skipped) {
        return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(value), 0, skipped);
    };
    std::vector<sock_filter> filter{field(offsetof(seccomp_data, nr))};
    for (const int call : calls) {
        filter.push_back(unless_equal(call, 1));
        filter.push_back(end(SECCOMP_RET_ERRNO | ENOSYS));
    }
    filter.push_back(unless_equal(SYS_prctl, static_cast<std::uint8_t>(1 + 2 * prctl_options.size())));
    filter.push_back(field(offsetof(seccomp_data, args)));
    for (const int option : prctl_options) {
        filter.push_back(unless_equal(option, 1));
        filter.push_back(end(SECCOMP_RET_ERRNO | EINVAL));
    }
    filter.push_back(end(SECCOMP_RET_ALLOW));
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        throw std::runtime_error("the kernel has no filters of system calls");
}

void refuse_all_but_posix() {
    refuse_calls({SYS_pidfd_open, SYS_pidfd_send_signal, SYS_signalfd4, SYS_close_range},
                 {PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG});
}

bool adopts_orphans() { return supervisor::has_sub_reapers(); }

}  // namespace hpo::testing_execution
