// The filter of hpo top.
#include "orchestrator/view/trial_filter.hpp"

#include <gmock/gmock.h>

#include "tests/support/mentions.hpp"

namespace hpo::view {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class Filter : public ::testing::Test {
   protected:
    Study study_;
    StudyRecord record_;

    Filter() {
        study_.objective = {"val_loss", Direction::minimize, Objective::At::best};
        study_.space = {{.name = "training.lr"}, {.name = "optimizer"}, {.name = "step"}, {.name = "hidden"}};
        TrialRecord trial;
        trial.number = 7;
        trial.state = TrialState::stopped;
        trial.rule = "median";
        trial.reason = "worse than Half of the trials";
        trial.params = {{"training.lr", 0.00087342},
                        {"optimizer", std::string("AdamW")},
                        {"step", std::int64_t{4096}},
                        {"hidden", std::vector<std::int64_t>{64, 32}}};
        trial.curve = {{.step = 3, .metrics = {{"val_loss", 0.25}, {"accuracy", 0.9}}, .peak_bytes = 512 << 20}};
        score(trial, study_.objective);
        record_.trials = {trial};
    }
    bool holds(const std::string& text) {
        const auto filter = parse_filter(text, study_, record_);
        EXPECT_TRUE(filter) << filter.error().message;
        return matches(*filter, record_.trials[0]);
    }
    std::string error(const std::string& text) {
        const auto filter = parse_filter(text, study_, record_);
        return filter ? "" : filter.error().message;
    }
};

TEST_F(Filter, ComparesParametersMetricsAndColumns) {
    for (const char* text : {"",
                             "  ",
                             "training.lr<0.001",
                             "lr>=8e-4",
                             "lr=0.000873",
                             "lr=8.73e-4",
                             "optimizer=adamw",
                             "optimizer=ADAMW",
                             "optimizer!=sgd",
                             "optimizer~dam",
                             "val_loss<0.3",
                             "value<=0.25",
                             "accuracy>0.8",
                             "trial=7",
                             "state=stopped",
                             "state!=failed",
                             "reason~half",
                             "memory<1G",
                             "memory>=512MiB",
                             "step=4096",
                             "hidden~64",
                             "hidden=\"[64, 32]\"",
                             "value<0.3 optimizer=adamw stopped",
                             "it/s!=3"})
        EXPECT_TRUE(holds(text)) << text;
    for (const char* text :
         {"lr<0.0008", "lr=0.00088", "optimizer=adam", "value<0.25", "value>0.25", "accuracy=0.8", "trial=70",
          "step=4097", "state=complete", "it/s>3", "it/s=3", "value<0.3 sgd", "memory>1G"})
        EXPECT_FALSE(holds(text)) << text;
}

TEST_F(Filter, FindsAWordInStateParametersAndReason) {
    for (const char* text : {"stopped", "ADAM", "median", "\"half of\"", "64"}) EXPECT_TRUE(holds(text)) << text;
    for (const char* text : {"complete", "half of nothing", "0.00087342"}) EXPECT_FALSE(holds(text)) << text;
}

TEST_F(Filter, AParameterGoesBeforeAColumnOfItsName) { EXPECT_TRUE(holds("step>3000")); }

TEST_F(Filter, SaysWhatIsWrong) {
    EXPECT_THAT(error("optimzer=sgd"), MentionsInOrder("no parameter", "optimzer; ", "similar", "optimizer"));
    EXPECT_THAT(error("foobarbaz=1"), AllOf(Mentions("no parameter"), EndsWith("foobarbaz")));
    EXPECT_EQ(error("lr<low"), "lr<low: expected a number, such as <0.2");
    EXPECT_THAT(error("lr!0"), MentionsInOrder("lr!0: ", "= != < <= > >= ~", "lr"));
    EXPECT_THAT(error("memory>3X"), HasSubstr("expected a number"));
    EXPECT_THAT(error("\x1b[2J=1"), HasSubstr("\\x1b[2J"));
}

}  // namespace
}  // namespace hpo::view
