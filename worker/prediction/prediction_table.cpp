#include "worker/prediction/prediction_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace hpo {
namespace {

constexpr std::size_t most_listed_classes = 100;

/// A field of CSV, in quotes where needed (RFC 4180).
std::string field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
    return quoted + '"';
}

/// The shortest text that reads back as the same float.
void add_number(double number, std::string& line) {
    char text[32];
    const auto written = std::to_chars(text, text + sizeof text, static_cast<float>(number));
    line += ',';
    line.append(text, written.ptr);
}

/// A byte of a text, or the number of a token.
std::string token_name(const SavedModel& model, std::size_t token) {
    if (model.bytes.empty()) return std::to_string(token);
    const char byte = static_cast<char>(model.bytes[token]);
    if (byte >= ' ' && byte < 127) return std::string(1, byte);
    char text[5];
    std::snprintf(text, sizeof text, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    return text;
}

double log_sigmoid(double logit) {
    return logit < 0 ? logit - std::log1p(std::exp(logit)) : -std::log1p(std::exp(-logit));
}

}  // namespace

PredictionTable::PredictionTable(const SavedModel& model, std::string unit)
    : model_(model), unit_(std::move(unit)), spreads_(static_cast<std::size_t>(model.shape.outputs)) {
    lists_classes_ = model.shape.task == Task::classification && model.bytes.empty() &&
                     model.targets.front().classes.size() <= most_listed_classes;
}

std::string PredictionTable::header() const {
    std::string line = unit_;
    if (model_.shape.target_per_step && unit_ != "position") line += ",step";
    if (model_.shape.task == Task::classification) {
        line += ",prediction,probability";
        for (const std::string& name : model_.targets.front().classes)
            if (lists_classes_) line += ',' + field("p(" + name + ')');
        return line + '\n';
    }
    const auto outputs = static_cast<std::size_t>(model_.shape.outputs), targets = model_.targets.size();
    for (std::size_t i = 0; i < outputs; ++i) {
        const std::string& name = model_.targets[i % targets].name;
        std::string text = name.empty() ? "prediction" : name;
        if (name.empty() && targets > 1) text += ' ' + std::to_string(i + 1);
        if (outputs > targets) text += '+' + std::to_string(i / targets + 1);
        line += ',' + field(text);
        if (model_.shape.task == Task::multi_label) line += ',' + field("p(" + text + ')');
    }
    return line + '\n';
}

std::string PredictionTable::lines(const PredictedSample& sample, std::span<const float> outputs) {
    const auto width = static_cast<std::size_t>(model_.shape.outputs);
    const std::size_t steps = outputs.size() / width;
    const std::size_t known_width = model_.shape.task == Task::classification ? 1 : width;
    const bool positions = unit_ == "position";
    std::string text;
    for (auto step = static_cast<std::size_t>(sample.skipped); step < steps; ++step) {
        if (positions) {
            std::int64_t first = 1;
            std::from_chars(sample.name.data(), sample.name.data() + sample.name.size(), first);
            text += std::to_string(first + static_cast<std::int64_t>(step));
        } else {
            text += field(std::string(sample.name));
            if (model_.shape.target_per_step) text += ',' + std::to_string(step + 1);
        }
        const auto its = outputs.subspan(step * width, width);
        const auto known = sample.known.size() < (step + 1) * known_width
                               ? std::span<const double>()
                               : sample.known.subspan(step * known_width, known_width);
        if (model_.shape.task == Task::classification)
            add_classes(its, known.empty() ? std::nan("") : known.front(), text);
        else if (model_.shape.task == Task::regression)
            add_numbers(its, known, text);
        else
            add_labels(its, known, text);
        text += '\n';
        ++rows_;
    }
    return text;
}

void PredictionTable::add_classes(std::span<const float> logits, double known, std::string& line) {
    const double largest = *std::ranges::max_element(logits);
    double sum = 0;
    probabilities_.clear();
    for (const float logit : logits) sum += probabilities_.emplace_back(std::exp(static_cast<double>(logit) - largest));
    const auto best = static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
    const bool tokens = std::holds_alternative<TokenShape>(model_.shape.sample) && model_.shape.target_per_step;
    line += ',' + field(tokens ? token_name(model_, best) : model_.targets.front().classes[best]);
    add_number(probabilities_[best] / sum, line);
    for (const double odds : probabilities_)
        if (lists_classes_) add_number(odds / sum, line);
    if (std::isnan(known)) return;
    ++scored_;
    right_ += static_cast<std::size_t>(known) == best ? 1 : 0;
    loss_ += std::log(sum) + largest - static_cast<double>(logits[static_cast<std::size_t>(known)]);
}

void PredictionTable::add_numbers(std::span<const float> outputs, std::span<const double> known, std::string& line) {
    for (std::size_t i = 0; i < outputs.size(); ++i) add_number(unscaled(i, outputs[i]), line);
    if (known.empty() || std::ranges::any_of(known, [](double number) { return std::isnan(number); })) return;
    ++scored_;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const double unit = several_units() ? model_.targets[i % model_.targets.size()].deviation : 1;
        const double error = (unscaled(i, outputs[i]) - known[i]) / unit;
        ++numbers_;
        squares_ += error * error;
        absolute_ += std::abs(error);
        spreads_[i].add(known[i] / unit);
    }
}

void PredictionTable::add_labels(std::span<const float> logits, std::span<const double> known, std::string& line) {
    for (const float logit : logits) {
        line += logit > 0 ? ",1" : ",0";
        add_number(1 / (1 + std::exp(-static_cast<double>(logit))), line);
    }
    if (known.empty() || std::ranges::any_of(known, [](double number) { return std::isnan(number); })) return;
    ++scored_;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        ++numbers_;
        right_ += (logits[i] > 0) == (known[i] > 0.5) ? 1 : 0;
        loss_ -= log_sigmoid(known[i] > 0.5 ? logits[i] : -logits[i]);
    }
}

double PredictionTable::unscaled(std::size_t output, float number) const {
    const SavedTarget& target = model_.targets[output % model_.targets.size()];
    return static_cast<double>(number) * target.deviation + target.mean;
}

std::map<std::string, double> PredictionTable::score() const {
    if (scored_ == 0) return {};
    const auto rows = static_cast<double>(scored_), numbers = static_cast<double>(numbers_);
    if (model_.shape.task == Task::classification) return {{"accuracy", right_ / rows}, {"loss", loss_ / rows}};
    if (model_.shape.task == Task::multi_label) return {{"accuracy", right_ / numbers}, {"loss", loss_ / numbers}};
    double variance = 0;  // its mean over the outputs, as in training
    for (const NumberFit& spread : spreads_) variance += spread.variance() / static_cast<double>(spreads_.size());
    std::map<std::string, double> score{{"mse", squares_ / numbers}, {"mae", absolute_ / numbers}};
    if (variance > 0) score["r2"] = 1 - squares_ / numbers / variance;
    return score;
}

}  // namespace hpo
