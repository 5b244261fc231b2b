#include "worker/prediction/saved_model.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "hpo/wire.hpp"
#include "worker/data/sample_json.hpp"
#include "worker/models/registry.hpp"
#include "worker/training/configuration.hpp"
#include "worker/training/safetensors.hpp"

namespace hpo {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t most_outputs = std::int64_t{1} << 24;

/// The flaw of a file, without its name.
struct Flaw : std::runtime_error {
    using std::runtime_error::runtime_error;
};

const std::string& entry(const Safetensors& file, const char* name) {
    const auto found = file.metadata.find(name);
    if (found == file.metadata.end()) throw Flaw(std::string("the entry ") + name + " is missing");
    return found->second;
}

std::string text_of(const Json& json) { return json.is_string() ? json.get<std::string>() : json.dump(); }

/// A name of a class, or of a level; null: none.
std::vector<std::string> texts_of(const Json& list) {
    std::vector<std::string> texts;
    for (const Json& one : list) texts.push_back(text_of(one));
    return texts;
}

double deviation_of(const Json& json) {
    const double deviation = json.value("deviation", 1.0);
    if (!(deviation > 0)) throw Flaw("encoding: a deviation that is not positive");
    return deviation;
}

SavedColumn column_of(const Json& json) {
    SavedColumn column{json.value("name", ""), json.value("mean", 0.0), deviation_of(json), {}, false, {}};
    if (json.contains("median")) column.median = json["median"].get<double>();
    column.is_category = json.value("kind", "") == "category";
    if (column.is_category)
        for (const Json& level : json.at("levels"))
            column.levels.push_back(level.is_null() ? std::nullopt : std::optional(text_of(level)));
    return column;
}

SavedTarget target_of(const Json& json) {
    return {json.value("name", ""), json.value("mean", 0.0), deviation_of(json),
            texts_of(json.value("classes", Json::array()))};
}

void read_encoding(const std::string& text, SavedModel& model) {
    const Json json = Json::parse(text);
    for (const Json& column : json.value("columns", Json::array())) model.columns.push_back(column_of(column));
    if (json.contains("target")) model.targets.push_back(target_of(json["target"]));
    for (const Json& target : json.value("targets", Json::array())) model.targets.push_back(target_of(target));
    model.window = json.value("window", std::int64_t{0});
    model.horizon = json.value("horizon", std::int64_t{1});
    model.bytes = json.value("bytes", std::vector<std::uint8_t>());
    if (model.window < 0 || model.horizon < 0) throw Flaw("encoding: a negative window or horizon");
}

std::int64_t outputs_of(const Safetensors& file, Task task) {
    const std::string& text = entry(file, task == Task::classification ? "classes" : "outputs");
    std::int64_t outputs = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), outputs);
    if (read.ec != std::errc{} || outputs < 1 || outputs > most_outputs) throw Flaw("a wrong number of outputs");
    return outputs;
}

float scalar(const Safetensors& file, const char* name) {
    const auto found = file.tensors.find(name);
    if (found == file.tensors.end() || found->second.values.size() != 1) throw Flaw(std::string(name) + " is missing");
    return found->second.values.front();
}

/// The weights in the layout of the model's block.
std::vector<float> weights_of(const Safetensors& file, const ParameterBlock& block) {
    for (const Parameter& parameter : block.parameters) {  // before the allocation, whose size a wrong file might tell
        const auto found = file.tensors.find(parameter.name);
        if (found == file.tensors.end()) throw Flaw("the tensor " + parameter.name + " is missing");
        if (found->second.shape != parameter.shape) throw Flaw("the tensor " + parameter.name + " has another shape");
    }
    std::vector<float> weights(static_cast<std::size_t>(block.elements), 0.0F);
    for (const Parameter& parameter : block.parameters)
        std::ranges::copy(file.tensors.find(parameter.name)->second.values,
                          weights.begin() + static_cast<std::ptrdiff_t>(parameter.first));
    return weights;
}

