// The store over an open SQLite database, for open_store.cpp.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "orchestrator/store/sqlite.hpp"
#include "orchestrator/store/store.hpp"

namespace hpo {

/// `database` is checked and open. Reads how far the study is. `copy`: the folder of the copy that it reads, to be kept
/// until its end.
Result<std::unique_ptr<Store>> make_sqlite_store(std::filesystem::path file, sqlite::Database database, bool writes,
                                                 std::function<Result<void>()> synchronise = {},
                                                 std::shared_ptr<const std::filesystem::path> copy = {});

}  // namespace hpo
