#include "worker/data/sample_json.hpp"

#include <nlohmann/json.hpp>

namespace hpo {
namespace {

using SampleJson = nlohmann::ordered_json;

constexpr std::int64_t most_sample_numbers = std::int64_t{1} << 31;

/// Throws nlohmann's exceptions where `name` is no integer.
std::int64_t extent_of(const nlohmann::json& json, const char* name) {
    const nlohmann::json& value = json.at(name);
    const auto extent = value.is_number_integer() ? value.get<std::int64_t>() : 0;
    if (extent < 1 || extent > most_sample_numbers) throw std::out_of_range(name);
    return extent;
}

SampleShape sample_of(const nlohmann::json& json) {
    const auto& kind = json.at("kind").get_ref<const std::string&>();
    if (kind == "vector") return VectorShape{extent_of(json, "features")};
    if (kind == "image")
        return ImageShape{extent_of(json, "height"), extent_of(json, "width"), extent_of(json, "channels")};
    if (kind == "sequence") return SequenceShape{extent_of(json, "steps"), extent_of(json, "features")};
    if (kind == "tokens") return TokenShape{extent_of(json, "steps"), extent_of(json, "vocabulary")};
    throw std::out_of_range("kind");
}

/// Returns true if the product of the extents of one sample is in range.
bool is_small_enough(const SampleShape& sample) {
    const auto fits = [](std::initializer_list<std::int64_t> extents) {
        std::int64_t numbers = 1;
        for (const std::int64_t extent : extents) {
            if (numbers > most_sample_numbers / extent) return false;
            numbers *= extent;
        }
        return true;
    };
    return std::visit(Overloaded{[&](const VectorShape& vector) { return fits({vector.features}); },
                                 [&](const ImageShape& image) {
                                     return fits({image.height, image.width, image.channels});
                                 },
                                 [&](const SequenceShape& sequence) {
                                     return fits({sequence.steps, sequence.features});
                                 },
                                 [&](const TokenShape& tokens) { return fits({tokens.steps}); }},
                      sample);
}

}  // namespace

std::string sample_json(const DataShape& shape) {
    SampleJson json = std::visit(
        Overloaded{
            [](const VectorShape& vector) {
                return SampleJson{{"kind", "vector"}, {"features", vector.features}};
            },
            [](const ImageShape& image) {
                return SampleJson{
                    {"kind", "image"}, {"height", image.height}, {"width", image.width}, {"channels", image.channels}};
            },
            [](const SequenceShape& sequence) {
                return SampleJson{{"kind", "sequence"}, {"steps", sequence.steps}, {"features", sequence.features}};
            },
            [](const TokenShape& tokens) {
                return SampleJson{{"kind", "tokens"}, {"steps", tokens.steps}, {"vocabulary", tokens.vocabulary}};
            }},
        shape.sample);
    if (!shape.categories.empty()) {
        json["categories"] = SampleJson::array();
        for (const CategoryShape& category : shape.categories)
            json["categories"].push_back(SampleJson::array({category.first, category.levels}));
    }
    json["target_per_step"] = shape.target_per_step;
    return json.dump();
}

Result<DataShape> parse_sample_json(std::string_view text) try {
    const auto json = nlohmann::json::parse(text);
    DataShape shape;
    shape.sample = sample_of(json);
    if (!is_small_enough(shape.sample)) return Error{"input: too many numbers in a sample"};
    shape.target_per_step = json.at("target_per_step").get<bool>();
    std::int64_t behind = 0;
    for (const nlohmann::json& category : json.value("categories", nlohmann::json::array())) {
        const CategoryShape read{category.at(0).get<std::int64_t>(), category.at(1).get<std::int64_t>()};
        if (read.first < behind || read.levels < 1 || read.levels > shape.features() ||
            read.first > shape.features() - read.levels)
            return Error{"input: categories outside of the features"};
        behind = read.first + read.levels;
        shape.categories.push_back(read);
    }
    return shape;
} catch (const nlohmann::json::exception& flaw) {
    return Error{std::string("input: ") + flaw.what()};
} catch (const std::out_of_range& name) {
    return Error{std::string("input: ") + name.what() + " is not in range"};
}

}  // namespace hpo
