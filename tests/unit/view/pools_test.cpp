// The lines of memory pools, drawn for zero, one, four and eight devices.
#include "orchestrator/view/pools.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "orchestrator/view/progress.hpp"
#include "tests/support/sample_study.hpp"
#include "tests/unit/view/drawn_top.hpp"

namespace hpo::view {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;

constexpr std::int64_t GiB = std::int64_t{1} << 30;

std::vector<Pool> pools_of(int devices) {
    std::vector<Pool> pools{{"host", 125 * GiB, 20 * GiB, 8 * GiB, 6 * GiB, 4}};
    for (int i = 0; i < devices; ++i)
        pools.push_back({"gpu " + std::to_string(i), 24 * GiB, i * GiB, 12 * GiB, 9 * GiB, 4});
    return pools;
}

std::vector<std::string> drawn(const std::vector<Pool>& pools, int width, int rows, bool utf8 = true) {
    const Screen screen{width, 24, false, utf8};
    Canvas canvas(screen);
    add_pools(canvas, pools, rows, screen);
    std::vector<std::string> lines;
    std::istringstream in(canvas.text());
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

std::vector<int> widths_of(const std::vector<std::string>& lines) {
    std::vector<int> widths;
    for (const auto& line : lines) widths.push_back(columns(line));
    return widths;
}

TEST(Pools, EachPoolIsDrawnOnALine) {
    EXPECT_THAT(drawn(pools_of(0), 80, 5),
                ElementsAre("host  █░░············  8.0 of 125 GiB reserved, 6.0 used, 20 by others, 4 trials"));
}

TEST(Pools, LinesOfUpToEightDevicesFit80Columns) {
    EXPECT_THAT(drawn(pools_of(1), 80, 5),
                ElementsAre("host   █░░···········  8.0 of 125 GiB reserved, 6.0 used, 20 by others, 4 trials",
                            "gpu 0  █████▓▓·······  12 of 24 GiB reserved, 9.0 used, 4 trials"));
    const auto four = drawn(pools_of(4), 80, 5);
    ASSERT_EQ(four.size(), 5u);
    EXPECT_EQ(four[4], "gpu 3  █████▓▓░░·····  12 of 24 GiB reserved, 9.0 used, 3.0 by others, 4 trials");
    for (const int devices : {0, 1, 4, 8}) EXPECT_THAT(widths_of(drawn(pools_of(devices), 80, 5)), Each(Le(80)));
}

TEST(Pools, ManyDevicesShareALineWithTheirSums) {
    auto pools = pools_of(8);
    pools[3].usable = false;
    EXPECT_THAT(drawn(pools, 80, 5),
                ElementsAre("host    8.0 of 125 GiB reserved, 6.0 used, 20 by others, 4 trials",
                            "8 gpus  96 of 192 GiB reserved, 72 used, 28 by others, 32 trials, 1 set aside"));
    EXPECT_THAT(drawn(pools_of(1), 80, 1),
                ElementsAre("gpu 0  █████████▓▓▓············  12 of 24 GiB reserved, 9.0 used, 4 trials"));
}

TEST(Pools, HostsThatAreNotThereAreCountedByTheirState) {
    std::vector<Pool> hosts(8, {"node", 16 * GiB, 0, 4 * GiB, std::nullopt, 1});
    for (Pool& host : hosts) host.state = "up";
    for (const std::size_t left : {1, 2, 3}) hosts[left].state = "left";
    hosts[4].state = "awaited";
    hosts[5].state = "silent";
    for (const std::size_t not_up : {1, 2, 3, 4, 5}) hosts[not_up].usable = false;
    EXPECT_THAT(drawn(hosts, 80, 5)[1], EndsWith("16 of 64 GiB reserved, 4 trials, 1 awaited, 1 silent, 3 left"));
}

TEST(Pools, NarrowScreensHaveNoBarsAndTerminalsWithoutUtf8HaveAsciiBars) {
    EXPECT_THAT(drawn(pools_of(1), 60, 5)[1], "gpu 0  12 of 24 GiB reserved, 9.0 used, 4 trials");
    EXPECT_THAT(drawn(pools_of(1), 100, 5, false)[1],
                "gpu 0  #########===............  12 of 24 GiB reserved, 9.0 used, 4 trials");
    EXPECT_THAT(widths_of(drawn(pools_of(2), 40, 5)), Each(Le(40)));
}

TEST(Pools, ADeviceThatIsSetAsideIsMarked) {
    auto pools = pools_of(2);
    pools[1].usable = false;
    EXPECT_THAT(drawn(pools, 80, 5)[1], HasSubstr("set aside"));
}

TEST(Pools, UnmeasuredUseIsNotShownAndUseAboveTheCapacityFillsTheBar) {
    EXPECT_THAT(drawn({{"host", 4 * GiB, 0, GiB, std::nullopt, 1}}, 80, 5)[0],
                AllOf(Not(HasSubstr("used")), Not(HasSubstr("others")), HasSubstr("1 trial")));
    EXPECT_THAT(drawn({{"host", 4 * GiB, 3 * GiB, 3 * GiB, 5 * GiB, 1}}, 80, 5)[0], HasSubstr("████████"));
    EXPECT_THAT(drawn({{"host", 0, 0, 0, {}, 0}}, 80, 5)[0], HasSubstr("0.0 of 0.0 KiB"));
}

struct Sample {
    Study study;
    StudyRecord record;
    Moment moment{125, 2, true};

    Sample() {
        study.name = "sample";
        study.budget.trials = 16;
        study.budget.epochs = 10;
        std::int64_t sequence = 0;
        testing::make_sample_events(16, [&](const Event& event) {
            ++sequence;
            apply(record, {sequence, 1000.0 + static_cast<double>(sequence), event}, study.objective);
        });
        record.trial(14).where = "gpu 1";
        moment.waits = "trial 16 needs 3.000 GiB of device memory, but gpu 0 gives 2.000 GiB";
    }
};

TEST(Pools, AreDrawnAboveTheTrialsInTopAndInProgress) {
    Sample sample;
    for (const int devices : {0, 1, 4, 8})
        for (const Screen screen : {Screen{80, 24, false, true}, Screen{40, 10, false, true}}) {
            sample.moment.pools = pools_of(devices);
            for (const auto& text : {draw_top(sample.study, sample.record, sample.moment, {}, screen),
                                     draw_progress(sample.study, sample.record, sample.moment, screen)}) {
                std::vector<std::string> lines;
                std::istringstream in(text);
                for (std::string line; std::getline(in, line);) lines.push_back(line);
                EXPECT_LE(lines.size(), static_cast<std::size_t>(screen.height));
                EXPECT_THAT(widths_of(lines), Each(Le(screen.width)));
                EXPECT_THAT(text, HasSubstr("waiting: trial 16 needs 3.000 GiB"));
                EXPECT_THAT(text, HasSubstr(devices == 0 ? "host" : "gpu"));
                EXPECT_THAT(text, AnyOf(HasSubstr("12 complete"), HasSubstr("14")));  // the best, or a running trial
                if (screen.width == 80) {
                    EXPECT_THAT(text, HasSubstr("gpu 1"));
                }
            }
        }
}

}  // namespace
}  // namespace hpo::view
