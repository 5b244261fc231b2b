// The time of training by operation, as `hpo-worker --profile` measured it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "orchestrator/calibration/calibration.hpp"

namespace hpo {

/// An operation on tensors of one shape.
struct OperationTime {
    std::string name, shape;
    double calls = 0;             ///< in an update, on average
    double flops = 0, bytes = 0;  ///< of all calls of an update; flops of matrix products alone
    MeasuredTime time;            ///< of all calls of an update; the median, minimum and maximum over the updates
};

/// Updates of one configuration on one device.
struct TrainingProfile {
    std::string backend, name, identity;  ///< of the device, as in its calibration
    std::string precision;
    std::int64_t batch_size = 0, micro_batches = 0, parameters = 0, updates = 0;
    double whole = 0;                       ///< seconds of an update whose operations are not timed
    std::string loading;                    ///< how batches of staged data are loaded, and why; empty: not staged
    std::vector<OperationTime> operations;  ///< the longest first

    [[nodiscard]] double sum() const;  ///< of the operations' medians
};

/// Parses the worker's lines (docs/protocol.md). The error is the worker's, or names the line that is invalid.
Result<TrainingProfile> read_profile(std::string_view lines);

}  // namespace hpo
