// Telemetry for programs: rows of CSV while it is sampled, and its summary as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "orchestrator/output/output_path.hpp"
#include "orchestrator/telemetry/sample.hpp"
#include "orchestrator/telemetry/summary.hpp"

namespace hpo {

/// Writes one row for each value: the time in UTC, the source, the quantity, the value, its unit, and 1 if it is
/// possible. Throws Fatal on write errors.
class TelemetryCsv {
   public:
    /// Creates the file. Throws Fatal if it exists.
    explicit TelemetryCsv(const std::string& path);
    void add(const TelemetrySample& sample);
    void close();

   private:
    void write(const std::string& text);
    std::optional<FileWriter> file_;
};

/// Returns an object for each channel: its source, quantity, unit, number of samples and figures, null without samples.
nlohmann::ordered_json channels_json(const TelemetrySummary& summary);

}  // namespace hpo
