// The conversion of Katib's experiments.
#include <gmock/gmock.h>

#include "orchestrator/import/convert.hpp"
#include "orchestrator/study/study_file.hpp"
#include "support.hpp"

#include "tests/support/mentions.hpp"

namespace hpo::importing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string head = R"(apiVersion: kubeflow.org/v1beta1
kind: Experiment
metadata: {namespace: kubeflow, name: random.1}
spec:
  objective: {type: maximize, goal: 0.99, objectiveMetricName: Validation accuracy, additionalMetricNames: [loss]}
  algorithm: {algorithmName: random}
  parallelTrialCount: 3
  maxTrialCount: 12
)";

const std::string parameters = R"(  parameters:
    - {name: lr, parameterType: double, feasibleSpace: {min: "0.01", max: "0.1", distribution: logUniform}}
    - {name: momentum, parameterType: double, feasibleSpace: {min: "0.5", max: "0.9", step: "0.15"}}
    - {name: num-layers, parameterType: int, feasibleSpace: {min: "2", max: "5"}}
    - {name: batch, parameterType: discrete, feasibleSpace: {list: ["256", "512"]}}
    - {name: optimizer, parameterType: categorical, feasibleSpace: {list: ["sgd", "adam"]}}
)";

const std::string job = R"(  trialTemplate:
    primaryContainerName: main
    trialParameters:
      - {name: learningRate, reference: lr}
      - {name: momentum, reference: momentum}
      - {name: layers, reference: num-layers}
      - {name: batch, reference: batch}
      - {name: optimizer, reference: optimizer}
    trialSpec:
      apiVersion: batch/v1
      kind: Job
      spec:
        template:
          spec:
            containers:
              - {name: sidecar, command: [sleep, "1"]}
              - name: main
                image: docker.io/mnist:latest
                command: ["python3", "/opt/mnist.py", "--epochs=5"]
                args: ["--lr=${trialParameters.learningRate}", "--momentum", "${trialParameters.momentum}",
                       "--x={y}-${trialParameters.layers}{lr}", "${trialParameters.batch}", "${trialParameters.optimizer}"]
                env: [{name: DATA, value: /data}, {name: FROM, valueFrom: {}}]
)";

Result<Conversion> convert_text(const std::string& text, std::string_view tool = any_tool) {
    return convert(text, "k.yaml", tool, {},
                   [](const std::string& name) -> Result<std::string> { return Error{name + ": no"}; });
}

struct KatibStudy {
    Study study;
    std::string yaml;
    std::string remarks;
};

KatibStudy study_of(const std::string& text) {
    const auto conversion = convert_text(text);
    EXPECT_TRUE(conversion) << conversion.error().message;
    if (!conversion) return {};
    KatibStudy result{*parse_study(conversion->yaml, "s.yaml"), conversion->yaml, ""};
    for (const std::string& remark : conversion->remarks) result.remarks += remark + '\n';
    return result;
}

std::string katib_problem(const std::string& text) {
    const auto conversion = convert_text(text);
    return conversion ? "(accepted)" : conversion.error().message;
}

TEST(Katib, AnExperimentBecomesAStudyWithItsContainersCommand) {
    const auto [study, yaml, remarks] = study_of(head + parameters + job);
    EXPECT_EQ(study.name, "random.1");
    EXPECT_EQ(study.objective.metric, "Validation_accuracy");
    EXPECT_EQ(study.objective.direction, Direction::maximize);
    EXPECT_EQ(dimensions(study),
              "lr: float 0.01 to 0.1, log\nmomentum: float 0.5 to 0.8 by 0.15\nnum-layers: int 2 to 5\n"
              "batch: one of 256, 512\noptimizer: one of sgd, adam\n");
    EXPECT_THAT(study.script()->command,
                ElementsAre("python3", "/opt/mnist.py", "--epochs=5", "--lr={lr}", "--momentum", "{momentum}",
                            "--x={{y}}-{num-layers}{{lr}}", "{batch}", "{optimizer}"));
    EXPECT_EQ(study.sampler.type, "random");
    EXPECT_FALSE(study.policy.scaled);
    EXPECT_EQ(study.budget.trials, 12);
    // --epochs=5 does not say how often the script reports: it may report each batch.
    EXPECT_EQ(study.budget.epochs, 1000000);
    EXPECT_TRUE(study.budget.open);
    EXPECT_TRUE(study.stopping.empty());
    EXPECT_FALSE(study.default_stopping);
    EXPECT_EQ(study.resources.parallel, 3);
    EXPECT_EQ(study.script()->environment.own.at("DATA"), "/data");
    EXPECT_THAT(remarks, Mentions("k.yaml:5"));
    EXPECT_THAT(remarks, HasSubstr("image docker.io/mnist:latest"));
    EXPECT_THAT(remarks, Mentions("variable", "'FROM'"));
}

