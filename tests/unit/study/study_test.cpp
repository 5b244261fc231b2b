// The reading of valid study files.
#include <gmock/gmock.h>

#include <filesystem>

#include "support.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/paths.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

const char* const documented = R"(
study: phase1
seed: 7
objective: {metric: val_loss, direction: minimize, at: last}
space:
  batch_size:   {type: int, low: 256, high: 4096, log: true}
  lr:           {type: float, low: 3.0e-4, high: 3.0e-2, log: true}
  dropout:      {type: float, low: 0.1, high: 0.5, step: 0.1}
  activation:   {type: categorical, choices: [relu, gelu]}
  optimizer:    {type: categorical, choices: [adamw, sgd]}
  momentum:     {type: float, low: 0.8, high: 0.99, when: {optimizer: [sgd]}}
worker:
  task: image-classification
  data: {format: idx, path: fashion-mnist}
  model: {type: mlp, hidden: [512, 256, 128]}
  training: {schedule: cosine, label_smoothing: 0.1, clip: 1, nesterov: true, seed: 9007199254740991}
budget: {trials: 32, epochs: 10, time: 1h30m, patience: 24}
sampler: {type: tpe, startup: 12}
stopping: [{rule: plateau, patience: 3, min_delta: 0.001}, {rule: asha, grace: 1, factor: 3}]
policy: {min_batch_size: 128, regularization: off}
resources: {parallel: 2, backend: cpu, memory: 4GiB, gpu_reserve: 15%, progress_timeout: 2m, grace: 0.5s, retries: 0}
)";

TEST(StudyFile, StoppingMayBeAutoWhichIsReplacedByItsRules) {
    const auto study = parse([] {
        std::string text = documented;
        const std::size_t from = text.find("stopping:"), to = text.find('\n', from);
        return text.replace(from, to - from, "stopping: auto");
    }());
    ASSERT_TRUE(study) << study.error().message;
    ASSERT_EQ(study->stopping.size(), 2u);
    EXPECT_EQ(study->stopping[0].type, "divergence");
    EXPECT_EQ(study->stopping[1].type, "extrapolation");
}

/// Returns the names of the rules that a study without the key `stopping` has by default, "-" if it has the key.
std::string rules_by_default(const std::string& text) {
    const auto study = parse(text);
    if (!study) return study.error().message;
    if (!study->default_stopping) return "-";
    EXPECT_TRUE(study->stopping.empty());
    std::string names;
    for (const PartSpec& rule : *study->default_stopping) names += (names.empty() ? "" : " ") + rule.type;
    return names;
}

TEST(StudyFile, StoppingIsAutoByDefaultWhereItCanLearnFromEnoughTrialsAndSteps) {
    EXPECT_EQ(rules_by_default(synthetic), "divergence extrapolation");
    EXPECT_EQ(rules_by_default(synthetic + "budget: {trials: 32, epochs: 6}\n"), "divergence extrapolation");
    EXPECT_EQ(rules_by_default(synthetic + "budget: {trials: 31}\n"), "");
    EXPECT_EQ(rules_by_default(synthetic + "budget: {epochs: 5}\n"), "");
    EXPECT_EQ(rules_by_default(synthetic + "sampler: {type: grid}\n"), "");
    EXPECT_EQ(rules_by_default(synthetic + "stopping: []\n"), "-");
    EXPECT_EQ(rules_by_default(synthetic + "stopping: auto\n"), "-");
}

TEST(StudyFile, StoppingOfAScriptIsAutoByDefaultIfItsLengthIsStated) {
    const std::string script =
        "study: s\nobjective: {metric: reward, direction: maximize}\nspace:\n  x: {type: float, low: 0, high: 1}\n"
        "worker: {command: [./train, \"{x}\"]}\n";
    EXPECT_EQ(rules_by_default(script), "");
    EXPECT_EQ(rules_by_default(script + "budget: {epochs: 20}\n"), "extrapolation");
    EXPECT_EQ(parse(script + "stopping: auto\n")->stopping, (std::vector<PartSpec>{{"extrapolation", {}}}));
}

