// The trials of a study that has run, as a workload: their costs and curves, and predictions for other trials from
// them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/result.hpp"
#include "orchestrator/simulation/workload.hpp"

namespace hpo {

struct RecordedTrial {
    std::int64_t number = 0;
    Params params;                           ///< with the fixed keys of its study
    std::vector<Report> curve;               ///< steps in ascending order, without those that were repeated
    double step = 0;                         ///< mean seconds of a step; 0: none was measured
    std::map<std::int64_t, double> seconds;  ///< of single steps, as far as they were measured
    Footprint footprint;                     ///< as reserved, or as measured where that is more
    std::int64_t fails_after = -1;
    std::string failure;
    std::optional<double> between;  ///< mean seconds from a step's end to the next one, if it was measured
};

/// The costs of a study by its events, in seconds of the wall clock, which contain the whole time of a step.
struct RecordedRun {
    std::vector<RecordedTrial> trials;  ///< trials that took a step or failed
    double start = 0;                   ///< mean from the launch of an attempt to its first step
    double between = 0;                 ///< from a step's end to the next step (evaluation, reports, checkpoints), of
                                        ///< the seconds of a step as its worker counts them; mean
    double end = 0;                     ///< typical, from an attempt's last step to the next launch in its worker
    double launch = 0;                  ///< from the start of a session to its first launch
    double exit = 0;                    ///< from the last step to the end of a session
    double seconds = 0;                 ///< of all sessions
    std::int64_t workers = 0;           ///< trials at once
    double busy = 1;                    ///< share of the workers' time in which trials took steps
    bool on_device = false;
    std::int64_t devices = 0;  ///< accelerators that trials were launched on
    bool checkpoints = true;   ///< paused trials went on where they were
    std::string host;          ///< of the last session
    double deviation = 0;      ///< standard deviation of log(seconds) of a trial's steps around its mean
    bool ended = false;        ///< its last session ended in an orderly way
};

/// Collects events in their order.
class RecordReader {
   public:
    explicit RecordReader(const Study& study);
    ~RecordReader();
    void add(const StoredEvent& event);
    [[nodiscard]] RecordedRun finish();

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// A law of the seconds of a step: log(seconds) is linear in the coordinates of the space, fitted by ridge regression.
class StepLaw {
   public:
    /// At least one trial of the run must have a measured step.
    StepLaw(const Space& space, const RecordedRun& run);
    [[nodiscard]] double seconds(const Params& params) const;
    /// Returns the standard deviation of log(seconds) around the law, by leaving each trial out.
    [[nodiscard]] double deviation() const { return deviation_; }
    /// Returns the share of the variance of log(seconds) that the law explains in trials that were left out.
    [[nodiscard]] double explained() const { return explained_; }

   private:
    [[nodiscard]] std::vector<double> features(const Params& params) const;

    Space space_;
    std::vector<double> weights_;
    double deviation_ = 0, explained_ = 0;
};

/// The workload of one of several simulations of a study. Trials whose configuration was measured have their measured
/// costs and curves, up to a random error as large as the differences between a trial's steps. Other trials cost the
/// prediction of the law times a random error of its size, and follow the curves of the nearest measured trial. Steps
/// beyond the end of a measured curve continue it as the curve that was nearest to it there.
class RecordedWorkload final : public Workload {
   public:
    /// Both references outlive it. `draw`: number of the simulation, for which errors are drawn; 0: no errors.
    RecordedWorkload(const Study& study, const RecordedRun& run, const StepLaw& law, std::uint64_t draw);
    ~RecordedWorkload() override;
    [[nodiscard]] TrialCost cost(const TrialRecord& trial) const override;
    [[nodiscard]] double step_seconds(const TrialRecord& trial, std::int64_t step) const override;
    [[nodiscard]] Metrics metrics(const TrialRecord& trial, std::int64_t step) const override;

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Returns the value of a curve at `step` (from 0). Beyond its end it follows the increments of the curve among
/// `others` that had the nearest value at its last step and is long enough; it keeps its last value if there is none.
double continued(const std::vector<double>& curve, const std::vector<const std::vector<double>*>& others,
                 std::size_t step);

}  // namespace hpo
