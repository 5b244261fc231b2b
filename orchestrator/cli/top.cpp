#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/printable.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/control_client.hpp"
#include "orchestrator/cli/top_json.hpp"
#include "orchestrator/cli/top_reading.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/view/terminal.hpp"
#include "orchestrator/view/top.hpp"

namespace hpo::commands {
namespace {

struct TopArguments {
    std::string study, filter, sort;
    bool once = false;
    bool json = false;
    double interval = 1;
};

/// Asks the holder to stop a trial, or the study. Returns the message for the user.
std::string stop(const StudySnapshot& snapshot, std::optional<std::int64_t> trial) {
    if (!snapshot.holder) return "the study is not running";
    const auto answer = ask_to_stop(*snapshot.holder, trial);
    if (!answer) return answer.error().message;
    return (trial ? "trial " + std::to_string(*trial) : "the study") + " is stopping";
}

/// Returns the state in which the table is shown first. Throws Fatal if the filter or the column is not known.
view::TopState first_state(const TopArguments& arguments, const StudySnapshot& snapshot) {
    view::TopState state;
    if (const auto filter = view::parse_filter(arguments.filter, snapshot.study, snapshot.record); !filter)
        throw Fatal("--filter: " + filter.error().message, 2);
    state.filter = arguments.filter;
    state.message = snapshot.store->missing_results();
    if (arguments.sort.empty()) return state;
    const auto field = view::field_named(arguments.sort, snapshot.study, snapshot.record);
    if (!field) throw Fatal("--sort: no parameter, metric or column is called " + printable(arguments.sort), 2);
    state.order = {*field};
    return state;
}

int watch(StudySnapshot snapshot, view::TopState state, double interval) {
    view::Curves curves;
    KeptTimeLeft left;
    std::string error;  // thrown once the terminal is restored
    {
        view::FullScreen terminal;
        for (;;) {
            const auto screen = view::screen_of_stdout();
            if (const auto read = read_steps(snapshot, curves, state, screen); !read) {
                error = read.error().message;
                break;
            }
            const Seen seen(snapshot, curves, state);
            view::settle(state, seen.input(), screen);
            if (!terminal.show(view::draw_top(seen.input(left.of(snapshot, seen.moment)), state, screen))) return 0;
            const auto key = terminal.read_key(interval);
            const auto request = view::on_key(state, key, seen.input(), screen);
            if (request == view::TopRequest::quit) return 0;
            if (request == view::TopRequest::stop_chosen) state.message = stop(snapshot, state.chosen);
            if (request == view::TopRequest::stop_study) state.message = stop(snapshot, std::nullopt);
            if (request == view::TopRequest::open_study) {
                auto other = take_snapshot(study_folder(seen.studies[static_cast<std::size_t>(state.picked)]));
                if (other)
                    snapshot = *std::move(other), curves.clear(), left = {},
                    state = {.columns = state.columns, .message = snapshot.store->missing_results()};
                else
                    state.message = other.error().message;
                continue;
            }
            if (const auto read = snapshot.refresh(); !read) {
                error = read.error().message;
                break;
            }
        }
    }
    throw Fatal(error);
}

int run_top(const TopArguments& arguments) {
    StudySnapshot snapshot = snapshot_or_fail(choose_study(arguments.study));
    if (arguments.json) {
        print(top_json(snapshot));
        return 0;
    }
    view::TopState state = first_state(arguments, snapshot);
    if (!arguments.once && view::is_terminal(STDOUT_FILENO) && view::is_terminal(STDIN_FILENO))
        return watch(std::move(snapshot), std::move(state), arguments.interval);
    auto screen = view::screen_of_stdout();
    screen.height = 0;
    view::Curves curves;
    if (const auto read = read_steps(snapshot, curves, state, screen); !read) throw Fatal(read.error().message);
    const Seen seen(snapshot, curves, state);
    KeptTimeLeft left;
    print(view::draw_top(seen.input(left.of(snapshot, seen.moment)), state, screen));
    return 0;
}

}  // namespace

CommandAction top(CLI::App& app) {
    const auto arguments = std::make_shared<TopArguments>();
    app.add_option("STUDY", arguments->study, "A study's name, folder or YAML file; default: the most recent one");
    app.add_flag("--once", arguments->once, "Print the table of all trials once and exit");
    app.add_option("--filter", arguments->filter, "Only trials that match, as in 'optimizer=adamw value<0.2 complete'");
    app.add_option("--sort", arguments->sort, "Sort by this parameter, metric or column; default: the best first");
    app.add_flag("--json", arguments->json, "Print all trials as JSON and exit");
    app.add_option("--interval", arguments->interval, "Refresh interval (s)")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    return [arguments] { return run_top(*arguments); };
}

}  // namespace hpo::commands
