#include "worker/data/image_folder.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "hpo/text.hpp"
#include "worker/data/csv_columns.hpp"
#include "worker/data/data_text.hpp"
#include "worker/data/image_file.hpp"
#include "worker/data/mapped_file.hpp"
#include "worker/data/split.hpp"
#include "worker/data/trained_classes.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_image_classes = 4096;
constexpr std::size_t most_images = 1'000'000'000;
constexpr std::size_t images_bytes = std::size_t{1} << 18;  // bytes that are passed on at once

std::string size_text(const ImageShape& shape) {
    return std::to_string(shape.width) + " x " + std::to_string(shape.height);
}

/// The entries of a folder, by name. Hidden files are left out.
Result<std::vector<fs::path>> entries_of(const fs::path& folder) {
    std::vector<fs::path> entries;
    std::error_code problem;
    for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem))
        if (!entry->path().filename().string().starts_with('.')) entries.push_back(entry->path());
    if (problem) return Error{folder.string() + ": " + problem.message()};
    std::sort(entries.begin(), entries.end());
    return entries;
}

/// The folder of the training images, and those of the validation and the test images if they exist.
struct ImageRoots {
    fs::path train;
    std::optional<fs::path> validation, test;

    [[nodiscard]] std::vector<fs::path> all() const {
        std::vector<fs::path> roots{train};
        for (const auto& other : {validation, test})
            if (other) roots.push_back(*other);
        return roots;
    }
};

/// PATH/train, PATH/val (valid, validation) and PATH/test, as ImageNet and Keras have them, or PATH alone.
Result<ImageRoots> find_roots(const fs::path& path) {
    std::error_code problem;
    if (!fs::is_directory(path, problem)) return Error{path.string() + ": not a folder"};
    if (!fs::is_directory(path / "train", problem)) return ImageRoots{path, {}, {}};
    const auto entries = entries_of(path);
    if (!entries) return entries.error();
    ImageRoots roots{path / "train", {}, {}};
    for (const fs::path& entry : *entries) {
        const std::string name = entry.filename().string();
        if (!fs::is_directory(entry, problem) || name == "train") continue;
        if (name == "test") {
            roots.test = entry;
        } else if (name == "val" || name == "valid" || name == "validation") {
            if (roots.validation)
                return Error{entry.string() + ": " + roots.validation->filename().string() + " validates already"};
            roots.validation = entry;
        } else {
            return Error{
                entry.string() +
                ": beside train, only folders val and test are possible: rename it, or move its images to train"};
        }
    }
    return roots;
}

/// The keys that a survey of images depends on.
struct ImagesKey {
    std::string path;
    SplitKind split = SplitKind::automatic;
    std::int64_t folds = 0, subset = 0;
    std::vector<std::pair<fs::path, fs::file_time_type>> folders;
    friend bool operator==(const ImagesKey&, const ImagesKey&) = default;
};

class ImageSurvey {
   public:
    ImageSurvey(const DataConfig& config, ImageFolder& found) : config_(config), found_(found) {}

    Result<void> run(const ImageRoots& roots) {
        if (auto listed = list(roots.train, true); !listed) return listed;
        if (found_.classes.size() < 2)
            return Error{roots.train.string() + ": " +
                         (found_.classes.empty() ? "no folder with images (*.png, *.jpg)"
                                                 : "only one folder with images, " + quoted_name(found_.classes[0])) +
                         ": each class needs a folder of its own, and there must be at least two"};
        const std::size_t training = found_.files.size();
        if (roots.validation) {
            if (auto refused = refuse_other_validation(*roots.validation); !refused) return refused;
            auto listed = list_part(*roots.validation);
            if (!listed) return listed.error();
            found_.validations = *listed;
            found_.validation_folder = roots.validation->filename().string();
        }
        if (roots.test) {
            auto listed = list_part(*roots.test);
            if (!listed) return listed.error();
            found_.tests = *listed;
        }
        if (!roots.test && training < 3)
            return Error{roots.train.string() + ": at least 3 images are needed, to train, to validate and to test"};
        found_.split = config_.split == SplitKind::automatic ? SplitKind::stratified : config_.split;
        return read_sizes();
    }

