#include "orchestrator/simulation/predict_study.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/engine/one_worker.hpp"
#include "orchestrator/engine/warm_start.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/simulation/drawn.hpp"
#include "orchestrator/simulation/hardware_file.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace {

using Json = nlohmann::ordered_json;

/// Returns the study that was measured, or nothing if there is none and none was named.
std::optional<MeasuredStudy> find_measured(const PredictionQuestion& question, const Study& study) {
    if (!question.from.empty()) return read_measured(snapshot_or_fail(choose_study(question.from)));
    std::error_code ignored;
    const StudyFolder own = study_folder(study.name);
    if (std::filesystem::exists(own.database(), ignored)) return read_measured(snapshot_or_fail(own));
    return std::nullopt;
}

/// Returns the advice to use the measurements of another study.
std::string another_study(const PredictionQuestion& question) {
    if (question.takes_from) return "name a study that has (--from)";
    return "use the measurements of a study that has: hpo simulate " + printable(question.study) + " --from STUDY";
}

// ---- Devices that were not measured

/// The share of its data sheet that a device reaches in training, and the cost of a small operation on it, in the best
/// and the worst case; the values between depend on the model.
constexpr Span share_of_peak{0.1, 0.6};
constexpr Span launches{20, 200};  // kernels of an iteration of a small model
constexpr Span launch_seconds{3e-6, 8e-6};

/// Gives devices without a speed one by their data sheet. The native worker says how many operations a step takes.
void estimate_speeds(const Study& study, const RecordedRun& run, Hardware& hardware, std::vector<std::string>& basis) {
    const auto unknown = [](const DeviceGroup& group) { return !group.speed; };
    if (std::none_of(hardware.groups.begin(), hardware.groups.end(), unknown)) return;
    for (const DeviceGroup& group : hardware.groups)
        if (unknown(group) && (group.model == nullptr || study.script()))
            throw Fatal("how fast " + printable(group.name) + " trains " + study.name + " is not known: " +
                        (study.script() ? "hpo knows no operations of a script" : "it is not known by its data sheet") +
                        "; give its speed relative to the measured device in a YAML file, such as\n"
                        "  devices: [{name: " +
                        printable(group.name) + ", count: " + std::to_string(group.count) +
                        (group.model ? "" : ", memory: 80GB") + ", speed: [20, 40]}]");
    auto worker = OneWorker::start(study, installed_programs(), {});
    if (!worker) throw Fatal(worker.error().message);
    constexpr std::size_t most_asked = 16;
    const std::size_t stride = 1 + run.trials.size() / most_asked;
    for (DeviceGroup& group : hardware.groups) {
        if (!unknown(group)) continue;
        const auto precision = study.fixed.find("precision");
        const bool exact = precision != study.fixed.end() && precision->second == Value(std::string("float32"));
        const double peak = exact ? group.model->float32_flops : group.model->half_flops;
        double here = 0, fastest = 0, slowest = 0;
        for (std::size_t i = 0; i < run.trials.size(); i += stride) {
            const RecordedTrial& trial = run.trials[i];
            if (trial.step <= 0) continue;
            const auto plan = (*worker)->plan(trial.params, study.budget.epochs, study.seed);
            if (!plan) throw Fatal(plan.error().message);
            const auto iterations = static_cast<double>(plan->iterations_per_step);
            here += trial.step;
            fastest += std::max(plan->flops_per_step / (share_of_peak.high * peak),
                                iterations * launches.low * launch_seconds.low);
            slowest += std::max(plan->flops_per_step / (share_of_peak.low * peak),
                                iterations * launches.high * launch_seconds.high);
        }
        if (here <= 0) throw Fatal("no trial of " + study.name + " has a measured step");
        group.speed = Span{here / slowest, here / fastest};
        char text[400];
        std::snprintf(
            text, sizeof text,
            "%s: not measured. By its data sheet (%.4g TFLOP/s in %s), of which training reaches %.0f to %.0f "
            "%%, and with %.0f to %.0f kernels an iteration, it trains a trial %.2g to %.2g times as fast as "
            "it was measured; workers are taken to start as fast as they did",
            group.name.c_str(), peak / 1e12, exact ? "float32" : "16-bit", 100 * share_of_peak.low,
            100 * share_of_peak.high, launches.low, launches.high, group.speed->low, group.speed->high);
        basis.emplace_back(text);
    }
}

