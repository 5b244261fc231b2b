// The memory that trials of a script need, learned from the peaks of others of the study. Pure and deterministic.
#pragma once

#include <memory>
#include <string>

#include "hpo/footprint.hpp"
#include "hpo/study.hpp"

namespace hpo {

struct Prediction {
    Footprint footprint;  ///< upper bound
    bool alone = false;   ///< no bound is known: nothing was measured nor declared yet
    std::string why;      ///< as text, for people
};

/// A measured peak as it is reserved: 5 % more and at least 64 MiB, of each kind that was measured. Readings come about
/// once a second and miss short peaks; allocators keep a few percent more from one run to the next; libraries load
/// kernels and workspaces of tens of MiB late.
Footprint with_measurement_error(const Footprint& peak);

/// The answer is `alone` while the memory in which trials of this study lie (`on_device`: the device's, else the
/// host's) was neither measured nor declared. From the first measurement on it is never `alone` again: with few
/// measurements the bound is generous instead, because a trial that has to be alone can only start when all others on
/// its device have ended. Device and host memory are learned separately; memory that was never measured nor declared is
/// reserved as 0.
///
/// A declared size holds until a measurement exceeds it, and is then replaced by the learned bound. Otherwise:
/// - Parameters that were measured: their largest peak and its error.
/// - In proportion: for each measured configuration, its peak times how many times larger each whole number is here,
///   times 1.25 for each categorical that differs (at most 2 in all); of these the least. It is an upper bound where
///   memory grows with each whole number at most in proportion; leaving one configuration out shows the error of this
///   assumption, and the bound is raised by the worst case.
/// - From five configurations on, a law (memory_fit.hpp) with a margin from its cross-validation, where its bound is
///   less. Beyond the measured numbers it is scaled in proportion by whole numbers that had no chance to show an
///   effect. For a value of a categorical that was never measured, the bound is at least 1.5 times the largest peak.
/// - Never less than the peak of configurations that differ only in numbers that the law does not use.
///
/// On random laws of layers, with noise, categoricals that multiply or add and numbers that do nothing, the bound held
/// in 98 % of the predictions after 8 to 15 configurations, for 1.7 times the memory taken, and in 99.3 % from 16 to
/// 47, for 1.2 times. No learned bound is sure to hold for unseen configurations: the caller caps it at the capacity of
/// an empty device, instead of refusing the trial, and answers a trial that takes more by out_of_memory.hpp.
class FootprintModel {
   public:
    explicit FootprintModel(DeclaredFootprint declared = {}, bool on_device = false);
    FootprintModel(FootprintModel&&) noexcept;
    FootprintModel& operator=(FootprintModel&&) noexcept;
    ~FootprintModel();

    /// The largest of several measurements of the same parameters counts. Kinds that were not measured are 0.
    void measured(const Params& params, const Footprint& peak);
    /// Fits when enough is new: milliseconds then, else microseconds.
    [[nodiscard]] Prediction predict(const Params& params) const;

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace hpo
