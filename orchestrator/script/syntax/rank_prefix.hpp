// The process of a distributed run that has printed a line, as its launcher or the script says before the line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hpo::script {

/// The variables by which the processes of a distributed run know themselves and each other.
inline constexpr std::array<std::string_view, 6> rank_variable_names{
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};

struct RankPrefix {
    std::int64_t rank = 0;
    std::size_t size = 0;  ///< bytes before the script's own text
};

/// Reads `[rank1]:` (PyTorch), `[default1]:` (torchrun --tee), `[1,1]<stdout>:` (mpirun --tag-output) and
/// `[1]<stdout>:` (horovodrun). Returns nothing if the line begins otherwise.
std::optional<RankPrefix> rank_prefix(std::string_view line);

}  // namespace hpo::script
