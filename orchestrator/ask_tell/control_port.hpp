// The control socket of `hpo ask-tell`, by which `hpo stop`, `hpo top` and `hpo serve` reach it. The requests are those
// of engine/control.hpp; this one is served from a loop that calls poll(2), without a thread or a loop of its own.
#pragma once

#include <poll.h>

#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/descriptor.hpp"
#include "hpo/lines.hpp"
#include "hpo/result.hpp"
#include "orchestrator/engine/control.hpp"

namespace hpo::ask_tell {

class ControlPort {
   public:
    /// Listens at `socket`, whose folder exists and is removed by its owner.
    static Result<ControlPort> open(const std::filesystem::path& socket, std::string study, ControlActions actions);

    /// Adds the descriptors that become readable when serve() has work.
    void watch(std::vector<pollfd>& ready) const;
    /// Answers all requests that have arrived. Never waits: a client that does not read its answers is dropped, as is
    /// one whose request is longer than 4 KiB. Of more than 16 clients the oldest is.
    void serve();

   private:
    struct Client {
        Descriptor socket;
        LineSplitter lines;
    };

    ControlPort(Descriptor listener, std::string study, ControlActions actions);
    void accept();
    /// Returns false if the client is to be dropped.
    bool answer(Client& client);

    Descriptor listener_;
    std::string study_;
    ControlActions actions_;
    std::deque<Client> clients_;  ///< in the order of their arrival
};

}  // namespace hpo::ask_tell
