// Labelled samples: where they come from (one registry of formats), and how they get into a device's memory. Loading
// streams: no second copy of the samples is made on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "hpo/result.hpp"

namespace hpo {

/// The `data` section of a native worker's configuration (worker_keys.hpp documents the keys).
enum class Placement : std::uint8_t { automatic, device, staged };

struct DataConfig {
    std::string format = "idx";
    std::string path;
    double validation = 0.1;
    std::int64_t subset = 0;  ///< 0: all
    std::int64_t samples = 4096;
    std::int64_t features = 32;
    std::int64_t classes = 4;
    double noise = 1.0;
    Placement placement = Placement::automatic;  ///< settled before data is loaded: device or staged
    friend bool operator==(const DataConfig&, const DataConfig&) = default;
};

/// What can be known without loading the samples.
struct DataShape {
    std::int64_t train = 0;  ///< samples of the training file, before subset and split
    std::int64_t test = 0;
    std::int64_t features = 0;
    std::int64_t classes = 0;
    bool pixels = false;      ///< a value is an unsigned byte; else a float
    std::int64_t height = 0;  ///< of images, channels last; 0: they are none
    std::int64_t width = 0;
    friend bool operator==(const DataShape&, const DataShape&) = default;

    [[nodiscard]] std::int64_t row_bytes() const { return features * (pixels ? 1 : 4); }
};

enum class Part { train, test };

/// Takes rows as they are read: the values of `labels.size()` samples from number `first` on, in order.
using RowSink = std::function<void(Part part, std::int64_t first, std::span<const std::byte> values,
                                   std::span<const std::int32_t> labels)>;

/// One row of the registry. `load` calls the sink at least once a megabyte.
struct DataFormat {
    std::string_view name;
    Result<DataShape> (*describe)(const DataConfig& config);
    Result<void> (*load)(const DataConfig& config, std::uint64_t data_seed, const RowSink& sink);
};

std::span<const DataFormat> data_formats();

/// By config.format. Errors name the file or the key, and the cure where there is one.
Result<DataShape> describe_data(const DataConfig& config);
Result<void> load_data(const DataConfig& config, std::uint64_t data_seed, const RowSink& sink);

// The formats.
Result<DataShape> describe_idx(const DataConfig& config);
Result<void> load_idx(const DataConfig& config, std::uint64_t data_seed, const RowSink& sink);
Result<DataShape> describe_synthetic(const DataConfig& config);
Result<void> load_synthetic(const DataConfig& config, std::uint64_t data_seed, const RowSink& sink);

}  // namespace hpo