TEST(StudyFile, EveryKeyIsRead) {
    const auto study = parse(documented);
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->name, "phase1");
    EXPECT_EQ(study->seed, 7u);
    EXPECT_EQ(study->objective.metric, "val_loss");
    EXPECT_EQ(study->objective.direction, Direction::minimize);
    EXPECT_EQ(study->objective.at, Objective::At::last);
    EXPECT_EQ(study->budget.trials, 32);
    EXPECT_EQ(study->budget.epochs, 10);
    EXPECT_EQ(study->budget.seconds, 5400);
    EXPECT_EQ(study->budget.patience, 24);
    EXPECT_EQ(study->sampler.type, "tpe");
    EXPECT_THAT(study->sampler.options, ElementsAre(Pair("startup", Value(std::int64_t{12}))));
    ASSERT_EQ(study->stopping.size(), 2u);
    EXPECT_EQ(study->stopping[0].type, "plateau");
    EXPECT_EQ(study->stopping[0].options.at("min_delta"), Value(0.001));
    EXPECT_EQ(study->policy.min_batch_size, 128);
    EXPECT_FALSE(study->policy.scaled);
    EXPECT_EQ(study->resources.parallel, 2);
    EXPECT_EQ(study->resources.backend, "cpu");
    EXPECT_EQ(study->resources.memory, std::int64_t{4} << 30);
    EXPECT_EQ(study->resources.gpu_reserve, 0.15);
    EXPECT_EQ(study->resources.progress_timeout, 120);
    EXPECT_EQ(study->resources.grace, 0.5);
    EXPECT_EQ(study->resources.retries, 0);
    EXPECT_TRUE(study->native());
    EXPECT_EQ(study->source, documented);
}

TEST(StudyFile, TheWorkersKeysBecomeAFlatMapWithTheTypesOfTheirTableAndAnOldTaskItsPresentName) {
    const auto study = parse(documented);
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_THAT(
        study->fixed,
        ElementsAre(Pair("clip", Value(1.0)), Pair("format", Value(std::string("idx"))),
                    Pair("hidden", Value(std::vector<std::int64_t>{512, 256, 128})),
                    Pair("label_smoothing", Value(0.1)), Pair("nesterov", Value(true)),
                    Pair("path", Value(std::string("fashion-mnist"))), Pair("schedule", Value(std::string("cosine"))),
                    Pair("seed", Value(std::int64_t{9007199254740991})),
                    Pair("task", Value(std::string("classification"))), Pair("type", Value(std::string("mlp")))));
}

TEST(StudyFile, TheSpaceKeepsTheOrderOfTheFile) {
    const auto study = parse(documented);
    ASSERT_TRUE(study) << study.error().message;
    const Space& space = study->space;
    ASSERT_EQ(space.size(), 6u);
    EXPECT_EQ(space[0].name, "batch_size");
    EXPECT_EQ(space[0].kind, Kind::integer);
    EXPECT_EQ(space[0].low, 256);
    EXPECT_EQ(space[0].high, 4096);
    EXPECT_TRUE(space[0].log);
    EXPECT_EQ(space[2].step, 0.1);
    EXPECT_EQ(space[3].kind, Kind::categorical);
    EXPECT_THAT(space[3].choices, ElementsAre(Value(std::string("relu")), Value(std::string("gelu"))));
    ASSERT_EQ(space[5].when.size(), 1u);
    EXPECT_EQ(space[5].when[0].parameter, "optimizer");
    EXPECT_THAT(space[5].when[0].any_of, ElementsAre(Value(std::string("sgd"))));
}

TEST(StudyFile, RolesAreRecognisedByNameAndMayBeDeclared) {
    const auto study = parse(synthetic + R"(
space:
  batch_size:   {type: categorical, choices: [256, 512]}
  lr:           {type: float, low: 0.001, high: 0.1}
  weight_decay: {type: float, low: 0.001, high: 0.1, role: none}
  dropout:      {type: float, low: 0.1, high: 0.5}
  clip:         {type: float, low: 0.1, high: 5, role: regularizer}
  width:        {type: int, low: 1, high: 5}
)");
    ASSERT_TRUE(study) << study.error().message;
    std::vector<Role> roles;
    for (const Dimension& dimension : study->space) roles.push_back(dimension.role);
    EXPECT_THAT(roles, ElementsAre(Role::batch_size, Role::learning_rate, Role::none, Role::regularizer,
                                   Role::regularizer, Role::none));
}

