// The log of a study: its lines have the zone in which their time is.
#include "orchestrator/engine/study_log.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <fstream>

#include "tests/support/temporary_folder.hpp"
#include "tests/support/time_zone.hpp"

namespace hpo {
namespace {

std::vector<std::string> lines_at(const char* zone, const std::vector<double>& times) {
    const testing::TimeZone in(zone);
    const testing::TemporaryFolder folder;
    {
        const auto log = open_study_log(folder / "hpo.log");
        for (const double time : times)
            log->log(spdlog::log_clock::time_point(std::chrono::milliseconds(std::llround(1000 * time))),
                     spdlog::source_loc(), spdlog::level::info, "here");
    }
    std::ifstream file(folder / "hpo.log");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

TEST(StudyLog, LinesHaveTheOffsetOfTheirOwnTimeWhenTheClocksAreChanged) {
    constexpr double spring = 1774746000, autumn = 1792890000;  // 2026-03-29 and 2026-10-25, 01:00 UTC
    EXPECT_THAT(
        lines_at("Europe/Berlin", {spring - 0.5, spring + 0.25, autumn - 1, autumn}),
        ::testing::ElementsAre("2026-03-29 01:59:59.500 +0100 info here", "2026-03-29 03:00:00.250 +0200 info here",
                               "2026-10-25 02:59:59.000 +0200 info here", "2026-10-25 02:00:00.000 +0100 info here"));
    EXPECT_THAT(lines_at("Asia/Kathmandu", {spring}),
                ::testing::ElementsAre("2026-03-29 06:45:00.000 +0545 info here"));
    EXPECT_THAT(lines_at("America/St_Johns", {spring}),
                ::testing::ElementsAre("2026-03-28 22:30:00.000 -0230 info here"));
    EXPECT_THAT(lines_at("UTC", {spring}), ::testing::ElementsAre("2026-03-29 01:00:00.000 +0000 info here"));
}

}  // namespace
}  // namespace hpo
