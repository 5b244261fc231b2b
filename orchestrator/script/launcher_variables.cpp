#include "orchestrator/script/launcher_variables.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "os/environment.hpp"

namespace hpo::script {

namespace {

using std::string_view;

constexpr std::array<string_view, 8> of_slurm{
    "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID",         "SLURM_GTIDS",
    "SLURM_NTASKS", "SLURM_NPROCS",  "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"};
constexpr std::array<string_view, 4> ranks_of_mpi{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                                  "MV2_COMM_WORLD_RANK"};
constexpr std::array<string_view, 6> begins_of_mpi{"OMPI_", "ORTE_", "PRTE_", "PMIX_", "PMI_", "MV2_COMM_WORLD_"};
constexpr string_view begin_of_consent = "OMPI_ALLOW_";  // of the user: to run as root

bool begins_as_of_mpi(string_view name) {
    return !name.starts_with(begin_of_consent) &&
           std::ranges::any_of(begins_of_mpi, [&](string_view begin) { return name.starts_with(begin); });
}

}  // namespace

std::vector<std::string> of_launcher(const std::vector<string_view>& names) {
    const bool by_mpi = std::ranges::find_first_of(names, ranks_of_mpi) != names.end();
    std::vector<std::string> found;
    for (const string_view name : names)
        if (std::ranges::find(of_slurm, name) != of_slurm.end() || (by_mpi && begins_as_of_mpi(name)))
            found.emplace_back(name);
    return found;
}

void leave_launcher() {
    std::vector<string_view> names;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const string_view text(*entry);
        names.push_back(text.substr(0, text.find('=')));
    }
    for (const std::string& name : of_launcher(names)) ::unsetenv(name.c_str());
}

}  // namespace hpo::script
