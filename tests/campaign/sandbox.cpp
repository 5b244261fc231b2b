// sandbox COMMAND...: runs the command as a container does by default, without root's rights to trace, mount and the
// like: calls that the default profile of Docker and Podman refuses give EPERM, and those that it does not know ENOSYS.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

namespace {

constexpr int refused[] = {
    SYS_acct,
    SYS_add_key,
    SYS_bpf,
    SYS_delete_module,
    SYS_finit_module,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fsopen,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kcmp,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_mbind,
    SYS_migrate_pages,
    SYS_mount,
    SYS_move_mount,
    SYS_move_pages,
    SYS_open_by_handle_at,
    SYS_perf_event_open,
    SYS_pivot_root,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_ptrace,
    SYS_quotactl,
    SYS_reboot,
    SYS_request_key,
    SYS_set_mempolicy,
    SYS_setdomainname,
    SYS_sethostname,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vhangup,
};
constexpr int unknown[] = {SYS_clone3, SYS_close_range, SYS_faccessat2, SYS_openat2, SYS_pidfd_open, SYS_statx};

std::vector<sock_filter> filter;

/// The answer of the filter to each of the calls.
void answer(std::span<const int> calls, int error) {
    for (const int call : calls) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return std::fprintf(stderr, "usage: sandbox COMMAND...\n"), 2;
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    answer(refused, EPERM);
    answer(unknown, ENOSYS);
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return std::perror("sandbox: seccomp"), 2;
    ::execvp(argv[1], argv + 1);
    return std::fprintf(stderr, "sandbox: %s: %s\n", argv[1], std::strerror(errno)), 127;
}
