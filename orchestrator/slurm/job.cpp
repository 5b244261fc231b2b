#include "orchestrator/slurm/job.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "hpo/printable.hpp"
#include "hpo/shell_word.hpp"
#include "orchestrator/slurm/job_log.hpp"

namespace hpo::slurm {

namespace {

/// FNV-1a, whose result does not depend on the machine.
std::uint32_t hash_of(const std::string& text) {
    std::uint32_t hash = 2166136261U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return hash;
}

std::string digits_of(const std::string& text) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", hash_of(text));
    return digits;
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

/// Returns why Slurm cannot take one of these words; empty: it can.
std::string unfit_word(const std::vector<std::string>& words) {
    const auto controls = [](const std::string& word) {
        return std::any_of(word.begin(), word.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; });
    };
    for (const std::string& word : words) {
        const bool is_path = word.starts_with("--output=") || word.starts_with("--chdir=");
        if (word.starts_with("--output=") && word.find('\\') != std::string::npos)
            return "a job of Slurm cannot write to the path '" + printable(word.substr(word.find('=') + 1)) +
                   "', which has a backslash: use another folder, or set HPO_RUNS to one";
        const std::string what = printable(word.substr(is_path ? word.find('=') + 1 : 0));
        if (controls(word))
            return is_path ? "a job of Slurm cannot use the path '" + what +
                                 "', which has a line break or another control character: use another folder"
                           : "resources.slurm: a line break or another control character in '" + what + "'";
    }
    return {};
}

constexpr std::string_view digest_line = "# hpo run compares: options ", digest_file = " file ", no_file = "-";

/// Returns a line by which later commands tell whether they ask for the same.
std::string digest_of(const std::vector<std::string>& words, const JobRequest& request) {
    std::string all = request.options;
    for (const std::string& word : words)
        if (!word.starts_with("--output=") && !word.starts_with("--chdir=") && !word.starts_with("--job-name="))
            all += '\n' + word;
    return std::string(digest_line) + digits_of(all) + std::string(digest_file) +
           (request.same_file.empty() ? std::string(no_file) : digits_of(request.same_file)) + '\n';
}

struct Digest {
    std::string_view options, file;
};

/// Returns the parts of the line in a script; both are empty if it has none.
Digest read_digest(std::string_view script) {
    const auto at = script.find(digest_line);
    if (at == std::string_view::npos) return {};
    std::string_view line = script.substr(at + digest_line.size());
    line = line.substr(0, line.find('\n'));
    const auto file = line.find(digest_file);
    if (file == std::string_view::npos) return {};
    return {line.substr(0, file), line.substr(file + digest_file.size())};
}

}  // namespace

bool asks_for_others(const std::string& later, const std::string& earlier) {
    const Digest one = read_digest(later), other = read_digest(earlier);
    return one.options != other.options || (one.file != no_file && one.file != other.file);
}

std::filesystem::path job_log(const std::filesystem::path& folder) { return folder / "slurm.log"; }

std::string job_name(const std::string& study, const std::filesystem::path& folder) {
    return "hpo-" + study + '-' + digits_of(folder.lexically_normal().string());
}

int seconds_before_limit(const SlurmJob& job, double grace) {
    const double usual = std::min(grace, 600.0) + 55;
    return static_cast<int>(job.time ? std::min(usual, *job.time / 6) : usual);
}

Result<Job> make_job(const SlurmJob& job, const JobRequest& request) {
    Job made;
    made.name = request.name;
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
    // These options let the study continue in the next job: see docs/cluster.md.
    add("--signal", "B:USR1@" + std::to_string(seconds_before_limit(job, request.grace)));
    made.words.emplace_back("--requeue");
    add("--dependency", "singleton");
    if (job.nodes > 1) made.words.emplace_back("--no-kill");
    add("--open-mode", "append");
    add("--output", output_path(job_log(request.folder).string()));
    add("--chdir", request.here.string());
    made.words.insert(made.words.end(), job.extra.begin(), job.extra.end());

    if (const std::string unfit = unfit_word(made.words); !unfit.empty()) return Error{unfit};

    made.script = "#!/bin/sh\n";
    for (std::size_t i = 0; i < made.words.size();) {
        made.script += "#SBATCH " + sbatch_word(made.words[i]);
        for (++i; i < made.words.size() && !made.words[i].starts_with('-'); ++i)  // the value of -C
            made.script += ' ' + sbatch_word(made.words[i]);
        made.script += '\n';
    }
    // The shell becomes hpo, so that Slurm's signal reaches it; before, the signal is ignored. The line that it prints
    // tells the messages of this job in its log from those of earlier ones.
    made.script += digest_of(made.words, request) +
                   "trap '' USR1\nexport HPO_RUNS=" + shell_word(request.runs.string()) + "\necho \"" +
                   std::string(job_begins) + "\"\nexec " + request.program + " run " + request.file +
                   (request.options.empty() ? "" : " ") + request.options + '\n';
    return made;
}

}  // namespace hpo::slurm
