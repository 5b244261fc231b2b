// The viewer commands, run in this process on a study made by hand.
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "orchestrator/cli/best_config.hpp"
#include "orchestrator/cli/cli.hpp"
#include "orchestrator/cli/control_client.hpp"
#include "orchestrator/devices/session_registry.hpp"
#include "orchestrator/store/holder_lock.hpp"
#include "orchestrator/store/store.hpp"
#include "orchestrator/study/study_file.hpp"
#include "tests/support/sample_study.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Ran {
    int code = 0;
    std::string out, err;
};

Ran hpo_command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "hpo");
    std::vector<char*> argv;
    for (auto& word : arguments) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    Ran ran;
    ran.code = run_cli(static_cast<int>(arguments.size()), argv.data());
    ran.out = ::testing::internal::GetCapturedStdout();
    ran.err = ::testing::internal::GetCapturedStderr();
    return ran;
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
    const Ran help = hpo_command({"--help"});
    EXPECT_EQ(help.code, 0);
    for (const char* name : {"ls", "show", "logs", "top", "stop", "best"}) {
        EXPECT_THAT(help.out, HasSubstr(name));
        const Ran of_command = hpo_command({name, "--help"});
        EXPECT_EQ(of_command.code, 0);
        EXPECT_THAT(of_command.out, HasSubstr(std::string("hpo ") + name + " "));
        EXPECT_THAT(of_command.out, HasSubstr("Examples:"));
    }
    EXPECT_THAT(hpo_command({"--version"}).out, HasSubstr("hpo 0."));
}

