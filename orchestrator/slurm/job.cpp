#include "orchestrator/slurm/job.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "hpo/shell_word.hpp"

namespace hpo::slurm {

namespace {

/// FNV-1a, whose result does not depend on the machine.
std::uint32_t hash_of(const std::string& text) {
    std::uint32_t hash = 2166136261U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return hash;
}

/// Returns the time as Slurm takes it: minutes, rounded up.
std::string minutes(double seconds) { return std::to_string(static_cast<std::int64_t>(std::ceil(seconds / 60))); }

/// Returns the path for --output, where % begins a placeholder.
std::string output_path(const std::string& path) {
    std::string text;
    for (const char c : path) text += c == '%' ? std::string("%%") : std::string(1, c);
    return text;
}

/// Quotes a word for a line of #SBATCH, which is no shell's.
std::string sbatch_word(const std::string& word) {
    if (word.find_first_of(" \t\"'\\#") == std::string::npos) return word;
    std::string text = "\"";
    for (const char c : word) text += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
    return text + '"';
}

}  // namespace

std::filesystem::path job_log(const std::filesystem::path& folder) { return folder / "slurm.log"; }
std::filesystem::path job_script(const std::filesystem::path& folder) { return folder / "slurm.sh"; }

std::string job_name(const std::string& study, const std::filesystem::path& folder) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", hash_of(folder.lexically_normal().string()));
    return "hpo-" + study + '-' + digits;
}

int seconds_before_limit(const SlurmJob& job, double grace) {
    const double usual = std::min(grace, 600.0) + 55;
    return static_cast<int>(job.time ? std::min(usual, *job.time / 6) : usual);
}

Job make_job(const SlurmJob& job, const JobRequest& request) {
    Job made;
    made.name = job_name(request.study, request.folder);
    made.words = {"--job-name=" + made.name};
    const auto add = [&](const std::string& option, const std::string& value) {
        if (!value.empty()) made.words.push_back(option + '=' + value);
    };
    add("--partition", job.partition);
    add("--account", job.account);
    add("--qos", job.qos);
    add("--nodes", std::to_string(job.nodes));
    add("--ntasks-per-node", "1");
    if (job.cpus)
        add("--cpus-per-task", std::to_string(*job.cpus));
    else
        made.words.emplace_back("--exclusive");
    if (job.memory)
        add("--mem", std::to_string((*job.memory + (1 << 20) - 1) >> 20) + 'M');
    else if (!job.cpus)
        add("--mem", "0");  // all of a node
    if (job.gpus && *job.gpus > 0) add("--gres", "gpu:" + std::to_string(*job.gpus));
    if (job.time) add("--time", minutes(*job.time));
    // What lets the study go on: see docs/cluster.md.
    add("--signal", "B:USR1@" + std::to_string(seconds_before_limit(job, request.grace)));
    made.words.emplace_back("--requeue");
    add("--dependency", "singleton");
    if (job.nodes > 1) made.words.emplace_back("--no-kill");
    add("--open-mode", "append");
    add("--output", output_path(job_log(request.folder).string()));
    add("--chdir", request.here.string());
    made.words.insert(made.words.end(), job.extra.begin(), job.extra.end());

    made.script = "#!/bin/sh\n";
    for (std::size_t i = 0; i < made.words.size();) {
        made.script += "#SBATCH " + sbatch_word(made.words[i]);
        for (++i; i < made.words.size() && !made.words[i].starts_with('-'); ++i)  // the value of -C
            made.script += ' ' + sbatch_word(made.words[i]);
        made.script += '\n';
    }
    // The shell becomes hpo, so that Slurm's signal reaches it; before, the signal is ignored.
    made.script +=
        "trap '' USR1\nexport HPO_RUNS=" + shell_word(request.runs.string()) + "\nexec " + request.command + '\n';
    return made;
}

}  // namespace hpo::slurm
