// Studies of scripts: commands, folders and files, and values that are lists or null.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "hpo/wire.hpp"
#include "support.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

std::string study_of(const std::string& space, const std::string& worker, const std::string& more = "") {
    return "study: s\nobjective: {metric: loss, direction: minimize}\nspace:\n" + space + "worker:\n" + worker + more;
}

const std::string lr = "  lr: {type: float, low: 0.1, high: 1}\n";

std::size_t problems_in(const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find("s.yaml", at)) != std::string::npos; ++at) ++count;
    return count;
}

TEST(ScriptStudy, AListWithinTheCommandIsKeptTogetherAndReadBackAsWritten) {
    const auto study = parse(study_of(lr, "  command: [train, [-o, \"lr={lr}\"], \"{lr}\", [\"{lr}\"]]\n"));
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_THAT(study->script()->command, ElementsAre("train", "-o", "lr={lr}", "{lr}", "{lr}"));
    EXPECT_THAT(study->script()->optional_arguments, ElementsAre(Pair(1, 3), Pair(4, 5)));
    const auto again = parse(write_study(*study));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->script()->optional_arguments, study->script()->optional_arguments);
    EXPECT_THAT(problem(study_of(lr, "  command: [train, [-v, fast], \"{lr}\"]\n")),
                Mentions("list", "no", "placeholder"));
    EXPECT_THAT(problem(study_of(lr, "  command: [train, {lr}]\n")), HasSubstr("quotes"));
}

TEST(ScriptStudy, WithoutEpochsItsTrialsEndByThemselvesUnlessSomethingDependsOnTheirSteps) {
    const PartOptions rules[] = {
        {"plateau", "", {}}, {"median", "", {}}, {"asha", "", {}, true}, {"extrapolation", "", {}, true}};
    const auto open = [&](const std::string& worker, const std::string& more = "") {
        const auto study = parse_study(study_of(lr, worker, more), "s.yaml", {}, {{}, rules});
        if (!study) return study.error().message;
        const auto again = parse_study(write_study(*study), "s.yaml", {}, {{}, rules});
        EXPECT_TRUE(again && again->budget.open == study->budget.open && again->budget.epochs == study->budget.epochs);
        return (study->budget.open ? "open, " : "closed, ") + std::to_string(study->budget.epochs);
    };
    const std::string command = "  command: [train, \"{lr}\"]\n";
    EXPECT_EQ(open(command), "open, 1000000");
    EXPECT_EQ(open(command, "budget: {trials: 4}\nstopping: [{rule: plateau}, {rule: median}]\n"), "open, 1000000");
    EXPECT_EQ(open(command, "budget: {epochs: 7}\n"), "closed, 7");
    EXPECT_EQ(open(command, "stopping: [{rule: asha}]\n"), "closed, 20");
    EXPECT_EQ(open(command, "stopping: auto\n"), "closed, 20");
    EXPECT_EQ(open("  command: [train, \"{lr}\", \"--epochs={steps}\"]\n"), "closed, 20");
    EXPECT_EQ(open(command + "  files: {c.yaml: {text: \"epochs: {steps}\"}}\n"), "closed, 20");
    EXPECT_EQ(open("  command: [train]\n"), "closed, 20") << "the client is told the number of steps";
}

TEST(ScriptStudy, AFlagNeedsAParameterThatIsTrueOrFalse) {
    const std::string tied = "  tied: {type: categorical, choices: [true, false]}\n";
    EXPECT_EQ(problem(study_of(tied, "  command: [train, \"{flag:tied:--tied}\"]\n")), "(accepted)");
    EXPECT_THAT(problem(study_of(lr, "  command: [train, \"{flag:lr:--tied}\"]\n")),
                HasSubstr("s.yaml:6:20: {flag:lr:--tied}"));
    EXPECT_THAT(problem(study_of(tied, "  command: [train, \"{flag:tide:--tied}\"]\n")),
                Mentions("'tide' for {flag:tide:--tied}", "'tied'"));
    EXPECT_THAT(problem(study_of(tied, "  command: [train, \"{flag:tied}\"]\n")), HasSubstr("{flag:tied}"));
}

