// The kinds of experiments of Katib: each becomes a study that takes a trial's value as Katib does, or is refused with
// the cause.
#include <gmock/gmock.h>

#include "orchestrator/import/convert.hpp"
#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/study/study_file.hpp"
#include "support.hpp"

#include "tests/support/mentions.hpp"

namespace hpo::importing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Kind {
    std::string objective = "{type: minimize, objectiveMetricName: loss}";
    std::string algorithm = "{algorithmName: random}";
    std::string more;
    std::string references = "[{name: rate, reference: lr}, {name: epochs, reference: num-epochs}]";
    std::string spec = R"({kind: Job, apiVersion: batch/v1, spec: {template: {spec: {containers: [
        {name: main, image: a/b, command: [python3, t.py, "--lr=${trialParameters.rate}"],
         args: ["--epochs=${trialParameters.epochs}", "--log=/logs/m.log"]}]}}}})";

    [[nodiscard]] std::string text() const {
        return "apiVersion: kubeflow.org/v1beta1\nkind: Experiment\nmetadata: {name: kind, namespace: ns}\nspec:\n"
               "  objective: " +
               objective + "\n  algorithm: " + algorithm +
               "\n  parallelTrialCount: 2\n  maxTrialCount: 12\n  parameters:\n"
               "    - {name: lr, parameterType: double, feasibleSpace: {min: \"0.1\", max: \"0.9\", step: \"0.1\"}}\n"
               "    - {name: num-epochs, parameterType: int, feasibleSpace: {min: \"1\", max: \"5\"}}\n" +
               more + "  trialTemplate:\n    primaryContainerName: main\n    trialParameters: " + references +
               "\n    trialSpec: " + spec + "\n";
    }
};

Result<Conversion> converted_kind(const Kind& kind) {
    return convert(kind.text(), "k.yaml", any_tool, {},
                   [](const std::string& name) -> Result<std::string> { return Error{name + ": no"}; });
}

Study study_of_kind(const Kind& kind) {
    const auto conversion = converted_kind(kind);
    EXPECT_TRUE(conversion) << conversion.error().message;
    return conversion ? *parse_study(conversion->yaml, "s.yaml") : Study{};
}

std::string problem_of_kind(const Kind& kind) {
    const auto conversion = converted_kind(kind);
    return conversion ? "(accepted)" : conversion.error().message;
}

/// Returns the numbers that the study's patterns read in the line, as "name=number".
std::string read_in(const Study& study, const std::string& line) {
    auto reader = script::make_output_reader(study.script()->metrics->patterns);
    if (!reader) return reader.error().message;
    script::Reading reading;
    (*reader)->read(line, reading);
    std::map<std::string, double> sorted;
    for (const script::NamedNumber& metric : reading.metrics) sorted.emplace(metric.name, metric.number);
    std::string text;
    for (const auto& [name, number] : sorted) text += (text.empty() ? "" : " ") + name + "=" + to_text(Value(number));
    return text;
}

std::string collector(const std::string& text) { return "  metricsCollectorSpec: " + text + "\n"; }

TEST(KatibKinds, ATrialRunsToTheEndOfItsScriptWhateverItsNumberOfEpochs) {
    for (const char* algorithm :
         {"random", "grid", "tpe", "multivariate-tpe", "bayesianoptimization", "cmaes", "sobol"}) {
        const Study study = study_of_kind({.algorithm = "{algorithmName: " + std::string(algorithm) + "}"});
        EXPECT_EQ(study.budget.epochs, 1000000) << algorithm;
        EXPECT_TRUE(study.stopping.empty() && !study.default_stopping) << algorithm;
        EXPECT_EQ(study.budget.trials, 12) << algorithm;
        EXPECT_EQ(study.objective.at, Objective::At::best) << algorithm;
    }
}

