// The commands that read a study, run in this process on a study that the test has made.
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "orchestrator/cli/cli.hpp"
#include "orchestrator/cli/control_client.hpp"
#include "orchestrator/devices/session_registry.hpp"
#include "orchestrator/store/holder_lock.hpp"
#include "orchestrator/store/store.hpp"
#include "orchestrator/study/study_file.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/sample_study.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct CommandResult {
    int code = 0;
    std::string out, err;
};

CommandResult hpo_command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "hpo");
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    CommandResult result;
    result.code = run_cli(static_cast<int>(arguments.size()), argv.data());
    result.out = ::testing::internal::GetCapturedStdout();
    result.err = ::testing::internal::GetCapturedStderr();
    return result;
}

class Commands : public ::testing::Test {
   protected:
    Commands() { ::setenv("HPO_RUNS", runs_.path().c_str(), 1); }
    ~Commands() override { ::unsetenv("HPO_RUNS"); }

    StudyFolder make_study(const std::string& name, std::int64_t trials = 16) {
        const StudyFolder folder{runs_ / name};
        EXPECT_TRUE(make_study_folder(folder));
        auto store = open_store(folder.database());
        EXPECT_TRUE(store);
        std::string yaml = testing::sample_yaml;
        yaml.replace(yaml.find("sample"), 6, name);
        EXPECT_TRUE((*store)->set_source(yaml));
        if (trials > 0)
            testing::make_sample_events(trials, [&](const Event& event) { EXPECT_TRUE((*store)->append(event)); });
        return folder;
    }
    testing::TemporaryFolder runs_;
};

TEST_F(Commands, HelpNamesEveryCommandAndEachHasExamples) {
    const CommandResult help = hpo_command({"--help"});
    EXPECT_EQ(help.code, 0);
    for (const char* name : {"ls", "show", "logs", "top", "stop", "best"}) {
        EXPECT_THAT(help.out, HasSubstr(name));
        const CommandResult command_help = hpo_command({name, "--help"});
        EXPECT_EQ(command_help.code, 0);
        EXPECT_THAT(command_help.out, HasSubstr(std::string("hpo ") + name + " "));
        EXPECT_THAT(command_help.out, HasSubstr("Examples:"));
    }
    EXPECT_THAT(hpo_command({"--version"}).out, HasSubstr("hpo 0."));
}

TEST_F(Commands, OptionsInHelpAreBrokenIntoLines) {
    std::istringstream lines(hpo_command({"run", "--help"}).out);
    std::string line;
    while (std::getline(lines, line) && line != "Examples:") EXPECT_LE(line.size(), 100U) << line;
    EXPECT_EQ(line, "Examples:");
}

TEST_F(Commands, HelpDescribesACommandAsItsOptionDoes) {
    EXPECT_EQ(hpo_command({"help"}).out, hpo_command({"--help"}).out);
    EXPECT_EQ(hpo_command({"help", "run"}).out, hpo_command({"run", "--help"}).out);
    const CommandResult unknown = hpo_command({"help", "rnu"});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_THAT(unknown.err, Mentions("'rnu'", "'run'"));
}

TEST_F(Commands, WithoutACommandHpoTellsTheStudiesAndTheNextStep) {
    const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
    const CommandResult none = hpo_command({});
    EXPECT_EQ(none.code, 0);
    EXPECT_THAT(none.out, AllOf(HasSubstr("No study"), HasSubstr("hpo init"), HasSubstr("hpo --help")));
    for (const char* name : {"one", "two", "three", "four", "five", "six"}) make_study(name);
    const CommandResult some = hpo_command({});
    EXPECT_EQ(some.code, 0);
    EXPECT_THAT(some.out, AllOf(HasSubstr("interrupted"), HasSubstr("hpo run "), HasSubstr("and 2 more: hpo ls")));
    EXPECT_LE(lines(some.out), 12);
    std::ofstream(make_study("broken", 0).database()) << "no database";
    EXPECT_THAT(hpo_command({}).out, HasSubstr("unreadable"));
}

TEST_F(Commands, WithoutACommandHpoWatchesARunningStudyAndGoesOnWithAnInterruptedOne) {
    const StudyFolder folder = make_study("phase1", 3);
    EXPECT_THAT(hpo_command({}).out, AllOf(HasSubstr("interrupted"), HasSubstr("hpo run phase1 ")));
    const auto lock = HolderLock::take(folder);
    ASSERT_TRUE(lock);
    EXPECT_THAT(hpo_command({}).out, AllOf(HasSubstr("running"), HasSubstr("hpo top phase1 ")));
}

