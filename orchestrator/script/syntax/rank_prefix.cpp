#include "orchestrator/script/syntax/rank_prefix.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
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
    constexpr std::string_view names[] = {"rank", "Rank", "RANK", "default", "GPU", "gpu", "cuda"};
    std::string_view rest = line;
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    const bool bracket = take(rest, "[");
    const bool named = std::any_of(std::begin(names), std::end(names), [&](auto name) { return take(rest, name); });
    if (named) rest.remove_prefix(std::min(rest.find_first_not_of(" :="), rest.size()));
    auto rank = take_number(rest);
    if (rank && bracket && !named && take(rest, ",")) rank = take_number(rest);  // the job, then the rank
    if (!rank) return {};
    if (!bracket) {  // "Rank 1: loss 0.5"; "Rank 1 accuracy" is a metric of retrieval
        if (!named || !take(rest, ":")) return {};
        return RankPrefix{*rank, line.size() - rest.size()};
    }
    if (!take(rest, "]")) return {};
    const bool tagged =
        take(rest, "<stdout>:") || take(rest, "<stderr>:") || take(rest, "<stdout>") || take(rest, "<stderr>");
    if (!named && !tagged) return {};
    take(rest, ":");
    return RankPrefix{*rank, line.size() - rest.size()};
}

}  // namespace hpo::script
