// The next launch after an attempt ended for want of memory: never the same launch twice, never a loop. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/footprint.hpp"
#include "hpo/result.hpp"

namespace hpo {

/// Seconds for which a trial waits until other programs free the memory that it is reserved after it ran out of memory.
/// Then it is tried with the rest.
inline constexpr double longest_wait_for_others = 300;

/// An attempt that ran out of memory. Bytes.
struct MemoryDeath {
    Footprint reserved;       ///< when it ended
    Footprint used{0, 0, 0};  ///< the most memory that it was seen to take; 0: not measured
    bool alone = false;       ///< true if it was reserved to run alone
    bool waited = false;      ///< before it, the trial waited in vain for other programs to free memory
    bool on_device = false;   ///< the accelerator's memory ran out; false: the host's, wherever the trial trained
    std::int64_t deaths = 1;  ///< attempts of this trial that ran out of memory, this one included
    std::int64_t micro_batches = 1;                  ///< of one update
    std::optional<std::int64_t> more_micro_batches;  ///< the next larger number; absent: cannot be made smaller
    bool may_recompute = false;  ///< the worker may keep fewer activations in place of smaller micro-batches
    /// The capacity, less the reserve, of an empty machine for one trial: largest device, host. Where both kinds lie
    /// in one pool (unified memory), of each the rest beside the reservation of the other.
    Footprint capacity;
    Footprint others{0, 0, 0};  ///< the part of `capacity` that other programs use now
};

struct NextTry {
    /// At least this footprint, until the trial has got further than this attempt.
    Footprint reservation;
    bool alone = false;
    std::int64_t micro_batches = 1;
    std::string
        how;  ///< "with 3.000 GiB reserved", "alone, with 20.00 GiB reserved", "in 4 micro-batches of an update"
};

/// Returns the next rung of the ladder, for the memory that ran out:
/// 1. half as much again, then twice as much (at least the measured peak plus its error), with others;
/// 2. alone, with all memory that other programs leave;
/// 3. alone, with smaller micro-batches, each at most half of the one before: at once where other programs have taken
///    up to half of the reservation;
/// 4. where other programs use more than a tenth of the capacity, or half of the host's if four times the measured peak
///    fit beside them: on the host with four times the measured peak, if that is more than before, then with nine
///    tenths of the capacity. For either it waits by itself, though not for ever (`waited`).
/// Then an Error with the numbers. So a trial is given up only after it died with the smallest micro-batch in the whole
/// capacity except a desktop's share, or in the memory that other programs left for a while.
///
/// On the first two rungs a reservation grows to at most four times the measured peak: a program may say that memory
/// ran out for reasons of its own, and more would only keep other trials, and itself, from running.
///
/// No launch comes twice: each answer reserves more by at least a sixteenth of the capacity or half of the measured
/// peak, is newly alone, or has more micro-batches. The one exception is the fourth rung, when other programs come back
/// while the trial runs: then it waits again until they have gone. A trial without micro-batches is given up after five
/// deaths at the latest where its peak is not measured and other programs keep still, and after 40 in any case.
Result<NextTry> after_out_of_memory(const MemoryDeath& death);

/// The kind of memory that ran out according to a program's last output, and the line that shows it.
struct OutOfMemoryLine {
    bool device = false;  ///< the accelerator's; else the host's
    std::string line;
};

/// Finds the message of a script that ended for want of memory: an uncaught exception of PyTorch, JAX, TensorFlow or
/// Python, an error of CUDA, HIP or OpenCL, the C++ library's. If there are several, the last line counts. `on_device`:
/// the script trained on an accelerator. Nothing if no line is such a message.
std::optional<OutOfMemoryLine> find_out_of_memory(std::string_view last_output, bool on_device);

/// Returns twice the number of micro-batches, at most one per sample; nothing if there is one per sample already, or if
/// the numbers are out of range. A micro-batch has batch / accumulation samples, rounded up; the last one the rest.
std::optional<std::int64_t> next_accumulation(std::int64_t batch_size, std::int64_t accumulation);

}  // namespace hpo
