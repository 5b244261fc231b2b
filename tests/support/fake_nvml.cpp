// A fake of NVIDIA's management library, with the same C symbols. The script that FAKE_NVML names defines its answers.
// FAKES.md lists the lines of a script.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "tests/support/fake_device.hpp"

namespace {

using hpo::fake::FakeDevice;
using hpo::fake::FakeMachine;

constexpr int success = 0, invalid_argument = 2, not_supported = 3, insufficient_size = 7, gpu_is_lost = 15;

FakeMachine machine;  // read at each nvmlInit_v2 and nvmlDeviceGetCount_v2, so that a reading is consistent
std::int64_t readings = 0;

void load() {
    machine = hpo::fake::read_machine();
    if (std::getenv("FAKE_NVML") == nullptr) machine.devices = {{"GPU-fake", 8LL << 30, "Fake GPU", {}}};
}

/// Carries out the script's lines for a call: "slow 0.5 [CALL]", "hang [CALL]", "crash [CALL]", "fail CODE [CALL]".
/// CALL is nvmlInit_v2 by default. Returns the call's status.
int play(const std::string& call) {
    for (const auto& [name, fields] : machine.misbehaviours) {
        const bool has_number = name == "slow" || name == "fail";
        const std::size_t at = has_number ? 1 : 0;
        if ((fields.size() > at ? fields[at] : "nvmlInit_v2") != call) continue;
        if (name == "slow") ::usleep(static_cast<useconds_t>(std::stod(fields.at(0)) * 1e6));
        if (name == "hang")
            for (;;) ::pause();
        if (name == "crash") std::abort();
        if (name == "fail") return std::stoi(fields.at(0));
    }
    return success;
}

std::size_t index_of(void* device) { return reinterpret_cast<std::size_t>(device) - 1; }

/// Returns the status of a call about a device. The line "lost INDEX" makes all of them fail, as drivers do.
int of_device(const char* call, void* device) {
    const std::size_t index = index_of(device);
    if (index >= machine.devices.size()) return invalid_argument;
    for (const auto& [name, fields] : machine.misbehaviours)
        if (name == "lost" && fields.at(0) == std::to_string(index)) return gpu_is_lost;
    return play(call);
}

bool script_has(const char* name) {
    for (const auto& other : machine.misbehaviours)
        if (other.name == name) return true;
    return false;
}

int copy(const std::string& text, char* buffer, unsigned length) {
    if (text.size() + 1 > length) return insufficient_size;
    std::memcpy(buffer, text.c_str(), text.size() + 1);
    return success;
}

/// "activity INDEX QUANTITY VALUE...": one value a reading; the last one stays.
std::optional<double> activity(const std::string& quantity, void* device) {
    for (const auto& [word, fields] : machine.misbehaviours)
        if (word == "activity" && fields.size() > 2 && fields[0] == std::to_string(index_of(device)) &&
            fields[1] == quantity)
            return std::stod(fields[std::min(fields.size() - 1, static_cast<std::size_t>(readings) + 1)]);
    return std::nullopt;
}

int answer(const std::string& quantity, void* device, double unit, unsigned* number) {
    const auto value = activity(quantity, device);
    if (value) *number = static_cast<unsigned>(*value * unit);
    return value ? success : not_supported;
}

std::int64_t bytes_now(const FakeDevice::Process& other) { return other.bytes + other.grow * (readings - 1); }

}  // namespace

extern "C" {

struct Memory {
    unsigned long long total, free, used;
};
struct ProcessInfo {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};
struct PciInfo {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char text[32];
};

int nvmlInit_v2() {
    load();
    std::ofstream(hpo::fake::script_path().string() + ".starts", std::ios::app) << ::getpid() << '\n';
    return play("nvmlInit_v2");
}

int nvmlShutdown() { return success; }

const char* nvmlErrorString(int code) { return code == gpu_is_lost ? "GPU is lost" : "Fake Error"; }

int nvmlSystemGetDriverVersion(char* buffer, unsigned length) {
    for (const auto& [name, fields] : machine.misbehaviours)
        if (name == "driver") return copy(fields.at(0), buffer, length);
    return not_supported;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
    load();
    ++readings;
    *count = static_cast<unsigned>(machine.devices.size());
    return play("nvmlDeviceGetCount_v2");
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = reinterpret_cast<void*>(static_cast<std::size_t>(index) + 1);
    return index < machine.devices.size() ? play("nvmlDeviceGetHandleByIndex_v2") : invalid_argument;
}

/// Returns the first device for every address.
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) { return nvmlDeviceGetHandleByIndex_v2(0, device); }

