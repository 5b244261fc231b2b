// Measures the host memory of process trees outside the event loop. Memory that the processes of a tree share counts
// once (proportional set size). To read a process's share the kernel walks all its pages, which takes milliseconds for
// each loader of a PyTorch script. So each pass over /proc reads only as many shares as fit into its budget of time;
// between two readings a process's share is estimated from the growth of its resident memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "hpo/clock.hpp"

namespace hpo {

struct TreeReading {
    std::vector<std::int64_t> processes;  ///< the root and its descendants; empty if it is gone
    std::optional<std::int64_t> bytes;    ///< absent if no share of several processes was read yet
};

/// Meters the memory of process trees, within a budget of time. Not thread-safe.
class TreeMeter {
   public:
    /// `clock` measures the budget. It should be the thread's CPU time, so that load on the machine does not use the
    /// budget up.
    explicit TreeMeter(const Clock& clock, std::filesystem::path root = "/") : clock_(clock), root_(std::move(root)) {}

    /// Reads /proc once for all trees. Then reads shares, first of processes without one, then the oldest ones, until
    /// `budget` is used up, but at least one.
    std::map<std::int64_t, TreeReading> pass(std::span<const std::int64_t> roots, Seconds budget);

   private:
    struct Share {
        std::int64_t bytes = 0;
        std::int64_t resident = 0;  ///< resident memory when the share was read
        std::int64_t pass = 0;      ///< pass in which it was read
    };
    [[nodiscard]] std::optional<std::int64_t> estimate(const std::vector<std::int64_t>& tree) const;

    const Clock& clock_;
    std::filesystem::path root_;
    std::map<std::int64_t, Share> shares_;           ///< by pid
    std::map<std::int64_t, std::int64_t> resident_;  ///< as of this pass
    std::int64_t passes_ = 0;
};

/// Runs a TreeMeter in a thread, which uses at most a few hundredths of a core.
class TreeWatch {
   public:
    TreeWatch() = default;
    ~TreeWatch();
    TreeWatch(const TreeWatch&) = delete;
    TreeWatch& operator=(const TreeWatch&) = delete;

    /// Returns for each root the reading of the last pass, about a second ago; nothing for a root that no pass has seen
    /// yet. A root is measured as long as calls ask for it. Never waits for a pass.
    std::vector<std::optional<TreeReading>> latest(std::span<const std::int64_t> roots);

   private:
    void work();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::map<std::int64_t, Seconds> watched_;  ///< roots, with the time of the last call that asked for each
    std::map<std::int64_t, TreeReading> readings_;
    bool new_root_ = false;
    bool ends_ = false;
    std::thread thread_;  ///< started with the first root
};

}  // namespace hpo
