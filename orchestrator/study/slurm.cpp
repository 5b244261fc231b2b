#include <algorithm>
#include <array>

#include "orchestrator/study/sections.hpp"

namespace hpo::study {

namespace {

using std::string;
using std::string_view;

constexpr double most_nodes = 4096;
constexpr double shortest_job = 60;  // seconds: Slurm counts in minutes

/// Options of sbatch that hpo gives itself, or that would make something else of the job.
constexpr std::array<string_view, 24> own_options{
    "--job-name", "-J",           "--output",     "-o", "--error",     "-e",       "--open-mode", "--signal",
    "--requeue",  "--no-requeue", "--dependency", "-d", "--chdir",     "-D",       "--array",     "-a",
    "--parsable", "--wrap",       "--wait",       "-W", "--test-only", "--ntasks", "-n",          "--ntasks-per-node"};

/// Options of sbatch for which a key of the study file exists.
constexpr std::array<std::pair<string_view, string_view>, 13> keyed_options{{{"--partition", "partition"},
                                                                             {"-p", "partition"},
                                                                             {"--nodes", "nodes"},
                                                                             {"-N", "nodes"},
                                                                             {"--time", "time"},
                                                                             {"-t", "time"},
                                                                             {"--account", "account"},
                                                                             {"-A", "account"},
                                                                             {"--qos", "qos"},
                                                                             {"-q", "qos"},
                                                                             {"--mem", "memory"},
                                                                             {"--cpus-per-task", "cpus"},
                                                                             {"-c", "cpus"}}};

/// Options of sbatch that have no value, such as -H. Others may follow them in the same word: -Ht5.
constexpr string_view letters_without_value = "hHIkOQsuvVW";

/// Returns the word without its leading letters that have no value: -t5 of -Ht5.
string without_flags(string_view word) {
    if (word.starts_with("--") || !word.starts_with('-')) return string(word);
    const auto letter = word.find_first_not_of(letters_without_value, 1);
    return letter == string_view::npos ? string() : '-' + string(word.substr(letter));
}

/// Returns whether sbatch takes this word for the option: --time=5, -t5, -t or -Ht5. It completes names: --tim=5.
bool gives(string_view word, string_view option) {
    if (option.starts_with("--")) {
        const string_view name = word.substr(0, word.find('='));
        return name.size() > 2 && option.starts_with(name);
    }
    const bool is_flag = letters_without_value.find(option[1]) != string_view::npos;
    if (is_flag && !word.starts_with("--") && word.starts_with('-'))
        return word.substr(0, word.find_first_not_of(letters_without_value, 1)).find(option[1]) != string_view::npos;
    return without_flags(word).starts_with(option);
}

/// Returns why hpo cannot pass this word on to sbatch; empty: it can. `before` is the word before it; empty: none. A
/// word that is neither an option nor its value would be the script.
string unlike_option(string_view word, string_view before) {
    if (std::any_of(word.begin(), word.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }))
        return " has a control character";
    const bool awaits_value = !before.starts_with("--") && without_flags(before).size() == 2;
    if (awaits_value && !word.starts_with('-')) return "";
    if (!word.starts_with('-') || word == "-" || word == "--")
        return before.starts_with("--") ? " is no option: join a value to its option, as in --constraint=a100"
                                        : " is no option: options of sbatch begin with '-'";
    for (const string_view option : own_options)
        if (gives(word, option)) return ": hpo sets " + string(option) + " itself; remove it";
    for (const auto& [option, key] : keyed_options)
        if (gives(word, option)) return ": write 'resources.slurm." + string(key) + "' instead";
    return "";
}

void read_extra(Diagnostics& diagnostics, const Node& node, std::vector<string>& extra) {
    if (node.kind != Node::Kind::list)
        return diagnostics.error(node.location,
                                 "'resources.slurm.extra' must be a list of options of sbatch, such as "
                                 "[--constraint=a100, --mail-type=END]");
    for (const Node& item : node.items) {
        const bool is_text = item.kind == Node::Kind::scalar && !item.text.empty();
        const string wrong = is_text ? unlike_option(item.text, extra.empty() ? string() : extra.back()) : " is a text";
        if (wrong.empty())
            extra.push_back(item.text);
        else
            diagnostics.error(item.location, "'resources.slurm.extra': an option" +
                                                 (is_text ? ' ' + printable(item.text) : string()) + wrong);
    }
}

/// Reads a name that Slurm knows, such as that of a partition.
string slurm_name(Diagnostics& diagnostics, const Node& node, const string& key) {
    const auto name = text(diagnostics, node, key);
    if (!name) return {};
    const bool valid = std::all_of(name->begin(), name->end(), [](char c) {
        return static_cast<unsigned char>(c) > ' ' && c != 0x7F && c != '"' && c != '\\' && c != '\'';
    });
    if (valid && name->front() != '-') return *name;
    diagnostics.error(node.location, "'" + key + "': " + printable(*name) + " is no name that Slurm can have");
    return {};
}

}  // namespace

SlurmJob read_slurm(Diagnostics& diagnostics, const Node& node) {
    SlurmJob job;
    Fields fields(diagnostics, &node, "resources.slurm", "partition: gpu, nodes: 2, time: 2h");
    const auto name = [&](string_view key, string& into) {
        if (const Node* n = fields.take(key)) into = slurm_name(diagnostics, *n, fields.path_of(key));
    };
    name("partition", job.partition);
    name("account", job.account);
    name("qos", job.qos);
    if (const Node* n = fields.take("nodes"))
        job.nodes = whole(diagnostics, *n, "resources.slurm.nodes", 1, most_nodes).value_or(1);
    if (const Node* n = fields.take("time"))
        job.time = duration(diagnostics, *n, "resources.slurm.time", shortest_job, max_seconds);
    if (const Node* n = fields.take("gpus")) job.gpus = whole(diagnostics, *n, "resources.slurm.gpus", 0, 64);
    if (const Node* n = fields.take("cpus")) job.cpus = whole(diagnostics, *n, "resources.slurm.cpus", 1, 4096);
    if (const Node* n = fields.take("memory")) job.memory = size(diagnostics, *n, "resources.slurm.memory");
    if (const Node* n = fields.take("extra")) read_extra(diagnostics, *n, job.extra);
    fields.finish();
    return job;
}

}  // namespace hpo::study
