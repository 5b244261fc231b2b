// A device whose streams can time their operations.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/clock.hpp"
#include "worker/backends/backend.hpp"

namespace hpo {

/// An operation on tensors of one shape, in all updates that were recorded.
struct ProfiledOperation {
    std::string_view name;
    std::string shape;
    std::int64_t calls = 0;       ///< in all updates
    double flops = 0, bytes = 0;  ///< in all updates; flops of matrix products alone, bytes with each tensor moved once
    double seconds = 0;           ///< in the present update
    std::vector<double> updates;  ///< seconds of all calls in each update
};

struct Profile {
    bool recording = false;  ///< otherwise operations are handed on as they come
    std::vector<ProfiledOperation> operations;
};

/// Returns a wrapper of `device` whose streams add their operations to `profile` while it is recording. An update ends
/// with Advance. All three references must outlive the result.
std::unique_ptr<Device> profiled(Device& device, const Clock& clock, Profile& profile);

}  // namespace hpo
