// The error messages for wrong study files.
#include <gmock/gmock.h>

#include "support.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

TEST(ErrorAt, PointsAtTheKeyOrItsNearestParent) {
    const std::string text = "study: a\nspace:\n  lr: {type: float, low: 1, high: 2}\n";
    EXPECT_EQ(error_at(text, "a.yaml", "space.lr.high", "too large"),
              "a.yaml:3:35: too large\n"
              "    3 |   lr: {type: float, low: 1, high: 2}\n"
              "      |                                   ^");
    EXPECT_TRUE(error_at(text, "a.yaml", "space.lr.role", "m").starts_with("a.yaml:3:7: m\n"));
    EXPECT_EQ(error_at(text, "a.yaml", "worker.data", "m"), "a.yaml: m");
    EXPECT_EQ(error_at("", "a.yaml", "space.lr", "m"), "a.yaml: m");
}

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(StudyErrors, OfBoundsThatAreNotFinite) {
    const std::string head = "study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [a]}\nspace:\n";
    EXPECT_EQ(pins(problem(head + "  x: {type: float, low: 0, high: .inf}")), "5:34 'space.x.high'");
    EXPECT_EQ(pins(problem(head + "  x: {type: float, low: a, high: 1}")), "5:25 'space.x.low' 'a'");
}

TEST(StudyErrors, AMisspeltKeyIsNotAlsoMissing) {
    const std::string worker = "objective: {metric: m, direction: minimize}\nworker: {command: [a]}\nspace:\n";
    const std::string head = "study: s\n" + worker;
    EXPECT_EQ(pins(problem(head + "  x: {type: float, low: 1, hihg: 2}")), "5:28 'hihg' 'space.x' 'high'");
    EXPECT_EQ(pins(problem(head + "  x: {typ: float, low: 1, high: 2}")), "5:7 'typ' 'space.x' 'type'");
    EXPECT_EQ(pins(problem(head + "  x: {type: categorical, choises: [a, b]}")), "5:26 'choises' 'space.x' 'choices'");
    EXPECT_EQ(pins(problem("studdy: s\n" + worker + "  x: {type: float, low: 1, high: 2}")), "1:1 'studdy' 'study'");
}

TEST(StudyErrors, OfPreferredValues) {
    const std::string head = "study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [a]}\nspace:\n";
    EXPECT_EQ(pins(problem(head + "  x: {type: float, low: 1, high: 2, prior: 3}")), "5:44 'space.x.prior' 1 2 3");
    EXPECT_EQ(pins(problem(head + "  x: {type: int, low: 1, high: 9, prior: 2.5}")), "5:42 'space.x.prior' 1 9 2.5");
    EXPECT_EQ(pins(problem(head + "  x: {type: float, low: 0, high: 1, step: 0.25, prior: 0.3}")),
              "5:56 'space.x.prior' 0 1 0.25 0.3");
    EXPECT_EQ(pins(problem(head + "  x: {type: categorical, choices: [a, b], prior: c}")), "5:50 'space.x.prior'");
    EXPECT_EQ(pins(problem(head + "  x: {type: float, low: 1, high: 2, spread: 0.1}")),
              "5:45 'space.x.spread' 'prior'");
    EXPECT_EQ(pins(problem(head + "  x: {type: float, low: 1, high: 2, prior: 1.5, spread: 2}")),
              "5:57 'space.x.spread' 0.01 1 2");
}

TEST(StudyErrors, OfRepeats) {
    const std::string script =
        "study: s\nobjective: {metric: m, direction: minimize}\nspace: {x: {type: float, low: 0, high: 1}}\n";
    const auto with = [&](const std::string& repeats, const std::string& more = "worker: {command: [a]}") {
        return problem(script + more + "\nrepeats: " + repeats + "\n");
    };
    for (const char* good : {"1", "2", "100"}) EXPECT_EQ(with(good), "(accepted)") << good;
    for (const char* wrong : {"0", "-1", "1.5", "101", "x", "[2]", "true"})
        EXPECT_THAT(with(wrong), HasSubstr("'repeats'")) << wrong;
    EXPECT_EQ(pins(with("2", "worker: {command: [a], params: {seed: 1}}")), "5:10 'repeats' 'worker' 'seed'");
    EXPECT_EQ(with("1", "worker: {command: [a], params: {seed: 1}}"), "(accepted)");
    EXPECT_EQ(pins(problem("study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [a]}\nrepeats: 2\n"
                           "space: {seed: {type: int, low: 0, high: 9}}\n")),
              "4:10 'repeats' 'space' 'seed'");
    EXPECT_EQ(pins(problem("study: s\nobjective: [{metric: m, direction: minimize}, {metric: n, direction: minimize}]\n"
                           "worker: {command: [a]}\nrepeats: 2\nspace: {x: {type: float, low: 0, high: 1}}\n")),
              "4:10 'repeats' 2 'repeats'");
}

