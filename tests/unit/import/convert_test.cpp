// The conversion of other tools' studies into studies of hpo, with the remarks where a meaning changes.
#include <gmock/gmock.h>

#include <cmath>

#include "orchestrator/import/arguments.hpp"
#include "orchestrator/import/convert.hpp"
#include "orchestrator/study/study_file.hpp"
#include "support.hpp"

#include "tests/support/mentions.hpp"

namespace hpo::importing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

struct Converted {
    Study study;
    std::string yaml;
    std::vector<std::string> remarks;

    [[nodiscard]] std::string all() const {
        std::string text;
        for (const std::string& remark : remarks) text += remark + '\n';
        return text;
    }
};

Converted converted(const std::string& text, const std::string& name = "sweep.yaml", const std::string& other = "") {
    const auto conversion = convert(text, name, any_tool, {}, [&](const std::string& file) -> Result<std::string> {
        if (other.empty()) return Error{file + ": No such file or directory"};
        return other;
    });
    EXPECT_TRUE(conversion) << conversion.error().message;
    if (!conversion) return {};
    auto study = parse_study(conversion->yaml, "s.yaml");
    EXPECT_TRUE(study) << conversion->yaml;
    for (const std::string& remark : conversion->remarks) {
        // Each remark is also in the file, wrapped into lines.
        const std::string begin = remark.substr(0, 40);
        EXPECT_THAT(conversion->yaml, HasSubstr("# " + begin));
    }
    return {std::move(*study), conversion->yaml, conversion->remarks};
}

std::string problem(const std::string& text, std::string_view tool = any_tool) {
    const auto conversion = convert(text, "sweep.yaml", tool, {}, [](const std::string& file) -> Result<std::string> {
        return Error{file + ": No such file or directory"};
    });
    return conversion ? "(accepted)" : conversion.error().message;
}

/// Returns a W&B sweep with these parameters.
std::string sweep(const std::string& parameters, const std::string& more = "") {
    return "program: train.py\nmethod: random\nmetric: {name: val_loss, goal: minimize}\nrun_cap: 8\n" + more +
           "parameters:\n" + parameters;
}

TEST(Wandb, TheDocumentedSweepBecomesAStudyWithTheSameRuns) {
    const auto result = converted(R"(program: train.py
name: sweepdemo
method: bayes
metric: {goal: maximize, name: val/accuracy}
run_cap: 30
parameters:
  learning_rate: {min: 0.0001, max: 0.1}
  batch_size: {values: [256, 512]}
  epochs: {values: [5, 10, 15]}
  optimizer: {values: ["adam", "sgd"]}
)");
    const Study& study = result.study;
    EXPECT_EQ(study.name, "sweepdemo");
    EXPECT_EQ(study.objective.metric, "val/accuracy");
    EXPECT_EQ(study.objective.direction, Direction::maximize);
    EXPECT_EQ(study.budget.trials, 30);
    // Runs of W&B end with their scripts, which may log each batch.
    EXPECT_EQ(study.budget.epochs, 1000000);
    EXPECT_TRUE(study.stopping.empty());
    EXPECT_FALSE(study.default_stopping) << "a rule by default would end trials early";
    EXPECT_EQ(study.sampler.type, "auto");
    EXPECT_THAT(study.script()->command,
                ElementsAre("python3", "train.py", "--learning_rate={learning_rate}", "--batch_size={batch_size}",
                            "--epochs={epochs}", "--optimizer={optimizer}"));
    EXPECT_EQ(dimensions(result.study),
              "learning_rate: float 0.0001 to 0.1\n"
              "batch_size: one of 256, 512\n"
              "epochs: one of 5, 10, 15\n"
              "optimizer: one of adam, sgd\n");
    EXPECT_THAT(result.remarks, ElementsAre(StartsWith("sweep.yaml:4: each wandb.log() with val/accuracy is a step"),
                                            HasSubstr("shim: wandb"), Mentions("15")));
    EXPECT_EQ(study.script()->shim, "wandb");
    EXPECT_TRUE(study.policy.scaled);
}

