// Live readings of the GPUs that never hold anybody up. The drivers' libraries are loaded by a helper process, `hpo`
// itself re-executed (helper.hpp): a library that hangs, crashes or leaks does so there. Where no NVIDIA driver is
// loaded there is no helper. Linux.
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
    bool warning = false;  ///< trouble begins; else: it is over
    std::string text;      ///< one sentence
};

/// Seconds that a session waits for the first answer of the GPUs' drivers: HPO_GPU_WAIT (from 0.1 to 600), else 15.
Seconds first_wait();

class DeviceMonitor {
   public:
    struct Options {
        std::filesystem::path program;  ///< `hpo`: what is re-executed
        bool opencl = false;            ///< also list OpenCL's devices, once, at the start
        Seconds every{1};               ///< between two readings
        /// For the first answer: a driver that sleeps, of eight GPUs, takes up to ten seconds to wake.
        Seconds patience_at_first = first_wait();
        /// For each later one. A helper that takes longer is killed, and started again after a pause. Pause and
        /// patience double each time, up to 30 s, so that a driver that wakes up slowly is heard in the end.
        Seconds patience{2};
    };

    /// Starts nothing.
    explicit DeviceMonitor(Options options);
    /// The helpers die at once; also when this process is killed.
    ~DeviceMonitor();
    DeviceMonitor(DeviceMonitor&&) noexcept;
    DeviceMonitor& operator=(DeviceMonitor&&) = delete;

    /// The first reading: waits for it until it is here, has failed, or `patience_at_first` is over. `now` is the
    /// caller's time as in poll(). `say` hears once what is waited for, where that takes longer than a second.
    void start(Seconds now, const std::function<void(const std::string&)>& say = {});

    /// Takes what has arrived, asks again when it is time, and looks after the helpers. Never blocks, never fails; may
    /// be called as often as one likes, and should be once a second. `now` never goes back.
    void poll(Seconds now);

    /// As of the last poll(). Without trouble it is `every` and the caller's pace old at most.
    [[nodiscard]] const DeviceReadings& latest() const;

    /// What is worth telling since the last call: one warning when trouble begins (the helper is slow, hangs, crashes;
    /// the library fails; a device is set aside), one line when it is over.
    std::vector<DeviceNotice> take_notices();

   private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace hpo
