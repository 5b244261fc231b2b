// Plays schedules (schedule.hpp) until one breaks a promise:
//
//   schedules [--seeds N] [--from SEED]   plays N schedules (default: 1000), from SEED on (default: 1)
//   schedules --story SEED                plays one, and prints each thing that happens
//
// Prints one line of counts. Exit status 1 if a promise was broken; its seed plays the same schedule again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "tests/schedules/schedule.hpp"

int main(int argc, char** argv) {
    std::uint64_t seeds = 1000, from = 1;
    bool story = false;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view option = argv[i];
        const std::uint64_t number = std::strtoull(argv[i + 1], nullptr, 10);
        if (option == "--seeds") {
            seeds = number;
        } else if (option == "--from") {
            from = number;
        } else if (option == "--story") {
            story = true;
            from = number;
            seeds = 1;
        } else {
            std::fprintf(stderr, "schedules: no option %s; see the head of tests/schedules/main.cpp\n", argv[i]);
            return 2;
        }
    }
    hpo::schedules::Counts counts;
    int broken = 0;
    std::uint64_t played = 0;
    for (std::uint64_t seed = from; seed < from + seeds; ++seed) {
        ++played;
        try {
            hpo::schedules::play(seed, counts, [&]() -> std::function<void(const std::string&)> {
                if (!story) return {};
                return [](const std::string& line) { std::printf("  %s\n", line.c_str()); };
            }());
        } catch (const std::exception& violation) {
            std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), violation.what());
            if (++broken == 20) break;
        }
    }
    std::printf(
        "%llu schedules from seed %llu: %lld sessions, %lld events, %lld trials, %lld kills, %lld power cuts, "
        "%lld failed writes, %lld interrupts; %d broke a promise\n",
        static_cast<unsigned long long>(played), static_cast<unsigned long long>(from),
        static_cast<long long>(counts.sessions), static_cast<long long>(counts.events),
        static_cast<long long>(counts.trials), static_cast<long long>(counts.kills),
        static_cast<long long>(counts.power_cuts), static_cast<long long>(counts.failed_writes),
        static_cast<long long>(counts.interrupts), broken);
    return broken == 0 ? 0 : 1;
}
