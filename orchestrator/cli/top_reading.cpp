#include "orchestrator/cli/top_reading.hpp"

#include <algorithm>
#include <fstream>

#include "hpo/regular_file.hpp"
#include "orchestrator/cli/trial_files.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/observers/session_pools.hpp"
#include "orchestrator/store/study_folder.hpp"
#include "orchestrator/view/time_left.hpp"

namespace hpo {

namespace {

/// The most trials whose steps are read for their curves where all rows are printed.
constexpr std::size_t most_curves = 1000;

/// Reads the curves of these trials. A running trial gets its steps in the record, which later events extend.
Result<void> read_curves(StudySnapshot& snapshot, view::Curves& curves, const std::vector<std::int64_t>& trials) {
    for (const std::int64_t number : trials) {
        const TrialRecord& trial = snapshot.record.trial(number);
        if (!trial.thinned || (is_final(trial.state) && curves.contains(number))) continue;
        if (trial.state == TrialState::running) {
            if (auto read = snapshot.read_steps(number); !read) return read;
            continue;
        }
        const auto whole = snapshot.whole(trial);
        if (!whole) return whole.error();
        curves[number] = view::curve_of(*whole, snapshot.study.objective.metric);
    }
    return {};
}

/// Returns the last lines of a log, at most 64 KiB.
std::vector<std::string> last_lines(const std::string& path) {
    constexpr std::streamoff most = 64 << 10;
    if (!check_regular(path)) return {};
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) return {};
    const std::streamoff size = file.tellg();
    file.seekg(std::max<std::streamoff>(0, size - most));
    std::vector<std::string> lines;
    std::string line;
    if (size > most) std::getline(file, line);  // a part of a line
    while (std::getline(file, line)) lines.push_back(line);
    return lines;
}

std::vector<std::string> names_of_studies() {
    std::vector<std::string> names;
    for (const StudyFolder& folder : list_studies(runs_folder())) names.push_back(folder.name());
    return names;
}

}  // namespace

view::Moment moment_now(const StudySnapshot& snapshot) {
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    auto moment = view::moment_of(snapshot.record, now, snapshot.holder.has_value());
    if (snapshot.holder && snapshot.holder->host == host_name())
        add_pools(moment, snapshot.study.name, snapshot.holder->pid);
    return moment;
}

std::string_view KeptTimeLeft::of(const StudySnapshot& snapshot, const view::Moment& moment) {
    const auto now = Clock::now();
    if (now < until_ || !moment.held) return text_;
    const auto left = view::time_left(snapshot.study, snapshot.record, moment);
    text_ = left ? view::time_left_text(*left) : "";
    const auto end = Clock::now();
    until_ = end + 100 * (end - now);
    return text_;
}

Seen::Seen(const StudySnapshot& study, const view::Curves& read, const view::TopState& state)
    : snapshot(study), curves(read), moment(moment_now(study)) {
    using view::TopPage;
    if (state.page == TopPage::trial || state.page == TopPage::log) {
        files = files_of(study.folder, state.chosen);
        if (const auto& trials = study.record.trials; state.chosen > 0 && state.chosen <= std::ssize(trials))
            files.predicted_end = view::predicted_end(moment, study.record.trial(state.chosen));
        if (!files.log.empty()) files.log_lines = last_lines(files.log);
    }
    if (state.page == TopPage::studies) studies = names_of_studies();
}

Result<void> read_steps(StudySnapshot& snapshot, view::Curves& curves, const view::TopState& state,
                        const view::Screen& screen) {
    const bool of_a_trial = state.page == view::TopPage::trial || state.page == view::TopPage::comparison;
    if (of_a_trial && state.chosen > 0)
        if (auto read = snapshot.read_steps(state.chosen); !read) return read;
    auto rows = view::shown_trials(Seen(snapshot, curves, state).input(), state, screen);
    rows.resize(std::min(rows.size(), most_curves));
    return read_curves(snapshot, curves, rows);
}

}  // namespace hpo
