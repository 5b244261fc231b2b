// Cores of workers without a trial, lent to those with one.
#include "orchestrator/scheduling/core_shares.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace hpo {
namespace {

using Cores = std::vector<int>;

TEST(CoreShares, DealOutWhatIsLentEvenly) {
    const Cores a{0}, b{1}, c{2}, d{3}, e{4, 5};
    const std::vector<CoreUser> users{
        {a, false, true}, {b, true, false}, {c, true, false}, {d, false, true}, {e, true, false}};
    EXPECT_EQ(share_cores(users), (std::vector<Cores>{{0, 1, 4}, {1}, {2}, {3, 2, 5}, {4, 5}}));
}

TEST(CoreShares, LeaveEachItsOwnWhereNobodyLendsOrBorrows) {
    const Cores a{0, 1}, b{2};
    EXPECT_EQ(share_cores(std::vector<CoreUser>{{a, false, true}, {b, false, true}}), (std::vector<Cores>{a, b}));
    EXPECT_EQ(share_cores(std::vector<CoreUser>{{a, true, false}, {b, true, false}}), (std::vector<Cores>{a, b}));
    EXPECT_EQ(share_cores(std::vector<CoreUser>{{a, false, false}, {b, true, false}}), (std::vector<Cores>{a, b}));
}

TEST(CoreShares, EndWhereOperationsHaveNoMoreParts) {
    Cores many(100);
    std::iota(many.begin(), many.end(), 0);
    const Cores one{100};
    const auto shares = share_cores(std::vector<CoreUser>{{one, false, true}, {many, true, false}});
    EXPECT_EQ(shares[0].size(), 32u);
    EXPECT_EQ(share_cores(std::vector<CoreUser>{{many, false, true}})[0].size(), 32u);
}

}  // namespace
}  // namespace hpo
