#include "worker/training/trial_files.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "hpo/result.hpp"
#include "worker/data/sample_json.hpp"
#include "worker/training/checkpoint.hpp"
#include "worker/training/safetensors.hpp"

namespace hpo {

TrialFiles::TrialFiles(const std::string& folder, std::string_view binding)
    : folder_(folder), binding_(checkpoint_binding(binding)) {
    std::error_code ignored;  // writing will say it
    if (enabled()) std::filesystem::create_directories(folder_, ignored);
}

Result<void> TrialFiles::write_last(const TrialProgress& progress, std::span<const float> state) {
    const std::array parts{std::as_bytes(std::span(&progress, 1)), std::as_bytes(state)};
    return write_checkpoint(last(), binding_, progress.step, parts);
}

Result<void> TrialFiles::read_last(TrialProgress& progress, std::span<float> state) {
    const std::array parts{std::as_writable_bytes(std::span(&progress, 1)), std::as_writable_bytes(state)};
    const auto step = read_checkpoint(last(), binding_, parts);
    if (!step) return step.error();
    return {};
}

Result<void> TrialFiles::write_best(std::span<const float> weights, std::int64_t step) {
    const std::array parts{std::as_bytes(weights)};
    return write_checkpoint(best(), binding_, step, parts);
}

Result<void> TrialFiles::read_best(std::span<float> weights, const TrialProgress& progress) {
    const std::array parts{std::as_writable_bytes(weights)};
    const auto step = read_checkpoint(best(), binding_, parts);
    if (!step) return step.error();
    if (*step != progress.best_step && *step != progress.step + 1)
        return Error{best() + ": of step " + std::to_string(*step) + ", not " + std::to_string(progress.best_step)};
    return {};
}

std::vector<NamedTensor> tensors_of(const Model& model, const FoldFacts& fold, std::span<const float> weights) {
    std::vector<NamedTensor> tensors;
    for (const Parameter& parameter : model.block().parameters)
        tensors.push_back({parameter.name, parameter.shape,
                           weights.subspan(static_cast<std::size_t>(parameter.first),
                                           static_cast<std::size_t>(parameter.elements()))});
    tensors.push_back({"input.mean", {1}, {&fold.mean, 1}});
    tensors.push_back({"input.deviation", {1}, {&fold.deviation, 1}});
    return tensors;
}

Result<void> save_model(const std::filesystem::path& file, const Configuration& configuration, const DeviceData& data,
                        std::span<const NamedTensor> tensors, std::int64_t step) {
    auto keys = nlohmann::json::object();
    for (const auto& entry : configuration.all)
        std::visit(Overloaded{[&](const JsonText& held) { keys[entry.first] = nlohmann::json::parse(held.text); },
                              [&](const auto& held) { keys[entry.first] = held; }},
                   entry.second);
    std::map<std::string, std::string> metadata{
        {"format", "hpo-model"},
        {"version", "1"},
        {"task", std::string(info_of(data.shape.task).name)},
        {"step", std::to_string(step)},
        {"configuration", keys.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)},
        {"input", sample_json(data.shape)}};
    metadata[data.shape.task == Task::classification ? "classes" : "outputs"] = std::to_string(data.shape.outputs);
    if (const std::string& encoding = data.folds.front().facts.encoding; !encoding.empty())
        metadata["encoding"] = encoding;
    return write_safetensors(file, metadata, tensors);
}

}  // namespace hpo
