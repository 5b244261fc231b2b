#include "orchestrator/devices/tree_meter.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <set>

#include "hpo/threads.hpp"
#include "orchestrator/devices/host.hpp"

namespace hpo {
namespace {

constexpr double share_of_a_core = 0.03;
constexpr Seconds pass_every{1}, pass_budget{0.02}, forgotten_after{10};

class ThreadTime final : public Clock {
   public:
    [[nodiscard]] Seconds now() const override {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
    }
};

}  // namespace

std::map<std::int64_t, TreeReading> TreeMeter::pass(std::span<const std::int64_t> roots, Seconds budget) {
    ++passes_;
    const std::vector<std::vector<std::int64_t>> found = trees(roots, root_);
    resident_.clear();
    std::set<std::int64_t> in_company;  // processes in trees of several; a single process shares no memory
    for (const auto& tree : found)
        for (const std::int64_t pid : tree) {
            resident_[pid] = resident_memory(pid, root_);
            if (tree.size() > 1) in_company.insert(pid);
        }
    std::erase_if(shares_, [&](const auto& share) { return !in_company.contains(share.first); });

    std::vector<std::int64_t> order(in_company.begin(), in_company.end());
    const auto last_read = [this](std::int64_t pid) {
        const auto share = shares_.find(pid);
        return share == shares_.end() ? 0 : share->second.pass;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t one, std::int64_t other) { return last_read(one) < last_read(other); });
    const Seconds end = clock_.now() + budget;
    for (const std::int64_t pid : order) {
        const std::int64_t resident = resident_[pid];
        shares_[pid] = {proportional_memory(pid, root_).value_or(resident), resident, passes_};
        if (clock_.now() >= end) break;
    }

    std::map<std::int64_t, TreeReading> readings;
    for (std::size_t i = 0; i < roots.size(); ++i) readings[roots[i]] = {found[i], estimate(found[i])};
    return readings;
}

/// A process whose share was not read yet counts with the average of its tree.
std::optional<std::int64_t> TreeMeter::estimate(const std::vector<std::int64_t>& tree) const {
    if (tree.empty()) return 0;
    if (tree.size() == 1) return resident_.at(tree.front());
    std::int64_t known = 0, resident_of_known = 0, resident_of_others = 0;
    for (const std::int64_t pid : tree) {
        const std::int64_t resident = resident_.at(pid);
        if (const auto share = shares_.find(pid); share != shares_.end()) {
            known += std::max<std::int64_t>(0, share->second.bytes + resident - share->second.resident);
            resident_of_known += resident;
        } else {
            resident_of_others += resident;
        }
    }
    if (resident_of_others == 0) return known;
    if (resident_of_known == 0) return std::nullopt;
    return known + static_cast<std::int64_t>(static_cast<double>(resident_of_others) * static_cast<double>(known) /
                                             static_cast<double>(resident_of_known));
}

TreeWatch::~TreeWatch() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
}

std::vector<std::optional<TreeReading>> TreeWatch::latest(std::span<const std::int64_t> roots) {
    std::vector<std::optional<TreeReading>> all;
    const std::lock_guard lock(mutex_);
    const Seconds now = SteadyClock().now();
    for (const std::int64_t root : roots) {
        new_root_ = watched_.insert_or_assign(root, now).second || new_root_;
        const auto reading = readings_.find(root);
        all.push_back(reading == readings_.end() ? std::nullopt : std::optional(reading->second));
    }
    // With no thread left on the system, the readings are absent until a later call can start one.
    if (new_root_ && !thread_.joinable()) thread_ = start_thread("hpo-memory", [this] { work(); });
    if (new_root_) wake_.notify_one();
    return all;
}

/// A new root is read at once, unless that would use more of a core than is allowed.
void TreeWatch::work() {
    const ThreadTime time;
    TreeMeter meter(time);
    std::unique_lock lock(mutex_);
    while (!ends_) {
        new_root_ = false;
        const Seconds now = SteadyClock().now();
        std::erase_if(watched_, [&](const auto& root) { return now - root.second > forgotten_after; });
        std::vector<std::int64_t> roots;
        for (const auto& [root, asked] : watched_) roots.push_back(root);
        lock.unlock();
        const Seconds begun = time.now();
        auto readings = meter.pass(roots, pass_budget);
        const Seconds rest = (time.now() - begun) / share_of_a_core;
        lock.lock();
        readings_ = std::move(readings);
        if (wake_.wait_for(lock, rest, [this] { return ends_; })) break;
        wake_.wait_for(lock, std::max(Seconds(0), pass_every - rest), [this] { return ends_ || new_root_; });
    }
}

}  // namespace hpo