TEST(StudyFile, ChoicesTakeTheTypeOfTheirKey) {
    const auto study = parse(synthetic + R"(
space:
  lr: {type: categorical, choices: [1, 0.5]}
  hidden: {type: categorical, choices: [[512, 256], []]}
  nesterov: {type: categorical, choices: [true, false]}
)");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_THAT(study->space[0].choices, ElementsAre(Value(1.0), Value(0.5)));
    EXPECT_THAT(study->space[1].choices,
                ElementsAre(Value(std::vector<std::int64_t>{512, 256}), Value(std::vector<std::int64_t>{})));
    EXPECT_THAT(study->space[2].choices, ElementsAre(Value(true), Value(false)));
}

TEST(StudyFile, AScriptMayHaveAnyParameters) {
    const auto study = parse(R"(
study: script
objective: {metric: test/score, direction: maximize}
space:
  my_param: {type: float, low: -5, high: 5}
  kind: {type: categorical, choices: [a, 1, 2.5, true, "1"]}
  depth: {type: int, low: 1, high: 9, step: 2, when: {kind: a}}
worker: {command: [python3, train.py, --fast], params: {rounds: 5, label: "7"}}
)");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_THAT(study->script()->command, ElementsAre("python3", "train.py", "--fast"));
    EXPECT_THAT(study->fixed,
                ElementsAre(Pair("label", Value(std::string("7"))), Pair("rounds", Value(std::int64_t{5}))));
    EXPECT_THAT(study->space[1].choices, ElementsAre(Value(std::string("a")), Value(std::int64_t{1}), Value(2.5),
                                                     Value(true), Value(std::string("1"))));
    EXPECT_EQ(study->objective.metric, "test/score");
}

const std::string script_head = R"(
study: script
objective: {metric: m, direction: maximize}
worker: {command: [python3, train.py]}
)";

TEST(StudyFile, NamesOfParametersHaveLettersOfAnyScriptAndAreKnownInConditionsAndPlaceholders) {
    const auto study = parse(
        "study: s\nobjective: {metric: m, direction: maximize}\n"
        "worker: {command: [python3, train.py, \"{größe}\", \"{β-1}\", \"{学习率}\", \"{隐藏层}\"]}\n"
        "space:\n  größe: {type: int, low: 1, high: 9}\n  β-1: {type: float, low: 0, high: größe / 2}\n"
        "  学习率: {type: float, low: 0, high: 1}\n  隐藏层: {type: int, low: 1, high: 4}\nwhere: [\"größe > 2 or β-1 "
        "< 学习率\", not größe*2 == 4]\n");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->space[1].name, "β-1");
    for (const std::string refused : {"a b", "a×b", "a≤b", "\"a\\u00a0b\"", "9ö", "-ö", "ö°", "a！", "a😀",
                                      "\"\\u3164\"", "\"a\\u200b\"", "\"\\u0308o\"", "a″", "a…"})
        EXPECT_THAT(problem(script_head + "space: {" + refused + ": {type: float, low: 0, high: 1}}\n"),
                    HasSubstr("valid"))
            << refused;
    EXPECT_THAT(problem(script_head + "space: {a𝛼é: {type: float, low: 0, high: 1}}\n"),
                Mentions("'_'", "'𝛼'", "beyond U+FFFF"));
    EXPECT_THAT(problem(script_head + "space: {9é: {type: float, low: 0, high: 1}}\n"), Not(HasSubstr("U+FFFF")));
    EXPECT_THAT(problem(script_head + "space: {lr: {type: float, low: 0, high: 1}}\nwhere: lr ≤ 1\n"), HasSubstr("'≤'"))
        << "no name, though it is beyond ASCII";
}

TEST(StudyFile, AScriptsResourcesNameDevicesAndATrialsRequirements) {
    const auto study = parse(script_head + R"(
resources:
  parallel: [4, 2]
  backend: cuda
  devices: [GPU-8f6c, 1]
  memory: 8GiB
  gpu_memory: [20GiB, 10GiB]
  trial: {memory: 1GiB, gpu_memory: 1.5GiB, cores: 2}
)");
    ASSERT_TRUE(study) << study.error().message;
    const Resources& resources = study->resources;
    EXPECT_EQ(resources.parallel, std::nullopt);
    EXPECT_THAT(resources.parallel_each, ElementsAre(4, 2));
    EXPECT_EQ(resources.backend, "cuda");
    EXPECT_THAT(resources.devices, ElementsAre("GPU-8f6c", "1"));
    EXPECT_THAT(resources.gpu_memory, ElementsAre(std::int64_t{20} << 30, std::int64_t{10} << 30));
    EXPECT_EQ(resources.trial.host_bytes, std::int64_t{1} << 30);
    EXPECT_EQ(resources.trial.device_bytes, std::int64_t{3} << 29);
    EXPECT_EQ(resources.trial.cores, 2.0);
}

