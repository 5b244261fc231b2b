#include "worker/data/arrays.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "worker/data/csv_columns.hpp"
#include "worker/data/data_text.hpp"
#include "worker/data/number_fit.hpp"
#include "worker/data/split.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_array_rows = 1'000'000'000;
constexpr std::int64_t most_array_numbers = std::int64_t{1} << 22;  // of a sample
constexpr std::size_t most_labels = 4096;                           // different ones
constexpr std::int64_t most_targets = 65'536;                       // of a sample
constexpr std::size_t target_piece_bytes = std::size_t{1} << 18;

struct Places {
    ArrayPlace inputs, targets;
    std::optional<ArrayPlace> test_inputs, test_targets;
};

class Finder {
   public:
    Finder(const DataConfig& config, std::vector<ArrayPlace> places) : config_(config), places_(std::move(places)) {}

    Result<Places> find() const {
        const bool single = places_.size() == 1 && places_[0].member.empty() && places_[0].file == config_.path;
        if (single) return of_files();
        if (config_.inputs.empty() && config_.labels.empty()) {
            for (const ArrayNames& names : usual_names) {
                const auto *inputs = named(names.inputs), *targets = named(names.targets);
                if (inputs == nullptr || targets == nullptr) continue;
                const auto *test_inputs = named(names.test_inputs), *test_targets = named(names.test_targets);
                if ((test_inputs == nullptr) != (test_targets == nullptr))
                    return Error{"data.path: " + config_.path + " has an array " +
                                 std::string(test_inputs != nullptr ? names.test_inputs : names.test_targets) +
                                 " but no " +
                                 std::string(test_inputs != nullptr ? names.test_targets : names.test_inputs)};
                Places found{*inputs, *targets, {}, {}};
                if (test_inputs != nullptr) found.test_inputs = *test_inputs, found.test_targets = *test_targets;
                return found;
            }
            return Error{"data.path: which arrays of " + config_.path +
                         " are the features and the targets? Say so by data.inputs and data.labels; it has " + list()};
        }
        for (const auto& [key, name] :
             {std::pair("data.inputs", &config_.inputs), std::pair("data.labels", &config_.labels)}) {
            if (name->empty())
                return Error{std::string(key) + ": needed, as the other one of data.inputs and data.labels is given; " +
                             config_.path + " has " + list()};
            if (named(*name) == nullptr)
                return Error{std::string(key) + ": " + config_.path + " has no array " + quoted_name(*name) +
                             "; it has " + list()};
        }
        return Places{*named(config_.inputs), *named(config_.labels), {}, {}};
    }

   private:
    /// Finds the arrays of two NPY files.
    [[nodiscard]] Result<Places> of_files() const {
        if (!config_.inputs.empty())
            return Error{"data.inputs: " + config_.path + " is a single array; the key is for an archive or a folder"};
        if (config_.labels.empty())
            return Error{"data.labels: needed, as " + config_.path +
                         " is a single array: an NPY file with the targets"};
        const fs::path labels = config_.labels;
        std::error_code missing;
        if (!fs::exists(labels, missing)) return Error{"data.labels: no file " + labels.string()};
        const auto its = list_arrays(labels);
        if (!its) return Error{"data.labels: " + its.error().message};
        if (its->size() != 1 || !its->front().member.empty() || its->front().file != labels)
            return Error{"data.labels: " + labels.string() + " is not an NPY file (*.npy)"};
        return Places{places_[0], its->front(), {}, {}};
    }

    [[nodiscard]] const ArrayPlace* named(std::string_view name) const {
        const auto found = std::find_if(places_.begin(), places_.end(),
                                        [&](const ArrayPlace& place) { return !name.empty() && place.name == name; });
        return found == places_.end() ? nullptr : &*found;
    }
    [[nodiscard]] std::string list() const {
        NameList names;
        for (const ArrayPlace& place : places_) names.add(place.name);
        return names.line("").substr(2);
    }

    const DataConfig& config_;
    std::vector<ArrayPlace> places_;
};

