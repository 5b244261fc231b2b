// The Job of Kubernetes whose pods join a study: its fields, by a schema of those that it may have, and its refusals.
#include "orchestrator/export/kubernetes.hpp"

#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <set>

#include "support.hpp"
#include "tests/support/mentions.hpp"

namespace hpo::exporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The fields of each object of a Job of batch/v1 (Kubernetes 1.31) that agents need; required ones have a '!'. A field
/// ends with '*' if its value is an object with free names, such as labels. kubectl refuses any other by
/// `apply --validate=strict`.
const std::map<std::string, std::set<std::string>>& schema() {
    static const std::map<std::string, std::set<std::string>> fields{
        {"", {"apiVersion!", "kind!", "metadata!", "spec!"}},
        {".metadata", {"name!", "labels*"}},
        {".spec", {"completionMode", "parallelism", "completions", "backoffLimit", "podFailurePolicy", "template!"}},
        {".spec.podFailurePolicy", {"rules!"}},
        {".spec.podFailurePolicy.rules", {"action!", "onPodConditions", "onExitCodes"}},
        {".spec.podFailurePolicy.rules.onPodConditions", {"type!", "status!"}},
        {".spec.podFailurePolicy.rules.onExitCodes", {"containerName", "operator!", "values!"}},
        {".spec.template", {"metadata", "spec!"}},
        {".spec.template.metadata", {"labels*"}},
        {".spec.template.spec",
         {"restartPolicy!", "terminationGracePeriodSeconds", "automountServiceAccountToken", "enableServiceLinks",
          "securityContext", "volumes", "containers!"}},
        {".spec.template.spec.securityContext",
         {"runAsNonRoot", "runAsUser", "runAsGroup", "fsGroup", "fsGroupChangePolicy", "seccompProfile"}},
        {".spec.template.spec.securityContext.seccompProfile", {"type!"}},
        {".spec.template.spec.volumes", {"name!", "secret", "emptyDir", "hostPath", "persistentVolumeClaim"}},
        {".spec.template.spec.volumes.secret", {"secretName!", "defaultMode"}},
        {".spec.template.spec.volumes.emptyDir", {"medium"}},
        {".spec.template.spec.volumes.hostPath", {"path!", "type"}},
        {".spec.template.spec.volumes.persistentVolumeClaim", {"claimName!"}},
        {".spec.template.spec.containers",
         {"name!", "image!", "command", "env", "resources", "securityContext", "volumeMounts"}},
        {".spec.template.spec.containers.env", {"name!", "value"}},
        {".spec.template.spec.containers.resources", {"requests*", "limits*"}},
        {".spec.template.spec.containers.securityContext", {"allowPrivilegeEscalation", "capabilities"}},
        {".spec.template.spec.containers.securityContext.capabilities", {"drop"}},
        {".spec.template.spec.containers.volumeMounts", {"name!", "mountPath!", "readOnly"}},
    };
    return fields;
}

/// Fails for each field that the schema does not know, and for each that it misses.
void expect_valid(const YAML::Node& node, const std::string& path = "") {
    if (node.IsSequence()) {
        for (const YAML::Node& item : node) expect_valid(item, path);
        return;
    }
    if (!node.IsMap()) return;
    const auto known = schema().find(path);
    ASSERT_NE(known, schema().end()) << path << " is no object of a Job";
    std::set<std::string> found;
    for (const auto& field : node) {
        const auto name = field.first.as<std::string>();
        EXPECT_TRUE(found.insert(name).second) << path << '.' << name << " stands twice";
        if (known->second.contains(name + '*')) {
            for (const auto& free : field.second) EXPECT_TRUE(free.second.IsScalar()) << path << '.' << name;
            continue;
        }
        EXPECT_TRUE(known->second.contains(name) || known->second.contains(name + '!'))
            << path << '.' << name << " is no field of a Job";
        expect_valid(field.second, path + '.' + name);
    }
    for (const std::string& field : known->second) {
        const bool required = field.ends_with('!');
        EXPECT_TRUE(!required || found.contains(field.substr(0, field.size() - 1))) << path << '.' << field;
    }
}