   private:
    /// Keys that divide the training images, where a folder validates.
    [[nodiscard]] Result<void> refuse_other_validation(const fs::path& folder) const {
        const char* key = config_.folds > 0 ? "data.validation.folds" : config_.subset > 0 ? "data.subset" : nullptr;
        if (key == nullptr) return {};
        return Error{folder.string() + " validates, which excludes " + key + ": leave one of the two out"};
    }

    /// Lists the images of a part other than the training part, and returns their number.
    Result<std::int64_t> list_part(const fs::path& root) {
        const std::size_t before = found_.files.size();
        if (auto listed = list(root, false); !listed) return listed.error();
        if (found_.files.size() == before) return Error{root.string() + ": no images (*.png, *.jpg)"};
        return static_cast<std::int64_t>(found_.files.size() - before);
    }

    Result<void> list(const fs::path& root, bool makes_classes) {
        const auto folders = entries_of(root);
        if (!folders) return folders.error();
        std::error_code problem;
        for (const fs::path& folder : *folders) {
            if (!fs::is_directory(folder, problem)) {
                ++found_.others;
                continue;
            }
            const auto files = entries_of(folder);
            if (!files) return files.error();
            const auto images = std::count_if(files->begin(), files->end(), is_image_file);
            found_.others += static_cast<std::int64_t>(files->size()) - images;
            if (images == 0) {
                found_.empty_folders.push_back(folder.filename().string());
                continue;
            }
            const std::string name = folder.filename().string();
            if (makes_classes) found_.classes.push_back(name);
            const auto its = std::lower_bound(found_.classes.begin(), found_.classes.end(), name);
            if (its == found_.classes.end() || *its != name)
                return Error{folder.string() + ": a class that the training images do not have"};
            if (found_.classes.size() > most_image_classes)
                return Error{root.string() + ": more than " + std::to_string(most_image_classes) + " classes"};
            for (const fs::path& file : *files) {
                if (!is_image_file(file)) continue;
                if (found_.files.size() == most_images) return Error{root.string() + ": too many images"};
                found_.files.push_back(file);
                found_.labels.push_back(static_cast<std::int32_t>(its - found_.classes.begin()));
            }
        }
        return {};
    }

    Result<void> read_sizes() {
        for (std::size_t i = 0; i < found_.files.size(); ++i) {
            const auto shape = read_image_shape(found_.files[i]);
            if (!shape) return shape.error();
            if (i == 0) found_.shape = *shape;
            if (shape->height != found_.shape.height || shape->width != found_.shape.width)
                return Error{found_.files[i].string() + ": has " + size_text(*shape) + " pixels, and " +
                             found_.files[0].string() + " has " + size_text(found_.shape) +
                             ": all images must have the same size"};
            found_.shape.channels = std::max(found_.shape.channels, shape->channels);
        }
        return {};
    }

    const DataConfig& config_;
    ImageFolder& found_;
};

/// Returns the images of the training folder that are held out for testing.
std::int64_t tests_of(const DataConfig& config, const ImageFolder& found) {
    return found.tests > 0 ? 0 : test_rows(config, found.rows() - found.validations);
}

/// Splits a folder that has its own validation images: these follow the images of the training folder, of which `tests`
/// test.
RowSplit split_by_folder(const DataConfig& config, const ImageFolder& found, std::int64_t tests,
                         std::uint64_t data_seed) {
    const std::int64_t training = found.rows() - found.validations;
    const std::span labels = std::span(found.labels).first(static_cast<std::size_t>(training));
    RowSplit split = split_rows(found.split, training, tests, labels, {training - tests, 0}, data_seed, config.fold);
    split.uses.resize(static_cast<std::size_t>(found.rows()), RowUse::validation);
    for (std::int64_t i = 0; i < found.validations; ++i)
        split.within.validation.push_back(static_cast<std::int32_t>(training - tests + i));
    return split;
}

Result<RowSplit> split_rows_of(const DataConfig& config, const ImageFolder& found, std::uint64_t data_seed) {
    const std::int64_t tests = tests_of(config, found);
    if (found.validations > 0) return split_by_folder(config, found, tests, data_seed);
    const auto sizes = split_sizes(config, found.rows() - tests);
    if (!sizes) return sizes.error();
    return split_rows(found.split, found.rows(), tests,
                      std::span(found.labels).first(static_cast<std::size_t>(found.rows())), *sizes, data_seed,
                      config.fold);
}

