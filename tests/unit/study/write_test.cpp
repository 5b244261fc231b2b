// Writing, comparing and describing studies.
#include <gmock/gmock.h>

#include <cmath>

#include "hpo/random.hpp"
#include "support.hpp"
#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string small = R"(study: s
space:
  batch_size: {type: int, low: 256, high: 4096, log: true}
  lr: {type: float, low: 3.0e-4, high: 3.0e-2, log: true}
  optimizer: {type: categorical, choices: [adamw, sgd]}
  momentum: {type: float, low: 0.8, high: 0.99, when: {optimizer: sgd}}
worker:
  data: {format: idx, path: fashion-mnist}
  training: {clip: 1}
budget: {trials: 64, epochs: 20, time: 30m}
stopping: [{rule: asha, factor: 3}]
)";

Study parsed(const std::string& text, const std::vector<std::string>& set = {}) {
    auto study = parse(text, set);
    if (!study) throw std::runtime_error(study.error().message);
    return *std::move(study);
}

TEST(WriteStudy, PreferredValuesAreReadAgainAndDescribed) {
    const Study study = parsed(R"(study: s
worker: {command: [a]}
objective: {metric: m, direction: minimize}
space:
  lr: {type: float, low: 1.0e-5, high: 0.1, log: true, prior: 3.0e-4, spread: 0.2}
  depth: {type: int, low: 1, high: 8, prior: 3}
  act: {type: categorical, choices: [relu, gelu], prior: gelu}
)");
    EXPECT_EQ(describe(study.space[0]), "float 1e-05 to 0.1, log, preferably 3e-04");
    EXPECT_EQ(describe(study.space[1]), "int 1 to 8, preferably 3");
    const Study again = parsed(write_study(study));
    EXPECT_TRUE(compare(study, again).empty()) << write_study(study);
    EXPECT_EQ(again.space[0].prior, Value(3e-4));
    EXPECT_EQ(again.space[0].spread, 0.2);
    EXPECT_EQ(again.space[1].prior, Value(std::int64_t{3}));
    EXPECT_EQ(again.space[2].prior, Value(std::string("gelu")));
}

TEST(WriteStudy, WhatIsSaidOfTheValidationIsReadAgain) {
    const auto study_with = [](const std::string& validation) {
        return parsed("study: s\nworker: {data: {format: csv, path: t.csv, target: y, validation: " + validation +
                      "}}\n");
    };
    const Study folds = study_with("{folds: 5, group: who}");
    EXPECT_EQ(folds.fixed.at("folds"), Value(std::int64_t{5}));
    EXPECT_EQ(folds.fixed.at("group"), Value(std::string("who")));
    const Study fraction = study_with("{group: who, fraction: 0.3}");
    EXPECT_EQ(fraction.fixed.at("validation"), Value(0.3));
    for (const Study& study : {folds, fraction, study_with("0.25")})
        EXPECT_EQ(parsed(write_study(study)).fixed, study.fixed) << write_study(study);
    const auto refused = [](const std::string& validation) {
        return parse("study: s\nworker: {data: {format: csv, path: t.csv, target: y, validation: " + validation +
                     "}}\n")
            .error()
            .message;
    };
    EXPECT_THAT(refused("{folds: 5, fraction: 0.2}"), Mentions("'folds'", "'fraction'", "exclude"));
    EXPECT_THAT(refused("{fold: 5}"), ::testing::HasSubstr("'folds'"));
    EXPECT_THAT(refused("{folds: 1}"), ::testing::HasSubstr("2"));
    EXPECT_THAT(parse("study: s\nworker: {data: {format: series, path: t.csv, target: y, window: 3, validation: "
                      "{folds: 5}}}\n")
                    .error()
                    .message,
                Mentions("'worker.data.validation.folds'", "format: idx", "images"));
}

