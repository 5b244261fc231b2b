// The conversion of configurations of Hydra's Optuna sweeper.
#include <gmock/gmock.h>

#include "orchestrator/import/convert.hpp"
#include "orchestrator/import/hydra_sweep.hpp"
#include "support.hpp"
#include "tests/support/mentions.hpp"

namespace hpo::importing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr PartOptions samplers_with_grid[] = {{"auto", {}}, {"random", {}}, {"grid", {}}, {"sobol", {}}, {"cmaes", {}}};

Result<Conversion> hydra_conversion(const std::string& text, const std::string& file = "config.yaml") {
    return convert(text, file, any_tool, {}, {});
}

std::string sweeper_with(const std::string& params, const std::string& more = "") {
    return "defaults:\n  - override hydra/sweeper: optuna\nhydra:\n  sweeper:\n    n_trials: 10\n" + more +
           "    params:\n" + params;
}

Study hydra_study(const std::string& text) {
    const auto conversion = hydra_conversion(text);
    EXPECT_TRUE(conversion) << conversion.error().message;
    return conversion ? *parse_study(conversion->yaml, "s.yaml") : Study{};
}

std::string hydra_problem(const std::string& text) {
    const auto conversion = hydra_conversion(text);
    return conversion ? "(accepted)" : conversion.error().message;
}

/// Returns the dimension of a parameter with this override.
std::string dimension_of(const std::string& value) {
    const auto conversion = hydra_conversion(sweeper_with("      x: " + value + "\n"));
    return conversion ? dimensions(*parse_study(conversion->yaml, "s.yaml")) : conversion.error().message;
}

TEST(Hydra, AConfigurationBecomesAStudyWithOverridesAsArguments) {
    const auto conversion = hydra_conversion(R"(# @package _global_
defaults:
  - override /hydra/sweeper: optuna
  - override /hydra/sweeper/sampler: tpe
optimized_metric: "val/acc_best"
hydra:
  mode: "MULTIRUN"
  sweeper:
    _target_: hydra_plugins.hydra_optuna_sweeper.optuna_sweeper.OptunaSweeper
    storage: null
    study_name: my search
    n_jobs: 2
    direction: maximize
    n_trials: 25
    sampler:
      _target_: optuna.samplers.TPESampler
      seed: 1234
    params:
      model.optimizer.lr: tag(log, interval(0.0001, 0.1))
      data.batch_size: choice(32, 64, 128)
      +trainer.precision: choice(16, 32)
      ++model.layers: range(1, 5)
      model.act: choice(relu, gelu)
      data.dir: /data/{x}
)");
    ASSERT_TRUE(conversion) << conversion.error().message;
    const Study study = *parse_study(conversion->yaml, "s.yaml");
    EXPECT_EQ(conversion->tool, "hydra");
    EXPECT_EQ(study.name, "my-search");
    EXPECT_EQ(study.seed, 1234u);
    EXPECT_EQ(study.objective.metric, "val/acc_best");
    EXPECT_EQ(study.objective.direction, Direction::maximize);
    EXPECT_EQ(study.objective.at, Objective::At::last) << "the script's return value";
    EXPECT_EQ(study.budget.trials, 25);
    EXPECT_EQ(study.resources.parallel, 2);
    EXPECT_TRUE(study.stopping.empty() && !study.default_stopping);
    EXPECT_EQ(dimensions(study),
              "model.optimizer.lr: float 0.0001 to 0.1, log\ndata.batch_size: one of 32, 64, 128\n"
              "trainer.precision: one of 16, 32\nmodel.layers: int 1 to 5\nmodel.act: one of relu, gelu\n");
    EXPECT_THAT(study.script()->command,
                ElementsAre("python3", "train.py", "model.optimizer.lr={model.optimizer.lr}",
                            "data.batch_size={data.batch_size}", "+trainer.precision={trainer.precision}",
                            "++model.layers={model.layers}", "model.act={model.act}", "data.dir=/data/{{x}}",
                            "hydra.mode=RUN", "hydra.run.dir={folder}/hydra"));
    EXPECT_THAT(conversion->remarks,
                AllOf(Contains(Mentions("val/acc_best", "before", "print(f\"val/acc_best={value}\"")),
                      Contains(Mentions("replace", "train.py"))));
}

