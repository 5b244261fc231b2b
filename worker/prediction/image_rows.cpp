// Images from PNG and JPEG files, and from IDX files.
#include <algorithm>
#include <filesystem>

#include "worker/data/data_text.hpp"
#include "worker/data/idx.hpp"
#include "worker/data/image_file.hpp"
#include "worker/prediction/samples.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

/// The image files at or below a path, in alphabetical order.
Result<std::vector<fs::path>> image_files(const fs::path& data) {
    std::error_code problem;
    if (!fs::is_directory(data, problem)) return std::vector{data};
    std::vector<fs::path> files;
    for (auto entry = fs::recursive_directory_iterator(data, problem); !problem && entry != fs::end(entry);
         entry.increment(problem))
        if (is_image_file(entry->path()) && entry->is_regular_file(problem)) files.push_back(entry->path());
    if (problem) return Error{data.string() + ": " + problem.message()};
    if (files.empty()) return Error{data.string() + ": no images (*.png, *.jpg)"};
    std::ranges::sort(files);
    return files;
}

class ImageFiles final : public PredictionSource {
   public:
    ImageFiles(const SavedModel& model, fs::path root, std::vector<fs::path> files)
        : shape_(std::get<ImageShape>(model.shape.sample)),
          classes_(model.targets.front().classes),
          root_(std::move(root)),
          files_(std::move(files)) {}

    [[nodiscard]] const char* unit() const override { return "file"; }

    Result<void> each(const PredictionSink& sink) override {
        std::vector<std::byte> pixels(static_cast<std::size_t>(shape_.height * shape_.width * shape_.channels));
        std::vector<float> features(pixels.size());
        for (const fs::path& file : files_) {
            const auto found = read_image_shape(file);
            if (!found) return found.error();
            if (found->height != shape_.height || found->width != shape_.width || found->channels > shape_.channels)
                return Error{file.string() + ": " + sample_text(*found) + (found->channels > 1 ? " in colours" : "") +
                             ", and the model takes " + sample_text(shape_) + (shape_.channels > 1 ? "" : " in grey")};
            if (auto read = read_image(file, shape_, pixels); !read) return read;
            std::ranges::transform(pixels, features.begin(),
                                   [](std::byte pixel) { return static_cast<float>(std::to_integer<int>(pixel)); });
            const std::string name = file == root_ ? file.string() : file.lexically_relative(root_).string();
            const auto its = std::ranges::find(classes_, file.parent_path().filename().string());
            const double label = static_cast<double>(its - classes_.begin());
            const bool known = its != classes_.end();
            if (auto taken = sink({name, features, std::span(&label, known ? 1U : 0U)}); !taken) return taken;
        }
        return {};
    }

   private:
    ImageShape shape_;
    std::vector<std::string> classes_;
    fs::path root_;
    std::vector<fs::path> files_;
};

class IdxFile final : public PredictionSource {
   public:
    IdxFile(fs::path file, std::int64_t bytes) : file_(std::move(file)), bytes_(bytes) {}

    Result<void> each(const PredictionSink& sink) override {
        Result<void> taken;
        std::int64_t number = 0;
        std::vector<float> features;
        const auto read = read_idx(file_, [&](std::int64_t, std::span<const std::uint8_t> items) {
            const auto bytes = static_cast<std::size_t>(bytes_);
            for (std::size_t first = 0; taken && first + bytes <= items.size(); first += bytes) {
                features.assign(items.begin() + static_cast<std::ptrdiff_t>(first),
                                items.begin() + static_cast<std::ptrdiff_t>(first + bytes));
                const std::string name = std::to_string(++number);
                taken = sink({name, features});
            }
        });
        if (!read) return read.error();
        return taken;
    }

   private:
    fs::path file_;
    std::int64_t bytes_;  ///< of an image
};

}  // namespace

OpenedSource open_image_source(const SavedModel& model, const fs::path& data) {
    if (!std::holds_alternative<ImageShape>(model.shape.sample)) return Error{"the model's samples are no images"};
    auto files = image_files(data);
    if (!files) return files.error();
    return std::unique_ptr<PredictionSource>(std::make_unique<ImageFiles>(model, data, *std::move(files)));
}

OpenedSource open_idx_source(const SavedModel& model, const fs::path& data) {
    std::error_code problem;
    if (fs::is_directory(data, problem))
        return Error{data.string() +
                     ": a folder; name the IDX file with the images, such as t10k-images-idx3-ubyte.gz"};
    const auto shape = read_idx_shape(data);
    if (!shape) return shape.error();
    if (item_bytes(*shape) != model.shape.features())
        return Error{data.string() + ": items of " + grouped(item_bytes(*shape)) + " bytes, and the model takes " +
                     sample_text(model.shape.sample)};
    return std::unique_ptr<PredictionSource>(std::make_unique<IdxFile>(data, item_bytes(*shape)));
}

}  // namespace hpo
