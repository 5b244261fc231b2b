// The size of micro-batches while memory runs short and becomes free again. Pure: it follows from readings alone.
//
// The memory that all programs together use is averaged over readings. Above the target the micro-batch shrinks to 0.8
// of itself, below 0.8 of the target it grows by a fifth, up to the configured one. The band between keeps it steady:
// from below 0.8 of the target a fifth more cannot pass the target, even if all the use were its own. Small
// micro-batches change by more than a fifth: a growth that led back above the target is tried again only after twice
// the calm readings of the last time.
#pragma once

#include <cstdint>

namespace hpo {

class MemoryPressure {
   public:
    /// `most`: samples of a micro-batch as configured, at least 1. `target`: a fraction of the memory, in (0, 1].
    MemoryPressure(std::int64_t most, double target) : most_(most), target_(target), samples_(most) {}

    /// Samples of a micro-batch from now on, in [1, most]. `use`: the fraction of the memory that is in use. At most
    /// one change in `settling` readings.
    std::int64_t read(double use);
    /// The memory of the last growth cannot be had; its change is undone.
    void refuse_growth();

    [[nodiscard]] std::int64_t samples() const { return samples_; }
    [[nodiscard]] std::int64_t most() const { return most_; }
    [[nodiscard]] double average() const { return average_; }  ///< of the use, as of the last reading

    static constexpr double weight = 0.4;       ///< of the last reading in the average
    static constexpr double shrink = 0.8;       ///< times the samples
    static constexpr double grow = 1.2;         ///< times the samples
    static constexpr double calm_below = 0.8;   ///< times the target
    static constexpr int settling = 3;          ///< readings between two changes, after which the average begins again
    static constexpr int calm_first = 3;        ///< calm readings in a row before a growth
    static constexpr int calm_longest = 10000;  ///< limit of the doubling

   private:
    void change(std::int64_t samples);
    void be_more_patient();

    std::int64_t most_;
    double target_;
    std::int64_t samples_;
    std::int64_t before_ = 0;  ///< samples before the last change
    double average_ = 0;
    int readings_ = 0;  ///< since the last change
    int calm_ = 0;      ///< calm readings in a row
    int calm_wanted_ = calm_first;
    bool grown_ = false;  ///< the last change was a growth
};

}  // namespace hpo
