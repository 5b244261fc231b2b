#include <gmock/gmock.h>
#include <png.h>

#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include <jpeglib.h>

#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/data/image_file.hpp"
#include "worker/data/image_folder.hpp"
#include "worker/data/mapped_file.hpp"
#include "worker/data/split.hpp"

namespace hpo {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Images : public ::testing::Test {
   protected:
    [[nodiscard]] std::string place(const std::string& name) const {
        const auto path = std::filesystem::path(folder_.path()) / name;
        std::filesystem::create_directories(path.parent_path());
        return path;
    }
    /// A PNG file whose bytes are base, base + 1, ...
    std::string png(const std::string& name, std::uint32_t width, std::uint32_t height, std::uint32_t format,
                    int base = 0) const {
        png_image image{};
        image.version = PNG_IMAGE_VERSION;
        image.width = width;
        image.height = height;
        image.format = format;
        std::vector<png_byte> pixels(PNG_IMAGE_SIZE(image));
        for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<png_byte>(base + static_cast<int>(i));
        const std::string file = place(name);
        EXPECT_NE(png_image_write_to_file(&image, file.c_str(), 0, pixels.data(), 0, nullptr), 0);
        return file;
    }
    /// A JPEG file of one grey; with four `components` of one tone of each printing ink.
    std::string jpeg(const std::string& name, std::uint32_t width, std::uint32_t height, int grey,
                     int components = 1) const {
        const std::string path = place(name);
        std::FILE* const file = std::fopen(path.c_str(), "wb");
        jpeg_compress_struct jpeg;
        jpeg_error_mgr errors;
        jpeg.err = jpeg_std_error(&errors);
        jpeg_create_compress(&jpeg);
        jpeg_stdio_dest(&jpeg, file);
        jpeg.image_width = width;
        jpeg.image_height = height;
        jpeg.input_components = components;
        jpeg.in_color_space = components == 1 ? JCS_GRAYSCALE : JCS_CMYK;
        jpeg_set_defaults(&jpeg);
        jpeg_start_compress(&jpeg, TRUE);
        std::vector<JSAMPLE> pixels(width * static_cast<std::size_t>(components), static_cast<JSAMPLE>(grey));
        JSAMPROW row = pixels.data();
        while (jpeg.next_scanline < height) jpeg_write_scanlines(&jpeg, &row, 1);
        jpeg_finish_compress(&jpeg);
        jpeg_destroy_compress(&jpeg);
        std::fclose(file);
        return path;
    }
    static void truncate(const std::string& file) {
        std::filesystem::resize_file(file, std::filesystem::file_size(file) * 3 / 4);
    }
    [[nodiscard]] DataConfig config(const std::string& folder) const {
        DataConfig config;
        config.format = "images";
        config.path = place(folder);
        return config;
    }
    [[nodiscard]] static std::string error(const DataConfig& config) {
        const auto shape = describe_data(config);
        if (!shape) return shape.error().message;
        const auto loaded = load_data(config, 1, [](const SampleBatch&) {});
        return loaded ? "" : loaded.error().message;
    }

