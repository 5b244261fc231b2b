#include "orchestrator/devices/helper.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "hpo/end_with_peer.hpp"
#include "orchestrator/devices/device_codec.hpp"
#include "orchestrator/devices/metal.hpp"
#include "orchestrator/devices/nvml.hpp"
#include "orchestrator/devices/opencl.hpp"
#include "os/process.hpp"

namespace hpo {
namespace {

constexpr int asker = STDIN_FILENO;

/// Reads NVIDIA's devices. As long as the library cannot be loaded, each reading tries again.
DeviceReadings read_nvidia() {
    static std::optional<Nvml> nvml;
    if (!nvml) {
        auto loaded = Nvml::load();
        if (!loaded) return {.problem = loaded.error().message};
        nvml.emplace(*std::move(loaded));
    }
    return nvml->read();
}

bool send_all(std::string_view text) {
    while (!text.empty()) {
        const auto sent = ::send(asker, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

}  // namespace

int run_device_helper(int argc, char** argv) {
    if (argc != 3) return 2;
    end_with_peer(asker);
    os::name_thread(device_helper_name);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);

    const auto is = [&](const char* library) { return std::strcmp(argv[2], library) == 0; };
    const auto read = is("opencl") ? read_opencl : is("metal") ? read_metal : read_nvidia;
    for (char asked;;) {
        const auto size = ::recv(asker, &asked, 1, 0);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0 || !send_all(to_line(read()) + '\n')) break;
    }
    ::_exit(0);  // a library's handlers at exit may hang as well
}

}  // namespace hpo