TEST(ScriptStudy, ChoicesMayBeListsAndNull) {
    const auto study = parse(
        study_of("  hidden: {type: categorical, choices: [[64, 64], [128], null]}\n"
                 "  betas: {type: categorical, choices: [[0.9, 0.999], [a, null]], when: {hidden: [[64, 64], null]}}\n",
                 "  command: [train, \"{hidden}\", \"{betas}\"]\n"));
    ASSERT_TRUE(study) << study.error().message;
    const auto& hidden = study->space[0].choices;
    EXPECT_EQ(hidden[0], Value(std::vector<std::int64_t>{64, 64}));
    EXPECT_TRUE(is_null(hidden[2]));
    EXPECT_EQ(to_text(study->space[1].choices[1]), "[\"a\", null]");
    EXPECT_EQ(study->space[1].when[0].any_of.size(), 2u);
    EXPECT_EQ(describe(study->space[0]), "one of [64, 64], [128], null");
    const auto again = parse(write_study(*study));
    ASSERT_TRUE(again) << again.error().message;
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(again->space[i].choices, study->space[i].choices);
    for (const Dimension& dimension : study->space)
        for (const Value& choice : dimension.choices)
            EXPECT_EQ(wire::to_value(wire::Json::parse(wire::from(choice).dump())), choice) << to_text(choice);
    EXPECT_THAT(problem(study_of("  h: {type: categorical, choices: [null, ~]}\n", "  command: [t, \"{h}\"]\n")),
                Mentions("null", "twice"));
}

TEST(ScriptStudy, TheNativeWorkersHiddenLayersMayBeChosenFromLists) {
    const auto study = parse(
        "study: s\nspace:\n  hidden: {type: categorical, choices: [[64, 64], [128]]}\n"
        "worker: {data: {format: synthetic}}\n");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->space[0].choices[1], Value(std::vector<std::int64_t>{128}));
}

TEST(ScriptStudy, ATrialMayNeedSeveralDevices) {
    const auto study = parse(study_of(lr, "  command: [train, \"{lr}\"]\n", "resources: {trial: {gpus: 2}}\n"));
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->resources.trial.gpus, 2);
    EXPECT_THAT(write_study(*study), HasSubstr("trial: {gpus: 2}"));
    EXPECT_THAT(problem(study_of(lr, "  command: [train, \"{lr}\"]\n", "resources: {trial: {gpus: 0}}\n")),
                Mentions("'resources.trial.gpus'", "1 to 64"));
}

TEST(ScriptStudy, SeveralProcessesMayTrainATrial) {
    const auto with = [](const std::string& trial, const std::string& worker = "") {
        return study_of(lr, "  command: [python3, t.py, \"{lr}\"]\n" + worker, "resources: {trial: {" + trial + "}}\n");
    };
    const auto study = parse(with("processes: 4, cores: 0.5"));
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->resources.trial.devices(), 4);
    EXPECT_EQ(study->resources.trial.all_cores(), 2);
    EXPECT_THAT(write_study(*study), HasSubstr("trial: {cores: 0.5, processes: 4}"));
    EXPECT_EQ(parse(with("processes: 4, gpus: 1"))->resources.trial.devices(), 1);
    EXPECT_THAT(problem(with("processes: 0")), Mentions("'resources.trial.processes'", "1 to 64"));
    EXPECT_THAT(problem(with("processes: 2", "  preload: json\n")), HasSubstr("exclude"));
    EXPECT_THAT(problem(with("processes: 2", "  environment: {RANK: 1}\n")), HasSubstr("hpo sets RANK"));
}

struct Folders : ::testing::Test {
    hpo::testing::TemporaryFolder folder;
    void write(const std::string& name, const std::string& text) const {
        fs::create_directories((folder.path() / name).parent_path());
        std::ofstream(folder.path() / name) << text;
    }
    [[nodiscard]] Result<Study> read(const std::string& worker) const {
        write("studies/s.yaml", study_of(lr, worker));
        return read_study(folder.path() / "studies/s.yaml");
    }
    [[nodiscard]] std::string problem_of(const std::string& worker) const {
        const auto study = read(worker);
        return study ? "(accepted)" : study.error().message;
    }
};

