#include "orchestrator/preview/backends.hpp"

#include <algorithm>

#include "hpo/result.hpp"
#include "orchestrator/calibration/step_time.hpp"

namespace hpo {

BackendForecast forecast_backends(const Samples& samples, const SessionMachine& machine) {
    constexpr int first_gpu = 0;
    const auto measured = machine.calibrations();
    const auto cpu = measured.find(host_only), gpu = measured.find(first_gpu);
    if (cpu == measured.end() || gpu == measured.end()) return {};
    BackendForecast forecast{{}, cpu->second.device, gpu->second.device};
    for (const Sample& sample : samples) {
        const StepWork work = step_work(sample.answer, sample.params);
        const auto on_cpu = predict_step(cpu->second, work), on_gpu = predict_step(gpu->second, work);
        if (on_cpu && on_gpu) forecast.samples.push_back({sample.trial, on_cpu->seconds(), on_gpu->seconds()});
    }
    return forecast;
}

void plan_on_cpu(const Study& study, const Programs& programs, const BackendForecast& forecast, Samples& samples) {
    const auto& predicted = forecast.samples;
    if (std::none_of(predicted.begin(), predicted.end(), [](const auto& one) { return one.on_cpu(); })) return;
    auto worker = OneWorker::start(study, programs, {});
    if (!worker) throw Fatal(worker.error().message);
    for (Sample& sample : samples) {
        const auto found = std::find_if(predicted.begin(), predicted.end(),
                                        [&](const SampleForecast& one) { return one.trial == sample.trial; });
        if (found == predicted.end() || !found->on_cpu()) continue;
        const auto answer = (*worker)->plan(sample.params, study.budget.epochs, study.seed);
        if (answer) sample.reserved = {answer->footprint, answer->fusion_key, answer->colocated, true};
    }
}

}  // namespace hpo
