#include "orchestrator/store/sqlite.hpp"

#include <fcntl.h>
#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "hpo/descriptor.hpp"
#include "hpo/doing.hpp"
#include "hpo/interrupted.hpp"
#include "orchestrator/store/lock_owner.hpp"

namespace hpo::sqlite {
namespace {

/// Returns a path as a file: URI, with '?', '#' and '%' escaped, which would end it or be decoded.
std::string uri(const std::filesystem::path& file, std::string_view query) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text = "file:";
    for (unsigned char c : std::filesystem::absolute(file).string()) {
        if (c == '?' || c == '#' || c == '%') {
            text += {'%', digits[c >> 4], digits[c & 15]};
        } else {
            text += static_cast<char>(c);
        }
    }
    return text.append(query);
}

/// Throws std::bad_alloc if SQLite cannot be initialised.
const sqlite3_vfs& system_vfs() {
    const sqlite3_vfs* found = sqlite3_vfs_find(nullptr);
    if (!found) throw std::bad_alloc();
    return *found;
}

std::string locked_text(const std::filesystem::path& file, bool gave_up) {
    const std::string who = lockers_of(file);
    if (who.empty() && gave_up)
        return "a lock is refused again and again, and no process holds it: try again, or set HPO_RUNS to a local "
               "folder";
    return "is locked by another program" + (who.empty() ? "" : ": " + who);
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

void Statement::bind(int index, std::int64_t number) { sqlite3_bind_int64(statement_.get(), index, number); }
void Statement::bind(int index, double number) { sqlite3_bind_double(statement_.get(), index, number); }
void Statement::bind(int index, std::string_view text) {
    sqlite3_bind_text64(statement_.get(), index, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void Statement::bind_bytes(int index, std::string_view bytes) {
    sqlite3_bind_blob64(statement_.get(), index, bytes.data(), bytes.size(), SQLITE_STATIC);
}

Statement::Step Statement::step() {
    switch (sqlite3_step(statement_.get())) {
        case SQLITE_ROW:
            return Step::row;
        case SQLITE_DONE:
            return Step::done;
        default:
            return Step::failed;
    }
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }
std::string_view Statement::text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
    return bytes ? std::string_view(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)))
                 : std::string_view();
}

std::string_view Statement::bytes(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
    return bytes ? std::string_view(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)))
                 : std::string_view();
}
bool Statement::null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

/// Waits for locks. As a copy of the system's VFS it has SQLite's own pauses, too: where the locks of the log's shared
/// memory are refused, SQLite asks no busy handler, but tries a hundred times, for ten seconds in all.
struct Database::Patience : sqlite3_vfs {
    std::function<bool(double)> go_on;
    std::int64_t refused_ms = 0;    ///< for a lock that no process holds
    std::int64_t since = 0;         ///< as hpo/doing.hpp counts
    std::int64_t looked = 0;        ///< for a holder of the lock
    std::int64_t last_held = 0;     ///< since when no holder was found
    std::int64_t paused_until = 0;  ///< the last pause of SQLite's own
    bool gave_up = false;           ///< SQLite has tried in vain since the last success: later tries have no pause
    LockQuestion holder;
    std::string name;

    explicit Patience(const std::filesystem::path& file) : sqlite3_vfs(system_vfs()), holder(file) {
        static std::atomic<int> count{0};
        name = "hpo-" + std::to_string(++count);
        zName = name.c_str();
        pNext = nullptr;
        xSleep = pause;
        sqlite3_vfs_register(this, 0);
    }
    ~Patience() { sqlite3_vfs_unregister(this); }
    Patience(const Patience&) = delete;
    Patience& operator=(const Patience&) = delete;

    bool goes_on(std::int64_t now) {
        if (!go_on || go_on(static_cast<double>(now - since) / 1000)) return true;
        if (interrupted_by != 0) lock_given_up = true;
        return false;
    }

    /// Returns true if the lock is refused, and no process has held it for so long. Looks for a holder now and then.
    bool refused_for_long(std::int64_t now) {
        constexpr std::int64_t looks = 20;
        if (now - looked < refused_ms / looks) return false;
        looked = now;
        if (holder.held()) last_held = now;
        return now - last_held >= refused_ms;
    }

    /// The handler of sqlite3_busy_handler: `times` counts from 0 for each lock.
    static int ask(void* self, int times) {
        auto& patience = *static_cast<Patience*>(self);
        const std::int64_t now = monotonic_ms();
        if (times == 0) patience.since = patience.looked = patience.last_held = now;
        if (patience.gave_up || !patience.goes_on(now)) return 0;
        if (patience.refused_for_long(now)) return patience.gave_up = true, 0;
        const Doing waiting("waits for a lock on the study's database that another process holds", patience.since);
        std::this_thread::sleep_for(std::chrono::milliseconds(times < 7 ? 1 << times : 100));
        return 1;
    }