void describe_record(const Study& study, const MeasuredStudy& measured, const StepLaw& law,
                     std::vector<std::string>& basis) {
    const RecordedRun& run = measured.run;
    basis.push_back("costs and curves of " + counted(static_cast<std::int64_t>(run.trials.size()), "trial") + " of " +
                    measured.study.name + ", measured on " + printable(run.host) + " with " +
                    std::to_string(run.workers) + " at once in " + duration_text(run.seconds));
    constexpr std::size_t fewest_tested = 3;  // the law is tested by leaving each trial out
    if (run.trials.size() < fewest_tested)
        basis.emplace_back("trials that were not measured: how far they are off is not known from so few");
    else
        basis.push_back("trials that were not measured: a law of the space explains " + percent_text(law.explained()) +
                        " of the differences in time per step; a trial is off by " + percent_text(law.deviation()) +
                        ", and learns as the measured trial nearest to it");
    if (measured.study.name == study.name && !run.ended)
        basis.push_back("the study has not ended yet: later trials are taken to be like the present ones");
}

}  // namespace

MeasuredStudy read_measured(const StudySnapshot& snapshot) {
    MeasuredStudy measured{snapshot.study, {}};
    if (!measured.study.has_worker())
        throw Fatal("study " + measured.study.name +
                    " has no worker: the program that ran it with hpo ask-tell trains its trials, and hpo measures "
                    "nothing of what they cost");
    RecordReader reader(measured.study);
    constexpr std::size_t batch = 10'000;
    for (std::int64_t after = 0;;) {
        const auto events = snapshot.store->events(after, batch);
        if (!events) throw Fatal(events.error().message);
        for (const StoredEvent& event : *events) reader.add(event);
        if (events->size() < batch) break;
        after = events->back().sequence;
    }
    measured.run = reader.finish();
    // Trials that failed before their first step are in the record too.
    if (std::none_of(measured.run.trials.begin(), measured.run.trials.end(),
                     [](const RecordedTrial& trial) { return trial.step > 0; }))
        throw Fatal("study " + snapshot.study.name + " has measured nothing yet: none of its trials took a step");
    return measured;
}

