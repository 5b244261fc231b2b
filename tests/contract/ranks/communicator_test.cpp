// The contract of communicators: every implementation in `implementations` passes these tests. Ranks are processes,
// which end with status 0 if they saw what they expected.
#include "worker/ranks/communicator.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/ranks/host_ranks.hpp"

namespace hpo {
namespace {

/// Opens the communicators of as many ranks, each in its own process.
using Open = std::function<std::unique_ptr<Communicator>(int rank)>;
struct Implementation {
    const char* name;
    std::function<Open(int size)> make;
};

Open host_ranks(int size) {
    auto shared = std::make_shared<HostRanks>(*make_host_ranks(size));
    return [shared, size](int rank) {
        std::vector<Descriptor> sockets;
        if (rank == 0)
            sockets = std::move(shared->lead);
        else
            sockets.push_back(std::move(shared->follow[static_cast<std::size_t>(rank) - 1]));
        auto made = std::make_unique<HostCommunicator>(rank, size, shared->memory, std::move(sockets));
        *shared = {};  // closes those of the other ranks
        return made;
    };
}

const Implementation implementations[] = {{"host", host_ranks}};

class Ranks : public ::testing::TestWithParam<Implementation> {
   protected:
    using Body = std::function<void(Communicator&)>;

    /// Runs `body` in `size` processes and returns their statuses as waitpid tells them.
    [[nodiscard]] static std::vector<int> statuses(int size, const Body& body) {
        std::vector<pid_t> pids;
        {
            const Open open = GetParam().make(size);
            for (int rank = 0; rank < size; ++rank) {
                const pid_t pid = ::fork();
                if (pid == 0) {
                    ::alarm(120);  // ends a rank that waits for ever
                    const auto ranks = open(rank);
                    body(*ranks);
                    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
                }
                pids.push_back(pid);
            }
        }  // this process holds no end of a connection any more
        std::vector<int> ends;
        for (const pid_t pid : pids) {
            int status = -1;
            ::waitpid(pid, &status, 0);
            ends.push_back(status);
        }
        return ends;
    }
    static void run(int size, const Body& body) {
        EXPECT_EQ(statuses(size, body), std::vector<int>(static_cast<std::size_t>(size), 0)) << size << " ranks";
    }
};

INSTANTIATE_TEST_SUITE_P(Communicators, Ranks, ::testing::ValuesIn(implementations),
                         [](const auto& one) { return std::string(one.param.name); });

/// Numbers whose sum depends on the order of its terms.
float number(int rank, std::size_t i) {
    return (rank % 2 == 0 ? 1.0F : -1.0F) / static_cast<float>(3 * i + 7U * (rank + 1U));
}

TEST_P(Ranks, AddUpInTheOrderOfTheRanks) {
    for (const int size : {2, 3, 4, 7})
        run(size, [](Communicator& ranks) {
            for (const std::size_t length : {0UL, 1UL, 15UL, 16UL, 17UL, 1000UL, 131072UL, 300001UL}) {
                std::vector<float> values(length), expected(length);
                for (std::size_t i = 0; i < length; ++i) {
                    values[i] = number(ranks.rank(), i);
                    expected[i] = number(0, i);
                    for (int rank = 1; rank < ranks.size(); ++rank) expected[i] += number(rank, i);
                }
                ranks.all_reduce(values);
                EXPECT_EQ(std::memcmp(values.data(), expected.data(), 4 * length), 0) << length;
            }
        });
}

TEST_P(Ranks, BroadcastTheBytesOfRank0) {
    run(3, [](Communicator& ranks) {
        for (const std::size_t length : {0UL, 1UL, 7UL, 524288UL, 1048579UL}) {
            std::vector<std::byte> bytes(length), expected(length);
            for (std::size_t i = 0; i < length; ++i) {
                expected[i] = static_cast<std::byte>(i * 31 + length);
                bytes[i] = ranks.rank() == 0 ? expected[i] : std::byte{1};
            }
            ranks.broadcast(bytes);
            EXPECT_EQ(bytes, expected) << length;
        }
    });
}

TEST_P(Ranks, MayCallInAnyMixtureAtTheirOwnPace) {
    run(3, [](Communicator& ranks) {
        for (int round = 0; round < 500; ++round) {
            // Each rank is late in another round, by more than a rank looks before it sleeps.
            for (int i = 0; round % 50 == ranks.rank() && i < 2000; ++i) ::sched_yield();
            std::vector<float> values{static_cast<float>(round), static_cast<float>(ranks.rank())};
            ranks.all_reduce(values);
            EXPECT_EQ(values, (std::vector<float>{3.0F * static_cast<float>(round), 3.0F}));
            int told = ranks.rank() == 0 ? round : -1;
            ranks.broadcast_value(told);
            EXPECT_EQ(told, round);
            ranks.barrier();
        }
    });
}

TEST_P(Ranks, PassABarrierOnlyTogether) {
    auto* const came = static_cast<std::atomic<int>*>(
        ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    run(4, [came](Communicator& ranks) {
        for (int round = 1; round <= 200; ++round) {
            ++*came;
            ranks.barrier();
            EXPECT_EQ(came->load(), 4 * round);
            ranks.barrier();
        }
    });
    ::munmap(came, sizeof(std::atomic<int>));
}

TEST_P(Ranks, FailWhereTheyCallOtherFunctionsThanRank0) {
    const std::function<void(Communicator&)> others[] = {[](Communicator& ranks) { ranks.barrier(); },
                                                         [](Communicator& ranks) {
                                                             std::vector<float> values(4);
                                                             ranks.all_reduce(values);
                                                         },
                                                         [](Communicator& ranks) {
                                                             std::vector<std::byte> bytes(12);
                                                             ranks.broadcast(bytes);
                                                         }};
    const char* const told[] = {"rank 2 waits, and rank 0 adds up 3 numbers",
                                "rank 2 adds up 4 numbers, and rank 0 adds up 3 numbers",
                                "rank 2 broadcasts 12 bytes, and rank 0 adds up 3 numbers"};
    for (std::size_t other = 0; other < std::size(others); ++other)
        run(3, [&](Communicator& ranks) {
            std::vector<float> values(3, 1.0F);
            ranks.all_reduce(values);
            try {
                if (ranks.rank() == 2)
                    others[other](ranks);
                else
                    ranks.all_reduce(values);
                ADD_FAILURE() << "rank " << ranks.rank() << " noticed nothing";
            } catch (const RanksParted& parted) {
                EXPECT_EQ(ranks.rank(), 0);
                EXPECT_STREQ(parted.what(), told[other]);
            } catch (const RankLost&) {
                EXPECT_GT(ranks.rank(), 0);
            }
            EXPECT_THROW(ranks.barrier(), RankLost);
        });
}

TEST_P(Ranks, LearnThatOneHasDiedInTheMiddle) {
    for (const int dead : {0, 1, 3}) {
        const auto ends = statuses(4, [dead](Communicator& ranks) {
            std::vector<float> values(200'000, 1.0F);
            ranks.all_reduce(values);
            if (ranks.rank() == dead) ::raise(SIGKILL);
            try {
                ranks.all_reduce(values);
                ADD_FAILURE() << "rank " << ranks.rank() << " noticed nothing";
            } catch (const RankLost& lost) {
                EXPECT_TRUE(ranks.rank() > 0 || lost.rank == dead) << lost.rank;
            }
            EXPECT_THROW(ranks.barrier(), RankLost);
            EXPECT_THROW(ranks.broadcast_value(values[0]), RankLost);
        });
        for (int rank = 0; rank < 4; ++rank) {
            const int status = ends[static_cast<std::size_t>(rank)];
            if (rank == dead)
                EXPECT_TRUE(WIFSIGNALED(status));
            else
                EXPECT_EQ(status, 0) << "rank " << rank << " when " << dead << " has died";
        }
    }
}

TEST_P(Ranks, LearnThatOneHasEndedBeforeItsFirstCall) {
    const auto ends = statuses(3, [](Communicator& ranks) {
        if (ranks.rank() == 2) return;
        std::vector<float> values(3);
        EXPECT_THROW(ranks.all_reduce(values), RankLost);
    });
    EXPECT_EQ(ends, std::vector<int>(3, 0));
}

TEST(HostRanks, LeaveWordsForRank0) {
    const auto shared = make_host_ranks(3);
    ASSERT_TRUE(shared);
    HostCommunicator lead(0, 3, shared->memory, {}), follower(2, 3, shared->memory, {});
    EXPECT_EQ(lead.words_of(2), "");
    follower.leave_words("no such file");
    follower.set_peak(std::int64_t{3} << 33);
    EXPECT_EQ(lead.words_of(2), "no such file");
    EXPECT_EQ(lead.words_of(1), "");
    EXPECT_EQ(lead.peak_of(2), std::int64_t{3} << 33);
    follower.leave_words(std::string(10'000, 'x'));
    EXPECT_EQ(lead.words_of(2), std::string(511, 'x'));
}

}  // namespace
}  // namespace hpo