TEST(StudyErrors, OfParametersThatAreTooLargeForAMessage) {
    const std::string head =
        "study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [a, \"{x}\"]}\nspace:\n";
    const auto choice = [](std::size_t bytes) { return std::string(bytes, 'a'); };
    EXPECT_EQ(problem(head + "  x: {type: categorical, choices: [b, " + choice(50'000) + "]}"), "(accepted)");
    const std::string one = problem(
        head + "  y: {type: float, low: 0, high: 1}\n  x: {type: categorical, choices: [b, " + choice(70'000) + "]}");
    EXPECT_THAT(one, HasSubstr(":6:3: "));
    EXPECT_THAT(one, Mentions("'x'", "70004"));
    EXPECT_THAT(one, HasSubstr("names"));
    // Two that fit alone, and one that grows by escapes.
    EXPECT_EQ(pins(problem(head + "  x: {type: categorical, choices: [b, " + choice(30'000) +
                           "]}\n  y: {type: categorical, choices: [b, " + choice(30'001) + "]}")),
              "6:3 60019 57344 'y' 30005");
    EXPECT_EQ(pins(problem(head + "  x: {type: categorical, choices: [b, '" + std::string(30'000, '"') + "']}")),
              "5:3 60009 57344 'x' 60004");
    // hpo ask-tell has no such message.
    EXPECT_EQ(
        problem("study: s\nobjective: {metric: m, direction: minimize}\nspace: {x: {type: categorical, choices: [b, " +
                choice(70'000) + "]}}"),
        "(accepted)");
}

TEST(StudyErrors, OfNamesOfObjectivesAreTheSameWithAndWithoutAWorker) {
    for (const std::string worker : {"", "worker: {command: [a]}\n"}) {
        const auto named = [&](const std::string& name) {
            return problem("study: s\nspace: {x: {type: float, low: 0, high: 1}}\n" + worker +
                           "objective: {metric: \"" + name + "\", direction: maximize}\n");
        };
        for (const char* name : {"mAP50-95(B)", "Acc@1", "R^2", "精度", "Точность", "val/loss"})
            EXPECT_EQ(named(name), "(accepted)") << name;
        for (const char* name : {"val acc", "1st", "a=b"})
            EXPECT_THAT(named(name), Mentions("'objective.metric'", "1 to 64")) << name;
    }
}

TEST(StudyErrors, OfSeveralObjectivesAndConstraints) {
    const std::string script = "study: s\nworker: {command: [a]}\n";
    const std::string one = script + "objective: {metric: a, direction: minimize}\n";
    EXPECT_EQ(pins(problem(script + "objective: [{metric: a, direction: minimize}, {metric: a, direction: maximize}]")),
              "3:47 'objective'");
    EXPECT_EQ(pins(problem(script + "objective: [{metric: a, direction: minimize}, {metric: b}]")),
              "3:47 'metric' 'direction'");
    EXPECT_EQ(pins(problem(script + "objective: []")), "3:12 'objective' 1 8");
    EXPECT_EQ(
        pins(problem(script +
                     "objective: [{metric: a, direction: minimize}, {metric: b, direction: minimize, at: last}]")),
        "3:47 'at'");
    EXPECT_EQ(pins(problem(one + "constraints: [{metric: p}]")), "4:15 'max' 'min'");
    EXPECT_EQ(pins(problem(one + "constraints: [{metric: p, min: 2, max: 1}]")), "4:15 'min' 'max'");
    EXPECT_EQ(pins(problem(one + "constraints: {metric: p, max: 1}")), "4:14 'constraints'");
    EXPECT_EQ(pins(problem(one + "constraints: [{metric: p, max: 1}, {metric: p, min: 0}]")),
              "4:36 'constraints' 'min' 'max'");
    EXPECT_EQ(pins(problem(synthetic + "constraints: [{metric: params, max: 1}]")), "3:24 'constraints.metric'")
        << "the native worker does not report it";
}

TEST(Errors, ShowTheLineTheCaretAndTheNearestKey) {
    EXPECT_EQ(problem(R"(study: s
worker:
  data: {format: synthetic}
  training: {weigth_decay: 0.1}
)"),
              "s.yaml:4:14: unknown key 'weigth_decay' in 'worker.training'; did you mean 'weight_decay'?\n"
              "    4 |   training: {weigth_decay: 0.1}\n"
              "      |              ^~~~~~~~~~~~");
}

TEST(Errors, AreListedInTheOrderOfTheFile) {
    EXPECT_EQ(
        problem(R"(study: s
sed: 1
worker: {data: {format: synthetic}}
budget: {trials: 0, time: 30}
)"),
        "s.yaml:2:1: unknown key 'sed'; did you mean 'seed'?\n"
        "    2 | sed: 1\n"
        "      | ^~~\n"
        "s.yaml:4:18: 'budget.trials' must be a whole number from 1 to 1000000, found 0\n"
        "    4 | budget: {trials: 0, time: 30}\n"
        "      |                  ^\n"
        "s.yaml:4:27: 'budget.time' must be a duration such as 30m, 1h30m or 90s, found 30 (which unit? 30s, 30m)\n"
        "    4 | budget: {trials: 0, time: 30}\n"
        "      |                           ^~");
}

TEST(Errors, ColumnsAndCaretsCountCharactersNotBytes) {
    EXPECT_EQ(problem(synthetic + "budget: {\"größe\": 1, trials: x}\n"),
              "s.yaml:3:10: unknown key 'größe' in 'budget'; known: trials, epochs, time, patience\n"
              "    3 | budget: {\"größe\": 1, trials: x}\n"
              "      |          ^~~~~~~\n"
              "s.yaml:3:30: 'budget.trials' must be a whole number from 1 to 1000000, found x\n"
              "    3 | budget: {\"größe\": 1, trials: x}\n"
              "      |                              ^");
}

TEST(Errors, ANameInSpaceAndInWorkerIsShownAtBothPlaces) {
    EXPECT_EQ(problem(R"(study: s
space:
  lr: {type: float, low: 0.1, high: 0.2}
worker:
  data: {format: synthetic}
  training: {lr: 0.1}
)"),
              "s.yaml:3:3: 'lr' is set in 'space' and in 'worker': keep one\n"
              "    3 |   lr: {type: float, low: 0.1, high: 0.2}\n"
              "      |   ^~\n"
              "s.yaml:6:18: note: it is fixed here\n"
              "    6 |   training: {lr: 0.1}\n"
              "      |                  ^~~");
}

TEST(Errors, ADuplicateKeyIsShownAtBothPlaces) {
    EXPECT_EQ(problem("study: s\nbudget:\n  trials: 1\n  trials: 2\n"),
              "s.yaml:4:3: the key 'trials' appears twice\n"
              "    4 |   trials: 2\n"
              "      |   ^~~~~~\n"
              "s.yaml:3:3: note: it appears here first\n"
              "    3 |   trials: 1\n"
              "      |   ^~~~~~");
}

TEST(Errors, AnUnclosedBracketIsShownWhereItWasOpened) {
    EXPECT_EQ(problem("study: s\nbudget: {trials: 64  # ']' and \"}\" in a comment\nsampler: {type: auto}\n"),
              "s.yaml:2:9: this '{' is not closed\n"
              "    2 | budget: {trials: 64  # ']' and \"}\" in a comment\n"
              "      |         ^");
}

TEST(Errors, AreAtMostTwentyAndCountTheRest) {
    std::string text = synthetic;
    for (int i = 0; i < 30; ++i) text += "key" + std::to_string(i) + ": 1\n";
    EXPECT_THAT(problem(text), ::testing::EndsWith("\n... and 10 more"));
}

TEST(Errors, LongLinesAreTruncatedAroundTheColumn) {
    EXPECT_EQ(problem("study: s\nworker: {data: {path: " + std::string(500, 'x') + "}, model: {widht: 3}}\n"),
              "s.yaml:2:534: unknown key 'widht' in 'worker.model'; did you mean 'width'?\n"
              "    2 | ..." +
                  std::string(29, 'x') +
                  "}, model: {widht: 3}}\n"
                  "      |    " +
                  std::string(40, ' ') + "^~~~~");
}

/// A mistake in a study file and the error that it leads to.
struct Mistake {
    const char* text;   ///< appended to a valid small study
    const char* error;  ///< the first line of the error
};

class Mistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreReportedWithTheirCure) {
    EXPECT_EQ(first_line(problem(synthetic + GetParam().text)), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Syntax, Mistakes,
    ::testing::Values(
        Mistake{"budget: {trials: 64 epochs: 20}", "s.yaml:3:27: a '}' or ',' is missing in a {...}"},
        Mistake{"budget: {trials: 64}}", "s.yaml:3:21: this bracket matches no open one"},
        Mistake{"budget: {trials: 64", "s.yaml:3:9: this '{' is not closed"},
        Mistake{"stopping: [{rule: asha}", "s.yaml:3:11: this '[' is not closed"},
        Mistake{"budget: {trials:64}",
                "s.yaml:3:10: unknown key 'trials:64' in 'budget'; is a space missing after 'trials:'?"},
        Mistake{"budget: {trials 64}",
                "s.yaml:3:10: unknown key 'trials 64' in 'budget'; is a ':' missing after 'trials'?"},
        Mistake{"budget:\n  trials: 1\n   epochs: 1",
                "s.yaml:5:10: a ':' where no key may stand: check the indentation, or quote a value that holds ': '"},
        Mistake{"budget:\n\ttrials: 1", "s.yaml:4:1: a tab in the indentation: use spaces"},
        Mistake{"objective: {metric: \"val_loss}\n", "s.yaml:3:21: a quoted text that is not closed"},
        Mistake{"budget:\ntrials: 3", "s.yaml:3:1: 'budget' must be a map (key: value), found nothing"},
        Mistake{"---\nstudy: t", "s.yaml:3:1: a second document; a study file has only one"},
        Mistake{"[a]: b", "s.yaml:3:1: a key must be a word, not a list or a map"},
        Mistake{"stopping: [{rule: asha]", "s.yaml:3:23: this bracket matches no open one"},
        Mistake{"seed: &s 1", "s.yaml:3:7: anchors (&name) are not used in study files; write the value out"},
        Mistake{"seed: *s", "s.yaml:3:7: aliases (*name) are not used in study files; write the value out"},
        Mistake{"seed: !!int 1", "s.yaml:3:7: tags (!name) are not used in study files"}));

INSTANTIATE_TEST_SUITE_P(
    Types, Mistakes,
    ::testing::Values(
        Mistake{"seed: -1", "s.yaml:3:7: 'seed' must be a whole number from 0 to 9007199254740992, found -1"},
        Mistake{
            "seed: \"1\"",
            "s.yaml:3:7: 'seed' must be a whole number from 0 to 9007199254740992, found the text \"1\" (remove the "
            "quotes)"},
        Mistake{"seed: 99999999999999999999999",
                "s.yaml:3:7: 'seed' must be a whole number from 0 to 9007199254740992, found 99999999999999999999999"},
        Mistake{"constraints: [\"params <= 400\"]",
                "s.yaml:3:15: 'constraints' must be a list of maps, such as [{metric: params, max: 400}]"},
        Mistake{"budget: {epochs: 2.5}",
                "s.yaml:3:18: 'budget.epochs' must be a whole number from 1 to 1000000, found 2.5"},
        Mistake{"budget: {time: 1m1h}",
                "s.yaml:3:16: 'budget.time' must be a duration such as 30m, 1h30m or 90s, found 1m1h"},
        Mistake{"budget: {time: 0s}", "s.yaml:3:16: 'budget.time' must be from 1s to 3650d, found 0s"},
        Mistake{"resources: {memory: 4 GB}",
                "s.yaml:3:21: 'resources.memory' must be a size such as 4GiB or 512MiB, found 4 GB"},
        Mistake{"keep: {folders: best 0}",
                "s.yaml:3:17: 'keep.folders' must be all, none, or best and how many, such as best 5, found best 0"},
        Mistake{"keep: {checkpoints: 5}",
                "s.yaml:3:21: 'keep.checkpoints' must be all, none, or best and how many, such as best 5, found 5"},
        Mistake{"keep: {checkpoint: all}",
                "s.yaml:3:8: unknown key 'checkpoint' in 'keep'; did you mean 'checkpoints'?"},
        Mistake{"resources: {slots: 0}",
                "s.yaml:3:20: 'resources.slots' must be a whole number from 1 to 256, found 0"},
        Mistake{"resources: {gpu_reserve: 110%}",
                "s.yaml:3:26: 'resources.gpu_reserve' must be a share from 0% to 90%, such as 10%, found 110%"},
        Mistake{"resources: {trial: {memory: 1GiB}}",
                "s.yaml:3:21: 'resources.trial.memory' is for scripts: the native worker computes to the byte what "
                "each trial needs; remove it"},
        Mistake{"resources: {trial: {cores: 2}}",
                "s.yaml:3:28: 'resources.trial.cores' of the native worker is for 'resources.trial.processes': one "
                "process takes the cores that are free; remove it"},
        Mistake{"resources: {backend: cuda, trial: {processes: 2}}",
                "s.yaml:3:35: 'resources.trial.processes' of the native worker train on the CPU, and "
                "'resources.backend' is cuda: use cpu, or leave one of the two out"},
        Mistake{"resources: {slots: 2, trial: {processes: 2}}",
                "s.yaml:3:30: 'resources.trial.processes' and 'resources.slots' exclude each other: a trial of several "
                "processes shares them with no other; remove one of them"},
        Mistake{"resources: {gpus: [0]}", "s.yaml:3:13: unknown key 'gpus' in 'resources'; did you mean 'devices'?"},
        Mistake{"resources: {backend: gpu}",
                "s.yaml:3:22: 'resources.backend' must be auto, cpu, cuda or opencl, found gpu; did you mean 'cpu'?"},
        Mistake{"policy: {regularization: scale}",
                "s.yaml:3:26: 'policy.regularization' must be scaled or off, found scale; did you mean 'scaled'?"},
        Mistake{"stopping: {rule: asha}",
                "s.yaml:3:11: 'stopping' must be auto or a list of rules, such as [{rule: plateau}], or [] for none"},
        Mistake{"stopping: [{rule: asha, within: lr}]",
                "s.yaml:3:33: 'within' must name a categorical parameter of the space, which has none"},
        Mistake{"stopping: [{rule: asha}, {rule: asha}]", "s.yaml:3:33: the rule 'asha' is listed twice"},
        Mistake{"stopping: [{patience: 3}]",
                "s.yaml:3:12: 'stopping.rule' is missing: the rule's name, such as plateau"},
        Mistake{"sampler: tpe", "s.yaml:3:10: 'sampler' must be a map (type: tpe), found tpe"},
        Mistake{"budget: {steps: 10}", "s.yaml:3:10: unknown key 'steps' in 'budget'; did you mean 'epochs'?"},
        Mistake{"budget: {n_trials: 10}", "s.yaml:3:10: unknown key 'n_trials' in 'budget'; did you mean 'trials'?"},
        Mistake{"budget: {timeout: 10m}", "s.yaml:3:10: unknown key 'timeout' in 'budget'; did you mean 'time'?"},
        Mistake{"budget: [1]", "s.yaml:3:9: 'budget' must be a map (key: value), found a list"}));

INSTANTIATE_TEST_SUITE_P(
    Objectives, Mistakes,
    ::testing::Values(
        Mistake{"objective: {metric: val_acuracy}",
                "s.yaml:3:21: 'objective.metric' must be val_accuracy, val_loss or loss, found val_acuracy; "
                "did you mean 'val_accuracy'?"},
        Mistake{"objective: {metric: val_loss, direction: maximize}",
                "s.yaml:3:42: 'val_loss' is better when it is smaller: direction: minimize"},
        Mistake{"objective: {direction: minimize}",
                "s.yaml:3:24: 'val_accuracy' is better when it is larger: direction: maximize"}));

INSTANTIATE_TEST_SUITE_P(
    Spaces, Mistakes,
    ::testing::Values(
        Mistake{"space: {lr: [0.1, 0.2]}",
                "s.yaml:3:13: 'space.lr' must be a map ({type: float, low: 0.001, high: 0.1}), found a list"},
        Mistake{"space: {learning_rate: {type: float, low: 1, high: 2}}",
                "s.yaml:3:9: unknown parameter 'learning_rate' in 'space'; did you mean 'lr'?"},
        Mistake{"space: {noise: {type: float, low: 1, high: 2}}",
                "s.yaml:3:9: 'noise' cannot vary: trials on different data or tasks cannot be compared; fix it in "
                "'worker'"},
        Mistake{"space: {width: {type: int, min: 8, low: 8, high: 16}}",
                "s.yaml:3:28: unknown key 'min' in 'space.width'; did you mean 'low'?"},
        Mistake{"space: {lr: {low: 1, high: 2}}", "s.yaml:3:13: 'space.lr.type' is missing: float, int or categorical"},
        Mistake{"space: {lr: {type: float, low: 1}}",
                "s.yaml:3:9: 'space.lr.high' is missing: the range is 'low' to 'high'"},
        Mistake{"space: {lr: {type: float, low: 0.2, high: 0.1}}",
                "s.yaml:3:32: 'space.lr.low' (0.2) is above 'high' (0.1)"},
        Mistake{"space: {lr: {type: float, low: 0, high: 0.1, log: true}}",
                "s.yaml:3:32: 'space.lr.low' must be above 0 with log: true, found 0"},
        Mistake{"space: {lr: {type: float, low: .nan, high: 0.1}}",
                "s.yaml:3:32: 'space.lr.low' must be a number from 0 to 1000, found .nan"},
        Mistake{"space: {dropout: {type: float, low: 0.1, high: 1}}",
                "s.yaml:3:48: 'space.dropout.high' must be a number from 0 to 0.95, found 1"},
        Mistake{
            "space: {dropout: {type: float, low: 0.1, high: 0.6, step: 0.2}}",
            "s.yaml:3:59: 'space.dropout.step' (0.2) does not lead from 0.1 to 0.6; the last value on its way is 0.5"},
        Mistake{"space: {lr: {type: float, low: 0.1, high: 0.6, step: 0.1, log: true}}",
                "s.yaml:3:54: 'space.lr.step' and log: true exclude each other"},
        Mistake{"space: {width: {type: float, low: 1, high: 2}}", "s.yaml:3:23: 'width' takes type: int, found float"},
        Mistake{"space: {optimizer: {type: int, low: 1, high: 2}}",
                "s.yaml:3:27: 'optimizer' takes type: categorical, found int"},
        Mistake{"space: {optimizer: {type: categorical, choices: [adamw, adam]}}",
                "s.yaml:3:57: 'optimizer' must be adamw, sgd, lion or muon, found adam; did you mean 'adamw'?"},
        Mistake{"space: {optimizer: {type: categorical, choices: [sgd, sgd]}}",
                "s.yaml:3:55: 'space.optimizer.choices' contains sgd twice"},
        Mistake{"space: {lr: {type: categorical, choices: [1, 1.0]}}",
                "s.yaml:3:46: 'space.lr.choices' contains 1.0 twice"},
        Mistake{"space: {optimizer: {type: categorical, choices: []}}",
                "s.yaml:3:49: 'space.optimizer.choices' must be a list of at least one choice"},
        Mistake{"space: {optimizer: {type: categorical, low: 1, choices: [sgd]}}",
                "s.yaml:3:45: 'space.optimizer.low' is for numbers; a categorical parameter has 'choices'"},
        Mistake{"space: {optimizer: {type: categorical, choices: [sgd], role: regularizer}}",
                "s.yaml:3:62: role: regularizer is for numbers, type: float or int"}));

INSTANTIATE_TEST_SUITE_P(
    Conditions, Mistakes,
    ::testing::Values(
        Mistake{"space: {momentum: {type: float, low: 0.1, high: 0.2, when: {optimiser: sgd}}, optimizer: {type: "
                "categorical, choices: [sgd, adamw]}}",
                "s.yaml:3:61: 'space.momentum.when' needs a parameter of 'space', found 'optimiser'; did you mean "
                "'optimizer'?"},
        Mistake{"space: {momentum: {type: float, low: 0.1, high: 0.2, when: {optimizer: sdg}}, optimizer: {type: "
                "categorical, choices: [sgd, adamw]}}",
                "s.yaml:3:72: 'optimizer' is never sdg; it is one of sgd, adamw"},
        Mistake{
            "space: {momentum: {type: float, low: 0.1, high: 0.2, when: {depth: [2, 4]}}, depth: {type: int, low: 1, "
            "high: 3}}",
            "s.yaml:3:72: 'depth' is never 4; it is 1 to 3"},
        Mistake{"space: {momentum: {type: float, low: 0.1, high: 0.2, when: {lr: 0.1}}, lr: {type: float, low: 0.1, "
                "high: 1}}",
                "s.yaml:3:61: a condition needs a categorical or int parameter; 'lr' is a float"},
        Mistake{"space: {depth: {type: int, low: 1, high: 2, when: {width: 2}}, width: {type: int, low: 1, high: 2, "
                "when: {depth: 2}}}",
                "s.yaml:3:9: 'when' is circular: depth -> width -> depth"},
        Mistake{"space: {depth: {type: int, low: 1, high: 2, when: {depth: 2}}}",
                "s.yaml:3:9: 'when' is circular: depth -> depth"}));

TEST(LargeBatches, ASmallBatchIsRefusedWithTheCureWrittenOut) {
    const std::string error =
        "is under policy.min_batch_size (256): small batches leave the machine idle; use 256 or more, or allow it "
        "explicitly: policy: {min_batch_size: 32}";
    const std::string policy = "policy: {min_batch_size: 256}\n";
    EXPECT_EQ(first_line(problem(synthetic + policy + "space: {batch_size: {type: int, low: 32, high: 512}}")),
              "s.yaml:4:9: 'batch_size' of 32 " + error);
    EXPECT_EQ(first_line(problem(synthetic + policy + "space: {batch_size: {type: categorical, choices: [512, 32]}}")),
              "s.yaml:4:9: 'batch_size' of 32 " + error);
    EXPECT_EQ(problem(synthetic + policy, {"worker.training.batch_size=32"}),
              "--set worker.training.batch_size=32: 'batch_size' of 32 " + error);
    EXPECT_EQ(problem(synthetic + "policy: {min_batch_size: 32}\nspace: {batch_size: {type: int, low: 32, high: 512}}"),
              "(accepted)");
}

TEST(LargeBatches, TheDefaultIsCheckedToo) {
    EXPECT_THAT(first_line(problem(synthetic + "policy: {min_batch_size: 512}")),
                Mentions("s.yaml:2:9:", "'batch_size'", "(512)", "{min_batch_size: 256}", "under policy.min_batch_size",
                         "at most 256", "512", "allow"));
}

TEST(LargeBatches, WithoutAMinimumTheNativeWorkersDataDecide) {
    for (const char* policy : {"", "policy: {min_batch_size: auto}\n"})
        EXPECT_EQ(problem(synthetic + policy + "space: {batch_size: {type: int, low: 8, high: 512}}"), "(accepted)");
    EXPECT_EQ(pins(problem(synthetic + "policy: {min_batch_size: many}")), "3:26 'policy.min_batch_size' 1 1000000");
}

TEST(LargeBatches, AProgramThatAsksForTrialsChoosesItsBatches) {
    const std::string own = "study: s\nspace: {batch_size: {type: int, low: 8, high: 512}}\n";
    EXPECT_EQ(problem(own), "(accepted)");
    EXPECT_EQ(pins(problem(own + "policy: {min_batch_size: 64}")), "2:9 'batch_size' 8 64 64 8");
}

TEST(LargeBatches, AScriptsBatchSizeIsRecognised) {
    const std::string script = "study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [x]}\n";
    EXPECT_EQ(pins(problem(script + "space: {batch_size: {type: int, low: 32, high: 512}}")),
              "4:9 'batch_size' 32 256 256 32");
    EXPECT_EQ(problem(script + "space: {batch_size: {type: int, low: 32, high: 512, role: none}}"), "(accepted)");
}

TEST(Worker, KeysThatContradictEachOtherAreRefused) {
    EXPECT_EQ(pins(problem(synthetic, {"worker.model={hidden: [8], width: 8}"})), "8 8 'hidden' 'width'");
    EXPECT_EQ(pins(problem(synthetic + "space: {depth: {type: int, low: 1, high: 2}}", {"worker.model.hidden=[8]"})),
              "8 'hidden' 'depth'");
    EXPECT_THAT(problem(synthetic, {"worker.model={type: cnn, hidden: [8]}"}),
                Mentions("'worker.model.hidden'", "type: mlp"));
    EXPECT_THAT(problem(synthetic, {"worker.model={groups: 4}"}), Mentions("'worker.model.groups'", "type: cnn"));
    const std::string misspelt = problem(synthetic, {"worker.model={type: cnm, groups: 4}"});
    EXPECT_THAT(misspelt, HasSubstr("'cnn'"));
    EXPECT_THAT(misspelt, Not(HasSubstr(" for ")));
    EXPECT_EQ(
        problem(synthetic + "space: {type: {type: categorical, choices: [mlp, cnn]}}", {"worker.model={groups: 4}"}),
        "(accepted)");
    EXPECT_THAT(problem(synthetic, {"worker.data.path=fashion-mnist"}),
                Mentions("'worker.data.path'", "format: idx", "parquet"));
    EXPECT_THAT(problem("study: s\nworker: {data: {path: x, noise: 2}}"), Mentions("s.yaml:2:33: 'worker.data.noise'"));
    EXPECT_EQ(pins(problem("study: s\nworker: {task: classification}")), "2:9 'worker.data.path'");
    EXPECT_EQ(pins(problem("study: s\nworker: {data: {format: csv, path: t.csv}}")), "2:9 'worker.data.target' 0 1");
    EXPECT_EQ(pins(problem("study: s\nworker: {data: {format: csv, path: t.csv, target: y, target: z}}")),
              "2:54 'target'");
    EXPECT_EQ(pins(problem(synthetic, {"worker.training.accumulation=300"})),
              "300 'accumulation' 300 'batch_size' 256");
    EXPECT_EQ(pins(problem(synthetic, {"worker.task=regression", "worker.training.class_metrics=true"})),
              "'class_metrics'");
}

TEST(Worker, OpenClIsForTheNativeWorkerAloneAndCudaForScriptsToo) {
    const std::string script = "study: s\nobjective: {metric: loss, direction: minimize}\nworker: {command: [train]}\n";
    EXPECT_EQ(pins(problem(script + "resources: {backend: opencl}")), "4:22 'resources.backend'");
    for (const std::string backend : {"auto", "cpu", "cuda"})
        EXPECT_EQ(problem(script + "resources: {backend: " + backend + "}"), "(accepted)");
    for (const std::string backend : {"auto", "cpu", "cuda", "opencl"})
        EXPECT_EQ(problem(synthetic + "resources: {backend: " + backend + "}"), "(accepted)");
}

TEST(Worker, NativeTrialsTakeTheDevicesAndLimitsOfTheStudy) {
    const auto study = parse_study(
        synthetic + "resources: {devices: [0, OCL-04], parallel: [4, 2], gpu_memory: [1GiB, 2GiB]}", "s.yaml");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->resources.devices, (std::vector<std::string>{"0", "OCL-04"}));
    EXPECT_EQ(study->resources.parallel_each, (std::vector<std::int64_t>{4, 2}));
    EXPECT_EQ(study->resources.gpu_memory, (std::vector<std::int64_t>{1 << 30, std::int64_t{2} << 30}));
}

TEST(Worker, AKeyInTheWrongSectionIsRefusedWithTheRightOne) {
    EXPECT_EQ(pins(problem(synthetic, {"worker.model.lr=0.1"})), "0.1 'lr' 'worker.model' 'worker.training.lr'");
    EXPECT_THAT(problem("study: s\nworker: {}\nmodel: {width: 3}\n"), Mentions("'model'", "'worker.model'"));
}

TEST(Worker, AScriptMustDeclareItsObjective) {
    EXPECT_EQ(pins(problem("study: s\nworker: {command: [x]}")), "'metric' 'direction'");
}

/// Returns the first error in a script's study with these resources, without file and line.
std::string problem_of_resources(const std::string& keys) {
    const std::string text =
        "study: s\nobjective: {metric: m, direction: minimize}\nworker: {command: [x]}\nresources: {" + keys + "}\n";
    return first_line(problem(text));
}

TEST(Hosts, AreNamedOnceEachAsSshTakesThem) {
    EXPECT_EQ(problem_of_resources("hosts: [gpu1, me@gpu2, \"fe80::1\"]"), "(accepted)");
    EXPECT_EQ(problem_of_resources("hosts: []"), "(accepted)");
    EXPECT_THAT(problem_of_resources("hosts: gpu1"),
                Mentions("s.yaml:4:20:", "'resources.hosts'", "[gpu1, me@gpu2]", "list"));
    EXPECT_THAT(problem_of_resources("hosts: [ssh:gpu1]"),
                Mentions("s.yaml:4:21:", "'resources.hosts'", "--on", "ssh:gpu1", "ssh:", "without"));
    for (const char* wrong : {"-oProxyCommand=x", "'a b'", "'a,b'", "''"})
        EXPECT_THAT(problem_of_resources(std::string("hosts: [") + wrong + "]"), HasSubstr("name"));
    EXPECT_THAT(problem_of_resources("hosts: [[a]]"), Mentions("s.yaml:4:21:", "'resources.hosts'", "address"));
    EXPECT_THAT(problem_of_resources("hosts: [a, b, a]"), Mentions("s.yaml:4:27:", "host a ", "twice"));
}

TEST(StudyErrors, JobsOfSlurmAreGivenAsSbatchTakesThem) {
    EXPECT_EQ(problem_of_resources("slurm: {}"), "(accepted)");
    EXPECT_EQ(problem_of_resources("slurm: {partition: gpu, nodes: 4, time: 2h, account: a1, qos: long, gpus: 2, cpus: "
                                   "8, memory: 16GiB, extra: [-C, a100, --mail-type=END]}"),
              "(accepted)");
    EXPECT_EQ(problem_of_resources("slurm: gpu"),
              "s.yaml:4:20: 'resources.slurm' must be a map (partition: gpu, nodes: 2, time: 2h), found gpu");
    EXPECT_THAT(problem_of_resources("slurm: {time: 5s}"),
                Mentions("s.yaml:4:27:", "'resources.slurm.time'", "from 1m", "to 3650d", "found 5s"));
    EXPECT_THAT(problem_of_resources("slurm: {partition: -x}"),
                Mentions("s.yaml:4:32:", "'resources.slurm.partition'", "-x", "Slurm", "no"));
    EXPECT_THAT(problem_of_resources("slurm: {extra: -x}"),
                Mentions("s.yaml:4:28:", "'resources.slurm.extra'", "[--constraint=a100, --mail-type=END]", "list"));
    EXPECT_THAT(problem_of_resources("slurm: {extra: [a100]}"),
                Mentions("s.yaml:4:29:", "'resources.slurm.extra'", "'-'", "a100", "no"));
    EXPECT_EQ(problem_of_resources("slurm: {extra: [--signal=USR1]}"),
              "s.yaml:4:29: 'resources.slurm.extra': an option --signal=USR1: hpo sets --signal itself; remove it");
    EXPECT_EQ(problem_of_resources("slurm: {extra: [-t5]}"),
              "s.yaml:4:29: 'resources.slurm.extra': an option -t5: write 'resources.slurm.time' instead");
    EXPECT_EQ(problem_of_resources("slurm: {extra: [-c4]}"),
              "s.yaml:4:29: 'resources.slurm.extra': an option -c4: write 'resources.slurm.cpus' instead");
    EXPECT_EQ(problem_of_resources("slurm: {extra: [-HQt5]}"),
              "s.yaml:4:29: 'resources.slurm.extra': an option -HQt5: write 'resources.slurm.time' instead");
    EXPECT_EQ(problem_of_resources("slurm: {extra: [-HW]}"),
              "s.yaml:4:29: 'resources.slurm.extra': an option -HW: hpo sets -W itself; remove it");
    EXPECT_EQ(
        problem_of_resources("slurm: {extra: [--dep=singleton]}"),
        "s.yaml:4:29: 'resources.slurm.extra': an option --dep=singleton: hpo sets --dependency itself; remove it");
    EXPECT_EQ(problem_of_resources("slurm: {extra: [--part=gpu]}"),
              "s.yaml:4:29: 'resources.slurm.extra': an option --part=gpu: write 'resources.slurm.partition' instead");
    EXPECT_THAT(problem_of_resources("slurm: {extra: [--comment, mine]}"),
                Mentions("s.yaml:4:40:", "'resources.slurm.extra'", "--constraint=a100", "mine", "no"));
    for (const char* words : {"-C, a100, mine.sh", "-H, mine.sh", "-Ca100, mine.sh", "--, mine.sh"})
        EXPECT_THAT(problem_of_resources("slurm: {extra: [" + std::string(words) + "]}"),
                    Mentions("no", "'-'", "sbatch"))
            << words;
    EXPECT_EQ(problem_of_resources("slurm: {extra: [--time-min=5, -H, -vC, a100, -w, node7, --mem-per-cpu=1G]}"),
              "(accepted)");
}

TEST(Devices, AreNamedOnceEachByUuidOrNumber) {
    const std::string message = "'resources.devices' names each device by its UUID or its number in 'hpo devices'";
    EXPECT_EQ(problem_of_resources("devices: [[0]]"), "s.yaml:4:23: " + message);
    EXPECT_EQ(problem_of_resources("devices: [\"a b\"]"), "s.yaml:4:23: " + message + ", found a b");
    EXPECT_EQ(problem_of_resources("devices: [-1]"), "s.yaml:4:23: " + message + ", found -1");
    EXPECT_THAT(problem_of_resources("devices: [5000]"),
                Mentions("s.yaml:4:23:", "'resources.devices'", "from 0 to 1023", "found 5000", "whole"));
    EXPECT_THAT(problem_of_resources("devices: [0, GPU-8f6c, 00]"), Mentions("s.yaml:4:36:", "device 0", "twice"));
    for (const char* none : {"[]", "0", "{a: b}", "all"})
        EXPECT_THAT(problem_of_resources(std::string("devices: ") + none),
                    Mentions("s.yaml:4:22:", "'resources.devices'", "[0, 1]", "[GPU-8f6c]", "auto", "cpu", "none"));
}

TEST(Devices, ListsPerDeviceHaveAsManyItemsAsThereAreDevices) {
    EXPECT_THAT(
        problem_of_resources("devices: [0, 1, 2], parallel: [4, 2]"),
        Mentions("s.yaml:4:43:", "'resources.parallel'", "'resources.devices'", "lists 2 numbers", "lists 3", "same"));
    EXPECT_THAT(problem_of_resources("devices: [0], gpu_memory: [1GiB, 2GiB]"),
                Mentions("s.yaml:4:39:", "'resources.gpu_memory'", "'resources.devices'", "lists 2 numbers", "lists 1",
                         "same"));
    for (const char* rest : {"", ", devices: auto"})
        EXPECT_THAT(problem_of_resources(std::string("gpu_memory: [1GiB]") + rest),
                    Mentions("s.yaml:4:25:", "'resources.gpu_memory'", "[0, 1]", "lists 1 number", "too", "same"));
}

TEST(Devices, EachRequirementOfATrialIsChecked) {
    EXPECT_EQ(problem_of_resources("trial: 1GiB"),
              "s.yaml:4:20: 'resources.trial' must be a map (memory: 1GiB, gpu_memory: 2GiB, cores: 2), found 1GiB");
    EXPECT_THAT(problem_of_resources("trial: {memory: 4}"),
                Mentions("s.yaml:4:29:", "'resources.trial.memory'", "4GiB", "512MiB", "found 4"));
    EXPECT_EQ(problem_of_resources("trial: {cores: 0}"),
              "s.yaml:4:28: 'resources.trial.cores' must be a number from 0.01 to 1024, found 0");
    EXPECT_THAT(problem_of_resources("trial: {vram: 1GiB}"),
                Mentions("s.yaml:4:21:", "'vram'", "'resources.trial'", "'gpu_memory'", "key", "unknown"));
    EXPECT_THAT(problem_of_resources("parallel: [0], devices: [1]"),
                Mentions("s.yaml:4:24:", "'resources.parallel'", "from 1 to 1024", "found 0", "whole"));
    EXPECT_THAT(problem_of_resources("gpu_memory: 20"),
                Mentions("s.yaml:4:25:", "'resources.gpu_memory'", "4GiB", "512MiB", "found 20"));
}

TEST(Names, CannotLeaveTheirFolderOrLookLikeOptions) {
    for (const char* name : {"../x", ".hidden", "-x", "--help", "a/b", "\"\"", "\"a b\"", "\"a\\nb\"", "~",
                             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
        EXPECT_NE(problem("study: " + std::string(name) + "\nworker: {data: {format: synthetic}}\n"), "(accepted)")
            << name;
    for (const char* name : {"phase1", "A.b-c_9", "2024"})
        EXPECT_EQ(problem("study: " + std::string(name) + "\nworker: {data: {format: synthetic}}\n"), "(accepted)")
            << name;
}

TEST(Names, CannotBeEmpty) {
    EXPECT_THAT(first_line(problem("study: \"\"\nworker: {data: {format: synthetic}}\n")),
                Mentions("s.yaml:1:8:", "'study'", "not", "empty"));
}

constexpr Option plateau_options[] = {{"patience", OptionType::integer, 1, 1000, "", "3", ""},
                                      {"min_delta", OptionType::real, 0, 1, "", "0.001", ""}};
constexpr PartOptions rules[] = {{"plateau", "", plateau_options}, {"divergence", "", {}}};
constexpr PartOptions samplers[] = {{"auto", "", {}}, {"tpe", "", {}}};
constexpr Vocabulary vocabulary{samplers, rules};

TEST(Parts, NamesAndOptionsAreCheckedAgainstTheRegistries) {
    const auto error = [](const std::string& text) { return first_line(problem(synthetic + text, {}, vocabulary)); };
    EXPECT_THAT(error("sampler: {type: tpee}"), Mentions("s.yaml:3:17:", "'tpee'", "'tpe'", "sampler", "unknown"));
    EXPECT_EQ(error("sampler: {type: auto, gamma: 1}"),
              "s.yaml:3:23: unknown key 'gamma' in 'sampler auto'; known: type");
    EXPECT_THAT(error("stopping: [{rule: platau}]"),
                Mentions("s.yaml:3:19:", "'platau'", "'plateau'", "rule", "unknown"));
    EXPECT_THAT(error("stopping: [{rule: hyperband}]"),
                Mentions("s.yaml:3:19:", "'hyperband'", "plateau, divergence", "rule", "unknown"));
    EXPECT_THAT(error("stopping: [{rule: plateau, pacience: 3}]"),
                Mentions("s.yaml:3:28:", "'pacience'", "'stopping rule plateau'", "'patience'", "key", "unknown"));
    EXPECT_THAT(error("stopping: [{rule: plateau, patience: 0}]"),
                Mentions("s.yaml:3:38:", "'patience'", "from 1 to 1000", "found 0", "whole"));
}

TEST(Parts, OptionsTakeTheTypeOfTheirTable) {
    const auto study = parse_study(synthetic + "stopping: [{rule: plateau, min_delta: 0}]", "s.yaml", {}, vocabulary);
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->stopping[0].options.at("min_delta"), Value(0.0));
}

const std::string script =
    "study: s\nobjective: {metric: m, direction: minimize}\nspace: {lr: {type: float, low: 0.1, high: 0.2}}\n";

TEST(Errors, APlaceholderWithoutAParameterIsShownAtItsPlace) {
    EXPECT_EQ(problem(script + "worker: {command: [train, \"--lr={lr}\", \"{lrr}\"]}\n"),
              "s.yaml:4:40: no parameter 'lrr' for {lrr}; did you mean 'lr'? (a brace as text: {{lrr}})\n"
              "    4 | worker: {command: [train, \"--lr={lr}\", \"{lrr}\"]}\n"
              "      |                                        ^~~~~~~");
    EXPECT_EQ(problem(script + "worker: {command: [train, \"--lr={lr}\", \"{{lrr}}\", \"{params_file}\"]}\n"),
              "(accepted)");
}

TEST(Errors, AParameterNamedLikeAPlaceholderOfHpoIsRefused) {
    const std::string head = "study: s\nobjective: {metric: m, direction: minimize}\n";
    const auto steps = [&](const std::string& command) {
        return problem(head + "space: {steps: {type: int, low: 1, high: 9}}\nworker: {command: [train, " + command +
                       "]}\n");
    };
    EXPECT_EQ(steps("\"--steps={steps}\""),
              "s.yaml:3:9: the parameter 'steps' cannot be used as {steps}, which hpo defines: rename the parameter, "
              "such as 'steps_'\n"
              "    3 | space: {steps: {type: int, low: 1, high: 9}}\n"
              "      |         ^~~~~\n"
              "s.yaml:4:27: note: {steps} is here\n"
              "    4 | worker: {command: [train, \"--steps={steps}\"]}\n"
              "      |                           ^~~~~~~~~~~~~~~~~");
    EXPECT_EQ(steps("\"--out={folder}\""), "(accepted)") << "it stands in HPO_PARAM_STEPS and {params_file}";
    EXPECT_EQ(
        pins(problem(script + "worker: {command: [train], params: {folder: a}, metrics: {file: \"{folder}/m\"}}\n")),
        "4:37 'folder' 'folder_'");
    EXPECT_EQ(problem(head + "space: {seed: {type: int, low: 1, high: 9}}\nworker: {command: [train, \"{seed}\"]}\n"),
              "(accepted)")
        << "it is the trial's seed";
}

TEST(Errors, AScriptsMetricsHaveOneSourceAndValidPatterns) {
    const auto metrics = [](const std::string& text, const std::string& more = "") {
        return first_line(problem(script + "worker: {command: [train], metrics: " + text + "}\n" + more));
    };
    EXPECT_EQ(metrics("{}"), "(accepted)");
    EXPECT_EQ(metrics("{stdout: [\"m: (?<m>[0-9.]+)\"]}"), "(accepted)");
    EXPECT_THAT(metrics("{stdout: \"m: (\"}"), Mentions("s.yaml:4:46:", "'m: ('"));
    EXPECT_THAT(metrics("{stdout: \"m: .*\"}"), HasSubstr("group"));
    EXPECT_THAT(metrics("{file: metrics.csv}"), HasSubstr("same"));
    EXPECT_EQ(metrics("{file: \"{folder}/metrics.csv\"}"), "(accepted)");
    EXPECT_EQ(metrics("{file: metrics.csv}", "resources: {parallel: 1}\n"), "(accepted)");
    EXPECT_EQ(pins(metrics("{file: \"{foldr}/m.csv\"}")), "4:44 'foldr' 'folder'");
    EXPECT_EQ(pins(metrics("{file: \"{folder}/m\", stdout: \"(?<m>.)\"}")), "4:44 'worker.metrics' 'stdout' 'file'");
}

TEST(Scripts, TheirEnvironmentIsOffOrHasVariablesThatHpoDoesNotSetItself) {
    const auto environment = [](const std::string& text) {
        return first_line(problem(script + "worker: {command: [train], environment: " + text + "}\n"));
    };
    EXPECT_EQ(environment("off"), "(accepted)");
    EXPECT_EQ(environment("{OMP_NUM_THREADS: 2, LD_PRELOAD: /usr/lib/libjemalloc.so.2, X: null}"), "(accepted)");
    EXPECT_EQ(pins(environment("on")), "4:41 'worker.environment' 2");
    EXPECT_EQ(pins(environment("{HPO_TOKEN: x}")), "4:42 'HPO_TOKEN' 'worker.environment'");
    EXPECT_EQ(pins(environment("{CUDA_VISIBLE_DEVICES: 0}")), "4:42 'CUDA_VISIBLE_DEVICES' 'worker.environment'");
    EXPECT_EQ(pins(environment("{\"A=B\": 0}")), "4:42 'A=B' 'worker.environment'");
    EXPECT_EQ(pins(environment("{A: [1]}")), "4:45 'worker.environment.A'");
}

TEST(Scripts, StepAndTerminalNeedAProgramWhoseOutputIsRead) {
    const auto worker = [](const std::string& keys) {
        return first_line(problem(script + "worker: {" + keys + "}\n"));
    };
    const std::string read = "command: [python3, train.py], metrics: {}, ";
    EXPECT_EQ(worker(read + "step: 100, terminal: auto"), "(accepted)");
    EXPECT_EQ(pins(worker(read + "step: 0")), "4:59 'worker.step' 1 1000000 0");
    EXPECT_EQ(pins(worker(read + "terminal: yes")), "4:63 'worker.terminal'");
    EXPECT_EQ(pins(worker(read + "terminal: on, preload: torch")), "4:63 'worker.preload'");
    EXPECT_EQ(pins(worker("command: [python3, train.py], step: 100")), "4:46 'worker.step'");
}

TEST(Scripts, PreloadedModulesAndTheirInterpreterAreChecked) {
    const auto preload = [](const std::string& modules, const std::string& command = "python3, train.py") {
        return first_line(problem(script + "worker: {command: [" + command + "], preload: " + modules + "}\n"));
    };
    EXPECT_EQ(preload("torch"), "(accepted)");
    EXPECT_EQ(preload("[torch, my_package.data]", "python3, -u, -m, train"), "(accepted)");
    for (const char* name : {"../torch", "a..b", "1a", "a.", "import os"})
        EXPECT_THAT(preload(std::string("[") + name + "]"), HasSubstr("module")) << name;
    EXPECT_EQ(pins(preload("torch", "./train.py")), "4:42 'worker.preload' 'worker.command'");
    const auto shim = [](const std::string& name) {
        return first_line(problem(script + "worker: {command: [python3, train.py], shim: " + name + "}\n"));
    };
    EXPECT_EQ(shim("wandb"), "(accepted)");
    EXPECT_EQ(shim("nni"), "(accepted)");
    EXPECT_EQ(pins(shim("mlflow")), "4:46 'worker.shim' 'mlflow'");
}

}  // namespace
}  // namespace hpo
