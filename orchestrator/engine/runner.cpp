#include "orchestrator/engine/runner.hpp"

#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <optional>

#include "hpo/doing.hpp"
#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/study_log.hpp"
#include "orchestrator/engine/study_session.hpp"
#include "orchestrator/execution/interrupts.hpp"
#include "orchestrator/execution/processes.hpp"

namespace hpo {

namespace {

/// Returns the tag of this study's processes, by which they are found even after a crash. The same folder gives the
/// same tag.
std::string study_tag(const StudyFolder& folder) {
    struct stat info {};
    stat(folder.path.c_str(), &info);
    return "hpo-" + std::to_string(info.st_dev) + "-" + std::to_string(info.st_ino);
}

}  // namespace

Result<void> could_begin(const Study& study, const Programs& programs, bool here) {
    if (const auto proposer = Proposer::make(study); !proposer) return proposer.error();
    if (const auto rules = Rules::make(study); !rules) return rules.error();
    if (!here) return {};
    if (const auto machine = LiveMachine::make(study, programs.hpo); !machine) return machine.error();
    return {};
}

Result<RunOutcome> run_study(const Study& study, const StudyFolder& folder, const Programs& programs,
                             RunObserver& observer, const Acceptance& accepted, const OpenSite& open_site) {
    if (const auto named = check_utf8(folder.path); !named) return named.error();
    heed_interrupts();
    Questions questions;
    const auto warn = [&](const std::string& message) { observer.notice({Notice::Level::warning, 0, message}); };
    auto held = HeldStudy::take(study, folder, accepted, warn);
    if (!held) return held.error();

    const std::string tag = study_tag(folder);
    std::optional<Doing> doing(std::in_place, "ends processes that an earlier session has left");
    if (!sweep(tag)) return Error{"processes of an earlier run would not die; see ps for HPO_TAG=" + tag};
    doing.reset();
    doing.emplace("looks for the machine's devices");
    const auto notice = [&](Notice::Level level, const std::string& text) { observer.notice({level, 0, text}); };
    boost::asio::io_context loop(1);
    auto site = open_site({loop, study, folder, programs, tag, [&](const DeviceNotice& device) {
                               notice(device.warning ? Notice::Level::warning : Notice::Level::info, device.text);
                           }});
    if (!site) return site.error();
    doing.reset();
    StudySession session(loop, study, folder, observer, **held, *std::move(site), open_study_log(folder.log()),
                         questions);
    auto outcome = session.run();
    if (outcome && outcome->has_begun) outcome->store = std::move((*held)->store);
    return outcome;
}

}  // namespace hpo
