#include "orchestrator/export/kubernetes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "hpo/printable.hpp"
#include "hpo/shell_word.hpp"
#include "hpo/short_hash.hpp"
#include "hpo/version.hpp"
#include "orchestrator/export/run_folders.hpp"

namespace hpo::exporting {

namespace {

using std::string;
namespace fs = std::filesystem;

constexpr std::size_t longest_job_name = 52;  ///< of 63: the name of a pod's host ends with its index
constexpr unsigned user_instead_of_root = 1000;
constexpr const char* join_folder = "/run/hpo-join";

/// YAML reads a text of JSON as it is meant.
string scalar(const string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Returns true for names of objects: a subdomain of RFC 1123.
bool is_object_name(std::string_view name) {
    const auto is_end = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    return !name.empty() && name.size() <= 253 && is_end(name.front()) && is_end(name.back()) &&
           std::ranges::all_of(name, [&](char c) { return is_end(c) || c == '-' || c == '.'; });
}

bool lies_in(const fs::path& path, const PodVolume& volume) {
    const fs::path relative = path.lexically_relative(volume.path);
    return !relative.empty() && *relative.begin() != "..";
}

bool lies_in(const fs::path& path, const std::vector<PodVolume>& volumes) {
    return std::ranges::any_of(volumes, [&](const PodVolume& volume) { return lies_in(path, volume); });
}

/// The resources of each pod, as Kubernetes writes them.
struct PodResources {
    std::int64_t cpus = 1;
    string memory;
    std::int64_t gpus = 0;
};

/// Returns a pod's memory in which one trial fits, beside hpo and the tenth that stays free.
string memory_for(std::int64_t trial_bytes) {
    const double bytes = (static_cast<double>(trial_bytes) + (1 << 30)) / 0.9;
    return std::to_string(static_cast<std::int64_t>(std::ceil(bytes / (1 << 20)))) + "Mi";
}

Result<PodResources> resources_of(const Study& study, const AgentJob& job) {
    const DeclaredFootprint& trial = study.resources.trial;
    if (!job.cpus && !trial.cores)
        return Error{"how many cores each pod gets is unknown: give --cpus 4, or set resources.trial.cores"};
    if (!job.memory && !trial.host_bytes)
        return Error{"how much memory each pod gets is unknown: give --memory 16Gi, or set resources.trial.memory"};
    PodResources pod;
    pod.cpus = job.cpus.value_or(static_cast<std::int64_t>(std::ceil(trial.all_cores())));
    pod.memory = job.memory ? *job.memory : memory_for(*trial.host_bytes * trial.processes);
    const bool on_gpus = study.resources.backend == "cuda" || trial.gpus || trial.device_bytes;
    pod.gpus = job.gpus.value_or(on_gpus ? trial.devices() : 0);
    return pod;
}

/// Returns the comments at the beginning: the user's commands, and the further needs of pods.
string introduction(const Study& study, const AgentJob& job, const string& name) {
    const string join = shell_word((job.folder / "join.json").string()), secret = name + "-join";
    string text = "# Pods that run trials of the study " + study.name + ", written by hpo " + version +
                  ". The key of the study is not in this file.\n"
                  "#\n"
                  "#   hpo run " +
                  printable(shell_word(job.named)) +
                  " --on join --listen ADDRESS:PORT    # where pods reach this address\n"
                  "#   kubectl create secret generic " +
                  secret + " --from-file=join.json=" + printable(join) +
                  "\n"
                  "#   kubectl apply -f THIS-FILE\n"
                  "#\n"
                  "# Each hpo run makes a new key. Before these commands are given again:\n"
                  "#   kubectl delete --ignore-not-found job/" +
                  name + " secret/" + secret +
                  "\n"
                  "#\n"
                  "# The image must have hpo " +
                  version + " on its PATH";
    std::vector<string> own;
    for (const string& file : job.files)
        if (!lies_in(file, job.volumes)) own.push_back(file);
    if (!job.data_set.empty()) text += ", and the data set " + printable(job.data_set);
    text += own.empty() ? ".\n" : ", and under the same paths as here, since no --volume has them:\n";
    for (const string& file : own) text += "#   " + printable(file) + '\n';
    if (job.user == 0)
        text += "# hpo export ran as root, and pods do not: user " + std::to_string(user_instead_of_root) +
                " must be able to write to\n#   " + printable(job.folder.string()) + '\n';
    return text;
}

string volumes_of(const AgentJob& job, const string& name) {
    string text = "        - name: join\n          secret: {secretName: " + name +
                  "-join, defaultMode: 288}  # 0440\n"
                  "        - name: shared-memory  # for loaders of data; it counts as memory of the pod\n"
                  "          emptyDir: {medium: Memory}\n"
                  "        - name: scratch\n"
                  "          emptyDir: {}\n";
    for (std::size_t i = 0; i < job.volumes.size(); ++i) {
        const PodVolume& volume = job.volumes[i];
        text += "        - name: study-" + std::to_string(i) + '\n';
        text += volume.source.starts_with('/')
                    ? "          hostPath: {path: " + scalar(volume.source) + ", type: Directory}\n"
                    : "          persistentVolumeClaim: {claimName: " + scalar(volume.source) + "}\n";
    }
    return text;
}

string mounts_of(const AgentJob& job) {
    string text = string("            - {name: join, mountPath: ") + join_folder +
                  ", readOnly: true}\n"
                  "            - {name: shared-memory, mountPath: /dev/shm}\n"
                  "            - {name: scratch, mountPath: /tmp}\n";
    for (std::size_t i = 0; i < job.volumes.size(); ++i)
        text +=
            "            - {name: study-" + std::to_string(i) + ", mountPath: " + scalar(job.volumes[i].path) + "}\n";
    return text;
}

}  // namespace

Result<PodVolume> parse_volume(std::string_view text) {
    const auto colon = text.rfind(":/");
    PodVolume volume{string(text.substr(0, colon)), string(colon == text.npos ? text : text.substr(colon + 1))};
    const auto is_path = [](const string& path) {
        return path.starts_with('/') && path.find(':') == string::npos &&
               std::ranges::none_of(path, [](unsigned char c) { return c < ' ' || c == 0x7F; });
    };
    if (!is_path(volume.path) || !(is_path(volume.source) || is_object_name(volume.source)))
        return Error{"--volume " + printable(text) +
                     ": it takes CLAIM:/PATH, where CLAIM is a PersistentVolumeClaim in lower case, or /PATH for a "
                     "folder that each node has"};
    volume.path = fs::path(volume.path).lexically_normal().string();
    if (volume.path.size() > 1 && volume.path.ends_with('/')) volume.path.pop_back();
    return volume;
}

string job_name_of(const string& study) {
    string name = "hpo-" + study;
    for (char& c : name)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
        else if (c == '.' || c == '_')
            c = '-';
    while (name.ends_with('-')) name.pop_back();
    if (name == "hpo-" + study && name.size() <= longest_job_name) return name;
    char digits[10];
    std::snprintf(digits, sizeof digits, "-%08llx", static_cast<unsigned long long>(fnv_hash(study) & 0xFFFFFFFF));
    name.resize(std::min(name.size(), longest_job_name - 9));
    return name + digits;
}

Result<string> kubernetes_job(const Study& study, const AgentJob& job) {
    if (!lies_in(job.folder, job.volumes))
        return Error{
            "no volume has the study's folder " + printable(job.folder.string()) +
            ", in which pods write logs and checkpoints: give --volume CLAIM:" +
            printable(job.folder.parent_path().string()) +
            ", where CLAIM is the PersistentVolumeClaim of this folder, or without CLAIM: if each node has it"};
    const auto pod = resources_of(study, job);
    if (!pod) return pod.error();
    const string name = job_name_of(study.name), agents = std::to_string(job.agents);
    const unsigned user = job.user == 0 ? user_instead_of_root : job.user;
    const string group = std::to_string(job.user == 0 ? user_instead_of_root : job.group);
    const string amounts = "{cpu: " + std::to_string(pod->cpus) + ", memory: " + pod->memory +
                           (pod->gpus > 0 ? ", nvidia.com/gpu: " + std::to_string(pod->gpus) : "") + "}\n";
    // hpo agent takes a join file of its own user alone, and files of a secret are root's: it gets a copy in memory.
    const string command = string("umask 077 && cp ") + join_folder +
                           "/join.json /dev/shm/join.json && exec hpo agent --join /dev/shm/join.json --wait 10m";
    const int to_end = std::max(30, static_cast<int>(std::ceil(std::min(study.resources.grace, 86400.))) + 25);
    return introduction(study, job, name) +
           "apiVersion: batch/v1\n"
           "kind: Job\n"
           "metadata:\n"
           "  name: " +
           name +
           "\n"
           "  labels: {app.kubernetes.io/name: hpo, app.kubernetes.io/instance: " +
           name +
           "}\n"
           "spec:\n"
           "  completionMode: Indexed  # a pod that joins again has the name of the one before\n"
           "  parallelism: " +
           agents + "\n  completions: " + agents +
           "\n"
           "  backoffLimit: " +
           std::to_string(6 * job.agents) +
           "\n"
           "  podFailurePolicy:\n"
           "    rules:  # a pod that is evicted or deleted joins again, as often as it takes\n"
           "      - action: Ignore\n"
           "        onPodConditions: [{type: DisruptionTarget, status: \"True\"}]\n"
           "      - action: Ignore\n"
           "        onExitCodes: {containerName: agent, operator: In, values: [143]}\n"
           "  template:\n"
           "    metadata:\n"
           "      labels: {app.kubernetes.io/name: hpo, app.kubernetes.io/instance: " +
           name +
           "}\n"
           "    spec:\n"
           "      restartPolicy: Never  # which podFailurePolicy requires; the Job starts another pod\n"
           "      terminationGracePeriodSeconds: " +
           std::to_string(to_end) +
           "\n"
           "      automountServiceAccountToken: false  # trials need nothing of the cluster\n"
           "      enableServiceLinks: false\n"
           "      securityContext:\n"
           "        runAsNonRoot: true\n"
           "        runAsUser: " +
           std::to_string(user) + "\n        runAsGroup: " + group + "\n        fsGroup: " + group +
           "\n"
           "        fsGroupChangePolicy: OnRootMismatch\n"
           "        seccompProfile: {type: RuntimeDefault}\n"
           "      volumes:\n" +
           volumes_of(job, name) +
           "      containers:\n"
           "        - name: agent\n"
           "          image: " +
           scalar(job.image) + "\n          command: [/bin/sh, -c, " + scalar(command) +
           "]\n"
           "          env:\n"
           "            - {name: HOME, value: /tmp}\n"
           "            - {name: USER, value: hpo}  # the image may not know the user's number\n"
           "          resources:\n"
           "            requests: " +
           amounts + "            limits: " + amounts +
           "          securityContext:\n"
           "            allowPrivilegeEscalation: false\n"
           "            capabilities: {drop: [ALL]}\n"
           "          volumeMounts:\n" +
           mounts_of(job);
}

}  // namespace hpo::exporting
