#include "orchestrator/store/notes.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "hpo/descriptor.hpp"
#include "hpo/printable.hpp"

namespace hpo {

namespace {

using NotesJson = nlohmann::ordered_json;

std::filesystem::path file_of(const StudyFolder& folder) { return folder.path / "notes.json"; }

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

bool is_tag(const std::string& tag) {
    return !tag.empty() && tag.size() <= 64 && tag.front() != '-' && tag.find_first_of(" ,") == std::string::npos &&
           printable(tag) == tag;
}

Result<Notes> read_notes(const StudyFolder& folder) {
    std::ifstream stream(file_of(folder), std::ios::binary);
    if (!stream) return Notes{};
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    try {
        const NotesJson json = NotesJson::parse(text);
        Notes notes{remarks_of(json.at("study")), {}};
        for (const auto& [trial, remarks] : json.at("trials").items())
            notes.trials[std::stoll(trial)] = remarks_of(remarks);
        return notes;
    } catch (const std::exception&) {
        return Error{file_of(folder).string() + ": the file of notes is damaged: repair it or move it away"};
    }
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
    return replace_file(file_of(folder), json.dump(1, ' ', false, NotesJson::error_handler_t::replace) + '\n');
}

}  // namespace hpo
