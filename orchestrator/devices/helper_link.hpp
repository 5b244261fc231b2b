// The monitor's end of one helper process (helper.hpp). Nothing here blocks.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "hpo/descriptor.hpp"
#include "hpo/lines.hpp"

namespace hpo {

class HelperLink {
   public:
    HelperLink() = default;
    HelperLink(const HelperLink&) = delete;
    HelperLink& operator=(const HelperLink&) = delete;
    /// Kills it, and waits for nothing.
    ~HelperLink() { kill(); }

    /// `what` is nvml or opencl. An empty string, or why it could not be started.
    std::string start(const std::filesystem::path& program, const char* what);

    /// Whether one was started and neither kill()ed nor seen to have ended.
    [[nodiscard]] bool running() const { return static_cast<bool>(socket_); }
    /// To wait on; -1: none.
    [[nodiscard]] int fd() const { return socket_.get(); }

    void ask();

    /// The newest answer that has arrived whole since the last call.
    std::optional<std::string> answer();

    /// How it ended by itself, as text, once that is known; nothing while it runs, or after kill().
    std::optional<std::string> ended();

    void kill();

    /// Whether the one before is gone for good. One that is stuck in the kernel may outlive its kill by far.
    bool reaped();

   private:
    pid_t pid_ = 0;  ///< not yet waited for
    Descriptor socket_;
    bool closed_ = false;  ///< its end of the socket
    LineSplitter lines_{1 << 20};
};

}  // namespace hpo
