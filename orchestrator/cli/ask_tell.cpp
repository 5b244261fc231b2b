// hpo ask-tell: offers the search to a program over JSON Lines on stdin and stdout (docs/ask_tell.md).
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <optional>

#include "hpo/interrupted.hpp"
#include "hpo/printable.hpp"
#include "hpo/version.hpp"
#include "orchestrator/ask_tell/conversation.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/engine/code_state.hpp"
#include "orchestrator/engine/control_port.hpp"
#include "orchestrator/engine/held_study.hpp"
#include "orchestrator/engine/warm_start.hpp"
#include "orchestrator/execution/private_folder.hpp"
#include "orchestrator/execution/questions.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/store/no_store.hpp"

namespace hpo::commands {

namespace {

struct AskTellArguments {
    std::string file;
    std::vector<std::string> set;
    bool no_store = false;
};

void warn(const std::string& message) { std::fprintf(stderr, "hpo: %s\n", printable(message).c_str()); }

/// Opens the control socket of a session and publishes it. Returns nothing, after a warning, where that is refused.
std::optional<ControlPort> open_control(const PrivateFolder& folder, const Study& study, HolderLock& lock,
                                        ask_tell::Session& session, Ledger& ledger) {
    const auto path = folder.path() / "control";
    auto port = ControlPort::open(path, study.name,
                                  {.stop_trial =
                                       [&session, &ledger](std::int64_t trial) {
                                           const auto stopped = session.stop(trial);
                                           ledger.settle();
                                           return stopped;
                                       },
                                   .stop_study = [&session] { session.stop(); },
                                   .running = [&session] { return session.running(); }});
    if (port)
        if (const auto published = lock.publish(path.string()); !published) port = published.error();
    if (port) return *std::move(port);
    warn("hpo stop and hpo serve cannot reach this session: " + port.error().message);
    return {};
}

/// Serves one session and returns the exit code. `ledger` must have been replayed. `lock` is null without a store.
int converse(const Study& study, Ledger& ledger, HolderLock* lock) {
    const SteadyClock clock;
    ledger.session_started({host_name(), ::getpid(), version, code_state(study)});
    ask_tell::Session session(study, ledger, clock);
    std::string failure;
    Seconds summarized = clock.now();
    const auto store = [&] {
        ledger.settle();
        if ((clock.now() - summarized).count() < 1) return;
        ledger.summarize();
        summarized = clock.now();
    };
    const auto in_place = [&] { return lock == nullptr || lock->in_place(); };
    std::optional<PrivateFolder> folder;
    std::optional<ControlPort> control;
    if (lock != nullptr) {
        auto made = PrivateFolder::make(study.name);
        if (!made) warn("hpo stop and hpo serve cannot reach this session: " + made.error().message);
        if (made) folder = *std::move(made);
        if (folder) control = open_control(*folder, study, *lock, session, ledger);
    }
    const std::string reason =
        ask_tell::Conversation(session, store, in_place, control ? &*control : nullptr).run(failure);
    if (in_place()) session.end(reason);
    if (!failure.empty()) throw Fatal(failure, exit_status_of_failure());
    return interrupted_by != 0 ? exit_status_of(interrupted_by) : 0;
}

int ask_tell_command(const AskTellArguments& arguments) {
    const Study study = load_study(arguments.file, {arguments.set, {}}, WithoutWorker::allowed);
    ask_tell::wake_on_signals();
    const Questions questions;
    try {
        if (arguments.no_store) {
            const auto priors = load_prior_studies(study, warn);
            if (!priors) throw Fatal(priors.error().message);
            auto proposer = Proposer::make(study, *priors);
            if (!proposer) throw Fatal(proposer.error().message);
            auto rules = Rules::make(study);
            if (!rules) throw Fatal(rules.error().message);
            NoStore no_store;
            Ledger ledger(study, no_store, *std::move(proposer), *std::move(rules));
            return converse(study, ledger, nullptr);
        }
        const StudyFolder folder = study_folder(study.name);
        const auto held = HeldStudy::take(
            study, folder,
            [&](const std::string& before, const auto& valued) {
                auto changes = may_go_on(study, before, valued, "Give the study another name." + learning_from(study));
                if (changes && !changes->wider.empty()) warn(changes->wider);
                return changes;
            },
            warn);
        if (!held) throw Fatal(held.error().message, exit_status_of_failure());
        if (const auto begun = (*held)->begin(study, folder, warn); !begun)
            throw Fatal(begun.error().message, exit_status_of_failure());
        return converse(study, (*held)->ledger, &(*held)->lock);
    } catch (const StoreFailed& failed) {
        throw Fatal(std::string("the study's database cannot be written: ") + failed.what(), exit_status_of_failure());
    }
}

}  // namespace

CommandAction ask_tell_study(CLI::App& app) {
    const auto arguments = std::make_shared<AskTellArguments>();
    app.add_option("file", arguments->file, "The study file, or the name of a study that has run")->required();
    app.add_option("--set", arguments->set, "Override one key: --set budget.trials=100")
        ->take_all()
        ->type_name("KEY=VALUE");
    app.add_flag("--no-store", arguments->no_store, "Store nothing: the study ends with this process");
    app.footer(
        app.get_footer() +
        "\nOne JSON object per line in, one per line out:\n"
        "  {\"ask\": 2}\n"
        "    {\"trials\": [{\"trial\": 1, \"params\": {\"lr\": 0.01}}, {\"trial\": 2, \"params\": {\"lr\": 0.3}}]}\n"
        "  {\"report\": {\"trial\": 1, \"step\": 3, \"values\": {\"val_loss\": 0.41}}}\n"
        "    {\"trial\": 1, \"decision\": \"continue\"}, or \"stop\" or \"pause\" with \"rule\" and \"reason\"\n"
        "  {\"tell\": {\"trial\": 1, \"state\": \"complete\", \"values\": {\"val_loss\": 0.40}}}\n"
        "    {\"trial\": 1, \"ok\": true}\n"
        "  {\"best\": 1}\n"
        "    {\"trial\": 1, \"params\": {\"lr\": 0.01}, \"values\": {\"val_loss\": 0.4}, \"step\": 3, \"state\": "
        "\"complete\"}\n"
        "A request that cannot be carried out is answered with {\"error\": \"...\", \"line\": 5}, and the session "
        "continues.\nThe study needs no 'worker'. It is stored and resumed like any other study. More: "
        "docs/ask_tell.md; for Python: hpo.Study.\n\n"
        "Exit codes: 0 the input ended; 1 failed; 2 usage; 130 interrupted; 143 terminated.");
    return [arguments] { return ask_tell_command(*arguments); };
}

}  // namespace hpo::commands
