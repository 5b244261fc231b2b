// What devices can do, as `hpo-worker --calibrate` measured it, and what follows from comparing them. Pure but for
// load() and save().
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

/// A time in seconds: median, least and most of its measurements.
struct MeasuredTime {
    double seconds = 0, least = 0, most = 0;
};

/// input [rows, inputs] * weight [outputs, inputs]^T, for `replicas` models at once.
struct MeasuredProduct {
    std::string precision;  ///< float32, tf32, bfloat16 or float16
    std::int64_t rows = 0, inputs = 0, outputs = 0, replicas = 1;
    double flops = 0;  ///< operations of all replicas
    double bytes = 0;  ///< operands and result, each moved once
    std::optional<MeasuredTime> time;
    std::string left_out;  ///< why there is no time

    [[nodiscard]] double rate() const { return time ? flops / time->seconds : 0; }  ///< flops a second
    [[nodiscard]] double intensity() const { return flops / bytes; }                ///< flops a byte
    [[nodiscard]] bool same_shape(const MeasuredProduct& other) const {
        return rows == other.rows && inputs == other.inputs && outputs == other.outputs && replicas == other.replicas;
    }
};

/// One device. Rates are in units a second; 0 where nothing was measured.
struct DeviceCalibration {
    std::string device;    ///< "cpu", "cuda 0", "opencl 1"
    std::string name;      ///< with libraries: "cpu, x86-64-v4, OpenBLAS Cooperlake"
    std::string identity;  ///< the measurements hold as long as the device has this
    std::string remark;    ///< why it is slower than it could be, with the cure; empty: nothing is wrong
    std::optional<MeasuredTime> launch, launch_and_wait;
    double memory_rate = 0, rate_to_device = 0, rate_to_host = 0;  ///< bytes a second
    std::vector<MeasuredProduct> products;

    /// The fastest product of this precision, in flops a second; 0 if there is none.
    [[nodiscard]] double peak(std::string_view precision) const;
    /// Its precisions, in the order of the products.
    [[nodiscard]] std::vector<std::string> precisions() const;
    [[nodiscard]] const MeasuredProduct* find(const MeasuredProduct& shape, std::string_view precision) const;
};

/// Reads the worker's lines (docs/protocol.md). The error names the line.
Result<DeviceCalibration> read_calibration(std::string_view lines, std::string device);

/// The size from which on square products are faster on `other` than on `base`, in the same precision.
struct Crossover {
    std::int64_t size = 0;       ///< 0: `other` is never faster
    double there = 0, last = 0;  ///< times as fast, at this size and at the largest one
    std::int64_t last_size = 0;
};
/// Returns nothing if they have no square product of this precision in common.
std::optional<Crossover> crossover(const DeviceCalibration& base, const DeviceCalibration& other,
                                   std::string_view precision);

/// A file of kept measurements: the machine's name and CPU, and then the worker's lines.
struct KeptCalibration {
    std::string identity;
    std::string lines;
};

/// The file for a device of this machine below `cache`. `id` is a UUID, or a name.
std::filesystem::path calibration_file(const std::filesystem::path& cache, std::string_view machine,
                                       std::string_view device, std::string_view id);
/// Returns what was kept for this machine; nothing if there is no file, or one that was damaged or comes from another
/// machine (a shared home folder).
std::optional<KeptCalibration> load_calibration(const std::filesystem::path& file, std::string_view machine);
/// Replaces the file at once; it is made with its folders. The error names the file.
Result<void> save_calibration(const std::filesystem::path& file, std::string_view machine, std::string_view lines);

}  // namespace hpo
