#include "orchestrator/store/notes.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "hpo/descriptor.hpp"
#include "hpo/printable.hpp"
#include "hpo/regular_file.hpp"

namespace hpo {

namespace {

using NotesJson = nlohmann::ordered_json;

NotesJson json_of(const Remarks& remarks) {
    NotesJson json{{"notes", NotesJson::array()}, {"tags", remarks.tags}};
    for (const Note& note : remarks.notes) json["notes"].push_back({{"time", note.time}, {"text", note.text}});
    return json;
}

Remarks remarks_of(const NotesJson& json) {
    Remarks remarks;
    for (const NotesJson& note : json.at("notes"))
        remarks.notes.push_back({note.at("time").get<double>(), note.at("text").get<std::string>()});
    remarks.tags = json.at("tags").get<std::vector<std::string>>();
    return remarks;
}

}  // namespace

std::filesystem::path notes_file(const StudyFolder& folder) { return folder.path / "notes.json"; }

std::string problem_with_note(const std::string& text) {
    constexpr std::size_t longest = 10'000;
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) return "a note needs a text";
    if (text.size() <= longest) return {};
    return "a note has at most " + std::to_string(longest) + " bytes, this one " + std::to_string(text.size()) +
           ": keep it in a file, and note where it is";
}

std::string problem_with_tag(const std::string& tag) {
    const auto characters =
        std::count_if(tag.begin(), tag.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
    if (!tag.empty() && characters <= 64 && tag.front() != '-' && tag.find_first_of(" ,") == std::string::npos &&
        printable(tag) == tag)
        return {};
    return "'" + printable(tag) + "' is no tag: 1 to 64 characters without blanks and commas, the first not '-'";
}

Result<Notes> read_notes(const StudyFolder& folder) {
    if (auto regular = check_regular(notes_file(folder)); !regular) return regular.error();
    std::ifstream stream(notes_file(folder), std::ios::binary);
    if (!stream) return Notes{};
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    try {
        const NotesJson json = NotesJson::parse(text);
        Notes notes{remarks_of(json.at("study")), {}};
        for (const auto& [trial, remarks] : json.at("trials").items())
            notes.trials[std::stoll(trial)] = remarks_of(remarks);
        return notes;
    } catch (const std::exception&) {
        return Error{notes_file(folder).string() + ": the file of notes is damaged: repair it or move it away"};
    }
}

Notes readable_notes(const StudyFolder& folder) {
    auto notes = read_notes(folder);
    return notes ? *std::move(notes) : Notes{};
}

Result<void> change_notes(const StudyFolder& folder, const std::function<void(Notes&)>& change) {
    const std::filesystem::path lock = folder.path / "notes.lock";
    const Descriptor locked(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!locked || ::flock(locked.get(), LOCK_EX) != 0) return Error{lock.string() + ": " + std::strerror(errno)};
    auto notes = read_notes(folder);
    if (!notes) return notes.error();
    change(*notes);
    std::erase_if(notes->trials, [](const auto& trial) { return trial.second.empty(); });
    NotesJson json{{"schema", 1}, {"study", json_of(notes->study)}, {"trials", NotesJson::object()}};
    for (const auto& [trial, remarks] : notes->trials) json["trials"][std::to_string(trial)] = json_of(remarks);
    return replace_file(notes_file(folder), json.dump(1, ' ', false, NotesJson::error_handler_t::replace) + '\n');
}

Result<void> add_note(const StudyFolder& folder, std::int64_t trial, const std::string& text) {
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    return change_notes(folder, [&](Notes& notes) { notes.of(trial).notes.push_back({now, text}); });
}

Result<void> change_tags(const StudyFolder& folder, std::int64_t trial, const std::vector<std::string>& added,
                         const std::vector<std::string>& removed) {
    constexpr std::size_t most = 32;
    bool too_many = false;
    auto changed = change_notes(folder, [&](Notes& notes) {
        auto tags = notes.of(trial).tags;
        for (const std::string& tag : removed) std::erase(tags, tag);
        for (const std::string& tag : added)
            if (std::find(tags.begin(), tags.end(), tag) == tags.end()) tags.push_back(tag);
        too_many = tags.size() > most && !added.empty();
        if (!too_many) notes.of(trial).tags = std::move(tags);
    });
    if (changed && too_many)
        return Error{"a study or a trial has at most " + std::to_string(most) + " tags: remove some, or write a note"};
    return changed;
}

}  // namespace hpo