TEST(Hydra, EachSweepHasTheDistributionThatOptunaGets) {
    EXPECT_EQ(dimension_of("interval(1, 5)"), "x: float 1 to 5\n");
    EXPECT_EQ(dimension_of("interval(start=-1e-3, end=5)"), "x: float -0.001 to 5\n");
    EXPECT_EQ(dimension_of("int(interval(1, 5))"), "x: int 1 to 5\n");
    EXPECT_EQ(dimension_of("tag(log, interval(1e-5, 1e-1))"), "x: float 1e-05 to 0.1, log\n");
    EXPECT_EQ(dimension_of("tag(log, int(interval(1, 100)))"), "x: int 1 to 100, log\n");
    EXPECT_EQ(dimension_of("int(tag(a, log, interval(1, 100)))"), "x: int 1 to 100, log\n");
    EXPECT_EQ(dimension_of("range(1, 3)"), "x: int 1 to 3\n");
    EXPECT_EQ(dimension_of("range(4)"), "x: int 0 to 4\n");
    EXPECT_EQ(dimension_of("range(1, 10, step=3)"), "x: int 1 to 10 by 3\n");
    EXPECT_EQ(dimension_of("range(1, 11, 3)"), "x: int 1 to 10 by 3\n");
    EXPECT_EQ(dimension_of("range(0.5, 5.5, step=1)"), "x: float 0.5 to 5.5 by 1\n");
    EXPECT_EQ(dimension_of("float(range(1, 4))"), "x: float 1 to 4 by 1\n");
    EXPECT_EQ(dimension_of("shuffle(range(1, 4))"), "x: one of 1, 2, 3\n");
    EXPECT_EQ(dimension_of("sort(choice(3, 1, 2), reverse=true)"), "x: one of 3, 1, 2\n");
    EXPECT_EQ(dimension_of("choice(1, 1, 2)"), "x: one of 1, 2\n");
    EXPECT_EQ(dimension_of("1, 2, 3"), "x: one of 1, 2, 3\n");
    EXPECT_EQ(dimension_of("float(choice(1, 2))"), "x: one of 1.0, 2.0\n");
    EXPECT_EQ(dimension_of("\"choice('a', 'b')\""), "x: one of a, b\n");
}

TEST(Hydra, ValuesAreWrittenAsHydraReadsThemInAnArgument) {
    EXPECT_EQ(dimension_of("choice(true, FALSE, null, 1e-3, 2)"), "x: one of true, false, null, 0.001, 2\n");
    EXPECT_EQ(dimension_of("choice('a b', 'c,d', \"it's\", '5', 'true', word)"),
              "x: one of 'a b', 'c,d', 'it\\'s', '5', 'true', word\n");
    EXPECT_EQ(dimension_of("\"choice([64, 64], [128], {a: 1})\""), "x: one of [64, 64], [128], {a: 1}\n");
    EXPECT_EQ(dimension_of("str(choice(1, 2))"), "x: one of '1', '2'\n");
    const Study study =
        hydra_study(sweeper_with("      x: choice(null, 1)\n      y: 5\n      z: 'a b'\n      f: True\n"));
    EXPECT_EQ(study.space.at(0).choices.at(0), Value(std::string("null"))) << "x=null is passed, not left out";
    EXPECT_THAT(study.script()->command, AllOf(Contains("y=5"), Contains("z='a b'"), Contains("f=true")));
}

TEST(Hydra, TheOlderSearchSpaceIsRead) {
    const Study study = hydra_study(R"(hydra:
  sweeper:
    direction: [minimize, maximize]
    search_space:
      x: {type: float, low: -5.5, high: 5.5, step: 0.5}
      y: {type: categorical, choices: [-5, a, "a b", null, [1, 2]]}
      z: {type: int, low: 1, high: 64, log: true}
)");
    EXPECT_EQ(dimensions(study),
              "x: float -5.5 to 5.5 by 0.5\ny: one of -5, a, 'a b', null, [1, 2]\nz: int 1 to 64, log\n");
    EXPECT_EQ(study.budget.trials, 20) << "the plugin's default";
    EXPECT_EQ(study.objective.metric, "result_1");
    ASSERT_EQ(study.objective.further.size(), 1u);
    EXPECT_EQ(study.objective.further[0].metric, "result_2");
    EXPECT_EQ(study.objective.further[0].direction, Direction::maximize);
}