TEST_F(Commands, CompletionNamesTheStudiesTrialsAndParametersThatAreHere) {
    make_study("phase1");
    EXPECT_THAT(hpo_command({"__complete", "show", "phase1", "1"}).out, HasSubstr("12\tcomplete"));
    EXPECT_THAT(hpo_command({"__complete", "run", "phase1", "--set", "space.l"}).out, HasSubstr("space.lr.low=\t"));
    EXPECT_EQ(hpo_command({"__complete", "rm", "p"}).out, "phase1\tstudy\n");
    for (const std::vector<std::string>& odd : std::vector<std::vector<std::string>>{
             {"__complete"}, {"__complete", "show", "nowhere/"}, {"__complete", "run", "nowhere", "--set", "space."}}) {
        const CommandResult result = hpo_command(odd);
        EXPECT_EQ(result.code, 0);
        EXPECT_EQ(result.out + result.err, "");
    }
}

TEST_F(Commands, WrongUsageExitsWithTwoAndSuggestsTheCure) {
    const CommandResult unknown_command = hpo_command({"stpo"});
    EXPECT_EQ(unknown_command.code, 2);
    EXPECT_THAT(unknown_command.err, HasSubstr("'stop'"));
    for (const auto& [word, command] :
         {std::pair("resume", "run"), std::pair("best-trial", "best"), std::pair("web", "serve")})
        EXPECT_THAT(hpo_command({word}).err, HasSubstr("'" + std::string(command) + "'")) << "as other tools call it";
    const CommandResult misspelt = hpo_command({"ls", "--jsn", "phase1"});
    EXPECT_EQ(misspelt.code, 2);
    EXPECT_THAT(misspelt.err, Mentions("'--jsn'", "'--json'"));
    EXPECT_THAT(hpo_command({"--jsn"}).err, HasSubstr("option '--jsn'"));
    EXPECT_EQ(hpo_command({"show", "seven"}).code, 1);     // 'seven' is read as the name of a study
    EXPECT_EQ(hpo_command({"show", "a/1", "2"}).code, 1);  // 'a/1' is read as the name of a study
    EXPECT_EQ(hpo_command({"best", "--format", "xml"}).code, 2);
}

TEST_F(Commands, AMissingStudyFileIsRefusedWithTheOneThatWasProbablyMeant) {
    const std::string folder = runs_.path().string() + "/";
    for (const char* name : {"phase1.yaml", "notes.txt"}) std::ofstream(folder + name) << "study: x\n";
    for (const char* missing : {"phase.yaml", "phase1.yml", "phase1"})
        EXPECT_EQ(hpo_command({"check", folder + missing}).err,
                  folder + missing + ": No such file or directory; did you mean " + folder + "phase1.yaml?\n");
    EXPECT_EQ(hpo_command({"check", folder + "other.yaml"}).err, folder + "other.yaml: No such file or directory\n");
}

TEST_F(Commands, AWrongOptionValueExitsWithTwoAndIsQuotedAsTyped) {
    const std::string file = (runs_ / "file.yaml").string();
    std::ofstream(file) << testing::sample_yaml;
    for (const auto& [option, value] : std::vector<std::pair<std::string, std::string>>{
             {"--trials", "0"}, {"--jobs", "x"}, {"--time", "5"}, {"--seed", "-1"}, {"--set", "foo"}}) {
        const CommandResult result = hpo_command({"run", file, option, value});
        EXPECT_EQ(result.code, 2) << result.err;
        EXPECT_THAT(result.err, ::testing::StartsWith("hpo: " + option + " " + value + ": "));
    }
    EXPECT_THAT(hpo_command({"run", file, "--trials", "--fresh"}).err, HasSubstr("missing"));
    std::ofstream(file) << "worker: [\n";
    EXPECT_EQ(hpo_command({"run", file, "--trials", "0"}).code, 1);
    make_study("phase1");
    const CommandResult none = hpo_command({"run", "phasel"});
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(none.err, Mentions("'phasel'", "'phase1'"));
}

