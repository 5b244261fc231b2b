// What a user is told, in the order in which it happened, and never before it is sure: of the end of a trial, and of
// all after it, only once the disk has it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

namespace hpo {

/// Not thread-safe. Results are counted as the store counts them (store.hpp).
class Announcements {
   public:
    /// `results`: how many are stored at this moment. Done at once if the disk has them all.
    void add(std::int64_t results, std::function<void()> announce);
    /// The disk has so many results.
    void release(std::int64_t on_disk);

   private:
    struct Waiting {
        std::int64_t results;
        std::function<void()> announce;
    };
    std::deque<Waiting> waiting_;
    std::int64_t on_disk_ = 0;
};

}  // namespace hpo