TEST(StudyFile, ResourcesThatAreAutoOrAbsentAreLeftToTheMachine) {
    for (const char* text :
         {"", "resources: {parallel: auto, devices: auto, memory: auto, gpu_memory: auto, trial: {}}"}) {
        const auto study = parse(script_head + text);
        ASSERT_TRUE(study) << study.error().message;
        const Resources& resources = study->resources;
        EXPECT_FALSE(resources.parallel || resources.memory);
        EXPECT_TRUE(resources.parallel_each.empty() && resources.devices.empty() && resources.gpu_memory.empty());
        EXPECT_FALSE(resources.trial.host_bytes || resources.trial.device_bytes || resources.trial.cores);
        EXPECT_EQ(resources.backend, "auto");
    }
    const auto native = parse(synthetic + "resources: {devices: auto, gpu_memory: auto, gpu_reserve: 20%, slots: 8}\n");
    ASSERT_TRUE(native) << native.error().message;
    EXPECT_EQ(native->resources.gpu_reserve, 0.2);
    EXPECT_EQ(native->resources.slots, 8);
}

TEST(StudyFile, KeepsTrialFoldersAndTheBestNativeCheckpointsByDefault) {
    const std::string of_script = "study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [x]}\n";
    EXPECT_EQ(parse(synthetic)->keep.checkpoints, 5);
    EXPECT_EQ(parse(synthetic)->keep.folders, std::nullopt);
    EXPECT_EQ(parse(of_script)->keep.checkpoints, std::nullopt) << "a script's files are the user's";
    EXPECT_EQ(parse(of_script)->keep.folders, std::nullopt);
    const auto study = parse(of_script + "keep: {checkpoints: none, folders: best 12}\n");
    EXPECT_EQ(study->keep.checkpoints, 0);
    EXPECT_EQ(study->keep.folders, 12);
    EXPECT_EQ(parse(synthetic + "keep: {checkpoints: all}\n")->keep.checkpoints, std::nullopt);
}

TEST(StudyFile, OneLimitOfDeviceMemoryAppliesToEveryDevice) {
    const auto study = parse(script_head + "resources: {devices: [0, 1], gpu_memory: 20GiB}\n");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_THAT(study->resources.gpu_memory, ElementsAre(std::int64_t{20} << 30));
}

TEST(StudyFile, AStudyWithoutASpaceIsOneConfiguration) {
    for (const char* space : {"", "space: {}\n", "space:\n"}) {
        const auto study = parse(synthetic + space);
        ASSERT_TRUE(study) << study.error().message;
        EXPECT_TRUE(study->space.empty());
    }
}

TEST(StudyFile, TakesDefaultsFromTheStudyStruct) {
    const auto study = parse(synthetic);
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->seed, 1u);
    EXPECT_EQ(study->objective.metric, "val_accuracy");
    EXPECT_EQ(study->budget.trials, 64);
    EXPECT_EQ(study->budget.seconds, std::nullopt);
    EXPECT_EQ(study->sampler.type, "auto");
    EXPECT_TRUE(study->stopping.empty());
    EXPECT_EQ(study->resources.parallel, std::nullopt);
}

TEST(StudyFile, WithoutADirectionTheMetricDecidesIt) {
    EXPECT_EQ(parse(synthetic + "objective: {metric: val_loss}\n")->objective.direction, Direction::minimize);
    EXPECT_EQ(parse(synthetic + "objective: {metric: val_accuracy}\n")->objective.direction, Direction::maximize);
}

