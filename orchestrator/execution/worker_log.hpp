// A worker's stdout and stderr: a capped file, and the last lines for messages. A log never hurts a trial: what cannot
// be written is dropped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "hpo/descriptor.hpp"

namespace hpo {

class WorkerLog {
   public:
    explicit WorkerLog(std::int64_t cap_bytes) : cap_(cap_bytes) {}

    /// Appends to `file` from now on, up to the cap (what it holds already counts); empty: to no file. Behind what an
    /// earlier attempt left it says first that another one begins, and when. Begins a new tail.
    void open(const std::filesystem::path& file);
    void append(std::string_view bytes);
    /// The last 20 lines at most, printable.
    [[nodiscard]] std::string tail() const;

   private:
    void write(std::string_view bytes);

    std::int64_t cap_;
    Descriptor file_;
    std::int64_t size_ = 0;
    std::string recent_;
};

}  // namespace hpo