TEST_F(Commands, WithoutStudiesLsHintsAtRunAndBestFails) {
    const CommandResult list = hpo_command({"ls"});
    EXPECT_EQ(list.code, 0);
    EXPECT_THAT(list.out, HasSubstr("hpo run"));
    EXPECT_EQ(json::parse(hpo_command({"ls", "--json"}).out)["studies"].size(), 0u);
    const CommandResult best = hpo_command({"best"});
    EXPECT_EQ(best.code, 1);
    EXPECT_THAT(best.err, Mentions("hpo run FILE.yaml", "starts"));
}

TEST_F(Commands, AnUnknownStudyIsRefusedWithTheNearestNameAndAListOfStudies) {
    make_study("phase1");
    make_study("other");
    const CommandResult result = hpo_command({"ls", "phasel"});
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, AllOf(Mentions("'phasel'", "'phase1'"), HasSubstr("other")));
}

TEST_F(Commands, AnUnknownTrialIsRefusedWithTheRangeOfTrials) {
    make_study("phase1");
    const CommandResult result = hpo_command({"show", "phase1", "99"});
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, HasSubstr("1 to 16"));
}

TEST_F(Commands, TopShowsTheMemoryThatTheRunningSessionPublishes) {
    ::setenv("XDG_RUNTIME_DIR", runs_.path().c_str(), 1);
    const StudyFolder folder = make_study("phase1");
    EXPECT_THAT(hpo_command({"top", "phase1", "--once"}).out, Not(HasSubstr("host  ")));
    const auto held = HolderLock::take(folder);
    ASSERT_TRUE(held);
    auto registry = SessionRegistry::open();
    ASSERT_TRUE(registry) << registry.error().message;
    constexpr std::int64_t GiB = std::int64_t{1} << 30;
    const SessionReservations published{"phase1",
                                        ::getpid(),
                                        {{"host", 2 * GiB, 8 * GiB, GiB, GiB, 0, 2, 2, {}},
                                         {"GPU-8f6c", 12 * GiB, 24 * GiB, 2 * GiB, 20 * GiB, 3 * GiB, 0, 2, {}}},
                                        "trial 7 needs 3.000 GiB of device memory"};
    ASSERT_TRUE(registry->publish(published));
    const CommandResult result = hpo_command({"top", "phase1", "--once"});
    EXPECT_THAT(result.out,
                AllOf(Mentions("2.0 of 8.0 GiB", "1.0 by", "2 trials"), HasSubstr("gpu 0  "),
                      Mentions("12 of 24 GiB", "3.0 used", "20 by", "2 trials"), Mentions("trial 7 needs 3.000 GiB")));
    const json all = json::parse(hpo_command({"top", "phase1", "--json"}).out);
    ASSERT_EQ(all["memory"].size(), 2u);
    EXPECT_EQ(all["memory"][0]["used"], nullptr);
    EXPECT_EQ(all["memory"][1]["used"], 3 * GiB);
    EXPECT_EQ(all["waits"], "trial 7 needs 3.000 GiB of device memory");
    ::unsetenv("XDG_RUNTIME_DIR");
}

TEST_F(Commands, LsPrintsTrialsAsTheDocumentedJson) {
    make_study("phase1");
    const CommandResult result = hpo_command({"ls", "phase1", "--json"});
    ASSERT_EQ(result.code, 0) << result.err;
    const json all = json::parse(result.out);
    EXPECT_EQ(all["study"], "phase1");
    ASSERT_EQ(all["trials"].size(), 16u);
    const json& stopped = all["trials"][0];
    EXPECT_EQ(stopped["trial"], 1);
    EXPECT_EQ(stopped["state"], "stopped");
    EXPECT_EQ(stopped["attempt"], 1);
    EXPECT_EQ(stopped["params"]["activation"], "relu");
    EXPECT_EQ(stopped["params"]["batch_size"], 512);
    EXPECT_NEAR(stopped["values"]["val_accuracy"], 0.803, 0.001);
    EXPECT_EQ(stopped["steps"], 4);
    EXPECT_EQ(stopped["rule"], "plateau");
    EXPECT_EQ(stopped["reason"], "no better than 0.8 for 3 steps");
    EXPECT_EQ(all["trials"][1]["reason"], nullptr);
    EXPECT_EQ(all["trials"][15]["state"], "queued");
    EXPECT_EQ(all["trials"][15]["steps"], 0);
}

