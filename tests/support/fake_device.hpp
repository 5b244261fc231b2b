// The memory of a fake GPU. Files record the memory that each process takes, so that the fake management library
// (fake_nvml.cpp) reports it. The devices are defined by the script that FAKE_NVML names (FAKES.md).
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace hpo::fake {

struct FakeDevice {
    std::string uuid;
    std::int64_t memory = 0;
    std::string name;
    struct Process {
        std::int64_t pid = 0, bytes = 0, grow = 0;
    };
    std::vector<Process> others;  ///< other programs, which exist only in the script
};

/// A line "NAME FIELDS..." of the script that is neither a device nor a process.
struct Misbehaviour {
    std::string name;
    std::vector<std::string> fields;
};

struct FakeMachine {
    std::vector<FakeDevice> devices;
    std::vector<Misbehaviour> misbehaviours;
};

/// Parses a size such as "8GiB", "512MiB" or "4096".
inline std::int64_t bytes_of(const std::string& text) {
    std::size_t end = 0;
    const double number = std::stod(text, &end);
    const std::string unit = text.substr(end);
    return static_cast<std::int64_t>(number * (unit == "GiB" ? 1 << 30 : unit == "MiB" ? 1 << 20 : 1));
}

inline std::filesystem::path script_path() {
    const char* path = std::getenv("FAKE_NVML");
    return path ? path : "";
}

inline FakeMachine read_machine() {
    FakeMachine machine;
    std::ifstream file(script_path());
    for (std::string line; std::getline(file, line);) {
        std::istringstream stream(line);
        Misbehaviour entry;
        if (!(stream >> entry.name) || entry.name[0] == '#') continue;
        for (std::string field; stream >> field;) entry.fields.push_back(field);
        if (entry.name == "device" && entry.fields.size() >= 2) {
            FakeDevice device{entry.fields[0], bytes_of(entry.fields[1]), "", {}};
            for (std::size_t i = 2; i < entry.fields.size(); ++i) device.name += (i > 2 ? " " : "") + entry.fields[i];
            machine.devices.push_back(std::move(device));
        } else if (entry.name == "process" && entry.fields.size() >= 3) {
            for (FakeDevice& device : machine.devices)
                if (device.uuid == entry.fields[0])
                    device.others.push_back({std::stoll(entry.fields[1]), bytes_of(entry.fields[2]),
                                             entry.fields.size() > 3 ? bytes_of(entry.fields[3]) : 0});
        } else {
            machine.misbehaviours.push_back(std::move(entry));
        }
    }
    return machine;
}

/// Returns the folder of a device's files, which is next to the script. It has a file for each process.
inline std::filesystem::path taken_folder(const std::string& uuid) { return script_path().string() + ".taken/" + uuid; }

/// Returns true if the process exists and is not a zombie, so that it may hold memory.
inline bool is_alive(std::int64_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    const auto name_end = text.rfind(')');
    return name_end != std::string::npos && text.size() > name_end + 2 && text[name_end + 2] != 'Z' &&
           text[name_end + 2] != 'X';
}

/// Returns the bytes that each running process has taken of a device.
inline std::map<std::int64_t, std::int64_t> taken(const std::string& uuid) {
    std::map<std::int64_t, std::int64_t> all;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(taken_folder(uuid), none)) {
        const std::int64_t pid = std::atoll(entry.path().filename().c_str());
        std::int64_t bytes = 0;
        if (pid > 0 && is_alive(pid) && std::ifstream(entry.path()) >> bytes && bytes > 0) all[pid] = bytes;
    }
    return all;
}

/// Returns the UUID of this process's device: the first of CUDA_VISIBLE_DEVICES, by UUID or number, or else the first
/// of the script. Returns "" if there is none.
inline std::string own_device() {
    const FakeMachine machine = read_machine();
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (!visible) return machine.devices.empty() ? "" : machine.devices.front().uuid;
    std::string first = visible;
    first = first.substr(0, first.find(','));
    for (std::size_t i = 0; i < machine.devices.size(); ++i)
        if (machine.devices[i].uuid == first || std::to_string(i) == first) return machine.devices[i].uuid;
    return "";
}

/// Takes `bytes` more of a device for this process, or gives some back if `bytes` is negative. Returns false and takes
/// nothing if the device is full or does not exist. The end of a process frees its memory.
inline bool take(std::int64_t bytes, const std::string& uuid = own_device()) {
    namespace fs = std::filesystem;
    const FakeMachine machine = read_machine();
    for (const FakeDevice& device : machine.devices) {
        if (device.uuid != uuid) continue;
        const fs::path folder = taken_folder(uuid);
        fs::create_directories(folder);
        const int lock = ::open((folder / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        ::flock(lock, LOCK_EX);
        auto all = taken(uuid);
        std::int64_t used = bytes;
        for (const auto& [pid, held] : all) used += held;
        for (const FakeDevice::Process& other : device.others) used += other.bytes;
        const bool fits = used <= device.memory;
        if (fits) {
            const fs::path mine = folder / std::to_string(::getpid());
            std::ofstream(mine.string() + "~") << all[::getpid()] + bytes;
            fs::rename(mine.string() + "~", mine);
        }
        ::close(lock);
        return fits;
    }
    return false;
}

/// Gives back all memory of this process on a device.
inline void give_back(const std::string& uuid = own_device()) {
    std::error_code none;
    std::filesystem::remove(taken_folder(uuid) / std::to_string(::getpid()), none);
}

}  // namespace hpo::fake