Result<NpyHeader> header_of(const ArrayPlace& place) {
    auto reader = NpyReader::open(place);
    if (!reader) return reader.error();
    const NpyHeader& header = (*reader)->header();
    if (header.shape[0] > most_array_rows)
        return Error{place.text() + ": more than " + grouped(most_array_rows) + " samples"};
    return header;
}

Result<ArrayPair> pair_of(const ArrayPlace& inputs, const ArrayPlace& targets) {
    ArrayPair pair{inputs, targets, {}, {}};
    for (const auto& [place, header] : {std::pair(&inputs, &pair.inputs_header), {&targets, &pair.targets_header}}) {
        auto read = header_of(*place);
        if (!read) return read.error();
        *header = *std::move(read);
    }
    if (pair.rows() != pair.targets_header.shape[0])
        return Error{inputs.text() + " has " + grouped(pair.rows()) + " samples (shape " +
                     shape_text(pair.inputs_header.shape) + "), and " + targets.text() + " has " +
                     grouped(pair.targets_header.shape[0]) + " targets (shape " +
                     shape_text(pair.targets_header.shape) + ")"};
    return pair;
}

class ArraySurvey {
   public:
    ArraySurvey(const DataConfig& config, ArrayData& data) : config_(config), data_(data) {}

    Result<void> run(const Places& places) {
        auto train = pair_of(places.inputs, places.targets);
        if (!train) return train.error();
        data_.train = *std::move(train);
        if (places.test_inputs) {
            auto test = pair_of(*places.test_inputs, *places.test_targets);
            if (!test) return test.error();
            if (!same_but_rows(test->inputs_header, data_.train.inputs_header))
                return differ(test->inputs, test->inputs_header, data_.train.inputs, data_.train.inputs_header);
            if (!same_but_rows(test->targets_header, data_.train.targets_header))
                return differ(test->targets, test->targets_header, data_.train.targets, data_.train.targets_header);
            data_.test = *std::move(test);
        } else if (data_.train.rows() < 3) {
            return Error{data_.train.inputs.text() + " has " + grouped(data_.train.rows()) +
                         " samples: at least 3 are needed, to train, to validate and to test"};
        }
        if (auto settled = settle_sample(); !settled) return settled;
        return settle_targets();
    }

   private:
    static bool same_but_rows(const NpyHeader& a, const NpyHeader& b) {
        return a.type == b.type && std::equal(a.shape.begin() + 1, a.shape.end(), b.shape.begin() + 1, b.shape.end());
    }
    static Error differ(const ArrayPlace& a, const NpyHeader& its, const ArrayPlace& b, const NpyHeader& other) {
        return {a.text() + " holds " + npy_name(its.type) + " of shape " + shape_text(its.shape) + ", and " + b.text() +
                " " + npy_name(other.type) + " of shape " + shape_text(other.shape)};
    }

    Result<void> settle_sample() {
        const NpyHeader& header = data_.train.inputs_header;
        const std::vector<std::int64_t>& shape = header.shape;
        const std::string what = data_.train.inputs.text() + ": features of shape " + shape_text(shape);
        if (header.row_numbers() > most_array_numbers)
            return Error{what + ": more than " + grouped(most_array_numbers) + " numbers for each sample"};
        switch (shape.size()) {
            case 1:
                data_.sample = VectorShape{1};
                break;
            case 2:
                data_.sample = VectorShape{shape[1]};
                break;
            case 3:
                if (header.type == NpyType::u8)
                    data_.sample = ImageShape{shape[1], shape[2], 1};
                else
                    data_.sample = SequenceShape{shape[1], shape[2]};
                break;
            case 4:
                if (shape[3] > 4)
                    return Error{what +
                                 ": images must have their channels last, (n, height, width, channels), and at "
                                 "most 4" +
                                 (shape[1] <= 4 ? ": save array.transpose(0, 2, 3, 1)" : "")};
                data_.sample = ImageShape{shape[1], shape[2], shape[3]};
                break;
            default:
                return Error{what + ": 1 to 4 dimensions are possible"};
        }
        data_.pixels = header.type == NpyType::u8 && std::holds_alternative<ImageShape>(data_.sample);
        return {};
    }

