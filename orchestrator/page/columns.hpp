// Turns a study into the columns that the page shows (README.md lists them). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "hpo/telemetry_row.hpp"
#include "orchestrator/page/packed.hpp"

namespace hpo::page {

/// Returns a row a trial: its state, value, times, memory, speed, reason, parameters and metrics.
Json trial_columns(const Study& study, const StudyRecord& record);

/// Returns the dimensions of the space: name, kind, and range or choices.
Json space_columns(const Study& study);

/// The points that are shown of a curve.
struct CurvePoints {
    std::vector<std::uint32_t> steps;
    std::vector<float> values;
};

/// Collects the curves of the objective's metric, thinned so that all of them together have a bounded size.
class CurveColumns {
   public:
    /// `curves` is how many trials are added at most.
    CurveColumns(std::string metric, std::size_t curves);
    /// Returns the shown parts of a trial, which must have all its steps.
    [[nodiscard]] CurvePoints points_of(const TrialRecord& trial) const;
    /// Returns the largest number of points of a curve.
    [[nodiscard]] std::size_t most() const { return points_; }
    void add(std::int64_t trial, const CurvePoints& points);
    [[nodiscard]] Json json() const;

    static constexpr std::size_t most_points = 320'000;  ///< of all curves
    /// Curves of more trials are not shown: a picture with more would have no free spot.
    static constexpr std::size_t most_curves = 10'000;

   private:
    std::string metric_;
    std::size_t points_;  ///< of one curve
    std::vector<std::uint32_t> trials_, ends_, steps_;
    std::vector<float> values_;
};

/// Returns the numbers of the trials whose curves are shown: all that have one, or of a large study the best and others
/// at equal distances, at most `most`.
std::vector<std::int64_t> shown_curves(const Study& study, const StudyRecord& record,
                                       std::size_t most = CurveColumns::most_curves);

/// Returns at most `most` (at least 2) indices of `values` in ascending order: the ends, and one after another those
/// farthest from the line through the ones before (Ramer 1972, Douglas and Peucker 1973), so that no peak is lost and
/// bends have most points. Of many values, the least and the largest of equal parts take part.
std::vector<std::size_t> thinned(std::span<const double> values, std::size_t most);

/// Where and when a trial ran.
struct Attempt {
    std::int64_t trial = 0;
    std::string where;            ///< "cpu 0", "gpu 1"
    std::string end;              ///< how it ended: "complete", "paused", ..., "running" if it has not
    double begin = 0, until = 0;  ///< seconds since the epoch
    double reserved = 0;          ///< bytes of the device, or of the host
};

/// Collects the attempts of trials.
class AttemptColumns {
   public:
    /// Adds the next event; steps may be left out.
    void add(const StoredEvent& stored);
    /// Returns the attempts by their begin; those that still run end with the last event.
    [[nodiscard]] std::vector<Attempt> attempts() const;
    /// Returns the columns of attempts().
    [[nodiscard]] Json json() const;

   private:
    void close(std::int64_t trial, std::string_view how, double time);

    std::vector<Attempt> attempts_;
    std::map<std::int64_t, std::size_t> running_;  ///< index by trial
    double last_ = 0;                              ///< time of the last event
};

/// Returns the load of devices over time: a list of source, quantity and unit with columns of at most about 500 times,
/// averages and largest values.
Json load_columns(std::span<const TelemetryRow> rows);

}  // namespace hpo::page
