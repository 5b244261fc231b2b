#include "worker/training/checkpoint.hpp"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "hpo/regular_file.hpp"

namespace hpo {
namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints are written as memory has them");

struct Header {
    std::array<char, 8> magic{'H', 'P', 'O', 'C', 'K', 'P', 'T', '3'};
    std::uint64_t binding = 0;
    std::int64_t step = 0;
    std::uint64_t bytes = 0;
};

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

Error failed(const std::filesystem::path& file, const std::string& why) { return {file.string() + ": " + why}; }
Error failed_by_errno(const std::filesystem::path& file) { return failed(file, std::strerror(errno)); }

uLong checksum(uLong crc, std::span<const std::byte> bytes) {
    return crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

template <class T>
std::span<const std::byte> bytes_of(const T& object) {
    return std::as_bytes(std::span(&object, 1));
}

bool put(std::FILE* file, std::span<const std::byte> bytes) {
    return std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
}
bool get(std::FILE* file, std::span<std::byte> bytes) {
    return std::fread(bytes.data(), 1, bytes.size(), file) == bytes.size();
}

}  // namespace

std::uint64_t checkpoint_binding(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    return hash;
}

Result<void> write_checkpoint(const std::filesystem::path& file, std::uint64_t binding, std::int64_t step,
                              std::span<const std::span<const std::byte>> parts) {
    std::filesystem::path temporary = file;
    temporary += ".tmp";
    const auto give_up = [&] {
        const Error error = failed_by_errno(temporary);
        std::remove(temporary.c_str());
        return error;
    };
    std::remove(temporary.c_str());  // of a killed process; another file would be written through, or waited for
    File out(std::fopen(temporary.c_str(), "wbe"));
    if (!out) return failed_by_errno(temporary);
    std::setvbuf(out.get(), nullptr, _IONBF, 0);

    Header header;
    header.binding = binding;
    header.step = step;
    for (const auto& part : parts) header.bytes += part.size();
    if (!put(out.get(), bytes_of(header))) return give_up();
    uLong crc = checksum(0, bytes_of(header));
    for (const auto& part : parts) {
        if (!put(out.get(), part)) return give_up();
        crc = checksum(crc, part);
    }
    if (!put(out.get(), bytes_of(static_cast<std::uint32_t>(crc)))) return give_up();
    if (std::fclose(out.release()) != 0) return give_up();
    if (std::rename(temporary.c_str(), file.c_str()) != 0) return give_up();
    return {};
}

std::optional<std::uint64_t> read_binding(const std::filesystem::path& file) {
    if (!check_regular(file)) return std::nullopt;
    const File in(std::fopen(file.c_str(), "rbe"));
    Header header;
    if (!in || !get(in.get(), std::as_writable_bytes(std::span(&header, 1)))) return std::nullopt;
    if (header.magic != Header{}.magic) return std::nullopt;
    return header.binding;
}

namespace {

/// Reads a checkpoint, its payload into the parts that `parts_for(bytes)` returns; none: the size is wrong.
template <class PartsFor>
Result<std::int64_t> read_into(const std::filesystem::path& file, std::uint64_t binding, PartsFor&& parts_for) {
    if (const auto regular = check_regular(file); !regular) return regular.error();
    const File in(std::fopen(file.c_str(), "rbe"));
    if (!in) return failed_by_errno(file);
    Header header;
    if (!get(in.get(), std::as_writable_bytes(std::span(&header, 1)))) return failed(file, "damaged: too short");
    if (header.magic != Header{}.magic) return failed(file, "not a checkpoint of this version");
    if (header.binding != binding) return failed(file, "of another configuration, seed or data set");
    const auto parts = parts_for(header.bytes);
    if (!parts) return failed(file, "damaged: the wrong size");
    uLong crc = checksum(0, bytes_of(header));
    for (const auto& part : *parts) {
        if (!get(in.get(), part)) return failed(file, "damaged: too short");
        crc = checksum(crc, part);
    }
    std::uint32_t stored = 0;
    if (!get(in.get(), std::as_writable_bytes(std::span(&stored, 1)))) return failed(file, "damaged: too short");
    if (stored != crc || std::fgetc(in.get()) != EOF) return failed(file, "damaged: the checksum is wrong");
    return header.step;
}

}  // namespace

Result<std::int64_t> read_checkpoint(const std::filesystem::path& file, std::uint64_t binding,
                                     std::span<const std::span<std::byte>> parts) {
    return read_into(file, binding, [&](std::uint64_t bytes) {
        std::uint64_t expected = 0;
        for (const auto& part : parts) expected += part.size();
        return bytes == expected ? std::optional(parts) : std::nullopt;
    });
}

Result<std::int64_t> read_checkpoint(const std::filesystem::path& file, std::uint64_t binding,
                                     std::vector<std::byte>& payload) {
    return read_into(file, binding, [&](std::uint64_t bytes) -> std::optional<std::array<std::span<std::byte>, 1>> {
        std::error_code unknown;
        // A damaged header might tell any size.
        if (bytes > std::filesystem::file_size(file, unknown) || unknown) return std::nullopt;
        payload.resize(bytes);
        return std::array{std::span(payload)};
    });
}

}  // namespace hpo
