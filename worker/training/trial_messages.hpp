// The texts of a trial: the lines of its log, and what its checkpoints are bound to.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hpo/messages.hpp"
#include "worker/data/device_data.hpp"
#include "worker/training/configuration.hpp"
#include "worker/training/group_plan.hpp"

namespace hpo {

/// "23.4 MB"
std::string megabytes(std::int64_t bytes);

std::string configuration_line(const to_worker::Run& run, const Configuration& configuration, const GroupPlan& plan,
                               std::size_t arena_bytes, const DeviceData& data, const std::string& device);
/// `metrics`: the names of those to write, in this order.
std::string step_line(const Report& report, std::int64_t steps, std::span<const std::string_view> metrics);
std::string test_line(double accuracy, double loss, std::int64_t step);

/// A text of everything that the bits of a trial's training follow from. The number of micro-batches is left out, since
/// a trial that ran out of memory resumes with smaller ones.
std::string binding_text(const to_worker::Run& run, const Configuration& configuration, std::uint32_t fingerprint);

}  // namespace hpo
