// Configurations that are trained with several seeds.
#include "orchestrator/engine/race.hpp"
#include "orchestrator/engine/supply.hpp"
#include "tests/unit/engine/played.hpp"

namespace hpo {
namespace {

using hpo::testing::MemoryStore;
using hpo::testing::Played;
using hpo::testing::small_study;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Optional;

Study repeated_study(std::int64_t repeats, std::int64_t trials) {
    Study study = small_study();
    study.repeats = repeats;
    study.budget.trials = trials;
    return study;
}

/// A session that trains one trial after the other.
class Search {
   public:
    Search(const Study& study, MemoryStore& store)
        : study_(study), ledger(study_, store, *Proposer::make(study_), *Rules::make(study_)), supply(study_, ledger) {
        EXPECT_TRUE(ledger.replay());
        ledger.session_started({"host", 1, "test"});
    }

    /// Begins the next trial; 0: there is none.
    std::int64_t begin() {
        const std::int64_t trial = ledger.queued().empty() ? supply.further_trial() : *ledger.queued().begin();
        if (trial != 0) ledger.launch(trial, "cpu 0", {});
        return trial;
    }
    void end(std::int64_t trial, double loss, Metrics further = {}) {
        for (std::int64_t step = 1; step <= study_.budget.epochs; ++step) {
            Report report{.step = step, .metrics = further};
            report.metrics["loss"] = loss;
            if (ledger.report(trial, report).action != to_worker::Action::go_on) return;
        }
    }
    /// Trains the next trial. Returns the trial whose configuration it repeats; 0: it has a new one; -1: there is none.
    std::int64_t train(double loss, Metrics further = {}) {
        const std::int64_t trial = begin();
        if (trial == 0) return -1;
        end(trial, loss, std::move(further));
        return ledger.record().trial(trial).repeat_of;
    }
    const TrialRecord& trial(std::int64_t number) const { return ledger.record().trial(number); }

   private:
    Study study_;

