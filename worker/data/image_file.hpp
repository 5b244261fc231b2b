// Decodes PNG files (libpng) and JPEG files (libjpeg).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "hpo/result.hpp"
#include "worker/data/dataset.hpp"

namespace hpo {

/// Returns true if the file's name ends in .png, .jpg or .jpeg, in small or capital letters.
bool is_image_file(const std::filesystem::path& file);

/// The size of an image and its channels, 1 (grey) or 3 (colours), from the beginning of the file. Errors name the
/// file.
Result<ImageShape> read_image_shape(const std::filesystem::path& file);

/// Reads all pixels, row by row, channels last, into `to`, whose size is the bytes of an image of `shape`. A grey image
/// is repeated if the shape has three channels; transparent parts become black. An image of another size, a truncated
/// or a damaged one is an error, which names the file.
Result<void> read_image(const std::filesystem::path& file, const ImageShape& shape, std::span<std::byte> to);

}  // namespace hpo
