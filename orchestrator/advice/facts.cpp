#include "orchestrator/advice/facts.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "hpo/printable.hpp"
#include "hpo/user_cache.hpp"
#include "hpo/worker_key_defaults.hpp"
#include "orchestrator/calibration/kept_concurrency.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/engine/kept_calibrations.hpp"
#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/session_concurrency.hpp"
#include "orchestrator/preview/samples.hpp"
#include "orchestrator/study/batch_sizes.hpp"
#include "orchestrator/telemetry/session_telemetry.hpp"

namespace hpo {

namespace {

constexpr std::int64_t largest_tried_batch = 65'536;
constexpr std::int64_t least_updates =
    16;  // of a step, below which a larger batch is not advised: it would hardly learn

const RecordedTrial& typical_trial(const RecordedRun& run) {
    std::vector<const RecordedTrial*> trials;
    for (const RecordedTrial& trial : run.trials)
        if (trial.step > 0) trials.push_back(&trial);
    if (trials.empty()) throw Fatal("none of the trials has a measured step");
    std::sort(trials.begin(), trials.end(), [](auto* a, auto* b) { return a->step < b->step; });
    return *trials[trials.size() / 2];
}

const Dimension* dimension_of(const Study& study, std::string_view name) {
    const auto found = std::find_if(study.space.begin(), study.space.end(),
                                    [&](const Dimension& dimension) { return dimension.name == name; });
    return found == study.space.end() ? nullptr : &*found;
}

std::optional<std::int64_t> whole_in(const std::string& text) {
    if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 9) return {};
    return std::stoll(text);
}

/// The backend of a study's trials, as calibrations name it.
std::string backend_of(const MeasuredStudy& measured) {
    if (!measured.run.on_device) return "cpu";
    const std::string& backend = measured.study.resources.backend;
    return backend == "opencl" ? "opencl" : "cuda";
}

/// Returns the findings of `parallel: auto` on this machine for trials like those of the study.
RememberedConcurrency found_at_once(const StudySnapshot& snapshot, const std::string& backend) {
    const std::filesystem::path cache = user_cache();
    if (cache.empty()) return {};
    std::string device;
    for (const TrialRecord& trial : snapshot.record.trials)
        if (device.empty()) device = trial.allocation->device;
    if (device.find(',') != std::string::npos) return {};  // its trials compute on several
    const ConcurrencyKey key = concurrency_key(read_host(), device, kind_of_trial(snapshot.study, backend));
    return load_concurrency(concurrency_file(cache, key), key).value_or(RememberedConcurrency{});
}

}  // namespace

StudyFacts facts_of(const StudySnapshot& snapshot, const MeasuredStudy& measured) {
    const Study& study = measured.study;
    StudyFacts facts;
    facts.native = !study.script();
    facts.on_device = measured.run.on_device;
    facts.at_once = std::max<std::int64_t>(1, measured.run.workers);
    facts.cores = read_host().cores;
    facts.busy = measured.run.busy;
    KeptCalibrations kept = kept_calibrations();
    facts.devices = std::move(kept.devices);
    if (facts.native) facts.refused = std::move(kept.refused);
    const auto rows = snapshot.store->telemetry();
    if (!rows) throw Fatal(rows.error().message);
    facts.telemetry = summarise(*rows);
    facts.found_at_once = found_at_once(snapshot, backend_of(measured)).workers;
    const ScriptWorker* script = study.script();
    if (!script) return facts;

    // The number of threads of a script's trial is set by its study, or else by hpo.
    const auto& own = script->environment.own;
    facts.threads_key = script->environment.tuned ? "worker.environment.OMP_NUM_THREADS" : "worker.environment";
    if (const auto found = own.find("OMP_NUM_THREADS"); found != own.end() && found->second)
        facts.threads = whole_in(*found->second);
    for (const char* name : {"num_workers", "loader_workers", "data_workers", "workers", "loaders"}) {
        if (const auto found = study.fixed.find(name); found != study.fixed.end()) {
            facts.loaders = static_cast<std::int64_t>(number_or(found->second, 1));
            facts.loaders_key = std::string("worker.params.") + name;
        }
    }
    return facts;
}

