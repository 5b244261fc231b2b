// hpo note and hpo tag: remarks of users about a study or a trial.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/notes.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/lookup/trial_choice.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/store/notes.hpp"

namespace hpo {

namespace {

std::string note_line(const Note& note) { return utc_text(note.time).substr(0, 10) + "  " + printable_line(note.text); }

}  // namespace

std::string tags_text(const Remarks& remarks) {
    std::string text;
    for (const std::string& tag : remarks.tags) text += (text.empty() ? "" : ", ") + printable(tag);
    return text;
}

std::string notes_text(const Remarks& remarks) {
    std::string text;
    for (const Note& note : remarks.notes) text += note_line(note) + '\n';
    return text;
}

std::string remarks_text(const Remarks& remarks) {
    std::string text = remarks.tags.empty() ? "" : "Tags          " + tags_text(remarks) + '\n';
    for (const Note& note : remarks.notes) text += "Note          " + note_line(note) + '\n';
    return text;
}

namespace commands {
namespace {

/// A study, or one of its trials, and the words that follow.
struct Target {
    StudyFolder folder;
    std::int64_t trial = 0;  ///< 0: the study
    std::vector<std::string> words;
};

/// The forms are STUDY WORDS, STUDY TRIAL WORDS and STUDY/TRIAL WORDS. A number alone after STUDY is a trial.
Target target_of(const std::vector<std::string>& arguments) {
    auto rest = arguments.begin() + 1;
    const auto is_number = [](const std::string& word) {
        return !word.empty() && word.size() < 10 &&
               std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    TrialChoice chosen = split_trial(arguments.front(), "", false);
    if (!chosen.trial && rest != arguments.end() && is_number(*rest)) chosen.trial = std::stoll(*rest++);
    Target target{choose_study(chosen.study), 0, {rest, arguments.end()}};
    if (chosen.trial) target.trial = snapshot_or_fail(target.folder, TrialParts::standing).trial(*chosen.trial).number;
    return target;
}

int run_note(const std::vector<std::string>& arguments, bool clear) {
    const Target target = target_of(arguments);
    std::string text;
    for (const std::string& word : target.words) text += (text.empty() ? "" : " ") + word;
    if (clear && !text.empty()) throw Fatal("--clear takes no text", 2);
    if (clear) {
        or_fail(change_notes(target.folder, [&](Notes& notes) { notes.of(target.trial).notes.clear(); }));
    } else if (text.empty()) {
        print(remarks_text(or_fail(read_notes(target.folder)).of(target.trial)));
    } else {
        if (const std::string problem = problem_with_note(text); !problem.empty()) throw Fatal(problem, 2);
        or_fail(add_note(target.folder, target.trial, text));
    }
    return 0;
}

int run_tag(const std::vector<std::string>& arguments, bool remove) {
    const Target target = target_of(arguments);
    for (const std::string& tag : target.words)
        if (const std::string problem = problem_with_tag(tag); !problem.empty()) throw Fatal(problem, 2);
    if (target.words.empty()) {
        if (remove) throw Fatal("--remove needs the tags to remove", 2);
        print(remarks_text(or_fail(read_notes(target.folder)).of(target.trial)));
        return 0;
    }
    const std::vector<std::string> none;
    or_fail(change_tags(target.folder, target.trial, remove ? none : target.words, remove ? target.words : none));
    return 0;
}

struct NoteArguments {
    std::vector<std::string> words;
    bool remove = false;
};

}  // namespace

CommandAction note(CLI::App& app) {
    const auto arguments = std::make_shared<NoteArguments>();
    app.add_option("WHAT", arguments->words,
                   "A study, or STUDY/TRIAL, or a study and a trial's number; then the text. Without text: print notes")
        ->required();
    app.add_flag("--clear", arguments->remove, "Remove the notes");
    return [arguments] { return run_note(arguments->words, arguments->remove); };
}

CommandAction tag(CLI::App& app) {
    const auto arguments = std::make_shared<NoteArguments>();
    app.add_option("WHAT", arguments->words,
                   "A study, or STUDY/TRIAL, or a study and a trial's number; then tags. Without tags: print them")
        ->required();
    app.add_flag("--remove", arguments->remove, "Remove these tags");
    return [arguments] { return run_tag(arguments->words, arguments->remove); };
}

}  // namespace commands
}  // namespace hpo