TEST_F(Commands, UnfinishedTrialsRunIfTheStudyIsLockedAndAreQueuedIfNot) {
    const StudyFolder folder = make_study("phase1");
    const auto state = [&] { return json::parse(hpo_command({"ls", "phase1", "--json"}).out)["trials"][13]["state"]; };
    EXPECT_EQ(state(), "queued");
    auto lock = HolderLock::take(folder);
    ASSERT_TRUE(lock);
    EXPECT_EQ(state(), "running");
    EXPECT_EQ(json::parse(hpo_command({"ls", "--json"}).out)["studies"][0]["running"], true);
}

TEST_F(Commands, AStudyIsFoundByNameFolderOrFileAndTheMostRecentOneByDefault) {
    make_study("old", 2);
    const auto past = fs::file_time_type::clock::now() - std::chrono::hours(1);
    fs::last_write_time(runs_ / "old/study.db", past);
    make_study("phase1");
    const auto chosen = [](const CommandResult& result) { return json::parse(result.out)["study"]; };
    EXPECT_EQ(chosen(hpo_command({"ls", "old", "--json"})), "old");
    EXPECT_EQ(chosen(hpo_command({"ls", (runs_ / "old/").string(), "--json"})), "old");
    std::ofstream(runs_ / "file.yaml") << std::string(testing::sample_yaml).replace(7, 6, "old");
    EXPECT_EQ(chosen(hpo_command({"ls", (runs_ / "file.yaml").string(), "--json"})), "old");
    EXPECT_EQ(chosen(hpo_command({"best", "--format", "json"})), "phase1");
}

TEST_F(Commands, ADamagedStudyDoesNotHideTheOthers) {
    make_study("phase1");
    fs::create_directories(runs_ / "broken");
    std::ofstream(runs_ / "broken/study.db") << "not a database";
    const CommandResult list = hpo_command({"ls"});
    EXPECT_EQ(list.code, 0);
    EXPECT_THAT(list.out, AllOf(HasSubstr("phase1"), HasSubstr("unreadable")));
    EXPECT_EQ(hpo_command({"ls", "broken"}).code, 1);
}

TEST_F(Commands, ShowPrintsAWholeTrialWithoutControlCharacters) {
    const StudyFolder folder = make_study("phase1");
    EXPECT_THAT(hpo_command({"show", "6"}).out, Not(HasSubstr("trial-0006.log")));  // the file does not exist
    std::ofstream(folder.trial_log(6)) << "epoch 1\n";
    for (const auto& arguments :
         {std::vector<std::string>{"show", "6"}, {"show", "phase1", "6"}, {"show", "phase1/6"}}) {
        const CommandResult result = hpo_command(arguments);
        EXPECT_EQ(result.code, 0) << result.err;
        EXPECT_THAT(result.out, AllOf(HasSubstr("trial 6 of phase1"), HasSubstr("failed"), HasSubstr("SIGSEGV"),
                                      HasSubstr("trial-0006.log"), HasSubstr("batch_size"), Not(HasSubstr("\x1b"))));
    }
}

TEST_F(Commands, LogsPrintsTheFileUnchangedAndSaysWhenNothingWasWritten) {
    const StudyFolder folder = make_study("phase1");
    std::ofstream(folder.trial_log(3)) << "epoch 1\nepoch 2\n";
    EXPECT_EQ(hpo_command({"logs", "3"}).out, "epoch 1\nepoch 2\n");
    EXPECT_EQ(hpo_command({"logs", "phase1/3", "--follow"}).out, "epoch 1\nepoch 2\n");
    const CommandResult quiet = hpo_command({"logs", "4"});
    EXPECT_EQ(quiet.code, 0);
    EXPECT_THAT(quiet.err, Mentions("trial 4", "nothing"));
}

TEST_F(Commands, BestIsAStudyFileThatTrainsExactlyThisConfiguration) {
    make_study("phase1");
    const CommandResult result = hpo_command({"best", "phase1"});
    ASSERT_EQ(result.code, 0) << result.err;
    const auto study = parse_study(result.out, "best.yaml");
    ASSERT_TRUE(study) << study.error().message << "\n" << result.out;
    EXPECT_TRUE(study->space.empty());
    EXPECT_EQ(study->budget.trials, 1);
    EXPECT_EQ(study->budget.epochs, 10);
    EXPECT_EQ(study->seed, 7u);  // the split stays the same
    EXPECT_EQ(study->fixed.at("batch_size"), Value(std::int64_t{1024}));
    EXPECT_EQ(study->fixed.at("width"), Value(std::int64_t{64}));
    EXPECT_EQ(study->fixed.at("seed"), Value(static_cast<std::int64_t>(trial_seed(7, 12))));
}

