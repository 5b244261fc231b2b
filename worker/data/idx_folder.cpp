// Image classification from four IDX files: {train,t10k}-{images-idx3,labels-idx1}-ubyte, each plain or with .gz.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "worker/data/data_text.hpp"
#include "worker/data/dataset.hpp"
#include "worker/data/idx.hpp"
#include "worker/data/mapped_file.hpp"
#include "worker/data/split.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view system_folder = "/usr/share/datasets";

/// A folder as given, or the name of one below $HPO_DATASETS or below /usr/share/datasets, where Debian's dataset
/// packages put theirs.
Result<fs::path> find_folder(const std::string& path) {
    if (path.empty()) return Error{"data.path: needed for format idx: a folder, or a name such as fashion-mnist"};
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return fs::path(path);
    const bool bare_name = path.find('/') == std::string::npos;
    if (const char* further = std::getenv("HPO_DATASETS"); bare_name && further && *further)
        if (const fs::path folder = fs::path(further) / path; fs::is_directory(folder, ignored)) return folder;
    const fs::path shared = fs::path(system_folder) / path;
    if (bare_name && fs::is_directory(shared, ignored)) return shared;
    std::string message = "data.path: no folder " + path;
    if (bare_name)
        message += " and no " + shared.string() + "; Debian's data sets install with: apt install dataset-" + path;
    return Error{message};
}

Result<fs::path> find_file(const fs::path& folder, const std::string& name) {
    std::error_code ignored;
    for (const char* suffix : {"", ".gz"})
        if (const fs::path file = folder / (name + suffix); fs::exists(file, ignored)) return file;
    std::string message = "data.path: " + (folder / name).string() + "[.gz] is missing";
    if (folder.parent_path() == system_folder)
        message += "; reinstall it with: apt install --reinstall dataset-" + folder.filename().string();
    return Error{message};
}

struct Files {
    fs::path images;
    fs::path labels;
};

Result<Files> find_files(const std::string& path, const std::string& prefix) {
    const auto folder = find_folder(path);
    if (!folder) return folder.error();
    auto images = find_file(*folder, prefix + "-images-idx3-ubyte");
    if (!images) return images.error();
    auto labels = find_file(*folder, prefix + "-labels-idx1-ubyte");
    if (!labels) return labels.error();
    return Files{*std::move(images), *std::move(labels)};
}

Result<std::vector<std::int32_t>> read_labels(const fs::path& file) {
    std::vector<std::int32_t> labels;
    const auto shape = read_idx(file, [&](std::int64_t, std::span<const std::uint8_t> bytes) {
        labels.insert(labels.end(), bytes.begin(), bytes.end());
    });
    if (!shape) return shape.error();
    return labels;
}

/// The number of classes follows from the labels, so that they are read even to describe the data. They are small.
struct Described {
    Files files;
    std::int64_t features = 0;
    SampleShape sample;
    std::vector<std::int32_t> labels;

    [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
    [[nodiscard]] std::int64_t classes() const { return *std::max_element(labels.begin(), labels.end()) + 1; }
};

Result<Described> describe_part(const std::string& path, const std::string& prefix) {
    auto files = find_files(path, prefix);
    if (!files) return files.error();
    const auto shape = read_idx_shape(files->images);
    if (!shape) return shape.error();
    auto labels = read_labels(files->labels);
    if (!labels) return labels.error();
    SampleShape sample = VectorShape{item_bytes(*shape)};
    if (shape->size() == 3 || shape->size() == 4)
        sample = ImageShape{(*shape)[1], (*shape)[2], shape->size() == 4 ? (*shape)[3] : 1};
    Described part{*std::move(files), item_bytes(*shape), sample, *std::move(labels)};
    if ((*shape)[0] != part.count())
        return Error{part.files.labels.string() + ": " + std::to_string(part.count()) + " labels for the " +
                     std::to_string((*shape)[0]) + " images of " + part.files.images.string()};
    return part;
}

/// Samples of each class, by its label.
std::vector<std::int64_t> class_counts(const Described& part) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(part.classes()), 0);
    for (const std::int32_t label : part.labels) ++counts[static_cast<std::size_t>(label)];
    return counts;
}

Result<void> load_part(const std::string& path, Part which, const std::string& prefix, const SampleSink& sink) {
    const auto part = describe_part(path, prefix);
    if (!part) return part.error();
    const Error changed{part->files.images.string() + ": changed while it was read"};
    const auto shape = read_idx(part->files.images, [&](std::int64_t first, std::span<const std::uint8_t> bytes) {
        const auto count = static_cast<std::int64_t>(bytes.size()) / part->features;
        if (count > part->count() - first) throw UnreadableFile(changed.message);
        const auto labels =
            std::span(part->labels).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
        sink({which, first, count, std::as_bytes(bytes), std::as_bytes(labels)});
    });
    if (!shape) return shape.error();
    if (item_bytes(*shape) != part->features) return changed;
    return {};
}