    Result<void> settle_targets() {
        const NpyHeader& header = data_.train.targets_header;
        const std::int64_t width = header.row_numbers();
        const std::string what = data_.train.targets.text() + ": targets of shape " + shape_text(header.shape);
        data_.task = config_.task.value_or(is_float(header.type) ? Task::regression : Task::classification);
        if (data_.task == Task::classification && width != 1)
            return Error{what +
                         ": a class is one number, (n,) or (n, 1); for one-hot targets, save array.argmax(1), and for "
                         "labels of which a sample may have several, give task: multi-label"};
        if (header.shape.size() > 2 || width > most_targets)
            return Error{what + ": (n,) or (n, numbers to predict) is possible"};
        if (config_.split == SplitKind::stratified && data_.task != Task::classification)
            return Error{"data.split: stratified is for classes, and the target is " +
                         std::string(data_.task == Task::regression ? "a number" : "labels") + ": use random or time"};
        data_.split = config_.split != SplitKind::automatic ? config_.split
                      : data_.task == Task::classification  ? SplitKind::stratified
                                                            : SplitKind::random;
        if (auto read = read_targets(data_.train); !read) return read;
        if (data_.task != Task::classification) {
            data_.outputs = width;
            if (std::equal(data_.numbers.begin() + width, data_.numbers.end(), data_.numbers.begin()))
                return Error{what + ": all samples have the same: there is nothing to learn"};
            if (data_.test) return read_targets(*data_.test);
            return {};
        }
        const auto in_training = static_cast<std::size_t>(data_.train.rows());
        std::set<double> values;
        for (std::size_t row = 0; row < in_training && values.size() <= most_labels; ++row)
            values.insert(data_.numbers[row]);
        if (values.size() > most_labels)
            return Error{what + ": more than " + grouped(static_cast<std::int64_t>(most_labels)) +
                         " different classes: for numbers to predict, task: regression"};
        if (values.size() == 1)
            return Error{what + ": all are " + short_text(*values.begin()) + ": there is nothing to learn"};
        if (data_.test)
            if (auto read = read_targets(*data_.test); !read) return read;
        for (const double value : values) data_.classes.push_back(static_cast<std::int64_t>(value));
        data_.outputs = static_cast<std::int64_t>(data_.classes.size());
        for (std::size_t row = 0; row < data_.numbers.size(); ++row) {
            const auto label = static_cast<std::int64_t>(data_.numbers[row]);
            const auto found = std::lower_bound(data_.classes.begin(), data_.classes.end(), label);
            if (found == data_.classes.end() || *found != label)
                return Error{data_.test->targets.text() + ": [" + std::to_string(row - in_training) + "] is class " +
                             std::to_string(label) + ", which " + data_.train.targets.text() + " does not have"};
            data_.labels.push_back(static_cast<std::int32_t>(found - data_.classes.begin()));
        }
        std::vector<double>().swap(data_.numbers);
        return {};
    }

    /// Adds the targets to data_.numbers.
    Result<void> read_targets(const ArrayPair& pair) {
        auto reader = NpyReader::open(pair.targets);
        if (!reader) return reader.error();
        const NpyHeader& header = pair.targets_header;
        if ((*reader)->header() != header) return Error{pair.targets.text() + ": changed while it was read"};
        const auto size = static_cast<std::size_t>(bytes_of(header.type));
        auto left = static_cast<std::size_t>(header.data_bytes());
        std::vector<std::byte> bytes;
        std::int64_t index = 0;
        for (; left > 0; left -= bytes.size()) {
            bytes.resize(std::min(left, target_piece_bytes));
            if (auto read = (*reader)->read(bytes); !read) return read;
            for (std::size_t at = 0; at < bytes.size(); at += size, ++index) {
                const double number = npy_number(header.type, &bytes[at]);
                const auto broken = [&](const std::string& why) {
                    return Error{pair.targets.text() + ": [" + std::to_string(index / header.row_numbers()) +
                                 (header.shape.size() > 1 ? ", " + std::to_string(index % header.row_numbers()) : "") +
                                 "] is " + short_text(number) + ": " + why};
                };
                if (!std::isfinite(number)) return broken("a target must be a finite number");
                if (data_.task == Task::regression && std::abs(number) > largest_number)
                    return broken("numbers up to 1e100 can be standardized");
                if (data_.task == Task::multi_label && number != 0 && number != 1)
                    return broken(
                        "with task: multi-label, each number says by 0 or 1 whether the sample has the label");
                if (data_.task == Task::classification && number != std::floor(number))
                    return broken("a class must be a whole number");
                if (data_.task == Task::classification && std::abs(number) > 0x1p53)
                    return broken("a class must be at most 2^53");
                data_.numbers.push_back(number);
            }
        }
        return (*reader)->finish();
    }

