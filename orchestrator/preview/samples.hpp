// Plans and times sample configurations of a native worker's study.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/messages.hpp"
#include "hpo/study.hpp"
#include "hpo/value.hpp"
#include "orchestrator/engine/one_worker.hpp"
#include "orchestrator/preview/packing.hpp"

namespace hpo {

/// The study that is checked, and where its keys are written.
struct CheckedStudy {
    const Study& study;
    std::string file;
    bool as_written = true;  ///< false if --set has changed keys, so that the file's lines may not match the study

    /// Throws Refusal with the location of the key that `message` begins with, such as "training.batch_size: ...".
    /// `prefix` precedes the message; `side` selects a part of the key's range in the space, such as ".high".
    [[noreturn]] void refuse(const std::string& prefix, const std::string& message, const char* side = "") const;
};

/// A configuration that the study will propose, with the worker's plan for it.
struct Sample {
    std::int64_t trial = 0;  ///< from 1
    Params params;
    from_worker::PlanAnswer answer;
    std::string too_large;            ///< why it does not fit as configured, with the numbers; empty if it fits
    std::int64_t micro_batches = 0;   ///< number of micro-batches in which it fits instead; 0 if in none
    PackingQuestion::Trial reserved;  ///< the trial's reservation, in micro-batches if necessary

    [[nodiscard]] bool can_run() const { return too_large.empty() || micro_batches > 0; }
};

using Samples = std::vector<Sample>;

/// A quantity of the samples.
struct SampleRange {
    double least = 0, typical = 0, most = 0;
};

template <class Quantity>
SampleRange range_over(const Samples& samples, Quantity&& quantity) {
    std::vector<double> numbers;
    for (const Sample& sample : samples) numbers.push_back(static_cast<double>(quantity(sample)));
    std::sort(numbers.begin(), numbers.end());
    return {numbers.front(), numbers[numbers.size() / 2], numbers.back()};
}

/// Returns the number of trials that the study will run: those of the budget, or as many as the space has
/// configurations. A study without a space has one.
std::int64_t trials_of(const Study& study);

/// Throws Refusal if policy.min_batch_size refuses a batch size of the study for `training_samples`.
void refuse_small_batches(const CheckedStudy& checked, std::int64_t training_samples);

/// Asks a worker for the number of training samples if policy.min_batch_size depends on it, and refuses batches that
/// are too small before anything runs. Throws Refusal. Leaves data that cannot be read to the trials.
void refuse_batches_by_data(const CheckedStudy& checked, const Programs& programs);

/// Plans the first configurations that the study will propose, at most 32. A configuration that does not fit the empty
/// machine is split into micro-batches as `hpo run` would. Throws Refusal if the worker rejects one, and Fatal if none
/// fits.
Samples plan_samples(const CheckedStudy& checked, OneWorker& worker, const Machine& machine);

/// Returns the sample with the median cost of a step among those that can run. At least one must be able to.
const Sample& typical_sample(const Samples& samples);

/// Trains `replicas` trials with the sample's configuration side by side for a few iterations. Returns the seconds that
/// one step takes, or nothing if no speed was measured. Throws Fatal if the training fails.
std::optional<double> measured_step(const Study& study, OneWorker& worker, const Sample& sample, std::int64_t replicas);

}  // namespace hpo
