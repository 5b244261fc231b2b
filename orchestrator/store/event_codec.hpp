// Events as rows of the database: a kind, a trial, an attempt and a body, which is a JSON object, or a packed report
// (packed.hpp). The numbers and keys are part of every stored study: append, never change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hpo/event.hpp"
#include "hpo/result.hpp"

namespace hpo {

struct EventRow {
    int kind = 0;              ///< index in the variant, counted from 1; of steps kind_step
    std::int64_t trial = 0;    ///< 0: of the study as a whole
    std::int64_t attempt = 0;  ///< 0: none
    std::string body;          ///< in JSON, bytes that are not UTF-8 are replaced
};

EventRow to_row(const Event& event);

/// Reverses to_row() bit for bit, non-finite numbers included. Fails with the problem of the row.
Result<Event> to_event(int kind, std::int64_t trial, std::int64_t attempt, std::string_view body);

/// Returns how a session ended whose end an earlier version of hpo has stored, with a reason for users alone:
/// `finished` for a program that searched by itself and had no trial left, else `none`.
SessionEnd end_in_earlier_versions(std::string_view reason);

/// Returns true for results, which must survive a loss of power once they are acknowledged. Other events may be lost
/// back to an earlier state of the study; a result takes all earlier events to the disk with it.
bool is_durable(const Event& event);

inline constexpr int kind_proposed = 3;
inline constexpr int kind_reported = 5;  ///< as JSON, in schema 1
inline constexpr int kind_step = 100;    ///< a Reported, packed; in a table of its own

}  // namespace hpo