TEST(WriteStudy, SeveralObjectivesAndConstraintsAreReadAgainAsTheyWere) {
    const Study study = parsed(R"(study: s
worker: {command: [a]}
objective: [{metric: val_loss, direction: minimize, at: last}, {metric: speed, direction: maximize}]
constraints: [{metric: params, max: 1e6}, {metric: accuracy, min: 0.5, max: 0.9}]
)");
    ASSERT_EQ(study.objective.further.size(), 1U);
    EXPECT_EQ(study.objective.further[0].metric, "speed");
    EXPECT_EQ(study.objective.further[0].direction, Direction::maximize);
    EXPECT_EQ(study.objective.constraints[0].max, 1e6);
    EXPECT_EQ(study.objective.constraints[0].min, std::nullopt);
    const Study again = parsed(write_study(study));
    EXPECT_TRUE(compare(study, again).empty()) << write_study(study);
    EXPECT_EQ(again.objective.at, Objective::At::last);
    EXPECT_EQ(again.objective.constraints[1].min, 0.5);
    EXPECT_EQ(write_study(again), write_study(study));
    const Study other = parsed(write_study(study), {"constraints=[{metric: params, max: 2e6}]"});
    EXPECT_NE(refusal(compare(study, other)), "") << "trials before and after could not be compared";
}

TEST(WriteStudy, IsYamlInTheOrderOfTheDocumentation) {
    EXPECT_EQ(write_study(parsed(small)), R"(study: s
seed: 1
objective: {metric: val_accuracy, direction: maximize, at: best}
space:
  batch_size: {type: int, low: 256, high: 4096, log: true}
  lr: {type: float, low: 3.0e-04, high: 0.03, log: true}
  optimizer: {type: categorical, choices: [adamw, sgd]}
  momentum: {type: float, low: 0.8, high: 0.99, when: {optimizer: [sgd]}}
worker:
  data: {format: idx, path: fashion-mnist}
  training: {clip: 1.0}
budget: {trials: 64, epochs: 20, time: 30m}
sampler: {type: auto}
stopping:
  - {rule: asha, factor: 3}
policy: {min_batch_size: auto, regularization: scaled}
resources: {parallel: auto, backend: auto, memory: auto, gpu_reserve: 0.1, progress_timeout: 10m, grace: 5s, retries: 2}
keep: {checkpoints: best 5, folders: all}
)");
}

TEST(WriteStudy, SlotsAreWrittenIfTheyAreGiven) {
    Study study = parsed(small);
    study.resources.slots = 12;
    EXPECT_EQ(parsed(write_study(study)).resources.slots, 12);
}

TEST(WriteStudy, OfASearchOverTypesAConfigurationKeepsTheKeysOfItsOwn) {
    Study study = parsed(small);
    study.fixed["hidden"] = std::vector<std::int64_t>{8};
    study.fixed["rounds"] = std::int64_t{5};
    const Study trees = fix_parameters(study, {{"type", std::string("trees")}, {"eta", 0.1}});
    EXPECT_TRUE(trees.fixed.contains("rounds"));
    EXPECT_FALSE(trees.fixed.contains("hidden") || trees.fixed.contains("clip")) << trees.source;
    const Study perceptron = fix_parameters(study, {{"type", std::string("mlp")}});
    EXPECT_TRUE(perceptron.fixed.contains("hidden") && perceptron.fixed.contains("clip"));
    EXPECT_FALSE(perceptron.fixed.contains("rounds"));
    EXPECT_TRUE(parse(trees.source)) << parse(trees.source).error().message;
}

TEST(WriteStudy, AFixedConfigurationIsACompleteStudy) {
    const Study fixed = fix_parameters(
        parsed(small),
        {{"batch_size", std::int64_t{512}}, {"lr", 0.0012345678901234567}, {"optimizer", std::string("adamw")}});
    EXPECT_EQ(write_study(fixed), R"(study: s-best
seed: 1
objective: {metric: val_accuracy, direction: maximize, at: best}
worker:
  data: {format: idx, path: fashion-mnist}
  training: {batch_size: 512, optimizer: adamw, lr: 0.0012345678901234567, clip: 1.0}
budget: {trials: 1, epochs: 20}
sampler: {type: auto}
policy: {min_batch_size: auto, regularization: scaled}
resources: {parallel: auto, backend: auto, memory: auto, gpu_reserve: 0.1, progress_timeout: 10m, grace: 5s, retries: 2}
keep: {checkpoints: best 5, folders: all}
)");
    const auto again = parse(fixed.source);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->fixed.at("lr"), Value(0.0012345678901234567));
}

