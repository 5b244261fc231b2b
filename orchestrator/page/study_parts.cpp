#include "orchestrator/page/study_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/regular_file.hpp"
#include "hpo/standing.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/output/trial_json.hpp"

namespace hpo::page {

namespace {

/// Returns the end of a file as at most `lines` lines of printable text.
std::string end_of_file(const std::filesystem::path& path, std::size_t lines) {
    constexpr std::streamoff most_bytes = 8192;
    if (!check_regular(path)) return {};
    std::ifstream stream(path, std::ios::binary | std::ios::ate);
    if (!stream) return {};
    const std::streamoff size = stream.tellg();
    stream.seekg(std::max<std::streamoff>(0, size - most_bytes));
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::size_t from = text.size();
    for (std::size_t i = 0; i < lines && from != std::string::npos && from > 0; ++i) from = text.rfind('\n', from - 1);
    if (from != std::string::npos && from > 0) text.erase(0, from + 1);
    return printable(text, true);
}

}  // namespace

Json curves_of(const StudySnapshot& snapshot, KeptParts& kept) {
    const auto& trials = snapshot.record.trials;
    const auto of = std::count_if(trials.begin(), trials.end(), [](const auto& trial) { return !trial.curve.empty(); });
    const std::vector<std::int64_t> shown = shown_curves(snapshot.study, snapshot.record);
    CurveColumns curves(snapshot.study.objective.metric, shown.size());
    for (const std::int64_t number : shown) {
        const TrialRecord& trial = snapshot.record.trial(number);
        KeptParts::Curve& curve = kept.curves[number];
        if (curve.trained != trial.trained || curve.most != curves.most())
            curve = {trial.trained, curves.most(), curves.points_of(or_fail(snapshot.whole(trial)))};
        curves.add(number, curve.points);
    }
    Json json = curves.json();
    json["of"] = of;
    return json;
}

Json git_json(const CodeState& code) {
    if (code.commit.empty()) return nullptr;
    return {{"commit", code.commit}, {"branch", code.branch}, {"changed", code.changed}};
}

void read_events(const StudySnapshot& snapshot, KeptParts& kept) {
    constexpr std::size_t batch = 4096, most_sessions = 20;
    std::vector<Json>& sessions = kept.sessions;
    for (;;) {
        const auto events = or_fail(snapshot.store->events_to_resume(kept.sequence, batch));
        for (const StoredEvent& stored : events) {
            kept.sequence = stored.sequence;
            kept.attempts.add(stored);
            if (const auto* session = std::get_if<event::SessionStarted>(&stored.event))
                sessions.push_back({{"host", session->host},
                                    {"version", session->version},
                                    {"started", utc_text(stored.time)},
                                    {"git", git_json(session->code)}});
        }
        if (events.size() < batch || kept.sequence >= snapshot.record.sequence) break;
    }
    if (sessions.size() > most_sessions)
        sessions.erase(sessions.begin(), sessions.end() - static_cast<std::ptrdiff_t>(most_sessions));
}

void add_events(Json& json, const StudySnapshot& snapshot, KeptParts& kept) {
    read_events(snapshot, kept);
    json["attempts"] = kept.attempts.json();
    json["sessions"] = kept.sessions;
}

Json failures_of(const StudySnapshot& snapshot) {
    constexpr std::size_t most = 100, log_lines = 30;
    Json failures = Json::array();
    const auto& trials = snapshot.record.trials;
    for (auto trial = trials.rbegin(); trial != trials.rend() && failures.size() < most; ++trial)
        if (trial->state == TrialState::failed || trial->state == TrialState::diverged)
            failures.push_back({{"trial", trial->number},
                                {"state", to_text(trial->state)},
                                {"attempts", trial->attempt},
                                {"reason", printable(trial->reason, true)},
                                {"log", end_of_file(snapshot.folder.trial_log(trial->number), log_lines)}});
    return failures;
}

Json machine() {
    const Host host = read_host();
    return {{"name", host_name()}, {"cpu", host.cpu_name}, {"cores", host.cores}, {"memory", host.memory}};
}

}  // namespace hpo::page
