// What process trees hold of the host's memory, measured beside the loop. What the processes of a tree share counts
// once (proportional set size), and to learn a process's share the kernel walks all its pages: milliseconds, for the
// loaders of a PyTorch script again and again. So each pass over /proc reads as many shares as its budget of time has
// room for, and between two readings of its share a process counts as it grows.
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
    std::vector<std::int64_t> processes;  ///< the root and all below it; empty: it is gone
    std::optional<std::int64_t> bytes;    ///< nothing: no share of a tree of several was read yet
};

/// Not thread-safe.
class TreeMeter {
   public:
    /// `clock` counts the budget: the thread's own time, so that a loaded machine does not use it up.
    explicit TreeMeter(const Clock& clock, std::filesystem::path root = "/") : clock_(clock), root_(std::move(root)) {}

    /// One look at /proc for all trees. Shares are read for processes that had none, then for those whose is oldest,
    /// until `budget` is used up; one in any case.
    std::map<std::int64_t, TreeReading> pass(std::span<const std::int64_t> roots, Seconds budget);

   private:
    struct Share {
        std::int64_t bytes = 0;
        std::int64_t resident = 0;  ///< when it was read
        std::int64_t pass = 0;      ///< in which it was read
    };
    [[nodiscard]] std::optional<std::int64_t> estimate(const std::vector<std::int64_t>& tree) const;

    const Clock& clock_;
    std::filesystem::path root_;
    std::map<std::int64_t, Share> shares_;           ///< by process
    std::map<std::int64_t, std::int64_t> resident_;  ///< as of this pass
    std::int64_t passes_ = 0;
};

/// A TreeMeter in a thread of its own, which takes at most a few hundredths of a core.
class TreeWatch {
   public:
    TreeWatch() = default;
    ~TreeWatch();
    TreeWatch(const TreeWatch&) = delete;
    TreeWatch& operator=(const TreeWatch&) = delete;

    /// Of each root as of the last pass, about a second ago; nothing for those that no pass has seen yet. They are
    /// watched from now on, for as long as they are asked for. Never waits for a pass.
    std::vector<std::optional<TreeReading>> latest(std::span<const std::int64_t> roots);

   private:
    void work();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::map<std::int64_t, Seconds> watched_;  ///< and when each was asked for last
    std::map<std::int64_t, TreeReading> readings_;
    bool new_root_ = false;
    bool ends_ = false;
    std::thread thread_;  ///< from the first root on
};

}  // namespace hpo
