#include "orchestrator/single_training/train.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include "hpo/printable.hpp"
#include "hpo/random.hpp"
#include "hpo/text.hpp"
#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/one_worker.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace {

/// Returns the configuration, with the smallest number of micro-batches that fits the memory. Throws Refusal if the
/// worker rejects it, and Fatal if it fits in none.
Params that_fits(const CheckedStudy& checked, OneWorker& worker, const Machine& machine,
                 const TrainingListener& listener) {
    const Sample sample = plan_samples(checked, worker, machine).front();
    if (sample.micro_batches > 0)
        listener.say("each batch is trained in " + std::to_string(sample.micro_batches) +
                     " micro-batches: as it is it " + sample.too_large);
    return sample.params;
}

/// Removes the checkpoints that training leaves beside the weights, and their folder if it is empty then.
void remove_checkpoints(const std::filesystem::path& folder) {
    std::error_code ignored;
    for (const char* name : {"last.ckpt", "last.ckpt.tmp", "best.ckpt", "best.ckpt.tmp"})
        std::filesystem::remove(folder / name, ignored);
    std::filesystem::remove(folder, ignored);
}

std::uint64_t seed_of(const Study& study) {
    const auto seed = study.fixed.find("seed");
    return seed == study.fixed.end() ? trial_seed(study.seed, 1)
                                     : static_cast<std::uint64_t>(number_or(seed->second, 0));
}

}  // namespace

void refuse_untrainable(const Study& study, const std::string& file) {
    if (!study.space.empty())
        throw Fatal(file + " leaves " + counted(static_cast<std::int64_t>(study.space.size()), "parameter") +
                    " open: search first (hpo run " + file + "), then train the result (hpo best " + study.name +
                    " > best.yaml; hpo train best.yaml)");
    if (study.script()) throw Fatal("hpo train trains built-in models; run the study's own command for " + study.name);
}

std::string take_one_fold(Study& study) {
    const auto found = study.fixed.find("folds");
    if (found == study.fixed.end()) return {};
    const double folds = number_or(found->second, 1);
    study.fixed.erase("folds");
    study.fixed["validation"] = 1 / folds;
    study.source = write_study(study);
    return exact_number(folds) +
           " folds make as many models, and a file holds one: this one is validated on a part of the samples as large "
           "as a fold (data.validation: " +
           short_number(1 / folds) + ")";
}

Metrics train_to_file(const CheckedStudy& checked, OutputPath& output, const TrainingListener& listener) {
    const Study& study = checked.study;
    const auto machine =
        open_machine(study, installed_programs(), [&](const DeviceNotice& notice) { listener.say(notice.text); });
    if (!machine) throw Fatal(machine.error().message);
    auto worker = OneWorker::start(study, installed_programs(), machine->target(machine->on_device() ? 0 : host_only));
    if (!worker) throw Fatal(worker.error().message);
    Study alone = study;
    alone.resources.parallel = 1;
    if (const auto cores = cores_of_workers(alone, plan_workers(alone, machine->host())); !cores.empty())
        (*worker)->use_cores(cores.front());

    to_worker::Run run;
    run.id = {1, 1};
    run.params = that_fits(checked, **worker, machine->read(), listener);
    run.steps = study.budget.epochs;
    run.seed = seed_of(study);
    run.data_seed = study.seed;
    run.objective = study.objective;
    std::filesystem::path scratch = std::filesystem::absolute(output.path());
    scratch += ".parts";
    std::filesystem::create_directories(scratch);
    run.folder = scratch.string();
    run.resume = true;
    run.test = true;
    run.save = std::filesystem::absolute(output.temporary()).string();

    bool first = true;
    const auto finished = (*worker)->run({&run, 1}, [&](const Report& report) {
        if (std::exchange(first, false) && report.step > 1) listener.resumed(report.step - 1);
        listener.reported(report);
        return to_worker::Action::go_on;
    });
    if (!finished) {
        std::error_code ignored;
        std::filesystem::remove(scratch, ignored);  // only if empty; checkpoints are kept for the next attempt
        throw Fatal(finished.error().message);
    }
    if (finished->outcome != Outcome::complete) {
        remove_checkpoints(scratch);
        throw Fatal("the training ended as " + std::string(to_text(finished->outcome)) + ": " + finished->message);
    }
    if (first) listener.resumed(run.steps);  // after its last step, which is not reported again
    const auto aside = output.finish();
    if (!aside) throw Fatal(aside.error().message);
    remove_checkpoints(scratch);
    if (!aside->empty()) listener.say("the earlier file was moved to " + printable(aside->string()));
    return finished->values;
}

}  // namespace hpo
