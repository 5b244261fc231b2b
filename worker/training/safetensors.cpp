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
    text.append((8 - text.size() % 8) % 8, ' ');  // aligns the tensors
    return text;
}

constexpr std::uint64_t most_header_bytes = 100'000'000;  // as in the format's own library

/// Reads one entry of the header. Throws nlohmann's exceptions where the entry has another form.
Result<StoredTensor> read_tensor(const nlohmann::json& entry, std::string_view data) {
    if (entry.at("dtype") != "F32") return Error{"type " + entry.at("dtype").dump() + ", not F32"};
    StoredTensor tensor;
    std::uint64_t elements = 1;
    for (const nlohmann::json& extent : entry.at("shape")) {
        tensor.shape.push_back(extent.get<std::int64_t>());
        if (tensor.shape.back() < 0) return Error{"a negative extent"};
        const auto unsigned_extent = static_cast<std::uint64_t>(tensor.shape.back());
        if (unsigned_extent > 0 && elements > data.size() / unsigned_extent)
            return Error{"a shape larger than the file"};
        elements *= unsigned_extent;
    }
    const auto begin = entry.at("data_offsets").at(0).get<std::uint64_t>();
    const auto end = entry.at("data_offsets").at(1).get<std::uint64_t>();
    if (begin > end || end > data.size()) return Error{"outside of the file, which may be truncated"};
    if (end - begin != elements * sizeof(float)) return Error{"a shape that does not match its bytes"};
    tensor.values.resize(elements);
    if (elements > 0) std::memcpy(tensor.values.data(), data.data() + begin, end - begin);
    return tensor;
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

Result<Safetensors> parse_safetensors(std::string_view bytes) {
    std::uint64_t length = 0;
    if (bytes.size() < sizeof length) return Error{"no safetensors file: shorter than 8 bytes"};
    std::memcpy(&length, bytes.data(), sizeof length);
    if (length > most_header_bytes || length > bytes.size() - sizeof length)
        return Error{"no safetensors file, or truncated"};
    const auto header = nlohmann::json::parse(bytes.substr(sizeof length, length), nullptr, false);
    if (!header.is_object()) return Error{"no safetensors file: its header is no JSON object"};
    const std::string_view data = bytes.substr(sizeof length + length);
    Safetensors read;
    for (const auto& [name, entry] : header.items()) try {
            if (name == "__metadata__") {
                read.metadata = entry.get<std::map<std::string, std::string>>();
                continue;
            }
            auto tensor = read_tensor(entry, data);
            if (!tensor) return Error{"tensor " + name + ": " + tensor.error().message};
            read.tensors.emplace(name, *std::move(tensor));
        } catch (const nlohmann::json::exception&) {
            return Error{"damaged header: the entry " + name};
        }
    return read;
}

}  // namespace hpo
