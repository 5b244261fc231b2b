// The protocol's messages as plain structs. docs/protocol.md describes the byte format, wire.hpp is the codec.
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

/// The version of the protocol that is spoken here. Version 2 renamed two members of the answer to `plan`: `fusion_key`
/// (was `shape`) and `colocated` (was `beside`). Workers of version 1 are still understood.
inline constexpr int protocol_version = 2;
inline constexpr int oldest_protocol_version = 1;
inline constexpr std::size_t max_line_bytes = 64 * 1024;  ///< of one message, its newline included
inline constexpr int device_failed_status = 69;           ///< a worker exits with it when its device failed

/// The attempt that a message is about. The number keeps late messages of an older attempt apart.
struct AttemptId {
    std::int64_t trial = 0;
    std::int64_t attempt = 0;
    friend bool operator==(const AttemptId&, const AttemptId&) = default;
    friend auto operator<=>(const AttemptId&, const AttemptId&) = default;
};

namespace from_worker {

struct Hello {  ///< first message on a connection
    int version = protocol_version;
    std::string token;  ///< HPO_TOKEN of the environment
    std::int64_t pid = 0;
    std::int64_t slots = 1;                 ///< concurrent trials
    std::string backend;                    ///< cpu, cuda, opencl
    std::vector<std::string> capabilities;  ///< plan, checkpoint
};
struct PlanAnswer {
    std::int64_t id = 0;  ///< of the question
    std::string error;    ///< empty: the answer stands
    Footprint footprint;
    std::int64_t arena_bytes = 0;
    std::int64_t data_bytes = 0;
    std::int64_t parameters = 0;  ///< trainable numbers
    std::int64_t iterations_per_step = 0;
    double flops_per_step = 0;  ///< matrix products, forward and backward
    /// Trials with the same key may share a worker, whatever else differs; empty: this one may not.
    std::string fusion_key;
    Footprint colocated{0, 0, 0};  ///< additional need of the trial in a worker that trains another with its fusion key
    std::vector<std::string> data;  ///< lines for people on what was understood of the data, where asked for
};
struct Started {
    AttemptId id;
    std::int64_t from_step = 0;  ///< steps already done, by the checkpoint
};
struct Reported {
    AttemptId id;
    Report report;
};
struct Alive {
    AttemptId id;       ///< trial 0: the worker as a whole
    std::string phase;  ///< loading, compiling, training, ...
};
struct Finished {
    AttemptId id;
    Outcome outcome = Outcome::complete;  ///< complete, stopped, paused, diverged, failed or out_of_memory
    std::string message;                  ///< the reason, for diverged, failed and out_of_memory
    Metrics values;                       ///< final metrics: test_accuracy, test_loss, ... if requested
    std::string checkpoint;               ///< file of the last step; empty: none
    bool last = false;                    ///< the process ends now: it can take no further trial
};
struct Log {
    AttemptId id;
    std::string text;
};

}  // namespace from_worker

namespace to_worker {

struct Welcome {
    int version = protocol_version;
    double alive_every = 5;  ///< seconds; a worker that is silent longer than the progress timeout is stopped
};
struct Plan {
    std::int64_t id = 0;
    Params params;
    std::int64_t epochs = 1;
    std::uint64_t data_seed = 0;
    bool explain_data = false;  ///< the answer is to tell what was understood of the data
};
/// How far earlier attempts of the trial came: the state at its last reported step.
struct Done {
    std::int64_t step = 0;
    std::optional<std::int64_t> iteration;
    std::optional<double> seconds;
};
struct Run {
    AttemptId id;
    Params params;                ///< native: leaf keys of worker_keys.hpp, fixed and sampled together
    std::int64_t steps = 1;       ///< budget
    std::uint64_t seed = 0;       ///< of the trial
    std::uint64_t data_seed = 0;  ///< of the split: the study's seed
    Objective objective;          ///< whose best step's weights are kept
    std::string folder;           ///< for last.ckpt and best.ckpt; empty: no checkpoints
    bool resume = false;          ///< go on from folder/last.ckpt if it is there and whole
    bool test = false;            ///< at the end, evaluate the kept weights on the test split
    std::string save;             ///< at the end, write the kept weights to this safetensors file; empty: do not
    std::string log;              ///< file that a worker with several trials appends this one's lines to
    std::optional<Done> done;     ///< with `resume`: what was reported before
};
enum class Action { go_on, stop, pause };
struct Decision {  ///< the answer to a report
    AttemptId id;
    std::int64_t step = 0;
    Action action = Action::go_on;
};
struct Stop {  ///< at any time; the trial ends with outcome stopped at the next iteration
    AttemptId id;
};
struct Shutdown {};

}  // namespace to_worker

using WorkerMessage = std::variant<from_worker::Hello, from_worker::PlanAnswer, from_worker::Started,
                                   from_worker::Reported, from_worker::Alive, from_worker::Finished, from_worker::Log>;
using OrchestratorMessage = std::variant<to_worker::Welcome, to_worker::Plan, to_worker::Run, to_worker::Decision,
                                         to_worker::Stop, to_worker::Shutdown>;

}  // namespace hpo
