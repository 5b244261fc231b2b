// The bytes that one end of a connection has sent and the other has not confirmed yet. After the connection broke, they
// are sent again over the next one from the byte that the other end asks for. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hpo::cluster {

class ReplayWindow {
   public:
    /// Bytes after which the sender waits for confirmations. A message waits for all that were sent before it, so a
    /// larger window would let the output of one trial delay the answers for others by seconds.
    static constexpr std::size_t most = 512 * 1024;

    void push(std::string_view bytes) { bytes_.append(bytes); }
    [[nodiscard]] bool is_full() const { return bytes_.size() >= most; }

    /// Forgets the first bytes of the stream, of which the other end has `received` in all. Returns false, and forgets
    /// none, for a number that it cannot have received, or that it has exceeded before.
    bool confirm(std::uint64_t received) {
        if (received < first_ || received - first_ > bytes_.size()) return false;
        bytes_.erase(0, received - first_);
        first_ = received;
        return true;
    }
    /// Returns the bytes that were not confirmed, in the order in which they were pushed.
    [[nodiscard]] std::string_view unconfirmed() const { return bytes_; }

   private:
    std::uint64_t first_ = 0;  ///< number of the first byte that was not confirmed, from the stream's begin
    std::string bytes_;
};

}  // namespace hpo::cluster
