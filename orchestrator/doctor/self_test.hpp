// Tries the promises of docs/guarantees.md on this machine: runs small studies in a folder of its own, kills and
// interrupts them, and compares their reports with the stored studies.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hpo/clock.hpp"

namespace hpo {

struct Promise {
    std::string text;  ///< "killed by SIGKILL, hpo leaves no process behind"
    bool kept = false;
    std::string seen;  ///< the observation: a measured time, or how the promise is broken
    Seconds took{0};
};

struct SelfTestResult {
    std::vector<Promise> promises;
    std::filesystem::path folder;  ///< kept for whoever looks for the cause of a broken promise; empty if removed

    /// Returns true if no promise is broken.
    [[nodiscard]] bool kept() const;
};

/// Tries all promises in a new folder below `parent`, and calls `tried` after each. Those that need the results of a
/// broken one are left out. Throws SelfTestInterrupted (tried_run.hpp) after a signal. No process is left in any case.
SelfTestResult self_test(const std::filesystem::path& parent, const std::function<void(const Promise&)>& tried);

/// Returns the object of hpo doctor --self-test --json (docs/json.md).
nlohmann::ordered_json to_json(const SelfTestResult& result);

}  // namespace hpo