    const testing::TemporaryFolder folder_;
};

TEST_F(Images, PngAndJpegFilesHaveTheirPixels) {
    const std::string colours = png("c.png", 3, 2, PNG_FORMAT_RGB), grey = png("g.PNG", 3, 2, PNG_FORMAT_GRAY, 7),
                      photo = jpeg("p.jpg", 16, 8, 200);
    EXPECT_EQ(*read_image_shape(colours), (ImageShape{2, 3, 3}));
    EXPECT_EQ(*read_image_shape(grey), (ImageShape{2, 3, 1}));
    EXPECT_EQ(*read_image_shape(photo), (ImageShape{8, 16, 1}));
    EXPECT_TRUE(is_image_file(grey));
    EXPECT_FALSE(is_image_file("notes.txt"));
    std::vector<std::byte> pixels(18);
    ASSERT_TRUE(read_image(colours, {2, 3, 3}, pixels));
    for (std::size_t i = 0; i < 18; ++i) EXPECT_EQ(pixels[i], static_cast<std::byte>(i));
    // A grey image among coloured ones.
    ASSERT_TRUE(read_image(grey, {2, 3, 3}, pixels));
    for (std::size_t i = 0; i < 18; ++i) EXPECT_EQ(pixels[i], static_cast<std::byte>(7 + i / 3));
    pixels.resize(128);
    ASSERT_TRUE(read_image(photo, {8, 16, 1}, pixels));
    EXPECT_THAT(pixels, Each(std::byte{200}));
}

TEST_F(Images, AnImageThatIsReplacedWhileItIsReadWritesNothingBehindItsBuffer) {
    // Another program exchanges a small image for a large one and back, as fast as it can.
    for (const char* format : {"png", "jpg"}) {
        const std::string small = place(std::string("small.") + format), large = place(std::string("large.") + format),
                          file = place(std::string("x.") + format);
        if (format == std::string("png"))
            png("small.png", 4, 2, PNG_FORMAT_GRAY, 1), png("large.png", 400, 300, PNG_FORMAT_GRAY, 2);
        else
            jpeg("small.jpg", 4, 2, 1), jpeg("large.jpg", 400, 300, 2);
        std::atomic<bool> ends = false;
        std::filesystem::create_hard_link(small, file);
        std::thread other([&] {
            for (int i = 0; !ends; ++i) {
                const std::string next = place("next");
                std::filesystem::create_hard_link(i % 2 == 0 ? large : small, next);
                std::filesystem::rename(next, file);
            }
        });
        constexpr std::size_t guard = 400 * 300;
        int read = 0, refused = 0;
        for (int i = 0; i < 5000 && (read < 20 || refused < 200); ++i) {
            std::vector<std::byte> pixels(8 + guard, std::byte{99});
            const auto result = read_image(file, {2, 4, 1}, std::span(pixels).first(8));
            ++(result ? read : refused);
            EXPECT_TRUE(std::all_of(pixels.begin() + 8, pixels.end(), [](std::byte b) { return b == std::byte{99}; }));
            if (result) continue;
            EXPECT_THAT(result.error().message, HasSubstr("changed"));
        }
        ends = true;
        other.join();
        EXPECT_GT(refused, 0);
    }
}

TEST_F(Images, AnImageThatIsCutOrReplacedOnceItIsInUseIsToldAsUnreadable) {
    for (int i = 0; i < 6; ++i)
        for (const char* name : {"cat", "dog"})
            png("used/" + std::string(name) + "/" + std::to_string(i) + ".png", 2, 2, PNG_FORMAT_GRAY, i);
    const DataConfig data = config("used");
    const auto shape = describe_data(data);
    ASSERT_TRUE(shape) << shape.error().message;
    const auto reader = open_samples(data, 1);
    ASSERT_TRUE(reader) << reader.error().message;
    std::vector<std::byte> pixels(4), label(4);
    const auto read_all = [&] {
        for (std::int64_t i = 0; i < shape->train; ++i) (*reader)->read(Part::train, i, pixels, label);
        for (std::int64_t i = 0; i < shape->test; ++i) (*reader)->read(Part::test, i, pixels, label);
    };
    read_all();
    const std::string file = png("used/dog/3.png", 3, 2, PNG_FORMAT_GRAY);
    EXPECT_THROW(read_all(), UnreadableFile) << "another size";
    truncate(file);
    EXPECT_THROW(read_all(), UnreadableFile);
}

TEST_F(Images, AFolderValValidatesAndNoTrainingImageDoes) {
    for (int i = 0; i < 6; ++i)
        for (const char* name : {"cat", "dog"})
            png("net/train/" + std::string(name) + "/" + std::to_string(i) + ".png", 2, 2, PNG_FORMAT_GRAY, i);
    for (int i = 0; i < 2; ++i) png("net/val/dog/" + std::to_string(i) + ".png", 2, 2, PNG_FORMAT_GRAY, 100 + i);
    DataConfig data = config("net");
    const auto shape = describe_data(data);
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->test, 1);  // of the training images
    EXPECT_EQ(shape->train, 13);
    const auto sizes = split_sizes(data, *shape);
    ASSERT_TRUE(sizes);
    EXPECT_EQ(sizes->train, 11);
    EXPECT_EQ(sizes->validation, 2);
    const auto split = split_images(data, *sizes, 1);
    ASSERT_TRUE(split);
    std::vector<int> first_pixels;  // of the training part, in the order in which samples are numbered
    ASSERT_TRUE(load_data(data, 1, [&](const SampleBatch& batch) {
        for (std::size_t i = 0; batch.part == Part::train && i < batch.features.size(); i += 4)
            first_pixels.push_back(std::to_integer<int>(batch.features[i]));
    }));
    ASSERT_EQ(first_pixels.size(), 13u);
    EXPECT_EQ(split->train.size(), 11u);
    for (const std::int32_t sample : split->train) EXPECT_LT(first_pixels[static_cast<std::size_t>(sample)], 100);
    ASSERT_EQ(split->validation.size(), 2u);
    for (const std::int32_t sample : split->validation) EXPECT_GE(first_pixels[static_cast<std::size_t>(sample)], 100);
    EXPECT_THAT(*explain_images(data), Contains(Mentions("11 images", "2 validate", "val", "1 test", "train")));
    data.folds = 3;
    EXPECT_THAT(error(data), HasSubstr("data.validation.folds"));
    data.folds = 0;
    data.subset = 4;
    EXPECT_THAT(error(data), HasSubstr("data.subset"));
    data.subset = 0;
    png("net/validation/dog/0.png", 2, 2, PNG_FORMAT_GRAY);
    EXPECT_THAT(error(data), Mentions("net/validation", "validates"));
}

