// A small wrapper of SQLite with owners and error messages. Included by this folder, and by export/, which writes
// another program's database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "hpo/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace hpo::sqlite {

enum class Mode { read_only, immutable, read_write, create };

/// A prepared statement. Bind, step, read, and `reset` when done; a statement that is not reset holds its lock.
class Statement {
   public:
    Statement() = default;
    void bind(int index, std::int64_t number);
    void bind(int index, double number);
    void bind(int index, std::string_view text);         ///< copied
    void bind_bytes(int index, std::string_view bytes);  ///< must live until the next reset

    enum class Step { row, done, failed };
    Step step();
    void reset();

    [[nodiscard]] std::int64_t integer(int column) const;
    [[nodiscard]] double real(int column) const;
    [[nodiscard]] std::string_view text(int column) const;   ///< lives until the next step or reset
    [[nodiscard]] std::string_view bytes(int column) const;  ///< the same, of a BLOB or a text; empty: NULL
    [[nodiscard]] bool null(int column) const;

   private:
    friend class Database;
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// One connection; not thread-safe. It waits `busy_ms` for locks that others hold.
class Database {
   public:
    static Result<Database> open(const std::filesystem::path& file, Mode mode, int busy_ms);

    /// Waits for locks of other processes as long as `go_on` returns true, which gets the seconds waited. Pauses
    /// between attempts grow up to a tenth of a second. For a database that was opened to write. Where locks are
    /// refused that no process holds, gives up at the first time (SQLite after ten seconds for those of readers, this
    /// after `refused_ms` for the writer's), and at once later, until something is stored again.
    void wait_for_locks(std::function<bool(double waited)> go_on, std::int64_t refused_ms = 20'000);

    /// Takes in that something was stored, so that locks work again. A statement that succeeds may have needed none.
    void worked();

    Result<void> run(const std::string& sql);
    Result<Statement> prepare(std::string_view sql);
    /// Returns the first column of the first row as text; empty if there is no row.
    Result<std::string> value(const std::string& sql);

    /// Sets whether the last connection moves the write-ahead log into the file and removes it when it closes.
    void checkpoint_on_close(bool does);

    /// Calls `tell` after each commit with the number of pages in the write-ahead log. The connection no longer moves
    /// the log into the file by itself until it closes.
    void on_commit(std::function<void(int pages)> tell);

    /// Moves the write-ahead log into the file, as far as readers and the writer allow at once. Returns true if nothing
    /// is left, so that the log begins anew at the next commit.
    bool checkpoint();

    /// Returns the path of the write-ahead log, which may not exist.
    [[nodiscard]] std::string log_name() const;

    /// Returns the last failure, with the cure if there is one.
    [[nodiscard]] Error error() const;
    [[nodiscard]] sqlite3* handle() const { return connection_.get(); }

   private:
    struct Close {
        void operator()(sqlite3* connection) const;
    };
    struct Patience;
    struct Forget {
        void operator()(Patience* patience) const;
    };
    std::filesystem::path file_;
    std::unique_ptr<std::function<void(int)>> on_commit_;  ///< outlives the connection that calls it
    std::unique_ptr<Patience, Forget> patience_;           ///< of a writer; outlives the connection that asks it
    std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace hpo::sqlite
