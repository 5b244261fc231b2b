#include "orchestrator/output/calibration_json.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "orchestrator/output/trial_json.hpp"

namespace hpo {

using Json = nlohmann::ordered_json;

namespace {

Json number_or_null(double number) { return number > 0 ? Json(number) : Json(nullptr); }

Json time_json(const std::optional<MeasuredTime>& time) {
    if (!time) return nullptr;
    return {{"seconds", time->seconds}, {"least", time->least}, {"most", time->most}};
}

}  // namespace

Json calibrations_json(const std::vector<DeviceCalibration>& devices) {
    Json all = Json::array();
    for (const DeviceCalibration& device : devices) {
        Json products = Json::array();
        for (const MeasuredProduct& product : device.products)
            products.push_back({{"precision", product.precision},
                                {"rows", product.rows},
                                {"inputs", product.inputs},
                                {"outputs", product.outputs},
                                {"replicas", product.replicas},
                                {"flops", product.flops},
                                {"bytes", product.bytes},
                                {"time", time_json(product.time)},
                                {"left_out", product.left_out.empty() ? Json(nullptr) : Json(product.left_out)}});
        all.push_back({{"device", device.device},
                       {"name", device.name},
                       {"identity", device.identity},
                       {"memory_rate", number_or_null(device.memory_rate)},
                       {"rate_to_device", number_or_null(device.rate_to_device)},
                       {"rate_to_host", number_or_null(device.rate_to_host)},
                       {"launch", time_json(device.launch)},
                       {"launch_and_wait", time_json(device.launch_and_wait)},
                       {"products", std::move(products)}});
    }
    return {{"schema", json_schema}, {"devices", std::move(all)}};
}

}  // namespace hpo
