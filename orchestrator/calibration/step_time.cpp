#include "orchestrator/calibration/step_time.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <variant>

#include "hpo/batch_size.hpp"

namespace hpo {

namespace {

constexpr double products_per_layer = 3;     // forward, gradient of the input, gradient of the weight
constexpr double operations_per_layer = 8;   // products, biases, activations, dropout, forward and backward
constexpr double operations_per_update = 8;  // loss, clipping, optimizer
constexpr double passes_over_state = 9;      // gradient, weight and two moments, read and written
constexpr double passes_over_layer = 8;      // activations and their gradients, read and written
constexpr double float_bytes = 4;

double whole_or(const Params& params, const char* name, double otherwise) {
    const auto found = params.find(name);
    return found == params.end() ? otherwise : number_or(found->second, otherwise);
}

double layers_of(const Params& params) {
    if (const auto hidden = params.find("hidden"); hidden != params.end())
        if (const auto* widths = std::get_if<std::vector<std::int64_t>>(&hidden->second))
            return static_cast<double>(widths->size()) + 1;
    return whole_or(params, "depth", 2) + 1;
}

/// Returns the operations per second of a product with `flops` operations; 0 if no product was measured.
double product_rate(const DeviceCalibration& device, const std::string& precision, double flops) {
    std::map<double, double> rates;  // log of the rate by log of the number of operations; the fastest shape counts
    for (const MeasuredProduct& product : device.products) {
        if (product.precision != precision || product.replicas != 1 || !product.time) continue;
        const double rate = std::log(product.rate());
        const auto [known, is_new] = rates.emplace(std::log(product.flops), rate);
        if (!is_new) known->second = std::max(known->second, rate);
    }
    if (rates.empty()) return 0;
    const double at = std::log(flops);
    if (at >= rates.rbegin()->first) return std::exp(rates.rbegin()->second);
    auto above = rates.upper_bound(at);
    if (above == rates.begin()) {
        if (rates.size() == 1) return std::exp(above->second);
        const auto next = std::next(above);
        const double slope = (next->second - above->second) / (next->first - above->first);
        return std::exp(above->second + std::clamp(slope, 0.0, 1.0) * (at - above->first));
    }
    const auto below = std::prev(above);
    const double share = (at - below->first) / (above->first - below->first);
    return std::exp(below->second + share * (above->second - below->second));
}

}  // namespace

double fusing_gain(const DeviceCalibration& device, const std::string& precision, std::int64_t fused) {
    double gain = 1;
    for (const MeasuredProduct& several : device.products) {
        if (several.replicas == 1 || several.replicas > fused || several.precision != precision || !several.time)
            continue;
        MeasuredProduct one = several;
        one.replicas = 1;
        if (const MeasuredProduct* alone = device.find(one, precision); alone != nullptr && alone->time)
            gain = std::max(gain, several.rate() / alone->rate());
    }
    return gain;
}

double seconds_beside(const DeviceCalibration& gpu, const StepWork& work, const StepTime& alone,
                      const StepSharing& sharing) {
    const double gain = fusing_gain(gpu, precision_on(gpu, work), sharing.fused + 1);
    const double slower = static_cast<double>(sharing.others + 1) / gain;
    return std::max(1.0, slower) * (alone.products + alone.memory) + alone.launches;
}

double StepWork::width() const {
    const double product = flops / (updates * layers * products_per_layer);
    return std::sqrt(product / (2 * rows));
}

StepWork step_work(const from_worker::PlanAnswer& answer, const Params& configuration) {
    StepWork work;
    work.flops = answer.flops_per_step;
    work.updates = static_cast<double>(answer.iterations_per_step);
    work.parameters = static_cast<double>(answer.parameters);
    const auto by_default = static_cast<double>(auto_batch_size(answer.training_samples));
    work.rows = whole_or(configuration, "batch_size", by_default) /
                std::max(1.0, whole_or(configuration, "accumulation", 1)) *
                std::max(1.0, whole_or(configuration, "steps", 1));
    work.layers = layers_of(configuration);
    if (const auto found = configuration.find("precision"); found != configuration.end())
        if (const auto* text = std::get_if<std::string>(&found->second)) work.precision = *text;
    return work;
}

std::string precision_on(const DeviceCalibration& device, const StepWork& work) {
    if (work.precision != "auto") return work.precision;
    std::string fastest = "float32";
    double least = 0;
    for (const std::string& precision : device.precisions()) {
        StepWork one = work;
        one.precision = precision;
        const auto time = predict_step(device, one);
        if (time && (least == 0 || time->seconds() < least)) least = time->seconds(), fastest = precision;
    }
    return fastest;
}

std::optional<StepTime> predict_step(const DeviceCalibration& device, const StepWork& work) {
    const bool known = work.flops > 0 && work.updates > 0 && work.rows > 0 && work.layers > 0 &&
                       std::isfinite(work.flops) && std::isfinite(work.updates) && std::isfinite(work.rows);
    if (!known) return std::nullopt;
    const double rate = product_rate(device, precision_on(device, work),
                                     work.flops / (work.updates * work.layers * products_per_layer));
    if (!(rate > 0)) return std::nullopt;
    StepTime time;
    time.products = work.flops / rate;
    if (device.memory_rate > 0)
        time.memory =
            work.updates * float_bytes *
            (passes_over_state * work.parameters + passes_over_layer * work.rows * work.layers * work.width()) /
            device.memory_rate;
    if (device.launch)
        time.launches =
            work.updates * (operations_per_layer * work.layers + operations_per_update) * device.launch->seconds;
    return time;
}

}  // namespace hpo
