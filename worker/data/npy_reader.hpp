// Reads arrays from NPY files and from NPZ archives, which are ZIP files of NPY files.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/npy.hpp"

namespace hpo {

/// The location of an array.
struct ArrayPlace {
    std::string name;            ///< as the user calls it: x_train
    std::filesystem::path file;  ///< an NPY file or an archive
    std::string member{};        ///< of the archive: x_train.npy; empty: an NPY file

    /// For messages: data.npz: x_train.npy.
    [[nodiscard]] std::string text() const { return file.string() + (member.empty() ? "" : ": " + member); }
};

/// The arrays of an archive, or the NPY files of a folder, by name. A single NPY file has one, called by its stem.
/// Errors name the file.
Result<std::vector<ArrayPlace>> list_arrays(const std::filesystem::path& path);

/// Reads one array from its beginning to its end. Errors name the file.
class NpyReader {
   public:
    static Result<std::unique_ptr<NpyReader>> open(ArrayPlace place);
    virtual ~NpyReader() = default;
    NpyReader(const NpyReader&) = delete;
    NpyReader& operator=(const NpyReader&) = delete;

    [[nodiscard]] const NpyHeader& header() const { return header_; }
    /// The next numbers. An array that ends before is an error.
    Result<void> read(std::span<std::byte> to);
    /// Must follow the last number: bytes behind it, or a wrong checksum, are an error.
    Result<void> finish();

   protected:
    explicit NpyReader(ArrayPlace place) : place_(std::move(place)) {}
    /// Fills `to`, or its beginning at the end of the file, and returns the number of bytes.
    virtual Result<std::size_t> read_some(std::span<std::byte> to) = 0;
    [[nodiscard]] Error error(const std::string& what) const { return {place_.text() + ": " + what}; }

    ArrayPlace place_;

   private:
    Result<void> read_header();

    NpyHeader header_;
    std::int64_t position_ = 0;  ///< in the NPY file
};

}  // namespace hpo
