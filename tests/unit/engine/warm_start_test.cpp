// A study that learns from an earlier study on disk.
#include "orchestrator/engine/warm_start.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "orchestrator/engine/alike_studies.hpp"
#include "orchestrator/engine/held_study.hpp"
#include "orchestrator/store/result_log.hpp"
#include "orchestrator/study/study_file.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/sample_study.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;

class WarmStart : public ::testing::Test {
   protected:
    void SetUp() override { ::setenv("HPO_RUNS", runs_.path().c_str(), 1); }
    void TearDown() override { ::unsetenv("HPO_RUNS"); }

    static Study study(const std::string& more = "") {
        std::string yaml = testing::sample_yaml;
        yaml.replace(yaml.find("sample"), 6, "fresh");
        const auto read = parse_study(yaml + "warm_start: [old]\n" + more, "fresh.yaml");
        EXPECT_TRUE(read) << read.error().message;
        return *read;
    }

    static Study automatic() {
        Study made = study();
        made.warm_start.clear();
        made.warm_start_auto = true;
        return made;
    }

    static void run_old(std::int64_t trials) {
        const StudyFolder folder = study_folder("old");
        EXPECT_TRUE(make_study_folder(folder));
        std::filesystem::remove(folder.database());
        auto store = open_store(folder.database());
        ASSERT_TRUE(store);
        EXPECT_TRUE((*store)->set_source(testing::sample_yaml));
        testing::make_sample_events(trials, [&](const Event& event) { EXPECT_TRUE((*store)->append(event)); });
    }

    static std::unique_ptr<HeldStudy> hold(const Study& study) {
        auto held = HeldStudy::take(
            study, study_folder(study.name), [](const std::string&, const auto&) { return Result(Continuation()); },
            [](const std::string&) {});
        EXPECT_TRUE(held) << held.error().message;
        if (!held) return nullptr;
        EXPECT_TRUE((*held)->begin(study, study_folder(study.name), [](const std::string&) {}));
        (*held)->ledger.session_started({"host", 1, "test"});
        return *std::move(held);
    }

    testing::TemporaryFolder runs_;
};

TEST_F(WarmStart, AResumedStudyUsesTheResultsThatTheOtherStudyHadAtItsStart) {
    const Study fresh = study();
    run_old(40);
    std::vector<Params> uninterrupted;
    {
        auto held = hold(fresh);
        for (int i = 0; i < 6; ++i) held->ledger.propose();
        for (const TrialRecord& trial : held->ledger.record().trials) uninterrupted.push_back(trial.params);
    }
    std::filesystem::remove_all(study_folder("fresh").path);
    { hold(fresh)->ledger.propose(); }
    run_old(200);  // the other study has been continued
    {
        auto held = hold(fresh);
        for (int i = 0; i < 2; ++i) held->ledger.propose();
    }
    std::filesystem::remove_all(study_folder("old").path);  // and was removed
    EXPECT_FALSE(load_prior_studies(fresh));
    const auto kept = prior_studies_of(fresh);
    ASSERT_TRUE(kept) << kept.error().message;
    ASSERT_EQ(kept->size(), 1u);
    EXPECT_EQ(kept->front().trials.size(), 36u);
    auto held = hold(fresh);
    for (int i = 0; i < 3; ++i) held->ledger.propose();
    ASSERT_EQ(held->ledger.record().trials.size(), uninterrupted.size());
    for (std::size_t i = 0; i < uninterrupted.size(); ++i)
        EXPECT_EQ(held->ledger.record().trials[i].params, uninterrupted[i]) << i;
    EXPECT_THAT(held->ledger.proposer().about(), Mentions("36", "old"));
}

TEST_F(WarmStart, WarnsOfResultsThatTheOtherStudyHasLost) {
    run_old(40);
    ResultLog lost(study_folder("old").database());  // as after a damage of the write-ahead log
    ASSERT_TRUE(lost.open({}));
    lost.add(std::vector<StoredEnd>{{1'000'000, 41, TrialState::complete, 0.25, 7}});
    lost.acknowledge(lost.take());
    std::string warning;
    const auto held = HeldStudy::take(
        study(), study_folder("fresh"), [](const std::string&, const auto&) { return Result(Continuation()); },
        [&](const std::string& text) { warning += text; });
    ASSERT_TRUE(held) << held.error().message;
    EXPECT_THAT(warning, Mentions("warm_start: ", "trial 41 (complete, 0.2500)", "hpo run", "old"));
    const auto priors = prior_studies_of(study());
    ASSERT_TRUE(priors) << priors.error().message;
    EXPECT_THAT(describe(priors->front()), HasSubstr("missing"));
}

TEST_F(WarmStart, AutoLearnsFromEarlierStudiesOfTheSameWorkerAndParameters) {
    const auto learns_from = [](const Study& study) {
        const auto priors = load_prior_studies(study);
        EXPECT_TRUE(priors) << priors.error().message;
        return priors->size();
    };
    Study fresh = automatic();
    EXPECT_TRUE(fresh.learns_from_others());
    EXPECT_EQ(learns_from(fresh), 0u) << "there is none";
    run_old(6);
    EXPECT_EQ(learns_from(fresh), 0u) << "it has too few trials";
    run_old(40);
    EXPECT_EQ(learns_from(fresh), 1u);
    EXPECT_EQ(load_prior_studies(fresh)->front().name, "old");
    Study other = fresh;
    other.objective.metric += "_other";
    EXPECT_EQ(learns_from(other), 0u);
    other = fresh;
    for (Dimension& dimension : other.space) dimension.name += "_other";
    EXPECT_EQ(learns_from(other), 0u);
    other = fresh;
    other.worker = ScriptWorker{.command = {"train"}};
    EXPECT_EQ(learns_from(other), 0u);
    other = fresh;
    other.fixed["type"] = "gru";
    EXPECT_EQ(learns_from(other), 0u) << "it is another model";
    other.fixed["type"] = "mlp";
    EXPECT_EQ(learns_from(other), 1u) << "the default, written out";
    fresh.warm_start_auto = false;
    EXPECT_EQ(warm_start_offer(fresh), "'warm_start: auto' learns from old");
    fresh.sampler.type = "random";
    EXPECT_EQ(warm_start_offer(fresh), "") << "it learns from none";
}

