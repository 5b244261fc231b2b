// A kernel that refuses to send for a while, for the sockets of this process.
#pragma once

namespace hpo::testing {

/// While it lives, the next `count` calls of send() and sendmsg() fail with `error`, as where buffers run short.
class RefusedSends {
   public:
    RefusedSends(int error, int count);
    ~RefusedSends();
    RefusedSends(const RefusedSends&) = delete;
    RefusedSends& operator=(const RefusedSends&) = delete;

    /// Returns how many calls have not been refused yet.
    [[nodiscard]] static int left();
};

}  // namespace hpo::testing
