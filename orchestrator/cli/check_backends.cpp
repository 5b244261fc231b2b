#include "orchestrator/cli/check_backends.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hpo/result.hpp"
#include "hpo/units.hpp"
#include "orchestrator/calibration/step_time.hpp"

namespace hpo {

namespace {

constexpr int first_gpu = 0;

std::string steps_range(const std::vector<PredictedSample>& predicted, double PredictedSample::*seconds) {
    const auto [least, most] = std::minmax_element(predicted.begin(), predicted.end(),
                                                   [&](auto& a, auto& b) { return a.*seconds < b.*seconds; });
    const std::string low = duration_text((*least).*seconds), high = duration_text((*most).*seconds);
    return low == high ? low : low + " to " + high;
}

}  // namespace

std::vector<PredictedSample> predict_samples(const Samples& samples, const SessionMachine& machine) {
    const auto measured = machine.calibrations();
    const auto cpu = measured.find(host_only), gpu = measured.find(first_gpu);
    std::vector<PredictedSample> predicted;
    if (cpu == measured.end() || gpu == measured.end()) return predicted;
    for (const Sample& sample : samples) {
        const StepWork work = step_work(sample.answer, sample.params);
        const auto on_cpu = predict_step(cpu->second, work), on_gpu = predict_step(gpu->second, work);
        if (on_cpu && on_gpu) predicted.push_back({sample.trial, on_cpu->seconds(), on_gpu->seconds()});
    }
    return predicted;
}

void plan_on_cpu(const Study& study, const std::vector<PredictedSample>& predicted, Samples& samples) {
    if (std::none_of(predicted.begin(), predicted.end(), [](const auto& one) { return one.on_cpu(); })) return;
    auto worker = OneWorker::start(study, installed_programs(), {});
    if (!worker) throw Fatal(worker.error().message);
    for (Sample& sample : samples) {
        const auto found = std::find_if(predicted.begin(), predicted.end(),
                                        [&](const PredictedSample& one) { return one.trial == sample.trial; });
        if (found == predicted.end() || !found->on_cpu()) continue;
        const auto answer = (*worker)->plan(sample.params, study.budget.epochs, study.seed);
        if (answer) sample.reserved = {answer->footprint, answer->fusion_key, answer->colocated, true};
    }
}

std::string describe_backends(const std::vector<PredictedSample>& predicted, std::size_t samples,
                              const SessionMachine& machine) {
    const auto measured = machine.calibrations();
    const std::string cpu = measured.at(host_only).device, gpu = measured.at(first_gpu).device;
    const auto on_cpu = std::count_if(predicted.begin(), predicted.end(), [](const auto& one) { return one.on_cpu(); });
    return std::to_string(on_cpu) + " of " + std::to_string(samples) +
           " sampled trials are predicted to be faster on " + cpu + " (" +
           steps_range(predicted, &PredictedSample::cpu) + " a step), " +
           std::to_string(static_cast<std::ptrdiff_t>(predicted.size()) - on_cpu) + " on " + gpu + " (" +
           steps_range(predicted, &PredictedSample::gpu) + ")";
}

nlohmann::ordered_json to_json(const std::vector<PredictedSample>& predicted) {
    auto list = nlohmann::ordered_json::array();
    for (const PredictedSample& one : predicted)
        list.push_back({{"trial", one.trial}, {"cpu_seconds", one.cpu}, {"gpu_seconds", one.gpu}});
    return list;
}

}  // namespace hpo