TEST_F(Images, FoldersAreClassesAndAFolderTestTests) {
    for (int i = 0; i < 6; ++i) {
        png("set/train/cat/" + std::to_string(i) + ".png", 2, 2, PNG_FORMAT_GRAY, 10 * i);
        png("set/train/dog/" + std::to_string(i) + ".png", 2, 2, PNG_FORMAT_GRAY, 100 + 10 * i);
    }
    png("set/test/dog/0.png", 2, 2, PNG_FORMAT_GRAY, 77);
    std::ofstream(place("set/train/cat/notes.txt")) << "no image";
    std::filesystem::create_directories(place("set/train/bird"));
    const DataConfig data = config("set");
    const auto shape = describe_data(data);
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->train, 12);
    EXPECT_EQ(shape->test, 1);
    EXPECT_EQ(shape->outputs, 2);
    EXPECT_TRUE(shape->pixels);
    EXPECT_EQ(shape->sample, SampleShape(ImageShape{2, 2, 1}));
    std::vector<int> pixels[2], labels[2];
    const auto facts = load_data(data, 1, [&](const SampleBatch& batch) {
        const auto part = static_cast<std::size_t>(batch.part);
        for (std::size_t i = 0; i < batch.features.size(); i += 4)
            pixels[part].push_back(std::to_integer<int>(batch.features[i]));
        for (std::size_t i = 0; i < batch.targets.size(); i += 4)
            labels[part].push_back(std::to_integer<int>(batch.targets[i]));
    });
    ASSERT_TRUE(facts);
    EXPECT_THAT(pixels[0], ElementsAre(0, 10, 20, 30, 40, 50, 100, 110, 120, 130, 140, 150));
    EXPECT_THAT(labels[0], ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1));
    EXPECT_THAT(pixels[1], ElementsAre(77));
    EXPECT_THAT(labels[1], ElementsAre(1));
    EXPECT_EQ(nlohmann::json::parse(facts->encoding)["target"]["classes"], (std::vector<std::string>{"cat", "dog"}));
    EXPECT_THAT(
        *explain_data(data),
        ElementsAre("13 images of 2 x 2", MentionsInOrder("11 images", "1 validate", "classes", "1 test", "test"),
                    "target: the folder, 2 classes: cat (6, 50 %), dog (6, 50 %)",
                    Mentions("warning: ", "no image", "*.png, *.jpg", "folder: bird"), "left out: 1 other file"));
}

TEST_F(Images, AColouredImageMakesAllOfThemColoured) {
    for (int i = 0; i < 4; ++i) png("mixed/a/" + std::to_string(i) + ".png", 4, 4, PNG_FORMAT_GRAY);
    png("mixed/b/0.png", 4, 4, PNG_FORMAT_RGB);
    EXPECT_EQ(describe_data(config("mixed"))->sample, SampleShape(ImageShape{4, 4, 3}));
    EXPECT_EQ(error(config("mixed")), "");
}

TEST_F(Images, ErrorsNameTheFiles) {
    const std::string first = png("sizes/a/0.png", 4, 4, PNG_FORMAT_GRAY),
                      other = png("sizes/b/0.png", 5, 4, PNG_FORMAT_GRAY);
    png("sizes/b/1.png", 4, 4, PNG_FORMAT_GRAY);
    EXPECT_EQ(error(config("sizes")), "data.path: " + other + ": has 5 x 4 pixels, and " + first +
                                          " has 4 x 4: all images must have the same size");
    for (const char* name : {"cut/a/0.png", "cut/a/1.png", "cut/b/0.png", "cut/b/1.png"})
        png(name, 40, 40, PNG_FORMAT_RGB);
    const std::string cut = place("cut/b/0.png");
    truncate(cut);
    EXPECT_THAT(error(config("cut")), Mentions("data.path: " + cut + ": ", "damaged", " ("));
    for (const char* name : {"photo/a/0.jpg", "photo/a/1.jpg", "photo/b/0.jpg", "photo/b/1.jpg"})
        jpeg(name, 640, 640, 99);
    const std::string half = place("photo/b/0.jpg");
    truncate(half);
    EXPECT_THAT(error(config("photo")), Mentions("data.path: " + half + ": ", "damaged", "(Premature"));
    std::ofstream(half) << "no image";
    EXPECT_THAT(error(config("photo")), HasSubstr(half + ": "));
    for (const char* name : {"ink/a/0.jpg", "ink/a/1.jpg", "ink/b/0.jpg"}) jpeg(name, 8, 8, 99, 4);
    EXPECT_THAT(error(config("ink")), Mentions("ink/a/0.jpg", "(CMYK)"));
    png("alone/a/0.png", 2, 2, PNG_FORMAT_GRAY);
    EXPECT_THAT(error(config("alone")), Mentions("only", "\"a\""));
    std::filesystem::create_directories(place("empty/x"));
    EXPECT_THAT(error(config("empty")), Mentions("images", "(*.png, *.jpg)"));
    png("parts/train/a/0.png", 2, 2, PNG_FORMAT_GRAY);
    png("parts/dev/a/0.png", 2, 2, PNG_FORMAT_GRAY);
    EXPECT_THAT(error(config("parts")), Mentions("dev:", "train"));
    DataConfig numbers = config("sizes");
    numbers.task = Task::regression;
    EXPECT_THAT(error(numbers), Mentions("task:", "classes"));
}

}  // namespace
}  // namespace hpo
