#include "orchestrator/cli/bench_training.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "hpo/random.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/calibration/profile.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/engine/warm_start.hpp"
#include "orchestrator/engine/worker_output.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/sampling/proposer.hpp"
#include "orchestrator/view/profile.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo {

namespace {

/// Returns the first trial of the study, as `hpo run` would begin it. Throws Fatal.
to_worker::Run first_trial(const Study& study) {
    if (study.script())
        throw Fatal("hpo bench training times the built-in models; " + study.name +
                    " trains by its own command: hpo monitor -- COMMAND shows its limits");
    const auto priors = prior_studies_of(study);
    if (!priors) throw Fatal(priors.error().message);
    auto proposer = Proposer::make(study, *priors);
    if (!proposer) throw Fatal(proposer.error().message);
    const auto proposal = proposer->propose(1);
    to_worker::Run run;
    run.id = {1, 1};
    if (proposal) run.params = proposal->params;
    run.params.insert(study.fixed.begin(), study.fixed.end());
    if (const auto folds = run.params.find("folds"); folds != run.params.end()) {  // one model is timed
        const double count = number_or(folds->second, 2);
        run.params.erase("folds");
        run.params["validation"] = 1 / count;
    }
    run.steps = study.budget.epochs;
    run.seed = trial_seed(study.seed, 1);
    run.data_seed = study.seed;
    run.objective = study.objective;
    return run;
}

nlohmann::ordered_json profile_json(const Study& study, const TrainingProfile& profile,
                                    const DeviceCalibration* peaks) {
    const auto known = [](double number) { return number > 0 ? nlohmann::ordered_json(number) : nullptr; };
    nlohmann::ordered_json operations = nlohmann::ordered_json::array();
    for (const OperationTime& one : profile.operations)
        operations.push_back({{"operation", one.name},
                              {"shape", one.shape},
                              {"calls", one.calls},
                              {"flops", one.flops},
                              {"bytes", one.bytes},
                              {"seconds", one.time.seconds},
                              {"least", one.time.least},
                              {"most", one.time.most}});
    return {{"schema", json_schema},
            {"study", study.name},
            {"backend", profile.backend},
            {"name", profile.name},
            {"precision", profile.precision},
            {"batch_size", profile.batch_size},
            {"micro_batches", profile.micro_batches},
            {"parameters", profile.parameters},
            {"updates", profile.updates},
            {"seconds_per_update", profile.whole},
            {"loading",
             profile.loading.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(profile.loading)},
            {"peak_flops", known(peaks ? peaks->peak(profile.precision) : 0)},
            {"peak_memory_rate", known(peaks ? peaks->memory_rate : 0)},
            {"operations", std::move(operations)}};
}

}  // namespace

int bench_training(const TrainingBench& arguments, const std::map<std::string, std::string>& environment,
                   const DeviceCalibration* peaks) {
    const Study& study = arguments.study;
    const std::string run = wire::encode(first_trial(study));
    const WorkerOutput output =
        worker_output({"--profile", run, "--updates", std::to_string(arguments.updates)}, environment);
    const auto profile = read_profile(output.text);
    if (!profile) throw Fatal(study.name + " was not timed: " + profile.error().message);
    if (study.resources.trial.processes > 1)
        std::fprintf(
            stderr,
            "One process was timed, with whole batches: resources.trial.processes (%lld) is not. hpo show of a "
            "trial tells their share of communication.\n",
            static_cast<long long>(study.resources.trial.processes));
    if (peaks && peaks->identity != profile->identity) peaks = nullptr;
    print(arguments.json
              ? profile_json(study, *profile, peaks).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
                    '\n'
              : view::draw_profile(*profile, peaks, view::screen_of_stdout()));
    return 0;
}

}  // namespace hpo
