#include <algorithm>
#include <string_view>

#include "hpo/messages.hpp"
#include "orchestrator/study/sections.hpp"

namespace hpo::study {

namespace {

using std::string;
using std::string_view;

/// Bytes of the message that starts a trial which are left for everything but its parameters, such as its folder.
constexpr std::size_t other_bytes = 8 * 1024;

/// Returns the largest number of bytes of the text in a JSON message.
std::size_t bytes_in_message(string_view text) {
    std::size_t bytes = 4;  // quotes, a colon, a comma
    for (const char c : text) bytes += static_cast<unsigned char>(c) < 0x20 ? 6 : c == '"' || c == '\\' ? 2 : 1;
    return bytes;
}

std::size_t longest_value(const Dimension& dimension) {
    std::size_t longest = 32;  // of a number
    for (const Value& choice : dimension.choices) longest = std::max(longest, bytes_in_message(to_text(choice)));
    return longest;
}

}  // namespace

void check_message_size(Diagnostics& diagnostics, const ReadSpace& space, const ReadWorker& worker) {
    if (diagnostics.accepts_earlier()) return;
    if (std::holds_alternative<NoWorker>(worker.worker)) return;  // no worker gets a message: hpo ask-tell
    constexpr std::size_t most = max_line_bytes - other_bytes;
    std::size_t bytes = 0, largest = 0;
    Location where = worker.location;
    string name;
    const auto count = [&](const string& its_name, std::size_t value_bytes, Location location) {
        bytes += bytes_in_message(its_name) + value_bytes;
        if (value_bytes <= largest) return;
        largest = value_bytes;
        where = location;
        name = its_name;
    };
    for (std::size_t i = 0; i < space.space.size(); ++i)
        count(space.space[i].name, longest_value(space.space[i]), space.locations[i]);
    for (const auto& [its_name, value] : worker.params)
        if (const auto location = worker.locations.find(its_name); location != worker.locations.end())
            count(its_name, bytes_in_message(to_text(value)), location->second);
    if (bytes <= most) return;
    diagnostics.error(
        where, "the parameters of a trial take up to " + std::to_string(bytes) +
                   " bytes of the message to its worker, of which " + std::to_string(most) + " are possible, and '" +
                   name + "' alone up to " + std::to_string(largest) +
                   ": keep long values in files, and let the parameter choose among the names of the files");
}

}  // namespace hpo::study
