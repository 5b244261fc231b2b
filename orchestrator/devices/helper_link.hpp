// The monitor's end of one helper process (helper.hpp). No function blocks.
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
    /// Kills the helper without waiting for its end.
    ~HelperLink() { kill(); }

    /// Starts a helper for `library`, nvml or opencl. Returns an empty string, or why it could not be started.
    std::string start(const std::filesystem::path& program, const char* library);

    /// Returns true if a helper was started and neither killed nor found to have ended.
    [[nodiscard]] bool running() const { return static_cast<bool>(socket_); }
    /// The descriptor to poll for answers; -1 if no helper runs.
    [[nodiscard]] int fd() const { return socket_.get(); }

    /// Asks for a reading.
    void ask();

    /// Returns the newest complete answer that has arrived since the last call.
    std::optional<std::string> answer();

    struct End {
        bool started = true;  ///< false if the program could not be executed
        std::string how;
    };
    /// Returns how it ended by itself, once that is known; nothing while it runs and after kill().
    std::optional<End> ended();

    void kill();

    /// Returns true if the previous helper has ended. A helper that is stuck in the kernel may take long to die.
    bool reaped();

   private:
    std::filesystem::path program_;
    pid_t pid_ = 0;  ///< not reaped yet; 0 if there is none
    Descriptor socket_;
    bool closed_ = false;  ///< true if the helper has closed the socket
    LineSplitter lines_{1 << 20};
};

}  // namespace hpo
