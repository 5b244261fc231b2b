// hpo simulate: predicts the duration of a study, on this or other hardware, from the measured costs of its trials.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "hpo/printable.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/simulation/predict_study.hpp"
#include "orchestrator/view/prediction.hpp"

namespace hpo::commands {

namespace {

struct SimulateArguments {
    std::string study;
    std::optional<std::string> devices;
    std::string from;
    std::vector<std::string> set;
    std::optional<double> price;
    std::int64_t simulations = 16;
    bool json = false;
};

int simulate_command(const SimulateArguments& arguments) {
    PredictionQuestion question{.study = arguments.study,
                                .set = arguments.set,
                                .devices = arguments.devices,
                                .from = arguments.from,
                                .takes_from = true,
                                .price = arguments.price};
    question.plan.simulations = arguments.simulations;
    const PredictionReport report = predict_study(question);
    print(arguments.json ? to_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n'
                         : view::draw_prediction(report));
    return 0;
}

}  // namespace

CommandAction simulate(CLI::App& app) {
    const auto arguments = std::make_shared<SimulateArguments>();
    app.add_option("STUDY", arguments->study, "A study that has run, or a study file")->required();
    app.add_option("--devices", arguments->devices,
                   "Other hardware: 8xH200, 16xcpu, or a YAML file (docs/simulation.md); default: as it ran");
    app.add_option("--from", arguments->from, "The study whose measurements are used; default: the study itself");
    app.add_option("--set", arguments->set, "Override one key: --set budget.trials=1000")
        ->take_all()
        ->type_name("KEY=VALUE");
    app.add_option("--price", arguments->price, "Price of an hour of all the hardware, in any currency")
        ->check(CLI::Validator(
            [](std::string& text) {
                double price = -1;
                const bool read = CLI::detail::lexical_cast(text, price);
                return read && std::isfinite(price) && price >= 0
                           ? std::string()
                           : printable(text) + " must be a finite number of at least 0";
            },
            ""));
    app.add_option("--simulations", arguments->simulations, "How many simulations the range is taken from")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_flag("--json", arguments->json, "One JSON object, for programs");
    return [arguments] { return simulate_command(*arguments); };
}

}  // namespace hpo::commands
