// Fuzzes the rows of a study's database: events, steps, and the summary. The first byte chooses the kind. An accepted
// row must be written as a row that is read as the same.
#include <cstdint>
#include <string>

#include "hpo/protobuf.hpp"
#include "orchestrator/store/event_codec.hpp"
#include "orchestrator/store/packed.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace hpo;

template <class Decode, class Encode>
void round_trip(std::string_view body, Decode&& decode, Encode&& encode) {
    std::string first;
    try {
        first = encode(decode(body));
    } catch (const std::exception& refused) {
        require(refused.what()[0] != '\0');
        return;
    }
    require(encode(decode(first)) == first);
}

void event_round_trip(int kind, std::string_view body) {
    const auto event = to_event(kind, 3, 2, body);
    if (!event) {
        require(!event.error().message.empty());
        return;
    }
    const EventRow row = to_row(*event);
    const auto again = to_event(row.kind, row.trial, row.attempt, row.body);
    require(again.ok());
    require(to_row(*again).body == row.body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
    const auto encoded = [](const auto& decoded) { return packed::of(decoded); };
    switch (const int choice = data[0]; choice) {
        case 'r':
            event_round_trip(kind_step, body);
            round_trip(body, packed::to_report, encoded);
            break;
        case 's':
            round_trip(body, packed::to_so_far, encoded);
            break;
        case 't':
            round_trip(
                body, [](std::string_view bytes) { return packed::to_trial(bytes); }, encoded);
            round_trip(
                body, [](std::string_view bytes) { return packed::to_trial(bytes, TrialParts::without_parameters); },
                encoded);
            break;
        case 'u':
            round_trip(
                body,
                [](std::string_view bytes) {
                    StudyRecord record;
                    packed::read_totals(record, bytes);
                    return std::pair(std::move(record), packed::trial_rows_of(bytes));
                },
                [](const auto& read) { return packed::of_totals(read.first, read.second); });
            break;
        default:
            event_round_trip(choice - '0', body);
            break;
    }
    return 0;
}