TEST(StudyFile, ItemsWithCommasBetweenThemMayBeAList) {
    const auto given = [](const std::string& target) {
        const auto study = parse("study: s\nworker: {data: {format: csv, path: t.csv, target: " + target + "}}\n");
        return study ? to_text(study->fixed.at("target")) : study.error().message;
    };
    EXPECT_EQ(given("y"), "y");
    EXPECT_EQ(given("'a, b'"), "a, b");
    EXPECT_EQ(given("[a, b]"), "a,b");
    EXPECT_EQ(given("['a, b', 'say \"c\"', 1]"), "\"a, b\",\"say \"\"c\"\"\",1");
    EXPECT_THAT(given("[a, [b]]"), Mentions("'target'", "list"));
    EXPECT_THAT(given("{a: b}"), Mentions("'target'", "map"));
}

TEST(StudyFile, TheTaskDecidesWhichMetricsExist) {
    const auto objective_of = [](const std::string& worker, const std::string& rest = "") {
        const auto study = parse("study: s\nworker: " + worker + "\n" + rest);
        return study ? study->objective.metric + (study->objective.direction == Direction::maximize ? " up" : " down")
                     : study.error().message;
    };
    const std::string table = "data: {format: csv, path: t.csv, target: y}";
    EXPECT_EQ(objective_of("{data: {format: synthetic}}"), "val_accuracy up");
    EXPECT_EQ(objective_of("{task: regression, data: {format: synthetic}}"), "val_r2 up");
    EXPECT_EQ(objective_of("{task: classification, " + table + "}"), "val_accuracy up");
    EXPECT_EQ(objective_of("{task: regression, " + table + "}", "objective: {metric: val_mae}"), "val_mae down");
    EXPECT_EQ(objective_of("{task: multi-label, " + table + "}"), "val_loss down");
    EXPECT_EQ(objective_of("{task: multi-label, " + table + ", training: {class_metrics: true}}",
                           "objective: {metric: val_exact_match}"),
              "val_exact_match up");
    EXPECT_THAT(objective_of("{task: regression, " + table + ", training: {class_metrics: true}}",
                             "objective: {metric: val_f1}"),
                Mentions("val_r2, val_mae, val_mse, val_loss", "val_f1"));
    // A table that chooses its own task has a loss with each task.
    EXPECT_EQ(objective_of("{" + table + "}"), "val_loss down");
    EXPECT_EQ(objective_of("{" + table + "}", "objective: {metric: val_r2}"), "val_r2 up");
    EXPECT_EQ(objective_of("{data: {format: parquet, path: t.parquet, target: y}}", "objective: {metric: val_r2}"),
              "val_r2 up");
    // Perplexity is of the next token alone.
    const std::string text = "{data: {format: text, path: t.txt, window: 8}}";
    EXPECT_EQ(objective_of(text), "val_loss down");
    EXPECT_EQ(objective_of(text, "objective: {metric: val_perplexity}"), "val_perplexity down");
    const std::string f1 = "objective: {metric: val_f1}";
    EXPECT_EQ(objective_of("{data: {format: synthetic}, training: {class_metrics: true}}", f1), "val_f1 up");
    EXPECT_THAT(objective_of("{data: {format: synthetic}}", f1),
                Mentions("'objective.metric'", "val_f1 with worker.training.class_metrics"));
    EXPECT_EQ(objective_of("{data: {format: series, path: s.csv, target: y, window: 8}}"), "val_r2 up");
    EXPECT_THAT(objective_of("{data: {format: synthetic}}", "objective: {metric: val_perplexity}"),
                Mentions("val_accuracy, val_loss", "val_perplexity"));
    EXPECT_THAT(objective_of("{task: regression, " + table + "}", "objective: {metric: val_accuracy}"),
                Mentions("'objective.metric'", "val_r2, val_mae, val_mse, val_loss", "val_accuracy"));
    EXPECT_THAT(objective_of("{data: {format: synthetic}}", "objective: {metric: val_r2}"),
                Mentions("'objective.metric'", "val_accuracy, val_loss", "val_r2"));
}

TEST(StudyFile, ReadsWithWindowsLineEndsAndAByteOrderMark) {
    const auto study = parse("\xEF\xBB\xBFstudy: s\r\nworker: {data: {format: synthetic}}\r\nseed: 5\r\n");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->seed, 5u);
}

