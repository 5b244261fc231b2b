#include "orchestrator/cli/export_kubernetes.hpp"

#include <unistd.h>

#include <CLI/Validators.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/result.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/moved_aside.hpp"
#include "orchestrator/export/kubernetes.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/output/output_path.hpp"
#include "orchestrator/script/home.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo::commands {

namespace {

namespace fs = std::filesystem;

/// Returns an empty text for amounts of memory as Kubernetes writes them, which are whole here.
std::string refuse_memory(const std::string& text) {
    const auto unit = text.find_first_not_of("0123456789");
    const std::string suffix = unit == text.npos ? "" : text.substr(unit);
    if (unit != 0 && !text.empty() &&
        (suffix == "Mi" || suffix == "Gi" || suffix == "Ti" || suffix == "M" || suffix == "G"))
        return {};
    return "it takes an amount as Kubernetes writes it, such as 16Gi or 800Mi, not " + printable(text);
}

/// Returns the absolute paths of the files here that trials read.
std::vector<std::string> files_of(const Study& study) {
    std::vector<std::string> files;
    const auto add = [&](const fs::path& home, const std::string& word) {
        std::error_code ignored;
        const fs::path path = (home / word).lexically_normal();
        if (!word.empty() && fs::exists(path, ignored) && std::ranges::find(files, path.string()) == files.end())
            files.push_back(path.string());
    };
    if (const ScriptWorker* script = study.script()) {
        const std::string home = script::home_of(*script);
        for (const std::string& word : script->command) add(home, word);
    }
    for (const char* key : {"path", "target", "inputs", "labels"})  // of the native worker; target may be a column
        if (const auto found = study.fixed.find(key); found != study.fixed.end())
            add(fs::current_path(), to_text(found->second));
    return files;
}

/// `named`: the study as the user has named it.
exporting::AgentJob job_of(const Study& study, const std::string& named, const KubernetesArguments& arguments) {
    exporting::AgentJob job{.named = named, .image = arguments.image, .agents = arguments.agents};
    job.files = files_of(study);
    if (const auto path = study.fixed.find("path"); path != study.fixed.end() && !fs::exists(to_text(path->second)))
        job.data_set = to_text(path->second);
    if (arguments.cpus > 0) job.cpus = arguments.cpus;
    if (!arguments.memory.empty()) job.memory = arguments.memory;
    if (arguments.gpus >= 0) job.gpus = arguments.gpus;
    for (const std::string& text : arguments.volumes) {
        auto volume = exporting::parse_volume(text);
        if (!volume) throw Fatal(volume.error().message, 2);
        job.volumes.push_back(*std::move(volume));
    }
    job.folder = fs::absolute(study_folder(study.name).path).lexically_normal();
    job.user = ::geteuid();
    job.group = ::getegid();
    return job;
}

}  // namespace

void add_kubernetes_options(CLI::App& app, KubernetesArguments& arguments) {
    const auto add = [&](CLI::Option* option, const char* type) {
        arguments.options.push_back(option->type_name(type)->group("With --to kubernetes"));
    };
    add(app.add_option("--image", arguments.image, "The image of the pods, which has hpo and the programs of trials"),
        "IMAGE");
    add(app.add_option(
               "--volume", arguments.volumes,
               "A PersistentVolumeClaim, or a folder that each node has, with the study's folder under the same "
               "path as here; again for others")
            ->allow_extra_args(false),
        "[CLAIM:]PATH");
    add(app.add_option("--agents", arguments.agents, "The number of pods; default: 1")->check(CLI::Range(1, 10000)),
        "N");
    add(app.add_option("--cpus", arguments.cpus, "The cores of each pod; default: resources.trial.cores")
            ->check(CLI::Range(1, 10000)),
        "N");
    add(app.add_option("--memory", arguments.memory,
                       "The memory of each pod, such as 16Gi; default: enough for resources.trial.memory")
            ->check(refuse_memory),
        "SIZE");
    add(app.add_option("--gpus", arguments.gpus,
                       "The GPUs (nvidia.com/gpu) of each pod; default: those of a trial where the study asks for any")
            ->check(CLI::Range(0, 1000)),
        "N");
}

void refuse_kubernetes_options(const KubernetesArguments& arguments, const std::string& format) {
    for (const CLI::Option* option : arguments.options)
        if (option->count() > 0)
            throw Fatal(option->get_name() + " goes with --to kubernetes, not with --to " + format, 2);
}

int export_kubernetes(const std::string& name, const std::string& path, bool force,
                      const KubernetesArguments& arguments) {
    if (arguments.image.empty())
        throw Fatal("--to kubernetes needs --image, the image of the pods, which has hpo and the programs of trials",
                    2);
    const Study study = load_study(name, {});
    const auto manifest = exporting::kubernetes_job(study, job_of(study, name, arguments));
    if (!manifest) throw Fatal(manifest.error().message, 2);
    if (path == "-") {
        print(*manifest);
        return 0;
    }
    const auto aside = or_fail(write_whole(path, *manifest, force));
    tell_moved_aside(aside);
    std::fprintf(stderr, "hpo: %s of %s in %s; its first lines say how they start\n",
                 counted(arguments.agents, "pod").c_str(), study.name.c_str(), printable(path).c_str());
    return 0;
}

}  // namespace hpo::commands
