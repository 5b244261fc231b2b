#include "orchestrator/script/die_of.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

namespace hpo::script {

void die_of(int signal) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::signal(signal, SIG_DFL);
    sigset_t empty;
    sigemptyset(&empty);
    ::sigprocmask(SIG_SETMASK, &empty, nullptr);
    ::raise(signal);
    ::_exit(128 + signal);
}

}  // namespace hpo::script