TEST(WriteStudy, AStudyWithoutRulesHasNoneByDefaultEither) {
    const Study again = parsed(write_study(parsed("study: s\nworker: {data: {format: synthetic}}\nstopping: []\n")));
    EXPECT_TRUE(again.stopping.empty());
    EXPECT_FALSE(again.default_stopping);
}

TEST(WriteStudy, TextsThatLookLikeOtherTypesAreQuoted) {
    const std::string script = "study: \"1e3\"\nobjective: {metric: m, direction: minimize}\n";
    for (const char* text : {"a b",
                             "true",
                             "yes",
                             "null",
                             "~",
                             "1",
                             "1e3",
                             ".inf",
                             "",
                             "-",
                             "--x",
                             "a: b",
                             "# a",
                             "[a]",
                             "quote \\\" and \\\\",
                             "tab\\tline\\nend",
                             "é",
                             "'",
                             ";$(touch x)",
                             "%",
                             "@a",
                             "`",
                             "!"}) {
        const Study study =
            parsed(script + "worker: {command: [x, \"" + text + "\"], params: {\"null\": \"" + text + "\"}}\n");
        const Study again = parsed(write_study(study));
        EXPECT_EQ(again.script()->command, study.script()->command);
        EXPECT_EQ(again.fixed, study.fixed);
        EXPECT_EQ(again.name, "1e3");
    }
}

/// Draws a float of any magnitude.
double any_float(std::uint64_t seed, std::uint64_t element) {
    const double mantissa = draw_unit(seed, Purpose::sampler, 0, element) + 0.5;
    return std::ldexp(mantissa, static_cast<int>(draw_bits(seed, Purpose::sampler, 1, element) % 600) - 300);
}

