// Reads the summary of an evaluation of detections that pycocotools prints.
#pragma once

#include <string_view>

#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

/// Adds the metric of such a line, and returns false for any other. "Average Precision (AP) @[ IoU=0.50:0.95 | area=
/// all | maxDets=100 ] = 0.34" is AP@0.50:0.95. Another area is in the name (AP@0.50:0.95_small), and so is another
/// number of detections of a recall (AR@0.50:0.95_max10).
/// The value -1, which stands for a class of objects that are not there, is unread.
bool read_coco_summary(std::string_view line, Reading& reading);

/// Returns the task that a line says the following results are of, as in "IoU metric: segm" and "Evaluation results for
/// bbox:"; otherwise nothing.
std::string_view coco_task(std::string_view line);
/// Puts the task before the names of AP and AR: segm_AP@0.50:0.95. Those of bbox, the usual task, keep their names.
void label_coco_task(std::string_view task, Reading& reading);

}  // namespace hpo::script