TEST_F(Folders, DataAreFoundNextToTheStudyIfTheCurrentFolderHasNone) {
    const auto read_with = [&](const std::string& path) {
        write("studies/t.yaml", "study: t\nspace:\n" + lr + "objective: {metric: val_r2}\nworker:\n" +
                                    "  task: regression\n  data: {format: csv, path: " + path + ", target: b}\n");
        return read_study(folder.path() / "studies/t.yaml");
    };
    write("studies/of_this_test.csv", "a,b\n");
    const auto study = read_with("of_this_test.csv");
    ASSERT_TRUE(study) << study.error().message;
    const Value beside((folder.path() / "studies/of_this_test.csv").string());
    EXPECT_EQ(study->fixed.at("path"), beside);
    const auto stored = parse(study->source);
    ASSERT_TRUE(stored) << stored.error().message;
    EXPECT_EQ(stored->fixed.at("path"), beside) << "a study that goes on elsewhere finds them still";
    EXPECT_EQ(read_with("nowhere.csv")->fixed.at("path"), Value(std::string("nowhere.csv")));
    EXPECT_EQ(read_with(std::get<std::string>(beside))->fixed.at("path"), beside);
}

TEST_F(Folders, RelativePathsAreFoundNextToTheStudyIfTheCurrentFolderHasNoneOfThem) {
    const std::string worker = "  command: [python3, of_this_test.py, \"{lr}\"]\n";
    const auto before = read(worker);
    ASSERT_TRUE(before) << before.error().message;
    EXPECT_EQ(before->script()->home, "") << "as it is nowhere: the current folder";
    write("studies/of_this_test.py", "");
    const auto study = read(worker);
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->script()->home, (folder.path() / "studies").string());
    const auto stored = parse(study->source);
    ASSERT_TRUE(stored) << stored.error().message;
    EXPECT_EQ(stored->script()->home, study->script()->home) << "a study that goes on knows it still";
    EXPECT_EQ(refusal(compare(*before, *study)), "");

    const auto given = read(worker + "  home: ..\n");
    ASSERT_TRUE(given) << given.error().message;
    EXPECT_TRUE(fs::equivalent(given->script()->home, folder.path()));
    EXPECT_THAT(problem_of(worker + "  home: nowhere\n"), Mentions("s.yaml:7:9: 'worker.home'"));
}

TEST_F(Folders, AWorkingFolderIsTheTrialsOwnOrMustExist) {
    const auto study = read("  command: [train]\n  cwd: \"{folder}\"\n");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->script()->cwd, "{folder}");
    EXPECT_TRUE(study->script()->metrics) << "then hpo runs it, and reads its output";
    EXPECT_THAT(problem_of("  command: [train]\n  cwd: \"{foldr}\"\n"), HasSubstr("'folder'"));
    EXPECT_THAT(problem_of("  command: [train]\n  cwd: nowhere\n"), Mentions("'worker.cwd'", "folder"));
}

TEST_F(Folders, TemplatesAreReadAndKeptWithTheStudy) {
    const std::string worker = "  command: [train]\n  files: {config.yaml: t.yaml}\n";
    write("studies/t.yaml", "lr: {lr}\n");
    const auto study = read(worker);
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->script()->files.at("config.yaml").text, "lr: {lr}\n");
    const auto stored = parse(study->source);
    ASSERT_TRUE(stored) << stored.error().message;
    EXPECT_EQ(stored->script()->files.at("config.yaml").text, "lr: {lr}\n") << "though the template may change or go";
    write("studies/t.yaml", "lr: {lr}\nseed: {seed}\n");
    const auto edited = read(worker);
    ASSERT_TRUE(edited) << edited.error().message;
    EXPECT_THAT(refusal(compare(*stored, *edited)), HasSubstr("worker.files.config.yaml"));
}

TEST_F(Folders, AnErrorInATemplateIsShownAtItsPlace) {
    const std::string worker = "  command: [train]\n  files: {config.yaml: t.yaml}\n";
    EXPECT_THAT(problem_of(worker), Mentions("s.yaml:7:24"));
    write("studies/t.yaml", "a: 1\nlr: {lrr}\n");
    EXPECT_THAT(problem_of(worker), Mentions("studies/t.yaml:2:5", "'lrr' for {lrr}", "'lr'"));
    write("studies/t.yaml", "a: [{lr}\n");
    EXPECT_THAT(problem_of(worker), HasSubstr("YAML (config.yaml)"));
    write("studies/t.yaml", "{\"a\": {lr},}\n");
    EXPECT_THAT(problem_of("  command: [train]\n  files: {config.json: t.yaml}\n"), HasSubstr("(config.json)"));
}

