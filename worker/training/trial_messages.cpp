#include "worker/training/trial_messages.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "hpo/worker_keys.hpp"

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

/// Whether a key has an effect in this configuration.
bool applies(const WorkerKey& key, const Params& all) {
    const auto found = all.find(std::string(condition_of(key)));
    return key.applies_when.empty() || (found != all.end() && applies_with(key, found->first, to_text(found->second)));
}

}  // namespace

std::string megabytes(std::int64_t bytes) { return format("%.1f MB", static_cast<double>(bytes) / 1e6); }

std::string configuration_line(const to_worker::Run& run, const Configuration& configuration, const GroupPlan& plan,
                               std::size_t arena_bytes, const DeviceData& data, const std::string& device) {
    std::string line = format("trial %lld, attempt %lld:", static_cast<long long>(run.id.trial),
                              static_cast<long long>(run.id.attempt));
    for (const auto& [key, value] : configuration.all)
        if (key != "seed" && applies(*find_worker_key(key), configuration.all))
            line += " " + key + "=" + to_text(value);
    line += format(" seed=%llu", static_cast<unsigned long long>(configuration.seed.value_or(run.seed)));
    line += format("; %lld parameters, %lld samples to train on, %lld to validate, %lld to test",
                   static_cast<long long>(plan.model->block().count()), static_cast<long long>(data.sizes.train),
                   static_cast<long long>(data.sizes.validation), static_cast<long long>(data.shape.test));
    line += format("; %lld steps of %lld iterations; arena ", static_cast<long long>(run.steps),
                   static_cast<long long>(plan.pace.iterations_per_step));
    return line + megabytes(static_cast<std::int64_t>(arena_bytes)) + ", data " + megabytes(data.bytes()) + "; " +
           device;
}

Metrics task_metrics(Task task, const Evaluation& evaluation, const DeviceData& data, Part part) {
    const std::string prefix = part == Part::train ? "val_" : "test_";
    Metrics metrics{{prefix + "loss", evaluation.loss}};
    if (task == Task::classification) {
        metrics[prefix + "accuracy"] = evaluation.accuracy;
        const bool next_token = std::holds_alternative<TokenShape>(data.shape.sample) && data.shape.target_per_step;
        if (evaluation.f1) metrics[prefix + "f1"] = *evaluation.f1;
        if (evaluation.top5) metrics[prefix + "top5"] = *evaluation.top5;
        if (next_token) metrics[prefix + "perplexity"] = std::exp(evaluation.loss);
        return metrics;
    }
    const double unit = data.facts.target_deviation;
    metrics[prefix + "mse"] = evaluation.loss * unit * unit;
    metrics[prefix + "mae"] = evaluation.absolute * unit;
    // Where all targets are the same, what they vary by cannot be explained: 1 for a perfect prediction, else 0.
    const double variance = part == Part::train ? data.validation_variance : data.test_variance;
    metrics[prefix + "r2"] = variance > 0 ? 1 - evaluation.loss / variance : evaluation.loss > 0 ? 0.0 : 1.0;
    return metrics;
}

std::string step_line(const Report& report, std::int64_t steps, Task task) {
    std::string line = format("step %lld/%lld:", static_cast<long long>(report.step), static_cast<long long>(steps));
    for (const TaskMetric& metric : info_of(task).metrics)
        if (const auto found = report.metrics.find(std::string(metric.name)); found != report.metrics.end())
            line += " " + found->first + " " + metric_text(found->second) + ",";
    line += format(" %.1f it/s, %.0f samples/s, gradient %.3g, lr %.3g", report.iterations_per_second.value_or(0),
                   report.samples_per_second.value_or(0), report.gradient_norm.value_or(0),
                   report.learning_rate.value_or(0));
    if (!report.warning.empty()) line += "; " + report.warning;
    return line;
}

std::string test_line(const Metrics& tested, std::int64_t step) {
    std::string line = format("test, with the weights of step %lld:", static_cast<long long>(step));
    for (const auto& [name, value] : tested)
        line += " " + name.substr(name.find('_') + 1) + " " + metric_text(value) + ",";
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