    /// Pauses between two tries, as sqlite3_vfs::xSleep.
    static int pause(sqlite3_vfs* self, int microseconds) {
        constexpr std::int64_t of_one_lock = 500;  // milliseconds between the pauses of one wait, at most
        auto& patience = *static_cast<Patience*>(self);
        const std::int64_t now = monotonic_ms();
        if (now - patience.paused_until > of_one_lock) patience.since = now;
        patience.paused_until = now;
        if (patience.gave_up || !patience.goes_on(now)) return 0;
        const Doing waiting("waits for a lock on the study's database, which is refused", patience.since);
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
        patience.paused_until = monotonic_ms();
        return microseconds;
    }
};

Result<Database> Database::open(const std::filesystem::path& file, Mode mode, int busy_ms) {
    Database database;
    database.file_ = file;
    sqlite3* connection = nullptr;
    const bool writes = mode == Mode::read_write || mode == Mode::create;
    const int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                      (writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) |
                      (mode == Mode::create ? SQLITE_OPEN_CREATE : 0);
    // SQLite lets only the owner write. With the usual permissions the umask decides, so that a group can continue a
    // study.
    if (mode == Mode::create)
        const Descriptor created(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    const std::string name = uri(file, mode == Mode::immutable ? "?immutable=1" : "");
    if (writes) database.patience_.reset(new Patience(file));
    const int status = sqlite3_open_v2(name.c_str(), &connection, flags, writes ? database.patience_->zName : nullptr);
    database.connection_.reset(connection);
    if (status != SQLITE_OK) return database.error();
    // Readers never checkpoint, not even the last one to close.
    if (!writes) database.checkpoint_on_close(false);
    sqlite3_busy_timeout(connection, busy_ms);
    return database;
}

void Database::checkpoint_on_close(bool does) {
    sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, does ? 0 : 1, nullptr);
}

void Database::on_commit(std::function<void(int)> tell) {
    on_commit_ = std::make_unique<std::function<void(int)>>(std::move(tell));
    sqlite3_wal_hook(
        handle(),
        [](void* told, sqlite3*, const char*, int pages) {
            (*static_cast<std::function<void(int)>*>(told))(pages);
            return SQLITE_OK;
        },
        on_commit_.get());
}

bool Database::checkpoint() {
    int pages = 0, moved = 0;
    const int status = sqlite3_wal_checkpoint_v2(handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &pages, &moved);
    return status == SQLITE_OK && pages == moved;
}

void Database::Forget::operator()(Patience* patience) const { delete patience; }

void Database::wait_for_locks(std::function<bool(double)> go_on, std::int64_t refused_ms) {
    patience_->go_on = std::move(go_on);
    patience_->refused_ms = refused_ms;
    sqlite3_busy_handler(handle(), Patience::ask, patience_.get());
}

Result<void> Database::run(const std::string& sql) {
    if (sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return error();
    return {};
}

void Database::worked() {
    if (patience_) patience_->gave_up = false;
}

Result<Statement> Database::prepare(std::string_view sql) {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v3(handle(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw,
                           nullptr) != SQLITE_OK)
        return error();
    Statement statement;
    statement.statement_.reset(raw);
    return statement;
}

Result<std::string> Database::value(const std::string& sql) {
    auto statement = prepare(sql);
    if (!statement) return statement.error();
    switch (statement->step()) {
        case Statement::Step::row:
            return std::string(statement->text(0));
        case Statement::Step::done:
            return std::string();
        case Statement::Step::failed:
            return error();
    }
    return error();
}

std::string Database::log_name() const { return sqlite3_filename_wal(sqlite3_db_filename(handle(), "main")); }

Error Database::error() const {
    const std::string at = file_.string() + ": ";
    const int code = handle() ? sqlite3_extended_errcode(handle()) : SQLITE_NOMEM;
    const int system = handle() ? sqlite3_system_errno(handle()) : 0;
    switch (code & 0xff) {
        case SQLITE_FULL:
            return {at + "the disk is full: free some space, then run again"};
        case SQLITE_CORRUPT:
            return {at + "the database is corrupt; nothing was changed: restore it from a copy"};
        case SQLITE_NOTADB:
            return {at + "is not a study's database (or its first bytes are damaged)"};
        case SQLITE_READONLY:
            return {at + "cannot be written: read-only file or folder"};
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return {at + locked_text(file_, patience_ && patience_->gave_up)};
        case SQLITE_PROTOCOL:
            if (patience_) patience_->gave_up = true;
            return {at +
                    "its locks are taken and released by too many processes at a time, or do not work on this file "
                    "system: try again, or set HPO_RUNS to a local folder"};
        case SQLITE_IOERR:
            return {at + "cannot be read or written" +
                    (system != 0 ? std::string(": ") + std::strerror(system) : std::string()) +
                    ": look for a quota, a limit on file sizes, and errors of the disk in the kernel's log (dmesg), or "
                    "choose "
                    "a folder on another disk (HPO_RUNS for studies); stored results are kept"};
        default:
            break;
    }
    std::string message = handle() ? sqlite3_errmsg(handle()) : "out of memory";
    if (system != 0) message += std::string(": ") + std::strerror(system);
    return {at + message};
}

}  // namespace hpo::sqlite
