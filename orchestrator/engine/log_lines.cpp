#include "orchestrator/engine/log_lines.hpp"

#include "hpo/printable.hpp"
#include "hpo/step_name.hpp"
#include "hpo/text.hpp"

namespace hpo {

namespace {

std::string first_line(const std::string& reason) { return printable(reason.substr(0, reason.find('\n'))); }

/// ", by asha: 7th of 21 at rung 2".
std::string why(const std::string& rule, const std::string& reason) {
    const std::string by = rule.empty() ? "" : " by " + printable(rule);
    return reason.empty() ? by : by + ": " + first_line(reason);
}

/// "after 9 epochs, val_accuracy 0.8972 at epoch 8".
std::string progress(const Study& study, const TrialRecord& trial) {
    std::string text = "after " + steps_text(study, trial.steps());
    if (trial.value)
        text += ", " + study.objective.metric + " " + short_number(*trial.value) + " at " + step_name(study) + " " +
                std::to_string(trial.best_step);
    return text;
}

/// "on gpu 1 (GPU-7a..., 3.000 GiB of device memory, 1.000 GiB of memory)".
std::string where(const event::Launched& launched) {
    const Footprint& given = launched.allocation.footprint;
    std::string facts = launched.allocation.device;
    const auto add = [&](const std::string& fact) { facts += (facts.empty() ? "" : ", ") + fact; };
    if (given.device_bytes > 0) add(bytes_text(static_cast<double>(given.device_bytes)) + " of device memory");
    if (given.host_bytes > 0) add(bytes_text(static_cast<double>(given.host_bytes)) + " of memory");
    if (launched.allocation.micro_batches > 1)
        add(std::to_string(launched.allocation.micro_batches) + " micro-batches");
    if (launched.allocation.alone) add("alone");
    const std::string& chosen = launched.allocation.forecast.why;
    return "on " + launched.where + (facts.empty() ? "" : " (" + facts + ")") + (chosen.empty() ? "" : ", " + chosen);
}

}  // namespace

std::string session_line(const Study& study, const event::SessionStarted& session, int workers) {
    std::string rules;
    for (const PartSpec& rule : study.stopping) rules += (rules.empty() ? "" : " and ") + rule.type;
    return "session started: hpo " + session.version + " on " + session.host + ", pid " + std::to_string(session.pid) +
           ", " + counted(workers, "worker") + " at most, " +
           (rules.empty() ? "no stopping rule" : "stopping rule " + rules);
}

std::string end_with_study_line(std::size_t trials) {
    return trials == 1 ? "1 paused trial ended with the study: no rule promoted it"
                       : std::to_string(trials) + " paused trials ended with the study: no rule promoted them";
}

std::string log_line(const Study& study, const StudyRecord& record, const StoredEvent& stored) {
    const auto of_trial = [](std::int64_t number, const std::string& text) {
        return "trial " + std::to_string(number) + ": " + text;
    };
    return std::visit(
        Overloaded{
            [&](const event::Launched& e) {
                const TrialRecord& trial = record.trial(e.trial);
                // Its worker tells later whether it goes on from a checkpoint (Attempts::started).
                const std::string verb = e.attempt > 1 && !trial.curve.empty() ? "started again " : "started ";
                const auto tries = trial.failures + trial.memory_deaths;
                const std::string seed =
                    trial.repeat_of == 0 ? "" : ", another seed for trial " + std::to_string(trial.repeat_of);
                return of_trial(e.trial,
                                verb + where(e) + seed + (tries > 0 ? ", retry " + std::to_string(tries) : ""));
            },
            [&](const event::Paused& e) {
                return of_trial(e.trial, "paused " + progress(study, record.trial(e.trial)) + why(e.rule, e.reason));
            },
            [&](const event::Spared& e) {
                return of_trial(e.trial, "continues, although " + printable(e.rule) + " would pause it: " + e.reason);
            },
            [&](const event::Requeued& e) {
                if (e.outcome == Outcome::paused) return of_trial(e.trial, first_line(e.reason));
                return of_trial(e.trial, "queued again, " + std::string(to_text(e.outcome)) + why("", e.reason));
            },
            [&](const event::Finished& e) {
                return of_trial(e.trial, std::string(to_text(e.state)) + " " + progress(study, record.trial(e.trial)) +
                                             why(e.rule, e.reason));
            },
            [](const auto&) { return std::string(); },
        },
        stored.event);
}

}  // namespace hpo
