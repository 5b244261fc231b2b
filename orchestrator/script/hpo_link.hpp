// The adapter's connection to hpo.
#pragma once

#include <functional>
#include <string_view>

#include "hpo/descriptor.hpp"
#include "hpo/lines.hpp"
#include "hpo/messages.hpp"

namespace hpo::script {

class HpoLink {
   public:
    /// Connects to the socket at this path. The result is empty, with errno, if that fails, and for a null pointer.
    static Descriptor connect(const char* endpoint);

    explicit HpoLink(Descriptor socket) : socket_(std::move(socket)) {}

    [[nodiscard]] int descriptor() const { return socket_.get(); }

    /// Sends a line that ends with '\n'. Returns false, with errno, if a shortage keeps it from being sent. If hpo is
    /// gone, read() sees the end of the stream.
    bool send(std::string_view line);

    /// Reads what has arrived and passes each message to `take`. Returns false if hpo has ended, or has sent what is no
    /// message.
    bool read(const std::function<void(const OrchestratorMessage&)>& take);

   private:
    Descriptor socket_;
    LineSplitter lines_{max_line_bytes};
};

}  // namespace hpo::script
