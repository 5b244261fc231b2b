// The words that may stand next, of the real command line, with studies and files that the test invents.
#include "orchestrator/cli/completion.hpp"

#include <gmock/gmock.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "orchestrator/cli/app.hpp"

namespace hpo {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

using Words = std::vector<std::string>;

/// Two studies, early with trials 1 and 2, and late, the most recent, with trial 7; a file mine.yaml.
const CompletionSources sources{
    [] {
        return std::vector<Candidate>{{"late", ""}, {"early", ""}};
    },
    [](const std::string& study) {
        return study == "early" ? std::vector<Candidate>{{"1", ""}, {"2", ""}} : std::vector<Candidate>{{"7", ""}};
    },
    [](const std::string&) {
        return std::vector<Candidate>{{"mine.yaml", ""}, {"studies/", ""}};
    },
    [](const std::string& study) { return study == "mine.yaml" ? Words{"lr"} : Words{}; }};

Words complete(const Words& words) {
    CLI::App app;
    const DeclaredCommands declared = declare_commands(app);
    Words found;
    for (const Candidate& one : candidates(app, words, sources)) found.push_back(one.word);
    return found;
}

TEST(Completion, TheFirstWordIsACommandOrAnOptionOfTheProgram) {
    Words commands;
    for (const Command& command : command_table()) commands.emplace_back(command.name);
    EXPECT_EQ(complete({""}), commands);
    EXPECT_THAT(complete({"comp"}), ElementsAre("compare", "completion"));
    EXPECT_THAT(complete({"--"}), UnorderedElementsAre("--help", "--version"));
    EXPECT_THAT(complete({"--set"}), IsEmpty());
    EXPECT_THAT(complete({"nowhere", ""}), IsEmpty());
}

TEST(Completion, EachCommandOffersItsOwnOptions) {
    EXPECT_THAT(complete({"run", "x.yaml", "--t"}), UnorderedElementsAre("--trials", "--time"));
    EXPECT_THAT(complete({"ls", "--"}), AllOf(Contains("--json"), Contains("--help"), Not(Contains("--trials"))));
}

TEST(Completion, OptionsOfChoicesOfferThem) {
    EXPECT_THAT(complete({"best", "--format", ""}), Contains("args"));
    EXPECT_THAT(complete({"best", "--format=j"}), ElementsAre("--format=json"));
    EXPECT_THAT(complete({"bench", "tr"}), ElementsAre("training"));
    EXPECT_THAT(complete({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
    EXPECT_THAT(complete({"run", "x.yaml", "--backend", ""}), ElementsAre("auto", "cpu", "cuda", "opencl"));
    EXPECT_THAT(complete({"run", "x.yaml", "--backend=c"}), ElementsAre("--backend=cpu", "--backend=cuda"));
    EXPECT_THAT(complete({"plot", "late", ""}),
                ElementsAre("history", "curves", "importance", "slice", "parallel", "timeline", "front"));
    EXPECT_THAT(complete({"plot", "c"}), ElementsAre("curves"));
}

TEST(Completion, ValuesThatOnlyTheUserKnowsAreLeftToTheShell) {
    EXPECT_THAT(complete({"run", "x.yaml", "--trials", ""}), IsEmpty());
    EXPECT_THAT(complete({"train", "best.yaml", "-o", ""}), IsEmpty());
    EXPECT_THAT(complete({"predict", ""}), IsEmpty());
    EXPECT_THAT(complete({"monitor", "--", "-"}), IsEmpty());
}

TEST(Completion, StudiesAreNamesAndFiles) {
    EXPECT_THAT(complete({"run", ""}), UnorderedElementsAre("late", "early", "mine.yaml", "studies/"));
    EXPECT_THAT(complete({"ls", "e"}), ElementsAre("early"));
    EXPECT_THAT(complete({"rm", ""}), UnorderedElementsAre("late", "early"));
    EXPECT_THAT(complete({"rm", "late", ""}), UnorderedElementsAre("late", "early"));
    EXPECT_THAT(complete({"train", ""}), UnorderedElementsAre("mine.yaml", "studies/"));
    EXPECT_THAT(complete({"logs", "--study", "l"}), ElementsAre("late"));
    EXPECT_THAT(complete({"ls", "early", ""}), IsEmpty());  // ls takes one study
}

TEST(Completion, TrialsAreThoseOfTheStudyThatIsNamed) {
    EXPECT_THAT(complete({"show", ""}), UnorderedElementsAre("7", "late", "early"));
    EXPECT_THAT(complete({"show", "early", ""}), ElementsAre("1", "2"));
    EXPECT_THAT(complete({"show", "early/"}), ElementsAre("early/1", "early/2"));
    EXPECT_THAT(complete({"logs", "--study", "early", ""}), ElementsAre("1", "2"));
    EXPECT_THAT(complete({"logs", "e"}), ElementsAre("early/"));
    EXPECT_THAT(complete({"compare", "late/7", "early/"}), ElementsAre("early/1", "early/2"));
}

TEST(Completion, SetOffersKeysThenTheirWords) {
    EXPECT_THAT(complete({"run", "x.yaml", "--set", "budget."}),
                ElementsAre("budget.trials=", "budget.epochs=", "budget.time=", "budget.patience="));
    EXPECT_THAT(complete({"run", "x.yaml", "--set", "objective.at="}),
                ElementsAre("objective.at=best", "objective.at=last"));
    EXPECT_THAT(complete({"run", "x.yaml", "--set=worker.model.type=c"}), ElementsAre("--set=worker.model.type=cnn"));
    EXPECT_THAT(complete({"run", "x.yaml", "--set", "sampler.type=t"}), ElementsAre("sampler.type=tpe"));
    EXPECT_THAT(complete({"run", "x.yaml", "--set", "resources.parallel="}), ElementsAre("resources.parallel=auto"));
    EXPECT_THAT(complete({"run", "x.yaml", "--set", "budget.trials="}), IsEmpty());
    EXPECT_THAT(complete({"run", "mine.yaml", "--set", "space.lr.l"}), ElementsAre("space.lr.low=", "space.lr.log="));
    EXPECT_THAT(complete({"run", "x.yaml", "--set", "space."}), IsEmpty());
}

TEST(Completion, HelpOffersCommands) { EXPECT_THAT(complete({"help", "importa"}), ElementsAre("importance")); }

TEST(Completion, EachCommandSurvivesEveryPosition) {
    for (const Command& command : command_table()) {
        Words words{std::string(command.name)};
        for (const char* word : {"", "-", "--", "--=", "--set=", "x/", "", ""}) {
            words.emplace_back(word);
            complete(words);
        }
    }
    EXPECT_THAT(complete({}), IsEmpty());
}

}  // namespace
}  // namespace hpo
