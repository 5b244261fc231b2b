// A worker that trains nothing and speaks the protocol correctly or wrongly, as its script demands (FAKES.md). Its
// curves depend on the parameters and the step only.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "hpo/wire.hpp"
#include "tests/support/fake_memory.hpp"
#include "tests/support/fake_misdeeds.hpp"
#include "tests/support/fake_script.hpp"

namespace hpo::fake {
namespace {

using Script = std::vector<Directive>;

double number_in(const Params& params, const std::string& name, double otherwise) {
    const auto found = params.find(name);
    return found == params.end() ? otherwise : number_or(found->second, otherwise);
}

/// Returns the script in a trial's parameter `fake`.
Script script_of(const Params& params) {
    const auto found = params.find("fake");
    if (found == params.end() || !std::holds_alternative<std::string>(found->second)) return {};
    return parse_script(std::get<std::string>(found->second));
}

/// Returns the metrics of a step. The validation loss falls from 2.3 to a floor that depends on the parameters.
Metrics curve(const Params& params, std::int64_t step) {
    const auto param = [&](const char* name, double otherwise) { return number_in(params, name, otherwise); };
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
    /// A running trial. With several slots each has a thread, and the main thread reads the messages for all.
    struct Trial {
        explicit Trial(to_worker::Run order) : run(std::move(order)), script(script_of(run.params)) {}
        to_worker::Run run;
        Script script;
        TrialMemory memory;
        std::deque<OrchestratorMessage> inbox;
    };

    void connect();
    void greet();
    void send(const WorkerMessage& message);
    std::optional<OrchestratorMessage> read_message();
    std::optional<OrchestratorMessage> receive(Trial& trial);
    void deliver(const AttemptId& id, const OrchestratorMessage& message);
    void begin(const to_worker::Run& run);
    void plan(const to_worker::Plan& question);
    void train(Trial& trial);
    bool take_memory(Trial& trial, std::int64_t step, from_worker::Finished& end);
    [[nodiscard]] std::int64_t bytes(const Directive& directive, const Params& params) const;
    void measure(const Trial& trial, Report& report) const;
    void misdeeds(const Script& script, long moment);
    void report_wrongly(const Script& script, const from_worker::Reported& report);
    to_worker::Action decision(Trial& trial, std::int64_t step);

    Script start_;
    int socket_ = -1;
    std::string received_;
    bool deaf_ = false;
    long slots_ = 1;
    bool shrinks_ = false;
    std::mutex sending_;
    std::mutex trials_mutex_;
    std::condition_variable delivered_;
    std::map<AttemptId, Trial*> trials_;
};

int Worker::run() {
    for (const auto& directive : start_) misbehave(directive, -1);
    if (find(start_, "nohello") != nullptr) sleep_forever();
    if (const auto* several = find(start_, "slots")) slots_ = several->count(2);
    shrinks_ = find(start_, "shrinks") != nullptr;
    connect();
    greet();
    while (const auto message = read_message()) {
        if (std::holds_alternative<to_worker::Shutdown>(*message)) break;
        if (const auto* question = std::get_if<to_worker::Plan>(&*message)) plan(*question);
        if (const auto* order = std::get_if<to_worker::Run>(&*message)) begin(*order);
        if (const auto* decision = std::get_if<to_worker::Decision>(&*message)) deliver(decision->id, *message);
        if (const auto* stop = std::get_if<to_worker::Stop>(&*message)) deliver(stop->id, *message);
    }
    ::_exit(0);
}

void Worker::greet() {
    from_worker::Hello hello;
    const char* token = std::getenv("HPO_TOKEN");
    hello.token = token == nullptr ? "" : token;
    if (const auto* token_given = find(start_, "token")) hello.token = token_given->value;
    if (const auto* other = find(start_, "version")) hello.version = static_cast<int>(other->count(99));
    hello.pid = ::getpid();
    hello.slots = slots_;
    hello.backend = "cpu";
    hello.capabilities = {"checkpoint"};
    if (find(start_, "planless") == nullptr) hello.capabilities.emplace_back("plan");
    if (shrinks_) hello.capabilities.emplace_back("micro_batch");
    send(hello);
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

void Worker::send(const WorkerMessage& message) {
    const std::lock_guard lock(sending_);
    write_all(socket_, wire::encode(message));
}

/// Reads the next message. Returns nothing if the connection is closed.
std::optional<OrchestratorMessage> Worker::read_message() {
    for (;;) {
        if (const auto end = received_.find('\n'); end != std::string::npos) {
            const std::string line = received_.substr(0, end);
            received_.erase(0, end + 1);
            auto message = wire::decode_orchestrator(line);
            if (message) return *std::move(message);
            std::cerr << "message not understood: " << message.error().message << '\n';
            continue;
        }
        char buffer[65536];
        const ssize_t size = ::read(socket_, buffer, sizeof buffer);
        if (size <= 0) return std::nullopt;
        received_.append(buffer, static_cast<std::size_t>(size));
    }
}

/// Waits for the next message for this trial.
std::optional<OrchestratorMessage> Worker::receive(Trial& trial) {
    if (slots_ == 1) return read_message();
    std::unique_lock lock(trials_mutex_);
    delivered_.wait(lock, [&] { return !trial.inbox.empty(); });
    OrchestratorMessage message = std::move(trial.inbox.front());
    trial.inbox.pop_front();
    return message;
}

/// Hands a message to the thread of its trial.
void Worker::deliver(const AttemptId& id, const OrchestratorMessage& message) {
    const std::lock_guard lock(trials_mutex_);
    if (const auto found = trials_.find(id); found != trials_.end()) {
        found->second->inbox.push_back(message);
        delivered_.notify_all();
    }
}

void Worker::begin(const to_worker::Run& run) {
    auto trial = std::make_unique<Trial>(run);
    if (slots_ == 1) return train(*trial);
    {
        const std::lock_guard lock(trials_mutex_);
        trials_[run.id] = trial.get();
    }
    std::thread([this, trial = std::move(trial)] {
        train(*trial);
        const std::lock_guard lock(trials_mutex_);
        trials_.erase(trial->run.id);
    }).detach();
}

/// Returns the bytes of a directive, whose value is a number of MiB or the name of a parameter that holds one. A worker
/// that can shrink takes less with more micro-batches.
std::int64_t Worker::bytes(const Directive& directive, const Params& params) const {
    const bool number =
        !directive.value.empty() && directive.value.find_first_not_of("0123456789.") == std::string::npos;
    const double mib = number || directive.value.empty() ? directive.number(16) : number_in(params, directive.value, 0);
    const double parts = shrinks_ ? std::max(1.0, number_in(params, "accumulation", 1)) : 1;
    return static_cast<std::int64_t>(mib * static_cast<double>(mebibyte) / parts);
}

void Worker::plan(const to_worker::Plan& question) {
    const Script script = script_of(question.params);
    from_worker::PlanAnswer answer;
    answer.id = question.id;
    if (const auto* bad = find(script, "noplan"))
        answer.error = bad->value.empty() ? "the plan is impossible" : bad->value;
    answer.footprint = {0, 8 * mebibyte, 1};
    if (const auto* device = find(script, "plan")) answer.footprint.device_bytes = bytes(*device, question.params);
    if (const auto* host = find(script, "planhost")) answer.footprint.host_bytes = bytes(*host, question.params);
    if (const auto* cores = find(script, "plancores")) answer.footprint.cores = cores->number(1);
    answer.arena_bytes = mebibyte;
    answer.data_bytes = mebibyte;
    answer.parameters = 1000;
    answer.iterations_per_step = 100;
    answer.flops_per_step = 1e6;
    send(answer);
}

void Worker::misdeeds(const Script& script, long moment) {
    for (const auto& directive : script)
        if (directive.moment == moment && directive.name != "allocate") misbehave(directive, socket_);
}

/// Sends the wrong messages that the script asks for before the report of this step.
void Worker::report_wrongly(const Script& script, const from_worker::Reported& report) {
    for (const auto& directive : script) {
        if (directive.moment != report.report.step) continue;
        from_worker::Reported wrong_report = report;
        if (directive.name == "step" && directive.value == "huge") {
            std::string line = wire::encode(WorkerMessage{wrong_report});
            line.replace(line.find("\"step\":") + 7, std::to_string(wrong_report.report.step).size(), "1e300");
            write_all(socket_, line);
        } else if (directive.name == "step") {
            wrong_report.report.step = directive.count(-1);
            send(wrong_report);
        } else if (directive.name == "old") {
            --wrong_report.id.attempt;
            send(wrong_report);
        } else if (directive.name == "stranger") {
            wrong_report.id.trial += 1000;
            send(wrong_report);
        } else if (directive.name == "flood") {
            for (long i = directive.count(1'000'000); i > 0; --i) send(wrong_report);
        } else if (directive.name == "deaf") {
            deaf_ = true;
        }
    }
}

/// Takes the memory that the script asks for before the report of `step`. Returns false if it was refused, with the
/// reason in `end`.
bool Worker::take_memory(Trial& trial, std::int64_t step, from_worker::Finished& end) {
    for (const auto& directive : trial.script) {
        const bool once = directive.moment == step, again = directive.moment <= step && directive.moment >= 0;
        const bool device = directive.name == "take" ? once : directive.name == "grow" && again;
        const bool host = directive.name == "allocate" ? once : directive.name == "grow-host" && again;
        if (!device && !host) continue;
        const std::int64_t wanted = bytes(directive, trial.run.params);
        if (device ? trial.memory.take_device(wanted) : trial.memory.take_host(wanted)) continue;
        end.message = std::string(device ? "the device" : "the host") +
                      " is out of memory: " + std::to_string(wanted / mebibyte) + " MiB more wanted";
        if (const auto* crash = find(trial.script, "crash-when-full")) {
            write_all(2, end.message + "\n");
            misbehave({"die", crash->value.empty() ? "SIGABRT" : crash->value, 0}, socket_);
        }
        end.outcome = Outcome::out_of_memory;
        return false;
    }
    return true;
}

/// Adds the peaks of memory to a report: with one slot that of the process, with several the trial's own memory.
void Worker::measure(const Trial& trial, Report& report) const {
    if (find(trial.script, "nopeaks") != nullptr) return;
    report.peak_bytes = slots_ == 1 ? peak_host_bytes() : trial.memory.host_bytes();
    if (trial.memory.device_bytes() > 0) report.peak_device_bytes = trial.memory.device_bytes();
}

to_worker::Action Worker::decision(Trial& trial, std::int64_t step) {
    const AttemptId id = trial.run.id;
    while (const auto message = receive(trial)) {
        if (std::holds_alternative<to_worker::Shutdown>(*message)) ::_exit(0);
        if (const auto* stop = std::get_if<to_worker::Stop>(&*message); stop != nullptr && stop->id == id)
            return to_worker::Action::stop;
        const auto* decision = std::get_if<to_worker::Decision>(&*message);
        if (decision != nullptr && decision->id == id && decision->step == step) return decision->action;
    }
    ::_exit(0);
}

void Worker::train(Trial& trial) {
    const to_worker::Run& run = trial.run;
    const Script& script = trial.script;
    const std::filesystem::path folder = run.folder;
    std::int64_t done = 0;
    if (run.resume && !run.folder.empty()) std::ifstream(folder / "last.ckpt") >> done;
    std::int64_t steps = run.steps;
    if (const auto* own = find(script, "steps")) steps = own->count(steps);

    from_worker::Finished end{run.id, Outcome::complete, "", {}, ""};
    reset_peak_host_bytes();
    misdeeds(script, 0);
    take_memory(trial, 0, end);
    if (end.outcome == Outcome::complete) send(from_worker::Started{run.id, done});
    while (done < steps && end.outcome == Outcome::complete) {
        const std::int64_t step = done + 1;
        if (const auto* slow = find(script, "each")) ::usleep(static_cast<useconds_t>(slow->number(0.01) * 1e6));
        misdeeds(script, step);
        if (!take_memory(trial, step, end)) break;
        from_worker::Reported report{run.id, {}};
        report.report.step = step;
        report.report.metrics = curve(run.params, step);
        report.report.iteration = step * 100;
        report.report.iterations_per_second = 100;
        report.report.samples_per_second = 25600;
        report.report.seconds = static_cast<double>(step);
        measure(trial, report.report);
        const auto due = [&](std::string_view name) {
            const auto* directive = find(script, name);
            return directive != nullptr && directive->moment == step;
        };
        const bool diverged = due("nan") || due("inf");
        if (diverged)
            for (auto [name, value] : report.report.metrics) value = due("nan") ? std::nan("") : INFINITY;
        if (due("oom") || due("fail")) {
            end.outcome = due("oom") ? Outcome::out_of_memory : Outcome::failed;
            end.message = due("oom") ? "out of memory: 123 MB wanted" : "it failed as requested";
            break;
        }
        report_wrongly(script, report);
        send(report);
        auto action = to_worker::Action::go_on;
        if (!deaf_ && find(script, "nowait") == nullptr) action = decision(trial, step);
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
    trial.memory.release();
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