TEST_F(Commands, BestInOtherFormats) {
    make_study("phase1");
    const json all = json::parse(hpo_command({"best", "phase1", "--format", "json"}).out);
    EXPECT_EQ(all["trial"], 12);
    EXPECT_EQ(all["params"]["activation"], "gelu");
    EXPECT_EQ(all["worker"]["width"], 64);
    EXPECT_EQ(all["worker"]["optimizer"], "adamw");  // a default
    EXPECT_EQ(all["worker"]["eval_every"], 0);
    EXPECT_THAT(hpo_command({"best", "--format", "args"}).out,
                AllOf(HasSubstr("--batch_size=1024"), HasSubstr("--lr=0.006"), HasSubstr("--activation=gelu")));
    EXPECT_THAT(hpo_command({"best", "--format", "env"}).out, HasSubstr("\nHPO_PARAM_BATCH_SIZE=1024\n"));
    EXPECT_EQ(all["worker"]["validation"], 0.1);
    EXPECT_EQ(all["worker"]["epochs"], 10);
}

TEST_F(Commands, AStudyWithoutValuesHasNoBest) {
    make_study("empty", 0);
    const CommandResult result = hpo_command({"best", "empty"});
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, HasSubstr("val_accuracy"));
}

TEST_F(Commands, AStudyThatMeasuredNothingIsNeitherSimulatedNorAdvised) {
    const StudyFolder failed = make_study("failed", 0);
    const auto store = open_store(failed.database());
    ASSERT_TRUE(store);
    for (const Event& event : std::vector<Event>{
             event::SessionStarted{"host", 4711, "0.1.0"}, event::Proposed{1, {0.5, 0.5, 0.25}, {{"lr", 0.01}}},
             event::Launched{1, 1, "cpu 0"}, event::Finished{1, 1, TrialState::failed, "", "no metric was found"}})
        EXPECT_TRUE((*store)->append(event));
    std::ofstream(failed.yaml()) << (*store)->source();
    const StudyFolder asked{runs_ / "asked"};
    ASSERT_TRUE(make_study_folder(asked));
    const auto asked_store = open_store(asked.database());
    ASSERT_TRUE(asked_store);
    ASSERT_TRUE((*asked_store)->set_source("study: asked\nspace: {lr: {type: float, low: 0.1, high: 1}}\n"));
    for (const char* command : {"simulate", "advise"}) {
        const CommandResult result = hpo_command({command, "failed"});
        EXPECT_EQ(result.code, 1);
        EXPECT_THAT(result.err, Mentions("study", "failed", "none"));
    }
    const CommandResult result = hpo_command({"advise", "asked"});
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, Mentions("study", "asked", "worker", "hpo ask-tell"));
}

TEST_F(Commands, SimulateRefusesAPriceThatIsNoneAndMeasurementsOfAnotherMetric) {
    make_study("phase1");
    const std::string other = (runs_ / "other.yaml").string();
    std::string yaml = testing::sample_yaml;
    yaml.replace(yaml.find("sample"), 6, "other");
    std::ofstream(other) << yaml;
    EXPECT_THAT(hpo_command({"simulate", other, "--from", "phase1"}).out, HasSubstr(", as phase1 ran\n"));
    for (const char* price : {"-3", "nan", "inf", "abc"}) {
        const CommandResult result = hpo_command({"simulate", other, "--from", "phase1", "--price", price});
        EXPECT_EQ(result.code, 2);
        EXPECT_THAT(result.err, Mentions(std::string(price), "finite", "at least 0"));
    }
    EXPECT_THAT(hpo_command({"simulate", other, "--from", "phase1", "--price", "3.5"}).out, Mentions("3.5"));
    const CommandResult metric = hpo_command(
        {"simulate", other, "--from", "phase1", "--set", "objective={metric: val_loss, direction: minimize}"});
    EXPECT_EQ(metric.code, 1);
    EXPECT_THAT(metric.err, Mentions("trial", "phase1", "val_loss"));
}