TEST(Hydra, AFileOfTheGroupOfSweepersAndDottedKeysAreRead) {
    const std::string target = "_target_: hydra_plugins.hydra_optuna_sweeper.optuna_sweeper.OptunaSweeper\n";
    EXPECT_EQ(hydra_study(target + "params:\n  x: choice(1, 2)\n").space.size(), 1u);
    EXPECT_EQ(hydra_study("hydra.sweeper:\n  n_trials: 3\n  params:\n    x: choice(1, 2)\n").budget.trials, 3);
}

TEST(Hydra, SamplersBecomeTheirCounterparts) {
    const auto sampler = [](const std::string& target) {
        const auto conversion = convert(sweeper_with("      x: choice(1, 2)\n      y: range(1, 3)\n",
                                                     "    sampler:\n      _target_: " + target + "\n"),
                                        "c.yaml", any_tool, {samplers_with_grid, {}}, {});
        EXPECT_TRUE(conversion) << conversion.error().message;
        const Study study = *parse_study(conversion->yaml, "s.yaml");
        return study.sampler.type + " " + std::to_string(study.budget.trials);
    };
    EXPECT_EQ(sampler("optuna.samplers.TPESampler"), "auto 10");
    EXPECT_EQ(sampler("optuna.samplers.RandomSampler"), "random 10");
    EXPECT_EQ(sampler("optuna.samplers.CmaEsSampler"), "cmaes 10");
    EXPECT_EQ(sampler("optuna.samplers.QMCSampler"), "sobol 10");
    EXPECT_EQ(sampler("optuna.samplers.GridSampler"), "grid 6");
    EXPECT_EQ(sampler("my.Sampler"), "auto 10");
}

TEST(Hydra, WhatCannotBeReadIsRefusedAtItsPlace) {
    EXPECT_THAT(dimension_of("glob(*)"), Mentions("config.yaml:7:10", "'x'", "function", "'glob'"));
    EXPECT_THAT(dimension_of("interval(1)"), Mentions("interval", "two"));
    EXPECT_THAT(dimension_of("interval(5, 1)"), Mentions("minimum (5)", "above", "maximum (1)"));
    EXPECT_THAT(dimension_of("range(1, 5, step=0)"), Mentions("range", "two", "above 0"));
    EXPECT_THAT(dimension_of("choice(a, , b)"), HasSubstr("element"));
    EXPECT_THAT(dimension_of("tag(log, interval(0, 1))"), Mentions("logarithmic", "above 0"));
    EXPECT_THAT(dimension_of("int(int(int(int(int(int(int(int(int(int(1))))))))))"), Mentions("more than 8 deep"));
    EXPECT_THAT(dimension_of("shuffle(range(1, 1e9))"), Mentions("more than 1000"));
    EXPECT_THAT(hydra_problem(sweeper_with("      a: {b: choice(1, 2)}\n")), HasSubstr("dot: group.key"));
    EXPECT_THAT(hydra_problem(sweeper_with("      a: 1\n")), HasSubstr("varies"));
    EXPECT_THAT(hydra_problem("hydra: {sweeper: {params: {a: 1}}}\n"), Mentions("Optuna", "basic"));
    EXPECT_THAT(hydra_problem("defaults: [override hydra/sweeper: ax]\nhydra: {sweeper: {n_trials: 2}}\n"),
                HasSubstr("'ax'"));
    EXPECT_THAT(hydra_problem(sweeper_with("      x: choice(1, 2)\n", "    custom_search_space: a.b\n")),
                HasSubstr("custom_search_space"));
    EXPECT_THAT(hydra_problem(sweeper_with("      x: choice(1, 2)\n", "    direction: up\n")),
                Mentions("'direction'", "minimize, maximize"));
}

TEST(Hydra, AnyTextIsParsedInBoundedTime) {
    for (const std::string& text :
         {std::string(100000, '('), std::string(100000, ','), "choice(" + std::string(50000, '[') + ")",
          std::string("'"), std::string("choice('"), std::string("()"), std::string("a("), std::string()})
        (void)parse_hydra_sweep(text);
    EXPECT_EQ(parse_hydra_sweep("choice(1").kind, HydraSweep::Kind::value);
}

}  // namespace
}  // namespace hpo::importing