struct OptionCollector::Impl {
    const MeasuredStudy& measured;
    bool measure;
    std::map<std::string, std::unique_ptr<OneWorker>> workers = {};  ///< by backend
    std::map<std::string, std::string> failures = {};
    std::int64_t device_memory = std::numeric_limits<std::int64_t>::max();  ///< of the first GPU, for trials

    /// A worker on the backend, or nullptr if there is none here.
    OneWorker* worker_on(const std::string& backend) {
        if (const auto found = workers.find(backend); found != workers.end()) return found->second.get();
        Study study = measured.study;
        study.resources.backend = backend.substr(0, backend.find(' '));
        study.resources.devices.clear();
        Target target;
        if (backend != "cpu") {
            const auto machine = LiveMachine::make(study, installed_programs().hpo);
            if (!machine || !machine->on_device()) return nullptr;
            target = machine->target(0);
            const Machine reading = machine->read();
            device_memory = reading.accelerators.front().memory - reading.accelerators.front().reserve;
        }
        auto worker = OneWorker::start(study, installed_programs(), target);
        if (!worker) throw Fatal(worker.error().message);
        return workers.emplace(backend, std::move(*worker)).first->second.get();
    }

    std::optional<TrainingOption> option_of(const std::string& backend, const Params& params) {
        // Any worker knows the work. Starting one on another backend takes seconds, where kernels are compiled.
        OneWorker* asked = measure || backend == backend_of(measured) ? worker_on(backend) : nullptr;
        if (asked == nullptr) asked = worker_on("cpu");
        const bool there = workers.contains(backend);
        const auto answer = asked->plan(params, measured.study.budget.epochs, measured.study.seed);
        if (!answer) {
            failures[backend] = answer.error().message;
            return std::nullopt;
        }
        TrainingOption option;
        option.backend = backend;
        option.work = step_work(*answer, params);
        option.batch_size = batch_size_of(params, answer->training_samples);
        if (measure && there) {
            Sample sample;
            sample.params = params;
            sample.answer = *answer;
            option.measured = measured_step(measured.study, *asked, sample, 1);
        }
        return option;
    }
};

OptionCollector::OptionCollector(const MeasuredStudy& measured, bool measure)
    : impl_(std::make_unique<Impl>(Impl{measured, measure})) {}
OptionCollector::~OptionCollector() = default;

namespace {

/// The keys that give trials this batch size.
std::vector<std::pair<std::string, std::string>> batch_keys(const Study& study, std::int64_t batch) {
    const Dimension* dimension = dimension_of(study, "batch_size");
    if (dimension == nullptr) return {{"worker.training.batch_size", std::to_string(batch)}};
    if (dimension->kind == Kind::categorical)
        return {{"space.batch_size.choices", "[" + std::to_string(batch) + ", " + std::to_string(2 * batch) + "]"}};
    std::vector<std::pair<std::string, std::string>> keys{{"space.batch_size.low", std::to_string(batch)}};
    if (dimension->high < static_cast<double>(2 * batch))
        keys.emplace_back("space.batch_size.high", std::to_string(4 * batch));
    return keys;
}

void set_in(Params& params, const std::string& key, const std::string& value) {
    const std::string leaf = key.substr(key.rfind('.') + 1);
    if (key.starts_with("space.batch_size.low"))
        params["batch_size"] = static_cast<std::int64_t>(std::stoll(value));
    else if (key.starts_with("space.batch_size.choices"))
        params["batch_size"] = static_cast<std::int64_t>(std::stoll(value.substr(1)));
    else if (leaf == "batch_size")
        params[leaf] = static_cast<std::int64_t>(std::stoll(value));
    else if (leaf == "precision")
        params[leaf] = value;
}

}  // namespace

