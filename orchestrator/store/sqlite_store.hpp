// The store over an open SQLite database, for open_store.cpp.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "orchestrator/store/sqlite.hpp"
#include "orchestrator/store/store.hpp"

namespace hpo {

/// Makes a store over a checked, open database. `copy` is the folder of a copy that it reads, which the store keeps
/// alive.
Result<std::unique_ptr<Store>> make_sqlite_store(std::filesystem::path file, sqlite::Database database, bool writes,
                                                 std::function<Result<void>()> synchronise = {},
                                                 std::shared_ptr<const std::filesystem::path> copy = {});

}  // namespace hpo
