#include <CLI/App.hpp>
#include <nlohmann/json.hpp>

#include "orchestrator/cli/commands.hpp"
#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/stopping/registry.hpp"
#include "orchestrator/study/schema.hpp"

namespace hpo::commands {

CommandAction schema(CLI::App&) {
    return [] {
        print(study::study_schema({sampler_vocabulary(), rule_vocabulary()}).dump(1) + "\n");
        return 0;
    };
}

}  // namespace hpo::commands