AgentJob agent_job() {
    AgentJob job;
    job.named = "study.yaml";
    job.image = "registry/trials:1";
    job.cpus = 4;
    job.memory = "16Gi";
    job.volumes = {{"work", "/home/me"}};
    job.folder = "/home/me/runs/small";
    job.user = 1234;
    job.group = 100;
    return job;
}

YAML::Node manifest(const Study& study, const AgentJob& job) {
    const auto text = kubernetes_job(study, job);
    EXPECT_TRUE(text) << (text ? "" : text.error().message);
    YAML::Node node = YAML::Load(text ? *text : "");
    expect_valid(node);
    EXPECT_EQ(node["apiVersion"].as<std::string>(), "batch/v1");
    EXPECT_EQ(node["kind"].as<std::string>(), "Job");
    return node;
}

TEST(KubernetesJob, HasKnownFieldsAlone) {
    AgentJob job = agent_job();
    job.agents = 8;
    job.gpus = 2;
    job.volumes.push_back({"/mnt/data", "/data"});
    const YAML::Node spec = manifest(small_study(), job)["spec"];
    EXPECT_EQ(spec["parallelism"].as<int>(), 8);
    EXPECT_EQ(spec["completions"].as<int>(), 8);
    EXPECT_EQ(spec["completionMode"].as<std::string>(), "Indexed");
    const YAML::Node pod = spec["template"]["spec"];
    EXPECT_EQ(pod["restartPolicy"].as<std::string>(), "Never") << "podFailurePolicy takes no other";
    const YAML::Node agent = pod["containers"][0];
    EXPECT_EQ(agent["name"].as<std::string>(),
              spec["podFailurePolicy"]["rules"][1]["onExitCodes"]["containerName"].as<std::string>());
    for (const char* amounts : {"requests", "limits"}) {
        EXPECT_EQ(agent["resources"][amounts]["cpu"].as<int>(), 4);
        EXPECT_EQ(agent["resources"][amounts]["memory"].as<std::string>(), "16Gi");
        EXPECT_EQ(agent["resources"][amounts]["nvidia.com/gpu"].as<int>(), 2);
    }
    std::map<std::string, YAML::Node> volumes;
    for (const YAML::Node& volume : pod["volumes"]) {
        EXPECT_EQ(volume.size(), 2U) << "a name, and where it comes from";
        EXPECT_TRUE(volumes.emplace(volume["name"].as<std::string>(), volume).second);
    }
    EXPECT_EQ(volumes.at("study-0")["persistentVolumeClaim"]["claimName"].as<std::string>(), "work");
    EXPECT_EQ(volumes.at("study-1")["hostPath"]["path"].as<std::string>(), "/mnt/data");
    std::set<std::string> mounted;
    for (const YAML::Node& mount : agent["volumeMounts"])
        EXPECT_TRUE(volumes.contains(mount["name"].as<std::string>()) &&
                    mounted.insert(mount["mountPath"].as<std::string>()).second);
    EXPECT_EQ(mounted.size(), volumes.size());
}

TEST(KubernetesJob, HasTheResourcesThatTheStudyDeclares) {
    AgentJob job = agent_job();
    job.cpus.reset();
    job.memory.reset();
    Study study = small_study();
    study.resources.trial = {.host_bytes = std::int64_t{8} << 30, .cores = 1.5, .processes = 3};
    const auto amounts = [&] {
        return manifest(study, job)["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"];
    };
    EXPECT_EQ(amounts()["cpu"].as<int>(), 5) << "whole cores for three processes";
    const auto memory = amounts()["memory"].as<std::string>();
    EXPECT_TRUE(memory.ends_with("Mi"));
    EXPECT_GE(std::stod(memory) * 0.9, 25 * 1024) << "three trials' worth and hpo, beside the tenth that stays free";
    EXPECT_FALSE(amounts()["nvidia.com/gpu"]);
    study.resources.backend = "cuda";
    EXPECT_EQ(amounts()["nvidia.com/gpu"].as<int>(), 3);
}