TEST_F(Commands, WrongUsageIsExitCodeTwoWithACure) {
    EXPECT_EQ(hpo_command({}).code, 2);
    const Ran wrong = hpo_command({"stpo"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("did you mean 'stop'"));
    const Ran misspelt = hpo_command({"ls", "--jsn", "phase1"});
    EXPECT_EQ(misspelt.code, 2);
    EXPECT_THAT(misspelt.err, HasSubstr("no option '--jsn'; did you mean '--json'?"));
    EXPECT_THAT(hpo_command({"--jsn"}).err, HasSubstr("no option '--jsn'"));
    EXPECT_EQ(hpo_command({"show", "seven"}).code, 2);
    EXPECT_EQ(hpo_command({"show", "a/1", "2"}).code, 1);  // a study of the name 'a/1'
    EXPECT_EQ(hpo_command({"best", "--format", "xml"}).code, 2);
}

TEST_F(Commands, WrongValuesOfOptionsAreWrongUsageAndNamedAsTheyWereTyped) {
    const std::string file = (runs_ / "file.yaml").string();
    std::ofstream(file) << testing::sample_yaml;
    for (const auto& [option, value] : std::vector<std::pair<std::string, std::string>>{
             {"--trials", "0"}, {"--jobs", "x"}, {"--time", "5"}, {"--seed", "-1"}, {"--set", "foo"}}) {
        const Ran ran = hpo_command({"run", file, option, value});
        EXPECT_EQ(ran.code, 2) << ran.err;
        EXPECT_THAT(ran.err, ::testing::StartsWith("hpo: " + option + " " + value + ": "));
    }
    EXPECT_THAT(hpo_command({"run", file, "--trials", "--fresh"}).err, HasSubstr("a value is missing"));
    std::ofstream(file) << "worker: [\n";
    EXPECT_EQ(hpo_command({"run", file, "--trials", "0"}).code, 1);
    make_study("phase1");
    const Ran none = hpo_command({"run", "phasel"});
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(none.err, HasSubstr("no file and no study 'phasel'; did you mean 'phase1'?; there are: phase1"));
}

TEST_F(Commands, WithoutStudiesThereIsAHintAndNothingToShow) {
    const Ran list = hpo_command({"ls"});
    EXPECT_EQ(list.code, 0);
    EXPECT_THAT(list.out, HasSubstr("hpo run"));
    EXPECT_EQ(json::parse(hpo_command({"ls", "--json"}).out)["studies"].size(), 0u);
    const Ran best = hpo_command({"best"});
    EXPECT_EQ(best.code, 1);
    EXPECT_THAT(best.err, HasSubstr("hpo run FILE.yaml makes one"));
}

TEST_F(Commands, AnUnknownStudyIsAnErrorWithTheNearestNameAndWhatThereIs) {
    make_study("phase1");
    make_study("other");
    const Ran ran = hpo_command({"ls", "phasel"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, AllOf(HasSubstr("no study 'phasel'; did you mean 'phase1'?"), HasSubstr("other")));
}

TEST_F(Commands, AnUnknownTrialIsAnErrorThatSaysWhichThereAre) {
    make_study("phase1");
    const Ran ran = hpo_command({"show", "phase1", "99"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.err, HasSubstr("1 to 16"));
}

TEST_F(Commands, TopShowsTheMemoryThatTheRunningSessionTellsOf) {
    ::setenv("XDG_RUNTIME_DIR", runs_.path().c_str(), 1);
    const StudyFolder folder = make_study("phase1");
    EXPECT_THAT(hpo_command({"top", "phase1", "--once"}).out, Not(HasSubstr("host  ")));
    const auto held = HolderLock::take(folder);
    ASSERT_TRUE(held);
    auto registry = SessionRegistry::open();
    ASSERT_TRUE(registry) << registry.error().message;
    constexpr std::int64_t GiB = std::int64_t{1} << 30;
    const SessionReservations said{"phase1",
                                   ::getpid(),
                                   {{"host", 2 * GiB, 8 * GiB, GiB, GiB, 0, 2, 2, {}},
                                    {"GPU-8f6c", 12 * GiB, 24 * GiB, 2 * GiB, 20 * GiB, 3 * GiB, 0, 2, {}}},
                                   "trial 7 needs 3.000 GiB of device memory"};
    ASSERT_TRUE(registry->publish(said));
    const Ran ran = hpo_command({"top", "phase1", "--once"});
    EXPECT_THAT(ran.out, AllOf(HasSubstr("2.0 of 8.0 GiB reserved, 1.0 by others, 2 trials"), HasSubstr("gpu 0  "),
                               HasSubstr("12 of 24 GiB reserved, 3.0 used, 20 by others, 2 trials"),
                               HasSubstr("waiting: trial 7 needs 3.000 GiB of device memory")));
    const json all = json::parse(hpo_command({"top", "phase1", "--json"}).out);
    ASSERT_EQ(all["memory"].size(), 2u);
    EXPECT_EQ(all["memory"][0]["used"], nullptr);
    EXPECT_EQ(all["memory"][1]["used"], 3 * GiB);
    EXPECT_EQ(all["waits"], "trial 7 needs 3.000 GiB of device memory");
    ::unsetenv("XDG_RUNTIME_DIR");
}

TEST_F(Commands, LsGivesTheTrialsInTheDocumentedShape) {
    make_study("phase1");
    const Ran ran = hpo_command({"ls", "phase1", "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const json all = json::parse(ran.out);
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

TEST_F(Commands, TrialsOfAKilledRunAreQueuedAndThoseOfALivingOneRun) {
    const StudyFolder folder = make_study("phase1");
    const auto state = [&] { return json::parse(hpo_command({"ls", "phase1", "--json"}).out)["trials"][13]["state"]; };
    EXPECT_EQ(state(), "queued");
    auto lock = HolderLock::take(folder);
    ASSERT_TRUE(lock);
    EXPECT_EQ(state(), "running");
    EXPECT_EQ(json::parse(hpo_command({"ls", "--json"}).out)["studies"][0]["running"], true);
}

TEST_F(Commands, AStudyIsFoundByNameFolderAndFileAndTheLastChangedOneByDefault) {
    make_study("old", 2);
    const auto past = fs::file_time_type::clock::now() - std::chrono::hours(1);
    fs::last_write_time(runs_ / "old/study.db", past);
    make_study("phase1");
    const auto chosen = [](const Ran& ran) { return json::parse(ran.out)["study"]; };
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
    const Ran list = hpo_command({"ls"});
    EXPECT_EQ(list.code, 0);
    EXPECT_THAT(list.out, AllOf(HasSubstr("phase1"), HasSubstr("unreadable")));
    EXPECT_EQ(hpo_command({"ls", "broken"}).code, 1);
}

TEST_F(Commands, ShowTellsEverythingOfATrialWithoutControlCharacters) {
    const StudyFolder folder = make_study("phase1");
    EXPECT_THAT(hpo_command({"show", "6"}).out, Not(HasSubstr("trial-0006.log")));  // there is no such file
    std::ofstream(folder.trial_log(6)) << "epoch 1\n";
    for (const auto& arguments :
         {std::vector<std::string>{"show", "6"}, {"show", "phase1", "6"}, {"show", "phase1/6"}}) {
        const Ran ran = hpo_command(arguments);
        EXPECT_EQ(ran.code, 0) << ran.err;
        EXPECT_THAT(ran.out, AllOf(HasSubstr("trial 6 of phase1"), HasSubstr("failed"), HasSubstr("SIGSEGV"),
                                   HasSubstr("trial-0006.log"), HasSubstr("batch_size"), Not(HasSubstr("\x1b"))));
    }
}

TEST_F(Commands, LogsPrintsTheFileAsItIsAndSaysWhenThereIsNone) {
    const StudyFolder folder = make_study("phase1");
    std::ofstream(folder.trial_log(3)) << "epoch 1\nepoch 2\n";
    EXPECT_EQ(hpo_command({"logs", "3"}).out, "epoch 1\nepoch 2\n");
    EXPECT_EQ(hpo_command({"logs", "phase1/3", "--follow"}).out, "epoch 1\nepoch 2\n");
    const Ran none = hpo_command({"logs", "4"});
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(none.err, HasSubstr("no log"));
}

TEST_F(Commands, BestIsAStudyFileThatTrainsExactlyThisConfiguration) {
    make_study("phase1");
    const Ran ran = hpo_command({"best", "phase1"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const auto study = parse_study(ran.out, "best.yaml");
    ASSERT_TRUE(study) << study.error().message << "\n" << ran.out;
    EXPECT_TRUE(study->space.empty());
    EXPECT_EQ(study->budget.trials, 1);
    EXPECT_EQ(study->budget.epochs, 10);
    EXPECT_EQ(study->seed, 7u);  // the split stays the same
    EXPECT_EQ(study->worker.at("batch_size"), Value(std::int64_t{1024}));
    EXPECT_EQ(study->worker.at("width"), Value(std::int64_t{64}));
    EXPECT_EQ(study->worker.at("seed"), Value(static_cast<std::int64_t>(trial_seed(7, 12))));
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
    const Ran ran = hpo_command({"best", "empty"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.err, HasSubstr("no trial with a value of val_accuracy yet"));
}

TEST(ShellWord, KeepsWhatAShellWouldTouchAsData) {
    EXPECT_EQ(shell_word("--lr=0.001"), "--lr=0.001");
    EXPECT_EQ(shell_word(""), "''");
    EXPECT_EQ(shell_word("a b"), "'a b'");
    EXPECT_EQ(shell_word(";$(touch x)"), "';$(touch x)'");
    EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
    EXPECT_EQ(shell_word("a\nb"), "'a\nb'");
}

/// Answers one connection with `answer`; an empty one: not at all.
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
            if (size > 0) asked_.assign(buffer, static_cast<std::size_t>(size));
            if (!answer.empty()) (void)!::write(peer, answer.data(), answer.size());
            if (answer.empty()) (void)!::read(peer, buffer, sizeof buffer);  // until the client gives up
            ::close(peer);
        });
    }
    std::string asked() {
        if (thread_.joinable()) thread_.join();
        return asked_;
    }
    ~ControlSocket() {
        asked();
        ::close(listener_);
    }

   private:
    int listener_ = -1;
    std::string asked_;
    std::thread thread_;
};

TEST_F(Commands, StopAsksTheHolderOverItsSocket) {
    const StudyFolder folder = make_study("phase1");
    EXPECT_THAT(hpo_command({"stop", "phase1"}).err, HasSubstr("not running"));
    auto lock = HolderLock::take(folder);
    ASSERT_TRUE(lock);
    {
        ControlSocket socket(runs_ / "control", "{\"ok\": true}\n");
        ASSERT_TRUE(lock->publish((runs_ / "control").string()));
        EXPECT_EQ(hpo_command({"stop", "phase1/3"}).code, 0);
        EXPECT_EQ(json::parse(socket.asked()), json::parse(R"({"op": "stop", "trial": 3})"));
    }
    fs::remove(runs_ / "control");
    {
        ControlSocket socket(runs_ / "control", "{\"ok\": false, \"error\": \"trial 3 has ended already\"}\n");
        const Ran ran = hpo_command({"stop", "3"});
        EXPECT_EQ(ran.code, 1);
        EXPECT_THAT(ran.err, HasSubstr("trial 3 has ended already"));
    }
    EXPECT_THAT(hpo_command({"stop", "phase1"}).err, HasSubstr("cannot be reached"));
}

TEST_F(Commands, KeysListsThoseThatHoldAWord) {
    const Ran ran = hpo_command({"keys", "ASHA"});
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.out, AllOf(HasSubstr("Stopping rules"), HasSubstr("asha.factor"), Not(HasSubstr("plateau."))));
    EXPECT_THAT(hpo_command({"keys"}).out,
                AllOf(HasSubstr("budget.trials"), HasSubstr("worker.training.batch_size"), HasSubstr("tpe.gamma")));
}

TEST_F(Commands, KeysAsJsonHaveDefaultsOrNull) {
    const json keys = json::parse(hpo_command({"keys", "worker.model.width", "--json"}).out);
    EXPECT_EQ(keys["schema"], 1);
    ASSERT_EQ(keys["keys"].size(), 1U);
    EXPECT_EQ(keys["keys"][0]["default"], "256");
    EXPECT_EQ(json::parse(hpo_command({"keys", "worker.data.path", "--json"}).out)["keys"][0]["default"], nullptr);
}

TEST_F(Commands, KeysWithAWordThatIsNowhereSaysSo) {
    const Ran ran = hpo_command({"keys", "nowhere"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(ran.err, HasSubstr("'nowhere'"));
}

TEST(ControlClient, GivesUpOnAHolderThatDoesNotAnswer) {
    testing::TemporaryFolder folder;
    ControlSocket socket(folder / "control", "");
    const auto answer = ask((folder / "control").string(), "{}", 0.05);
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message, HasSubstr("no answer"));
}

TEST(ControlClient, APathThatIsTooLongForASocketIsAnErrorAndNoCrash) {
    EXPECT_FALSE(ask(std::string(200, 'a'), "{}"));
    EXPECT_FALSE(ask("", "{}"));
}

}  // namespace
}  // namespace hpo
