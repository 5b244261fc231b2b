// An executor as a session makes and ends it. What the engine asks of it is executor.hpp.
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
    /// Kills everything and waits until it is gone, `within` and as long again for what does not die at once. What is
    /// left then, as its users know it ("4711"). Nothing may be asked of the executor afterwards.
    virtual std::vector<std::string> end(std::chrono::milliseconds within) = 0;
    /// Makes what workers reach this session by anew where somebody has removed it; those that are connected stay so.
    virtual Result<void> keep_folder() = 0;
    /// A private folder (0700) of this session, for other sockets as well; removed by the destructor.
    [[nodiscard]] virtual const std::filesystem::path& folder() const = 0;
};

}  // namespace hpo
