#include "worker/prediction/predict.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "worker/prediction/prediction_table.hpp"
#include "worker/prediction/predictor.hpp"
#include "worker/prediction/samples.hpp"

namespace hpo {
namespace {

/// Samples of which a batch is made.
class Batch {
   public:
    Batch(Predictor& predictor, PredictionTable& table, std::FILE* file)
        : predictor_(predictor), table_(table), file_(file) {}

    Result<void> add(const PredictedSample& sample) {
        names_.emplace_back(sample.name);
        known_.emplace_back(sample.known.begin(), sample.known.end());
        skipped_.push_back(sample.skipped);
        features_.insert(features_.end(), sample.features.begin(), sample.features.end());
        return static_cast<std::int64_t>(names_.size()) < predictor_.rows() ? Result<void>() : flush();
    }

    Result<void> flush() {
        if (names_.empty()) return {};
        const std::size_t features = features_.size() / names_.size();
        const auto outputs = predictor_.outputs(features_);
        const std::size_t width = outputs.size() / names_.size();
        std::string text;
        for (std::size_t i = 0; i < names_.size(); ++i)
            text +=
                table_.lines({names_[i], std::span(features_).subspan(i * features, features), known_[i], skipped_[i]},
                             outputs.subspan(i * width, width));
        names_.clear();
        known_.clear();
        skipped_.clear();
        features_.clear();
        return write(text);
    }

    Result<void> write(const std::string& text) {
        if (std::fwrite(text.data(), 1, text.size(), file_) == text.size()) return {};
        return Error{std::string("cannot write the predictions: ") + std::strerror(errno)};
    }

   private:
    Predictor& predictor_;
    PredictionTable& table_;
    std::FILE* file_;
    std::vector<std::string> names_;
    std::vector<std::vector<double>> known_;
    std::vector<std::int64_t> skipped_;
    std::vector<float> features_;
};

}  // namespace

Result<std::string> predict(Device& device, const std::filesystem::path& model, const std::filesystem::path& data,
                            const std::filesystem::path& output) {
    const auto saved = read_saved_model(model);
    if (!saved) return saved.error();
    const auto source = open_prediction_source(*saved, data);
    if (!source) return source.error();
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    const std::unique_ptr<std::FILE, Close> file(std::fopen(output.c_str(), "wbe"));
    if (!file) return Error{output.string() + ": " + std::strerror(errno)};
    Predictor predictor(device, *saved);
    PredictionTable table(*saved, (*source)->unit());
    Batch batch(predictor, table, file.get());
    auto written = batch.write(table.header());
    if (written) written = (*source)->each([&](const PredictedSample& sample) { return batch.add(sample); });
    if (written) written = batch.flush();
    if (written && std::fflush(file.get()) != 0)
        written = Error{std::string("cannot write the predictions: ") + std::strerror(errno)};
    if (!written) return written.error();
    const nlohmann::ordered_json summary{{"rows", table.rows()},
                                         {"scored", table.scored()},
                                         {"score", table.score()},
                                         {"warnings", (*source)->warnings()}};
    return summary.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace hpo
