// The protocol of hpo ask-tell, line by line, on a store in memory.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "hpo/random.hpp"
#include "hpo/version.hpp"
#include "orchestrator/ask_tell/lines.hpp"
#include "tests/support/memory_store.hpp"
#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::MemoryStore;

Study asked_study() {
    Study study;
    study.name = "asked";
    study.objective = {"loss", Direction::minimize, Objective::At::best};
    study.space = {Dimension{.name = "x"}};
    study.budget.trials = 9;
    study.budget.epochs = 9;
    study.sampler.type = "random";
    study.policy.scaled = false;
    return study;
}

Study with_asha(Study study) {
    study.stopping = {{"asha", {{"grace", std::int64_t{1}}, {"factor", std::int64_t{3}}}}};
    return study;
}

/// A session over a store that may outlive it. Destroying it without end() stands for a kill.
class AskTellSession {
   public:
    AskTellSession(const Study& study, MemoryStore& store)
        : study_(study), ledger_(study_, store, *Proposer::make(study_), *Rules::make(study_)) {
        EXPECT_TRUE(ledger_.replay());
        ledger_.session_started({"host", 1, "test"});
        session.emplace(study_, ledger_, clock);
    }
    json operator()(const std::string& line) { return json::parse(ask_tell::answer(*session, line, ++lines_)); }
    std::string error(const std::string& line) {
        const json answered = (*this)(line);
        EXPECT_EQ(answered.value("line", 0), lines_) << answered;
        return answered.value("error", "");
    }
    json ask(int count) { return (*this)(json{{"ask", count}}.dump())["trials"]; }
    json report(int trial, int step, const json& loss) {
        return (*this)(json{{"report", {{"trial", trial}, {"step", step}, {"values", {{"loss", loss}}}}}}.dump());
    }
    json tell(int trial, const json& loss) {
        return (*this)(json{{"tell", {{"trial", trial}, {"state", "complete"}, {"values", {{"loss", loss}}}}}}.dump());
    }
    const TrialRecord& trial(std::int64_t number) const { return ledger_.record().trial(number); }

    ManualClock clock;
    std::optional<ask_tell::Session> session;

   private:
    Study study_;
    Ledger ledger_;
    int lines_ = 0;
};

TEST(AskTell, ProposesTheConfigurationsOfStartFirstAlsoAcrossSessions) {
    Study study = asked_study();
    study.start = {{{"x", 0.125}}, {{"x", 0.875}}};
    MemoryStore store;
    {
        AskTellSession killed(study, store);
        EXPECT_EQ(killed.ask(1)[0]["params"], (json{{"x", 0.125}}));
    }
    AskTellSession resumed(study, store);
    const json trials = resumed.ask(3);
    EXPECT_EQ(trials[0]["params"], (json{{"x", 0.125}}));
    EXPECT_EQ(trials[1]["params"], (json{{"x", 0.875}}));
    EXPECT_EQ(trials[2]["trial"], 3);
}

TEST(AskTell, SeveralObjectivesAreToldTogetherAndTheBestAreAFront) {
    Study study = asked_study();
    study.objective.further = {{"latency", Direction::minimize}};
    study.objective.constraints = {{"size", {}, 10.0}};
    MemoryStore store;
    AskTellSession hpo(study, store);
    hpo.ask(4);
    const auto tell = [&](int trial, const json& values) {
        return hpo(json{{"tell", {{"trial", trial}, {"values", values}}}}.dump());
    };
    EXPECT_EQ(tell(1, {{"loss", 0.5}, {"latency", 3}, {"size", 9}}), (json{{"trial", 1}, {"ok", true}}));
    EXPECT_THAT(hpo.error(R"({"tell": {"trial": 2, "values": {"loss": 0.1, "size": 3}}})"),
                Mentions("trial 2", "latency"));
    EXPECT_THAT(hpo.error(R"({"report": {"trial": 2, "step": 1, "values": {"loss": 0.1, "latency": 3}}})"),
                Mentions("step 1", "trial 2", "loss", "size"));
    tell(2, {{"loss", 0.1}, {"latency", 1}, {"size", 11}});  // breaks the constraint
    tell(3, {{"loss", 0.7}, {"latency", 2}, {"size", 10}});
    tell(4, {{"loss", 0.8}, {"latency", 2.5}, {"size", 1}});  // trial 3 is better
    const json best = hpo(R"({"best": 1})");
    EXPECT_EQ(best["trial"], 1);
    ASSERT_EQ(best["front"].size(), 2U);
    EXPECT_EQ(best["front"][0]["values"], (json{{"latency", 3.0}, {"loss", 0.5}, {"size", 9.0}}));
    EXPECT_EQ(best["front"][1]["trial"], 3);
}