TEST_F(Commands, AdviseRefusesAnExistingFileBeforeItMeasures) {
    const StudyFolder folder = make_study("phase1");
    const CommandResult result = hpo_command({"advise", "phase1", "--apply", folder.database().string()});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, Mentions("replaced", "name"));
}

/// A Unix socket that accepts one connection and answers it with `answer`. It never answers if `answer` is empty.
class ControlSocket {
   public:
    ControlSocket(const fs::path& path, std::string answer) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.string().copy(address.sun_path, sizeof address.sun_path - 1);
        listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
        EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(listener_, 1), 0);
        thread_ = std::thread([this, answer = std::move(answer)] {
            const int peer = ::accept(listener_, nullptr, nullptr);
            char buffer[1000];
            const auto size = ::read(peer, buffer, sizeof buffer);
            if (size > 0) request_.assign(buffer, static_cast<std::size_t>(size));
            if (!answer.empty()) (void)!::write(peer, answer.data(), answer.size());
            if (answer.empty()) (void)!::read(peer, buffer, sizeof buffer);  // until the client gives up
            ::close(peer);
        });
    }
    std::string request() {
        if (thread_.joinable()) thread_.join();
        return request_;
    }
    ~ControlSocket() {
        request();
        ::close(listener_);
    }

   private:
    int listener_ = -1;
    std::string request_;
    std::thread thread_;
};

TEST_F(Commands, StopSendsARequestToTheRunThatHoldsTheStudy) {
    const StudyFolder folder = make_study("phase1");
    EXPECT_THAT(hpo_command({"stop", "phase1"}).err, HasSubstr("not running"));
    auto lock = HolderLock::take(folder);
    ASSERT_TRUE(lock);
    {
        ControlSocket socket(runs_ / "control", "{\"ok\": true}\n");
        ASSERT_TRUE(lock->publish((runs_ / "control").string()));
        EXPECT_EQ(hpo_command({"stop", "phase1/3"}).code, 0);
        EXPECT_EQ(json::parse(socket.request()), json::parse(R"({"op": "stop", "trial": 3})"));
    }
    fs::remove(runs_ / "control");
    {
        ControlSocket socket(runs_ / "control", "{\"ok\": false, \"error\": \"trial 3 has ended already\"}\n");
        const CommandResult result = hpo_command({"stop", "3"});
        EXPECT_EQ(result.code, 1);
        EXPECT_THAT(result.err, HasSubstr("trial 3 has ended already"));
    }
    EXPECT_THAT(hpo_command({"stop", "phase1"}).err, HasSubstr("cannot be reached"));
}

TEST_F(Commands, KeysListsTheKeysThatContainAWord) {
    const CommandResult result = hpo_command({"keys", "ASHA"});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.out, AllOf(HasSubstr("Stopping rules"), HasSubstr("asha.factor"), Not(HasSubstr("plateau."))));
    EXPECT_THAT(hpo_command({"keys"}).out,
                AllOf(HasSubstr("budget.trials"), HasSubstr("worker.training.batch_size"), HasSubstr("tpe.gamma")));
}

TEST_F(Commands, KeysAsJsonHaveDefaultsOrNull) {
    const json keys = json::parse(hpo_command({"keys", "worker.model.width", "--json"}).out);
    EXPECT_EQ(keys["schema"], 2);
    ASSERT_EQ(keys["keys"].size(), 1U);
    EXPECT_EQ(keys["keys"][0]["default"], "256");
    EXPECT_EQ(json::parse(hpo_command({"keys", "worker.data.path", "--json"}).out)["keys"][0]["default"], nullptr);
}

TEST_F(Commands, KeysFailsIfNoKeyContainsTheWord) {
    const CommandResult result = hpo_command({"keys", "nowhere"});
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, HasSubstr("'nowhere'"));
}

TEST(ControlClient, GivesUpOnAHolderThatDoesNotAnswer) {
    testing::TemporaryFolder folder;
    ControlSocket socket(folder / "control", "");
    const auto answer = ask((folder / "control").string(), "{}", 0.05);
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message, HasSubstr("answer"));
}

TEST(ControlClient, APathTooLongForASocketIsAnError) {
    EXPECT_FALSE(ask(std::string(200, 'a'), "{}"));
    EXPECT_FALSE(ask("", "{}"));
}

}  // namespace
}  // namespace hpo
