#include "os/readiness.hpp"

#include <fcntl.h>
#include <sys/event.h>
#include <sys/time.h>

namespace hpo::os {

Readiness::Readiness() : queue_(::kqueue()) {
    if (queue_) (void)::fcntl(queue_.get(), F_SETFD, FD_CLOEXEC);
}

bool Readiness::add(int descriptor, std::uint64_t name) const {
    struct kevent readable {};
    EV_SET(&readable, static_cast<uintptr_t>(descriptor), EVFILT_READ, EV_ADD, 0, 0, reinterpret_cast<void*>(name));
    return ::kevent(queue_.get(), &readable, 1, nullptr, 0, nullptr) == 0;
}

std::vector<std::uint64_t> Readiness::ready() const {
    struct kevent events[16];
    const timespec at_once{};
    const int count = ::kevent(queue_.get(), nullptr, 0, events, std::size(events), &at_once);
    std::vector<std::uint64_t> names;
    for (int i = 0; i < count; ++i) names.push_back(reinterpret_cast<std::uint64_t>(events[i].udata));
    return names;
}

}  // namespace hpo::os
