#include "orchestrator/script/syntax/rank_prefix.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace hpo::script {

namespace {

/// Removes `text` from the begin of `rest`. Returns false if it is not there.
bool take(std::string_view& rest, std::string_view text) {
    if (!rest.starts_with(text)) return false;
    rest.remove_prefix(text.size());
    return true;
}

std::optional<std::int64_t> take_number(std::string_view& rest) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc() || number < 0) return {};
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return number;
}

}  // namespace

std::optional<RankPrefix> rank_prefix(std::string_view line) {
    std::string_view rest = line;
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (!take(rest, "[")) return {};
    const bool named = take(rest, "rank") || take(rest, "Rank") || take(rest, "RANK") || take(rest, "default");
    if (named && !rest.empty() && std::string_view(" :=").find(rest.front()) != std::string_view::npos)
        rest.remove_prefix(1);
    auto rank = take_number(rest);
    if (rank && !named && take(rest, ",")) rank = take_number(rest);  // the job, then the rank
    if (!rank || !take(rest, "]")) return {};
    const bool tagged =
        take(rest, "<stdout>:") || take(rest, "<stderr>:") || take(rest, "<stdout>") || take(rest, "<stderr>");
    if (!named && !tagged) return {};
    take(rest, ":");
    return RankPrefix{*rank, line.size() - rest.size()};
}

}  // namespace hpo::script
