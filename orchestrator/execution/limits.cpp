#include "orchestrator/execution/limits.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "hpo/shortage.hpp"

namespace hpo {
namespace {

rlim_t raise(decltype(RLIMIT_NOFILE) which) {
    rlimit limit{};
    if (::getrlimit(which, &limit) != 0) return RLIM_INFINITY;
    const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
    if (before != limit.rlim_max) (void)::setrlimit(which, &limit);
    return before;
}

void lower(decltype(RLIMIT_NOFILE) which, rlim_t soft) {
    rlimit limit{};
    if (::getrlimit(which, &limit) != 0 || soft >= limit.rlim_cur) return;
    limit.rlim_cur = soft;
    (void)::setrlimit(which, &limit);
}

}  // namespace

SoftLimits raise_soft_limits() {
    static const SoftLimits before{raise(RLIMIT_NOFILE), raise(RLIMIT_NPROC)};
    return before;
}

std::vector<std::string> to_arguments(const SoftLimits& limits) {
    return {std::to_string(limits.descriptors), std::to_string(limits.processes)};
}

SoftLimits soft_limits_from(int argc, char** argv, int first) {
    SoftLimits limits;
    for (rlim_t* limit : {&limits.descriptors, &limits.processes}) {
        if (first >= argc) break;
        const char* text = argv[first++];
        rlim_t number = 0;
        const auto read = std::from_chars(text, text + std::strlen(text), number);
        if (read.ec == std::errc() && *read.ptr == '\0') *limit = number;
    }
    return limits;
}

void apply(const SoftLimits& limits) {
    lower(RLIMIT_NOFILE, limits.descriptors);
    lower(RLIMIT_NPROC, limits.processes);
}

bool is_launch_shortage(int error, const std::string& output) {
    constexpr std::array errors{EAGAIN, EMFILE, ENFILE, ENOMEM, ENOBUFS, ETXTBSY, ENOSPC, EDQUOT};
    if (is_shortage(error) || std::find(errors.begin(), errors.end(), error) != errors.end()) return true;
    if (output.find("can't start new thread") != std::string::npos) return true;  // Python's RuntimeError
    return std::any_of(errors.begin(), errors.end(),
                       [&](int one) { return output.find(std::strerror(one)) != std::string::npos; });
}

}  // namespace hpo
