#include "orchestrator/execution/spawn.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>

#include "os/environment.hpp"

namespace hpo {

namespace {

std::vector<char*> words_of(const std::vector<std::string>& texts) {
    std::vector<char*> words;
    for (const std::string& text : texts) words.push_back(const_cast<char*>(text.c_str()));
    words.push_back(nullptr);
    return words;
}

}  // namespace

int spawn(const Spawn& order, pid_t& pid) {
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    const int descriptors[] = {order.in, order.out, order.error};
    for (int standard = 0; standard < 3; ++standard) {
        if (descriptors[standard] >= 0)
            ::posix_spawn_file_actions_adddup2(&files, descriptors[standard], standard);
        else
            ::posix_spawn_file_actions_addopen(&files, standard, "/dev/null", O_RDWR, 0);
    }
    if (!order.folder.empty()) ::posix_spawn_file_actions_addchdir_np(&files, order.folder.c_str());
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    const int leads = order.session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
    ::posix_spawnattr_setflags(&attributes, static_cast<short>(leads | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    const std::string& program = order.program.empty() ? order.command.front() : order.program;
    const int failed = ::posix_spawnp(&pid, program.c_str(), &files, &attributes, words_of(order.command).data(),
                                      order.environment.empty() ? environ : words_of(order.environment).data());
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
    if (failed != 0) pid = 0;
    return failed;
}

}  // namespace hpo
