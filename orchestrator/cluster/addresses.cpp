#include "orchestrator/cluster/addresses.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "hpo/nearest.hpp"
#include "hpo/printable.hpp"
#include "orchestrator/cluster/agent.hpp"

namespace hpo::cluster {

namespace {

constexpr std::size_t most_hosts = 4096;
constexpr int most_local = 64;

std::optional<int> whole(std::string_view text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
}

/// Splits at commas, but not within brackets.
std::vector<std::string_view> items_of(std::string_view list) {
    std::vector<std::string_view> items;
    std::size_t begin = 0;
    bool inside = false;
    for (std::size_t i = 0; i <= list.size(); ++i) {
        if (i < list.size() && list[i] == '[') inside = true;
        if (i < list.size() && list[i] == ']') inside = false;
        if (i < list.size() && (list[i] != ',' || inside)) continue;
        items.push_back(list.substr(begin, i - begin));
        begin = i + 1;
    }
    return items;
}

/// Quotes a word for a POSIX shell.
std::string quoted(const std::string& word) {
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

/// Refuses a host that ssh would read as an option.
bool is_ssh_host(std::string_view name) {
    return !name.empty() && name.front() != '-' && std::none_of(name.begin(), name.end(), [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == 0x7F;
    });
}

Result<std::vector<Address>> local_agents(std::string_view number, const std::filesystem::path& hpo) {
    const auto count = whole(number);
    if (!count || *count < 1 || *count > most_local)
        return Error{"--on local:N: N is a number of agents from 1 to " + std::to_string(most_local)};
    std::vector<Address> all;
    for (int i = 1; i <= *count; ++i) all.push_back({"local-" + std::to_string(i), {hpo.string(), agent_command}});
    return all;
}

/// Returns a script for sh that becomes the agent: the program with this path, since hosts that share a file system
/// have it, or the one on PATH where that is missing or cannot run, as on a host with other processors. Where there is
/// none, it prints why.
std::string agent_script(const std::filesystem::path& hpo) {
    const std::string agent = agent_command;
    return "p=" + quoted(hpo.string()) +
           "; if test -x \"$p\" && why=$(\"$p\" --version 2>&1 </dev/null); then exec \"$p\" " + agent +
           "; fi; command -v hpo >/dev/null || { echo \"${why:-$p: not found}\" >&2; exit 127; }; exec hpo " + agent;
}

Result<std::vector<Address>> ssh_agents(std::string_view list, const std::filesystem::path& hpo) {
    const std::string script = agent_script(hpo);
    std::vector<Address> all;
    for (const std::string_view host : items_of(list)) {
        if (!is_ssh_host(host))
            return Error{"--on ssh:HOST,HOST: '" + printable(host) + "' is no name of a host as ssh takes it"};
        all.push_back({std::string(host),
                       {"ssh", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=10", "-T", "--", std::string(host),
                        "exec sh -c " + quoted(script)}});
    }
    return all;
}

Result<std::vector<Address>> slurm_agents(const std::filesystem::path& hpo, const Environment& environment) {
    const auto job = environment("SLURM_JOB_ID"), list = environment("SLURM_JOB_NODELIST");
    if (!job || !list)
        return Error{"--on slurm: this process runs in no allocation of Slurm: start hpo in a batch script or salloc"};
    const auto nodes = nodes_of(*list);
    if (!nodes) return nodes.error();
    std::vector<Address> all;
    // A step that asks for nothing gets all cores and memory that the job has on the node. One that asks for these
    // cores gets a single one where nodes differ in them (Slurm 22.05). Slurm may be set up to bind a task to one core.
    for (const std::string& node : *nodes)
        all.push_back({node,
                       {"srun", "-u", "-N1", "-n1", "-w", node, "--overlap", "--cpu-bind=none", "/bin/sh", "-c",
                        agent_script(hpo)}});
    return all;
}

Error no_list(std::string_view list) { return Error{"'" + printable(list) + "' is no list as Slurm writes it"}; }

}  // namespace

Result<std::vector<std::string>> nodes_of(std::string_view list) {
    std::vector<std::string> nodes;
    for (const std::string_view item : items_of(list)) {
        const auto open = item.find('[');
        if (item.empty()) return no_list(list);
        if (open == std::string_view::npos) {
            nodes.emplace_back(item);
            continue;
        }
        const auto end = item.find(']', open);
        if (end == std::string_view::npos || item.find('[', end) != std::string_view::npos) return no_list(list);
        const std::string before(item.substr(0, open)), after(item.substr(end + 1));
        for (const std::string_view range : items_of(item.substr(open + 1, end - open - 1))) {
            const auto dash = range.find('-');
            const std::string_view low = range.substr(0, dash);
            const auto first = whole(low), last = dash == range.npos ? first : whole(range.substr(dash + 1));
            if (!first || !last || *last < *first || static_cast<std::size_t>(*last - *first) >= most_hosts)
                return no_list(list);
            for (int number = *first; number <= *last; ++number) {
                std::string digits = std::to_string(number);
                if (digits.size() < low.size()) digits.insert(0, low.size() - digits.size(), '0');
                nodes.push_back(before + digits + after);
            }
            if (nodes.size() > most_hosts) return no_list(list);
        }
    }
    if (nodes.size() > most_hosts) return no_list(list);
    return nodes;
}

bool in_allocation_of_several(const Environment& environment) {
    const auto list = environment("SLURM_JOB_NODELIST");
    if (!environment("SLURM_JOB_ID") || !list) return false;
    const auto nodes = nodes_of(*list);
    return nodes && nodes->size() > 1;
}

Result<std::vector<Address>> addresses_of(const std::string& on, const std::filesystem::path& hpo,
                                          const Environment& environment) {
    const auto colon = on.find(':');
    const std::string kind = on.substr(0, colon);
    const std::string_view rest = colon == on.npos ? std::string_view() : std::string_view(on).substr(colon + 1);
    const auto meant = nearest(kind, {"slurm", "local", "ssh", "join"});
    Result<std::vector<Address>> all =
        Error{"--on " + printable(on) + ": trials run on slurm, ssh:HOST,HOST, local:2, local or join" +
              (meant.empty() || meant == kind ? "" : "; did you mean " + std::string(meant) + "?")};
    if (kind == "local" && colon != on.npos) all = local_agents(rest, hpo);
    if (kind == "ssh" && colon != on.npos) all = ssh_agents(rest, hpo);
    if (on == "slurm") all = slurm_agents(hpo, environment);
    if (on.starts_with("join,") || on.find(",join") != on.npos)
        all = Error{"--on " + printable(on) +
                    ": join stands alone, for a study that runs only where agents join; leave it out, and give "
                    "--listen, so that they join these hosts"};
    if (!all) return all;
    std::set<std::string> names;
    for (const Address& one : *all)
        if (!names.insert(one.name).second) return Error{"--on: the host " + one.name + " is named twice"};
    return all;
}

}  // namespace hpo::cluster