   public:
    Ledger ledger;
    Supply supply;
};

TEST(Repeats, OfAConfigurationGoToOtherSeedsAndItsValueIsTheirMean) {
    MemoryStore store;
    Search search(repeated_study(3, 8), store);
    EXPECT_EQ(search.train(0.4), 0);
    EXPECT_EQ(search.train(0.9), 0) << "a third of the trials at most repeat a configuration";
    EXPECT_EQ(search.train(0.44), 1);
    EXPECT_THAT(search.trial(1).value, Optional(DoubleEq(0.42)));
    EXPECT_THAT(search.trial(1).seeds, ElementsAre(0.4, 0.44));
    EXPECT_THAT(own_value(search.trial(1)), Optional(0.4));
    EXPECT_NEAR(deviation_of_seeds(search.trial(1)).value(), 0.0283, 1e-4);
    EXPECT_EQ(search.trial(3).params, search.trial(1).params);
    EXPECT_EQ(search.trial(3).value, 0.44) << "a seed keeps its own value";
    EXPECT_EQ(search.train(0.8), 0);
    EXPECT_EQ(search.train(0.8), 0);
    EXPECT_EQ(search.train(0.36), 1);
    EXPECT_THAT(search.trial(1).value, Optional(DoubleEq(0.4)));
    EXPECT_EQ(search.ledger.best()->number, 1) << "not trial 6, which has the least loss of all";
    search.train(0.9);
    EXPECT_EQ(search.train(0.9), 0) << "the best has had all its seeds, and no other may be the best";
    EXPECT_EQ(search.train(0.9), -1) << "further seeds count in the budget of trials";
}

TEST(Repeats, AreOneByDefault) {
    MemoryStore store;
    Search search(repeated_study(1, 5), store);
    for (int trial = 1; trial <= 5; ++trial) EXPECT_EQ(search.train(0.5), 0);
}

TEST(Repeats, OfTheSameConfigurationDoNotTrainAtOnce) {
    MemoryStore store;
    Search search(repeated_study(5, 9), store);
    search.train(0.4), search.train(0.9);
    const std::int64_t second = search.begin();
    EXPECT_EQ(search.trial(second).repeat_of, 1);
    EXPECT_EQ(search.trial(search.begin()).repeat_of, 0);
}

TEST(Repeats, ThatFailDoNotCountInTheMean) {
    MemoryStore store;
    Search search(repeated_study(3, 9), store);
    search.train(0.4), search.train(0.9);
    const std::int64_t second = search.begin();
    search.ledger.finish(second, TrialState::failed, "", "ended by signal 11");
    EXPECT_EQ(search.trial(1).value, 0.4);
    EXPECT_THAT(search.trial(1).seeds, ::testing::IsEmpty());
    EXPECT_EQ(search.train(0.9), 0);
    EXPECT_EQ(search.train(0.9), 0);
    const std::int64_t third = search.begin();
    EXPECT_EQ(search.trial(third).repeat_of, 1);
    search.ledger.finish(third, TrialState::stopped, "user", "stopped by the user");
    EXPECT_EQ(search.train(0.9), 0) << "a seed that failed was a try";
}

TEST(Repeats, AreNotProposedForATrialThatFailed) {
    MemoryStore store;
    Search search(repeated_study(3, 4), store);
    search.ledger.finish(search.begin(), TrialState::failed, "", "ended by signal 11");
    search.ledger.finish(search.begin(), TrialState::failed, "", "ended by signal 11");
    EXPECT_EQ(search.train(0.9), 0);
    EXPECT_EQ(search.train(0.9), 3);
}

TEST(Repeats, TeachTheSamplerTheMeanAsOneTrial) {
    Study study = repeated_study(2, 40), once = repeated_study(1, 40);
    study.sampler.type = once.sampler.type = "tpe";
    MemoryStore store, other_store;
    Search search(study, store), other(once, other_store);
    search.train(0.4), search.train(0.9);
    ASSERT_EQ(search.train(0.6), 1);
    other.train(0.5), other.train(0.9);
    for (int trial = 3; trial <= 20; ++trial) {
        ASSERT_EQ(search.train(0.9 + 0.01 * trial), 0);
        ASSERT_EQ(other.train(0.9 + 0.01 * trial), 0);
        EXPECT_EQ(search.trial(trial + 1).params, other.trial(trial).params);
    }
}

TEST(Repeats, AreLeftToRulesThatJudgeATrialByItself) {
    Study study = repeated_study(3, 9);
    study.budget.epochs = 8;
    study.stopping = {{"median", {{"min_trials", std::int64_t{2}}}}, {"plateau", {{"patience", std::int64_t{5}}}}};
    MemoryStore store;
    Search search(study, store);
    search.train(0.1), search.train(0.5);
    EXPECT_EQ(search.train(0.9), 1);
    EXPECT_EQ(search.trial(3).rule, "plateau") << "median would have stopped it before";
    EXPECT_THAT(search.trial(1).value, Optional(DoubleEq(0.5)));
    EXPECT_EQ(search.train(0.2), 0);
    EXPECT_EQ(search.train(0.9), 0);
    EXPECT_EQ(search.trial(5).rule, "median") << "the seeds are not among the trials that it compares";
    EXPECT_EQ(search.train(0.2), 4);
}

TEST(Repeats, AreNotProposedForATrialThatARuleStoppedBecauseOfOthers) {
    Study study = repeated_study(3, 9);
    study.budget.epochs = 8;
    study.stopping = {{"median", {{"min_trials", std::int64_t{2}}}}};
    study.objective.direction = Direction::maximize;
    MemoryStore store;
    Search search(study, store);
    search.ledger.finish(search.begin(), TrialState::failed, "", "ended by signal 11");
    const std::int64_t stopped = search.begin();
    search.ledger.report(stopped, {.step = 1, .metrics = {{"loss", 0.9}}});
    search.ledger.finish(stopped, TrialState::stopped, "median", "");
    EXPECT_EQ(search.train(0.1), 0);
    EXPECT_EQ(search.train(0.1), 3) << "trial 2 has a better value, and was not trained to its end";
}

TEST(Repeats, AreNoTriesOfTheBudgetsPatience) {
    Study study = repeated_study(4, 30);
    study.budget.patience = 3;
    MemoryStore store;
    Search search(study, store);
    search.train(0.4), search.train(0.9);
    EXPECT_EQ(search.train(0.6), 1);
    EXPECT_EQ(search.ledger.tried_since_best(), 1);
    EXPECT_EQ(search.train(0.45), 0);
    EXPECT_EQ(search.ledger.tried_since_best(), 0) << "better than the mean of 0.5";
}

TEST(Repeats, DoNotTakeThePlaceOfAConfigurationOfStart) {
    Study study = repeated_study(2, 5);
    study.start = {{{"x", 0.1}}, {{"x", 0.2}}, {{"x", 0.3}}};
    MemoryStore store;
    Search search(study, store);
    for (const double loss : {0.4, 0.9, 0.5, 0.9}) search.train(loss);
    ASSERT_EQ(search.trial(3).repeat_of, 1);
    EXPECT_EQ(search.trial(4).params, study.start[2]);
}

TEST(Repeats, AverageTheMetricsOfConstraints) {
    Study study = repeated_study(2, 9);
    study.objective.constraints = {{.metric = "size", .min = {}, .max = 10.0}};
    MemoryStore store;
    Search search(study, store);
    search.train(0.1, {{"size", 12}}), search.train(0.2, {{"size", 9}});
    EXPECT_EQ(search.train(0.2, {{"size", 13}}), 2) << "trial 1 breaks the constraint";
    EXPECT_THAT(metric_that_counts(search.trial(2), "size"), Optional(11.0));
    EXPECT_EQ(search.ledger.best(), nullptr) << "the mean breaks it";
}

TEST(Repeats, GoOnWhereAStudyWasInterrupted) {
    const std::vector<double> losses{0.4, 0.9, 0.41, 0.38, 0.43, 0.42, 0.7, 0.39, 0.4, 0.5, 0.37, 0.42, 0.4};
    Study study = repeated_study(3, 13);
    study.sampler.type = "tpe";
    MemoryStore store, other_store;
    Search whole(study, store);
    for (const double loss : losses) whole.train(loss);
    EXPECT_GT(whole.ledger.repeats(), 2);
    for (const double loss : losses) {
        {
            Search killed(study, other_store);
            killed.begin();
        }
        Search resumed(study, other_store);
        resumed.train(loss);
    }
    const Search again(study, other_store);
    for (std::int64_t trial = 1; trial <= 13; ++trial) {
        EXPECT_EQ(again.trial(trial).params, whole.trial(trial).params) << trial;
        EXPECT_EQ(again.trial(trial).repeat_of, whole.trial(trial).repeat_of) << trial;
        EXPECT_EQ(again.trial(trial).seeds, whole.trial(trial).seeds) << trial;
    }
}

TEST(Repeats, GoOnOnceEveryPointOfAGridWasTried) {
    Study study = repeated_study(3, 20);
    study.space = {Dimension{.name = "n", .kind = Kind::integer, .low = 1, .high = 2}};
    study.sampler.type = "grid";
    MemoryStore store;
    Played play(study, store, 1);
    play.ready(0);
    std::vector<std::uint64_t> seeds;
    for (const double loss : {0.4, 0.41, 0.42, 0.43, 0.42, 0.41}) {
        const auto run = play.executor.take<to_worker::Run>(0);
        ASSERT_TRUE(run) << loss;
        seeds.push_back(run->seed);
        play.report(0, run->id, 1, loss), play.report(0, run->id, 2, loss), play.finish(0, run->id);
    }
    EXPECT_EQ(play.asked(0), AttemptId{}) << "each point has had three seeds";
    EXPECT_THAT(play.trial(1).seeds, ::testing::SizeIs(3));
    EXPECT_THAT(play.trial(2).seeds, ::testing::SizeIs(3));
    EXPECT_EQ(std::set(seeds.begin(), seeds.end()).size(), 6u);
    play.exit(0, 0);
    EXPECT_TRUE(play.engine->done());
}

TEST(Race, IsBetweenConfigurationsWithinChanceOfTheBest) {
    Race race(4);
    EXPECT_FALSE(race.next());
    race.update(1, std::vector{0.5}, true);
    race.update(2, std::vector{0.6}, true);
    EXPECT_EQ(race.next(), 1) << "nothing is known of the spread: the best";
    race.update(1, std::vector{0.5, 0.52}, true);
    EXPECT_EQ(race.next(), 1);
    race.begun(1);
    EXPECT_FALSE(race.next()) << "it trains a seed, and 0.09 is more than chance";
    race.update(3, std::vector{0.525}, true);
    EXPECT_EQ(race.next(), 3);
    race.ended(1);
    EXPECT_EQ(race.next(), 1);
    race.update(1, std::vector{0.5, 0.52, 0.9}, true);
    EXPECT_EQ(race.next(), 3) << "now the best; the spread has grown";
    race.update(3, std::vector{0.525}, false);
    EXPECT_EQ(race.next(), 2);
}

TEST(Race, EndsWhereSeedsChangeNothing) {
    Race race(9);
    race.update(1, std::vector{0.5, 0.5}, true);
    EXPECT_EQ(race.next(), 1);
    race.update(1, std::vector{0.5, 0.5, 0.5}, true);
    EXPECT_FALSE(race.next());
}

}  // namespace
}  // namespace hpo