TEST(Errors, AMistakeThatSeveralKeysDependOnIsReportedOnce) {
    const std::string broken = problem(
        study_of("  lr: {type: float, low: 1, high: 0.1}\n  b: {type: categorical, choices: [1], when: {lr: 1}}\n",
                 "  command: [train, \"{lr}\", \"{b}\"]\n"));
    EXPECT_EQ(problems_in(broken), 1u) << broken;
    const std::string misspelt = problem(study_of(lr, "  comand: [train, \"{lr}\"]\n"));
    EXPECT_EQ(problems_in(misspelt), 1u) << misspelt;
    EXPECT_THAT(misspelt, HasSubstr("'command'"));
}

TEST(NoWorker, IsAStudyWhoseTrialsAnotherProgramTrains) {
    const std::string text = "study: s\nobjective: {metric: f1, direction: maximize}\nspace:\n" + lr;
    const auto study = parse_study(text, "s.yaml");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_FALSE(study->has_worker());
    const auto again = parse_study(write_study(*study), "again.yaml");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_FALSE(again->has_worker());
    EXPECT_TRUE(refusal(compare(*study, *again)).empty());
    EXPECT_EQ(problem("study: s\nspace:\n" + lr), "(accepted)");
    EXPECT_EQ(problem("study: s\nobjective: {metric: val_loss}\nspace:\n" + lr), "(accepted)");
    EXPECT_THAT(problem("study: s\nobjective: {metric: f1}\nspace:\n" + lr),
                Mentions("'objective.direction'", "missing"));
}

TEST(Errors, OtherMistakesAreReportedWithIt) {
    const std::string three = problem(study_of("  lr: {type: float, low: 1, high: 0.1}\n",
                                               "  command: [train, \"{lr}\", \"{other}\"]\n", "budget: {trials: 0}\n"));
    EXPECT_EQ(problems_in(three), 3u) << three;
}

TEST(UnknownParts, AreRefusedWithTheNearestKnownPart) {
    static const PartOptions samplers[] = {
        {"auto", "", {}}, {"gp", "", {}}, {"random", "", {}}, {"sobol", "", {}}, {"tpe", "", {}}};
    static const PartOptions rules[] = {{"asha", "", {}}, {"plateau", "", {}}, {"median", "", {}}};
    const Vocabulary known{samplers, rules};
    const auto error = [&](const std::string& line) { return first_line(problem(synthetic + line, {}, known)); };
    EXPECT_THAT(error("sampler: {type: bayes}\n"), Mentions("'bayes'", "'gp'"));
    EXPECT_THAT(error("stopping: [{rule: hyperband}]\n"), HasSubstr("'asha'"));
    for (const char* word : {"bayes", "Bayesian", "skopt"})
        EXPECT_THAT(error("sampler: " + std::string(word) + "\n"), HasSubstr("sampler: {type: gp}")) << word;
    EXPECT_THAT(error("sampler: optuna\n"), HasSubstr("sampler: {type: tpe}"));
    EXPECT_THAT(error("sampler: tpe\n"), Mentions("'sampler'", "(type: tpe)"));
    EXPECT_THAT(error("sampler: hyperband\n"), HasSubstr("stopping: [{rule: asha}]"));
    EXPECT_THAT(error("stopping: [{rule: auto}]\n"), HasSubstr(": stopping: auto"));
    EXPECT_THAT(error("stopping: [hyperband]\n"), HasSubstr("{rule: asha}"));
    EXPECT_THAT(error("sampler: quux\n"), Mentions("'quux'", "auto, gp, random, sobol, tpe"));
}

TEST(ScriptStudy, WhatResemblesAPlaceholderIsRefusedWithItsCure) {
    const auto command = [](const std::string& argument) {
        return problem(study_of(lr, "  command: [train, \"{lr}\", '" + argument + "']\n"));
    };
    EXPECT_THAT(command("{file:net.cfg}"), Mentions("s.yaml:6:28: {file:net.cfg}"));
    EXPECT_THAT(command("{file:net.cfg}"), HasSubstr("{{file:net.cfg}}"));
    EXPECT_THAT(command("--lr={lr:.4f}"), Mentions("{lr:.4f}", "write {lr}"));
    EXPECT_THAT(command("--lr={lr!r}"), HasSubstr("write {lr}"));
    EXPECT_THAT(command("--lr={ lr }"), Mentions("{ lr }", "write {lr}"));
    EXPECT_THAT(command("--lr=${lr}"), Mentions("'$'", "{lr}", "${{HPO_PARAM_LR}}"));
    EXPECT_THAT(command("${folder}/x"), HasSubstr("write {folder}"));
    EXPECT_THAT(problem(study_of(lr, "  command: [train, \"--lr={lr:.4f}\"]\n")), HasSubstr("write {lr}"));
    for (const char* text : {"{{file:net.cfg}}", "{{lr:.4f}}", "{a:1}", "{a:true}", "{a: b}", "{a:1,b:2}", "{{ lr }}",
                             "${{HOME}}", "${HOME:-x}", "${lr:-1}", "{ other }", "{\"lr\":1}", "{a:b,c:d}", "\\d{1,3}"})
        EXPECT_EQ(command(text), "(accepted)") << text;
}

