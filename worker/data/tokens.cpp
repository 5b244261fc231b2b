#include "worker/data/tokens.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "worker/data/csv_columns.hpp"
#include "worker/data/data_text.hpp"
#include "worker/data/mapped_file.hpp"
#include "worker/data/split.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t least_to_be_halves = 64;  // numbers, of which every second one is 0
constexpr std::int64_t token_piece = 1 << 16;    // of tokens that are passed on at once
// The header of llm.c's files.
constexpr std::int64_t token_header_bytes = 256 * 4;
constexpr std::uint32_t token_magic = 20240520, wide_token_magic = 20240801;

/// Reads a token of `width` bytes.
std::uint32_t token_at(const std::byte* at, std::int64_t width) {
    const auto low = std::to_integer<std::uint32_t>(at[0]);
    return width == 1 ? low : low | std::to_integer<std::uint32_t>(at[1]) << 8;
}

class TokenSurvey {
   public:
    TokenSurvey(const DataConfig& config, TokenData& data) : config_(config), data_(data) {}

    Result<void> run(const fs::path& train, const std::optional<fs::path>& test) {
        auto first = scan(train);
        if (!first) return first.error();
        data_.train = *std::move(first);
        if (test) {
            auto second = scan(*test);
            if (!second) return second.error();
            data_.test = *std::move(second);
        }
        if (config_.format == "text") {
            for (std::size_t byte = 0; byte < seen_.size(); ++byte)
                if (seen_[byte]) data_.bytes.push_back(static_cast<std::uint8_t>(byte));
            data_.vocabulary = static_cast<std::int64_t>(data_.bytes.size());
        } else {
            data_.vocabulary = config_.vocabulary > 0 ? config_.vocabulary : largest_ + 1;
        }
        if (data_.vocabulary < 2 || smallest_ == largest_)
            return Error{train.string() + ": all tokens are the same: there is nothing to learn"};
        return {};
    }

   private:
    Result<TokenFile> scan(const fs::path& path) {
        const auto mapped = MappedFile::open(path);
        if (!mapped) return mapped.error();
        const auto file = find_tokens(path, mapped->bytes(), config_.format == "text");
        if (!file) return Error{path.string() + ": " + file.error().message};
        bool halves = file->width == 2 && file->count >= least_to_be_halves;
        for (std::int64_t i = 0; i < file->count; ++i) {
            const std::uint32_t token =
                token_at(&mapped->bytes()[static_cast<std::size_t>(file->begin + i * file->width)], file->width);
            if (file->width == 1) seen_[token] = true;
            halves = halves && (i % 2 == 0 || token == 0);
            smallest_ = std::min<std::int64_t>(smallest_, token);
            largest_ = std::max<std::int64_t>(largest_, token);
            if (config_.vocabulary > 0 && token >= config_.vocabulary)
                return Error{"data.vocabulary: " + path.string() + " has the token " + grouped(token) +
                             " at position " + grouped(i) + " (byte " + grouped(file->begin + i * file->width) +
                             "), and a vocabulary of " + grouped(config_.vocabulary) + " ends at " +
                             grouped(config_.vocabulary - 1)};
        }
        if (halves && largest_ > 0)
            return Error{path.string() +
                         ": every second number of 16 bits is 0: these seem to be tokens of 32 bits; save the array "
                         "after .astype('<u2')"};
        return file;
    }

    const DataConfig& config_;
    TokenData& data_;
    std::array<bool, 256> seen_{};
    std::int64_t smallest_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t largest_ = 0;
};

/// The keys that a survey of tokens depends on.
struct TokensKey {
    std::string format, path;
    std::int64_t vocabulary = 0;
    std::vector<std::pair<std::uintmax_t, fs::file_time_type>> files;
    friend bool operator==(const TokensKey&, const TokensKey&) = default;
};

