#include "worker/training/trial_messages.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "hpo/worker_key_defaults.hpp"

namespace hpo {
namespace {

template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
    std::array<char, 256> buffer{};
    std::snprintf(buffer.data(), buffer.size(), pattern, arguments...);
    return buffer.data();
}

/// Four decimals, or four digits of numbers that these would not show.
std::string metric_text(double value) {
    const double size = std::abs(value);
    return format(size == 0 || (size >= 0.001 && size < 1e5) || !std::isfinite(value) ? "%.4f" : "%.4g", value);
}

/// " +- 0.0012" for a metric with a standard error.
std::string error_text(const Metrics& metrics, const std::string& name) {
    const auto error = metrics.find(standard_error_of(name));
    return error == metrics.end() ? "" : " +- " + metric_text(error->second);
}

}  // namespace

std::string mebibytes(std::int64_t bytes) { return format("%.1f MiB", static_cast<double>(bytes) / (1 << 20)); }

std::string parameters_line(const to_worker::Run& run, const Configuration& configuration) {
    std::string line = format("trial %lld, attempt %lld:", static_cast<long long>(run.id.trial),
                              static_cast<long long>(run.id.attempt));
    for (const auto& [key, value] : configuration.all)
        if (key != "seed" && applies(*find_worker_key(key), configuration.all))
            line += " " + key + "=" + to_text(value);
    return line + format(" seed=%llu", static_cast<unsigned long long>(configuration.seed.value_or(run.seed)));
}

std::string samples_text(const DeviceData& data) {
    std::string text =
        format("%lld samples to train on, %lld to validate, %lld to test", static_cast<long long>(data.sizes.train),
               static_cast<long long>(data.sizes.validation), static_cast<long long>(data.shape.test));
    if (data.sizes.folds > 1) text += format(", in %d folds", data.sizes.folds);
    return text;
}

std::string configuration_line(const to_worker::Run& run, const Configuration& configuration, const GroupPlan& plan,
                               std::size_t arena_bytes, const DeviceData& data, const std::string& device) {
    return parameters_line(run, configuration) +
           format("; %lld parameters, ", static_cast<long long>(plan.model->block().count())) + samples_text(data) +
           format("; %lld steps of %lld iterations; arena ", static_cast<long long>(run.steps),
                  static_cast<long long>(plan.pace.of_trial.iterations_per_step)) +
           mebibytes(static_cast<std::int64_t>(arena_bytes)) + ", data " + mebibytes(data.bytes()) + "; " + device;
}

std::string fingerprint_text(std::uint32_t fingerprint) { return format("%08x", static_cast<unsigned>(fingerprint)); }

std::string one_model_only(int folds) {
    return "data.validation.folds: " + std::to_string(folds) +
           " folds make as many models, and a file holds one: to save a model, train it with one split, such as "
           "data.validation: 0.1";
}

Metrics task_metrics(Task task, const Evaluation& evaluation, const DeviceData& data, Part part, int fold) {
    const FoldFacts& its = data.folds[static_cast<std::size_t>(fold)];
    const std::string prefix = part == Part::train ? "val_" : "test_";
    Metrics metrics{{prefix + "loss", evaluation.loss}};
    if (task != Task::regression) {
        metrics[prefix + "accuracy"] = evaluation.accuracy;
        const bool next_token = std::holds_alternative<TokenShape>(data.shape.sample) && data.shape.target_per_step;
        if (const auto& of_classes = evaluation.of_classes) {
            metrics[prefix + "f1"] = of_classes->f1;
            if (of_classes->top5) metrics[prefix + "top5"] = *of_classes->top5;
            if (of_classes->exact) metrics[prefix + "exact_match"] = *of_classes->exact;
            if (of_classes->auc) metrics[prefix + "auc"] = *of_classes->auc;
        }
        if (next_token) metrics[prefix + "perplexity"] = std::exp(evaluation.loss);
        return metrics;
    }
    const double unit = its.facts.target_deviation;
    metrics[prefix + "mse"] = evaluation.loss * unit * unit;
    metrics[prefix + "mae"] = evaluation.absolute * unit;
    // Equal targets have no variance to explain: 1 for a perfect prediction, else 0.
    const double variance = part == Part::train ? its.validation_variance : its.test_variance;
    metrics[prefix + "r2"] = variance > 0 ? 1 - evaluation.loss / variance : evaluation.loss > 0 ? 0.0 : 1.0;
    return metrics;
}

Metrics baseline_metrics(Task task, const DeviceData& data, int fold) {
    const FoldFacts& its = data.folds[static_cast<std::size_t>(fold)];
    if (task != Task::regression) return {{"baseline_accuracy", its.test_baseline.accuracy}};
    const double unit = its.facts.target_deviation;
    return {{"baseline_mse", its.test_baseline.squared * unit * unit},
            {"baseline_mae", its.test_baseline.absolute * unit}};
}

Metrics mean_of_folds(std::span<const Metrics> folds) {
    Metrics made;
    const auto n = static_cast<double>(folds.size());
    for (const auto& entry : folds.front()) {
        double sum = 0, squares = 0;
        for (const Metrics& fold : folds) sum += fold.at(entry.first);
        const double mean = sum / n;
        for (const Metrics& fold : folds) squares += (fold.at(entry.first) - mean) * (fold.at(entry.first) - mean);
        made[entry.first] = mean;
        made[standard_error_of(entry.first)] = std::sqrt(squares / (n - 1) / n);
    }
    return made;
}

std::string step_line(const Report& report, std::int64_t steps, Task task) {
    std::string line = format("step %lld/%lld:", static_cast<long long>(report.step), static_cast<long long>(steps));
    for (const TaskMetric& metric : info_of(task).metrics)
        if (const auto found = report.metrics.find(std::string(metric.name)); found != report.metrics.end())
            line +=
                " " + found->first + " " + metric_text(found->second) + error_text(report.metrics, found->first) + ",";
    line += format(" %.1f it/s, %.0f samples/s", report.iterations_per_second.value_or(0),
                   report.samples_per_second.value_or(0));
    if (report.gradient_norm) line += format(", gradient %.3g", *report.gradient_norm);
    if (report.learning_rate) line += format(", lr %.3g", *report.learning_rate);
    if (report.communication) line += format(", %.0f %% communication", 100 * *report.communication);
    if (!report.warning.empty()) line += "; " + report.warning;
    return line;
}

std::string test_line(const Metrics& tested, std::int64_t step) {
    std::string line = format("test, with the weights of step %lld:", static_cast<long long>(step));
    for (const auto& [name, value] : tested)
        if (!is_standard_error(name))
            line += " " + name.substr(name.find('_') + 1) + " " + metric_text(value) + error_text(tested, name) + ",";
    line.pop_back();
    return line;
}

std::string binding_text(const to_worker::Run& run, const Configuration& configuration, std::uint32_t fingerprint) {
    std::string text;
    for (const auto& [key, value] : configuration.all)
        if (find_worker_key(key)->changes_result) text += key + "=" + to_text(value) + "\n";
    text += format("seed %llu, data seed %llu, data %08x, steps %lld, ",
                   static_cast<unsigned long long>(configuration.seed.value_or(run.seed)),
                   static_cast<unsigned long long>(run.data_seed), fingerprint, static_cast<long long>(run.steps));
    return text + run.objective.metric + (run.objective.direction == Direction::minimize ? " min" : " max") +
           (run.objective.at == Objective::At::best ? " best" : " last");
}

}  // namespace hpo
