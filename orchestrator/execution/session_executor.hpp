// An executor as a session creates and ends it. executor.hpp has the calls of the engine.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "orchestrator/execution/executor.hpp"

namespace hpo {

class SessionExecutor : public Executor {
   public:
    /// Kills all workers and waits for their end, at most twice `within`. Returns the names of the processes that are
    /// left ("4711"). The executor cannot be used afterwards.
    virtual std::vector<std::string> end(std::chrono::milliseconds within) = 0;
    /// Recreates the socket folder if it was deleted. Connected workers stay connected.
    virtual Result<void> keep_folder() = 0;
    /// A private folder (0700) of this session, for other sockets as well; removed by the destructor.
    [[nodiscard]] virtual const std::filesystem::path& folder() const = 0;
};

}  // namespace hpo