TEST_F(WarmStart, AutoKeepsWhatItFoundAtTheBeginning) {
    const Study fresh = automatic();
    { hold(fresh); }
    run_old(40);
    const auto kept = prior_studies_of(fresh);
    ASSERT_TRUE(kept) << kept.error().message;
    EXPECT_TRUE(kept->empty()) << "it began without";
}

TEST(ParametersAlike, CountsThoseInCommonOfTheSameScript) {
    const testing::TemporaryFolder home;
    for (const char* name : {"a.py", "b.py"}) std::ofstream(home.path() / name) << "pass\n";
    const auto study = [&](std::vector<std::string> command, const std::vector<std::string>& names) {
        Study made;
        for (const std::string& name : names) made.space.push_back({.name = name});
        made.worker = ScriptWorker{.command = std::move(command), .home = home.path().string()};
        return made;
    };
    const Study mine = study({"python3", "a.py", "--lr={lr}"}, {"lr", "width"});
    EXPECT_EQ(parameters_alike(mine, study({"python3.11", "./a.py", "{lr}"}, {"lr", "width", "depth"})), 2u);
    EXPECT_EQ(parameters_alike(mine, study({"python3", "a.py"}, {"lr"})), 1u);
    EXPECT_EQ(parameters_alike(mine, study({"python3", "a.py"}, {"depth"})), 0u);
    EXPECT_EQ(parameters_alike(mine, study({"python3", "b.py", "--lr={lr}"}, {"lr", "width"})), 0u);
    EXPECT_EQ(parameters_alike(study({"python3", "a.py"}, {"a", "b", "lr"}), mine), 0u) << "one of three";
    EXPECT_EQ(
        parameters_alike(study({"python3", "-m", "pkg", "{lr}"}, {"lr"}), study({"python3", "-m", "pkg"}, {"lr"})), 1u);
    EXPECT_EQ(parameters_alike(mine, study({"/usr/bin/python3", "-u", "a.py"}, {"lr"})), 1u);
    EXPECT_EQ(
        parameters_alike(study({"/usr/bin/python3", "a.py"}, {"lr"}), study({"/usr/bin/python3", "b.py"}, {"lr"})), 0u)
        << "the interpreter is no sign";
    EXPECT_EQ(parameters_alike(study({"one", "a.py"}, {"lr"}), study({"two", "a.py"}, {"lr"})), 0u);
    EXPECT_EQ(parameters_alike(study({"python3", "-m", "pkg"}, {"lr"}), study({"python3", "-m", "other"}, {"lr"})), 0u);
    const std::vector<std::string> shell{"bash", "-c", "python3 a.py {lr}"},
        other_shell{"bash", "-c", "python3 b.py {lr}"};
    EXPECT_EQ(parameters_alike(study(shell, {"lr"}), study(shell, {"lr"})), 1u);
    EXPECT_EQ(parameters_alike(study(shell, {"lr"}), study(other_shell, {"lr"})), 0u) << "the shell is no sign either";
    ::setenv("HPO_RUNS", "/nowhere", 1);
    Study elsewhere = mine;
    elsewhere.space.resize(1);
    elsewhere.worker = ScriptWorker{.command = {"python3", "file_here.py"}};
    std::ofstream("file_here.py") << "pass\n";
    EXPECT_EQ(parameters_alike(elsewhere, elsewhere), 0u) << "where a stored study began is not known";
    ::unsetenv("HPO_RUNS");
    EXPECT_EQ(parameters_alike(elsewhere, elsewhere), 1u);
    std::filesystem::remove("file_here.py");
    Study asked = mine, wider = study({}, {"lr", "width", "depth"});
    asked.worker = wider.worker = NoWorker{};
    EXPECT_EQ(parameters_alike(asked, wider), 0u) << "without a worker all parameters must be equal";
    EXPECT_EQ(parameters_alike(asked, asked), 2u);
}

TEST_F(WarmStart, SaysWhatKeepsItFromLearning) {
    const auto message = [](const Study& study) {
        const auto loaded = load_prior_studies(study);
        return loaded ? "(loaded)" : loaded.error().message;
    };
    EXPECT_THAT(message(study()), Mentions("warm_start", "'old'"));
    run_old(40);
    EXPECT_EQ(message(study()), "(loaded)");
    Study elsewhere = study();
    elsewhere.space[0].low = 100000, elsewhere.space[0].high = 200000;
    EXPECT_THAT(message(elsewhere), MentionsInOrder("warm_start: ", "'old'", "no ended", "space"));
    Study other = study();
    for (Dimension& dimension : other.space) dimension.name += "_other";
    EXPECT_THAT(message(other), MentionsInOrder("warm_start: ", "'old'", "none", "parameters"));
}

}  // namespace
}  // namespace hpo
