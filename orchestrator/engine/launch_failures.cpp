#include "orchestrator/engine/launch_failures.hpp"

#include <algorithm>

#include "hpo/text.hpp"
#include "orchestrator/engine/text.hpp"

namespace hpo {

namespace {

constexpr Seconds first_pause{0.5}, longest_pause{30};  // between two launches
constexpr double longest_shortage = 600;                // seconds without a running trial

}  // namespace

std::optional<std::string> LaunchFailures::failed(const std::string& message) {
    if (++in_a_row_ < allowed) return std::nullopt;
    return counted(in_a_row_, "launch", "launches") + " of a worker failed in a row: " + message;
}

LaunchFailures::Shortage LaunchFailures::ran_short(const std::string& message, bool working, Seconds now) {
    if (shortage_ && now < shortage_->until) return {};
    Shortage follows{.begins = !shortage_};
    if (!shortage_) shortage_ = {now, Seconds(0), now};
    if (working) shortage_->since = now;
    if (const double lasted = (now - shortage_->since).count(); lasted >= longest_shortage)
        follows.over = "no worker could be started for " + duration_text(lasted) + ": " + message;
    shortage_->pause = std::clamp(2 * shortage_->pause, first_pause, longest_pause);
    shortage_->until = now + shortage_->pause;
    return follows;
}

void LaunchFailures::succeeded() {
    in_a_row_ = 0;
    shortage_.reset();
}

}  // namespace hpo