WindowQuestion window_question(const DataConfig& config, const TokenData& data) {
    const bool text = config.format == "text";
    return {.rows = data.train.count,
            .window = config.window,
            .horizon = 1,
            .stride = config.stride > 0 ? config.stride : config.window,
            .tests_apart = data.test.has_value(),
            .unit = text ? "bytes" : "tokens",
            .whole = text ? "text" : "file"};
}

/// Returns the number of windows of a separate test file.
Result<std::int64_t> windows_apart(const TokenFile& file, const WindowQuestion& question) {
    const std::int64_t span = question.window + question.horizon;
    if (file.count < span)
        return Error{"data.window: a window and the token after it are " + grouped(span) + " tokens, and " +
                     file.file.string() + " has only " + grouped(file.count)};
    return (file.count - span) / question.stride + 1;
}

/// Reads windows of a file as samples.
class TokenWindows {
   public:
    static Result<TokenWindows> open(const TokenData& data, const TokenFile& file, std::int64_t window) {
        auto opened = PositionedFile::open(file.file);
        if (!opened) return opened.error();
        if (opened->size() != file.begin + file.count * file.width)
            return Error{file.file.string() + ": changed while it was read"};
        return TokenWindows(data, file, window, *std::move(opened));
    }

    /// The tokens of the window that begins with token `begin`, and the token after each. Throws UnreadableFile for a
    /// token outside the vocabulary, which the file did not have when it was described.
    void read(std::int64_t begin, float* features, std::int32_t* targets) const {
        thread_local std::vector<std::byte> bytes;
        bytes.resize(static_cast<std::size_t>((window_ + 1) * width_));
        opened_.read(begin_ + begin * width_, bytes);
        for (std::int64_t step = 0; step <= window_; ++step) {
            const std::uint32_t read = token_at(&bytes[static_cast<std::size_t>(step * width_)], width_);
            if (!is_text_ && read >= vocabulary_)
                throw UnreadableFile(file_.string() + ": changed while it was in use");
            const auto token = is_text_ ? token_of_byte_[read] : static_cast<std::int32_t>(read);
            if (step < window_) features[step] = static_cast<float>(token);
            if (step > 0) targets[step - 1] = token;
        }
    }

   private:
    TokenWindows(const TokenData& data, const TokenFile& file, std::int64_t window, PositionedFile opened)
        : file_(file.file),
          begin_(file.begin),
          width_(file.width),
          window_(window),
          vocabulary_(static_cast<std::uint32_t>(data.vocabulary)),
          opened_(std::move(opened)),
          is_text_(!data.bytes.empty()) {
        for (std::size_t token = 0; token < data.bytes.size(); ++token)
            token_of_byte_[data.bytes[token]] = static_cast<std::int32_t>(token);
    }

    fs::path file_;
    std::int64_t begin_, width_, window_;
    std::uint32_t vocabulary_;
    PositionedFile opened_;
    bool is_text_;
    std::array<std::int32_t, 256> token_of_byte_{};
};

/// Reads the samples of training and testing.
class TokenSamples final : public SampleReader {
   public:
    static Result<std::unique_ptr<TokenSamples>> open(const DataConfig& config, const TokenData& data) {
        const WindowQuestion question = window_question(config, data);
        const auto layout = lay_out_windows(config, question);
        if (!layout) return layout.error();
        auto train = TokenWindows::open(data, data.train, config.window);
        if (!train) return Error{"data.path: " + train.error().message};
        auto test = TokenWindows::open(data, data.test.value_or(data.train), config.window);
        if (!test) return Error{"data.path: " + test.error().message};
        return std::unique_ptr<TokenSamples>(new TokenSamples(*layout, *std::move(train), *std::move(test),
                                                              data.test ? question.stride : std::int64_t{0}));
    }

