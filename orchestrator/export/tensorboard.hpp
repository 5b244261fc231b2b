// Writes a study as event files of TensorBoard: `tensorboard --logdir FOLDER` shows curves (SCALARS) and the table of
// trials (HPARAMS).
//
//     FOLDER/events.out.tfevents.*                the names and ranges of parameters and metrics
//     FOLDER/trial-0001/events.out.tfevents.*     a trial's parameters, its scalars by step, and its outcome
//
// The scalars are every metric under its own name, and the telemetry hpo/learning_rate, hpo/it_s, hpo/samples_s,
// hpo/gradient_norm, hpo/peak_bytes and hpo/peak_device_bytes. TensorBoard stores them as 32-bit floats. The time of a
// step is the trial's start plus the seconds of training until then. Trials that have not started have no folder.
// Status: complete, stopped -> success; diverged, failed -> failure; else running.
#pragma once

#include <filesystem>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/export/registry.hpp"

namespace hpo::exporting {

/// Fills `folder`, which must exist and be empty. Error messages contain the path `shown` instead.
Result<void> write_tensorboard(const Study& study, const StudyRecord& record, const WholeTrial& whole,
                               const std::filesystem::path& folder, const std::filesystem::path& shown);

}  // namespace hpo::exporting
