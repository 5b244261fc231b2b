#include "orchestrator/cluster/host.hpp"

#include <algorithm>

namespace hpo::cluster {

namespace {

constexpr double silent_after = 3;  ///< seconds without a reading, which comes every second

}  // namespace

bool awaits_hosts(std::span<const Host> hosts, bool door) {
    if (std::any_of(hosts.begin(), hosts.end(), [](const Host& host) { return host.is_awaited(); })) return true;
    return door && !any_up(hosts);
}

bool any_up(std::span<const Host> hosts) {
    return std::any_of(hosts.begin(), hosts.end(), [](const Host& host) { return host.state == Host::State::up; });
}

std::string why_no_host_is_left(std::span<const Host> hosts, bool door) {
    std::string reasons;
    for (const Host& host : hosts) {
        const bool is_lost = host.state == Host::State::aside || host.state == Host::State::left;
        if (!is_lost) return {};
        if (host.joins()) continue;
        reasons += (reasons.empty() ? "" : "; ") + host.address.name + ": " + host.reason;
    }
    if (door && reasons.empty()) return {};  // agents may join
    return "no host is left: " + reasons;
}

int workers_of(std::span<const Host> hosts, bool on_device) {
    int all = 0, awaited = 0, most = 0;
    for (const Host& host : hosts) {
        awaited += host.is_awaited() ? 1 : 0;
        if (host.state == Host::State::aside || !host.first_device || (on_device && !host.hello.on_device)) continue;
        all += host.hello.workers;
        most = std::max(most, host.hello.workers);
    }
    return all + awaited * most;
}

int count_present(std::span<const Host> hosts) {
    return static_cast<int>(std::count_if(hosts.begin(), hosts.end(), [](const Host& host) {
        return host.state != Host::State::aside && host.state != Host::State::left;
    }));
}

bool is_over(HostClock::duration since, double seconds) {
    return std::chrono::duration<double>(since).count() > seconds;
}

bool Host::is_silent(HostClock::time_point now) const {
    return state == State::up && is_over(now - heard, silent_after);
}

std::pair<std::string, std::string> Host::state_text(HostClock::time_point now) const {
    const auto silence = std::chrono::duration_cast<std::chrono::seconds>(now - heard).count();
    switch (state) {
        case State::aside:
            return {"set aside", reason};
        case State::left:
            return {"left", reason};
        case State::resting:
            return {"awaited", reason};
        case State::starting:
            return {"awaited", reason.empty() ? "its agent has not answered yet" : reason};
        case State::up:
            break;
    }
    if (is_silent(now))
        return {"silent", "for " + std::to_string(silence) + " s; its trials are queued again after 30 s"};
    return {"up", ""};
}

std::string Host::lost_text() const { return "its host, " + address.name + ", was lost: " + reason; }

}  // namespace hpo::cluster
