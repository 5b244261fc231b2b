#include "worker/training/pressure.hpp"

#include <algorithm>

namespace hpo {

std::int64_t MemoryPressure::read(double use) {
    average_ = readings_ == 0 ? use : average_ + weight * (use - average_);
    ++readings_;
    calm_ = average_ < calm_below * target_ ? calm_ + 1 : 0;
    if (readings_ < settling) return samples_;
    if (average_ > target_ && samples_ > 1) {
        if (grown_) be_more_patient();
        grown_ = false;
        change(std::max<std::int64_t>(1, static_cast<std::int64_t>(shrink * static_cast<double>(samples_))));
    } else if (calm_ >= calm_wanted_ && samples_ < most_) {
        const auto more = static_cast<std::int64_t>(grow * static_cast<double>(samples_));
        grown_ = true;
        change(std::min(most_, std::max(samples_ + 1, more)));
    }
    return samples_;
}

void MemoryPressure::refuse_growth() {
    if (!grown_) return;
    grown_ = false;
    samples_ = before_;
    be_more_patient();
}

void MemoryPressure::be_more_patient() { calm_wanted_ = std::min(2 * calm_wanted_, calm_longest); }

void MemoryPressure::change(std::int64_t samples) {
    before_ = samples_;
    samples_ = samples;
    readings_ = 0;
    calm_ = 0;
}

}  // namespace hpo