TEST(WriteStudy, RandomStudiesAreReadBackUnchanged) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const auto pick = [&](std::uint64_t element, std::uint32_t below) {
            return static_cast<std::int64_t>(draw_bits(seed, Purpose::sampler, 2, element) % below);
        };
        Study study;
        study.name = "s" + std::to_string(seed);
        study.seed = static_cast<std::uint64_t>(pick(0, 1u << 31));
        study.objective = {"score", pick(1, 2) == 0 ? Direction::minimize : Direction::maximize,
                           pick(2, 2) == 0 ? Objective::At::best : Objective::At::last};
        study.worker = ScriptWorker{.command = {"x"}};
        study.fixed = {{"a", any_float(seed, 0)}, {"b", pick(3, 1000)}, {"c", pick(4, 2) == 0}};
        study.budget = {pick(5, 1000) + 1, pick(6, 1000) + 1, false, 1 + draw_unit(seed, Purpose::sampler, 3, 0) * 1e6,
                        pick(7, 1000) + 1};
        study.sampler = {"tpe", {{"gamma", any_float(seed, 1)}, {"n", pick(8, 100)}}};
        study.stopping = {{"asha", {{"factor", any_float(seed, 2)}}}, {"median", {}}};
        study.policy = {pick(9, 100) + 1, pick(10, 2) == 0};
        study.resources.memory = (std::int64_t{1} << pick(11, 50)) + pick(12, 2);
        study.resources.gpu_reserve = draw_unit(seed, Purpose::sampler, 3, 1) * 0.9;
        if (seed % 4 == 0) study.resources.hosts = {"gpu" + std::to_string(seed), "me@10"};
        if (seed % 3 == 0)
            study.resources.slurm = {.partition = "gpu",
                                     .account = "007",
                                     .nodes = pick(21, 9) + 1,
                                     .time = 60.0 * static_cast<double>(pick(22, 5000) + 1),
                                     .gpus = pick(23, 9),
                                     .extra = {"--constraint=a|b", "--comment=two words", "-C", "[x*2]"}};
        if (seed % 5 == 0) study.resources.slurm.cpus = pick(24, 64) + 1, study.resources.slurm.memory = 1 << 20;
        const auto devices = static_cast<std::size_t>(pick(14, 4));
        for (std::size_t i = 0; i < devices; ++i) {
            study.resources.devices.push_back(i % 2 == 0 ? std::to_string(i) : "GPU-8f6c-" + std::to_string(i));
            study.resources.gpu_memory.push_back(pick(15, 1000) + 1 + static_cast<std::int64_t>(i));
            if (seed % 2 == 0) study.resources.parallel_each.push_back(pick(16, 8) + 1);
        }
        if (seed % 3 == 0) study.resources.trial.host_bytes = pick(17, 1u << 30) + 1;
        if (seed % 4 == 0) study.resources.trial.device_bytes = pick(18, 1u << 30) + 1;
        if (seed % 5 == 0) study.resources.trial.cores = 0.01 + draw_unit(seed, Purpose::sampler, 3, 4);
        if (seed % 2 == 0) study.keep.checkpoints = pick(19, 3);
        if (seed % 3 == 0) study.keep.checkpoints.reset();
        if (seed % 5 == 0) study.keep.folders = pick(20, 3);
        study.resources.backend = seed % 2 == 0 ? "cuda" : "cpu";
        study.resources.grace = draw_unit(seed, Purpose::sampler, 3, 2);
        study.resources.progress_timeout = 1 + 60.0 * static_cast<double>(pick(13, 500));
        Dimension real;
        real.name = "x";
        real.low = -any_float(seed, 3);
        real.high = any_float(seed, 4);
        real.role = Role::learning_rate;
        Dimension whole;
        whole.name = "n";
        whole.kind = Kind::integer;
        whole.low = -4;
        whole.high = 8;
        whole.step = 3;
        whole.when = {{"k", {std::string("a"), 2.5}}};
        Dimension category;
        category.name = "k";
        category.kind = Kind::categorical;
        category.choices = {std::string("a"), std::string("7"), std::int64_t{7}, 2.5, true};
        study.space = {real, whole, category};

        const std::string written = write_study(study);
        const auto again = parse(written);
        ASSERT_TRUE(again) << written << again.error().message;
        EXPECT_THAT(compare(study, *again), IsEmpty()) << written;
        EXPECT_EQ(again->fixed, study.fixed);
        EXPECT_EQ(again->space[0].low, real.low);
        EXPECT_EQ(again->space[0].high, real.high);
        EXPECT_EQ(again->space[2].choices, category.choices);
        EXPECT_EQ(again->budget.seconds, study.budget.seconds);
        EXPECT_EQ(again->resources.memory, study.resources.memory);
        EXPECT_EQ(again->resources.gpu_reserve, study.resources.gpu_reserve);
        EXPECT_EQ(again->resources.grace, study.resources.grace);
        EXPECT_EQ(again->resources.devices, study.resources.devices);
        EXPECT_EQ(again->resources.gpu_memory, study.resources.gpu_memory);
        EXPECT_EQ(again->resources.parallel_each, study.resources.parallel_each);
        EXPECT_EQ(again->resources.trial.host_bytes, study.resources.trial.host_bytes);
        EXPECT_EQ(again->resources.trial.device_bytes, study.resources.trial.device_bytes);
        EXPECT_EQ(again->resources.trial.cores, study.resources.trial.cores);
        EXPECT_EQ(again->keep.checkpoints, study.keep.checkpoints);
        EXPECT_EQ(again->keep.folders, study.keep.folders);
        EXPECT_EQ(write_study(*again), written);
    }
}

TEST(Compare, NotationAloneIsNoDifference) {
    const Study before = parsed(small);
    EXPECT_THAT(compare(before, before), IsEmpty());
    EXPECT_THAT(compare(before, parsed("# a comment\n" + small, {"budget.time=1800s"})), IsEmpty());
}

TEST(WriteStudy, DeviceKeysAreWrittenIfTheyAreGiven) {
    const Study study = parsed(R"(study: s
objective: {metric: m, direction: minimize}
worker: {command: [x]}
resources: {parallel: [4, 2], devices: [GPU-8f6c, 1], gpu_memory: [20GiB, 512MiB], trial: {memory: 1GiB, cores: 2}}
)");
    EXPECT_THAT(
        write_study(study),
        ::testing::HasSubstr("resources: {parallel: [4, 2], backend: auto, devices: [GPU-8f6c, 1], memory: auto, "
                             "gpu_memory: [20GiB, 512MiB], gpu_reserve: 0.1, trial: {memory: 1GiB, cores: 2.0}, "
                             "progress_timeout: 10m, grace: 5s, retries: 2}\n"));
}

