// Notes and tags of users about a study and its trials.
//
// They lie in `notes.json` beside the database, which has one writer: so they can be written while another process runs
// the study, and earlier versions of hpo read the study as before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo {

struct Note {
    double time = 0;   ///< when it was written, in seconds since the epoch
    std::string text;  ///< any text, also with line breaks and markup
};

/// Notes and tags of a study or of a trial.
struct Remarks {
    std::vector<Note> notes;        ///< in the order of writing
    std::vector<std::string> tags;  ///< in the order of their addition, each once
    [[nodiscard]] bool empty() const { return notes.empty() && tags.empty(); }
};

struct Notes {
    Remarks study;
    std::map<std::int64_t, Remarks> trials;  ///< by number, those that have any

    /// Returns the remarks about a trial, or about the study for 0.
    [[nodiscard]] Remarks& of(std::int64_t trial) { return trial == 0 ? study : trials[trial]; }
    [[nodiscard]] Remarks of(std::int64_t trial) const {
        const auto found = trials.find(trial);
        return trial == 0 ? study : found == trials.end() ? Remarks{} : found->second;
    }
};

/// Returns why a text cannot be a note: it is blank, or longer than 10,000 bytes. Empty: it can.
std::string problem_with_note(const std::string& text);

/// Returns why a text cannot be a tag: a tag has 1 to 64 characters of printable text without blanks and commas, and no
/// leading '-'. Empty: it can.
std::string problem_with_tag(const std::string& tag);

/// Returns the path of the file with the notes of a study.
std::filesystem::path notes_file(const StudyFolder& folder);

/// Returns the notes of a study; an empty list if there are none. Fails if the file is damaged.
Result<Notes> read_notes(const StudyFolder& folder);

/// Returns the notes of a study; none if they are damaged, which `hpo note` says. For lists, where results count more.
Notes readable_notes(const StudyFolder& folder);

/// Reads the notes, lets `change` change them, and replaces the file. Waits for other processes that do the same.
Result<void> change_notes(const StudyFolder& folder, const std::function<void(Notes&)>& change);

/// Adds a note of this moment to a trial, or to the study for 0.
Result<void> add_note(const StudyFolder& folder, std::int64_t trial, const std::string& text);

/// Adds tags to a trial, or to the study for 0; removes those of `removed`.
Result<void> change_tags(const StudyFolder& folder, std::int64_t trial, const std::vector<std::string>& added,
                         const std::vector<std::string>& removed);

}  // namespace hpo
