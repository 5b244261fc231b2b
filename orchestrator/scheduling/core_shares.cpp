#include "orchestrator/scheduling/core_shares.hpp"

#include <algorithm>

namespace hpo {

std::vector<std::vector<int>> share_cores(std::span<const CoreUser> users) {
    constexpr std::size_t most = most_cores_of_a_worker;
    std::vector<std::vector<int>> shares;
    std::vector<std::vector<int>*> borrowers;
    shares.reserve(users.size());
    for (const CoreUser& user : users) {
        shares.emplace_back(user.own.begin(),
                            user.own.begin() + static_cast<std::ptrdiff_t>(std::min(most, user.own.size())));
        if (user.borrows) borrowers.push_back(&shares.back());
    }
    if (borrowers.empty()) return shares;
    for (const CoreUser& user : users) {
        if (!user.lends) continue;
        for (const int core : user.own) {
            auto* const poorest =
                *std::ranges::min_element(borrowers, {}, [](const auto* share) { return share->size(); });
            if (poorest->size() >= most) return shares;
            poorest->push_back(core);
        }
    }
    return shares;
}

}  // namespace hpo