TEST(Compare, DevicesAndMemoryMayChange) {
    const Study before = parsed(
        "study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [x]}\nresources: {devices: [0]}\n");
    const Study after = parsed(before.source, {"resources.devices=[1, 2]", "resources.gpu_memory=[1GiB, 2GiB]",
                                               "resources.trial.memory=1GiB"});
    const auto differences = compare(before, after);
    ASSERT_EQ(differences.size(), 3u);
    EXPECT_EQ(differences[0].key + " " + differences[0].before + " " + differences[0].after,
              "resources.devices [0] [1, 2]");
    EXPECT_EQ(refusal(differences), "");
}

TEST(Compare, BudgetsResourcesAndKeepMayChange) {
    const auto differences =
        compare(parsed(small), parsed(small, {"budget.trials=128", "budget.time=null", "budget.patience=9",
                                              "resources.parallel=1", "keep.folders=best 3"}));
    EXPECT_EQ(differences.size(), 5u);
    EXPECT_EQ(refusal(differences), "");
}

TEST(Compare, ChangesThatMakeTrialsIncomparableAreRefusedWithBothValues) {
    const auto refused = [](const std::vector<std::string>& set) {
        return refusal(compare(parsed(small), parsed(small, set)));
    };
    EXPECT_EQ(refused({"space.lr.high=0.02", "budget.trials=128"}),
              "  space.lr.high: 0.03 -> 0.02 (trials before and after could not be compared)\n");
    EXPECT_EQ(
        refused({"space.momentum=null"}),
        "  space.momentum.type: float -> (absent) (trials before and after could not be compared)\n"
        "  space.momentum.low: 0.8 -> (absent) (trials before and after could not be compared)\n"
        "  space.momentum.high: 0.99 -> (absent) (trials before and after could not be compared)\n"
        "  space.momentum.when: {optimizer: [sgd]} -> (absent) (trials before and after could not be compared)\n");
    EXPECT_EQ(refused({"worker.training.clip=2"}),
              "  worker.training.clip: 1.0 -> 2.0 (trials before and after could not be compared)\n");
    EXPECT_EQ(refused({"objective.metric=val_loss"}),
              "  objective.metric: val_accuracy -> val_loss (trials before and after could not be compared)\n"
              "  objective.direction: maximize -> minimize (trials before and after could not be compared)\n");
    EXPECT_EQ(refused({"seed=2"}), "  seed: 1 -> 2 (trials drawn before and after could not be compared)\n");
    EXPECT_NE(refused({"policy.regularization=off"}), "");
    EXPECT_NE(refused({"study=t"}), "");
}

TEST(Compare, TheSamplerAndTheRulesMayChangeAndRangesMayBecomeLarger) {
    const auto refused = [](const std::vector<std::string>& set, const std::vector<std::string>& begun = {}) {
        return refusal(compare(parsed(small, begun), parsed(small, set)));
    };
    EXPECT_EQ(refused({"sampler={type: random}"}), "");
    EXPECT_EQ(refused({"stopping=[{rule: asha, factor: 4}]"}), "");
    EXPECT_EQ(refused({"stopping=[]"}), "");
    EXPECT_EQ(refused({"space.lr.low=0.00001", "space.lr.high=0.1"}), "");
    EXPECT_NE(refused({"space.lr.low=0.00001", "space.lr.high=0.02"}), "") << "one end is narrower";
    EXPECT_NE(refused({"space.lr.log=false"}), "");
    EXPECT_EQ(refused({"space.optimizer.choices=[adamw, lion, sgd]"}, {"space.optimizer.choices=[sgd, adamw]"}), "");
    EXPECT_NE(refused({"space.optimizer.choices=[sgd, lion]"}, {"space.optimizer.choices=[sgd, adamw]"}), "");
    const auto script = [](const std::string& dimension) {
        return parsed(
            "study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [x]}\nspace:\n  x: {type: "
            "int, step: 2, " +
            dimension + "}\n");
    };
    EXPECT_EQ(refusal(compare(script("low: 4, high: 8"), script("low: 2, high: 12"))), "");
    EXPECT_NE(refusal(compare(script("low: 4, high: 8"), script("low: 3, high: 9"))), "") << "4 is no value any more";
}