TEST(AskTell, ATrialThatTheUserStopsEndsWithItsNextReportWhichIsKept) {
    MemoryStore store;
    AskTellSession hpo(asked_study(), store);
    hpo.ask(3);
    hpo.report(1, 1, 0.5);
    EXPECT_TRUE(hpo.session->stop(1));
    EXPECT_FALSE(hpo.session->stop(4));
    EXPECT_TRUE(hpo.session->stop(1));
    EXPECT_FALSE(is_final(hpo.trial(1).state));
    const json told = hpo.report(1, 2, 0.1);
    EXPECT_EQ(told["decision"], "stop");
    EXPECT_EQ(told["rule"], "user");
    EXPECT_EQ(hpo.trial(1).rule, "user");
    EXPECT_EQ(hpo.trial(1).steps(), 2);
    EXPECT_EQ(hpo.trial(1).value, 0.1);
    EXPECT_FALSE(hpo.session->stop(1));
    EXPECT_NE(hpo.error(R"({"report": {"trial": 1, "step": 3, "values": {"loss": 0.1}}})"), "");
    EXPECT_EQ(hpo.report(3, 1, 0.4)["decision"], "continue");
}

TEST(AskTell, ATrialThatTheUserStopsEndsAsToldOrWithTheSession) {
    MemoryStore store;
    AskTellSession hpo(asked_study(), store);
    hpo.ask(4);
    for (const int trial : {1, 2, 3}) EXPECT_TRUE(hpo.session->stop(trial));
    EXPECT_FALSE(hpo.tell(1, 0.1).contains("state"));
    EXPECT_EQ(hpo.trial(1).state, TrialState::complete);
    EXPECT_EQ(hpo.trial(1).value, 0.1);
    hpo(R"({"tell": {"trial": 2, "state": "failed", "reason": "no such layer"}})");
    EXPECT_EQ(hpo.trial(2).reason, "no such layer");
    hpo.session->end("the input ended");
    EXPECT_EQ(hpo.trial(3).state, TrialState::stopped);
    EXPECT_EQ(hpo.trial(3).rule, "user");
    EXPECT_EQ(hpo.trial(4).state, TrialState::queued);
}

TEST(AskTell, ATrialThatTheUserStopsIsNotHandedOutAgainAfterAKill) {
    MemoryStore store;
    {
        AskTellSession killed(asked_study(), store);
        killed.ask(4);
        killed.report(1, 1, 0.5);
        for (const int trial : {1, 2, 4}) EXPECT_TRUE(killed.session->stop(trial));
        killed.report(4, 9, 0.2);
    }
    AskTellSession resumed(asked_study(), store);
    EXPECT_EQ(resumed.trial(1).state, TrialState::stopped);
    EXPECT_EQ(resumed.trial(1).rule, "user");
    EXPECT_EQ(resumed.trial(1).value, 0.5);
    EXPECT_EQ(resumed.trial(2).state, TrialState::stopped);
    EXPECT_EQ(resumed.trial(4).state, TrialState::complete);
    EXPECT_EQ(resumed.ask(1)[0]["trial"], 3);
    EXPECT_EQ(resumed.ask(1)[0]["trial"], 5);
}

TEST(AskTell, ATrialThatItsProgramGivesUpIsStoppedWithWhatItHasReported) {
    MemoryStore store;
    AskTellSession hpo(asked_study(), store);
    hpo.ask(3);
    const auto give_up = [](int trial) {
        return json{{"tell", {{"trial", trial}, {"state", "stopped"}, {"reason", "too slow"}}}}.dump();
    };
    EXPECT_THAT(hpo.error(give_up(1)), Mentions("trial 1", "loss"));
    hpo.report(1, 2, 0.5);
    EXPECT_EQ(hpo(give_up(1)), (json{{"trial", 1}, {"ok", true}}));
    EXPECT_EQ(hpo.trial(1).state, TrialState::stopped);
    EXPECT_EQ(hpo.trial(1).rule, "script");
    EXPECT_EQ(hpo.trial(1).reason, "too slow");
    EXPECT_EQ(hpo.trial(1).steps(), 2);
    EXPECT_EQ(hpo.trial(1).value, 0.5);
    hpo.report(2, 9, 0.4);  // the last step: nothing is left to give up
    EXPECT_EQ(hpo(give_up(2))["state"], "complete");
    EXPECT_EQ(hpo.trial(2).state, TrialState::complete);
}

