#include "orchestrator/study/edit.hpp"

#include <gtest/gtest.h>

namespace hpo {
namespace {

const char* const study_text = R"(# What is searched
study: mine            # its name
objective: {metric: val_accuracy, direction: maximize}
space:
  lr: {type: float, low: 1.0e-4, high: 1.0e-2, log: true}   # log scale
  batch_size: {type: int, low: 256, high: 4096}

worker:
  # the data
  data: {format: synthetic, samples: 4096}
  training:
    precision: float32   # exact
budget: {trials: 4, epochs: 2}
)";

std::string edited(const std::vector<KeyAndValue>& changes, const std::string& text = study_text) {
    const auto result = edit_study(text, "mine.yaml", changes);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
}

TEST(EditStudy, ReplacesValuesInPlaceAndKeepsAllElse) {
    EXPECT_EQ(edited({{"worker.training.precision", "bfloat16"}}), replaced(study_text, "float32", "bfloat16"));
    EXPECT_EQ(edited({{"space.batch_size.low", "512"}}), replaced(study_text, "low: 256", "low: 512"));
    EXPECT_EQ(edited({{"study", "mine-faster"}}), replaced(study_text, "study: mine ", "study: mine-faster "));
    EXPECT_EQ(edited({}), study_text);
}

TEST(EditStudy, AddsMissingKeysToTheirSections) {
    EXPECT_EQ(edited({{"worker.training.batch_size", "512"}},
                     replaced(study_text, "  batch_size: {type: int, low: 256, high: 4096}\n", "")),
              replaced(replaced(study_text, "    precision", "    batch_size: 512\n    precision"),
                       "  batch_size: {type: int, low: 256, high: 4096}\n", ""));
    EXPECT_EQ(edited({{"budget.time", "10m"}}), replaced(study_text, "{trials: 4", "{time: 10m, trials: 4"));
    EXPECT_EQ(edited({{"resources.parallel", "2"}}), std::string(study_text) + "resources: {parallel: 2}\n");
    EXPECT_EQ(edited({{"resources.parallel", "2"}, {"resources.backend", "cpu"}}),
              std::string(study_text) + "resources: {backend: cpu, parallel: 2}\n");
}

TEST(EditStudy, RefusesWhatItCannotWriteInPlace) {
    EXPECT_FALSE(edit_study(study_text, "mine.yaml", std::vector<KeyAndValue>{{"worker.training", "off"}}));
    EXPECT_FALSE(edit_study(study_text, "mine.yaml", std::vector<KeyAndValue>{{"budget.trials", "none"}}));
    EXPECT_FALSE(edit_study("study: [", "mine.yaml", std::vector<KeyAndValue>{{"budget.trials", "3"}}));
}

}  // namespace
}  // namespace hpo
