// Fuzzes the readers of the output of Slurm's commands. From any input, a job has an id, a state and a text.
#include <cstdint>
#include <string_view>

#include "orchestrator/slurm/steps.hpp"
#include "tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace hpo;
    using namespace hpo::slurm;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto jobs = jobs_of(text);
    for (const JobState& job : jobs) {
        require(!job.id.empty() && !job.state.empty());
        require(state_text(job).starts_with("job " + job.id));
        (void)decide({.job = job});
    }
    const Found found = find_job(jobs, {"12"});
    require(found.job.has_value() || found.surplus.empty());
    const auto partitions = partitions_of(text);
    for (const Partition& one : partitions) require(!one.limit || *one.limit >= 0);
    const std::string message = message_of(text);
    require(message.find('\n') == std::string::npos);
    require(!refusal_text(message, {.partition = "gpu", .time = 3600}, partitions).empty());
    require(id_of(text).size() <= 12);
    return 0;
}
