// The cores that a rank runs on. Ranks wait for each other in every update, and the kernel likes to wake a thread on
// the core of the one that woke it: ranks that are not bound may share a core for seconds while others are idle.
#pragma once

#include <span>
#include <vector>

namespace hpo {

class RankCores {
   public:
    RankCores();  ///< of a thread that may run on all cores of its worker
    /// Binds the calling thread to `cores`; with none, to all cores that the constructing thread had. A refusal leaves
    /// it where it is. Allocates nothing, so that it may be called between fork and exec.
    void bind(std::span<const int> cores) const;

   private:
    std::vector<int> all_;
};

}  // namespace hpo
