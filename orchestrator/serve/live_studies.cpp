#include "orchestrator/serve/live_studies.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "hpo/open_trials.hpp"
#include "hpo/standing.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/store/notes.hpp"
#include "os/files.hpp"

namespace hpo::serve {

namespace {

using Json = nlohmann::ordered_json;

/// A study that no client has asked for recently is dropped from memory, except for its row in the list, if it does not
/// run or has many trials.
constexpr std::size_t many = 1000;
constexpr std::chrono::seconds forgotten_after{60};

/// Returns the CPU time of this thread.
std::chrono::nanoseconds time_of_thread() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Text dumped(const Json& json) {
    return std::make_shared<const std::string>(json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
}

Figures figures_of(const StudySnapshot& snapshot) {
    Figures figures{.study = snapshot.folder.name(),
                    .metric = snapshot.study.objective.metric,
                    .running = snapshot.holder.has_value(),
                    .trials = count_states(snapshot.record),
                    .budget = {}};
    if (!is_open_ended(snapshot.study.budget)) figures.budget = snapshot.study.budget.trials;
    for (const TrialRecord& trial : snapshot.record.trials) figures.steps += trial.trained;
    if (const TrialRecord* best = best_trial(snapshot.record, snapshot.study.objective)) figures.best = best->value;
    return figures;
}

/// Inode, sizes and times of the files of a database and of notes; they change with every stored change. A missing file
/// has zeros.
using Look = std::tuple<ino_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

Look look_at(const StudyFolder& folder) {
    const auto of = [](const std::string& path) {
        struct stat info {};
        if (::stat(path.c_str(), &info) != 0) info = {};
        return info;
    };
    const auto time = [](const struct stat& info) { return os::modified_at(info); };
    const std::string path = folder.database().string();
    const auto database = of(path), log = of(path + "-wal"), notes = of(notes_file(folder).string());
    return {database.st_ino, database.st_size, time(database), log.st_size, time(log), time(notes)};
}

}  // namespace

/// A study, with its texts as long as they are right.
struct LiveStudies::Shown {
    Shown(StudyFolder where, const Sources& of) : folder(std::move(where)), sources(of) {}

    const StudyFolder folder;
    const Sources& sources;
    std::mutex mutex;  ///< of the members below
    std::optional<StudySnapshot> snapshot;
    DocumentMaker document;  ///< of the snapshot
    std::string problem;     ///< why it cannot be read; empty if it can
    Look look{};             ///< when it was last read
    Json summary;
    Figures figures;
    std::string version;
    std::map<Route::To, Text> texts;
    Clock::time_point due{}, used{};

    /// Reads new events, if the last reading is old enough. Reading takes a thirtieth of the time of a core at most.
    void refresh() {
        const auto now = Clock::now();
        if (now < due) return;
        const auto begin = time_of_thread();
        read();
        if (snapshot && now - used > forgotten_after && (!figures.running || snapshot->record.trials.size() > many)) {
            forget();
            texts.clear();
        }
        rest_after(begin);
    }
    /// Lets nothing be read for a while after work that began at this time of the thread.
    void rest_after(std::chrono::nanoseconds begin) {
        const auto pause = std::max<std::chrono::nanoseconds>(std::chrono::seconds(1), 30 * (time_of_thread() - begin));
        due = std::max(due, Clock::now() + pause);
    }
    /// Has a snapshot, where refresh() has found none necessary. Returns the problem, or nothing.
    Result<void> need_snapshot() {
        used = Clock::now();
        refresh();
        if (problem.empty() && !snapshot) take();
        if (!problem.empty()) return Error{problem};
        return {};
    }

