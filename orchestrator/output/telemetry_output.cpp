#include "orchestrator/output/telemetry_output.hpp"

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "orchestrator/output/trial_json.hpp"

namespace hpo {

using Json = nlohmann::ordered_json;

TelemetryCsv::TelemetryCsv(const std::string& path) {
    auto file = FileWriter::create(path, path);
    if (!file) throw Fatal("--csv " + file.error().message);
    file_ = std::move(*file);
    write("time,source,quantity,value,unit,possible\n");
}

void TelemetryCsv::add(const TelemetrySample& sample) {
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const std::string time = utc_text(now);
    std::string rows;
    for (const Measurement& measured : sample) {
        const QuantityTraits& traits = traits_of(measured.channel.quantity);
        char value[40];
        std::snprintf(value, sizeof value, "%.10g", measured.value);
        rows += time + ',' + measured.channel.source + ',' + std::string(traits.name) + ',' + value + ',' +
                std::string(traits.unit) + ',' + (measured.possible ? "1" : "0") + '\n';
    }
    write(rows);
}

void TelemetryCsv::close() {
    if (const auto closed = file_->close(false); !closed) throw Fatal("--csv " + closed.error().message);
}

void TelemetryCsv::write(const std::string& text) {
    if (const auto written = file_->write(text); !written) throw Fatal("--csv " + written.error().message);
}

Json channels_json(const TelemetrySummary& summary) {
    Json channels = Json::array();
    for (const auto& [channel, figures] : summary) {
        const QuantityTraits& traits = traits_of(channel.quantity);
        Json json{{"source", channel.source},
                  {"quantity", traits.name},
                  {"unit", traits.unit},
                  {"samples", figures.count},
                  {"impossible", figures.impossible}};
        const auto add = [&](const char* name, double value) {
            json[name] = figures.count > 0 ? Json(value) : Json(nullptr);
        };
        add("average", figures.average);
        add("least", figures.least);
        add("p5", figures.percentile_5);
        add("median", figures.median);
        add("p95", figures.percentile_95);
        add("most", figures.most);
        channels.push_back(std::move(json));
    }
    return channels;
}

}  // namespace hpo