ClassedSamples classed_images(const ImageFolder& found) {
    return {.classes = std::span(found.labels).first(static_cast<std::size_t>(found.rows())),
            .count = static_cast<std::int64_t>(found.classes.size()),
            .name_of = [&found](std::size_t i) { return found.classes[i]; },
            .sample = "image",
            .split = found.split};
}

/// A warning of classes that no image trains, or the error that one class alone is trained on.
Result<std::string> untrained_images(const DataConfig& config, const ImageFolder& found) {
    return untrained_classes(config, classed_images(found),
                             [&](const DataConfig& fold) { return split_rows_of(fold, found, 0); });
}

/// Decodes an image each time it is read.
class ImageSamples final : public SampleReader {
   public:
    ImageSamples(const ImageFolder& found, const RowSplit& split) : shape_(found.shape) {
        for (std::size_t i = 0; i < found.files.size(); ++i) {
            const bool tests = i >= split.uses.size() || split.uses[i] == RowUse::test;
            parts_[tests ? 1 : 0].push_back({found.files[i], found.labels[i]});
        }
    }

    void read(Part part, std::int64_t index, std::span<std::byte> features,
              std::span<std::byte> targets) const override {
        const auto& [file, label] = parts_[part == Part::test ? 1 : 0][static_cast<std::size_t>(index)];
        if (auto read = read_image(file, shape_, features); !read)
            throw UnreadableFile("data.path: " + read.error().message);
        std::memcpy(targets.data(), &label, sizeof label);
    }

   private:
    ImageShape shape_;
    std::array<std::vector<std::pair<fs::path, std::int32_t>>, 2> parts_;
};

}  // namespace

Result<const ImageFolder*> survey_images(const DataConfig& config) {
    if (config.path.empty()) return Error{"data.path: needed for format images: a folder"};
    const fs::path path = config.path;
    if (auto exists = check_data_file(path); !exists) return exists.error();
    const auto roots = find_roots(path);
    if (!roots) return Error{"data.path: " + roots.error().message};
    ImagesKey key{config.path, config.split, config.folds, config.subset, {}};
    for (const fs::path& root : roots->all()) {
        const auto folders = entries_of(root);
        if (!folders) return Error{"data.path: " + folders.error().message};
        std::error_code problem;
        for (const fs::path& folder : *folders) key.folders.emplace_back(folder, fs::last_write_time(folder, problem));
    }
    static std::optional<std::pair<ImagesKey, ImageFolder>> last;
    if (last && last->first == key) return &last->second;
    last.reset();
    ImageFolder found;
    if (auto run = ImageSurvey(config, found).run(*roots); !run) return Error{"data.path: " + run.error().message};
    last.emplace(std::move(key), std::move(found));
    return &last->second;
}

Result<DataShape> describe_images(const DataConfig& config) {
    if (config.task && config.task != Task::classification)
        return Error{"task: folders are classes: leave out task: " + std::string(info_of(*config.task).name)};
    const auto found = survey_images(config);
    if (!found) return found.error();
    if ((*found)->split == SplitKind::stratified) {
        std::vector<std::int64_t> counts((*found)->classes.size(), 0);
        for (std::int64_t i = 0; i < (*found)->rows(); ++i)
            ++counts[static_cast<std::size_t>((*found)->labels[static_cast<std::size_t>(i)])];
        const auto name_of = [&](std::size_t i) { return quoted_name((*found)->classes[i]); };
        if (auto checked = check_class_folds(config, (*found)->tests == 0, counts, name_of); !checked)
            return checked.error();
    }
    if (const auto untrained = untrained_images(config, **found); !untrained) return untrained.error();
    DataShape shape;
    const std::int64_t tests = tests_of(config, **found);
    shape.train = (*found)->rows() - tests;
    shape.test = (*found)->tests + tests;
    if (const std::int64_t validations = (*found)->validations; validations > 0)
        shape.grouped = SplitSizes{shape.train - validations, validations};
    shape.sample = (*found)->shape;
    shape.outputs = static_cast<std::int64_t>((*found)->classes.size());
    shape.pixels = true;
    // Names of files, also those of the reader, and the orders of rows.
    for (const fs::path& file : (*found)->files)
        shape.loading_bytes += 2 * static_cast<std::int64_t>(sizeof(fs::path) + file.native().size()) + 8 * 4 + 1;
    shape.loading_bytes += 4 * std::max(static_cast<std::int64_t>(images_bytes), shape.row_bytes());
    return shape;
}