TEST(StudyFile, DurationsAndSizesTakeTheUsualUnits) {
    const auto seconds = [](const std::string& text) {
        return parse(synthetic + "budget: {time: " + text + "}\n")->budget.seconds;
    };
    EXPECT_EQ(seconds("90s"), 90);
    EXPECT_EQ(seconds("1h30m"), 5400);
    EXPECT_EQ(seconds("2d"), 172800);
    EXPECT_EQ(seconds("1.5h"), 5400);
    const auto bytes = [](const std::string& text) {
        return parse(synthetic + "resources: {memory: " + text + "}\n")->resources.memory;
    };
    EXPECT_EQ(bytes("512MiB"), 536870912);
    EXPECT_EQ(bytes("2GB"), 2000000000);
    EXPECT_EQ(bytes("auto"), std::nullopt);
}

TEST(Overrides, AreAppliedInOrderAndBeforeTheCheck) {
    const auto study =
        parse(documented, {"budget.trials=8", "worker.training.clip=0.5", "space.lr.high=0.1", "space.lr.high=0.2",
                           "stopping=[{rule: median}]", "space.momentum=null", "resources.memory=1GiB"});
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->budget.trials, 8);
    EXPECT_EQ(study->fixed.at("clip"), Value(0.5));
    EXPECT_EQ(study->space[1].high, 0.2);
    EXPECT_EQ(study->space.size(), 5u);
    ASSERT_EQ(study->stopping.size(), 1u);
    EXPECT_EQ(study->stopping[0].type, "median");
}

TEST(Overrides, AddTheSectionsTheyNeed) {
    const auto study = parse(synthetic, {"budget.trials=8", "space.lr={type: float, low: 0.1, high: 0.2}"});
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->budget.trials, 8);
    EXPECT_EQ(study->space.size(), 1u);
}

TEST(Overrides, ArePartOfTheSourceThatIsStored) {
    const auto study = parse(synthetic, {"budget.trials=8"});
    ASSERT_TRUE(study) << study.error().message;
    const auto again = parse(study->source);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->budget.trials, 8);
}

TEST(Overrides, AreNamedInErrors) {
    EXPECT_THAT(problem(synthetic, {"budget.trails=8"}),
                Mentions("--set budget.trails=8:", "'trails'", "'budget'", "'trials'", "key", "unknown"));
    EXPECT_THAT(problem(synthetic, {"lr=0.1"}),
                Mentions("--set lr=0.1:", "'lr'", "'worker.training.lr'", "key", "unknown"));
    EXPECT_THAT(problem(synthetic, {"budget.trials=many"}),
                MentionsInOrder("--set budget.trials=many: 'budget.trials'", "whole", "1 to 1000000", "found", "many"));
    EXPECT_EQ(problem(synthetic, {"budget.trials"}),
              "--set budget.trials: expected key=value, such as budget.trials=8");
    EXPECT_EQ(problem(synthetic, {"budget.trials="}),
              "--set budget.trials=: expected a value after '='; key=null removes a key");
    EXPECT_EQ(problem(synthetic, {"budget..trials=1"}), "--set budget..trials=1: a key without a name in '.trials'");
    EXPECT_THAT(problem(synthetic + "stopping: [{rule: asha}]\n", {"stopping.asha.factor=3"}),
                Mentions("--set stopping.asha.factor=3:", "'stopping'", "'stopping=[...]'", "map", "not"));
    EXPECT_THAT(problem(synthetic, {"stopping=[{rule: asha"}),
                Mentions("--set stopping=[{rule:", "'{'", "closed", "not"));
}

TEST(ReadStudy, AFileThatCannotBeReadIsNamedWithTheReason) {
    const auto missing = read_study("/nowhere/s.yaml");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message, "/nowhere/s.yaml: No such file or directory");
    const auto folder = read_study("/tmp");
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().message, "/tmp: is a folder, not a study file");
}

TEST(ReadyStudies, AreValidAndNamedLikeTheirFiles) {
    int count = 0;
    for (const auto& file : std::filesystem::directory_iterator(testing::source_folder() + "/studies")) {
        if (file.path().extension() != ".yaml") continue;  // data and the schema
        const auto study = read_study(file.path());
        ASSERT_TRUE(study) << study.error().message;
        EXPECT_EQ(study->name, file.path().stem());
        ++count;
    }
    EXPECT_GE(count, 2);
}

}  // namespace
}  // namespace hpo
