// Recognises trials that repeat an earlier trial exactly. If parameters are rounded or have no effect, a sampler
// proposes the same training again under other numbers. These trials teach nothing and would fill the places of the
// best.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace hpo {

class Repeats {
   public:
    /// This number of distinct values must be equal, each at the same step, and all values before them. A coarse
    /// metric, such as an accuracy that has not left chance level, repeats single values.
    static constexpr std::size_t enough = 3;

    /// Takes the next value of a trial. Steps count from 1. Returns true if later trials may be recognised by it.
    bool report(std::int64_t trial, std::int64_t step, double value);
    /// Returns the earlier trial that this one repeats, if it does as far as is known.
    [[nodiscard]] std::optional<std::int64_t> original(std::int64_t trial) const;
    /// Returns the trials that repeat this one, in the order in which they were recognised.
    [[nodiscard]] const std::vector<std::int64_t>& of(std::int64_t original) const;
    /// No longer takes a trial for a repetition, since it may differ later.
    void release(std::int64_t trial);
    /// Forgets a trial that failed. Another one with its values is no repetition then.
    void failed(std::int64_t trial);

   private:
    struct Course {
        std::vector<double> values;
        std::size_t distinct = 0;
        bool decided = false;
        std::optional<std::int64_t> original{};
    };
    std::unordered_map<std::int64_t, Course> courses_;
    std::map<std::vector<double>, std::int64_t> first_;                      ///< the first trial with these values
    std::unordered_map<std::int64_t, std::vector<std::int64_t>> repeating_;  ///< by original
};

}  // namespace hpo
