// The performance of devices, as measured by `hpo-worker --calibrate`, and comparisons of devices. Only
// load_calibration() and save_calibration() do I/O.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"

namespace hpo {

/// A measured time in seconds: the median, minimum and maximum of the measurements.
struct MeasuredTime {
    double seconds = 0, least = 0, most = 0;
};

/// A matrix product: input [rows, inputs] * weight [outputs, inputs]^T, for `replicas` models at once.
struct MeasuredProduct {
    std::string precision;  ///< float32, tf32, bfloat16 or float16
    std::int64_t rows = 0, inputs = 0, outputs = 0, replicas = 1;
    double flops = 0;  ///< number of operations of all replicas
    double bytes = 0;  ///< size of the operands and results, each moved once
    std::optional<MeasuredTime> time;
    std::string left_out;  ///< the reason if there is no time

    [[nodiscard]] double rate() const { return time ? flops / time->seconds : 0; }  ///< in flops per second
    [[nodiscard]] bool same_shape(const MeasuredProduct& other) const {
        return rows == other.rows && inputs == other.inputs && outputs == other.outputs && replicas == other.replicas;
    }
};

/// The measurements of one device. Rates are per second, and 0 if they were not measured.
struct DeviceCalibration {
    std::string device;    ///< "cpu", "cuda 0", "opencl 1"
    std::string name;      ///< name including libraries: "cpu, x86-64-v4, OpenBLAS Cooperlake"
    std::string identity;  ///< the measurements are valid as long as this does not change
    std::string remark;    ///< why the device is slower than it could be, and the cure; empty if nothing is wrong
    std::optional<MeasuredTime> launch, launch_and_wait;
    double memory_rate = 0, rate_to_device = 0, rate_to_host = 0;  ///< in bytes per second
    std::vector<MeasuredProduct> products;

    /// Returns the rate of the fastest product with this precision in flops per second, or 0 if there is none.
    [[nodiscard]] double peak(std::string_view precision) const;
    /// Returns the device's precisions, in the order of the products.
    [[nodiscard]] std::vector<std::string> precisions() const;
    /// Returns the product with the shape of `shape` and this precision, or nullptr if there is none.
    [[nodiscard]] const MeasuredProduct* find(const MeasuredProduct& shape, std::string_view precision) const;
};

/// Parses the worker's lines (docs/protocol.md). Fails if a line is invalid, with an error that names the line, or if
/// there are no measurements.
Result<DeviceCalibration> read_calibration(std::string_view lines, std::string device);

/// The size from which square products are faster on one device than on another, in the same precision.
struct Crossover {
    std::int64_t size = 0;       ///< 0 if the other device is not faster at the largest size
    double there = 0, last = 0;  ///< speedups at this size and at the largest size
    std::int64_t last_size = 0;  ///< the largest size that both devices have measured
};
/// Returns the crossover from `base` to `other`, or nothing if they have no square product of this precision in common.
std::optional<Crossover> crossover(const DeviceCalibration& base, const DeviceCalibration& other,
                                   std::string_view precision);

/// The content of a file of stored measurements.
struct KeptCalibration {
    std::string identity;
    std::string lines;
};

/// Returns the path of the file for a device of this machine in the folder `cache`. `id` is a UUID or a name.
std::filesystem::path calibration_file(const std::filesystem::path& cache, std::string_view machine,
                                       std::string_view device, std::string_view id);
/// Returns the measurements stored for this machine. Returns nothing if there is no file, or if the file is damaged or
/// comes from another machine, which happens with a shared home folder.
std::optional<KeptCalibration> load_calibration(const std::filesystem::path& file, std::string_view machine);
/// Reads the measurements of a device of this machine that are stored in the folder `cache`. Returns nothing where
/// there are none (see above), or where `cache` is empty. `host` and `cpu` are the machine's name and its CPU's.
std::optional<DeviceCalibration> kept_calibration(const std::filesystem::path& cache, const std::string& host,
                                                  const std::string& cpu, const std::string& device,
                                                  const std::string& id);
/// Writes the machine's name and the worker's lines to the file, replacing it atomically and creating its folders. The
/// error names the file.
Result<void> save_calibration(const std::filesystem::path& file, std::string_view machine, std::string_view lines);

}  // namespace hpo
