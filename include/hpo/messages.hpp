// The protocol's messages as plain structs. docs/protocol.md describes the byte format, and wire.hpp is the codec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hpo/footprint.hpp"
#include "hpo/study.hpp"
#include "hpo/trial.hpp"

namespace hpo {

/// The version of the protocol. Version 2 renamed two members of the answer to `plan`: `fusion_key` (was `shape`) and
/// `colocated` (was `beside`). Workers of version 1 are still supported.
inline constexpr int protocol_version = 2;
inline constexpr int oldest_protocol_version = 1;
inline constexpr std::size_t max_line_bytes = 64 * 1024;  ///< of one message, its newline included
inline constexpr int device_failed_status = 69;           ///< exit status of a worker whose device has failed

/// The attempt that a message refers to. Its number identifies late messages of an earlier attempt.
struct AttemptId {
    std::int64_t trial = 0;
    std::int64_t attempt = 0;
    friend bool operator==(const AttemptId&, const AttemptId&) = default;
    friend auto operator<=>(const AttemptId&, const AttemptId&) = default;
};

namespace from_worker {

struct Hello {  ///< the first message on a connection
    int version = protocol_version;
    std::string token;  ///< the environment variable HPO_TOKEN
    std::int64_t pid = 0;
    std::int64_t slots = 1;                 ///< maximum number of concurrent trials
    std::string backend;                    ///< cpu, cuda, opencl
    std::vector<std::string> capabilities;  ///< plan, checkpoint, cores, ...
    std::string identity;                   ///< of its device, as in a calibration; empty if it has none
    std::vector<std::string> notes;         ///< lines about its device for the session's log
};
struct PlanAnswer {
    std::int64_t id = 0;  ///< of the Plan that is answered
    std::string error;    ///< why the trial cannot run; if not empty, all following members are unset
    Footprint footprint;
    std::int64_t arena_bytes = 0;
    std::int64_t data_bytes = 0;
    std::int64_t parameters = 0;  ///< number of trainable parameters
    std::int64_t iterations_per_step = 0;
    std::int64_t training_samples = 0;  ///< samples of an epoch; 0: the worker does not tell
    double flops_per_step = 0;          ///< of matrix products, forward and backward
    /// Trials with the same key may share a worker. Empty if the trial may not share one.
    std::string fusion_key;
    Footprint colocated{0, 0,
                        0};  ///< additional resources in a worker that already trains a trial with this fusion key
    std::vector<std::string> data;  ///< description of the data for users, one line each; only if Plan asks for it
};
struct Started {
    AttemptId id;
    std::int64_t from_step = 0;  ///< last step in the checkpoint from which the trial resumes; 0: from the start
    std::string data{};          ///< fingerprint of its data; empty if the worker does not tell
    bool checkpoints = false;    ///< it writes checkpoints, although the worker's hello does not say so
};
struct Reported {
    AttemptId id;
    Report report;
};
struct Alive {
    AttemptId id;       ///< trial 0 for the worker as a whole
    std::string phase;  ///< loading, compiling, training, ...
};
struct Finished {
    AttemptId id;
    Outcome outcome = Outcome::complete;  ///< complete, stopped, paused, diverged, failed or out_of_memory
    std::string message;                  ///< the reason, for diverged, failed and out_of_memory
    Metrics values;                       ///< final metrics, such as test_accuracy and test_loss if requested
    std::string checkpoint;               ///< path of the last step's checkpoint; empty if there is none
    bool last = false;                    ///< true if the worker exits now and accepts no further trial
    std::int64_t peak_bytes = 0;          ///< most host memory that the attempt took; 0 if unknown
};
struct Log {
    AttemptId id;
    std::string text;
};

}  // namespace from_worker

namespace to_worker {

struct Welcome {
    int version = protocol_version;
    double alive_every = 5;  ///< seconds between Alive messages; a worker that stays silent for too long is stopped
};
struct Plan {
    std::int64_t id = 0;
    Params params;
    std::int64_t epochs = 1;
    std::uint64_t data_seed = 0;
    bool explain_data = false;  ///< asks for PlanAnswer::data
};
/// The state of a trial at the last step that its earlier attempts have reported; step 0: they have reported none.
struct Done {
    std::int64_t step = 0;
    std::optional<std::int64_t> iteration;
    std::optional<double> seconds;
    /// Steps from one report of the script to the next, as the stored ones tell; 0: the study has none.
    std::int64_t stride = 0;
};
struct Run {
    AttemptId id;
    Params params;                ///< fixed and sampled; for the native worker leaf keys of worker_keys.hpp
    std::int64_t steps = 1;       ///< last step of the trial
    std::uint64_t seed = 0;       ///< of the trial
    std::uint64_t data_seed = 0;  ///< of the data split; the study's seed
    Objective objective;          ///< determines the best step, whose weights are kept
    std::string folder;           ///< for last.ckpt and best.ckpt; empty for no checkpoints
    bool resume = false;          ///< resume from folder/last.ckpt if it exists and is complete
    bool test = false;            ///< evaluate the kept weights on the test split at the end
    std::string save;             ///< write the kept weights to this safetensors file at the end; empty not to
    std::string log;              ///< file to which a worker with several trials appends this trial's lines
    /// With `resume` in a study, the steps that are stored of earlier attempts. A checkpoint of a later one is not
    /// used.
    std::optional<Done> done;
};
enum class Action { go_on, stop, pause };
struct Decision {  ///< the answer to a report
    AttemptId id;
    std::int64_t step = 0;
    Action action = Action::go_on;
};
struct Stop {  ///< sent at any time; the trial ends at its next iteration with the outcome stopped
    AttemptId id;
};
/// The cores of the host to compute on from the next operation on, with a thread each. Sent at any time to workers that
/// have said `cores`.
struct Cores {
    std::vector<std::int64_t> cores;
};
struct Shutdown {};

}  // namespace to_worker

using WorkerMessage = std::variant<from_worker::Hello, from_worker::PlanAnswer, from_worker::Started,
                                   from_worker::Reported, from_worker::Alive, from_worker::Finished, from_worker::Log>;
using OrchestratorMessage = std::variant<to_worker::Welcome, to_worker::Plan, to_worker::Run, to_worker::Decision,
                                         to_worker::Stop, to_worker::Cores, to_worker::Shutdown>;

}  // namespace hpo
