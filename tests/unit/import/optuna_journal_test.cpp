// Journals of Optuna.
#include "orchestrator/import/optuna_journal.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/mentions.hpp"

namespace hpo::importing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

const std::string two_studies = R"({"op_code":0,"worker_id":"w","study_name":"old","directions":[1]}
{"op_code":0,"worker_id":"w","study_name":"first","directions":[1,2]}
{"op_code":0,"worker_id":"v","study_name":"first","directions":[1,2]}
{"op_code":1,"worker_id":"w","study_id":0}
{"op_code":3,"worker_id":"w","study_id":1,"system_attr":{"study:metric_names":["loss","speed"]}}
{"op_code":2,"worker_id":"w","study_id":1,"user_attr":{"note":"\"NaN\\"}}
)";
const std::string trials =
    R"({"op_code":4,"worker_id":"w","study_id":1,"datetime_start":"2026-11-29T10:00:00.000000+00:00"}
{"op_code":5,"worker_id":"w","trial_id":0,"param_name":"x","param_value_internal":0.5,"distribution":"{\"name\": \"FloatDistribution\"}"}
{"op_code":7,"worker_id":"w","trial_id":0,"step":0,"intermediate_value":NaN}
{"op_code":7,"worker_id":"w","trial_id":0,"step":4,"intermediate_value":-Infinity}
{"op_code":8,"worker_id":"w","trial_id":0,"user_attr":{"u":Infinity}}
{"op_code":9,"worker_id":"w","trial_id":0,"system_attr":{"constraints":[-1.0,2]}}
{"op_code":9,"worker_id":"w","trial_id":0,"system_attr":{"constraints:size":3.5}}
{"op_code":6,"worker_id":"w","trial_id":0,"state":1,"values":[0.25,Infinity],"datetime_complete":"2026-11-29T10:00:02.500000+00:00"}
{"op_code":6,"worker_id":"w","trial_id":0,"state":3,"values":null}
{"op_code":4,"worker_id":"w","study_id":1,"datetime_start":null,"datetime_complete":null,"state":3,"value":null,"values":null,"distributions":{"x":"{}"},"params":{"x":1},"user_attrs":{"a":1},"system_attrs":{"fail_reason":"no data"},"intermediate_values":{"7":0.5}}
{"op_code":10,"worker_id":"w"}
)";

TEST(OptunaJournal, IsReplayed) {
    const auto study = read_optuna_journal(two_studies + trials, "j.log", "");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->name, "first") << "the other was deleted";
    EXPECT_THAT(study->directions, ElementsAre(Direction::minimize, Direction::maximize));
    EXPECT_THAT(study->metrics, ElementsAre("loss", "speed"));
    EXPECT_EQ(study->user_attributes, 3);
    EXPECT_EQ(study->seconds, 2.5);
    ASSERT_EQ(study->trials.size(), 2u);
    const OptunaTrial& complete = study->trials[0];
    EXPECT_EQ(complete.state, "COMPLETE") << "what has ended does not change";
    EXPECT_EQ(complete.seconds, 2.5);
    EXPECT_THAT(complete.values, ElementsAre(0.25, std::numeric_limits<double>::infinity()));
    EXPECT_TRUE(std::isnan(complete.steps.at(0)));
    EXPECT_EQ(complete.steps.at(4), -std::numeric_limits<double>::infinity());
    EXPECT_THAT(complete.constraints, ElementsAre(Pair("0", -1), Pair("1", 2), Pair("size", 3.5)));
    ASSERT_EQ(complete.params.size(), 1u);
    EXPECT_EQ(complete.params[0].distribution, R"({"name": "FloatDistribution"})");
    const OptunaTrial& made = study->trials[1];
    EXPECT_EQ(made.number, 1);
    EXPECT_EQ(made.state, "FAIL");
    EXPECT_EQ(made.failure, "no data");
    EXPECT_EQ(made.steps.at(7), 0.5);
    EXPECT_EQ(made.params[0].value, 1);
}

TEST(OptunaJournal, ALineThatIsBeingWrittenDoesNotCount) {
    const auto study = read_optuna_journal(two_studies + trials + R"({"op_code":4,"worker)", "j.log", "first");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->trials.size(), 2u);
}

TEST(OptunaJournal, ALineThatIsNoOperationIsRefusedWithItsNumber) {
    for (const char* line :
         {"{", "7", "{}", R"({"op_code":4,"study_id":9,"datetime_start":null})",
          R"({"op_code":6,"trial_id":0,"state":1})", R"({"op_code":5,"trial_id":-1})",
          R"({"op_code":4,"study_id":1,"state":5})", R"({"op_code":4,"study_id":1,"intermediate_values":{"x":1}})"}) {
        const auto read = read_optuna_journal(two_studies + line + "\n", "j.log", "");
        ASSERT_FALSE(read) << line;
        EXPECT_THAT(read.error().message, Mentions("j.log:7: "));
    }
}

TEST(OptunaJournal, TimesAreReadInBothForms) {
    EXPECT_EQ(*seconds_of_datetime("2026-11-29 10:00:01.5") - *seconds_of_datetime("2026-11-29T10:00:00+00:00"), 1.5);
    EXPECT_FALSE(seconds_of_datetime("now"));
}

}  // namespace
}  // namespace hpo::importing
