#include "tests/contract/execution/host_agent.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "orchestrator/cluster/agent.hpp"
#include "orchestrator/cluster/hosts_site.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::testing_execution {

bool tests_hosts() {
    const char* asked = std::getenv("HPO_TEST_EXECUTOR");
    return asked != nullptr && std::strcmp(asked, "hosts") == 0;
}

OnAHost make_on_a_host(boost::asio::io_context& loop, const std::string& tag, ExecutionListener listener) {
    // The study is only what an agent needs to begin: the tests launch commands of their own.
    static const Study study = *parse_study(
        "{study: x, objective: {metric: loss, direction: minimize}, space: {x: {type: float, low: 0.0, high: 1.0}}, "
        "worker: {command: [\"true\"]}, budget: {trials: 1, epochs: 1}, resources: {backend: cpu}}",
        "study.yaml");
    static const StudyFolder folder{std::filesystem::temp_directory_path()};
    static const Programs programs{"/proc/self/exe", "", ""};
    const OpenSite open = cluster::open_hosts({{"a", {"/proc/self/exe", agent_command}}});
    auto site = open({loop, study, folder, programs, tag, [](const DeviceNotice&) {}});
    if (!site) throw std::runtime_error(site.error().message);
    auto executor = site->executor(std::move(listener));
    if (!executor) throw std::runtime_error(executor.error().message);
    while (!site->machine->waits_to_begin().empty()) {
        loop.run_one_for(std::chrono::milliseconds(100));
        (void)site->machine->poll(Seconds(0));
    }
    if (const std::string gone = site->machine->gone(); !gone.empty()) throw std::runtime_error(gone);
    return {std::move(site->machine), *std::move(executor)};
}

}  // namespace hpo::testing_execution
