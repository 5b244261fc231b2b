// A system without threads left, for the threads of this process.
#pragma once

namespace hpo::testing {

/// While it lives, pthread_create() fails with EAGAIN, as it does at a limit of the user or of the control group.
class NoThreads {
   public:
    NoThreads();
    ~NoThreads();
    NoThreads(const NoThreads&) = delete;
    NoThreads& operator=(const NoThreads&) = delete;
};

}  // namespace hpo::testing
