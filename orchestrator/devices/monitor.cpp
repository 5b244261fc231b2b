#include "orchestrator/devices/monitor.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "hpo/text.hpp"
#include "orchestrator/devices/assess.hpp"
#include "orchestrator/devices/device_codec.hpp"
#include "orchestrator/devices/helper_link.hpp"
#include "orchestrator/devices/metal.hpp"
#include "orchestrator/devices/nvml.hpp"

namespace hpo {
namespace {

const std::string not_started = "hpo cannot start its helper for devices: ";
constexpr Seconds longest_pause{30};
constexpr Seconds wait_reported_after{1};  ///< of waiting for a first answer
constexpr Seconds well_for{60};            ///< without a failure, after which earlier ones are forgotten

/// One library and the helper that uses it.
class Source {
   public:
    /// `library` is as in HelperLink::start(); messages call it `name`; `tool` is the program that shows its problems.
    Source(const char* library, const char* name, const char* tool, bool once, const DeviceMonitor::Options& options)
        : library_(library), name_(name), tool_(tool), once_(once), options_(options) {}

    void poll(Seconds now) {
        if (const auto line = link_.answer())
            if (auto readings = readings_of(*line)) take(std::move(*readings), now);
        if (const auto end = link_.ended()) {
            fail(end->started
                     ? std::string(name_) + "'s library has crashed (" + end->how + "); see what " + tool_ + " says"
                     : not_started + end->how,
                 now);
        } else if (link_.running() && waiting_ && now - asked_ >= patience_) {
            link_.kill();
            fail(std::string(name_) + " has not answered within " + duration_text(patience_.count()) + "; see what " +
                     tool_ + " says",
                 now);
            patience_ = std::max(patience_, std::min(2 * patience_, longest_pause));
        }
        const bool reaped = link_.reaped();
        if (done_) return;
        if (!link_.running() && now >= next_start_ && reaped) {
            const std::string error = link_.start(options_.program, library_);
            if (!error.empty()) return fail(not_started + error, now);
            ask(now);
        } else if (link_.running() && !waiting_ && now - asked_ >= options_.every) {
            ask(now);
        }
    }

    /// Returns true if there is neither a first reading nor a first failure yet.
    [[nodiscard]] bool pending() const { return !answered_ && trouble_.empty(); }
    [[nodiscard]] int fd() const { return link_.fd(); }
    [[nodiscard]] const char* name() const { return name_; }
    [[nodiscard]] const std::string& trouble() const { return trouble_; }

    /// The last good readings.
    [[nodiscard]] DeviceReadings readings(Seconds now) const {
        DeviceReadings current = last_;
        current.problem = trouble_;
        current.age = answered_ ? std::max(0.0, (now - taken_).count()) : 0;
        current.stale = answered_ && !fresh_;
        return current;
    }

   private:
    void ask(Seconds now) {
        link_.ask();
        asked_ = now;
        waiting_ = true;
    }

    void take(DeviceReadings readings, Seconds now) {
        waiting_ = false;
        if (once_) {
            link_.kill();
            done_ = true;
        }
        // The library works but its driver does not: this does not mean that the devices are gone.
        fresh_ = !readings.devices.empty() || readings.problem.empty();
        if (fresh_) {
            last_ = assess(first_, last_, std::move(readings));
            for (const DeviceReading& device : last_.devices) {
                const auto same = [&](const DeviceReading& other) { return other.id == device.id; };
                const auto known = std::find_if(first_.begin(), first_.end(), same);
                if (known == first_.end())
                    first_.push_back(device);
                else if (device.ecc_errors && known->ecc_errors && *device.ecc_errors < *known->ecc_errors)
                    known->ecc_errors = device.ecc_errors;  // the device was reset
            }
            if (!std::exchange(answered_, true)) patience_ = options_.patience;
            taken_ = now;
            if (!well_since_) well_since_ = now;
            if (now - *well_since_ >= well_for) pause_ = options_.patience;
        }
        trouble_ = fresh_ ? last_.problem : readings.problem;
    }

    void fail(std::string trouble, Seconds now) {
        trouble_ = std::move(trouble);
        done_ = once_;
        fresh_ = waiting_ = false;
        well_since_.reset();
        next_start_ = now + pause_;
        pause_ = std::min(2 * pause_, longest_pause);
    }

    const char* library_;
    const char* name_;
    const char* tool_;
    bool once_;
    DeviceMonitor::Options options_;
    HelperLink link_;
    bool waiting_ = false;
    bool done_ = false;
    Seconds asked_{0};
    Seconds next_start_{std::numeric_limits<double>::lowest()};
    Seconds patience_ = options_.patience_at_first;
    Seconds pause_ = options_.patience;
    std::optional<Seconds> well_since_;