TEST(AskTell, ATrialThatTheUserStopsIsNotWaitedForAndItsLateStepIsKept) {
    Study study = with_asha(asked_study());
    study.budget.trials = 1;
    MemoryStore store;
    AskTellSession hpo(study, store);
    hpo.ask(1);
    EXPECT_TRUE(hpo.session->stop(1));
    EXPECT_TRUE(hpo.session->over());
    EXPECT_EQ(hpo(R"({"ask": 1})")["done"], true);
    EXPECT_EQ(hpo.report(1, 1, 0.5)["rule"], "user");
    EXPECT_EQ(hpo.trial(1).state, TrialState::stopped);
    EXPECT_EQ(hpo.trial(1).value, 0.5);
}

TEST(AskTell, AStudyThatTheUserStopsHandsOutNoTrialUntilItIsResumed) {
    MemoryStore store;
    {
        AskTellSession hpo(asked_study(), store);
        hpo.ask(2);
        hpo.session->stop();
        EXPECT_EQ(hpo(R"({"ask": 1})")["done"], true);
        EXPECT_EQ(hpo.report(1, 1, 0.5)["decision"], "continue");
        EXPECT_EQ(hpo.tell(1, 0.5)["ok"], true);
        hpo.session->end("stopped by the user");
    }
    AskTellSession resumed(asked_study(), store);
    const json trials = resumed.ask(2);
    EXPECT_EQ(trials[0]["trial"], 2);
    EXPECT_EQ(trials[1]["trial"], 3);
}

TEST(AskTell, ProposesTrialsJudgesReportsAndRecordsTheEnd) {
    MemoryStore store;
    AskTellSession hpo(asked_study(), store);
    const json trials = hpo.ask(2);
    ASSERT_EQ(trials.size(), 2U);
    EXPECT_EQ(trials[0]["trial"], 1);
    EXPECT_TRUE(trials[1]["params"]["x"].is_number());
    EXPECT_FALSE(trials[0].contains("resume_from"));
    EXPECT_EQ(hpo.trial(1).where, "asking program") << "which a timeline shows";
    EXPECT_EQ(hpo.report(1, 1, 0.5), (json{{"trial", 1}, {"decision", "continue"}}));
    EXPECT_EQ(hpo.tell(1, 0.4), (json{{"trial", 1}, {"ok", true}}));
    const json best = hpo(R"({"best": 1})");
    EXPECT_EQ(best["trial"], 1);
    EXPECT_EQ(best["params"], trials[0]["params"]);
    EXPECT_EQ(best["values"], (json{{"loss", 0.4}}));
    EXPECT_EQ(hpo.trial(1).state, TrialState::complete);
}

TEST(AskTell, ListsAllTrialsWithTheirStatesFromANumberOn) {
    MemoryStore store;
    AskTellSession hpo(asked_study(), store);
    EXPECT_EQ(hpo(R"({"trials": 1})")["trials"], json::array());
    const json asked = hpo.ask(3);
    hpo.tell(1, 0.4);
    hpo.report(2, 1, 0.5);
    const json trials = hpo(R"({"trials": 1})")["trials"];
    ASSERT_EQ(trials.size(), 3U);
    EXPECT_EQ(trials[0]["value"], 0.4);
    EXPECT_EQ(trials[0]["params"], asked[0]["params"]);
    EXPECT_EQ(trials[1]["steps"], 1);
    EXPECT_EQ(trials[2]["value"], nullptr);
    EXPECT_EQ(trials[0]["state"], "complete");
    EXPECT_EQ(trials[2]["state"], "running");
    EXPECT_EQ(hpo(R"({"trials": 3})")["trials"], (json{trials[2]}));
    EXPECT_EQ(hpo(R"({"trials": 4})")["trials"], json::array());
}

