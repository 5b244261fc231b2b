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
/// The checksum of zlib and of IEEE 802.3.
std::uint32_t crc32(std::string_view bytes);
std::uint32_t masked(std::uint32_t checksum);

/// Encodes `payload` as a record.
std::string framed(std::string_view payload);

/// The file in which W&B keeps the records of a run (wandb/sdk/internal/datastore.py): LevelDB's log
/// (github.com/google/leveldb, doc/log_format.md) behind a header of seven bytes, but with CRC-32 as checksums, of the
/// type and the data. A record is cut where a block of 32 KiB ends.
class BlockLog {
   public:
    BlockLog();
    void append(std::string_view record);
    [[nodiscard]] const std::string& bytes() const { return bytes_; }

   private:
    std::string bytes_;
};

}  // namespace hpo::exporting
