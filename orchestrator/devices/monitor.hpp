// Reads the GPUs regularly without ever blocking. A helper process, which is `hpo` itself, executed again (helper.hpp),
// loads the drivers' libraries, so that a library that hangs, crashes or leaks does so there. Where neither a driver
// of NVIDIA is loaded nor a GPU of Apple may be, no helper is started.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "orchestrator/devices/device.hpp"

namespace hpo {

struct DeviceNotice {
    bool warning = false;  ///< true if a problem has begun; otherwise one is over
    std::string text;      ///< one sentence
};

/// Seconds that a session waits for the first answer of the GPUs' drivers: HPO_GPU_WAIT (from 0.1 to 600) or 15.
Seconds first_wait();

class DeviceMonitor {
   public:
    struct Options {
        std::filesystem::path program;  ///< `hpo`, which is executed as the helper
        bool opencl = false;            ///< true if OpenCL's devices are listed too, once, at the start
        Seconds every{1};               ///< between two readings
        /// Limit for the first answer: a sleeping driver of eight GPUs takes up to ten seconds to wake up.
        Seconds patience_at_first = first_wait();
        /// Limit for each later answer. A helper that takes longer is killed and started again after a pause. Pause and
        /// limit double each time, up to 30 s, so that a driver that wakes up slowly is read in the end.
        Seconds patience{2};
    };

    /// Does not start a helper; start() does.
    explicit DeviceMonitor(Options options);
    /// Kills the helpers at once. They also die when this process is killed.
    ~DeviceMonitor();
    DeviceMonitor(DeviceMonitor&&) noexcept;
    DeviceMonitor& operator=(DeviceMonitor&&) = delete;

    /// Takes the first reading: waits until it has arrived or failed, or `patience_at_first` is over. `now` is the
    /// caller's time as in poll(). If that takes longer than a second, `on_wait` is called once with a text that names
    /// the driver being waited for.
    void start(Seconds now, const std::function<void(const std::string&)>& on_wait = {});

    /// Takes answers that have arrived, asks again when it is time, and restarts helpers. Never blocks and never fails.
    /// Should be called at least once a second. `now` must not go back.
    void poll(Seconds now);

    /// Returns the readings as of the last poll(). Unless there is a problem, they are at most `every` and the time
    /// between two calls old.
    [[nodiscard]] const DeviceReadings& latest() const;

    /// Returns the notices since the last call: one warning when a problem begins (the helper is slow, hangs or
    /// crashes, the library fails, a device is lost), and one notice when it is over.
    std::vector<DeviceNotice> take_notices();

   private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace hpo
