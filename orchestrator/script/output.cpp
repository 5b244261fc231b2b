#include "orchestrator/script/output.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace hpo::script {

namespace {

constexpr std::size_t chunk_bytes = 64 * 1024;
constexpr std::size_t last_output_bytes = 8 * 1024;

void copy_to_log(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t size = ::write(1, bytes.data(), bytes.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(size));
    }
}

}  // namespace

void CommandOutput::open(Descriptor pipe, Descriptor terminal) { streams_ = {std::move(pipe), std::move(terminal)}; }

bool CommandOutput::take(std::size_t max_bytes, const Read& read) {
    const bool from_terminal = take(1, max_bytes, read);
    return take(0, max_bytes, read) || from_terminal;
}

void CommandOutput::add_to_log(std::string_view lines) {
    if (lines.empty()) return;
    if (!tail_.empty() && tail_.back() != '\n' && tail_.back() != '\r' && !std::exchange(parted_, true))
        copy_to_log("\n");
    copy_to_log(lines);
}

bool CommandOutput::take(std::size_t stream, std::size_t max_bytes, const Read& read) {
    Descriptor& descriptor = streams_[stream];
    char buffer[chunk_bytes];
    std::size_t taken = 0;
    while (descriptor && taken < max_bytes) {
        const ssize_t size = ::read(descriptor.get(), buffer, sizeof buffer);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) break;
        if (size <= 0) {  // a terminal fails with EIO once no process has it open
            descriptor.reset();
            break;
        }
        const std::string_view bytes(buffer, static_cast<std::size_t>(size));
        taken += bytes.size();
        copy_to_log(bytes);
        tail_ += bytes;
        parted_ = false;
        if (tail_.size() > 2 * last_output_bytes) tail_.erase(0, tail_.size() - last_output_bytes);
        read(bytes, stream);
    }
    return taken > 0;
}

}  // namespace hpo::script
