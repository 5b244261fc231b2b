#include "os/readiness.hpp"

#include <sys/epoll.h>

namespace hpo::os {

Readiness::Readiness() : queue_(::epoll_create1(EPOLL_CLOEXEC)) {}

bool Readiness::add(int descriptor, std::uint64_t name) const {
    epoll_event readable{.events = EPOLLIN, .data = {.u64 = name}};
    return ::epoll_ctl(queue_.get(), EPOLL_CTL_ADD, descriptor, &readable) == 0;
}

std::vector<std::uint64_t> Readiness::ready() const {
    epoll_event events[16];
    const int count = ::epoll_wait(queue_.get(), events, std::size(events), 0);
    std::vector<std::uint64_t> names;
    for (int i = 0; i < count; ++i) {
        const std::uint64_t name = events[i].data.u64;  // a copy: the struct is packed, its members are not aligned
        names.push_back(name);
    }
    return names;
}

}  // namespace hpo::os