PredictionReport predict_study(const PredictionQuestion& question) {
    PredictionReport report;
    report.study = load_study(question.study, {question.set, {}});
    const Study& study = report.study;

    std::optional<DrawnTrials> drawn;
    const bool elsewhere = question.devices.has_value();
    const std::string devices = question.devices.value_or("");
    if (elsewhere) {
        std::error_code ignored;
        if (std::filesystem::is_regular_file(devices, ignored)) {
            auto file = read_hardware_file(devices);
            if (!file) throw Refusal(file.error().message);
            report.hardware = std::move(file->hardware);
            drawn = file->trials;
        } else {
            auto hardware = parse_hardware(devices);
            if (!hardware) throw Fatal(hardware.error().message, 2);
            report.hardware = std::move(*hardware);
        }
    }

    RecordedRun run;
    MakeWorkload workload;
    std::optional<MeasuredStudy> measured;
    std::optional<StepLaw> law;
    if (drawn) {
        for (DeviceGroup& group : report.hardware.groups)
            if (!group.speed) group.speed = Span{1, 1};
        workload = [&study, trials = *drawn](std::uint64_t draw) -> std::unique_ptr<Workload> {
            return std::make_unique<DrawnWorkload>(study, trials, draw);
        };
        report.basis.push_back("nothing measured: costs and curves are drawn from the ranges in " + printable(devices));
    } else {
        measured = find_measured(question, study);
        if (!measured)
            throw Fatal("nothing is known of what a trial of " + study.name + " costs: run it first (hpo run " +
                        printable(question.study) + "), " + another_study(question) +
                        ", or give 'trials' in a YAML file for --devices");
        run = measured->run;
        const std::string& metric = study.objective.metric;
        if (std::none_of(run.trials.begin(), run.trials.end(), [&](const RecordedTrial& trial) {
                return std::any_of(trial.curve.begin(), trial.curve.end(),
                                   [&](const Report& step) { return step.metrics.contains(metric); });
            }))
            throw Fatal("how trials of " + study.name + " learn is not known: no trial of " + measured->study.name +
                        " reported " + printable(metric) + ", its objective; " + another_study(question));
        law.emplace(study.space, run);
        describe_record(study, *measured, *law, report.basis);
        if (!elsewhere) {
            report.hardware = hardware_of(study, run);
            report.hardware.name +=
                measured->study.name == study.name ? ", as it ran" : ", as " + measured->study.name + " ran";
        }
        estimate_speeds(study, run, report.hardware, report.basis);
        if (elsewhere && report.hardware.groups.empty())
            report.basis.push_back(report.hardware.speed
                                       ? "a core's speed is as the file gives it"
                                       : "each core is taken to be as fast as the measured ones, however many "
                                         "share the memory");
        if (run.on_device && report.hardware.groups.empty())
            throw Fatal("the trials of " + measured->study.name +
                        " were measured on a device, and their time on a CPU is unknown");
        workload = [&study, &run, &law](std::uint64_t draw) -> std::unique_ptr<Workload> {
            return std::make_unique<RecordedWorkload>(study, run, *law, draw);
        };
    }
    if (measured && !run.on_device && elsewhere && !report.hardware.groups.empty())
        report.basis.emplace_back(
            "a trial's device memory was not measured and limits nothing here: at_once in a file "
            "does");
    for (const DeviceGroup& group : report.hardware.groups)
        if (elsewhere && group.throughput.size() == 1 && group.at_once != 1)
            report.basis.push_back("trials at once on one " + group.name +
                                   " share its speed: the gain of more at once is unknown ('throughput')");
    if (question.price) {
        report.hardware.price = question.price;
        for (DeviceGroup& group : report.hardware.groups) group.price.reset();
    }

    const auto priors = prior_studies_of(study);
    if (!priors) throw Fatal(priors.error().message);
    auto prediction = predict(study, *priors, report.hardware, run, workload, question.plan);
    if (!prediction) throw Fatal(prediction.error().message);
    report.prediction = std::move(*prediction);
    if (!elsewhere && measured && measured->study.name == study.name && run.ended && question.set.empty())
        report.took = run.seconds;
    return report;
}

Json to_json(const PredictionReport& report) {
    const auto range = [](const PredictedRange& one) { return Json{one.low, one.middle, one.high}; };
    const TimePrediction& prediction = report.prediction;
    return {{"schema", json_schema},
            {"study", report.study.name},
            {"hardware", report.hardware.name},
            {"simulations", prediction.simulations},
            {"seconds", range(prediction.seconds)},
            {"busy", range(prediction.busy)},
            {"cost", prediction.cost ? range(*prediction.cost) : Json(nullptr)},
            {"trials", prediction.trials},
            {"at_once", prediction.at_once},
            {"steps", range(prediction.steps)},
            {"complete", range(prediction.complete)},
            {"stopped", range(prediction.stopped)},
            {"diverged", range(prediction.diverged)},
            {"failed", range(prediction.failed)},
            {"reason", prediction.reason},
            {"measured_seconds", report.took ? Json(*report.took) : Json(nullptr)},
            {"basis", report.basis}};
}

}  // namespace hpo
