// Windows of a text or of a file of tokens, one behind the other; the last one may be shorter than the model's window
// and is filled up in front with the tokens before it.
#include <algorithm>
#include <array>
#include <limits>

#include "worker/data/data_text.hpp"
#include "worker/data/mapped_file.hpp"
#include "worker/data/tokens.hpp"
#include "worker/prediction/samples.hpp"

namespace hpo {
namespace {

class TokenFileWindows final : public PredictionSource {
   public:
    TokenFileWindows(const SavedModel& model, TokenFile file, MappedFile mapped)
        : model_(model), file_(std::move(file)), mapped_(std::move(mapped)) {
        token_of_byte_.fill(-1);
        for (std::size_t token = 0; token < model.bytes.size(); ++token)
            token_of_byte_[model.bytes[token]] = static_cast<std::int32_t>(token);
    }

    [[nodiscard]] const char* unit() const override { return "position"; }
    Result<void> each(const PredictionSink& sink) override {
        const std::int64_t window = model_.window;
        std::vector<float> features(static_cast<std::size_t>(window));
        std::vector<double> known(features.size());
        for (std::int64_t next = 0; next < file_.count; next += window) {
            const std::int64_t first = std::min(next, file_.count - window);
            for (std::int64_t step = 0; step < window; ++step) {
                const auto token = token_at(first + step);
                if (!token) return token.error();
                const auto at = static_cast<std::size_t>(step);
                features[at] = static_cast<float>(*token);
                known[at] = std::numeric_limits<double>::quiet_NaN();
                if (first + step + 1 >= file_.count) continue;
                const auto after = token_at(first + step + 1);
                if (!after) return after.error();
                known[at] = *after;
            }
            const std::string name = std::to_string(first + 1);
            if (auto taken = sink({name, features, known, next - first}); !taken) return taken;
        }
        return {};
    }

   private:
    [[nodiscard]] Result<std::int32_t> token_at(std::int64_t position) const {
        const auto* bytes = &mapped_.bytes()[static_cast<std::size_t>(file_.begin + position * file_.width)];
        const auto low = std::to_integer<std::int32_t>(bytes[0]);
        const std::int32_t token = file_.width == 1 ? token_of_byte_[static_cast<std::size_t>(low)]
                                                    : low | std::to_integer<std::int32_t>(bytes[1]) << 8;
        const auto vocabulary = std::get<TokenShape>(model_.shape.sample).vocabulary;
        if (token >= 0 && token < vocabulary) return token;
        return Error{file_.file.string() + ": position " + std::to_string(position + 1) +
                     (file_.width == 1 ? ": a byte that the model's text did not have: " + std::to_string(low)
                                       : ": token " + std::to_string(token) +
                                             " is outside of the model's vocabulary of " + grouped(vocabulary))};
    }

    const SavedModel& model_;
    TokenFile file_;
    MappedFile mapped_;
    std::array<std::int32_t, 256> token_of_byte_{};
};

}  // namespace

OpenedSource open_token_source(const SavedModel& model, const std::filesystem::path& data) {
    if (!std::holds_alternative<TokenShape>(model.shape.sample) || model.window < 1)
        return Error{"the model's samples are no tokens"};
    auto mapped = MappedFile::open(data);
    if (!mapped) return mapped.error();
    auto found = find_tokens(data, mapped->bytes(), !model.bytes.empty());
    if (!found) return Error{data.string() + ": " + found.error().message};
    if (found->count < model.window)
        return Error{data.string() + ": " + grouped(found->count, "token") + ", and the model takes windows of " +
                     grouped(model.window)};
    return std::unique_ptr<PredictionSource>(
        std::make_unique<TokenFileWindows>(model, *std::move(found), *std::move(mapped)));
}

}  // namespace hpo