Result<Split> split_images(const DataConfig& config, const SplitSizes&, std::uint64_t data_seed) {
    const auto found = survey_images(config);
    if (!found) return found.error();
    auto split = split_rows_of(config, **found, data_seed);
    if (!split) return split.error();
    return std::move(split->within);
}

Result<DataFacts> load_images(const DataConfig& config, std::uint64_t data_seed, const SampleSink& sink) {
    const auto surveyed = survey_images(config);
    if (!surveyed) return surveyed.error();
    const ImageFolder& found = **surveyed;
    const auto split = split_rows_of(config, found, data_seed);
    if (!split) return split.error();
    if (auto checked = check_trained_classes(config, classed_images(found), split->uses); !checked)
        return checked.error();
    struct {
        std::int64_t first = 0;
        std::vector<std::byte> pixels{};
        std::vector<std::int32_t> labels{};
    } waiting[2];
    const auto pass_on = [&](Part part) {
        auto& its = waiting[static_cast<std::size_t>(part)];
        if (its.labels.empty()) return;
        sink({part, its.first, static_cast<std::int64_t>(its.labels.size()), its.pixels,
              std::as_bytes(std::span(its.labels))});
        its.first += static_cast<std::int64_t>(its.labels.size());
        its.pixels.clear();
        its.labels.clear();
    };
    const auto image_bytes = static_cast<std::size_t>(found.shape.height * found.shape.width * found.shape.channels);
    for (std::size_t i = 0; i < found.files.size(); ++i) {
        const bool tests = i >= split->uses.size() || split->uses[i] == RowUse::test;
        const Part part = tests ? Part::test : Part::train;
        auto& its = waiting[static_cast<std::size_t>(part)];
        its.pixels.resize(its.pixels.size() + image_bytes);
        if (auto read = read_image(found.files[i], found.shape, std::span(its.pixels).last(image_bytes)); !read)
            return Error{"data.path: " + read.error().message};
        its.labels.push_back(found.labels[i]);
        if (its.pixels.size() >= images_bytes) pass_on(part);
    }
    pass_on(Part::train);
    pass_on(Part::test);
    DataFacts facts;
    const nlohmann::ordered_json encoding{{"target", {{"classes", found.classes}}}};
    facts.encoding = encoding.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    return facts;
}

Result<std::unique_ptr<SampleReader>> open_images(const DataConfig& config, std::uint64_t data_seed) {
    const auto found = survey_images(config);
    if (!found) return found.error();
    const auto split = split_rows_of(config, **found, data_seed);
    if (!split) return split.error();
    return std::unique_ptr<SampleReader>(std::make_unique<ImageSamples>(**found, *split));
}

Result<std::vector<std::string>> explain_images(const DataConfig& config) {
    const auto shape = describe_images(config);
    if (!shape) return shape.error();
    const ImageFolder& found = **survey_images(config);
    const auto sizes = split_sizes(config, *shape);
    if (!sizes) return sizes.error();
    std::vector<ClassCount> counts;
    for (const std::string& name : found.classes) counts.push_back({name, 0});
    for (std::int64_t i = 0; i < found.rows(); ++i)
        ++counts[static_cast<std::size_t>(found.labels[static_cast<std::size_t>(i)])].count;
    std::vector<std::string> lines{
        grouped(static_cast<std::int64_t>(found.files.size())) + " " + sample_text(found.shape),
        split_sizes_text(*sizes, "images") + ", " +
            (found.validations > 0 ? "those of the folder " + found.validation_folder : split_text(found.split)) +
            "; " + grouped(shape->test) + " test, " +
            (found.tests > 0         ? "those of the folder test"
             : found.validations > 0 ? std::string("of the folder train, ") + split_text(found.split)
                                     : "chosen in the same way"),
        "target: the folder, " + classes_text(counts)};
    NameList empty;
    for (const std::string& name : found.empty_folders) empty.add(name);
    if (!empty.empty()) lines.push_back("warning: " + empty.line("no image (*.png, *.jpg) is in the folder"));
    if (const std::string rare = rare_classes_text(counts, "images"); found.tests == 0 && !rare.empty())
        lines.push_back(rare);
    if (const auto untrained = untrained_images(config, found); untrained && !untrained->empty())
        lines.push_back(*untrained);
    if (found.others > 0) lines.push_back("left out: " + grouped(found.others, "other file"));
    return lines;
}

}  // namespace hpo
