// A worker that trains nothing and speaks the protocol, well or badly, as its script says (FAKES.md). Its curves are a
// function of the parameters and the step alone.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "hpo/wire.hpp"
#include "tests/support/fake_misdeeds.hpp"
#include "tests/support/fake_script.hpp"

namespace hpo::fake {
namespace {

using Script = std::vector<Directive>;

/// Validation loss falls from 2.3 to a floor that tells how good the parameters are.
Metrics curve(const Params& params, std::int64_t step) {
    const auto param = [&](const char* name, double otherwise) {
        const auto found = params.find(name);
        return found == params.end() ? otherwise : number_or(found->second, otherwise);
    };
    const auto square = [](double x) { return x * x; };
    const double badness = square(std::log10(param("lr", 0.003)) + 2.5) + 2 * square(param("dropout", 0.3) - 0.3) +
                           0.1 * square(std::log10(param("weight_decay", 0.01)) + 2) +
                           0.02 * square(std::log2(param("batch_size", 512)) - 9) + square(param("x", 0)) +
                           square(param("y", 0));
    const double floor = std::min(0.25 + 0.3 * badness, 2.3);
    const double loss = floor + (2.3 - floor) * std::exp(-0.4 * static_cast<double>(step));
    return {{"loss", 0.9 * loss}, {"val_loss", loss}, {"val_accuracy", std::exp(-0.4 * loss)}};
}

class Worker {
   public:
    explicit Worker(Script start) : start_(std::move(start)) {}
    int run();

   private:
    void connect();
    void send(const WorkerMessage& message) { write_all(socket_, wire::encode(message)); }
    std::optional<OrchestratorMessage> receive();
    void plan(const to_worker::Plan& question);
    void train(const to_worker::Run& run);
    void misdeeds(const Script& script, long moment);
    void tell_wrongly(const Script& script, const from_worker::Reported& report);
    to_worker::Action decision(const to_worker::Run& run, std::int64_t step);

