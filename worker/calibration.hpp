// Measures the speed of a device: matrix products of many sizes in every precision, memory bandwidth, the cost of a
// launch, and copies between host and device. `hpo bench devices` shows and stores the results.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "hpo/clock.hpp"
#include "worker/backends/backend.hpp"

namespace hpo {

/// input [rows, inputs] * weight [outputs, inputs]^T, for each of `replicas` at once.
struct ProductShape {
    std::int64_t rows = 0, inputs = 0, outputs = 0;
    int replicas = 1;

    /// A multiplication and an addition for each pair.
    [[nodiscard]] double flops() const {
        return 2.0 * static_cast<double>(rows) * static_cast<double>(inputs) * static_cast<double>(outputs) * replicas;
    }
    /// Bytes of the operands and the result, each moved once, with operands of `element` bytes.
    [[nodiscard]] double bytes(double element) const {
        return replicas * (element * static_cast<double>(inputs) * static_cast<double>(rows + outputs) +
                           4.0 * static_cast<double>(rows) * static_cast<double>(outputs));
    }
};

/// Squares from 256 to 8,000; a layer of 768 units for batches of 64 to 512 sequences of 60 steps (3,840 to 30,720
/// rows); and a small layer for 1, 8 and 32 models side by side.
std::vector<ProductShape> standard_products();

struct CalibrationOptions {
    std::vector<ProductShape> products = standard_products();
    double seconds = 0.1;  ///< of one measurement, as far as a single operation allows it
    double longest = 20;   ///< seconds; a product that is predicted to take longer is left out, and said to be
    std::size_t streamed = std::size_t{256} << 20;  ///< bytes of the array whose bandwidth is measured, at most
    std::size_t copied = std::size_t{64} << 20;     ///< bytes of a copy between host and device
};

/// Returns the standard products of at most 1024^3 multiplications.
std::vector<ProductShape> quick_products();

/// Returns one line that changes when the device, its driver, its libraries or this program change: measurements made
/// under another line do not hold any more.
std::string identity_of(const Device& device);

/// Measures, and gives each result to `emit` as one JSON object (docs/protocol.md, "Calibration"). Each time is the
/// median of five measurements after one that is not counted; of products that take long there are fewer. Needs at most
/// a quarter of the memory that is free; products that need more are left out, and said to be.
void calibrate(Device& device, const Clock& clock, const CalibrationOptions& options,
               const std::function<void(const nlohmann::json&)>& emit);

}  // namespace hpo