TEST(Wandb, EveryDistributionHasItsRange) {
    const auto result = converted(sweep(R"(
  int: {min: 1, max: 3}
  mixed: {min: 1, max: 3.0}
  stepped: {distribution: q_uniform, min: 0.0, max: 0.52, q: 0.1}
  whole_steps: {distribution: q_uniform, min: 10, max: 60, q: 16}
  exponents: {distribution: log_uniform, min: 0, max: 1}
  values: {distribution: log_uniform_values, min: 1e-4, max: 1e-1}
  inverse: {distribution: inv_log_uniform, min: 0, max: 1}
  inverse_values: {distribution: inv_log_uniform_values, min: 0.5, max: 2}
  whole_log: {distribution: q_log_uniform_values, q: 1, min: 1, max: 1000}
)"));
    EXPECT_EQ(dimensions(result.study),
              "int: int 1 to 3\n"
              "mixed: float 1 to 3\n"
              "stepped: float 0 to 0.5 by 0.1\n"
              "whole_steps: int 16 to 64 by 16\n"
              "exponents: float 1 to 2.71828, log\n"
              "values: float 0.0001 to 0.1, log\n"
              "inverse: float 0.367879 to 1, log\n"
              "inverse_values: float 0.5 to 2, log\n"
              "whole_log: int 1 to 1000, log\n");
    EXPECT_THAT(result.all(), Not(HasSubstr("sweep.yaml:7")));
    EXPECT_THAT(result.all(), Not(HasSubstr("sweep.yaml:15")));
}

TEST(Wandb, MissingBoundsAndStepsAreAddedWithARemarkAtTheirLine) {
    const auto result = converted(sweep(R"(
  n: {distribution: normal, mu: 1, sigma: 0.5}
  l: {distribution: log_normal, mu: 0, sigma: 1}
  q: {distribution: q_log_uniform_values, q: 8, min: 16, max: 512}
  b: {distribution: beta, a: 2, b: 2}
)"));
    EXPECT_EQ(dimensions(result.study),
              "n: float 0 to 2\n"
              "l: float 0.135335 to 7.38906, log\n"
              "q: int 16 to 512, log\n"
              "b: float 0 to 1\n");
    EXPECT_THAT(result.remarks,
                Contains(::testing::AllOf(StartsWith("sweep.yaml:7: "), Mentions("normal", "(mu 1, sigma 0.5)"))));
    EXPECT_THAT(result.remarks, Contains(::testing::AllOf(StartsWith("sweep.yaml:8: "), HasSubstr("lognormal"))));
    EXPECT_THAT(result.remarks,
                Contains(::testing::AllOf(StartsWith("sweep.yaml:9: "), Mentions("logarithmic", "of 8"))));
    EXPECT_THAT(result.remarks, Contains(::testing::AllOf(StartsWith("sweep.yaml:10: "), HasSubstr("beta"))));
}

TEST(Wandb, ValuesReachTheScriptInPythonsNotation) {
    const auto result = converted(sweep(R"(
  flag: {values: [true, False]}
  layers: {values: [[64, 'a'], ~, {x: 1}]}
  same: {values: [1, 1.0, 2], probabilities: [0.5, 0.25, 0.25]}
  fixed: {value: [1, true]}
  none: {value: null}
)"));
    EXPECT_EQ(dimensions(result.study),
              "flag: one of True, False\n"
              "layers: one of [64, 'a'], None, {'x': 1}\n"
              "same: one of 1, 2\n");
    EXPECT_THAT(result.study.script()->command, Contains("--fixed=[1, True]"));
    EXPECT_THAT(result.study.script()->command, Contains("--none=None"));
    EXPECT_THAT(result.all(), Mentions("sweep.yaml:9: 1.0"));
    EXPECT_THAT(result.all(), HasSubstr("probabilities"));
}

TEST(Wandb, NestedParametersBecomeOneDictionary) {
    const auto result = converted(sweep(R"(
  head:
    parameters:
      width: {min: 1, max: 8}
      act: {values: [relu, gelu]}
      deep: {parameters: {on: {value: true}}}
)"));
    EXPECT_EQ(dimensions(result.study), "head.width: int 1 to 8\nhead.act: one of relu, gelu\n");
    EXPECT_THAT(result.study.script()->command,
                Contains("--head={'width': {head.width}, 'act': '{head.act}', 'deep': {'on': True}}"));
}

TEST(Wandb, MacrosOfTheCommandAreExpanded) {
    const auto command = [](const std::string& words) {
        return converted(sweep("  lr: {min: 0.1, max: 0.2}\n  v: {value: true}\n  w: {value: false}\n  f: {values: "
                               "[true, false]}\n",
                               "command: " + words + "\n"))
            .study.script()
            ->command;
    };
    EXPECT_THAT(command("[\"${env}\", \"${interpreter}\", \"${program}\", \"${args_no_hyphens}\"]"),
                ElementsAre("python3", "train.py", "lr={lr}", "v=True", "w=False", "f={f}"));
    EXPECT_THAT(command("[\"${env}\", A=1, \"${program}\", --quiet, \"${args_no_boolean_flags}\"]"),
                ElementsAre("/usr/bin/env", "A=1", "train.py", "--quiet", "--lr={lr}", "{f_flag}", "--v"));
    EXPECT_THAT(command("[run, \"${args_json}\"]"),
                ElementsAre("run", "{\"lr\": {lr}, \"v\": true, \"w\": false, \"f\": {f}}"));
    EXPECT_THAT(command("[run, \"${args_json_file}\", \"{lr}\"]"), ElementsAre("run", "{params_file}", "{{lr}}"));
    EXPECT_THAT(command("[run, \"--data=${envvar:DATA}/x\", \"${args}\"]"), Contains("--data=DATA/x"));
}

TEST(Wandb, AFlagIsAnArgumentThatIsPresentOrAbsent) {
    const auto result =
        converted(sweep("  f: {values: [true, false]}\n", "command: [run, --quiet, \"${args_no_boolean_flags}\"]\n"));
    EXPECT_EQ(dimensions(result.study), "f: one of True, False\nf_flag: one of --f, only with f = True\n");
    // The flag is not placed after --quiet, which would be taken for its option and be omitted with it.
    EXPECT_THAT(result.study.script()->command, ElementsAre("run", "{f_flag}", "--quiet"));
}

TEST(Wandb, ARandomSearchAndAGridKeepTheDeclaredSpace) {
    const auto result = converted(sweep("  lr: {min: 0.1, max: 0.2}\n"));
    EXPECT_EQ(result.study.sampler.type, "random");
    EXPECT_FALSE(result.study.policy.scaled);
    EXPECT_THAT(result.yaml, HasSubstr("policy: {regularization: off}"));
}

TEST(Wandb, GoalsTagsAndNestingOfWandbAreAccepted) {
    const auto result = converted(
        "project: p\nsweep:\n  method: bayes\n  program: t.py\n  run_cap: 3\n"
        "  metric: {name: acc, goal: maximum}\n"
        "  parameters:\n    lr: {min: !!float 1e-4, max: !!float \"0.1\"}\n"
        "    n: {value: !!int 3}\n    s: {values: [!!str 5, a]}\n");
    EXPECT_EQ(result.study.objective.direction, Direction::maximize);
    EXPECT_EQ(dimensions(result.study), "lr: float 0.0001 to 0.1\ns: one of 5, a\n");
    EXPECT_EQ(result.study.fixed, (Params{{"n", std::int64_t{3}}}));
    EXPECT_THAT(result.all(), HasSubstr("sweep.yaml:1: 'project'"));
    EXPECT_THAT(problem("program: a\nmethod: grid\nparameters: {a: {value: !!python/name:os.system x}}\n"),
                HasSubstr("tags"));
}

TEST(Wandb, AParameterFileHoldsFixedParametersToo) {
    const auto result = converted(sweep("  lr: {min: 0.1, max: 0.2}\n  n: {value: 3}\n  v: {value: true}\n",
                                        "command: [run, \"${args_json_file}\"]\n"));
    EXPECT_EQ(result.study.fixed, (Params{{"n", std::int64_t{3}}, {"v", true}}));
}

TEST(Wandb, NamesWithAMeaningInCommandsAreChanged) {
    const auto result =
        converted(sweep("  seed: {min: 1, max: 5}\n  \"a b\": {min: 1, max: 5}\n  a_b: {min: 1, max: 2}\n"));
    EXPECT_THAT(result.study.script()->command,
                ElementsAre("python3", "train.py", "--seed={seed_}", "--a b={a_b}", "--a_b={a_b_2}"));
    EXPECT_THAT(result.remarks, Contains(::testing::AllOf(StartsWith("sweep.yaml:6: "), Mentions("'seed'", "seed_"))));
}

TEST(Wandb, SmallBatchesAreAllowedExplicitly) {
    const auto result = converted(sweep("  batch_size: {values: [32, 64]}\n"));
    EXPECT_EQ(result.study.policy.min_batch_size, 32);
    EXPECT_THAT(result.remarks, Contains(::testing::AllOf(StartsWith("sweep.yaml:6: "), Mentions("of 32"))));
}

TEST(Wandb, ASummaryOfTheMetricIsItsBestOrLastNumber) {
    const auto objective = [](const std::string& metric) {
        const auto conversion =
            convert("method: random\nprogram: t.py\nmetric: " + metric + "\nparameters: {lr: {min: 0.1, max: 0.2}}\n",
                    "sweep.yaml", any_tool, {}, {});
        if (!conversion) return conversion.error().message;
        const Study study = *parse_study(conversion->yaml, "s.yaml");
        return study.objective.metric + (study.objective.at == Objective::At::best ? " best" : " last");
    };
    EXPECT_EQ(objective("{name: val_auroc.max, goal: maximize}"), "val_auroc best");
    EXPECT_EQ(objective("{name: val/loss.min, goal: minimize}"), "val/loss best");
    EXPECT_EQ(objective("{name: val/loss.min}"), "val/loss best");
    EXPECT_EQ(objective("{name: acc.last, goal: maximize}"), "acc last");
    EXPECT_EQ(objective("{name: val.loss, goal: minimize}"), "val.loss best");
    EXPECT_THAT(objective("{name: val_auroc.max, goal: minimize}"), Mentions("max", "goal", "minimize"));
    EXPECT_THAT(objective("{name: loss.mean, goal: minimize}"), HasSubstr("without .mean"));
}

TEST(Wandb, NumbersMayHaveUnderscoresAsInYaml11) {
    const auto result = converted(sweep(
        "  tokens: {values: [1_000_000, 2_000_000]}\n  width: {min: 1_0, max: 1_000}\n  size: {value: 1_000_000}\n"));
    EXPECT_EQ(dimensions(result.study), "tokens: one of 1000000, 2000000\nwidth: int 10 to 1000\n");
    EXPECT_EQ(result.study.fixed.at("size"), Value(std::int64_t{1000000}));
    EXPECT_THAT(result.study.script()->command, Contains("--size=1000000"));
}

TEST(Wandb, HyperbandBecomesAsha) {
    const auto rule = [](const std::string& text) {
        const Study study = converted(sweep("  lr: {min: 0.1, max: 0.2}\n", "early_terminate: " + text + "\n")).study;
        EXPECT_EQ(study.stopping.size(), 1);
        return to_text(study.stopping[0].options.at("grace")) + "/" + to_text(study.stopping[0].options.at("factor")) +
               " of " + std::to_string(study.budget.epochs);
    };
    EXPECT_EQ(rule("{type: hyperband, min_iter: 3}"), "3/3 of 1000000");
    EXPECT_EQ(rule("{type: hyperband, max_iter: 27, s: 2, eta: 3}"), "3/3 of 1000000");
    EXPECT_EQ(rule("{type: hyperband, min_iter: 5000}"), "5000/3 of 1000000");
    EXPECT_THAT(converted(sweep("  lr: {min: 0.1, max: 0.2}\n", "early_terminate: {type: envelope}\n")).all(),
                HasSubstr("'envelope'"));
}

TEST(Wandb, AGridHasATrialPerCombination) {
    const std::string head = "program: t\nmethod: grid\nmetric: {name: loss}\nparameters:\n";
    const Study study = converted(head + "  a: {values: [1, 2, 3]}\n  b: {min: 1, max: 4}\n  c: {value: 1}\n").study;
    EXPECT_EQ(study.budget.trials, 12);
    EXPECT_EQ(study.sampler.type, "sobol");
    EXPECT_THAT(converted(head + "  a: {min: 0.0, max: 1.0}\n").all(), Mentions("sweep.yaml:2"));
}

TEST(Wandb, MistakesInASweepAreReportedAtTheirPlace) {
    EXPECT_THAT(
        problem(sweep("  a: {min: 3, max: 1}\n")),
        ::testing::AllOf(StartsWith("sweep.yaml:6:3: "), Mentions("'a'", "minimum (3)", "above", "maximum (1)")));
    EXPECT_THAT(problem(sweep("  a: {distribution: log_uniform_values, min: 0, max: 1}\n")),
                Mentions("logarithmic", "above 0", "found 0"));
    EXPECT_THAT(problem(sweep("  a: {distribution: gauss}\n")), HasSubstr("'gauss'"));
    EXPECT_THAT(problem(sweep("  a: {min: 1}\n")), HasSubstr("needs 'min' and 'max'"));
    EXPECT_THAT(problem(sweep("  a: {values: []}\n")), Mentions("'values'", "list", "at least one"));
    EXPECT_THAT(problem(sweep("  a: 3\n")), HasSubstr("map"));
    EXPECT_THAT(problem(sweep("  a: {distribution: q_uniform, q: 0, min: 1, max: 2}\n")), Mentions("'q'", "0"));
    EXPECT_THAT(problem("program: a\nmethod: grid\nparameters: {a: {value: 1}}\nmetric: {name: x, goal: up}\n"),
                Mentions("'goal'", "minimize", "maximize", "up"));
    EXPECT_THAT(problem("method: [\n"), Mentions("'['", "closed"));
}

TEST(Wandb, KeysWithoutACounterpartAreMentioned) {
    const auto result = converted(sweep("  a: {min: 1, max: 2}\n", "imageuri: x\ncommand: [a, \"${gpu}\"]\n"));
    EXPECT_THAT(result.all(), HasSubstr("sweep.yaml:5: 'imageuri'"));
    EXPECT_THAT(result.all(), Mentions("sweep.yaml:6", "${gpu}"));
}

TEST(Wandb, TextsOfSeveralLinesStayComments) {
    const auto result = converted(sweep("  \"a\\nb\": {min: 1, max: 2}\n",
                                        "description: |\n  first\n  seed: 7\ncommand: [a, \"${x\\nseed: 8}\"]\n"));
    EXPECT_THAT(result.yaml, Mentions("seed: 7"));
    EXPECT_EQ(result.study.seed, 1);
    EXPECT_EQ(dimensions(result.study), "a_b: int 1 to 2\n");
}

TEST(Format, IsDetectedByTheContentOrGivenExplicitly) {
    EXPECT_THAT(problem("study: s\nworker: {}\n"), HasSubstr("formats"));
    EXPECT_THAT(problem(""), HasSubstr("formats"));
    const std::string both =
        "method: random\nparameters: {a: {min: 1, max: 2}}\ntrialCommand: x y\nsearchSpace: {a: {_type: uniform, "
        "_value: [0, 1]}}\n";
    EXPECT_THAT(problem(both), Mentions("--from wandb", "--from nni"));
    EXPECT_EQ(problem(both, "wandb"), "(accepted)");
    EXPECT_EQ(problem(both, "nni"), "(accepted)");
    EXPECT_THAT(problem("study: s\n", "wandb"), Mentions("wandb:", "W&B"));
}

const std::string space_json = R"({
	"lr": {"_type": "loguniform", "_value": [1e-4, 0.1]},
	"bs":	{"_type":"choice","_value":[16,32]},
	"drop":{"_type":"quniform","_value":[0.05, 0.5, 0.1]},
	"n":{"_type":"randint","_value":[1,10]},
	"old":{"_type":"randint","_value":[5]},
	"model": {"_type":"choice","_value":[
		{"_name":"LeNet","k":{"_type":"uniform","_value":[0,1]},"act":{"_type":"choice","_value":[{"_name":"p","s":{"_type":"normal","_value":[0,1]}}]}},
		{"_name":"Empty"}]}
})";

TEST(Nni, ASearchSpaceKeepsItsDistributionsAndConditions) {
    const auto result = converted(space_json, "search_space.json");
    EXPECT_EQ(dimensions(result.study),
              "lr: float 0.0001 to 0.1, log\n"
              "bs: one of 16, 32\n"
              "drop: float 0.1 to 0.5 by 0.1\n"
              "n: int 1 to 9\n"
              "old: int 0 to 4\n"
              "model: one of LeNet, Empty\n"
              "model.k: float 0 to 1, only with model = LeNet\n"
              "model.act: one of p, only with model = LeNet\n"
              "model.act.s: float -2 to 2, only with model = LeNet and model.act = p\n");
    EXPECT_THAT(result.study.script()->command, ElementsAre("python3", "train.py"));
    EXPECT_EQ(result.study.script()->shim, "nni");
    EXPECT_EQ(result.study.name, "search_space");
    EXPECT_THAT(result.remarks, Contains(::testing::AllOf(StartsWith("search_space.json:4: "), HasSubstr("bounds"))));
    EXPECT_THAT(result.all(), Mentions("search_space.json:", "space"));
}

TEST(Nni, AnExperimentOfVersion2KeepsItsCommandBudgetAndRules) {
    const auto result = converted(R"(experimentName: MNIST example
searchSpaceFile: search_space.json
trialCommand: python3 mnist.py --data "my {lr} data"
trialCodeDirectory: code
trialConcurrency: 4
trialGpuNumber: 0
maxExperimentDuration: 90m
maxTrialNumber: 100
tuner: {name: TPE, classArgs: {optimize_mode: minimize}}
assessor: {name: Medianstop, classArgs: {start_step: 5}}
trainingService: {platform: local}
)",
                                  "config.yml", R"({"lr": {"_type": "uniform", "_value": [0, 1]}})");
    const Study& study = result.study;
    EXPECT_EQ(study.name, "MNIST-example");
    EXPECT_THAT(study.script()->command,
                ElementsAre("env", "--chdir=code", "python3", "mnist.py", "--data", "my {{lr}} data"));
    EXPECT_EQ(study.objective.direction, Direction::minimize);
    EXPECT_EQ(study.objective.at, Objective::At::last);
    EXPECT_EQ(study.resources.parallel, 4);
    EXPECT_EQ(study.resources.backend, "cpu");
    EXPECT_EQ(study.budget.trials, 100);
    EXPECT_EQ(study.budget.seconds, 5400);
    ASSERT_EQ(study.stopping.size(), 1);
    EXPECT_EQ(study.stopping[0].type, "median");
    EXPECT_THAT(result.all(), HasSubstr("config.yml:3: shim: nni"));
}

TEST(Nni, AnExperimentOfVersion1IsRead) {
    const auto result = converted(R"(authorName: x
experimentName: old
trialConcurrency: 2
maxExecDuration: 1h
maxTrialNum: 10
trainingServicePlatform: pai
searchSpacePath: s.json
tuner: {builtinTunerName: Evolution, classArgs: {optimize_mode: maximize}}
trial: {command: "cd x && python3 t.py 2>&1 | tee log", codeDir: ., gpuNum: 2}
)",
                                  "config.yml", "{\"x\": {\"_type\": \"lognormal\", \"_value\": [0, 1]}}");
    EXPECT_THAT(result.study.script()->command, ElementsAre("sh", "-c", "cd x && python3 t.py 2>&1 | tee log"));
    EXPECT_THAT(result.remarks, ElementsAre(Mentions("config.yml:6"), Mentions("config.yml:8: 'Evolution'"),
                                            HasSubstr("config.yml:9: shim: nni"), Mentions("config.yml:9", "GPU"),
                                            Mentions("s.json:1"), Mentions("config.yml:", "file")));
}

