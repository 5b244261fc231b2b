#include "orchestrator/store/database_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "hpo/descriptor.hpp"
#include "hpo/regular_file.hpp"
#include "orchestrator/store/file_system.hpp"
#include "orchestrator/store/result_log.hpp"
#include "orchestrator/store/sqlite.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view schema = R"sql(
    CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE event (
        sequence INTEGER PRIMARY KEY,
        time REAL NOT NULL,
        kind INTEGER NOT NULL,
        trial INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        body TEXT NOT NULL,
        sum INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX proposed ON event (trial) WHERE kind = 3;
)sql";

}  // namespace

const char* const schema_2 = R"sql(
    CREATE TABLE step (
        sequence INTEGER PRIMARY KEY,
        time REAL NOT NULL,
        trial INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        body BLOB NOT NULL,
        sum INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX step_of_trial ON step (trial);
    CREATE TABLE mark (sequence INTEGER PRIMARY KEY, body BLOB NOT NULL, sum INTEGER NOT NULL) STRICT;
    CREATE TABLE summary (
        trial INTEGER PRIMARY KEY,
        sequence INTEGER NOT NULL,
        body BLOB NOT NULL,
        sum INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX summary_since ON summary (sequence);
)sql";

namespace {

/// The first 100 bytes of a SQLite file (https://www.sqlite.org/fileformat.html, section 1.3).
struct Header {
    std::array<unsigned char, 100> bytes{};

    [[nodiscard]] std::uint32_t word(std::size_t at) const {
        return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 | std::uint32_t{bytes[at + 2]} << 8 |
               bytes[at + 3];
    }
    [[nodiscard]] std::uint64_t page_bytes() const {
        const unsigned size = bytes[16] << 8 | bytes[17];
        return size == 1 ? 65536 : size;
    }
    [[nodiscard]] std::uint64_t pages() const { return word(28); }
    [[nodiscard]] bool pages_valid() const { return word(24) == word(92); }
};

bool has_wal(const fs::path& file) {
    std::error_code ignored;
    const auto size = fs::file_size(file.string() + "-wal", ignored);
    return !ignored && size > 0;
}

constexpr const char* kept = "; nothing was changed: restore it from a copy, or move it away to start again";

Result<Header> read_header(const fs::path& file) {
    if (const auto regular = check_regular(file); !regular) return regular.error();
    const std::string at = file.string() + ": ";
    std::ifstream in(file, std::ios::binary);
    if (!in) return Error{at + "cannot be read: " + std::strerror(errno)};
    Header header;
    in.read(reinterpret_cast<char*>(header.bytes.data()), header.bytes.size());
    if (in.gcount() == 0) return Error{at + "the database is empty (0 bytes)" + kept};
    if (std::memcmp(header.bytes.data(), "SQLite format 3", 16) != 0)
        return Error{at + "is not a study's database (or its first bytes are damaged)" + kept};
    if (in.gcount() < 100)
        return Error{at + "the database is truncated to " + std::to_string(in.gcount()) + " bytes" + kept};
    return header;
}

Result<void> check_identity(const fs::path& file, const Header& header) {
    const std::string at = file.string() + ": ";
    if (header.word(68) != application_id) return Error{at + "is another program's database" + kept};
    if (header.word(60) < 1) return Error{at + "has no schema version" + kept};
    return check_version(file, header.word(60));
}

void sync_folder(const fs::path& folder) {
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    ::fsync(fd);
    ::close(fd);
}

}  // namespace

Result<void> check_version(const fs::path& file, std::int64_t version) {
    if (version <= schema_version) return {};
    return Error{file.string() + ": was written by a newer hpo (schema " + std::to_string(version) +
                 ", this one knows " + std::to_string(schema_version) + "): use that version"};
}

std::uint32_t row_sum(std::int64_t sequence, double time, int kind, std::int64_t trial, std::int64_t attempt,
                      std::string_view body) {
    std::uint32_t sum = 2166136261u;
    const auto mix = [&sum](unsigned char byte) { sum = (sum ^ byte) * 16777619u; };
    for (std::uint64_t number :
         {static_cast<std::uint64_t>(sequence), std::bit_cast<std::uint64_t>(time), static_cast<std::uint64_t>(kind),
          static_cast<std::uint64_t>(trial), static_cast<std::uint64_t>(attempt)})
        for (int shift = 0; shift < 64; shift += 8) mix(static_cast<unsigned char>(number >> shift));
    for (char c : body) mix(static_cast<unsigned char>(c));
    return sum;
}

Result<void> check_identity(const fs::path& file) {
    const auto header = read_header(file);
    return header ? check_identity(file, *header) : header.error();
}

Result<void> check_whole(const fs::path& file) {
    const std::string at = file.string() + ": ";
    const auto header = read_header(file);
    if (!header) return header.error();
    if (auto ours = check_identity(file, *header); !ours) return ours;

    const bool logged = has_wal(file);  // the log may hold pages that the file does not have yet
    std::error_code error;
    const auto size = fs::file_size(file, error);
    const auto expected = header->pages() * header->page_bytes();
    if (!logged && header->pages_valid() && size < expected)
        return Error{at + "the database is truncated (" + std::to_string(size) + " of " + std::to_string(expected) +
                     " bytes)" + kept};

    // Without a log the file is complete, and reading it creates nothing.
    auto database = sqlite::Database::open(file, logged ? sqlite::Mode::read_only : sqlite::Mode::immutable, 1000);
    if (!database) return database.error();
    const auto tables = database->value("SELECT count(*) FROM sqlite_schema WHERE name IN ('study', 'event')");
    if (!tables) return tables.error();
    if (*tables != "2") return Error{at + "the database is damaged: tables are missing" + kept};
    if (size > full_check_bytes) return {};
    const auto verdict = database->value("PRAGMA quick_check(1)");
    if (!verdict) return verdict.error();
    if (*verdict != "ok") return Error{at + "the database is corrupt (" + *verdict + ")" + kept};
    return {};
}

void keep_shared_memory_private(const fs::path& file) {
    const fs::path memory = file.string() + "-shm";
    const fs::path folder = file.parent_path().empty() ? "." : file.parent_path();
    const mode_t mode = mode_of_locked_files(folder);
    constexpr off_t not_empty = 3;  // bytes, as SQLite makes it: it gives an empty one the database's permissions again
    struct stat database {
    }, there{};
    if (::stat(file.c_str(), &database) != 0) return;
    if (::lstat(memory.c_str(), &there) == 0) {
        // The file is not opened: closing it would drop the locks that this process has on it.
        if (S_ISREG(there.st_mode) && (there.st_mode & 0777 & ~mode) != 0)
            (void)!::chmod(memory.c_str(), there.st_mode & mode);
        if (S_ISREG(there.st_mode) && there.st_size == 0) (void)!::truncate(memory.c_str(), not_empty);
        return;
    }
    const Descriptor fresh(::open(memory.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!fresh) return;  // nothing can be created here, or SQLite was quicker
    const gid_t group = (mode & 0060) != 0 ? database.st_gid : static_cast<gid_t>(-1);
    (void)!::fchown(fresh.get(), ::geteuid() == 0 ? database.st_uid : static_cast<uid_t>(-1), group);
    (void)!::fchmod(fresh.get(), mode);
    (void)!::ftruncate(fresh.get(), not_empty);
}

/// While the log's salts are unchanged, pages copied from it to the database are still in the log, so that a log read
/// after the database has all pages changed meanwhile (https://www.sqlite.org/fileformat2.html, section 4).
Result<void> copy_unlocked(const fs::path& file, const fs::path& folder) {
    constexpr int most_tries = 10;
    const fs::path log = file.string() + "-wal";
    const auto head = [&] {
        std::string bytes(32, '\0');
        std::ifstream in(log, std::ios::binary);
        in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        return bytes.substr(0, static_cast<std::size_t>(in.gcount()));
    };
    for (int tries = 0; tries < most_tries; ++tries) {
        const std::string before = head();
        std::error_code error;
        for (const fs::path& part : {file, log}) {
            if (part == log && !fs::exists(log, error)) {
                fs::remove(folder / log.filename(), error);
                continue;
            }
            fs::copy_file(part, folder / part.filename(), fs::copy_options::overwrite_existing, error);
            if (error) return Error{part.string() + ": cannot be copied: " + error.message()};
        }
        if (head() == before) return {};
    }
    return Error{file.string() + ": changes too often to be copied: try again"};
}

Result<void> create_database(const fs::path& file) {
    const fs::path fresh = file.string() + ".new";
    std::error_code error;
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) fs::remove(fresh.string() + suffix, error);
    {
        auto database = sqlite::Database::open(fresh, sqlite::Mode::create, 1000);
        if (!database) return database.error();
        // A step changes some three pages, each of which goes to the log as a whole. Half of SQLite's default page size
        // nearly halves the log at the same speed.
        const std::string setup =
            "PRAGMA page_size = 2048; PRAGMA synchronous = FULL; BEGIN; PRAGMA application_id = " +
            std::to_string(application_id) + "; PRAGMA user_version = " + std::to_string(schema_version) + ";" +
            std::string(schema) + schema_2 + "COMMIT;";
        if (auto done = database->run(setup); !done) return done;
        const auto journal = database->value("PRAGMA journal_mode = WAL");
        if (!journal) return journal.error();
        if (*journal != "wal") return Error{file.string() + ": this file system has no write-ahead logging"};
    }
    remove_result_log(file);
    fs::rename(fresh, file, error);
    if (error) return Error{file.string() + ": " + error.message()};
    sync_folder(file.parent_path().empty() ? "." : file.parent_path());
    return {};
}

}  // namespace hpo
