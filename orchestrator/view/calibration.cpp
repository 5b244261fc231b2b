#include "orchestrator/view/calibration.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/view/rates.hpp"
#include "orchestrator/view/table.hpp"

namespace hpo::view {

namespace {

std::string times_text(double factor) {
    char text[32];
    std::snprintf(text, sizeof text, factor < 9.95 ? "%.1f" : "%.0f", factor);
    return text;
}

std::string shape_text(const MeasuredProduct& product) {
    return std::to_string(product.rows) + " x " + std::to_string(product.inputs) + " x " +
           std::to_string(product.outputs) +
           (product.replicas > 1 ? ", " + std::to_string(product.replicas) + " models" : "");
}

std::string overview(std::span<const DeviceCalibration> devices, const Screen& screen) {
    Table table({{"DEVICE"},
                 {"MEMORY", Table::Align::right},
                 {"TO DEVICE", Table::Align::right},
                 {"TO HOST", Table::Align::right},
                 {"LAUNCH", Table::Align::right},
                 {"WITH WAIT", Table::Align::right},
                 {"NAME"}});
    for (const DeviceCalibration& device : devices)
        table.add({printable(device.device), bandwidth_text(device.memory_rate), bandwidth_text(device.rate_to_device),
                   bandwidth_text(device.rate_to_host), device.launch ? latency_text(device.launch->seconds) : "-",
                   device.launch_and_wait ? latency_text(device.launch_and_wait->seconds) : "-",
                   printable(device.name)});
    return table.draw(screen);
}

std::string products_table(std::span<const DeviceCalibration> devices, const Screen& screen) {
    std::vector<Table::Column> head{{"PRODUCT"}};
    std::vector<std::pair<const DeviceCalibration*, std::string>> columns;
    std::vector<MeasuredProduct> shapes;
    for (const DeviceCalibration& device : devices) {
        for (const std::string& precision : device.precisions()) {
            head.push_back({printable(device.device + " " + precision), Table::Align::right});
            columns.emplace_back(&device, precision);
        }
        for (const MeasuredProduct& product : device.products)
            if (std::none_of(shapes.begin(), shapes.end(),
                             [&](const MeasuredProduct& shape) { return shape.same_shape(product); }))
                shapes.push_back(product);
    }
    Table table(std::move(head));
    bool any_left_out = false;
    for (const MeasuredProduct& shape : shapes) {
        std::vector<std::string> row{shape_text(shape)};
        for (const auto& [device, precision] : columns) {
            const MeasuredProduct* product = device->find(shape, precision);
            any_left_out |= product != nullptr && !product->time;
            row.push_back(product == nullptr ? "" : product->time ? flops_text(product->rate()) : "-");
        }
        table.add(row);
    }
    return table.draw(screen) + (any_left_out ? "-: left out, for memory or time (see --json)\n" : "");
}

std::string crossovers(std::span<const DeviceCalibration> devices) {
    std::string text;
    for (std::size_t i = 1; i < devices.size(); ++i)
        for (const std::string& precision : devices[i].precisions()) {
            const auto found = crossover(devices[0], devices[i], precision);
            if (!found) continue;
            const std::string other = printable(devices[i].device), base = printable(devices[0].device);
            text += found->size == 0
                        ? other + " multiplies squares of no size faster than one worker on the " + base + " in " +
                              precision + " (" + times_text(found->last) + " times as fast at " +
                              std::to_string(found->last_size) + ").\n"
                        : other + " multiplies squares faster than one worker on the " + base + " from " +
                              std::to_string(found->size) + " on in " + precision + " (" + times_text(found->there) +
                              " times as fast there, " + times_text(found->last) + " times at " +
                              std::to_string(found->last_size) + ").\n";
        }
    return text;
}

}  // namespace

std::string draw_calibrations(std::span<const DeviceCalibration> devices, const Screen& screen) {
    std::string text = overview(devices, screen) + '\n' + products_table(devices, screen);
    if (const std::string across = crossovers(devices); !across.empty()) text += '\n' + across;
    for (const DeviceCalibration& device : devices)
        if (!device.remark.empty()) text += printable(device.device) + ": " + printable(device.remark) + '\n';
    return text;
}

}  // namespace hpo::view
