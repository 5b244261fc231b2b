// Notifications for the user, in the order in which things happened, and never too early: the end of a trial, and all
// that follows it, is announced only once the disk has it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

namespace hpo {

/// Not thread-safe. Results are counted as the store counts them (store.hpp).
class Announcements {
   public:
    /// `results`: how many there are at this moment. Announced at once if the disk has them all.
    void add(std::int64_t results, std::function<void()> announce);
    /// The disk has so many results.
    void release(std::int64_t on_disk);
    /// There are no more than so many results: those after them were not stored, and are never announced.
    void drop_after(std::int64_t results);
    /// How many wait for the disk.
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
