// Notifications for the user, in the order of their events. The end of a trial, and every later event, is announced
// only once it is on the disk.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

namespace hpo {

/// Holds announcements back until the results that they rest on are on the disk. Results are counted as the store
/// counts them (store.hpp). Not thread-safe.
class Announcements {
   public:
    /// Queues an announcement behind the first `results` results. Calls it at once if they are all on the disk.
    void add(std::int64_t results, std::function<void()> announce);
    /// Calls the announcements that the first `on_disk` results allow.
    void release(std::int64_t on_disk);
    /// Drops the announcements of all results after the first `results`, which were never stored.
    void drop_after(std::int64_t results);
    /// Returns the number of announcements that wait for the disk.
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

   private:
    struct Waiting {
        std::int64_t results;
        std::function<void()> announce;
    };
    std::deque<Waiting> waiting_;
    std::int64_t on_disk_ = 0;
};

}  // namespace hpo