    void read(Part part, std::int64_t index, float* features, std::int32_t* targets) const {
        if (part == Part::train) return train_.read(layout_.row_of(part, index), features, targets);
        test_.read(stride_apart_ > 0 ? index * stride_apart_ : layout_.row_of(part, index), features, targets);
    }
    void read(Part part, std::int64_t index, std::span<std::byte> features,
              std::span<std::byte> targets) const override {
        read(part, index, reinterpret_cast<float*>(features.data()), reinterpret_cast<std::int32_t*>(targets.data()));
    }

   private:
    TokenSamples(const WindowLayout& layout, TokenWindows train, TokenWindows test, std::int64_t stride_apart)
        : layout_(layout), train_(std::move(train)), test_(std::move(test)), stride_apart_(stride_apart) {}

    WindowLayout layout_;
    TokenWindows train_, test_;
    std::int64_t stride_apart_;  ///< between the windows of a separate test file; 0: a part of the training file tests
};

}  // namespace

Result<TokenFile> find_tokens(const fs::path& path, std::span<const std::byte> bytes, bool text) {
    const auto size = static_cast<std::int64_t>(bytes.size());
    TokenFile file{path, 0, text ? 1 : 2, size};
    if (text) {
        if (size > 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b})
            return Error{"compressed by gzip: unpack it first, since a text is mapped into memory"};
        return file;
    }
    const auto number = [&](std::size_t index) {
        std::uint32_t value = 0;
        if (bytes.size() >= 4 * (index + 1)) std::memcpy(&value, &bytes[4 * index], 4);
        return value;
    };
    if (number(0) == wide_token_magic && number(1) == 7)
        return Error{"tokens of 32 bits (llm.c's version 7): only those of 16 bits can be read"};
    if (number(0) == token_magic && size >= token_header_bytes) {
        if (number(1) != 1)
            return Error{"byte 4: version " + std::to_string(number(1)) + " of llm.c's files is not known"};
        file.begin = token_header_bytes;
    }
    if ((size - file.begin) % 2 != 0)
        return Error{grouped(size) + " bytes are no whole number of tokens of 16 bits: is it truncated?"};
    file.count = (size - file.begin) / 2;
    if (file.begin > 0 && number(2) != file.count)
        return Error{"byte 8: the header claims " + grouped(number(2)) + " tokens, and " + grouped(file.count) +
                     " follow: is it truncated?"};
    return file;
}

Result<const TokenData*> survey_tokens(const DataConfig& config) {
    if (config.path.empty()) return Error{"data.path: needed for format " + config.format + ": a file"};
    fs::path train = config.path;
    std::optional<fs::path> test;
    if (auto exists = check_data_file(train); !exists) return exists.error();
    std::error_code problem;
    if (config.format == "tokens" && fs::is_directory(train, problem)) {
        test = train / "val.bin";
        train /= "train.bin";
        for (const fs::path& file : {train, *test})
            if (!fs::exists(file, problem))
                return Error{"data.path: the folder " + config.path + " has no " + file.filename().string() +
                             "; name a file, or a folder with train.bin and val.bin"};
    }
    TokensKey key{config.format, config.path, config.vocabulary, {}};
    for (const fs::path& file : {train, test.value_or(train)})
        key.files.emplace_back(fs::file_size(file, problem), fs::last_write_time(file, problem));
    static std::optional<std::pair<TokensKey, TokenData>> last;
    if (last && last->first == key) return &last->second;
    last.reset();
    TokenData data;
    if (auto run = TokenSurvey(config, data).run(train, test); !run) return data_file_error(config.path, run.error());
    last.emplace(std::move(key), std::move(data));
    return &last->second;
}