TEST(Compare, WhileNoTrialHasAValueTheWorkerAndTheObjectiveMayChange) {
    const auto refused = [](const std::vector<std::string>& set) {
        return refusal(compare(parsed(small), parsed(small, set), false));
    };
    EXPECT_EQ(refused({"worker.training.clip=2"}), "");
    EXPECT_EQ(refused({"objective.metric=val_loss"}), "");
    EXPECT_NE(refused({"space.lr.high=0.02"}), "");
    EXPECT_NE(refused({"seed=2"}), "");
}

TEST(Compare, EpochsMayNotChangeIfTheLearningRateScheduleSpansThem) {
    const auto refused = [](std::vector<std::string> set, const std::string& epochs) {
        const Study before = parsed(small, set);
        set.push_back("budget.epochs=" + epochs);
        return refusal(compare(before, parsed(small, set)));
    };
    const std::string why =
        " (the learning rate's schedule depends on the epochs: trials before and after could not be compared)\n";
    EXPECT_EQ(refused({}, "40"), "  budget.epochs: 20 -> 40" + why);
    EXPECT_EQ(refused({}, "10"), "  budget.epochs: 20 -> 10" + why);
    EXPECT_EQ(refused({"worker.training.schedule=one-cycle"}, "40"), "  budget.epochs: 20 -> 40" + why);
    EXPECT_EQ(refused({"space.schedule={type: categorical, choices: [constant, cosine]}"}, "40"),
              "  budget.epochs: 20 -> 40" + why);
    EXPECT_EQ(refused({"worker.training.schedule=constant"}, "40"), "");
    EXPECT_EQ(refused({"worker.training.schedule=constant"}, "10"),
              "  budget.epochs: 20 -> 10 (trials may have run for longer already)\n");
}

TEST(Compare, AScriptMayGetMoreEpochs) {
    const std::string script =
        "study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [x], params: {schedule: cosine}}\n";
    const auto refused = [&](const std::string& epochs) {
        return refusal(compare(parsed(script), parsed(script, {"budget.epochs=" + epochs})));
    };
    EXPECT_EQ(refused("40"), "");
    EXPECT_EQ(refused("10"), "  budget.epochs: 20 -> 10 (trials may have run for longer already)\n");
}

TEST(Compare, TheOrderOfTheSpaceMayNotChange) {
    Study reordered = parsed(small);
    std::swap(reordered.space[0], reordered.space[1]);
    EXPECT_EQ(refusal(compare(parsed(small), reordered)),
              "  space: batch_size, lr, optimizer, momentum -> lr, batch_size, optimizer, momentum (trials before and "
              "after could not be compared)\n");
}

TEST(Describe, CountsConfigurationsOfFiniteSpaces) {
    const auto described = [](const std::string& space) {
        return describe(parsed(synthetic + "space: " + space).space);
    };
    EXPECT_EQ(described("{}"), "nothing varies");
    EXPECT_EQ(described("{width: {type: int, low: 8, high: 8}}"), "1 configuration");
    EXPECT_EQ(
        described("{width: {type: int, low: 8, high: 32, step: 8}, activation: {type: categorical, choices: [relu, "
                  "gelu]}}"),
        "8 configurations");
    // There are adamw, and sgd with three momenta, each with two depths.
    EXPECT_EQ(
        described("{momentum: {type: float, low: 0.7, high: 0.9, step: 0.1, when: {optimizer: sgd}}, optimizer: {type: "
                  "categorical, choices: [adamw, sgd]}, depth: {type: int, low: 1, high: 2}}"),
        "8 configurations");
    EXPECT_EQ(describe(parsed(small).space), "4 parameters: 2 float, 1 int, 1 categorical; 1 conditional");
}

TEST(Describe, ADimensionFitsOneLine) {
    const Study study = parsed(small);
    std::vector<std::string> lines;
    for (const Dimension& dimension : study.space) lines.push_back(describe(dimension));
    EXPECT_THAT(lines, ElementsAre("int 256 to 4096, log", "float 0.0003 to 0.03, log", "one of adamw, sgd",
                                   "float 0.8 to 0.99, only with optimizer = sgd"));
}