void OptionCollector::collect(StudyFacts& facts) {
    Impl& my = *impl_;
    const Study& study = my.measured.study;
    const RecordedTrial& typical = typical_trial(my.measured.run);
    const std::string backend = backend_of(my.measured);
    facts.step = typical.step;
    auto now = my.option_of(backend, typical.params);
    if (!now) throw Fatal("the worker cannot predict the memory of a trial: " + my.failures[backend]);
    const std::int64_t batch = now->batch_size;
    const std::string precision = now->work.precision;
    facts.options.push_back(std::move(*now));
    if (is_trees(study.fixed) || is_trees(typical.params)) return;  // no batches, and the CPU's own precision
    const auto add = [&](TrainingOption option, const std::string& group,
                         std::vector<std::pair<std::string, std::string>> keys, const std::string& why) {
        option.group = group;
        option.changes = std::move(keys);
        option.why = why;
        facts.options.push_back(std::move(option));
    };

    const std::int64_t memory = available_memory();
    Params params = typical.params;
    /// The worker's answer for a batch size, or why it is too large.
    const auto plan = [&](std::int64_t size) -> Result<from_worker::PlanAnswer> {
        params["batch_size"] = size;
        OneWorker* worker = my.worker_on(backend);
        if (worker == nullptr) worker = my.worker_on("cpu");
        auto answer = worker->plan(params, study.budget.epochs, study.seed);
        if (answer && answer->footprint.host_bytes > memory) return Error{"it does not fit the memory that is free"};
        if (answer && answer->footprint.device_bytes > my.device_memory)
            return Error{"it does not fit the memory of the device"};
        return answer;
    };
    const auto [largest, limit] = largest_that_fits(batch, largest_tried_batch, [&](std::int64_t size) {
        const auto answer = plan(size);
        return answer ? std::string() : answer.error().message;
    });
    facts.largest_batch = largest;
    facts.largest_batch_limit = limit;
    for (std::int64_t larger = 2 * batch; larger <= largest; larger *= 2) {
        const auto answer = plan(larger);
        if (!answer || answer->iterations_per_step < least_updates) break;
        if (auto option = my.option_of(backend, params))
            add(std::move(*option), "batch", batch_keys(study, larger),
                "Fewer, larger updates fill the device better. They need a larger learning rate" +
                    std::string(dimension_of(study, "lr") ? ", which the policy draws." : ": raise lr as well."));
    }
    const DeviceCalibration* device = calibration_for(facts.devices, backend);
    for (const char* other : {"float32", "bfloat16"}) {
        const bool calibrated = device && device->peak(other) > 0;
        const bool automatic = precision == "auto";
        if (precision == other || automatic || (!calibrated && !my.measure) || dimension_of(study, "precision"))
            continue;
        Params with_precision = typical.params;
        with_precision["precision"] = std::string(other);
        if (auto option = my.option_of(backend, with_precision))
            add(std::move(*option), "precision", {{"worker.training.precision", other}},
                std::string("Products in ") + other +
                    " are faster here; sums and weights stay in float32. precision: auto "
                    "also checks that the loss is the same.");
    }
    for (const char* other : {"cpu", "cuda", "opencl"}) {
        if (backend == other ||
            (!calibration_for(facts.devices, other) && !(my.measure && std::string(other) == "cpu")))
            continue;
        if (auto option = my.option_of(other, typical.params))
            add(std::move(*option), "backend", {{"resources.backend", other}},
                std::string("The trials' shapes are faster on ") + other + ".");
    }
}

void OptionCollector::add_together(StudyFacts& facts, const std::vector<Change>& changes) {
    Impl& my = *impl_;
    Params params = typical_trial(my.measured.run).params;
    std::string backend = backend_of(my.measured);
    TrainingOption together;
    for (const Change& change : changes)
        for (const auto& [key, value] : change.keys) {
            together.changes.emplace_back(key, value);
            if (key == "resources.backend") backend = value;
            set_in(params, key, value);
        }
    auto option = my.option_of(backend, params);
    if (!option) return;
    option->changes = std::move(together.changes);
    option->group = "together";
    option->why = "All of these changes.";
    facts.options.push_back(std::move(*option));
}

}  // namespace hpo