Result<DataShape> describe_tokens(const DataConfig& config) {
    if (config.task && config.task != Task::classification)
        return Error{"task: the next token is a class: leave out task: " + std::string(info_of(*config.task).name)};
    if (config.window <= 0) return Error{"data.window: needed for format " + config.format + ": tokens of a sample"};
    const auto data = survey_tokens(config);
    if (!data) return data.error();
    const WindowQuestion question = window_question(config, **data);
    const auto layout = lay_out_windows(config, question);
    if (!layout) return layout.error();
    DataShape shape;
    shape.train = layout->train;
    shape.test = layout->test;
    if ((*data)->test) {
        const auto windows = windows_apart(*(*data)->test, question);
        if (!windows) return windows.error();
        shape.test = *windows;
    }
    shape.sample = TokenShape{config.window, (*data)->vocabulary};
    shape.outputs = (*data)->vocabulary;
    shape.standardised = true;
    shape.target_per_step = true;
    shape.loading_bytes = 8 * std::max(token_piece, config.window);
    return shape;
}

Result<Split> split_tokens(const DataConfig& config, const SplitSizes& sizes, std::uint64_t data_seed) {
    const auto shape = describe_tokens(config);
    if (!shape) return shape.error();
    // A subset leaves out the beginning.
    return cut_split(sizes, split_order(SplitKind::time, shape->train, data_seed, 0));
}

Result<DataFacts> load_tokens(const DataConfig& config, std::uint64_t, const SampleSink& sink) {
    const auto shape = describe_tokens(config);
    if (!shape) return shape.error();
    const TokenData& data = **survey_tokens(config);
    const auto samples = TokenSamples::open(config, data);
    if (!samples) return samples.error();
    const auto window = static_cast<std::size_t>(config.window);
    const std::int64_t at_once = std::max<std::int64_t>(1, token_piece / config.window);
    std::vector<float> features;
    std::vector<std::int32_t> targets;
    for (const auto& [part, count] : {std::pair(Part::train, shape->train), std::pair(Part::test, shape->test)})
        for (std::int64_t first = 0; first < count; first += at_once) {
            const std::int64_t here = std::min(at_once, count - first);
            features.resize(static_cast<std::size_t>(here) * window);
            targets.resize(features.size());
            for (std::size_t i = 0; i < static_cast<std::size_t>(here); ++i)
                (*samples)->read(part, first + static_cast<std::int64_t>(i), &features[i * window],
                                 &targets[i * window]);
            sink({part, first, here, std::as_bytes(std::span(features)), std::as_bytes(std::span(targets))});
        }
    nlohmann::ordered_json encoding{{"window", config.window}, {"vocabulary", data.vocabulary}};
    if (!data.bytes.empty()) encoding["bytes"] = data.bytes;
    DataFacts facts;
    facts.encoding = encoding.dump();
    return facts;
}

Result<std::unique_ptr<SampleReader>> open_tokens(const DataConfig& config, std::uint64_t) {
    const auto data = survey_tokens(config);
    if (!data) return data.error();
    auto samples = TokenSamples::open(config, **data);
    if (!samples) return samples.error();
    return std::unique_ptr<SampleReader>(*std::move(samples));
}

Result<std::vector<std::string>> explain_tokens(const DataConfig& config) {
    const auto shape = describe_tokens(config);
    if (!shape) return shape.error();
    const TokenData& data = **survey_tokens(config);
    const WindowQuestion question = window_question(config, data);
    const WindowLayout layout = *lay_out_windows(config, question);
    const auto sizes = split_sizes(config, layout.train);
    if (!sizes) return sizes.error();
    const std::string unit = question.unit;
    std::vector<std::string> lines{grouped(data.train.count) + " " + unit +
                                       (data.bytes.empty() ? " out of a vocabulary of " + grouped(data.vocabulary)
                                                           : ", " + grouped(data.vocabulary) + " different ones") +
                                       "; a window has " + grouped(question.window) + ", and the next one begins " +
                                       grouped(question.stride) + " later",
                                   parts_text(layout, *sizes, question),
                                   "target: the next " + unit.substr(0, unit.size() - 1) + " of each"};
    if (data.test)
        lines.push_back(data.test->file.filename().string() + " tests: " + grouped(data.test->count) + " " + unit +
                        ", " + grouped(shape->test) + " windows");
    return lines;
}

}  // namespace hpo