TEST(Nni, StudiesAreNamedAfterTheirFolderIfTheFileHasAGenericName) {
    const std::string experiment =
        "trialCommand: python3 t.py\nmaxTrialNumber: 3\nsearchSpace: {a: {_type: uniform, _value: [0, 1]}}\n";
    EXPECT_EQ(converted(experiment, "trials/mnist-pytorch/config_tpe.yml").study.name, "mnist-pytorch");
    EXPECT_EQ(converted(experiment, "config.yml").study.name, "config");
    EXPECT_EQ(converted(experiment, "trials/efficient net/b0.yml").study.name, "b0");
    EXPECT_EQ(converted(experiment, "../config.yml").study.name, "config");
    EXPECT_EQ(converted("experimentName: \"\u4e2d .a b\"\n" + experiment, "x.yml").study.name, "a-b");
}

TEST(Nni, MistakesAreReportedWithTheirFile) {
    EXPECT_THAT(problem("trialCommand: a b\nsearchSpaceFile: no.json\n"),
                StartsWith("sweep.yaml:2:18: no.json: No such file or directory"));
    EXPECT_THAT(problem("{\"a\": {\"_type\": \"unform\", \"_value\": [0, 1]}}"), Mentions("'unform'", "choice"));
    EXPECT_THAT(problem("{\"a\": {\"_type\": \"uniform\", \"_value\": [0]}}"), HasSubstr("of 2 numbers"));
    EXPECT_THAT(problem("{\"a\": {\"_type\": \"uniform\", \"_value\": [0, \"1\"]}}"), HasSubstr("of 2 numbers"));
    EXPECT_THAT(problem("{\"a\": {\"_type\": \"quniform\", \"_value\": [0.1, 0.2, 5]}}"), Mentions("of 5"));
}

TEST(Arguments, AreSplitLikeInAShell) {
    EXPECT_THAT(*split_shell_line(R"(python3 a.py "two words" 'it''s' x\ y "a\"b" "\n")"),
                ElementsAre("python3", "a.py", "two words", "its", "x y", "a\"b", "\\n"));
    EXPECT_THAT(*split_shell_line("a '' b"), ElementsAre("a", "", "b"));
    for (const char* line :
         {"a | b", "a && b", "a; b", "a > f", "a $X", "a \"$X\"", "a `b`", "A=1 b", "a 'b", "ls *", "a # b", ""})
        EXPECT_FALSE(split_shell_line(line)) << line;
}

TEST(Arguments, TheirOwnBracesStayText) {
    EXPECT_EQ(without_placeholders("{lr} {{lr}} {1} {} {a b} {x"), "{{lr}} {{{lr}}} {1} {} {a b} {x");
}

}  // namespace
}  // namespace hpo::importing
