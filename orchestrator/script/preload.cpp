#include "orchestrator/script/preload.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hpo/wire.hpp"
#include "orchestrator/script/syntax/interpreter.hpp"
#include "os/process.hpp"

namespace hpo::script {

namespace {

using std::string;

constexpr const char* prepared_variable = "HPO_PREPARED";

bool write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t size = ::write(descriptor, bytes.data(), bytes.size());
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
}

}  // namespace

std::vector<string> preload_command(const ScriptWorker& script, const std::filesystem::path& python) {
    const auto count = interpreter_arguments(script.command);
    if (script.preload.empty() || !count) return {};
    const auto file = script.command.begin() + static_cast<std::ptrdiff_t>(*count);
    std::vector<string> start(script.command.begin(), file);
    start.push_back((python / "hpo/preload.py").string());
    start.push_back(wire::Json{{"modules", script.preload},
                               {"command", std::vector<string>(file, script.command.end())},
                               {"interpreter", *count},
                               {"adapter", script.metrics.has_value()}}
                        .dump(-1, ' ', true, wire::Json::error_handler_t::replace));
    return start;
}

std::optional<Prepared> take_prepared() {
    const char* text = std::getenv(prepared_variable);
    Prepared prepared;
    int order = -1, output = -1;
    if (text == nullptr || std::sscanf(text, "%d %d %d", &prepared.pid, &order, &output) != 3) return {};
    ::unsetenv(prepared_variable);
    prepared.order = Descriptor(order);
    prepared.output = Descriptor(output);
    for (const int descriptor : {order, output}) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    ::fcntl(output, F_SETFL, O_NONBLOCK);
    return prepared;
}

supervisor::Child start_prepared(Prepared prepared, supervisor::Start order) {
    order.environment = supervisor::merged_environment(order.environment);
    order.cpus = os::allowed_cores();
    const string packed = supervisor::pack(order);
    const auto size = static_cast<std::uint32_t>(packed.size());
    supervisor::Child child;
    if (!write_all(prepared.order.get(), {reinterpret_cast<const char*>(&size), sizeof size}) ||
        !write_all(prepared.order.get(), packed)) {
        child.error = errno;
        child.failed = "tell the preloaded interpreter what to run";
        return child;
    }
    child.pid = prepared.pid;
    child.output = std::move(prepared.output);
    return child;
}

}  // namespace hpo::script
