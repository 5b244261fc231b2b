// Encodes TFRecord, the format in which TensorFlow writes records to a file
// (tensorflow.org/tutorials/load_data/tfrecord). A record consists of its length (64 bits, little-endian), the masked
// checksum of these eight bytes, the bytes themselves, and their masked checksum. The checksum is CRC-32C (RFC 3720,
// appendix B.4). It is masked by rotating it right by 15 bits and adding 0xa282ead8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hpo::exporting {

std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked(std::uint32_t checksum);

/// Encodes `payload` as a record.
std::string framed(std::string_view payload);

}  // namespace hpo::exporting
