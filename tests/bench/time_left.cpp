// The predicted time left against the truth: the events of stored studies (their study.db) are replayed, and at each
// fortieth of a study's time the prediction is compared with the time it then took. Pauses between sessions do not
// count.
//
// tests/bench/time_left.py records studies and runs this program on them. To run it on other studies:
//
//     build/release/tests/bench/bench_time_left runs/debug/study.db runs/phase1/study.db
#include <cstdio>

#include "orchestrator/simulation/time_left.hpp"
#include "orchestrator/store/store.hpp"
#include "orchestrator/study/study_file.hpp"
#include "orchestrator/view/summary.hpp"

namespace {

using namespace hpo;

/// Returns for each event the seconds for which the study had been running.
std::vector<double> held_at(const std::vector<StoredEvent>& events, const Objective& objective) {
    std::vector<double> held;
    StudyRecord record;
    for (const StoredEvent& stored : events) {
        apply(record, stored, objective);
        held.push_back(view::moment_of(record, stored.time, true).seconds);
    }
    return held;
}

void replay(const char* file) {
    const auto store = open_store_read_only(file);
    if (!store) throw Fatal(store.error().message);
    const auto study = parse_study((*store)->source(), file);
    if (!study) throw Fatal(study.error().message);
    std::vector<StoredEvent> events;
    for (;;) {
        auto batch = (*store)->events(events.empty() ? 0 : events.back().sequence, 10'000);
        if (!batch) throw Fatal(batch.error().message);
        events.insert(events.end(), batch->begin(), batch->end());
        if (batch->size() < 10'000) break;
    }
    if (events.empty()) throw Fatal(std::string(file) + " has no events");
    const auto held = held_at(events, study->objective);
    const double end = held.back();
    std::printf("%s: %.1f s\n  at      true     said                    expected/true\n", study->name.c_str(), end);
    StudyRecord record;
    double next = 0;
    int inside = 0, within_two = 0, count = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        apply(record, events[i], study->objective);
        if (held[i] < next || end - held[i] < end / 50) continue;
        next = held[i] + end / 40;
        const auto said = time_left(*study, record, held[i]);
        if (!said) continue;
        const double left = end - held[i], ratio = said->expected / left;
        std::printf("  %3.0f %%  %7.1f  %7.1f to %7.1f  %8.2f\n", 100 * held[i] / end, left, said->least, said->most,
                    ratio);
        if (held[i] < end / 4) continue;
        ++count;
        inside += said->least <= left && left <= said->most ? 1 : 0;
        within_two += ratio > 0.5 && ratio < 2 ? 1 : 0;
    }
    std::printf("from a quarter on: in the range %d of %d, the expected value within a factor of two %d\n\n", inside,
                count, within_two);
}

}  // namespace

int main(int count, char** files) try {
    if (count < 2) std::fprintf(stderr, "usage: bench_time_left STUDY.db...\n");
    for (int i = 1; i < count; ++i) replay(files[i]);
    return count < 2 ? 2 : 0;
} catch (const std::exception& failed) {
    std::fprintf(stderr, "%s\n", failed.what());
    return 1;
}
