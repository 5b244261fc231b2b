#include "orchestrator/engine/announcements.hpp"

#include <algorithm>
#include <utility>

namespace hpo {

void Announcements::add(std::int64_t results, std::function<void()> announce) {
    if (waiting_.empty() && results <= on_disk_) return announce();
    waiting_.push_back({results, std::move(announce)});
}

void Announcements::release(std::int64_t on_disk) {
    on_disk_ = std::max(on_disk_, on_disk);
    while (!waiting_.empty() && waiting_.front().results <= on_disk_) {
        const auto announce = std::move(waiting_.front().announce);
        waiting_.pop_front();
        announce();
    }
}

void Announcements::drop_after(std::int64_t results) {
    std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.results > results; });
}

}  // namespace hpo