TEST(Katib, RulesAndAlgorithmsBecomeTheirCounterparts) {
    const auto with = [](const std::string& algorithm, const std::string& more) {
        std::string text = head + more + parameters + job;
        text.replace(text.find("random}"), 7, algorithm + "}");
        return study_of(text);
    };
    const auto median = with("tpe",
                             "  earlyStopping: {algorithmName: medianstop, algorithmSettings: "
                             "[{name: min_trials_required, value: \"1\"}, {name: start_step, value: \"2\"}]}\n");
    ASSERT_EQ(median.study.stopping.size(), 1u);
    EXPECT_EQ(median.study.stopping[0].type, "median");
    EXPECT_EQ(to_text(median.study.stopping[0].options.at("grace")), "2");
    EXPECT_EQ(median.study.sampler.type, "auto");
    EXPECT_TRUE(median.study.policy.scaled);
    EXPECT_EQ(with("cmaes", "").study.sampler.type, "cmaes");
    EXPECT_EQ(with("sobol", "").study.sampler.type, "sobol");
    EXPECT_EQ(with("multivariate-tpe", "").study.sampler.type, "auto");
    EXPECT_THAT(with("swarm", "").remarks, Mentions("k.yaml:6", "algorithm", "'swarm'"));
    EXPECT_THAT(with("random", "  maxFailedTrialCount: 3\n").remarks, HasSubstr("k.yaml:9: 'maxFailedTrialCount'"));
}

TEST(Katib, InAShellScriptAValueBecomesAVariable) {
    std::string text = head + parameters + job;
    const auto at = text.find("                command:");
    text.replace(
        at, text.find("                env:") - at,
        "                command: [sh, -c, \"python3 t.py --lr=${trialParameters.learningRate}; echo {lr}\"]\n");
    EXPECT_THAT(study_of(text).study.script()->command,
                ElementsAre("sh", "-c", "python3 t.py --lr=${{HPO_PARAM_LR}}; echo {{lr}}"));
}

TEST(Katib, MistakesAreReportedAtTheirPlace) {
    EXPECT_THAT(katib_problem(head), HasSubstr("formats"));
    EXPECT_THAT(katib_problem(head + "  parameters: []\n"),
                ::testing::AllOf(StartsWith("k.yaml:9:15: "), Mentions("'parameters'", "list")));
    const auto with = [](const std::string& parameter) {
        return katib_problem(head + "  parameters:\n    - " + parameter + "\n");
    };
    EXPECT_THAT(with("{name: a, parameterType: double, feasibleSpace: {min: \"2\", max: \"1\"}}"),
                ::testing::AllOf(StartsWith("k.yaml:10:7: "), Mentions("'a'", "minimum (2)", "above", "maximum (1)")));
    EXPECT_THAT(with("{name: a, parameterType: real, feasibleSpace: {}}"),
                Mentions("'parameterType'", "double, int, discrete"));
    EXPECT_THAT(with("{name: a, parameterType: int, feasibleSpace: {max: \"1\"}}"), HasSubstr("needs 'min' and 'max'"));
    EXPECT_THAT(with("{name: a, parameterType: discrete, feasibleSpace: {list: [x]}}"), HasSubstr("numbers"));
    EXPECT_THAT(with("{name: a}"), HasSubstr("'name', 'parameterType'"));
    std::string text = head + parameters + job;
    text.replace(text.find("reference: momentum"), 19, "reference: momentun");
    EXPECT_THAT(katib_problem(text), HasSubstr("'momentun'"));
    text = head + parameters + job;
    text.replace(text.find("${trialParameters.batch}"), 24, "${trialParameters.batc}");
    EXPECT_THAT(katib_problem(text), Mentions("trialParameters", "'batc'"));
}

}  // namespace
}  // namespace hpo::importing
