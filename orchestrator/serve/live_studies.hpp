// Reads studies for all viewers together: each study at most once a second, however many look at it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/serve/metrics.hpp"
#include "orchestrator/serve/request.hpp"
#include "orchestrator/serve/route.hpp"

namespace hpo::serve {

/// Returns the whole content of a study's page. May keep data between calls: each maker serves one study alone.
using DocumentMaker = std::function<nlohmann::ordered_json(const StudySnapshot&)>;

/// Functions of other parts of hpo. Called by several threads.
struct Sources {
    std::function<DocumentMaker()> new_document;  ///< for a study
    /// Returns the object of `hpo show --json`. Throws Fatal if there is no such trial.
    std::function<nlohmann::ordered_json(StudySnapshot&, std::int64_t)> trial;
    /// Asks the holder to stop a trial, or the study.
    std::function<Result<void>(const Holder&, std::optional<std::int64_t>)> stop;
};

/// A text with the version of the study that it shows.
struct Versioned {
    std::string version;
    Text text;
};

class LiveStudies {
   public:
    /// Serves `chosen`, or if it is empty all studies below the folder of runs, also those that begin later.
    LiveStudies(std::vector<StudyFolder> chosen, Sources sources);
    ~LiveStudies();

    /// Returns the output of `hpo ls --json`.
    Versioned list();
    std::string metrics();
    /// Returns the JSON at this route; an Error if the study or the trial is not there, or cannot be read.
    Result<Versioned> json(const Route& route);
    /// Returns a text that changes with the study, or with the list if `study` is empty. An Error: it is not there.
    Result<std::string> version(const std::string& study);

   private:
    struct Shown;

   public:
    /// A study or one of its trials.
    struct Subject {
        std::shared_ptr<Shown> study;
        std::optional<std::int64_t> trial;
    };
    /// Returns the subject of a request. Fails if the study, or its trial, does not exist.
    Result<Subject> subject(const std::string& study, std::optional<std::int64_t> trial);
    static Result<void> add_note(const Subject& subject, const std::string& text);
    /// Adds tags, separated by blanks; removes those with a leading '-'.
    static Result<void> change_tags(const Subject& subject, const std::string& words);
    Result<void> stop(const Subject& subject) const;

   private:
    using Clock = std::chrono::steady_clock;

    std::vector<std::shared_ptr<Shown>> all();
    Result<std::shared_ptr<Shown>> find(const std::string& study);
    /// Calls `write` with the study's folder and the number of the trial, or 0 for the study.
    static Result<void> remark(const Subject& subject,
                               const std::function<Result<void>(const StudyFolder&, std::int64_t)>& write);
    void refresh_folders();

    std::vector<StudyFolder> chosen_;
    Sources sources_;
    std::mutex mutex_;  ///< of shown_ and folders_due_; each study also has its own
    std::vector<std::shared_ptr<Shown>> shown_;
    Clock::time_point folders_due_{};

    std::mutex list_mutex_;  ///< of the members below
    Versioned list_;
    Clock::time_point list_due_{};
};

}  // namespace hpo::serve
