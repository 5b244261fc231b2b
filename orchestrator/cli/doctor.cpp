// hpo doctor: examines the installation, and reports missing parts and their cures. It changes nothing.
#include <CLI/App.hpp>
#include <memory>

#include "orchestrator/cli/commands.hpp"
#include "orchestrator/doctor/examine.hpp"
#include "orchestrator/view/diagnosis.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {

CommandAction doctor(CLI::App& app) {
    const auto json = std::make_shared<bool>(false);
    app.add_flag("--json", *json, "One JSON object for programs");
    return [json] {
        const Diagnosis diagnosis = diagnose(examine());
        print(*json ? to_json(diagnosis).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n'
                    : view::draw_diagnosis(diagnosis, view::screen_of_stdout()));
        return diagnosis.can_train() ? 0 : 1;
    };
}

}  // namespace hpo::commands
