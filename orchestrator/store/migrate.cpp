// Migrates studies of earlier versions.
#include <fcntl.h>
#include <unistd.h>

#include <system_error>

#include "orchestrator/store/database_file.hpp"
#include "orchestrator/store/event_codec.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;
using sqlite::Statement;

void sync(const fs::path& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ::fsync(fd);
    ::close(fd);
}

/// Copies the database with the content of its log. Replaces a partial copy.
Result<void> copy(const fs::path& file, sqlite::Database& database, std::int64_t version) {
    const fs::path kept = file.string() + ".schema-" + std::to_string(version), fresh = kept.string() + ".new";
    std::error_code error;
    fs::remove(fresh, error);
    auto statement = database.prepare("VACUUM INTO ?");
    if (!statement) return statement.error();
    statement->bind(1, std::string_view(fresh.native()));
    if (statement->step() != Statement::Step::done)
        return Error{database.error().message + " (while " + kept.string() +
                     " was written, a copy before the study is "
                     "brought to this version; nothing was changed)"};
    sync(fresh);
    fs::rename(fresh, kept, error);
    if (error) return Error{kept.string() + ": " + error.message()};
    sync(file.parent_path().empty() ? "." : file.parent_path());
    return {};
}

/// Moves steps, which were events in JSON like the others.
Result<void> move_steps(const fs::path& file, sqlite::Database& database) {
    auto select = database.prepare("SELECT sequence, time, trial, attempt, body, sum FROM event WHERE kind = 5");
    if (!select) return select.error();
    auto insert = database.prepare("INSERT INTO step VALUES (?, ?, ?, ?, ?, ?)");
    if (!insert) return insert.error();
    for (;;) {
        const auto row = select->step();
        if (row == Statement::Step::failed) return database.error();
        if (row == Statement::Step::done) break;
        const std::int64_t sequence = select->integer(0), trial = select->integer(2), attempt = select->integer(3);
        const double time = select->real(1);
        const auto sum = row_sum(sequence, time, kind_reported, trial, attempt, select->bytes(4));
        const auto event = to_event(kind_reported, trial, attempt, select->bytes(4));
        if (!event || sum != select->integer(5))
            return Error{file.string() + ": the database is corrupt: event " + std::to_string(sequence) + ": " +
                         (event ? "its sum differs" : event.error().message) +
                         "; nothing was changed: restore it from a copy"};
        const EventRow packed = to_row(*event);
        insert->bind(1, sequence);
        insert->bind(2, time);
        insert->bind(3, trial);
        insert->bind(4, attempt);
        insert->bind_bytes(5, packed.body);
        insert->bind(6, std::int64_t{row_sum(sequence, time, packed.kind, trial, attempt, packed.body)});
        const bool done = insert->step() == Statement::Step::done;
        insert->reset();
        if (!done) return database.error();
    }
    return database.run("DELETE FROM event WHERE kind = 5");
}

Result<void> change(const fs::path& file, sqlite::Database& database) {
    if (auto made = database.run(schema_2); !made) return made;
    if (auto moved = move_steps(file, database); !moved) return moved;
    return database.run("PRAGMA user_version = " + std::to_string(schema_version));
}

}  // namespace

Result<void> migrate(const fs::path& file, sqlite::Database& database) {
    const auto version = database.value("PRAGMA user_version");
    if (!version) return version.error();
    if (auto known = check_version(file, std::stoll(*version)); !known) return known;
    if (std::stoll(*version) == schema_version) return {};
    if (auto copied = copy(file, database, std::stoll(*version)); !copied) return copied;
    if (auto begun = database.run("PRAGMA synchronous = FULL; BEGIN IMMEDIATE"); !begun) return begun;
    auto changed = change(file, database);
    if (changed) changed = database.run("COMMIT");
    if (!changed) {
        (void)database.run("ROLLBACK");
        return changed;
    }
    // An older program reads the schema from the file, not from the log.
    (void)database.run("PRAGMA wal_checkpoint(TRUNCATE)");
    return {};
}

}  // namespace hpo
