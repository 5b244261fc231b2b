// The search for the number of trials at once with the best total work per second on one device. Pure: it is driven by
// changes of rates (throughput_curve.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "orchestrator/scheduling/throughput_curve.hpp"

namespace hpo {

/// The findings of a search, from which the next session begins.
struct FoundConcurrency {
    std::int64_t number = 0;            ///< 0 if nothing is known
    std::vector<RateChange> changes{};  ///< measured
};

/// Starts from a number and tries more trials at once while the total work rises, and fewer where the last ones add
/// next to nothing. "Rises" means that each additional trial adds at least a seventh of the average work of the trials
/// before it, in at least two observations and by more than twice their error. An estimate below that, or one that
/// twelve observations leave open, is no rise. Fewer trials at once are preferred at an equal total, since samplers and
/// rules then know more before the next trial starts, and less memory is used.
class ConcurrencySearch {
   public:
    /// `start` and `most` are at least 1. A remembered number replaces `start`, and its changes count as one
    /// observation each. More than the remembered number is tried in any case, since the machine may have changed.
    ConcurrencySearch(std::int64_t start, std::int64_t most, const FoundConcurrency& remembered = {});

    /// Returns the number of trials that may run at once now. It differs from number() while another number is tried.
    [[nodiscard]] std::int64_t limit() const { return limit_; }
    /// Returns the best number so far.
    [[nodiscard]] std::int64_t number() const { return number_; }

    /// Adds measured changes. decide() has to follow.
    void add(const RateChange& change);
    /// Moves to the best known number, and chooses the number to try next. `left` is the number of trials that are left
    /// to start: a number is only tried if enough trials are left to pay for it. `measured` is the number of trials
    /// that run now if their rates are known, else 0.
    void decide(std::int64_t left, std::int64_t measured);
    /// Returns true while another number than the best known one is tried.
    [[nodiscard]] bool trying() const { return limit_ != number_; }
    /// Reports the number of trials that ended without a measurement. A number that cannot be measured is given up.
    void ended_unmeasured(std::int64_t trials);

    [[nodiscard]] FoundConcurrency found() const { return {number_, curve_.changes()}; }
    /// Returns the measurements of this session, as "2 at once: 1.93 times the work of one; 3: 1.90 times". Returns an
    /// empty text if nothing was measured. Numbers are relative to the smallest one that was measured.
    [[nodiscard]] std::string text() const;

   private:
    enum class Verdict { unknown, unsure, rises, flat };
    [[nodiscard]] Verdict compare(std::int64_t fewer, std::int64_t more) const;
    [[nodiscard]] bool open(std::int64_t fewer, std::int64_t more) const;
    [[nodiscard]] bool seen(std::int64_t number) const;
    [[nodiscard]] bool given_up(std::int64_t number) const;
    [[nodiscard]] std::int64_t next(std::int64_t left) const;
    void move();

    std::int64_t number_, most_, limit_;
    ThroughputCurve curve_;                         ///< with remembered changes
    ThroughputCurve measured_;                      ///< in this session
    bool descended_ = false;                        ///< the last move was to fewer trials
    std::map<std::int64_t, std::int64_t> in_vain_;  ///< trials that ended without a measurement, by the limit
};

}  // namespace hpo
