// Opens a study's database: checks, waits for locks, and copies of other users' studies.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "hpo/doing.hpp"
#include "hpo/interrupted.hpp"
#include "hpo/regular_file.hpp"
#include "orchestrator/store/database_file.hpp"
#include "orchestrator/store/file_system.hpp"
#include "orchestrator/store/lock_owner.hpp"
#include "orchestrator/store/sqlite_store.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

constexpr int writer_patience_ms = 10'000;
constexpr int reader_patience_ms = 1'000;
constexpr double noticed_after = 3, interrupted_patience = 0.3;  // seconds

std::string waits_for(const std::string& file) {
    const std::string who = lockers_of(file);
    return file + (who.empty() ? " is locked, and no process is seen that holds the lock: the study tries again"
                               : " is locked by " + who + ": the study waits for it");
}

/// Waits for a writer's lock without limit, except in an interrupted program.
std::function<bool(double)> patience_of_a_writer(std::string file, std::function<void(const std::string&)> warn) {
    return [file = std::move(file), warn = std::move(warn), warned = false](double waited) mutable {
        if (waited >= noticed_after && !std::exchange(warned, true) && warn) warn(waits_for(file));
        return interrupted_by == 0 || waited < interrupted_patience;
    };
}

/// Makes a folder that is removed with the last owner.
Result<std::shared_ptr<const fs::path>> make_passing_folder() {
    std::string made = (fs::temp_directory_path() / "hpo-copy-XXXXXX").string();
    if (!::mkdtemp(made.data())) return Error{made + ": cannot be made: " + std::strerror(errno)};
    const auto folder = std::shared_ptr<const fs::path>(new fs::path(made), [](const fs::path* path) {
        std::error_code ignored;
        fs::remove_all(*path, ignored);
        delete path;
    });
    return folder;
}

/// Opens a copy: of a running study of another user, whose locks this user may not take, or of a study on a network
/// file system, which its holder alone may open.
Result<std::unique_ptr<Store>> open_copy(const fs::path& file) {
    const auto made = make_passing_folder();
    if (!made) return made.error();
    const auto& folder = *made;
    if (auto copied = copy_unlocked(file, *folder); !copied) return copied.error();
    auto database = sqlite::Database::open(*folder / file.filename(), sqlite::Mode::read_only, reader_patience_ms);
    if (!database) return database.error();
    return make_sqlite_store(file, std::move(*database), false, {}, folder);
}

/// Checks a copy, since to check the file itself would make shared memory beside it.
Result<void> check_copy(const fs::path& file) {
    const auto folder = make_passing_folder();
    if (!folder) return folder.error();
    if (auto copied = copy_unlocked(file, **folder); !copied) return copied;
    const fs::path copy = **folder / file.filename();
    auto whole = check_whole(copy);
    if (whole) return whole;
    std::string message = whole.error().message;  // names the file itself
    if (message.starts_with(copy.string())) message.replace(0, copy.string().size(), file.string());
    return Error{message};
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(const fs::path& file, std::function<void(const std::string&)> warn,
                                          std::function<Result<void>()> synchronise) {
    const Doing opening("opens the study's database");
    const fs::path folder = file.parent_path().empty() ? "." : file.parent_path();
    std::error_code error;
    if (!fs::is_directory(folder, error)) return Error{folder.string() + ": no such folder"};
    const auto network = network_file_system(folder);
    if (network)
        if (const auto lockable = can_lock_in(folder); !lockable)
            return Error{folder.string() + " lies on " + *network + ", which grants no locks (" +
                         lockable.error().message + "): set HPO_RUNS to another folder"};
    if (::access(folder.c_str(), W_OK) != 0) return Error{folder.string() + ": the folder is read-only"};
    if (!fs::exists(fs::symlink_status(file, error))) {
        if (auto created = create_database(file); !created) return created.error();
    }
    if (!network) keep_shared_memory_private(file);
    if (auto whole = network ? check_copy(file) : check_whole(file); !whole) return whole.error();
    if (::access(file.c_str(), W_OK) != 0) return Error{file.string() + ": the file is read-only"};
    auto database = sqlite::Database::open(file, sqlite::Mode::read_write, writer_patience_ms);
    if (!database) return database.error();
    // The shared memory of a log works within one machine: a single process needs none.
    if (network)
        if (auto alone = database->run("PRAGMA locking_mode = EXCLUSIVE"); !alone) return alone.error();
    const auto tell = warn;
    database->wait_for_locks(patience_of_a_writer(file.string(), std::move(warn)));
    auto store = make_sqlite_store(file, std::move(*database), true, std::move(synchronise));
    if (store && tell)
        if (const std::string missing = (*store)->missing_results(); !missing.empty())
            tell(missing + ". These trials run again; the rest of the log is kept as study.db-wal.damaged");
    return store;
}

Result<std::unique_ptr<Store>> open_store_read_only(const fs::path& file) {
    std::error_code error;
    if (!fs::exists(file, error)) return Error{file.string() + ": no such file"};
    for (const char* suffix : {"-wal", "-shm", "-journal"})
        if (auto regular = check_regular(file.string() + suffix); !regular) return regular.error();
    if (auto ours = check_identity(file); !ours) return ours.error();
    if (network_file_system(file.parent_path().empty() ? "." : file.parent_path())) return open_copy(file);
    const fs::path memory = file.string() + "-shm";
    if (::access(memory.c_str(), R_OK) != 0 && errno == EACCES) return open_copy(file);
    // If no file can be created beside it and there is no log, the file cannot change either.
    const bool still = !fs::exists(file.string() + "-wal", error) && ::access(file.parent_path().c_str(), W_OK) != 0;
    if (!still) keep_shared_memory_private(file);
    auto database =
        sqlite::Database::open(file, still ? sqlite::Mode::immutable : sqlite::Mode::read_only, reader_patience_ms);
    if (!database) return database.error();
    return make_sqlite_store(file, std::move(*database), false);
}

}  // namespace hpo