   private:
    void forget() {
        snapshot.reset();
        document = {};
    }
    void read() {
        const bool running = holder_of(folder).has_value();
        const Look now = look_at(folder);  // after the holder, whose last events it then has
        if (now == look && running == figures.running) return;
        if (std::get<0>(now) != std::get<0>(look)) forget();  // removed, or begun again
        look = now;
        texts.clear();
        problem.clear();
        if (!snapshot)
            take();
        else if (const auto read = snapshot->refresh(); !read)
            fail(read.error().message);
        if (snapshot) summarise();
    }
    void take() {
        auto taken = take_snapshot(folder);
        if (!taken) return fail(taken.error().message);
        snapshot = *std::move(taken);
        warn_of_missing_results(*snapshot);
        document = sources.new_document();
        summarise();
    }
    void summarise() {
        summary = study_json(*snapshot);
        figures = figures_of(*snapshot);
        version = std::to_string(std::get<0>(look)) + '-' + std::to_string(snapshot->record.sequence) + '-' +
                  std::to_string(std::get<5>(look)) + (figures.running ? "-running" : "");
    }
    void fail(const std::string& why) {
        forget();
        problem = why;
        summary = {{"study", folder.name()}, {"error", why}};
        figures = {};
        version = "unreadable";
    }
};

LiveStudies::LiveStudies(std::vector<StudyFolder> chosen, Sources sources)
    : chosen_(std::move(chosen)), sources_(std::move(sources)) {}

LiveStudies::~LiveStudies() = default;

void LiveStudies::refresh_folders() {
    const auto now = Clock::now();
    if (now < folders_due_) return;
    folders_due_ = now + std::chrono::seconds(1);
    std::vector<StudyFolder> folders = chosen_.empty() ? list_studies(runs_folder()) : chosen_;
    std::error_code ignored;
    std::erase_if(folders, [&](const StudyFolder& each) { return !std::filesystem::exists(each.database(), ignored); });
    std::vector<std::shared_ptr<Shown>> shown;
    for (StudyFolder& folder : folders) {
        const auto known = std::find_if(shown_.begin(), shown_.end(),
                                        [&](const auto& each) { return each->folder.path == folder.path; });
        shown.push_back(known != shown_.end() ? *known : std::make_shared<Shown>(std::move(folder), sources_));
    }
    shown_ = std::move(shown);
}

std::vector<std::shared_ptr<LiveStudies::Shown>> LiveStudies::all() {
    const std::lock_guard lock(mutex_);
    refresh_folders();
    return shown_;
}

Result<std::shared_ptr<LiveStudies::Shown>> LiveStudies::find(const std::string& study) {
    for (auto& each : all())
        if (each->folder.name() == study) return each;
    return Error{"there is no study '" + study + "' here"};
}

Versioned LiveStudies::list() {
    const std::lock_guard once(list_mutex_);
    if (Clock::now() < list_due_) return list_;
    Json studies = Json::array();
    for (const auto& each : all()) {
        const std::lock_guard lock(each->mutex);
        each->refresh();
        studies.push_back(each->summary);
    }
    const Text text = dumped({{"schema", json_schema}, {"studies", std::move(studies)}});
    list_ = {std::to_string(std::hash<std::string>()(*text)), text};
    list_due_ = Clock::now() + std::chrono::seconds(1);
    return list_;
}

std::string LiveStudies::metrics() {
    std::vector<Figures> figures;
    for (const auto& each : all()) {
        const std::lock_guard lock(each->mutex);
        each->refresh();
        if (each->problem.empty()) figures.push_back(each->figures);
    }
    return metrics_text(figures);
}

Result<Versioned> LiveStudies::json(const Route& route) {
    using To = Route::To;
    const auto found = find(route.study);
    if (!found) return found.error();
    Shown& study = **found;
    const std::lock_guard lock(study.mutex);
    if (const auto ready = study.need_snapshot(); !ready) return ready.error();
    if (route.to == To::trial) {
        try {
            return Versioned{study.version, dumped(sources_.trial(*study.snapshot, *route.trial))};
        } catch (const Fatal& fatal) {
            return Error{fatal.what()};
        }
    }
    Text& text = study.texts[route.to];
    if (!text) {
        const auto begin = time_of_thread();
        if (route.to == To::study) {
            Json json{{"schema", json_schema}};
            json.update(study.summary);
            text = dumped(json);
        } else if (route.to == To::trials) {
            text = dumped(trials_json(*study.snapshot));
        } else {
            try {
                text = dumped(study.document(*study.snapshot));
            } catch (const Fatal& fatal) {
                return Error{fatal.what()};
            }
        }
        study.rest_after(begin);
    }
    return Versioned{study.version, text};
}

Result<std::string> LiveStudies::version(const std::string& study) {
    if (study.empty()) return list().version;
    const auto found = find(study);
    if (!found) return found.error();
    const std::lock_guard lock((*found)->mutex);
    (*found)->refresh();
    return (*found)->version;
}

Result<LiveStudies::Subject> LiveStudies::subject(const std::string& study, std::optional<std::int64_t> trial) {
    const auto found = find(study);
    if (!found) return found.error();
    if (!trial) return Subject{*found, trial};
    const std::lock_guard lock((*found)->mutex);
    if (const auto ready = (*found)->need_snapshot(); !ready) return ready.error();
    const auto last = static_cast<std::int64_t>((*found)->snapshot->record.trials.size());
    if (*trial > last)
        return Error{"study " + study + " has no trial " + std::to_string(*trial) + "; the last one is " +
                     std::to_string(last)};
    return Subject{*found, trial};
}

Result<void> LiveStudies::stop(const Subject& subject) const {
    const StudyFolder& folder = subject.study->folder;
    const auto holder = holder_of(folder);
    if (!holder) return Error{"study " + folder.name() + " is not running: there is nothing to stop"};
    return sources_.stop(*holder, subject.trial);
}

Result<void> LiveStudies::remark(const Subject& subject,
                                 const std::function<Result<void>(const StudyFolder&, std::int64_t)>& write) {
    Shown& shown = *subject.study;
    const std::lock_guard lock(shown.mutex);
    if (const auto written = write(shown.folder, subject.trial.value_or(0)); !written) return written.error();
    shown.due = {};  // its author sees the change at once
    return {};
}

Result<void> LiveStudies::add_note(const Subject& subject, const std::string& text) {
    if (const std::string problem = problem_with_note(text); !problem.empty()) return Error{problem};
    return remark(subject,
                  [&](const StudyFolder& folder, std::int64_t number) { return hpo::add_note(folder, number, text); });
}

Result<void> LiveStudies::change_tags(const Subject& subject, const std::string& words) {
    std::vector<std::string> added, removed;
    std::istringstream stream(words);
    for (std::string word; stream >> word;) {
        const bool removes = word.starts_with('-');
        const std::string tag = word.substr(removes ? 1 : 0);
        if (const std::string problem = problem_with_tag(tag); !problem.empty()) return Error{problem};
        (removes ? removed : added).push_back(tag);
    }
    if (added.empty() && removed.empty()) return Error{"name a tag, or -TAG to remove it"};
    return remark(subject, [&](const StudyFolder& folder, std::int64_t number) {
        return hpo::change_tags(folder, number, added, removed);
    });
}

}  // namespace hpo::serve
