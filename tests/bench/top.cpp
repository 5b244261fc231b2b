// The time of a frame of hpo top: bench_top [TRIALS] [FRAMES], by default 10,000 and 50. A frame is drawn as hpo top
// does: the rows whose curves are shown, the limit of scrolling, the picture. A key is on top of that.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "orchestrator/view/top.hpp"
#include "tests/support/sample_study.hpp"

namespace {

using namespace hpo;
using namespace hpo::view;

Study top_study() {
    Study study;
    study.name = "sample";
    study.worker = NativeWorker{};
    study.fixed = {{"data", std::string("fashion_mnist")}};
    study.budget.epochs = 10;
    study.space = {
        {.name = "batch_size", .kind = Kind::integer, .low = 256, .high = 4096, .log = true},
        {.name = "lr", .low = 3e-4, .high = 3e-2, .log = true},
        {.name = "activation", .kind = Kind::categorical, .choices = {std::string("relu"), std::string("gelu")}}};
    return study;
}

template <class F>
void measure(const char* name, int count, F&& step) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) step();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    std::printf("%-32s %7.2f ms\n", name, took.count() / count);
}

}  // namespace

int main(int argc, char** argv) {
    const std::int64_t trials = argc > 1 ? std::atoll(argv[1]) : 10'000;
    const int frames = argc > 2 ? std::atoi(argv[2]) : 50;
    Study study = top_study();
    study.budget.trials = trials;
    StudyRecord record;
    record.thins = true;
    std::int64_t sequence = 0;
    testing::make_sample_events(trials, [&](const Event& event) {
        ++sequence;
        apply(record, {sequence, 1000.0 + static_cast<double>(sequence), event}, study.objective);
    });
    const Moment moment{125, 2, true};
    const Curves curves;
    const TrialFiles files;
    const std::vector<std::string> studies;
    const TopInput input{study, record, moment, curves, files, studies};
    std::printf("%lld trials\n", static_cast<long long>(trials));
    for (const Screen screen : {Screen{80, 24, true, true}, Screen{250, 60, true, true}}) {
        std::printf("%d x %d\n", screen.width, screen.height);
        TopState state;
        const auto frame = [&] {
            (void)shown_trials(input, state, screen);
            settle(state, input, screen);
            (void)draw_top(input, state, screen);
        };
        measure("  best first", frames, frame);
        measure("  a key and its frame", frames, [&] {
            (void)on_key(state, {KeyCode::down}, input, screen);
            frame();
        });
        state.order = {{TrialField::Kind::parameter, "activation"}};
        measure("  by a parameter of texts", frames, frame);
        state.order = {};
        state.filter = "activation=relu lr<0.004";
        measure("  filtered by two parameters", frames, frame);
        state.filter = "plateau";
        measure("  filtered by a word", frames, frame);
    }
    return 0;
}
