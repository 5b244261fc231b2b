#include "orchestrator/execution/process_arguments.hpp"

#include <algorithm>
#include <cstring>

namespace hpo {

ProcessArguments process_arguments(std::string_view answer) {
    ProcessArguments read;
    int count = 0;
    if (answer.size() < sizeof count) return read;
    std::memcpy(&count, answer.data(), sizeof count);
    answer.remove_prefix(sizeof count);
    answer.remove_prefix(std::min(answer.find('\0'), answer.size()));
    answer.remove_prefix(std::min(answer.find_first_not_of('\0'), answer.size()));
    const auto take = [&answer](std::string& texts) {
        const auto end = std::min(answer.find('\0'), answer.size());
        texts.append(answer.substr(0, end)) += '\0';
        answer.remove_prefix(std::min(end + 1, answer.size()));
    };
    for (int i = 0; i < count && !answer.empty(); ++i) take(read.command);
    while (!answer.empty() && answer.front() != '\0') take(read.environment);
    return read;
}

}  // namespace hpo
