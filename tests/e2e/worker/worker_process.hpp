// The orchestrator's side of one real hpo-worker, for tests: starts it, speaks with it, waits with a deadline.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/lines.hpp"
#include "hpo/messages.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo::test {

/// Anything that takes longer than this is a failure.
inline constexpr double deadline = 60;

/// Where the libraries lie that play a driver, "cuda" or "opencl".
inline std::string fake_folder(const std::string& driver) {
    return hpo::testing::build_folder() + "/tests/support/fake_" + driver;
}

class WorkerProcess {
   public:
    /// Starts it with `arguments`, `variables` ("NAME=value") in its environment and, unless `endpoint` is given, with
    /// a socket of our own and the token "secret".
    explicit WorkerProcess(const std::vector<std::string>& arguments = {},
                           const std::optional<std::string>& endpoint = {},
                           const std::vector<std::string>& variables = {});
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    /// Waits for the connection.
    void accept();
    /// Whether it has connected, accepted or not.
    [[nodiscard]] bool connects() const;
    void send(const OrchestratorMessage& message);
    void send_bytes(std::string_view bytes);
    void disconnect();

    /// The next message, `alive` ones left out (they are counted, by phase). Throws when the deadline passes or the
    /// worker hangs up.
    WorkerMessage receive();
    template <class T>
    T expect() {
        WorkerMessage message = receive();
        if (auto* got = std::get_if<T>(&message)) return std::move(*got);
        throw std::runtime_error("another message than expected, number " + std::to_string(message.index()));
    }
    /// Waits for an alive message of this phase.
    void wait_alive(const std::string& phase);
    [[nodiscard]] int alive(const std::string& phase) const {
        const auto found = alive_.find(phase);
        return found == alive_.end() ? 0 : found->second;
    }

    /// Exit status; waits for it. A signal's number is added to 128.
    int wait();
    /// What it has printed so far, stdout and stderr together.
    [[nodiscard]] std::string output() const;
    [[nodiscard]] pid_t pid() const { return pid_; }

   private:
    std::optional<WorkerMessage> receive_any();

    hpo::testing::TemporaryFolder folder_;
    int listener_ = -1;
    int connection_ = -1;
    pid_t pid_ = -1;
    LineSplitter lines_{max_line_bytes};
    std::deque<WorkerMessage> received_;
    std::map<std::string, int> alive_;
};

}  // namespace hpo::test
