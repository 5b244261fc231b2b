#include "orchestrator/serve/metrics.hpp"

#include <cmath>
#include <cstdio>
#include <functional>
#include <string_view>

#include "hpo/trial.hpp"

namespace hpo::serve {

namespace {

std::string label_text(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '\n')
            result += "\\n";
        else if (c == '"' || c == '\\')
            (result += '\\') += c;
        else
            result += c;
    }
    return result + '"';
}

std::string sample_text(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

}  // namespace

std::string metrics_text(std::span<const Figures> studies) {
    std::string text;
    const auto family =
        [&](const std::string& name, std::string_view type, std::string_view help,
            const std::function<void(const Figures&, const std::function<void(std::string, double)>&)>& samples) {
            text += "# HELP " + name + ' ' + std::string(help) + "\n# TYPE " + name + ' ' + std::string(type) + '\n';
            for (const Figures& figures : studies)
                samples(figures, [&](const std::string& labels, double value) {
                    text += name + "{study=" + label_text(figures.study) + labels + "} " + sample_text(value) + '\n';
                });
        };
    family("hpo_study_running", "gauge", "Whether a process runs the study now: 1 or 0.",
           [](const Figures& f, const auto& add) { add("", f.running ? 1 : 0); });
    family("hpo_study_trials", "gauge", "Trials of the study by state.", [](const Figures& f, const auto& add) {
        for (std::size_t i = 0; i < f.trials.size(); ++i)
            add(",state=" + label_text(trial_state_names[i]), static_cast<double>(f.trials[i]));
    });
    family("hpo_study_budget_trials", "gauge", "Trials that the study may begin; absent where its time alone ends it.",
           [](const Figures& f, const auto& add) {
               if (f.budget) add("", static_cast<double>(*f.budget));
           });
    family("hpo_study_steps_total", "counter", "Steps that trials have trained, repeated ones included.",
           [](const Figures& f, const auto& add) { add("", static_cast<double>(f.steps)); });
    family("hpo_study_best_value", "gauge", "Value of the best trial; absent before there is one.",
           [](const Figures& f, const auto& add) {
               if (f.best) add(",metric=" + label_text(f.metric), *f.best);
           });
    return text;
}

}  // namespace hpo::serve