TEST(ScriptStudy, PlaceholdersWorkOrAreRefusedInEveryPlaceThatCouldHaveThem) {
    const auto with = [](const std::string& keys) {
        return problem(study_of(lr, "  command: [train, \"{lr}\"]\n  " + keys + "\n"));
    };
    for (const char* keys : {"environment: {LR: \"{lr}\", OUT: \"{folder}/x\", TEXT: '{\"a\": {{lr}}}'}",
                             "cwd: \"{folder}\"", "metrics: {file: \"{folder}/m.csv\"}"})
        EXPECT_EQ(with(keys), "(accepted)") << keys;
    EXPECT_THAT(with("environment: {LR: \"{nosuch}\"}"), Mentions("s.yaml:7:21:", "'nosuch'", "{nosuch}"));
    EXPECT_THAT(with("environment: {LR: \"{file:x}\"}"), Mentions("{file:x}", "placeholder"));
    EXPECT_THAT(with("cwd: \"{file:x}\""), Mentions("{file:x}", "placeholder"));
    EXPECT_THAT(with("home: \"{folder}\""), Mentions("'worker.home'", "same"));
    EXPECT_THAT(with("files: {a.json: \"{lr}.json\"}"), HasSubstr("'worker.files.a.json'"));
    EXPECT_THAT(with("metrics: {stdout: \"{lr}\"}"), HasSubstr("'{lr}'"));
    const auto study = parse(study_of(lr, "  command: [train]\n  environment: {LR: \"{lr}\"}\n"));
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_TRUE(study->script()->metrics) << "hpo must start the script to fill its environment";
}

TEST(ScriptStudy, ParametersThatWouldShareAVariableAreRefusedWithBothPlaces) {
    const std::string upper = "  LR: {type: float, low: 0.1, high: 1}\n";
    const std::string both = "  command: [train, \"{lr}\", \"{LR}\"]\n";
    EXPECT_THAT(problem(study_of(lr + upper, both)), Mentions("s.yaml:5:3: 'lr' and 'LR'"));
    EXPECT_THAT(problem(study_of(lr + upper, both)), HasSubstr("s.yaml:4:3: note: 'lr'"));
    const std::string dotted = "  a.b: {type: float, low: 0.1, high: 1}\n";
    EXPECT_THAT(problem(study_of(dotted, "  command: [train, \"{a.b}\"]\n  params: {a_b: 1}\n")),
                Mentions("s.yaml:7:12: 'a.b' and 'a_b'"));
    EXPECT_EQ(problem(study_of(lr + upper, "  command: [train]\n")), "(accepted)") << "the client passes names";
    EXPECT_EQ(problem(study_of(lr + upper, "  command: [train]\n  shim: wandb\n")), "(accepted)");
}

TEST(ScriptStudy, AStudyThatHasRunIsReadEvenIfItWouldBeRefusedToday) {
    for (const std::string& text :
         {study_of(lr + "  LR: {type: float, low: 0.1, high: 1}\n", "  command: [train, \"{lr}\"]\n"),
          study_of(lr, "  command: [train, \"{lr}\", \"{file:x}\", \"${lr}\"]\n  environment: {PS1: \"{host}\"}\n")}) {
        EXPECT_NE(problem(text), "(accepted)");
        const auto stored = parse_stored_study(text, "s.yaml");
        EXPECT_TRUE(stored) << stored.error().message;
    }
    EXPECT_FALSE(parse_stored_study(study_of(lr, "  command: [train, \"{nosuch}\"]\n"), "s.yaml"));
}

}  // namespace
}  // namespace hpo