    Script start_;
    int socket_ = -1;
    std::string received_;
    bool deaf_ = false;
};

int Worker::run() {
    for (const auto& directive : start_) misbehave(directive, -1);
    if (find(start_, "nohello") != nullptr) sleep_forever();
    connect();
    from_worker::Hello hello;
    const char* token = std::getenv("HPO_TOKEN");
    hello.token = token == nullptr ? "" : token;
    if (const auto* wrong = find(start_, "token")) hello.token = wrong->value;
    if (const auto* other = find(start_, "version")) hello.version = static_cast<int>(other->count(99));
    hello.pid = ::getpid();
    hello.backend = "cpu";
    hello.capabilities = {"plan", "checkpoint"};
    send(hello);
    while (const auto message = receive()) {
        if (std::holds_alternative<to_worker::Shutdown>(*message)) break;
        if (const auto* question = std::get_if<to_worker::Plan>(&*message)) plan(*question);
        if (const auto* order = std::get_if<to_worker::Run>(&*message)) train(*order);
    }
    return 0;
}

void Worker::connect() {
    const char* endpoint = std::getenv("HPO_ENDPOINT");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (endpoint != nullptr) std::strncpy(address.sun_path, endpoint, sizeof address.sun_path - 1);
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        std::cerr << "cannot connect to HPO_ENDPOINT: " << std::strerror(errno) << '\n';
        ::_exit(2);
    }
}

/// Nothing: the connection is closed.
std::optional<OrchestratorMessage> Worker::receive() {
    for (;;) {
        if (const auto end = received_.find('\n'); end != std::string::npos) {
            const std::string line = received_.substr(0, end);
            received_.erase(0, end + 1);
            auto message = wire::decode_orchestrator(line);
            if (message) return *std::move(message);
            std::cerr << "not understood: " << message.error().message << '\n';
            continue;
        }
        char buffer[65536];
        const ssize_t size = ::read(socket_, buffer, sizeof buffer);
        if (size <= 0) return std::nullopt;
        received_.append(buffer, static_cast<std::size_t>(size));
    }
}

void Worker::plan(const to_worker::Plan& question) {
    from_worker::PlanAnswer answer;
    answer.id = question.id;
    const auto found = question.params.find("fake");
    if (found != question.params.end() && std::holds_alternative<std::string>(found->second))
        if (const auto script = parse_script(std::get<std::string>(found->second));
            const auto* bad = find(script, "noplan"))
            answer.error = bad->value.empty() ? "it cannot be" : bad->value;
    answer.footprint = {0, 8 << 20, 1};
    answer.arena_bytes = 1 << 20;
    answer.data_bytes = 1 << 20;
    answer.parameters = 1000;
    answer.iterations_per_step = 100;
    answer.flops_per_step = 1e6;
    send(answer);
}

void Worker::misdeeds(const Script& script, long moment) {
    for (const auto& directive : script)
        if (directive.moment == moment) misbehave(directive, socket_);
}

/// The misdeeds that are made of messages.
void Worker::tell_wrongly(const Script& script, const from_worker::Reported& report) {
    for (const auto& directive : script) {
        if (directive.moment != report.report.step) continue;
        from_worker::Reported wrong = report;
        if (directive.name == "step" && directive.value == "huge") {
            std::string line = wire::encode(WorkerMessage{wrong});
            line.replace(line.find("\"step\":") + 7, std::to_string(wrong.report.step).size(), "1e300");
            write_all(socket_, line);
        } else if (directive.name == "step") {
            wrong.report.step = directive.count(-1);
            send(wrong);
        } else if (directive.name == "old") {
            --wrong.id.attempt;
            send(wrong);
        } else if (directive.name == "stranger") {
            wrong.id.trial += 1000;
            send(wrong);
        } else if (directive.name == "flood") {
            for (long i = directive.count(1'000'000); i > 0; --i) send(wrong);
        } else if (directive.name == "deaf") {
            deaf_ = true;
        }
    }
}

to_worker::Action Worker::decision(const to_worker::Run& run, std::int64_t step) {
    while (const auto message = receive()) {
        if (std::holds_alternative<to_worker::Shutdown>(*message)) ::_exit(0);
        if (const auto* stop = std::get_if<to_worker::Stop>(&*message); stop != nullptr && stop->id == run.id)
            return to_worker::Action::stop;
        const auto* said = std::get_if<to_worker::Decision>(&*message);
        if (said != nullptr && said->id == run.id && said->step == step) return said->action;
    }
    ::_exit(0);
}

void Worker::train(const to_worker::Run& run) {
    Script script;
    if (const auto found = run.params.find("fake");
        found != run.params.end() && std::holds_alternative<std::string>(found->second))
        script = parse_script(std::get<std::string>(found->second));
    const std::filesystem::path folder = run.folder;
    std::int64_t done = 0;
    if (run.resume && !run.folder.empty()) std::ifstream(folder / "last.ckpt") >> done;
    std::int64_t steps = run.steps;
    if (const auto* own = find(script, "steps")) steps = own->count(steps);

    misdeeds(script, 0);
    send(from_worker::Started{run.id, done});
    from_worker::Finished end{run.id, Outcome::complete, "", {}, ""};
    while (done < steps && end.outcome == Outcome::complete) {
        const std::int64_t step = done + 1;
        if (const auto* slow = find(script, "each")) ::usleep(static_cast<useconds_t>(slow->number(0.01) * 1e6));
        misdeeds(script, step);
        from_worker::Reported report{run.id, {}};
        report.report.step = step;
        report.report.metrics = curve(run.params, step);
        report.report.iteration = step * 100;
        report.report.iterations_per_second = 100;
        report.report.samples_per_second = 25600;
        report.report.seconds = static_cast<double>(step);
        const auto now = [&](std::string_view name) {
            const auto* directive = find(script, name);
            return directive != nullptr && directive->moment == step;
        };
        const bool diverged = now("nan") || now("inf");
        if (diverged)
            for (auto& [name, value] : report.report.metrics) value = now("nan") ? std::nan("") : INFINITY;
        if (now("oom") || now("fail")) {
            end.outcome = now("oom") ? Outcome::out_of_memory : Outcome::failed;
            end.message = now("oom") ? "out of memory: 123 MB wanted" : "it failed, as it was told to";
            break;
        }
        tell_wrongly(script, report);
        send(report);
        auto action = to_worker::Action::go_on;
        if (!deaf_ && find(script, "nowait") == nullptr) action = decision(run, step);
        done = step;
        if (!run.folder.empty() && action != to_worker::Action::stop) {
            std::ofstream(folder / "last.ckpt.tmp") << done;
            std::filesystem::rename(folder / "last.ckpt.tmp", folder / "last.ckpt");
        }
        if (action == to_worker::Action::pause) end.outcome = Outcome::paused;
        if (action == to_worker::Action::stop) end.outcome = Outcome::stopped;
        if (diverged) end.outcome = Outcome::diverged, end.message = "the loss is not finite";
    }
    if (deaf_) sleep_forever();
    if (!run.folder.empty() && done > 0) end.checkpoint = (folder / "last.ckpt").string();
    end.values = curve(run.params, std::max<std::int64_t>(done, 1));
    send(end);
    for (const auto& directive : script)
        if (directive.name == "late") {
            from_worker::Reported late{run.id, {}};
            late.report.step = done + 1;
            late.report.metrics = curve(run.params, done + 1);
            send(late);
            send(end);
        }
    misdeeds(script, at_end);
}

}  // namespace
}  // namespace hpo::fake

int main() {
    ::signal(SIGPIPE, SIG_IGN);
    const char* script = std::getenv("FAKE_WORKER");
    return hpo::fake::Worker(hpo::fake::parse_script(script == nullptr ? "" : script)).run();
}
