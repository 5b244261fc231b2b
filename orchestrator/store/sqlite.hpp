// The few calls of SQLite that the store makes, with owners and messages for errors. Included by this folder, and by
// export/, which writes the database of another program.
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

    /// From now on a lock that others hold is waited for as long as `go_on` allows, which is given the seconds so far:
    /// with pauses that grow, up to a tenth of a second.
    void wait_for_locks(std::function<bool(double waited)> go_on);

    Result<void> run(const std::string& sql);
    Result<Statement> prepare(std::string_view sql);
    /// The first column of the first row as text; empty: no row.
    Result<std::string> value(const std::string& sql);

    /// Whether the last connection to close takes the write-ahead log into the file, and removes it.
    void checkpoint_on_close(bool does);

    /// The file of its write-ahead log, whether or not it is there.
    [[nodiscard]] std::string log_name() const;

    /// The last failure as text, with the cure where there is one.
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
    std::unique_ptr<Patience, Forget> patience_;  ///< outlives the connection that asks it
    std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace hpo::sqlite
