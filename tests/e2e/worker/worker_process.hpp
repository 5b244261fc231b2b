// The orchestrator's side of a real hpo-worker, for tests. It starts the worker and exchanges messages with it.
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

/// The limit of each wait in seconds. A longer wait is a failure.
inline constexpr double deadline = 60;

/// Returns the folder of the libraries that simulate a driver, "cuda" or "opencl".
inline std::string fake_folder(const std::string& driver) {
    return hpo::testing::build_folder() + "/tests/support/fake_" + driver;
}

class WorkerProcess {
   public:
    /// Starts a worker with `arguments` and with `variables` ("NAME=value") in its environment. Unless `endpoint` is
    /// given, it connects to a socket of this process, with the token "secret".
    explicit WorkerProcess(const std::vector<std::string>& arguments = {},
                           const std::optional<std::string>& endpoint = {},
                           const std::vector<std::string>& variables = {});
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    /// Waits for the connection.
    void accept();
    /// Returns true if the worker has connected, whether it is accepted yet or not.
    [[nodiscard]] bool connects() const;
    void send(const OrchestratorMessage& message);
    void send_bytes(std::string_view bytes);
    void disconnect();

    /// Returns the next message. Messages `alive` are counted by phase and skipped. Throws if the deadline passes or
    /// the worker disconnects.
    WorkerMessage receive();
    template <class T>
    T expect() {
        WorkerMessage message = receive();
        if (auto* expected = std::get_if<T>(&message)) return std::move(*expected);
        throw std::runtime_error("unexpected message, number " + std::to_string(message.index()));
    }
    /// Waits for an alive message of this phase.
    void wait_alive(const std::string& phase);
    [[nodiscard]] int alive(const std::string& phase) const {
        const auto found = alive_.find(phase);
        return found == alive_.end() ? 0 : found->second;
    }

    /// Waits for the end of the worker. Returns its exit status, or 128 plus the number of the signal that ended it.
    int wait();
    /// Returns its output so far, stdout and stderr together.
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
