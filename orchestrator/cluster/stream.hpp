// A stream of frames between machines: an opening that names the version, then frames of a size, a kind and a payload.
// Numbers are little-endian. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hpo::cluster {

/// Changes with any message that the other end must understand. Agents of another version are refused.
inline constexpr std::uint32_t stream_version = 1;
inline constexpr std::size_t most_payload = 8 * 1024 * 1024;
/// Bytes that may come before the opening: login shells greet their users.
inline constexpr std::size_t most_greeting = 64 * 1024;

/// Bytes that an end reads at once, and those of frames that the other end may leave unread.
inline constexpr std::size_t read_at_once = 64 * 1024, most_unread = 64 * 1024 * 1024;

/// Returns a buffer of `read_at_once` bytes that all readers of this thread use in turn: a thousand agents that are
/// quiet need none of their own. Its content is lost with the next read.
std::span<char> read_buffer();

struct Opening {
    std::uint32_t version = stream_version;
    std::string program;  ///< version of hpo
    friend bool operator==(const Opening&, const Opening&) = default;
};

std::string encode(const Opening& opening);
std::string frame(std::uint8_t kind, std::string_view payload);

/// Appends a number of four bytes; reads the first four bytes of `bytes`, which has them.
void put_u32(std::string& bytes, std::uint32_t number);
std::uint32_t get_u32(std::string_view bytes);

class StreamReader {
   public:
    /// Calls `on_frame(kind, payload)` for each complete frame after the opening; the payload is valid until it
    /// returns. Returns false from then on if the bytes are no frames, and after an opening of another version.
    template <class F>
    bool feed(std::string_view bytes, F&& on_frame) {
        kept_.append(bytes);
        if (!broken_ && !opening_) broken_ = !find_opening();
        std::size_t at = 0;
        while (!broken_ && opening_ && kept_.size() - at >= header_bytes) {
            const std::size_t size = get_u32(std::string_view(kept_).substr(at));
            if (size > most_payload) broken_ = true;
            if (broken_ || kept_.size() - at < header_bytes + size) break;
            on_frame(static_cast<std::uint8_t>(kept_[at + 4]), std::string_view(kept_).substr(at + header_bytes, size));
            at += header_bytes + size;
        }
        kept_.erase(0, at);
        return !broken_;
    }

    /// Returns the opening, or nothing if it has not arrived yet.
    [[nodiscard]] const std::optional<Opening>& opening() const { return opening_; }
    /// Returns the bytes that arrived before the opening.
    [[nodiscard]] const std::string& greeting() const { return opening_ ? greeting_ : kept_; }

   private:
    static constexpr std::size_t header_bytes = 5;
    bool find_opening();

    std::string kept_, greeting_;
    std::optional<Opening> opening_;
    bool broken_ = false;
};

}  // namespace hpo::cluster