TEST(AskTell, GivesEachTrialItsSeedAndTellsItsVersion) {
    Study study = asked_study();
    study.seed = 5;
    MemoryStore store;
    AskTellSession hpo(study, store);
    const json asked = hpo.ask(2);
    EXPECT_EQ(asked[0]["seed"], trial_seed(5, 1));
    EXPECT_EQ(asked[1]["seed"], trial_seed(5, 2));
    const json about = hpo(R"({"study": 1})");
    EXPECT_EQ(about["seed"], 5);
    EXPECT_EQ(about["version"], version);
}

TEST(AskTell, AValueGivenOnlyByTellIsOneStepWhereNoRuleComparesIt) {
    MemoryStore store;
    AskTellSession hpo(asked_study(), store);
    hpo.ask(1);
    hpo.tell(1, 0.25);
    EXPECT_EQ(hpo.trial(1).state, TrialState::complete);
    EXPECT_EQ(hpo.trial(1).steps(), 1);
    EXPECT_EQ(hpo.trial(1).best_step, 1);
}

TEST(AskTell, AValueGivenOnlyByTellIsTheTrialsValueAtItsLastStepForRules) {
    MemoryStore store;
    AskTellSession hpo(with_asha(asked_study()), store);
    hpo.ask(1);
    EXPECT_EQ(hpo(R"({"tell": {"trial": 1, "values": {"loss": 0.25, "latency": 12}}})"),
              (json{{"trial", 1}, {"ok", true}}));
    EXPECT_EQ(hpo.trial(1).value, 0.25);
    EXPECT_EQ(hpo.trial(1).steps(), 9);
    EXPECT_EQ(hpo(R"({"best": 1})")["values"], (json{{"loss", 0.25}, {"latency", 12}}));
}

TEST(AskTell, AWorseFinalValueCountsIfTheLastStepCountsAndNotIfTheBestDoes) {
    for (const auto at : {Objective::At::best, Objective::At::last}) {
        Study study = asked_study();
        study.objective.at = at;
        MemoryStore store;
        AskTellSession hpo(study, store);
        hpo.ask(1);
        hpo.report(1, 1, 0.5);
        EXPECT_EQ(hpo.tell(1, 0.7)["ok"], true);
        EXPECT_EQ(hpo.trial(1).value, at == Objective::At::best ? 0.5 : 0.7);
    }
}

TEST(AskTell, AfterTheLastStepATellIsExpected) {
    MemoryStore store;
    AskTellSession hpo(asked_study(), store);
    hpo.ask(1);
    EXPECT_EQ(hpo.report(1, 9, 0.41)["decision"], "continue");
    EXPECT_EQ(hpo.tell(1, 0.4), (json{{"trial", 1}, {"ok", true}}));
    EXPECT_EQ(hpo.trial(1).value, 0.4);
    EXPECT_THAT(hpo.error(R"({"tell": {"trial": 1, "values": {"loss": 0.3}}})"), HasSubstr("already: complete"));
    EXPECT_EQ(hpo.trial(1).value, 0.4);
}

TEST(AskTell, AValueThatIsNotFiniteEndsATrialAsDiverged) {
    MemoryStore store;
    AskTellSession hpo(asked_study(), store);
    hpo.ask(3);
    const json stop = hpo.report(1, 1, "nan");
    EXPECT_EQ(stop["decision"], "stop");
    EXPECT_EQ(stop["rule"], "diverged");
    EXPECT_THAT(stop["reason"], Mentions("loss", "nan", "step 1"));
    const json answer = hpo.tell(2, "-inf");
    EXPECT_EQ(answer["ok"], true);
    EXPECT_EQ(answer["state"], "diverged");
    hpo.report(3, 1, 0.5);
    EXPECT_EQ(hpo.tell(3, "inf")["state"], "diverged");
    EXPECT_EQ(hpo(R"({"best": 1})")["trial"], nullptr);
}

