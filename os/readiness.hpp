// A descriptor that is readable while one of many others is: epoll on Linux, a kqueue on macOS.
#pragma once

#include <cstdint>
#include <vector>

#include "hpo/descriptor.hpp"

namespace hpo::os {

class Readiness {
   public:
    Readiness();  ///< empty, with errno, if the system has no descriptor left
    [[nodiscard]] explicit operator bool() const { return static_cast<bool>(queue_); }
    [[nodiscard]] int descriptor() const { return queue_.get(); }
    /// Watches a descriptor until it is closed. Returns false, with errno, on failure.
    [[nodiscard]] bool add(int descriptor, std::uint64_t name = 0) const;
    /// Returns the names of some readable descriptors, of which Linux puts the one first that was readable first; none:
    /// no descriptor is readable. Does not wait.
    [[nodiscard]] std::vector<std::uint64_t> ready() const;

   private:
    Descriptor queue_;
};

}  // namespace hpo::os