TEST(KubernetesJob, RunsAsAUserWithoutPrivileges) {
    AgentJob job = agent_job();
    const auto user_of = [&] { return manifest(small_study(), job)["spec"]["template"]["spec"]["securityContext"]; };
    EXPECT_EQ(user_of()["runAsUser"].as<int>(), 1234);
    EXPECT_EQ(user_of()["fsGroup"].as<int>(), 100);
    job.user = job.group = 0;
    EXPECT_EQ(user_of()["runAsUser"].as<int>(), 1000);
    EXPECT_EQ(user_of()["runAsGroup"].as<int>(), 1000);
    EXPECT_TRUE(user_of()["runAsNonRoot"].as<bool>());
}

TEST(KubernetesJob, TextsOfTheUserStayText) {
    AgentJob job = agent_job();
    job.image = "x: {y}\n# \"z\"";
    job.named = "study\n.yaml";
    job.folder = "/home/me/a\nkind: Pod/runs/small";
    job.files = {"/opt/x\nspec: {}"};
    const YAML::Node node = manifest(small_study(), job);
    EXPECT_EQ(node["spec"]["template"]["spec"]["containers"][0]["image"].as<std::string>(), job.image);
}

TEST(KubernetesJob, OtherAmountsAndFoldersAreRefusedWithTheOption) {
    const auto refusal = [](const AgentJob& job) {
        const auto text = kubernetes_job(small_study(), job);
        return text ? std::string() : text.error().message;
    };
    AgentJob job = agent_job();
    job.volumes = {{"work", "/home/you"}};
    EXPECT_THAT(refusal(job), Mentions("/home/me/runs/small", "--volume CLAIM:/home/me/runs"));
    job = agent_job();
    job.cpus.reset();
    EXPECT_THAT(refusal(job), Mentions("--cpus", "resources.trial.cores"));
    job = agent_job();
    job.memory.reset();
    EXPECT_THAT(refusal(job), Mentions("--memory", "resources.trial.memory"));
}

TEST(KubernetesJob, ListsTheFilesThatNoVolumeHas) {
    AgentJob job = agent_job();
    job.files = {"/home/me/train.py", "/home/me2/data.csv"};
    const std::string text = *kubernetes_job(small_study(), job);
    EXPECT_THAT(text, HasSubstr("#   /home/me2/data.csv\n"));
    EXPECT_THAT(text, Not(HasSubstr("train.py")));
}

TEST(KubernetesJob, IsNamedAfterItsStudyAlone) {
    EXPECT_EQ(job_name_of("phase1"), "hpo-phase1");
    std::set<std::string> names;
    for (const std::string& study :
         {std::string("a.b"), std::string("a_b"), std::string("a-b"), std::string("A-b"), std::string("a-b-"),
          std::string(100, 'x'), std::string(101, 'x'), std::string("-")}) {
        const std::string name = job_name_of(study);
        EXPECT_TRUE(names.insert(name).second) << study;
        EXPECT_LE(name.size(), 52U);
        EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << name;
        EXPECT_NE(name.back(), '-');
    }
}

TEST(PodVolumes, AreClaimsOrFoldersOfNodes) {
    EXPECT_EQ(*parse_volume("work:/home/me/"), (PodVolume{"work", "/home/me"}));
    EXPECT_EQ(*parse_volume("/mnt/x:/data"), (PodVolume{"/mnt/x", "/data"}));
    EXPECT_EQ(*parse_volume("/data/../home"), (PodVolume{"/data/../home", "/home"}));
    for (const char* wrong : {"", "work", "work:x", "Work:/x", "work.:/x", ":/x", "a:/b:/c", "a:/b\n", "/b\x01"})
        EXPECT_FALSE(parse_volume(wrong)) << wrong;
}

}  // namespace
}  // namespace hpo::exporting
