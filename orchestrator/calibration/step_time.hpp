// Predicts how long a step of a native trial takes on a device that has been calibrated, with the device to itself.
// Pure. Used to choose the backend of a trial, and to estimate studies on other devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/messages.hpp"
#include "orchestrator/calibration/calibration.hpp"

namespace hpo {

/// The work of one step of a trial.
struct StepWork {
    double flops = 0;       ///< of the step's matrix products, evaluation included
    double updates = 0;     ///< optimizer updates, each of which trains one batch
    double parameters = 0;  ///< of the model
    double rows = 0;        ///< rows of a product in an update: samples of a micro-batch, times the steps of a sequence
    double layers = 1;      ///< layers with weights; each needs three products per update
    std::string precision = "float32";  ///< auto: the one that is fastest for these products

    /// Returns the side of a square weight matrix whose products need as many operations as the average of the model.
    [[nodiscard]] double width() const;
};

/// Returns the work of a step, from a worker's answer to `plan` and the complete configuration of the trial. Absent
/// keys have the native worker's defaults.
StepWork step_work(const from_worker::PlanAnswer& answer, const Params& configuration);

/// A predicted duration in seconds, as the sum of its parts.
struct StepTime {
    double products = 0;  ///< matrix products
    double memory = 0;    ///< the optimizer and element-wise operations, which move memory
    double launches = 0;  ///< the start of each operation

    [[nodiscard]] double seconds() const { return products + memory + launches; }
};

/// Returns how many times faster the device computes the products of up to `fused` models at once than one by one. At
/// least 1.
double fusing_gain(const DeviceCalibration& device, const std::string& precision, std::int64_t fused);

/// The other trials on a trial's GPU.
struct StepSharing {
    std::int64_t others = 0;  ///< trials that train there
    std::int64_t fused = 0;   ///< the trials among `others` that train in the same worker
};

/// Returns the duration of a step on a GPU that other trials use too. They share the device's products and memory
/// evenly. Fused trials gain as much as the products of several models at once do, as far as that was measured.
double seconds_beside(const DeviceCalibration& gpu, const StepWork& work, const StepTime& alone,
                      const StepSharing& sharing);

/// Returns the precision in which the work is done on the device: its own, or for `auto` the one that is predicted to
/// be the fastest there, as the worker chooses by measuring. Without any measurement `auto` is float32.
std::string precision_on(const DeviceCalibration& device, const StepWork& work);

/// Returns the duration of a step on the device, or nothing if the device has no measured product in this precision or
/// the work is not known. The rate of a product is interpolated between the measured products by the number of their
/// operations. Below the smallest product it follows the slope of the two smallest, above the largest it is constant.
/// Parts that were not measured count as 0. The parts are models, not measurements: where trials were measured, the
/// prediction should be corrected by their ratio.
std::optional<StepTime> predict_step(const DeviceCalibration& device, const StepWork& work);

}  // namespace hpo
