#include "worker/program.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "hpo/version.hpp"
#include "worker/backends/cpu/cpu_device.hpp"
#include "worker/session.hpp"
#include "worker/training/process_memory.hpp"

namespace hpo {
namespace {

constexpr const char* help =
    R"(hpo-worker trains the trials of a study. It is not meant to be started by hand: `hpo run` starts it.

It connects to the Unix socket named by HPO_ENDPOINT, says hello with HPO_TOKEN, and then answers plans and trains
trials, one after the other, until it is told to shut down or the connection closes. It computes on the CPU, on one
thread. What it prints is the log of the trial it trains.

  --version   print the version
  --help      print this
)";

/// OpenBLAS picks its kernels while it is loaded, so a better choice takes a second start.
void execute_again_with_better_kernels(char** argv) {
    const auto core = better_blas_core();
    if (!core) return;
    setenv("OPENBLAS_CORETYPE", core->c_str(), 1);
    execv("/proc/self/exe", argv);
    std::perror("hpo-worker: /proc/self/exe");  // slower, but it works
}

/// Messages, file buffers, and what OpenBLAS packs of wide matrices: seen to be 1.5 to 3.5 MB with layers of up to a
/// thousand units, and up to 1 % of the whole above.
constexpr std::int64_t passing_bytes = std::int64_t{4} << 20;

/// The process with all that computing needs once (OpenBLAS maps its buffers at the first product), no data yet.
std::int64_t measure_process(Device& device) {
    constexpr std::int64_t size = 512;
    Layout layout(1);
    const Linear product{layout.add(Type::f32, size, size), layout.add(Type::f32, size, size),
                         layout.add(Type::f32, size, size)};
    if (const auto arena = device.allocate(layout.bytes())) {
        const auto stream = device.stream(**arena, 1);
        stream->linear(product);
        stream->synchronise();
    }
    return resident_bytes().value_or(0) + passing_bytes;
}

}  // namespace

int worker_main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        if (argument == "--version") return std::printf("hpo-worker %s\n", version), 0;
        if (argument == "--help" || argument == "-h") return std::fputs(help, stdout), 0;
        return std::fprintf(stderr, "hpo-worker: unknown argument %s; see --help\n", argv[i]), 2;
    }
    const char* endpoint = std::getenv("HPO_ENDPOINT");
    if (endpoint == nullptr || *endpoint == '\0') return std::fputs(help, stderr), 2;
    execute_again_with_better_kernels(argv);

    auto connection = Connection::open(endpoint);
    if (!connection) return std::fprintf(stderr, "hpo-worker: %s\n", connection.error().message.c_str()), 1;
    const SteadyClock clock;
    const auto device = make_cpu_device();
    Workshop workshop{*device, clock, 0, {}, {}, {}, {}};
    workshop.process_bytes = measure_process(*device);
    const char* token = std::getenv("HPO_TOKEN");
    try {
        Session(*connection, workshop, clock).serve(token == nullptr ? "" : token);
    } catch (const Disconnected&) {
        std::fputs("the orchestrator closed the connection\n", stderr);
    }
    return 0;
}

}  // namespace hpo
