// A kernel that refuses to write for a while, for the descriptors of this process.
#pragma once

namespace hpo::testing {

/// While it lives, the next `polls` calls of poll() and then the next `writes` calls of write() fail with `error`.
class RefusedWrites {
   public:
    RefusedWrites(int error, int polls, int writes);
    ~RefusedWrites();
    RefusedWrites(const RefusedWrites&) = delete;
    RefusedWrites& operator=(const RefusedWrites&) = delete;

    /// Returns how many calls have not been refused yet.
    [[nodiscard]] static int left();
};

}  // namespace hpo::testing