TEST(AskTell, InvalidLinesAreAnsweredWithAnErrorAndChangeNothing) {
    MemoryStore store;
    AskTellSession hpo(asked_study(), store);
    const std::size_t before = store.kept.size();
    for (const auto& [line, message] : std::vector<std::pair<std::string, std::string>>{
             {"", "an empty line"},
             {"{", "not JSON, column 2"},
             {"[1]", "not a JSON object"},
             {"null", "not a JSON object"},
             {R"({"tell": {"trial": 1, "values": {"loss": NaN}}})",
              " (numbers that are not finite are written \"nan\""},
             {"\xff", "not JSON"},
             {R"({"tell": {"trial": 1, "values": {"loss": 1e400}}})",
              "not JSON, number overflow parsing '1e400' (numbers that are not finite are written \"nan\""},
             {R"({"tell": {"trial": 1, "values": {"loss": "NaN"}}})",
              R"(not a number: "NaN" (one that is not finite is "nan", "inf" or "-inf"))"},
             {"{}", "no request: ask, report, tell, best, study or trials"},
             {R"({"repot": 1})", "no request"},
             {R"({"ask": 1, "best": 1})", "one request a line"},
             {R"({"ask": 0})", "ask: a number of trials from 1 on"},
             {R"({"ask": null})", "ask: not a number: null"},
             {R"({"ask": "2"})", "ask: not a number"},
             {R"({"ask": 1.5})", "ask: not a whole number"},
             {R"({"best": 2})", "best: there is one best trial"},
             {R"({"trials": 0})", "trials: the number of the first trial, from 1 on"},
             {R"({"report": null})", "report: not an object"},
             {R"({"report": {}})", "report: no \"trial\""},
             {R"({"report": {"trial": 1}})", "report: no \"step\""},
             {R"({"report": {"trial": 1, "step": 1}})", "report: no \"values\""},
             {R"({"report": {"trial": 1, "step": 1, "values": {"loss": null}}})",
              "\"values\": \"loss\": not a number: null"},
             {R"({"report": {"trial": 1, "step": 1, "values": {"loss": true}}})", "not a number: true"},
             {R"({"report": {"trial": 1, "step": 1, "values": [1]}})", "\"values\": not an object"},
             {R"({"report": {"trial": 1, "step": 1, "values": {"loss": 1}}})",
              "there is no trial 1: none has been asked for"},
             {R"({"tell": {"trial": 0, "state": "complete"}})", "there is no trial 0"},
             {R"({"tell": {"trial": 1, "state": "pruned"}})", "\"state\": complete, stopped or failed, not \"pruned\""},
             {R"({"tell": {"trial": 1, "state": null}})", "\"state\": not a string"}})
        EXPECT_THAT(hpo.error(line), HasSubstr(message)) << line;
    EXPECT_EQ(store.kept.size(), before);
    EXPECT_EQ(hpo.ask(1).size(), 1U);
}

TEST(AskTell, StepsMustIncreaseAndEndWithTheBudget) {
    MemoryStore store;
    AskTellSession hpo(asked_study(), store);
    hpo.ask(1);
    hpo.report(1, 3, 0.5);
    EXPECT_THAT(hpo.report(1, 3, 0.4)["error"],
                MentionsInOrder("report: step 3", "trial 1", "not after", "step 3,", "together"));
    EXPECT_THAT(hpo.report(1, 2, 0.4)["error"],
                MentionsInOrder("report: step 2", "trial 1", "not after", "step 3,", "together"));
    EXPECT_THAT(hpo.report(1, 0, 0.4)["error"], Mentions("1 to 9"));
    EXPECT_THAT(hpo.report(1, 10, 0.4)["error"], Mentions("1 to 9"));
    EXPECT_EQ(hpo.trial(1).value, 0.5);
    EXPECT_EQ(hpo.report(1, 7, 0.4)["decision"], "continue");
}

TEST(AskTell, ACompleteTrialNeedsAValueAndAFailedOneDoesNot) {
    MemoryStore store;
    AskTellSession hpo(asked_study(), store);
    hpo.ask(2);
    EXPECT_THAT(hpo.error(R"({"tell": {"trial": 1, "state": "complete", "values": {"lss": 1}}})"),
                Mentions("trial 1", "loss"));
    EXPECT_EQ(hpo.trial(1).state, TrialState::running);
    EXPECT_EQ(hpo(R"({"tell": {"trial": 1, "state": "failed", "reason": "no data"}})")["ok"], true);
    EXPECT_EQ(hpo.trial(1).state, TrialState::failed);
    EXPECT_EQ(hpo.trial(1).reason, "no data");
    EXPECT_THAT(hpo.tell(1, 0.1)["error"], Mentions("failed", "no data"));
}

