// A file descriptor that its owner closes on destruction.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "os/pipe.hpp"

namespace hpo {

class Descriptor {
   public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    ~Descriptor() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    void reset() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }

   private:
    int fd_ = -1;
};

/// Creates a pipe whose ends close on exec and have numbers above 2, so that a child's redirections cannot overwrite
/// them. Returns false and sets errno on failure.
inline bool make_pipe(Descriptor& read_end, Descriptor& write_end) {
    int ends[2];
    if (!os::open_pipe(ends)) return false;
    for (auto [end, target] : {std::pair{ends[0], &read_end}, {ends[1], &write_end}}) {
        *target = Descriptor(end);
        if (end <= 2) *target = Descriptor(::fcntl(end, F_DUPFD_CLOEXEC, 3));
    }
    return read_end && write_end;
}

/// Opens /dev/null for each of the descriptors 0, 1 and 2 that is closed (`hpo run ... >&-`). Otherwise a file that is
/// opened later could get that number and receive everything that is printed. Must be called first in main.
inline void open_standard_descriptors() {
    for (int fd = 0; fd <= 2; ++fd)
        if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", O_RDWR);  // gets the lowest free number, which is fd
}

}  // namespace hpo
