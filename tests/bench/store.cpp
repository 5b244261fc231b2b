// Events per second that the store writes and reads. FOLDER must be on the disk to be measured.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include "orchestrator/store/store.hpp"

namespace {

using namespace hpo;

template <class F>
double per_second(const char* what, std::int64_t count, F&& step) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 1; i <= count; ++i) step(i);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const double rate = static_cast<double>(count) / took.count();
    std::printf("%-34s %10.0f /s  (%lld in %.2f s)\n", what, rate, static_cast<long long>(count), took.count());
    return rate;
}

void must(bool ok) {
    if (!ok) std::fprintf(stderr, "the store refused an event\n"), std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
    const std::filesystem::path folder = argc > 1 ? argv[1] : ".";
    const auto file = folder / "bench-store.db";
    std::filesystem::remove(file);
    {
        auto store = open_store(file);
        must(store.ok());
        per_second("durable appends (Proposed)", 2000, [&](std::int64_t i) {
            must((*store)
                     ->append(event::Proposed{i, {0.1, 0.2}, {{"lr", 0.001}, {"batch_size", std::int64_t{256}}}})
                     .ok());
        });
        per_second("reports", 200'000, [&](std::int64_t i) {
            event::Reported e{i % 2000 + 1, 1, {}};
            e.report.step = i / 2000 + 1;
            e.report.metrics = {{"loss", 0.3125}, {"val_loss", 0.33251}, {"val_accuracy", 0.8953}};
            e.report.iteration = i;
            e.report.seconds = 12.5;
            e.report.iterations_per_second = 170.25;
            e.report.samples_per_second = 43584;
            e.report.peak_bytes = 93 << 20;
            must((*store)->append(e).ok());
        });
    }
    std::printf("file: %.1f MiB\n", static_cast<double>(std::filesystem::file_size(file)) / 1048576);
    StudyRecord record;
    per_second("opened, read and replayed (studies)", 1, [&](std::int64_t) {
        auto store = open_store(file);
        must(store.ok());
        for (bool more = true; more;) {
            const auto events = (*store)->events(record.sequence, 4096);
            must(events.ok());
            for (const auto& event : *events) apply(record, event, Objective{});
            more = !events->empty();
        }
    });
    std::filesystem::remove(file);
}
