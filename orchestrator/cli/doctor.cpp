// hpo doctor: examines the installation, and reports missing parts and their cures. It changes nothing. With
// --self-test it tries the promises of docs/guarantees.md in a folder of its own.
#include <CLI/App.hpp>
#include <memory>

#include "orchestrator/cli/commands.hpp"
#include "orchestrator/doctor/examine.hpp"
#include "orchestrator/doctor/self_test.hpp"
#include "orchestrator/doctor/tried_run.hpp"
#include "orchestrator/view/diagnosis.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {

namespace {

template <class Result>
void print_json(const Result& result) {
    print(to_json(result).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
}

int run_self_test(bool json) {
    const auto draw = [&](const Promise& promise) {
        if (!json) print(view::draw_promise(promise, view::screen_of_stdout()));
    };
    try {
        const SelfTestResult result = self_test(existing_runs_folder(), draw);
        if (json)
            print_json(result);
        else
            print(view::draw_self_test_end(result, view::screen_of_stdout()));
        return result.kept() ? 0 : 1;
    } catch (const SelfTestInterrupted& interrupted) {
        return 128 + interrupted.signal;
    }
}

}  // namespace

CommandAction doctor(CLI::App& app) {
    const auto json = std::make_shared<bool>(false), promises = std::make_shared<bool>(false);
    app.add_flag("--json", *json, "One JSON object for programs");
    app.add_flag("--self-test", *promises,
                 "Try the guarantees on this machine: kills, Ctrl-C, resuming; ten seconds, in a folder of its own");
    return [json, promises] {
        if (*promises) return run_self_test(*json);
        const Diagnosis diagnosis = diagnose(examine());
        if (*json)
            print_json(diagnosis);
        else
            print(view::draw_diagnosis(diagnosis, view::screen_of_stdout()));
        return diagnosis.can_train() ? 0 : 1;
    };
}

}  // namespace hpo::commands
