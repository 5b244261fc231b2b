#include "orchestrator/slurm/words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"

namespace hpo::slurm {

namespace {

using std::string;
using std::string_view;

std::vector<string_view> split(string_view text, char at) {
    std::vector<string_view> parts;
    for (;;) {
        const auto end = text.find(at);
        parts.push_back(text.substr(0, end));
        if (end == string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

bool contains(string_view text, string_view part) { return text.find(part) != string_view::npos; }

bool is_id(string_view text) {
    return !text.empty() && text.size() <= 12 &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Slurm writes N/A, (null) or None for nothing.
string value_of(string_view text) {
    const bool none = text == "N/A" || text == "(null)" || text == "None" || text == "NONE" || text == "n/a";
    return none ? string() : string(text);
}

struct Words {
    string_view slurm, plain;
};

// Reasons for which a job waits. The reasons in `never`, below, keep it from starting as it is.
constexpr std::array reasons{
    Words{"Priority", "jobs with a higher priority come first"},
    Words{"Resources", "it needs nodes that other jobs use"},
    Words{"BeginTime", "Slurm starts a job again only after a pause"},
    Words{"Dependency", "an earlier job of this study has not ended"},
    Words{"Singleton", "an earlier job of this study has not ended"},
    Words{"JobHeldUser", "it is held; scontrol release lets it go"},
    Words{"JobHeldAdmin", "an administrator holds it"},
    Words{"PartitionDown", "the partition is down"},
    Words{"PartitionInactive", "the partition is inactive"},
    Words{"Licenses", "a licence is not free"},
    Words{"Reservation", "its reservation has not begun"},
    Words{"Cleaning", "its earlier run is cleaned up"},
    Words{"Prolog", "a node runs its prolog"},
    Words{"NodeDown", "a node that it needs is down"},
    Words{"JobLaunchFailure", "its start failed on a node; scontrol release lets it try again"},
    Words{"launch failed requeued held", "its start failed on a node; scontrol release lets it try again"},
};
constexpr std::array never{
    Words{"PartitionTimeLimit", "resources.slurm.time is above the partition's limit"},
    Words{"PartitionNodeLimit", "resources.slurm.nodes is above or below what the partition allows"},
    Words{"PartitionConfig", "the partition has no such nodes, or a lower limit of time, nodes, cores or memory"},
    Words{"BadConstraints", "no node has what resources.slurm asks for"},
    Words{"InvalidAccount", "Slurm does not know resources.slurm.account"},
    Words{"InvalidQOS", "Slurm does not know resources.slurm.qos"},
    Words{"AccountNotAllowed", "the partition does not allow the account"},
    Words{"QOSNotAllowed", "the partition does not allow the QOS"},
    Words{"DependencyNeverSatisfied", "the job that it waits for has failed"},
};

string why_queued(string_view reason) {
    for (const Words& words : reasons)
        if (reason == words.slurm) return ": " + string(words.plain);
    for (const Words& words : never)
        if (reason == words.slurm)
            return ", and will not start as it is: " + string(words.plain) + " (" + string(reason) + ")";
    if (reason.starts_with("ReqNodeNotAvail")) return ": nodes that it needs are down, drained or reserved";
    if (contains(reason, "Limit"))
        return ": a limit of your account, partition or QOS is reached (" + printable(reason) + ")";
    return reason.empty() ? string() : ": " + printable(reason);
}

/// Returns "2026-11-28 14:32".
string time_text(string_view time) {
    string text = printable(time.substr(0, 16));
    std::replace(text.begin(), text.end(), 'T', ' ');
    return text;
}

/// Returns "main, low and short".
string names_of(const std::vector<Partition>& partitions) {
    std::vector<string> names;
    for (const Partition& one : partitions)
        if (std::find(names.begin(), names.end(), one.name) == names.end()) names.push_back(one.name);
    string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + printable(names[i]);
    return text;
}

const Partition* partition_of(const SlurmJob& job, const std::vector<Partition>& partitions) {
    for (const Partition& one : partitions)
        if (job.partition.empty() ? one.is_default : one.name == job.partition) return &one;
    return nullptr;
}

string partition_text(const SlurmJob& job, const std::vector<Partition>& partitions) {
    const Partition* one = partition_of(job, partitions);
    return one ? "partition " + printable(one->name) : string("the partition");
}

/// Returns the equipment of a partition's nodes, for a job that fits none.
string offer_text(const SlurmJob& job, const std::vector<Partition>& partitions) {
    string text;
    for (const Partition& one : partitions) {
        const Partition* meant = partition_of(job, partitions);
        if (!meant || one.name != meant->name) continue;
        text += (text.empty() ? "" : "; ") + printable(one.nodes) + " nodes with " +
                (one.gres.empty() ? "no GPU" : printable(one.gres) + " each");
    }
    return text.empty() ? text : ": it has " + text;
}

}  // namespace

std::vector<JobState> jobs_of(string_view text) {
    std::vector<JobState> jobs;
    for (const string_view line : split(text, '\n')) {
        const auto fields = split(line, '|');
        if (fields.size() < 6 || !is_id(fields[0]) || fields[1].empty()) continue;
        const auto reason = line.substr(static_cast<std::size_t>(fields[5].data() - line.data()));
        jobs.push_back({string(fields[0]), string(fields[1]), value_of(fields[2]), value_of(fields[3]),
                        value_of(fields[4]), value_of(reason)});
    }
    return jobs;
}

Phase phase_of(const JobState& job) {
    const auto is = [&](std::initializer_list<string_view> states) {
        return std::find(states.begin(), states.end(), job.state) != states.end();
    };
    if (job.state == "COMPLETING") return Phase::ending;
    if (is({"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"}))
        return Phase::queued;
    if (is({"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE",
            "OUT_OF_MEMORY", "REVOKED"}))
        return Phase::over;
    return Phase::running;
}

string state_text(const JobState& job) {
    const string name = "job " + job.id;
    switch (phase_of(job)) {
        case Phase::queued:
            return name + " waits in the queue" + why_queued(job.reason) +
                   (job.start.empty() ? string() : "; it may start at " + time_text(job.start));
        case Phase::running:
            return name + (job.state == "RUNNING" ? " runs" : " is " + printable(job.state)) +
                   (job.nodes.empty() ? string() : " on " + printable(job.nodes)) +
                   (job.end.empty() ? string() : ", until " + time_text(job.end) + " at most");
        case Phase::ending:
            return name + " is ending";
        case Phase::over:
            break;
    }
    return name + " has ended (" + printable(job.state) + ")";
}

std::optional<double> time_limit_of(string_view text) {
    double days = 0;
    const auto number = [](string_view digits) -> std::optional<double> {
        int value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error != std::errc() || end != digits.data() + digits.size() || value < 0) return std::nullopt;
        return value;
    };
    const auto dash = text.find('-');
    if (dash != string_view::npos) {
        const auto found = number(text.substr(0, dash));
        if (!found) return std::nullopt;
        days = *found;
        text.remove_prefix(dash + 1);
    }
    const auto parts = split(text, ':');
    if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
    double seconds = 0;
    for (const string_view part : parts) {
        const auto found = number(part);
        if (!found) return std::nullopt;
        seconds = seconds * 60 + *found;
    }
    return days * 86400 + seconds;
}

std::vector<Partition> partitions_of(string_view text) {
    std::vector<Partition> partitions;
    for (const string_view line : split(text, '\n')) {
        const auto fields = split(line, '|');
        if (fields.size() != 4 || fields[0].empty()) continue;
        const bool is_default = fields[0].ends_with('*');
        partitions.push_back({string(fields[0].substr(0, fields[0].size() - (is_default ? 1 : 0))),
                              time_limit_of(fields[1]), string(fields[2]), value_of(fields[3]), is_default});
    }
    return partitions;
}

string id_of(string_view reply) {
    string last;  // the last one, since a site's sbatch may print lines before it
    for (const string_view line : split(reply, '\n'))
        if (const string_view id = line.substr(0, line.find(';')); is_id(id)) last = id;
    return last;
}

string message_of(string_view error) {
    string message;
    for (string_view line : split(error, '\n')) {
        for (const string_view prefix :
             {"sbatch: ", "squeue: ", "scontrol: ", "scancel: ", "sinfo: ", "slurm_load_jobs ",
              "slurm_load_partitions: ", "error: ", "fatal: ", "Batch job submission failed: ", "allocation failure: "})
            if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
        const auto end = line.find_last_not_of(" \t\r.");
        if (end == string_view::npos || line.starts_with("Try \"")) continue;
        message = printable(line.substr(0, end + 1));
    }
    return message;
}

bool is_unclear(string_view message) {
    for (const string_view part :
         {"Socket timed out", "Zero Bytes were transmitted", "Transport endpoint", "Connection reset",
          "Connection timed out", "Unexpected message received", "Message receive failure", "Message send failure",
          "Communication connection failure", "temporarily unable to accept job", "Insane message length"})
        if (contains(message, part)) return true;
    return false;
}

bool is_unreachable(string_view message) { return contains(message, "Unable to contact slurm controller"); }

string above_time_limit(const SlurmJob& job, const std::vector<Partition>& partitions) {
    const Partition* one = partition_of(job, partitions);
    if (!one || !one->limit || !job.time || *job.time <= *one->limit) return {};
    return "resources.slurm.time: " + duration_text(*job.time) + " is above the limit of partition " +
           printable(one->name) + ", " + duration_text(*one->limit) +
           ": ask for less (the study goes on in the next job), or name another partition";
}

string refusal_text(string_view message, const SlurmJob& job, const std::vector<Partition>& partitions) {
    const auto has = [&](string_view part) { return contains(message, part); };
    if (has("partition specified") || has("Invalid partition"))
        return "resources.slurm.partition: Slurm has no partition " + printable(job.partition) +
               (partitions.empty() ? string() : "; it has " + names_of(partitions));
    if (has("violates accounting/QOS policy"))
        return "Slurm refuses the job: a limit of the account or the QOS does not allow it: ask for less, or wait "
               "until "
               "jobs of yours have ended (Slurm: " +
               printable(message) + ")";
    if (has("time limit")) {
        const string above = above_time_limit(job, partitions);
        return above.empty() ? "resources.slurm.time: " + printable(message) : above;
    }
    if (has("node configuration is not available") || has("generic resource") || has("gres") ||
        has("More processors requested") || has("Memory specification") || has("Node count specification"))
        return "resources.slurm: " + partition_text(job, partitions) +
               " cannot give what nodes, cpus, gpus and memory ask for" + offer_text(job, partitions) +
               " (Slurm: " + printable(message) + ")";
    if (has("account")) return "resources.slurm.account: " + printable(message);
    if (has("qos") || has("QOS")) return "resources.slurm.qos: " + printable(message);
    if (has("feature"))
        return "resources.slurm.extra: no node has what --constraint asks for (Slurm: Invalid feature specification)";
    return "Slurm refuses the job: " + printable(message);
}

}  // namespace hpo::slurm
