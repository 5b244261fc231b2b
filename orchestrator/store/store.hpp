// A study on disk: one SQLite file, WAL, one writing connection, short read-only readers. The only place that knows
// SQLite.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/result.hpp"

namespace hpo {

/// One holder's connection. Not thread-safe. Every append is one transaction; Finished and SessionEnded are on disk
/// (synchronous=FULL), with all before them, when it returns; the others survive a kill of the process at once, a loss
/// of power after the next of those.
class Store {
   public:
    virtual ~Store() = default;

    /// The study's YAML text as it was last accepted; empty for a new study.
    [[nodiscard]] virtual std::string source() const = 0;
    virtual Result<void> set_source(const std::string& yaml) = 0;

    /// Events with a sequence above `after`, in order, `limit` at most.
    virtual Result<std::vector<StoredEvent>> events(std::int64_t after, std::size_t limit) const = 0;

    /// Appends and returns the stored event (its sequence and time). A full disk, an I/O error: an Error, nothing
    /// stored.
    virtual Result<StoredEvent> append(const Event& event) = 0;
};

/// Creates the file if it is missing. Refused with the reason: corrupt or truncated (nothing is overwritten), a newer
/// schema, read-only, another program's database, a network file system's missing locks.
///
/// From then on a lock that another program holds is waited for as long as it takes, or until a signal asks for the end
/// (hpo/interrupted.hpp); `tell` is told once when that lasts. Within such a wait it must not use the store.
Result<std::unique_ptr<Store>> open_store(const std::filesystem::path& file,
                                          std::function<void(const std::string&)> tell = {});

/// For viewers: read-only, never checkpoints, never blocks the writer. `append` and `set_source` fail.
Result<std::unique_ptr<Store>> open_store_read_only(const std::filesystem::path& file);

}  // namespace hpo
