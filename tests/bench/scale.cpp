// The parts of tests/bench/scale: large studies made through the ledger, rules on long curves, and a worker that
// reports steps as fast as it can.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "hpo/wire.hpp"
#include "orchestrator/engine/ledger.hpp"
#include "orchestrator/stopping/registry.hpp"
#include "orchestrator/store/study_folder.hpp"
#include "orchestrator/study/study_file.hpp"

namespace {

using namespace hpo;

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "bench_scale: %s\n", why.c_str());
    std::exit(1);
}

template <class T>
T must(Result<T> result) {
    if (!result) fail(result.error().message);
    if constexpr (!std::is_void_v<T>) return *std::move(result);
}

double seconds_of(const auto& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Report step_of(std::int64_t trial, std::int64_t step) {
    const double loss = 0.2 + static_cast<double>(trial % 97) / 100 + 2 / static_cast<double>(step + 1);
    Report report;
    report.step = step;
    report.metrics = {{"loss", loss}, {"val_loss", loss + 0.01}, {"val_accuracy", 1 / (1 + loss)}};
    report.iteration = step * 100;
    report.seconds = 0.5 * static_cast<double>(step);
    report.iterations_per_second = 170.25;
    report.samples_per_second = 43584;
    report.learning_rate = 0.001;
    report.peak_bytes = 93 << 20;
    return report;
}

/// A study file and its database, as if it had run: all trials complete, but those that a rule ended.
void make(const std::filesystem::path& yaml, std::int64_t trials) {
    const Study study = must(read_study(yaml));
    const StudyFolder folder = study_folder(study.name);
    must(make_study_folder(folder));
    const auto store = must(open_store(folder.database()));
    must(store->set_source(study.source));
    Ledger ledger(study, *store, must(Proposer::make(study)), must(Rules::make(study)));
    must(ledger.replay());
    ledger.session_started({"bench", 1, "bench"});
    std::int64_t steps = 0;
    const double took = seconds_of([&] {
        for (std::int64_t n = 0; n < trials; ++n) {
            const auto trial = ledger.propose();
            if (!trial) fail("the space is exhausted");
            ledger.launch(*trial, "cpu 0", {});
            while (ledger.record().trial(*trial).state == TrialState::running) {
                ledger.report(*trial, step_of(*trial, ledger.record().trial(*trial).steps() + 1));
                if (++steps % 1000 == 0) ledger.flush();
                if (steps % 50'000 == 0) ledger.summarize();  // as every second of a session
            }
        }
        ledger.session_ended({1, "made"});
    });
    std::printf("%lld steps in %.2f s: %.0f a second through the ledger and the store\n", static_cast<long long>(steps),
                took, static_cast<double>(steps) / took);
}

/// Prints the seconds that a rule takes for trials of different lengths.
void rules() {
    std::printf("%-12s", "rule");
    for (const char* steps : {"5,000", "10,000", "20,000", "100,000"}) std::printf("%12s", steps);
    std::printf("  steps of one trial, seconds\n");
    for (const PartOptions& part : rule_vocabulary()) {
        std::printf("%-12s", std::string(part.name).c_str());
        for (const std::int64_t steps : {5'000, 10'000, 20'000, 100'000}) {
            const auto rule = must(make_rule({std::string(part.name), {}}, Objective{}, steps + 1));
            TrialRecord trial;
            trial.number = 1;
            std::printf("%12.3f", seconds_of([&] {
                            for (std::int64_t step = 1; step <= steps; ++step) {
                                trial.curve.push_back(step_of(1, step));
                                (void)rule->report(trial);
                            }
                        }));
        }
        std::printf("\n");
    }
}

/// Writes the message as wire::encode() does, without building a JSON value: only hpo is to be measured.
std::string step_line(AttemptId id, const Report& report) {
    std::string metrics;
    char text[512];
    for (const auto& [name, value] : report.metrics) {
        std::snprintf(text, sizeof text, R"(%s"%s":%.16g)", metrics.empty() ? "" : ",", name.c_str(), value);
        metrics += text;
    }
    std::snprintf(text, sizeof text,
                  R"({"attempt":%lld,"it_s":%g,"iteration":%lld,"lr":%g,"metrics":{%s},"peak_bytes":%lld,)"
                  R"("samples_s":%g,"seconds":%g,"step":%lld,"trial":%lld,"type":"report"})"
                  "\n",
                  static_cast<long long>(id.attempt), *report.iterations_per_second,
                  static_cast<long long>(*report.iteration), *report.learning_rate, metrics.c_str(),
                  static_cast<long long>(*report.peak_bytes), *report.samples_per_second, *report.seconds,
                  static_cast<long long>(report.step), static_cast<long long>(id.trial));
    return text;
}

/// Speaks the protocol, trains nothing.
class Worker {
   public:
    Worker() {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const char* endpoint = std::getenv("HPO_ENDPOINT");
        if (!endpoint) fail("not started by hpo");
        std::strncpy(address.sun_path, endpoint, sizeof address.sun_path - 1);
        socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("no connection");
    }
    void work() {
        from_worker::Hello hello;
        if (const char* token = std::getenv("HPO_TOKEN")) hello.token = token;
        hello.pid = ::getpid();
        say(hello);
        for (std::string line; read(line);) {
            const auto message = wire::decode_orchestrator(line);
            if (!message) fail(message.error().message);
            if (std::holds_alternative<to_worker::Shutdown>(*message)) return;
            if (const auto* run = std::get_if<to_worker::Run>(&*message)) train(*run);
        }
    }

   private:
    void train(const to_worker::Run& run) {
        from_worker::Finished end{run.id, Outcome::complete, {}, {}, {}};
        std::string line;
        for (std::int64_t step = 1; step <= run.steps; ++step) {
            write(step_line(run.id, step_of(run.id.trial, step)));
            if (!read(line)) ::_exit(0);
            if (line.find("\"stop\"") != std::string::npos) end.outcome = Outcome::stopped;
            if (line.find("\"pause\"") != std::string::npos) end.outcome = Outcome::paused;
            if (end.outcome != Outcome::complete) break;
        }
        say(end);
    }
    void say(const WorkerMessage& message) { write(wire::encode(message)); }
    void write(const std::string& text) {
        for (std::size_t at = 0; at < text.size();) {
            const ssize_t size = ::write(socket_, text.data() + at, text.size() - at);
            if (size <= 0) ::_exit(0);
            at += static_cast<std::size_t>(size);
        }
    }
    bool read(std::string& line) {
        for (;;) {
            if (const auto end = received_.find('\n'); end != std::string::npos) {
                line = received_.substr(0, end);
                received_.erase(0, end + 1);
                return true;
            }
            // Waits as hpo-worker does. A blocked read() would be woken a second time, when hpo takes in the written
            // bytes.
            pollfd answer{socket_, POLLIN, 0};
            if (::poll(&answer, 1, -1) < 0) return false;
            char buffer[65536];
            const ssize_t size = ::read(socket_, buffer, sizeof buffer);
            if (size <= 0) return false;
            received_.append(buffer, static_cast<std::size_t>(size));
        }
    }
    int socket_ = -1;
    std::string received_;
};

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "rules") {
        rules();
    } else if (what == "worker") {
        Worker().work();
    } else if (what == "make" && argc == 4) {
        make(argv[2], std::atoll(argv[3]));
    } else {
        std::fprintf(stderr, "bench_scale rules | make STUDY.yaml TRIALS | worker\n");
        return 2;
    }
}