TEST(WriteStudy, AnUnchangedScriptKeepsItsCommandAndItsMetrics) {
    const std::string head =
        "study: s\nobjective: {metric: m, direction: minimize}\nworker: {params: {lr: 0.1}, command: [train, ";
    for (const auto& [text, written] :
         {std::pair{"\"{lr}\"]}", "metrics: {}"},
          {"\"a\"], metrics: {stdout: \"(?<m>\\\\d)\"}}", "metrics: {stdout: [\"(?<m>\\\\d)\"]}"},
          {"\"a\"], metrics: {file: \"{folder}/m\"}}", "metrics: {file: \"{folder}/m\"}"}}) {
        const Study study = parsed(head + text);
        ASSERT_TRUE(study.script()->metrics);
        EXPECT_THAT(write_study(study), ::testing::HasSubstr(written));
        EXPECT_EQ(write_study(parsed(write_study(study))), write_study(study));
        EXPECT_THAT(compare(study, parsed(write_study(study))), IsEmpty());
    }
    EXPECT_FALSE(parsed(head + "\"a\"]}").script()->metrics) << "the script speaks the protocol itself";
}

TEST(WriteStudy, AScriptsEnvironmentIsWrittenAndMayChange) {
    const std::string head =
        "study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [train], params: {lr: 0.1}";
    const Study study = parsed(head + ", environment: {OMP_NUM_THREADS: 2, A_TEXT: \"x: 'y'\", LEFT: null}}");
    EXPECT_TRUE(study.script()->environment.tuned);
    EXPECT_EQ(study.script()->environment.own.at("OMP_NUM_THREADS"), "2");
    EXPECT_EQ(study.script()->environment.own.at("A_TEXT"), "x: 'y'");
    EXPECT_EQ(study.script()->environment.own.at("LEFT"), std::nullopt);
    EXPECT_EQ(parsed(write_study(study)).script()->environment.own, study.script()->environment.own);
    const Study off = parsed(head + ", environment: off}");
    EXPECT_FALSE(off.script()->environment.tuned);
    EXPECT_FALSE(parsed(write_study(off)).script()->environment.tuned);
    for (const Difference& difference : compare(study, off)) EXPECT_EQ(difference.refusal, "") << difference.key;
}

TEST(WriteStudy, StepAndTerminalAreWrittenAndOnlyTheTerminalMayChange) {
    const std::string head =
        "study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [./a, \"{trial}\"]";
    const Study study = parsed(head + ", step: 100, terminal: on}");
    EXPECT_EQ(study.script()->metrics->reports, 100);
    EXPECT_EQ(study.script()->metrics->terminal, TerminalUse::on);
    const Study again = parsed(write_study(study));
    EXPECT_EQ(again.script()->metrics->reports, 100);
    EXPECT_EQ(again.script()->metrics->terminal, TerminalUse::on);
    EXPECT_EQ(refusal(compare(study, parsed(head + ", step: 100, terminal: off}"))), "");
    EXPECT_THAT(refusal(compare(study, parsed(head + "}"))), ::testing::HasSubstr("worker.step: 100 -> (absent)"));
}

TEST(WriteStudy, PreloadedModulesAreWrittenAndMayChange) {
    const std::string head = "study: s\nobjective: {metric: m, direction: minimize}\nworker: {params: {lr: 0.1}, ";
    const Study study = parsed(head + "command: [python3, a.py], preload: [torch, my.data]}");
    EXPECT_THAT(write_study(study), ::testing::HasSubstr("preload: [torch, my.data]"));
    EXPECT_EQ(parsed(write_study(study)).script()->preload, study.script()->preload);
    const Study shimmed = parsed(head + "command: [python3, a.py], shim: wandb}");
    EXPECT_TRUE(shimmed.script()->metrics) << "hpo speaks the protocol for it";
    EXPECT_EQ(parsed(write_study(shimmed)).script()->shim, "wandb");
    for (const Difference& difference : compare(study, parsed(head + "command: [python3, a.py]}")))
        EXPECT_EQ(difference.refusal, "") << difference.key;
}

}  // namespace
}  // namespace hpo
