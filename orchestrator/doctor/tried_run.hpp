// A run of hpo that the self-test starts, signals and watches.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hpo/clock.hpp"

namespace hpo {

/// Thrown where a signal ends the self-test.
struct SelfTestInterrupted {
    int signal;
};

/// Blocks SIGINT, SIGTERM and SIGHUP in this process until destruction. pause() receives them.
class BlockedSignals {
   public:
    BlockedSignals();
    ~BlockedSignals();
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

    /// Waits for a few milliseconds. Throws SelfTestInterrupted on a signal.
    void pause() const;
    /// Calls `holds` until it returns true. Returns the time that this took, or nothing after `limit`.
    [[nodiscard]] std::optional<Seconds> wait_until(const std::function<bool()>& holds, Seconds limit) const;

   private:
    sigset_t signals_{}, before_{};
};

/// Returns the processes whose environment or arguments hold the token, without zombies.
std::vector<pid_t> processes_with(const std::string& token);

/// The token as an environment variable of hpo, which all its descendants inherit that do not clear their environment.
inline constexpr const char* self_test_variable = "HPO_SELF_TEST";

/// `hpo ARGUMENTS...` in a folder, with its output in files there. Killed by the destructor.
class TriedRun {
   public:
    /// `name` is that of the files: NAME.out and NAME.err. Throws Fatal if the program cannot be started.
    TriedRun(const std::filesystem::path& folder, const std::string& name, const std::string& token,
             const std::vector<std::string>& arguments);
    ~TriedRun();
    TriedRun(const TriedRun&) = delete;
    TriedRun& operator=(const TriedRun&) = delete;

    void send(int signal) const;
    /// Returns the exit status as shells report it (128 + signal), or nothing while the program runs.
    std::optional<int> status();
    /// Returns the output so far.
    [[nodiscard]] std::string output() const;
    /// Returns the last line of the error output so far; empty if there is none.
    [[nodiscard]] std::string last_error() const;
    /// Returns the whole lines of the output so far as JSON. Lines that are no JSON are left out.
    [[nodiscard]] std::vector<nlohmann::json> events() const;

   private:
    std::filesystem::path out_, error_;
    pid_t pid_ = 0;
    std::optional<int> status_;
};

}  // namespace hpo
