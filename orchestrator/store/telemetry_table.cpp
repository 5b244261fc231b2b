#include "orchestrator/store/telemetry_table.hpp"

#include <utility>

namespace hpo {

Result<void> insert_telemetry(sqlite::Database& database, std::span<const TelemetryRow> rows) {
    auto made = database.run(R"sql(
        CREATE TABLE IF NOT EXISTS telemetry (
            time REAL NOT NULL,
            seconds REAL NOT NULL,
            source TEXT NOT NULL,
            quantity TEXT NOT NULL,
            samples INTEGER NOT NULL,
            impossible INTEGER NOT NULL,
            average REAL NOT NULL,
            least REAL NOT NULL,
            most REAL NOT NULL
        ) STRICT)sql");
    if (!made) return made;
    auto insert = database.prepare("INSERT INTO telemetry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    if (!insert) return insert.error();
    for (const TelemetryRow& row : rows) {
        insert->bind(1, row.time);
        insert->bind(2, row.seconds);
        insert->bind(3, std::string_view(row.source));
        insert->bind(4, std::string_view(row.quantity));
        insert->bind(5, row.samples);
        insert->bind(6, row.impossible);
        insert->bind(7, row.average);
        insert->bind(8, row.least);
        insert->bind(9, row.most);
        if (insert->step() == sqlite::Statement::Step::failed) return database.error();
        insert->reset();
    }
    return {};
}

Result<std::vector<TelemetryRow>> read_telemetry(sqlite::Database& database) {
    std::vector<TelemetryRow> rows;
    const auto tables = database.value("SELECT count(*) FROM sqlite_schema WHERE name = 'telemetry'");
    if (!tables) return tables.error();
    if (*tables == "0") return rows;
    auto select = database.prepare(
        "SELECT time, seconds, source, quantity, samples, impossible, average, least, most FROM telemetry "
        "ORDER BY rowid");
    if (!select) return select.error();
    auto step = select->step();
    for (; step == sqlite::Statement::Step::row; step = select->step())
        rows.push_back({select->real(0), select->real(1), std::string(select->text(2)), std::string(select->text(3)),
                        select->integer(4), select->integer(5), select->real(6), select->real(7), select->real(8)});
    if (step == sqlite::Statement::Step::failed) return database.error();
    return rows;
}

}  // namespace hpo