TEST(AskTell, AsksBeyondTheBudgetGiveTheReason) {
    Study study = asked_study();
    study.budget.trials = 2;
    MemoryStore store;
    AskTellSession hpo(study, store);
    const json both = hpo(R"({"ask": 5})");
    EXPECT_EQ(both["trials"].size(), 2U);
    EXPECT_EQ(both["done"], false);
    EXPECT_THAT(both["reason"], MentionsInOrder("2 trials", "not ended", "no new", "budget.trials", "2"));
    EXPECT_TRUE(hpo.ask(1).empty());
    hpo.tell(1, 1);
    hpo.tell(2, 2);
    EXPECT_EQ(hpo(R"({"ask": 1})"),
              (json{{"trials", json::array()}, {"done", true}, {"reason", "trial budget reached"}}));
}

TEST(AskTell, AStudyEndsWithItsTimeBudget) {
    Study study = asked_study();
    study.budget.seconds = 60;
    MemoryStore store;
    AskTellSession hpo(study, store);
    hpo.ask(1);
    hpo.clock.advance(Seconds(60));
    EXPECT_EQ(hpo(R"({"ask": 1})")["done"], true);
    EXPECT_EQ(hpo.tell(1, 0.1)["ok"], true);
}

TEST(AskTell, APausedTrialIsReturnedByAnAskOrEndsWithTheStudy) {
    MemoryStore store;
    AskTellSession hpo(with_asha(asked_study()), store);
    hpo.ask(3);
    EXPECT_EQ(hpo.report(1, 1, 0.3)["decision"], "pause");
    const json second = hpo.report(2, 1, 0.2);
    EXPECT_EQ(second["rule"], "asha");
    EXPECT_THAT(second["reason"], HasSubstr("rung 1"));
    EXPECT_THAT(hpo.report(2, 2, 0.1)["error"], Mentions("trial 2", "step 1"));
    EXPECT_THAT(hpo.tell(2, 0.1)["error"], Mentions("trial 2", "step 1"));
    EXPECT_EQ(hpo.report(3, 1, 0.1)["decision"], "continue");
    EXPECT_EQ(hpo.tell(3, 0.1)["ok"], true);

    std::int64_t came_back = 0;
    for (json trials = hpo.ask(1); !trials.empty(); trials = hpo.ask(1)) {
        const int trial = trials[0]["trial"];
        const int from = trials[0].value("resume_from", 0);
        came_back += from > 0 ? 1 : 0;
        bool resumes = true;
        for (int step = from + 1; step <= 9 && resumes; ++step)
            resumes = hpo.report(trial, step, 0.1 * trial)["decision"] == "continue";
        if (resumes) {
            EXPECT_EQ(hpo.tell(trial, 0.1 * trial)["ok"], true);
        }
    }
    EXPECT_GT(came_back, 0);
    EXPECT_EQ(hpo(R"({"ask": 1})")["done"], true);
    for (std::int64_t trial = 1; trial <= 9; ++trial) EXPECT_TRUE(is_final(hpo.trial(trial).state)) << trial;
}

TEST(AskTell, ATrialThatIsToldAsCompleteIsNotPausedByTheToldValue) {
    MemoryStore store;
    AskTellSession hpo(with_asha(asked_study()), store);
    hpo.ask(2);
    for (const int trial : {1, 2}) {
        hpo(R"({"report": {"trial": )" + std::to_string(trial) + R"(, "step": 1, "values": {"latency": 3}}})");
        EXPECT_EQ(hpo.tell(trial, 0.3)["ok"], true);
        EXPECT_EQ(hpo.trial(trial).state, TrialState::complete);
        EXPECT_EQ(hpo.trial(trial).best_step, 1);
    }
}

TEST(AskTell, ATrialThatReportedAllStepsWithoutTheObjectiveIsOfferedAgain) {
    MemoryStore store;
    {
        AskTellSession hpo(asked_study(), store);
        hpo.ask(1);
        hpo(R"({"report": {"trial": 1, "step": 9, "values": {"latency": 3}}})");
        hpo.session->end("the input ended");
    }
    AskTellSession hpo(asked_study(), store);
    EXPECT_EQ(hpo.ask(1)[0]["trial"], 1);
    EXPECT_EQ(hpo.tell(1, 0.3)["ok"], true);
    EXPECT_EQ(hpo.trial(1).value, 0.3);
}