    const DataConfig& config_;
    ArrayData& data_;
};

/// The keys that a survey of arrays depends on.
struct ArraysKey {
    std::string path, inputs, labels;
    std::optional<Task> task;
    SplitKind split = SplitKind::automatic;
    std::vector<std::tuple<std::string, std::uintmax_t, fs::file_time_type>> files;
    friend bool operator==(const ArraysKey&, const ArraysKey&) = default;
};

}  // namespace

std::int64_t ArrayData::columns() const {
    return std::visit(Overloaded{[](const VectorShape& vector) { return vector.features; },
                                 [](const SequenceShape& sequence) { return sequence.features; },
                                 [](const auto&) { return std::int64_t{0}; }},
                      sample);
}

Result<std::string> inputs_for(const fs::path& path, std::string_view targets) {
    const auto places = list_arrays(path);
    if (!places) return places.error();
    if (places->size() == 1 && places->front().member.empty() && places->front().file == path) return std::string();
    const auto has = [&](std::string_view name) {
        return std::any_of(places->begin(), places->end(), [&](const auto& place) { return place.name == name; });
    };
    NameList all, others;
    for (const ArrayPlace& place : *places) {
        all.add(place.name);
        if (place.name != targets) others.add(place.name);
    }
    if (!has(targets))
        return Error{path.string() + " has no array " + quoted_name(std::string(targets)) + "; it has " +
                     all.line("").substr(2)};
    for (const ArrayNames& names : usual_names)
        if (names.targets == targets && has(names.inputs)) return std::string(names.inputs);
    if (places->size() == 2) return (*places)[places->front().name == targets ? 1 : 0].name;
    return Error{"which array of " + path.string() + " has the features of " + quoted_name(std::string(targets)) +
                 (others.empty() ? "? It has no other" : "? It has " + others.line("").substr(2)) +
                 ": write data.inputs and data.labels in a study (docs/data.md)"};
}

Result<const ArrayData*> survey_arrays(const DataConfig& config) {
    if (config.path.empty()) return Error{"data.path: needed for format npy: an NPZ or NPY file, or a folder of these"};
    const fs::path path = config.path;
    if (auto exists = check_data_file(path); !exists) return exists.error();
    auto listed = list_arrays(path);
    if (!listed) return Error{"data.path: " + listed.error().message};
    const auto places = Finder(config, *std::move(listed)).find();
    if (!places) return places.error();
    ArraysKey key{config.path, config.inputs, config.labels, config.task, config.split, {}};
    const auto stamp = [&](const ArrayPlace& place) {
        std::error_code missing;
        key.files.emplace_back(place.text(), fs::file_size(place.file, missing),
                               fs::last_write_time(place.file, missing));
    };
    stamp(places->inputs);
    stamp(places->targets);
    if (places->test_inputs) stamp(*places->test_inputs), stamp(*places->test_targets);
    static std::optional<std::pair<ArraysKey, ArrayData>> last;
    if (last && last->first == key) return &last->second;
    last.reset();
    ArrayData data;
    if (auto run = ArraySurvey(config, data).run(*places); !run) return data_file_error(path, run.error());
    last.emplace(std::move(key), std::move(data));
    return &last->second;
}

std::int64_t test_rows_of(const DataConfig& config, const ArrayData& data) {
    return data.test ? 0 : test_rows(config, data.train.rows());
}

}  // namespace hpo
