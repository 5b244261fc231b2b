#include "worker/training/class_weights.hpp"

#include <cmath>

#include "hpo/from_chars.hpp"

namespace hpo {

Result<ClassWeights> parse_class_weights(const std::string& text) {
    ClassWeights weights;
    if (text == "none") return weights;
    weights.balanced = text == "balanced";
    if (weights.balanced) return weights;
    for (const char *at = text.data(), *end = at + text.size(); at != end;) {
        while (at != end && *at == ' ') ++at;
        double number = 0;
        const auto [after, error] = from_chars(at, end, number);
        const char* next = after;
        while (next != end && *next == ' ') ++next;
        if (error != std::errc() || !std::isfinite(number) || number < 0 || (next != end && *next != ','))
            return Error{"training.class_weights: \"" + text +
                         "\" is neither none nor balanced nor a number of at least 0 for each class, with commas "
                         "between them, such as 1, 2.5"};
        weights.given.push_back(number);
        at = next == end ? end : next + 1;
    }
    double sum = 0;
    for (const double number : weights.given) sum += number;
    if (!(sum > 0)) return Error{"training.class_weights: no class has a weight above 0"};
    return weights;
}

Result<void> check_class_weights(const ClassWeights& weights, const DataShape& shape) {
    if (!weights.any()) return {};
    if (shape.task == Task::regression)
        return Error{"training.class_weights: are of classes, and the target is a number: leave them out"};
    if (!weights.balanced && static_cast<std::int64_t>(weights.given.size()) != shape.outputs)
        return Error{"training.class_weights: " + std::to_string(weights.given.size()) + " numbers for " +
                     std::to_string(shape.outputs) + (shape.task == Task::multi_label ? " labels" : " classes")};
    return {};
}

std::vector<float> class_weights_of(const ClassWeights& weights, Task task, std::span<const std::int64_t> counts,
                                    std::int64_t targets) {
    std::vector<double> numbers(weights.given);
    if (weights.balanced)
        for (const std::int64_t count : counts) {
            const auto others = static_cast<double>(task == Task::multi_label ? targets - count : targets);
            numbers.push_back(count > 0 && others > 0 ? others / static_cast<double>(count) : 1);
        }
    double scale = 1;
    if (task == Task::classification) {
        double sum = 0;
        for (std::size_t i = 0; i < counts.size(); ++i) sum += numbers[i] * static_cast<double>(counts[i]);
        if (sum > 0) scale = static_cast<double>(targets) / sum;
    }
    std::vector<float> scaled;
    for (const double number : numbers) scaled.push_back(static_cast<float>(number * scale));
    return scaled;
}

}  // namespace hpo
