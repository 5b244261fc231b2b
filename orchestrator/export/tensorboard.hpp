// Writes a study as event files of TensorBoard: `tensorboard --logdir FOLDER` shows curves (SCALARS) and the table of
// trials (HPARAMS).
//
//     FOLDER/events.out.tfevents.*                the parameters and metrics that there are
//     FOLDER/trial-0001/events.out.tfevents.*     a trial's parameters, its scalars by step, how it ended
//
// Scalars: every metric under its own name, and of the telemetry hpo/learning_rate, hpo/it_s, hpo/samples_s,
// hpo/gradient_norm, hpo/peak_bytes and hpo/peak_device_bytes. TensorBoard keeps them in 32 bits. The time of a step is
// the trial's start and the seconds it had trained for. Trials that have not started have no folder. Status: complete,
// stopped -> success; diverged, failed -> failure; else running.
#pragma once

#include <filesystem>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/export/registry.hpp"

namespace hpo::exporting {

/// Fills `folder`, which must exist and be empty. Errors name `shown`.
Result<void> write_tensorboard(const Study& study, const StudyRecord& record, const WholeTrial& whole,
                               const std::filesystem::path& folder, const std::filesystem::path& shown);

}  // namespace hpo::exporting
