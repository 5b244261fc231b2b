// The texts of a trial: the lines of its log, and the binding of its checkpoints.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "hpo/messages.hpp"
#include "worker/data/device_data.hpp"
#include "worker/training/configuration.hpp"
#include "worker/training/group_plan.hpp"
#include "worker/training/trainer.hpp"

namespace hpo {

/// Returns a number of bytes as text, such as "23.4 MB".
std::string mebibytes(std::int64_t bytes);

/// "trial 3, attempt 1: key=value ... seed=7", with the keys that apply.
std::string parameters_line(const to_worker::Run& run, const Configuration& configuration);
/// "900 samples to train on, 100 to validate, 200 to test".
std::string samples_text(const DeviceData& data);
std::string configuration_line(const to_worker::Run& run, const Configuration& configuration, const GroupPlan& plan,
                               std::size_t arena_bytes, const DeviceData& data, const std::string& device);
/// The metrics of an evaluation by the names that tasks.hpp gives them; on the samples to validate (Part::train) or to
/// test, whose names begin with test_ in place of val_.
Metrics task_metrics(Task task, const Evaluation& evaluation, const DeviceData& data, Part part, int fold = 0);
/// The test score of always predicting the majority class, the majority answer of each label, or the mean, each of
/// the training split: baseline_accuracy, or baseline_mse and baseline_mae.
Metrics baseline_metrics(Task task, const DeviceData& data, int fold);
/// The means of at least two folds' metrics, and for each metric NAME its standard error NAME_se: the deviation between
/// folds (with n - 1) over the root of their number.
Metrics mean_of_folds(std::span<const Metrics> folds);

/// The metrics of the report in the order of the task's.
std::string step_line(const Report& report, std::int64_t steps, Task task);
std::string test_line(const Metrics& tested, std::int64_t step);

/// The fingerprint of a data set as the protocol has it.
std::string fingerprint_text(std::uint32_t fingerprint);
/// Says why the models of folds are not saved, and the cure.
std::string one_model_only(int folds);

/// Returns a text with all inputs that determine the bits of a trial's training. The text omits the number of
/// micro-batches, since a trial that ran out of memory resumes with smaller ones.
std::string binding_text(const to_worker::Run& run, const Configuration& configuration, std::uint32_t fingerprint);

}  // namespace hpo
