#include "orchestrator/cli/run_examination.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "hpo/printable.hpp"
#include "orchestrator/engine/warm_start.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/preview/samples.hpp"
#include "orchestrator/preview/script_ready.hpp"
#include "orchestrator/study/study_file.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo {
namespace {

/// Names the earlier studies from which a new one learns by `warm_start: auto`, or from which it could.
void tell_warm_start(const Study& study, bool fresh) {
    std::error_code ignored;
    if (!fresh && std::filesystem::exists(study_folder(study.name).database(), ignored)) return;
    if (study.warm_start_auto) {
        const std::string names = names_of_alike(study);
        std::fprintf(stderr, "hpo: warm_start: auto %s\n",
                     names.empty() ? "finds no earlier study like this one" : ("learns from " + names).c_str());
    } else if (view::is_terminal(STDERR_FILENO)) {
        if (const std::string offer = warm_start_offer(study); !offer.empty())
            std::fprintf(stderr, "hpo: earlier studies are like this one: %s\n", offer.c_str());
    }
}

}  // namespace

void examine(const RunArguments& arguments, const Study& study, const RunPlace& place, const Programs& programs) {
    const Overrides changes = overrides(arguments);
    refuse_unready_script(study, changes.set.empty() ? arguments.file : "", place.here());
    if (arguments.on.starts_with("local:") && place.hosts.size() > 1)
        std::fprintf(stderr,
                     "hpo: --on %s counts the cores and the memory of this machine %zu times: it is for tests\n",
                     printable(arguments.on).c_str(), place.hosts.size());
    std::fputs(warnings_of(arguments.file, changes).c_str(), stderr);
    for (const std::string& warning : shadowed_files(study))
        std::fputs(("hpo: warning: " + warning + '\n').c_str(), stderr);
    if (!arguments.quiet && !arguments.json) tell_warm_start(study, arguments.fresh);
    refuse_batches_by_data({study, arguments.file, changes.set.empty()}, programs);
}

}  // namespace hpo