TEST(KatibKinds, AGridHasNoMoreTrialsThanTheExperimentAndSaysSo) {
    const auto conversion = converted_kind({.algorithm = "{algorithmName: grid}"});
    ASSERT_TRUE(conversion);
    EXPECT_THAT(conversion->yaml, Mentions("45"));
    Kind small{.algorithm = "{algorithmName: grid}"};
    std::string text = small.text();
    text.replace(text.find("maxTrialCount: 12"), 17, "maxTrialCount: 99");
    const auto whole = convert(text, "k.yaml", any_tool, {}, {});
    ASSERT_TRUE(whole);
    EXPECT_EQ(parse_study(whole->yaml, "s.yaml")->budget.trials, 45);
}

TEST(KatibKinds, HyperbandGivesEachTrialTheLongestTraining) {
    const std::string settings =
        "[{name: resource_name, value: num-epochs}, {name: eta, value: \"2\"}, {name: r_l, value: \"4\"}]";
    const auto conversion =
        converted_kind({.algorithm = "{algorithmName: hyperband, algorithmSettings: " + settings + "}"});
    ASSERT_TRUE(conversion) << conversion.error().message;
    const Study study = *parse_study(conversion->yaml, "s.yaml");
    EXPECT_EQ(dimensions(study), "lr: float 0.1 to 0.9 by 0.1\n");
    EXPECT_EQ(study.fixed.at("num-epochs"), Value(std::int64_t{4}));
    EXPECT_EQ(study.sampler.type, "random");
    EXPECT_TRUE(study.stopping.empty());
    EXPECT_THAT(conversion->remarks, Contains(HasSubstr("stopping: [{rule: asha, grace: 1, factor: 2}]")));
    EXPECT_THAT(problem_of_kind({.algorithm = "{algorithmName: hyperband}"}), Mentions("hyperband", "'resource_name'"));
}

TEST(KatibKinds, SearchesWithoutACounterpartAreRefused) {
    EXPECT_THAT(problem_of_kind({.algorithm = "{algorithmName: pbt}"}), HasSubstr("(pbt)"));
    for (const char* name : {"enas", "darts"})
        EXPECT_THAT(problem_of_kind({.algorithm = "{algorithmName: " + std::string(name) + "}"}),
                    Mentions("architecture", "(" + std::string(name) + ")"));
    const auto nas =
        convert("kind: Experiment\nspec:\n  objective: {}\n  algorithm: {algorithmName: enas}\n  nasConfig: {}\n",
                "k.yaml", any_tool, {}, {});
    EXPECT_THAT(nas ? "" : nas.error().message, HasSubstr("k.yaml:5:14: "));
}

TEST(KatibKinds, TheStrategyOfTheObjectiveIsItsBestOrItsLastNumber) {
    const auto with = [](const std::string& value) {
        return Kind{.objective =
                        "{type: minimize, objectiveMetricName: loss, additionalMetricNames: [acc], "
                        "metricStrategies: [{name: acc, value: max}, {name: loss, value: " +
                        value + "}]}"};
    };
    EXPECT_EQ(study_of_kind(with("min")).objective.at, Objective::At::best);
    EXPECT_EQ(study_of_kind(with("latest")).objective.at, Objective::At::last);
    EXPECT_THAT(problem_of_kind(with("max")), Mentions("'value'", "min", "latest", "max"));
}

TEST(KatibKinds, MetricsAreReadInTheFormThatKatibReadsByDefault) {
    const Study study = study_of_kind(
        {.objective = "{type: minimize, objectiveMetricName: loss, additionalMetricNames: [Validation-accuracy]}"});
    EXPECT_EQ(read_in(study, "Train Epoch: 1 [0/60000 (0%)]\tloss=2.3125"), "loss=2.3125");
    EXPECT_EQ(read_in(study, "2026 INFO Validation-accuracy = 9.5e-01 x=1"), "Validation-accuracy=0.95");
    EXPECT_EQ(read_in(study, "val_loss=1 a-loss=2 loss: 3"), "");
}

