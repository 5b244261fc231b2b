// The memory of a Mac and of its processes, as macOS counts it now. macOS only.
#pragma once

#include <libproc.h>
#include <mach/mach.h>
#include <sys/resource.h>
#include <sys/sysctl.h>

#include <cstdint>
#include <optional>

#include "hpo/apple_memory.hpp"

namespace hpo::darwin {

inline std::optional<std::int64_t> installed_bytes() {
    std::uint64_t bytes = 0;
    std::size_t size = sizeof bytes;
    if (::sysctlbyname("hw.memsize", &bytes, &size, nullptr, 0) != 0) return std::nullopt;
    return static_cast<std::int64_t>(bytes);
}

inline std::optional<ApplePages> pages() {
    vm_statistics64_data_t counted{};
    mach_msg_type_number_t size = HOST_VM_INFO64_COUNT;
    const mach_port_t host = ::mach_host_self();
    const kern_return_t code =
        ::host_statistics64(host, HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&counted), &size);
    ::mach_port_deallocate(::mach_task_self(), host);  // each call of mach_host_self() has added a reference
    if (code != KERN_SUCCESS) return std::nullopt;
    return ApplePages{static_cast<std::int64_t>(vm_kernel_page_size), counted.internal_page_count,
                      counted.purgeable_count, counted.wire_count, counted.compressor_page_count};
}

/// Returns macOS's counters of a process; nothing if it is gone or belongs to another user.
inline std::optional<rusage_info_v4> usage_of(std::int64_t pid) {
    rusage_info_v4 usage{};
    if (::proc_pid_rusage(static_cast<int>(pid), RUSAGE_INFO_V4, reinterpret_cast<rusage_info_t*>(&usage)) != 0)
        return std::nullopt;
    return usage;
}

}  // namespace hpo::darwin