/// Refuses an encoding that does not match the shape of the model. Names classes by their numbers where the data
/// named none.
void settle_targets(SavedModel& model) {
    const auto outputs = static_cast<std::size_t>(model.shape.outputs);
    if (model.shape.task == Task::classification) {
        if (model.targets.empty()) model.targets.emplace_back();
        auto& classes = model.targets.front().classes;
        const bool unnamed = classes.empty();
        for (std::size_t i = 0; unnamed && i < outputs; ++i) classes.push_back(std::to_string(i));
        if (model.targets.size() > 1 || classes.size() != outputs) throw Flaw("encoding: another number of classes");
        return;
    }
    if (model.targets.empty()) model.targets.resize(outputs);
    const auto steps = static_cast<std::size_t>(std::max<std::int64_t>(1, model.window > 0 ? model.horizon : 1));
    if (model.targets.size() * steps != outputs) throw Flaw("encoding: another number of targets");
}

void settle_features(const SavedModel& model) {
    std::size_t features = 0;
    for (const SavedColumn& column : model.columns)
        features += column.is_category ? column.levels.size() + 1 : column.median ? 2 : 1;
    if (model.columns.empty()) return;
    const auto columns = static_cast<std::int64_t>(features);
    const bool matches =
        std::visit(Overloaded{[&](const SequenceShape& sequence) { return sequence.features == columns; },
                              [&](const VectorShape& vector) { return vector.features == columns; },
                              [](const auto&) { return false; }},
                   model.shape.sample);
    if (!matches) throw Flaw("encoding: another number of features");
}

SavedModel model_in(const Safetensors& file) {
    const auto format = file.metadata.find("format");
    if (format == file.metadata.end() || format->second != "hpo-model")
        throw Flaw("no model that hpo train has written");
    if (file.metadata.find("input") == file.metadata.end())
        throw Flaw(
            "from an earlier version of hpo, which did not store the shape of the model's input: train it again");
    SavedModel read;
    auto shape = parse_sample_json(entry(file, "input"));
    if (!shape) throw Flaw(shape.error().message);
    read.shape = *std::move(shape);
    const std::string& task = entry(file, "task");
    const auto named = std::ranges::find(tasks, task, &TaskInfo::name);
    if (named == tasks.end()) throw Flaw("the task " + task + " is unknown: a newer version of hpo may read it");
    read.shape.task = static_cast<Task>(named - tasks.begin());
    read.shape.outputs = outputs_of(file, read.shape.task);
    const Params given = wire::to_params(Json::parse(entry(file, "configuration")));
    const auto configuration = read_configuration(given);
    if (!configuration) throw Flaw("configuration: " + configuration.error().message);
    read.format = configuration->data.format;
    if (const auto encoding = file.metadata.find("encoding"); encoding != file.metadata.end())
        read_encoding(encoding->second, read);
    settle_targets(read);
    settle_features(read);
    if (is_trees(configuration->all)) {
        auto trees = TreeEnsemble::from_tensors(file.tensors, read.shape.features(), read.shape.outputs);
        if (!trees) throw Flaw(trees.error().message);
        read.trees = *std::move(trees);
        return read;
    }
    read.mean = scalar(file, "input.mean");
    read.deviation = scalar(file, "input.deviation");
    auto model = make_model(configuration->all, read.shape);
    if (!model) throw Flaw("configuration: " + model.error().message);
    read.model = *std::move(model);
    read.weights = weights_of(file, read.model->block());
    return read;
}

}  // namespace

Result<SavedModel> parse_saved_model(std::string_view bytes) {
    const auto read = parse_safetensors(bytes);
    if (!read) return read.error();
    try {
        return model_in(*read);
    } catch (const Flaw& flaw) {
        return Error{flaw.what()};
    } catch (const Json::exception& flaw) {
        return Error{std::string("damaged: ") + flaw.what()};
    } catch (const wire::Malformed& flaw) {
        return Error{std::string("damaged: ") + flaw.what()};
    }
}

Result<SavedModel> read_saved_model(const std::filesystem::path& file) {
    std::error_code problem;
    if (std::filesystem::exists(file, problem) && !std::filesystem::is_regular_file(file, problem))
        return Error{file.string() + ": not a regular file"};
    std::ifstream in(file, std::ios::binary);
    if (!in) return Error{file.string() + ": " + std::strerror(errno)};
    auto read = parse_saved_model(std::string(std::istreambuf_iterator<char>(in), {}));
    if (!read) return Error{file.string() + ": " + read.error().message};
    return read;
}

}  // namespace hpo