TEST(AskTell, AKilledSessionIsContinuedByTheNext) {
    Study study = with_asha(asked_study());
    MemoryStore killed, whole;
    {
        AskTellSession hpo(study, killed);
        hpo.ask(2);
        hpo.report(1, 1, 0.3);
        hpo.report(2, 1, 0.2);
        hpo.ask(1);
    }
    AskTellSession again(study, killed), once(study, whole);
    once.ask(2);
    once.report(1, 1, 0.3);
    once.report(2, 1, 0.2);
    EXPECT_EQ(once.ask(1)[0]["trial"], 3);
    // The program that trains trial 3 need not know that the session has changed.
    EXPECT_EQ(again.report(3, 1, 0.1), once.report(3, 1, 0.1));
    EXPECT_EQ(again.tell(3, 0.1), once.tell(3, 0.1));
    for (int i = 0; i < 6; ++i) {
        const json a = again.ask(1), b = once.ask(1);
        ASSERT_EQ(a, b);
        EXPECT_EQ(again.tell(a[0]["trial"], 0.5), once.tell(b[0]["trial"], 0.5));
    }
}

TEST(AskTell, ASessionThatEndsWithItsStudySaysWhy) {
    MemoryStore store;
    Study study = asked_study();
    study.budget.trials = 1;
    AskTellSession hpo(study, store);
    hpo.ask(1);
    hpo.tell(1, 0.5);
    hpo.session->end("the input ended");
    const auto& ended = std::get<event::SessionEnded>(store.kept.back().event);
    EXPECT_EQ(ended.end, SessionEnd::finished);
    EXPECT_EQ(ended.reason, "trial budget reached");
}

TEST(AskTell, TrialsThatASessionLeavesUnfinishedAreOfferedAgain) {
    MemoryStore store;
    Study study = asked_study();
    json params;
    {
        AskTellSession hpo(study, store);
        params = hpo.ask(3)[1]["params"];
        hpo.report(2, 4, 0.4);
        hpo.report(3, 9, 0.3);
        hpo.session->end("the input ended");
    }
    ASSERT_THAT(store.kept.back().event, ::testing::VariantWith<event::SessionEnded>(::testing::_));
    EXPECT_EQ(std::get<event::SessionEnded>(store.kept.back().event).end, SessionEnd::interrupted);
    AskTellSession hpo(study, store);
    EXPECT_EQ(hpo.trial(3).state, TrialState::complete);  // the trial reported all its steps
    EXPECT_EQ(hpo.trial(2).state, TrialState::queued);
    const json trials = hpo.ask(3);
    EXPECT_EQ(trials[0]["trial"], 1);
    EXPECT_EQ(trials[1], (json{{"trial", 2}, {"params", params}, {"seed", trial_seed(1, 2)}, {"resume_from", 4}}));
    EXPECT_EQ(trials[2]["trial"], 4);
    EXPECT_EQ(hpo.report(2, 1, 0.5)["decision"], "continue");  // the trial may also start over
}

TEST(AskTell, ATrialThatWasStoredButNotReturnedIsOfferedAgain) {
    MemoryStore store;
    Study study = asked_study();
    store.fail_from = 3;  // the session's start and the proposal are stored, its launch is not
    {
        AskTellSession hpo(study, store);
        EXPECT_THAT(hpo.error(R"({"ask": 1})"), HasSubstr("written: disk"));
    }
    store.fail_from = 1000;
    AskTellSession hpo(study, store);
    EXPECT_THAT(hpo.tell(1, 1)["error"], Mentions("tell: trial 1", "not been", "given", "ask"));
    EXPECT_EQ(hpo.ask(1)[0]["trial"], 1);
}

TEST(AskTell, AfterAStoreFailureTheSameLineMayBeRepeated) {
    MemoryStore store;
    AskTellSession hpo(asked_study(), store);
    hpo.ask(1);
    store.fail_from = static_cast<std::int64_t>(store.kept.size()) + 2;  // the value is stored, the end is not
    EXPECT_THAT(hpo.tell(1, 0.5)["error"], HasSubstr("disk"));
    store.fail_from = 1000;
    EXPECT_EQ(hpo.tell(1, 0.5)["ok"], true);
    EXPECT_EQ(hpo.trial(1).value, 0.5);
}

}  // namespace
}  // namespace hpo
