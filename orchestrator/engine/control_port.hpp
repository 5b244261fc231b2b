// The control socket of a study (control.hpp), served by whichever loop owns it, without a thread or a loop of its own.
#pragma once

#include <deque>
#include <filesystem>
#include <string>

#include "hpo/descriptor.hpp"
#include "hpo/lines.hpp"
#include "hpo/result.hpp"
#include "orchestrator/engine/control.hpp"
#include "os/readiness.hpp"

namespace hpo {

class ControlPort {
   public:
    /// Listens at `socket`, whose folder exists and is removed by its owner.
    static Result<ControlPort> open(const std::filesystem::path& socket, std::string study, ControlActions actions);

    /// Returns a descriptor that is readable while serve() has work.
    [[nodiscard]] int descriptor() const { return watched_.descriptor(); }
    /// Answers all requests that have arrived. Never waits: a client that does not read its answers is dropped, as is
    /// one whose request is longer than 4 KiB. A 17th client replaces the oldest. Returns false if a client cannot be
    /// accepted for want of descriptors: call again a little later.
    bool serve();

   private:
    struct Client {
        Descriptor socket;
        LineSplitter lines;
    };

    ControlPort(Descriptor listener, std::string study, ControlActions actions);
    bool accept();
    /// Returns false if the client is to be dropped.
    bool answer(Client& client);

    Descriptor listener_;
    os::Readiness watched_;  ///< of the listener and of all clients
    std::string study_;
    ControlActions actions_;
    std::deque<Client> clients_;  ///< in the order of their arrival
};

}  // namespace hpo
