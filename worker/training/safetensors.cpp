#include "worker/training/safetensors.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace hpo {
namespace {

std::string make_header(const std::map<std::string, std::string>& metadata, std::span<const NamedTensor> tensors) {
    nlohmann::ordered_json header;
    header["__metadata__"] = metadata;
    std::size_t offset = 0;
    for (const NamedTensor& tensor : tensors) {
        const std::size_t end = offset + tensor.values.size_bytes();
        header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    text.append((8 - text.size() % 8) % 8, ' ');  // so that the tensors are aligned
    return text;
}

}  // namespace

Result<void> write_safetensors(const std::filesystem::path& file, const std::map<std::string, std::string>& metadata,
                               std::span<const NamedTensor> tensors) {
    std::filesystem::path temporary = file;
    temporary += ".tmp";
    const auto give_up = [&] {
        const Error error{file.string() + ": " + std::strerror(errno)};
        std::remove(temporary.c_str());
        return error;
    };
    std::FILE* out = std::fopen(temporary.c_str(), "wbe");
    if (out == nullptr) return give_up();
    const std::string header = make_header(metadata, tensors);
    const std::uint64_t length = header.size();
    bool whole = std::fwrite(&length, sizeof length, 1, out) == 1 &&
                 std::fwrite(header.data(), 1, header.size(), out) == header.size();
    for (const NamedTensor& tensor : tensors)
        whole = whole && std::fwrite(tensor.values.data(), 4, tensor.values.size(), out) == tensor.values.size();
    whole = whole && std::fflush(out) == 0 && fsync(fileno(out)) == 0;
    if (std::fclose(out) != 0 || !whole || std::rename(temporary.c_str(), file.c_str()) != 0) return give_up();
    return {};
}

}  // namespace hpo
