#include "orchestrator/calibration/calibration.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "hpo/printable.hpp"
#include "hpo/regular_file.hpp"

namespace hpo {

namespace {

using Json = nlohmann::json;

/// Returns a member that must be a finite number above 0. Throws otherwise.
double positive(const Json& json, const char* key) {
    const double value = json.at(key).get<double>();
    if (!(std::isfinite(value) && value > 0)) throw std::runtime_error(std::string(key) + " is not above 0");
    return value;
}

MeasuredTime time_in(const Json& json) {
    return {positive(json, "seconds"), positive(json, "least"), positive(json, "most")};
}

MeasuredProduct product_in(const Json& json) {
    MeasuredProduct product;
    product.precision = json.at("precision").get<std::string>();
    product.rows = json.at("rows").get<std::int64_t>();
    product.inputs = json.at("inputs").get<std::int64_t>();
    product.outputs = json.at("outputs").get<std::int64_t>();
    product.replicas = json.at("replicas").get<std::int64_t>();
    product.flops = positive(json, "flops");
    product.bytes = positive(json, "bytes");
    if (json.contains("left_out"))
        product.left_out = json["left_out"].get<std::string>();
    else
        product.time = time_in(json);
    return product;
}

void add_line(DeviceCalibration& calibration, const Json& json) {
    const auto measured = json.at("measured").get<std::string>();
    const auto rate = [&] { return positive(json, "bytes") / positive(json, "seconds"); };
    if (measured == "device") {
        calibration.identity = json.at("identity").get<std::string>();
        calibration.name = json.value("name", "");
        calibration.remark = json.value("remark", "");
    } else if (measured == "launch") {
        calibration.launch = time_in(json);
    } else if (measured == "launch_and_wait") {
        calibration.launch_and_wait = time_in(json);
    } else if (measured == "memory") {
        calibration.memory_rate = rate();
    } else if (measured == "copy_to_device") {
        calibration.rate_to_device = rate();
    } else if (measured == "copy_to_host") {
        calibration.rate_to_host = rate();
    } else if (measured == "product") {
        calibration.products.push_back(product_in(json));
    }
    // Unknown kinds come from later versions and are ignored.
}

}  // namespace

double DeviceCalibration::peak(std::string_view precision) const {
    double best = 0;
    for (const MeasuredProduct& product : products)
        if (product.precision == precision) best = std::max(best, product.rate());
    return best;
}

std::vector<std::string> DeviceCalibration::precisions() const {
    std::vector<std::string> all;
    for (const MeasuredProduct& product : products)
        if (std::find(all.begin(), all.end(), product.precision) == all.end()) all.push_back(product.precision);
    return all;
}

const MeasuredProduct* DeviceCalibration::find(const MeasuredProduct& shape, std::string_view precision) const {
    for (const MeasuredProduct& product : products)
        if (product.precision == precision && product.same_shape(shape)) return &product;
    return nullptr;
}

Result<DeviceCalibration> read_calibration(std::string_view lines, std::string device) {
    DeviceCalibration calibration;
    calibration.device = std::move(device);
    std::istringstream stream{std::string(lines)};
    int number = 0;
    for (std::string line; std::getline(stream, line);) {
        ++number;
        try {
            add_line(calibration, Json::parse(line));
        } catch (const std::exception& problem) {
            return Error{"line " + std::to_string(number) + " of the measurements of " + calibration.device +
                         " cannot be used: " + printable(problem.what(), 200)};
        }
    }
    if (calibration.identity.empty()) return Error{"no measurements of " + calibration.device + " were made"};
    return calibration;
}

std::optional<Crossover> crossover(const DeviceCalibration& base, const DeviceCalibration& other,
                                   std::string_view precision) {
    std::vector<std::pair<std::int64_t, double>> gains;  // by size, ascending
    for (const MeasuredProduct& one : base.products) {
        if (one.precision != precision || one.rows != one.inputs || one.rows != one.outputs || one.replicas != 1)
            continue;
        const MeasuredProduct* two = other.find(one, precision);
        if (one.time && two != nullptr && two->time)
            gains.emplace_back(one.rows, one.time->seconds / two->time->seconds);
    }
    if (gains.empty()) return std::nullopt;
    std::sort(gains.begin(), gains.end());
    Crossover found{.last = gains.back().second, .last_size = gains.back().first};
    for (auto gain = gains.rbegin(); gain != gains.rend() && gain->second > 1; ++gain)
        found.size = gain->first, found.there = gain->second;
    return found;
}

std::filesystem::path calibration_file(const std::filesystem::path& cache, std::string_view machine,
                                       std::string_view device, std::string_view id) {
    std::string name;
    for (const std::string_view part : {machine, device, id}) {
        if (!name.empty()) name += '-';
        for (const char c : part.substr(0, 80))
            name += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
    }
    return cache / "calibration" / (name + ".jsonl");
}

std::optional<KeptCalibration> load_calibration(const std::filesystem::path& file, std::string_view machine) {
    if (!check_regular(file)) return std::nullopt;
    std::ifstream stream(file);
    std::string head;
    if (!std::getline(stream, head)) return std::nullopt;
    const Json json = Json::parse(head, nullptr, false);
    if (!json.is_object() || !json.contains("machine") || json["machine"] != machine) return std::nullopt;
    std::ostringstream rest;
    rest << stream.rdbuf();
    const auto read = read_calibration(rest.str(), "the device");
    if (!read || read->products.empty()) return std::nullopt;
    return KeptCalibration{read->identity, rest.str()};
}

std::optional<DeviceCalibration> kept_calibration(const std::filesystem::path& cache, const std::string& host,
                                                  const std::string& cpu, const std::string& device,
                                                  const std::string& id) {
    if (cache.empty()) return std::nullopt;
    const auto kept = load_calibration(calibration_file(cache, host, device, id), host + ", " + cpu);
    if (!kept) return std::nullopt;
    auto read = read_calibration(kept->lines, device);
    return read ? std::optional(std::move(*read)) : std::nullopt;
}

Result<void> save_calibration(const std::filesystem::path& file, std::string_view machine, std::string_view lines) {
    std::error_code failed;
    std::filesystem::create_directories(file.parent_path(), failed);
    const std::filesystem::path temporary = file.string() + "." + std::to_string(::getpid());
    {
        std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
        stream << Json{{"machine", machine}}.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n' << lines;
        stream.close();
        if (!stream) {
            const std::string reason = std::strerror(errno);
            std::filesystem::remove(temporary, failed);
            return Error{"the measurements cannot be kept in " + printable(file.string()) + ": " + reason};
        }
    }
    std::filesystem::rename(temporary, file, failed);
    if (failed)
        return Error{"the measurements cannot be kept in " + printable(file.string()) + ": " + failed.message()};
    return {};
}

}  // namespace hpo
