// The random choices of a schedule. All of them follow from its seed.
#pragma once

#include <cstdint>
#include <random>

namespace hpo::schedules {

class Dice {
   public:
    explicit Dice(std::uint64_t seed) : bits_(seed) {}

    /// Returns a number that is uniform in [0, 1).
    double unit() { return static_cast<double>(bits_() >> 11) * 0x1.0p-53; }
    bool chance(double probability) { return unit() < probability; }
    /// Returns an integer from `low` to `high`, both included.
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(high - low + 1));
    }
    template <class List>
    const auto& pick(const List& list) {
        return list[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(list.size()) - 1))];
    }

   private:
    std::mt19937_64 bits_;
};

}  // namespace hpo::schedules