int nvmlDeviceGetUUID(void* device, char* buffer, unsigned length) {
    const int code = of_device("nvmlDeviceGetUUID", device);
    return code == success ? copy(machine.devices[index_of(device)].uuid, buffer, length) : code;
}

int nvmlDeviceGetName(void* device, char* buffer, unsigned length) {
    const int code = of_device("nvmlDeviceGetName", device);
    return code == success ? copy(machine.devices[index_of(device)].name, buffer, length) : code;
}

int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* pci) {
    const int code = of_device("nvmlDeviceGetPciInfo_v3", device);
    if (code != success) return code;
    *pci = {};
    pci->bus = static_cast<unsigned>(index_of(device)) + 1;
    return success;
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
    const int code = of_device("nvmlDeviceGetMemoryInfo", device);
    if (code != success) return code;
    if (script_has("unified")) return not_supported;
    const FakeDevice& fake = machine.devices[index_of(device)];
    std::int64_t used = 0;
    for (const auto& [pid, bytes] : hpo::fake::taken(fake.uuid)) used += bytes;
    for (const FakeDevice::Process& other : fake.others) used += bytes_now(other);
    if (used > fake.memory) used = fake.memory;
    memory->total = static_cast<unsigned long long>(fake.memory);
    memory->used = static_cast<unsigned long long>(used);
    memory->free = memory->total - memory->used;
    return success;
}

int nvmlDeviceGetTotalEccErrors(void* device, int, int, unsigned long long* count) {
    const int code = of_device("nvmlDeviceGetTotalEccErrors", device);
    if (code != success) return code;
    for (const auto& [name, fields] : machine.misbehaviours)
        if (name == "ecc" && fields.at(0) == std::to_string(index_of(device))) {
            *count = std::stoull(fields.at(1));
            return success;
        }
    return not_supported;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, unsigned char* infos) {
    const int code = of_device("nvmlDeviceGetComputeRunningProcesses_v3", device);
    if (code != success) return code;
    const FakeDevice& fake = machine.devices[index_of(device)];
    std::map<std::int64_t, std::int64_t> all = hpo::fake::taken(fake.uuid);
    for (const FakeDevice::Process& other : fake.others) all[other.pid] += bytes_now(other);
    const unsigned length = *count;
    *count = static_cast<unsigned>(all.size());
    if (length < all.size()) return insufficient_size;
    const std::size_t size = sizeof(ProcessInfo) + (script_has("longer") ? sizeof(unsigned long long) : 0);
    for (const auto& [pid, bytes] : all) {
        const ProcessInfo info{static_cast<unsigned>(pid),
                               script_has("hidden") ? ~0ULL : static_cast<unsigned long long>(bytes), ~0U, ~0U};
        std::memset(infos, 0, size);
        std::memcpy(infos, &info, sizeof info);
        infos += size;
    }
    return success;
}

struct Utilization {
    unsigned gpu, memory;
};

int nvmlDeviceGetUtilizationRates(void* device, Utilization* utilization) {
    const auto gpu = activity("utilization", device);
    if (!gpu) return not_supported;
    const auto memory = activity("memory_utilization", device);
    *utilization = {static_cast<unsigned>(*gpu), static_cast<unsigned>(memory.value_or(0))};
    return success;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) { return answer("power", device, 1000, milliwatts); }

int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
    return answer("power_limit", device, 1000, milliwatts);
}

int nvmlDeviceGetTemperature(void* device, int, unsigned* celsius) { return answer("temperature", device, 1, celsius); }

int nvmlDeviceGetClockInfo(void* device, int, unsigned* megahertz) { return answer("clock", device, 1, megahertz); }

int nvmlDeviceGetPcieThroughput(void* device, int direction, unsigned* kilobytes) {
    return answer(direction == 0 ? "sent" : "received", device, 1e-3, kilobytes);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
    const auto given = activity("throttle", device);
    if (!given) return not_supported;
    *reasons = static_cast<unsigned long long>(*given);
    return success;
}

}  // extern "C"
