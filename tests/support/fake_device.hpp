// The memory of a fake GPU: what processes take of it is kept in files, so that the fake management library
// (fake_nvml.cpp) reports what they really took. The devices are those of the script named in FAKE_NVML (FAKES.md).
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
    std::vector<Process> others;  ///< programs that exist only in the script
};

/// A line "WORD FIELDS..." that is not a device.
struct Misbehaviour {
    std::string word;
    std::vector<std::string> fields;
};

struct FakeMachine {
    std::vector<FakeDevice> devices;
    std::vector<Misbehaviour> misbehaviours;
};

/// "8GiB", "512MiB", "4096".
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
        Misbehaviour other;
        if (!(stream >> other.word) || other.word[0] == '#') continue;
        for (std::string field; stream >> field;) other.fields.push_back(field);
        if (other.word == "device" && other.fields.size() >= 2) {
            FakeDevice device{other.fields[0], bytes_of(other.fields[1]), "", {}};
            for (std::size_t i = 2; i < other.fields.size(); ++i) device.name += (i > 2 ? " " : "") + other.fields[i];
            machine.devices.push_back(std::move(device));
        } else if (other.word == "process" && other.fields.size() >= 3) {
            for (FakeDevice& device : machine.devices)
                if (device.uuid == other.fields[0])
                    device.others.push_back({std::stoll(other.fields[1]), bytes_of(other.fields[2]),
                                             other.fields.size() > 3 ? bytes_of(other.fields[3]) : 0});
        } else {
            machine.misbehaviours.push_back(std::move(other));
        }
    }
    return machine;
}

/// Path of a process's file: next to the script there is a folder for each device with a file for each process.
inline std::filesystem::path taken_folder(const std::string& uuid) { return script_path().string() + ".taken/" + uuid; }

/// Whether a process holds memory; a zombie does not.
inline bool lives(std::int64_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    const auto name_end = text.rfind(')');
    return name_end != std::string::npos && text.size() > name_end + 2 && text[name_end + 2] != 'Z' &&
           text[name_end + 2] != 'X';
}

/// Returns bytes by process, for processes that run.
inline std::map<std::int64_t, std::int64_t> taken(const std::string& uuid) {
    std::map<std::int64_t, std::int64_t> all;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(taken_folder(uuid), none)) {
        const std::int64_t pid = std::atoll(entry.path().filename().c_str());
        std::int64_t bytes = 0;
        if (pid > 0 && lives(pid) && std::ifstream(entry.path()) >> bytes && bytes > 0) all[pid] = bytes;
    }
    return all;
}

/// Returns the device of this process: the first of CUDA_VISIBLE_DEVICES, by UUID or number, or else the script's
/// first; empty if there is none.
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

/// Takes further `bytes` for this process; a negative number gives some back. Returns false, and takes nothing, if the
/// device is out of memory or does not exist. The memory of a process is free when it ends.
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
