#include "worker/data/image_file.hpp"

#include <png.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

// This header needs std::FILE, but does not include the header that declares it.
#include <jpeglib.h>

namespace hpo {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_pixels = std::int64_t{1} << 22;

struct ImageFileClose {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using ImageFile = std::unique_ptr<std::FILE, ImageFileClose>;

Error image_error(const fs::path& file, const std::string& what) { return {file.string() + ": " + what}; }

Result<ImageFile> open_image(const fs::path& file) {
    std::error_code unknown;
    if (fs::exists(file, unknown) && !fs::is_regular_file(file, unknown)) return image_error(file, "not a file");
    ImageFile handle(std::fopen(file.c_str(), "rb"));
    if (!handle) return image_error(file, std::strerror(errno));
    return handle;
}

bool is_jpeg(std::FILE* file) {
    std::array<unsigned char, 2> beginning{};
    const bool found = std::fread(beginning.data(), 1, 2, file) == 2 && beginning[0] == 0xFF && beginning[1] == 0xD8;
    std::rewind(file);
    return found;
}

struct PngFree {
    void operator()(png_image* image) const { png_image_free(image); }
};

/// Reads the header. The image must be freed.
Result<ImageShape> begin_png(const fs::path& file, std::FILE* handle, png_image& image) {
    image.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_stdio(&image, handle) == 0)
        return image_error(file, std::string("not a PNG or JPEG file that can be read (") + image.message + ")");
    if ((image.format & PNG_FORMAT_FLAG_LINEAR) != 0)
        return image_error(file, "has 16 bits for each channel: convert it to 8 bits");
    const bool colours = (image.format & (PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_COLORMAP)) != 0;
    return ImageShape{image.height, image.width, colours ? 3 : 1};
}

/// The function that libjpeg calls instead of ending the program.
struct JpegErrors {
    jpeg_error_mgr manager;
    std::jmp_buf back;
    char message[JMSG_LENGTH_MAX];
};

extern "C" void leave_jpeg(j_common_ptr jpeg) {
    auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
    jpeg->err->format_message(jpeg, errors->message);
    std::longjmp(errors->back, 1);
}
/// A warning, such as the end of a truncated file, is an error here.
extern "C" void leave_at_warning(j_common_ptr jpeg, int level) {
    if (level < 0) leave_jpeg(jpeg);
}

/// Returns true if an image of the shape `its` does not fit a buffer for `shape`. A grey image fits a coloured one.
bool differs(const ImageShape& its, const ImageShape& shape) {
    return its.height != shape.height || its.width != shape.width || its.channels > shape.channels;
}

constexpr const char* other_shape = "changed while it was read";
constexpr const char* four_inks = "has the colours of a printer (CMYK): convert it to RGB";

/// Returns the error of a file that decode_jpeg() could not read.
Error jpeg_error(const fs::path& file, const JpegErrors& errors) {
    const std::string message = errors.message;
    const bool complete = message == four_inks || message == other_shape;
    return image_error(file, complete ? message : "damaged or truncated (" + message + ")");
}

/// Reads the header, and the pixels if there is a buffer for an image of the shape `wanted`. Returns false with
/// errors.message. Has no objects with destructors, since errors jump over them.
bool decode_jpeg(std::FILE* file, JpegErrors& errors, ImageShape& shape, const ImageShape* wanted, std::byte* to) {
    const auto refuse = [&](jpeg_decompress_struct& jpeg, const char* reason) {
        std::snprintf(errors.message, sizeof errors.message, "%s", reason);
        jpeg_destroy_decompress(&jpeg);
        return false;
    };
    jpeg_decompress_struct jpeg;
    jpeg.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = leave_jpeg;
    errors.manager.emit_message = leave_at_warning;
    if (setjmp(errors.back) != 0) {
        jpeg_destroy_decompress(&jpeg);
        return false;
    }
    jpeg_create_decompress(&jpeg);
    jpeg_stdio_src(&jpeg, file);
    jpeg_read_header(&jpeg, TRUE);
    if (jpeg.num_components == 4) return refuse(jpeg, four_inks);
    shape.height = jpeg.image_height;
    shape.width = jpeg.image_width;
    shape.channels = jpeg.num_components == 1 ? 1 : 3;
    if (wanted != nullptr) {
        if (differs(shape, *wanted)) return refuse(jpeg, other_shape);
        const std::int64_t channels = wanted->channels;
        jpeg.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
        jpeg_start_decompress(&jpeg);
        while (jpeg.output_scanline < jpeg.output_height) {
            auto* row = reinterpret_cast<JSAMPROW>(to) + std::int64_t{jpeg.output_scanline} * shape.width * channels;
            jpeg_read_scanlines(&jpeg, &row, 1);
        }
        jpeg_finish_decompress(&jpeg);
    }
    jpeg_destroy_decompress(&jpeg);
    return true;
}

Result<ImageShape> checked_shape(const fs::path& file, const ImageShape& shape) {
    if (shape.height > most_pixels / std::max<std::int64_t>(1, shape.width))
        return image_error(file, std::to_string(shape.width) + " x " + std::to_string(shape.height) +
                                     " pixels: at most 4,194,304 are possible");
    return shape;
}

}  // namespace

bool is_image_file(const fs::path& file) {
    std::string extension = file.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

Result<ImageShape> read_image_shape(const fs::path& file) {
    const auto handle = open_image(file);
    if (!handle) return handle.error();
    ImageShape shape;
    if (is_jpeg(handle->get())) {
        JpegErrors errors{};
        if (!decode_jpeg(handle->get(), errors, shape, nullptr, nullptr)) return jpeg_error(file, errors);
        return checked_shape(file, shape);
    }
    png_image image{};
    const std::unique_ptr<png_image, PngFree> freed(&image);
    const auto begun = begin_png(file, handle->get(), image);
    return begun ? checked_shape(file, *begun) : begun;
}

Result<void> read_image(const fs::path& file, const ImageShape& shape, std::span<std::byte> to) {
    // The header that is checked must be the one that is decoded: another program may replace the file at any time.
    const auto handle = open_image(file);
    if (!handle) return handle.error();
    if (is_jpeg(handle->get())) {
        JpegErrors errors{};
        ImageShape its;
        if (!decode_jpeg(handle->get(), errors, its, &shape, to.data())) return jpeg_error(file, errors);
        return {};
    }
    png_image image{};
    const std::unique_ptr<png_image, PngFree> freed(&image);
    const auto its = begin_png(file, handle->get(), image);
    if (!its) return its.error();
    if (differs(*its, shape)) return image_error(file, other_shape);
    image.format = shape.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    const png_color black{0, 0, 0};
    if (png_image_finish_read(&image, &black, to.data(), 0, nullptr) == 0)
        return image_error(file, std::string("damaged or truncated (") + image.message + ")");
    return {};
}

}  // namespace hpo