TEST(KatibKinds, NamesWithBlanksAndBracesInAFormatAreRead) {
    const Study blanks = study_of_kind(
        {.objective = "{type: maximize, objectiveMetricName: valid_1 auc, additionalMetricNames: [training auc]}",
         .more = collector(R"x({source: {filter: {metricsFormat: ["(\\w+\\s\\w+)\\s:\\s((-?\\d+)(\\.\\d+)?)"]}}})x")});
    EXPECT_EQ(blanks.objective.metric, "valid_1_auc");
    EXPECT_EQ(read_in(blanks, "[Info] Iteration:7, valid_1 auc : 0.75"), "valid_1_auc=0.75");
    EXPECT_EQ(read_in(blanks, "[Info] Iteration:7, training auc : 0.85"), "training_auc=0.85");
    const Study braces =
        study_of_kind({.more = collector(R"x({collector: {kind: StdOut}, source: {filter: {metricsFormat:
          ["{metricName: ([\\w|-]+), metricValue: ((-?\\d+)(\\.\\d+)?)}"]}}})x")});
    EXPECT_EQ(read_in(braces, "{metricName: loss, metricValue: 0.25}"), "loss=0.25");
    EXPECT_EQ(read_in(braces, "{metricName: acc, metricValue: 0.5}"), "");
    EXPECT_THAT(problem_of_kind({.more = collector("{source: {filter: {metricsFormat: [\"(\", \"loss=(.*)\"]}}}")}),
                HasSubstr("metricsFormat"));
}

TEST(KatibKinds, AFileOfMetricsIsReadFromTheOutputIfAnArgumentNamesIt) {
    const std::string file = R"({collector: {kind: File}, source: {fileSystemPath: {kind: File, path: /logs/m.log)";
    const Study text = study_of_kind({.more = collector(file + "}}}")});
    EXPECT_THAT(text.script()->command,
                ElementsAre("python3", "t.py", "--lr={lr}", "--epochs={num-epochs}", "--log=/dev/stdout"));
    EXPECT_EQ(read_in(text, "loss=0.5"), "loss=0.5");
    const Study json = study_of_kind({.more = collector(file + ", format: JSON}}}")});
    EXPECT_EQ(read_in(json, R"({"timestamp": 17.5, "checkpoint": "", "loss": "0.25", "x": 1})"), "loss=0.25");
    EXPECT_THAT(
        problem_of_kind({.more = collector(R"({collector: {kind: File}, source: {fileSystemPath: {path: /x}}})")}),
        Mentions("metrics", "/x"));
}

TEST(KatibKinds, CollectorsThatReadMoreThanTextAreRefused) {
    for (const auto& [kind, cause] : {std::pair{"TensorFlowEvent", "does not read event files"},
                                      {"Custom", "the image of a custom collector does not run here"},
                                      {"None", "the script sends its metrics to Katib itself"},
                                      {"Push", "the script sends its metrics to Katib itself"},
                                      {"PrometheusMetric", "hpo has no such collector"}})
        EXPECT_THAT(problem_of_kind({.more = collector("{collector: {kind: " + std::string(kind) + "}}")}),
                    AllOf(HasSubstr(cause), Mentions("loss=0.123"), HasSubstr("k.yaml:")))
            << kind;
}