    std::vector<DeviceReading> first_;  ///< the first reading of each device
    DeviceReadings last_;               ///< the last good readings
    bool answered_ = false;             ///< true if `last_` is set
    bool fresh_ = false;                ///< true if `last_` answers the last question
    Seconds taken_{0};
    std::string trouble_;
};

}  // namespace

Seconds first_wait() {
    const char* asked = std::getenv("HPO_GPU_WAIT");
    const double seconds = asked ? std::atof(asked) : 0;
    return Seconds(seconds > 0 ? std::clamp(seconds, 0.1, 600.0) : 15);
}

struct DeviceMonitor::State {
    explicit State(Options given) : options(std::move(given)) {
        if (nvidia_driver_expected()) nvidia.emplace("nvml", "the NVIDIA driver", "nvidia-smi", false, options);
        if (metal_expected()) metal.emplace("metal", "IOKit", "ioreg -r -c IOAccelerator", false, options);
        if (options.opencl) opencl.emplace("opencl", "OpenCL", "clinfo", true, options);
    }

    void update(Seconds now) {
        DeviceReadings before = std::move(latest);
        latest = nvidia ? nvidia->readings(now) : DeviceReadings{};
        if (metal) latest = merge(std::move(latest), metal->readings(now));
        if (opencl) latest = merge(std::move(latest), opencl->readings(now));

        const bool had_problem = !before.problem.empty();
        if (!had_problem && !latest.problem.empty()) {
            notices.push_back({true, latest.problem});
            trouble_since = now;
        } else if (had_problem && latest.problem.empty()) {
            notices.push_back({false, "GPUs are read again after " + duration_text((now - trouble_since).count())});
        }
        for (const DeviceReading& device : latest.devices) {
            const auto same = [&](const DeviceReading& other) { return other.id == device.id; };
            const auto old = std::find_if(before.devices.begin(), before.devices.end(), same);
            const bool was_lost = old != before.devices.end() && old->lost;
            if (device.lost && !was_lost)
                notices.push_back({true, name_of(device) + " is set aside: " + device.reason});
            else if (!device.lost && was_lost)
                notices.push_back({false, name_of(device) + " can be used again"});
        }
    }

    Options options;
    std::optional<Source> nvidia, metal, opencl;
    DeviceReadings latest;
    std::vector<DeviceNotice> notices;
    Seconds trouble_since{0};
};

DeviceMonitor::DeviceMonitor(Options options) : state_(std::make_unique<State>(std::move(options))) {}
DeviceMonitor::~DeviceMonitor() = default;
DeviceMonitor::DeviceMonitor(DeviceMonitor&&) noexcept = default;

void DeviceMonitor::start(Seconds now, const std::function<void(const std::string&)>& on_wait) {
    using std::chrono::steady_clock;
    const auto started = steady_clock::now();
    const Seconds patience = state_->options.patience_at_first;
    const auto elapsed = [&] { return Seconds(steady_clock::now() - started); };
    bool silent = static_cast<bool>(on_wait);
    poll(now);
    while (elapsed() < patience) {
        std::vector<pollfd> pending;
        std::string waited_for;
        for (const auto* source : {&state_->nvidia, &state_->metal, &state_->opencl}) {
            if (!*source || !(*source)->pending()) continue;
            pending.push_back({(*source)->fd(), POLLIN, 0});
            waited_for += (waited_for.empty() ? "" : " and ") + std::string((*source)->name());
        }
        if (pending.empty()) return;
        if (silent && elapsed() >= wait_reported_after) {
            silent = false;
            on_wait("waiting for " + waited_for + " to answer, for up to " + duration_text(patience.count()) +
                    " (HPO_GPU_WAIT): a sleeping driver takes a while to wake up; nvidia-persistenced keeps it awake");
        }
        const Seconds until = silent ? std::min(patience, wait_reported_after) : patience;
        ::poll(pending.data(), pending.size(), static_cast<int>((until - elapsed()).count() * 1000) + 1);
        const bool dying = std::any_of(pending.begin(), pending.end(), [](auto& fd) { return fd.revents & POLLHUP; });
        if (dying) ::poll(nullptr, 0, 1);  // its exit status comes shortly after its socket closes
        poll(now + elapsed());
    }
    poll(now + elapsed());
}

void DeviceMonitor::poll(Seconds now) {
    if (state_->nvidia) state_->nvidia->poll(now);
    if (state_->metal) state_->metal->poll(now);
    if (state_->opencl) state_->opencl->poll(now);
    state_->update(now);
}

const DeviceReadings& DeviceMonitor::latest() const { return state_->latest; }

std::vector<DeviceNotice> DeviceMonitor::take_notices() { return std::exchange(state_->notices, {}); }

}  // namespace hpo
