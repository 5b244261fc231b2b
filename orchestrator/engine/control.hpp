// The control socket of a running study, by which `hpo stop` and `hpo top` reach its process. Requests and answers are
// one JSON object per line:
//     {"op": "stop"}               -> {"ok": true}       the study ends as if interrupted
//     {"op": "stop", "trial": 3}   -> {"ok": true}  or  {"ok": false, "error": "trial 3 has ended already: complete"}
//     {"op": "status"}             -> {"ok": true, "study": "phase1", "pid": 4711, "running": 2}
// An unknown request is answered with an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "hpo/result.hpp"

namespace boost::asio {
class io_context;
}

namespace hpo {

struct ControlActions {
    std::function<Result<void>(std::int64_t trial)> stop_trial;
    std::function<void()> stop_study;
    std::function<std::int64_t()> running;  ///< returns the number of running trials
};

/// Serves a ControlPort (control_port.hpp) in an event loop until destroyed, and then removes the socket file.
class ControlServer {
   public:
    static Result<ControlServer> open(boost::asio::io_context& loop, const std::filesystem::path& socket,
                                      std::string study, ControlActions actions);
    ~ControlServer();
    ControlServer(ControlServer&&) = default;
    ControlServer& operator=(ControlServer&&) = delete;

   private:
    ControlServer() = default;
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

/// Returns the answer to a request. Pure but for the actions.
std::string answer_control(const std::string& line, const std::string& study, const ControlActions& actions);

}  // namespace hpo