TEST(KatibKinds, TheContainerThatTrainsIsFoundInEachKindOfJob) {
    const std::string own = R"(command: [python3, t.py, "--lr=${trialParameters.rate}", "${trialParameters.epochs}"])";
    const std::string jobs[] = {
        "{kind: PyTorchJob, spec: {pytorchReplicaSpecs: {Master: {template: {spec: {containers: [{name: main, " + own +
            "}]}}}, Worker: {replicas: 2, template: {spec: {containers: [{name: main, " + own + "}]}}}}}}",
        "{kind: TFJob, spec: {tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: main, " + own +
            "}]}}}}}}",
        "{kind: MPIJob, spec: {mpiReplicaSpecs: {Launcher: {template: {spec: {containers: [{name: main, " + own +
            "}]}}}, Worker: {template: {spec: {containers: [{name: w, image: i}]}}}}}}",
        "{kind: TrainJob, spec: {trainer: {numNodes: 2, image: i, " + own + "}}}",
        "{kind: Workflow, spec: {templates: [{name: a, script: {image: i, command: [python], source: x}}, "
        "{name: b, container: {name: train, image: i, " +
            own + "}}]}}",
        "{kind: PipelineRun, spec: {pipelineSpec: {tasks: [{taskSpec: {steps: [{name: prepare, image: i, command: "
        "[sh]}]}}, {taskSpec: {steps: [{name: main, image: i, " +
            own + "}]}}]}}}"};
    for (const std::string& job : jobs)
        EXPECT_THAT(study_of_kind({.spec = job}).script()->command,
                    ElementsAre("python3", "t.py", "--lr={lr}", "{num-epochs}"))
            << job;
}

TEST(KatibKinds, WhatAnotherStepWouldFillInIsRefused) {
    const auto with = [](const std::string& kind, const std::string& argument) {
        return problem_of_kind({.spec = "{kind: " + kind +
                                        ", spec: {containers: [{name: main, command: [python3, t.py, \"" + argument +
                                        "\", \"${trialParameters.rate}\"]}]}}"});
    };
    EXPECT_THAT(with("Workflow", "--epochs={{inputs.parameters.epochs}}"), HasSubstr("workflow"));
    EXPECT_THAT(with("PipelineRun", "--epochs=$(params.epochs)"), HasSubstr("pipeline"));
    EXPECT_EQ(with("Job", "$(date) {{x}} ${HOME}"), "(accepted)");
    std::string text = Kind{}.text();
    const auto at = text.find("trialSpec:");
    text.replace(at, std::string::npos, "configMap: {configMapName: templates, templatePath: a.yaml}\n");
    const auto map = convert(text, "k.yaml", any_tool, {}, {});
    EXPECT_THAT(map ? "" : map.error().message, HasSubstr("'templates'"));
}

TEST(KatibKinds, ValuesOfTheTrialAndVariablesAreFilledIn) {
    const Study study = study_of_kind(
        {.references = "[{name: rate, reference: lr}, {name: n, reference: \"${trialSpec.Name}\"}, "
                       "{name: k, reference: \"${trialSpec.Kind}\"}, {name: s, reference: \"${trialSpec.Namespace}\"}, "
                       "{name: l, reference: \"${trialSpec.Labels[team]}\"}]",
         .spec =
             "{kind: Job, metadata: {labels: {team: red}}, spec: {containers: [{name: main, command: [t, "
             "\"${trialParameters.n}-${trialParameters.k}-${trialParameters.s}-${trialParameters.l}\", \"$(DATA)/x\"], "
             "env: [{name: DATA, value: /data}, {name: RATE, value: \"${trialParameters.rate}\"}]}]}}"});
    EXPECT_THAT(study.script()->command, ElementsAre("t", "kind-{trial}-Job-ns-red", "/data/x"));
    EXPECT_EQ(study.script()->environment.own.at("RATE"), "{lr}");
}

TEST(KatibKinds, ParametersThatWouldShareAVariableAreRenamed) {
    std::string text = Kind{}.text();
    text.replace(text.find("name: num-epochs"), 16, "name: LR");
    text.replace(text.find("reference: num-epochs"), 21, "reference: LR");
    const auto conversion = convert(text, "k.yaml", any_tool, {}, {});
    ASSERT_TRUE(conversion) << conversion.error().message;
    EXPECT_THAT(parse_study(conversion->yaml, "s.yaml")->script()->command,
                ElementsAre("python3", "t.py", "--lr={lr}", "--epochs={LR_2}", "--log=/logs/m.log"));
}

}  // namespace
}  // namespace hpo::importing
