// TFRecord: how TensorFlow frames records in a file (tensorflow.org/tutorials/load_data/tfrecord). Each is its length
// (64 bits, little-endian), the masked sum of these eight bytes, the bytes themselves, and their masked sum. The sum is
// CRC-32C (RFC 3720, appendix B.4); masked: turned right by 15 bits, plus 0xa282ead8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hpo::exporting {

std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked(std::uint32_t sum);

/// `payload` as it stands in the file.
std::string framed(std::string_view payload);

}  // namespace hpo::exporting