/// Images of unpacked files.
class IdxSamples final : public SampleReader {
   public:
    struct Of {
        PositionedFile images;
        std::vector<std::int32_t> labels;
    };
    IdxSamples(Of train, Of test) : parts_{std::move(train), std::move(test)} {}

    static Result<Of> open(const std::string& path, const std::string& prefix) {
        auto part = describe_part(path, prefix);
        if (!part) return part.error();
        auto images = PositionedFile::open(part->files.images);
        if (!images) return images.error();
        if (images->size() < part->count() * part->features)
            return Error{part->files.images.string() + ": changed while it was read"};
        return Of{*std::move(images), std::move(part->labels)};
    }

    void read(Part part, std::int64_t index, std::span<std::byte> features,
              std::span<std::byte> targets) const override {
        const Of& its = parts_[part == Part::test ? 1 : 0];
        const auto size = static_cast<std::int64_t>(features.size());
        const std::int64_t header = its.images.size() - static_cast<std::int64_t>(its.labels.size()) * size;
        its.images.read(header + index * size, features);
        const std::int32_t label = its.labels[static_cast<std::size_t>(index)];
        std::memcpy(targets.data(), &label, sizeof label);
    }

   private:
    std::array<Of, 2> parts_;
};

}  // namespace

Result<DataShape> describe_idx(const DataConfig& config) {
    if (config.task && config.task != Task::classification)
        return Error{"task: the labels of IDX files are classes: leave out task: " +
                     std::string(info_of(*config.task).name)};
    const auto train = describe_part(config.path, "train");
    if (!train) return train.error();
    const auto test = describe_part(config.path, "t10k");
    if (!test) return test.error();
    if (train->features != test->features)
        return Error{"data.path: " + config.path + ": training images have " + std::to_string(train->features) +
                     " pixels, test images " + std::to_string(test->features)};
    if (config.folds > 0)
        if (auto checked = check_class_folds(config, false, class_counts(*train),
                                             [](std::size_t label) { return std::to_string(label); });
            !checked)
            return checked.error();
    DataShape shape;
    shape.train = train->count();
    shape.test = test->count();
    shape.sample = train->sample;
    shape.outputs = std::max(train->classes(), test->classes());
    shape.pixels = true;
    for (const auto& part : {&*train, &*test})
        if (part->files.images.extension() == ".gz")
            shape.not_in_files = part->files.images.string() + " is compressed: unpack it by gunzip";
    return shape;
}

Result<DataFacts> load_idx(const DataConfig& config, std::uint64_t, const SampleSink& sink) {
    if (auto loaded = load_part(config.path, Part::train, "train", sink); !loaded) return loaded.error();
    if (auto loaded = load_part(config.path, Part::test, "t10k", sink); !loaded) return loaded.error();
    return DataFacts{};
}

/// One part that validates is drawn at random; folds have the classes in equal proportions.
Result<Split> split_idx(const DataConfig& config, const SplitSizes& sizes, std::uint64_t data_seed) {
    const auto train = describe_part(config.path, "train");
    if (!train) return train.error();
    if (config.folds == 0) return make_split(sizes, train->count(), data_seed);
    return cut_split(sizes, split_order(SplitKind::stratified, train->count(), data_seed, 0, train->labels),
                     config.fold);
}

Result<std::vector<std::string>> explain_idx(const DataConfig& config) {
    const auto shape = describe_idx(config);
    if (!shape) return shape.error();
    const auto train = describe_part(config.path, "train");
    if (!train) return train.error();
    const auto sizes = split_sizes(config, shape->train);
    if (!sizes) return sizes.error();
    std::vector<ClassCount> classes;
    for (const std::int64_t count : class_counts(*train)) classes.push_back({std::to_string(classes.size()), count});
    return std::vector<std::string>{
        grouped(shape->train) + " samples to train and validate on; " + sample_text(shape->sample),
        split_sizes_text(*sizes, "samples") + ", " +
            split_text(config.folds > 0 ? SplitKind::stratified : SplitKind::random) + "; " + grouped(shape->test) +
            " test, those of the t10k files",
        "target: " + classes_text(std::move(classes))};
}

Result<std::unique_ptr<SampleReader>> open_idx(const DataConfig& config, std::uint64_t) {
    auto train = IdxSamples::open(config.path, "train");
    if (!train) return train.error();
    auto test = IdxSamples::open(config.path, "t10k");
    if (!test) return test.error();
    return std::unique_ptr<SampleReader>(std::make_unique<IdxSamples>(*std::move(train), *std::move(test)));
}

}  // namespace hpo
