// The seam between the engine and running processes: places where workers live, messages to and from them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "hpo/messages.hpp"
#include "hpo/result.hpp"

namespace hpo {

/// A worker's place, numbered from 0. At most one worker process tree lives in a place at a time.
using WorkerIndex = int;

struct LaunchSpec {
    std::vector<std::string> command;                ///< argv; command[0] is an absolute path or found on PATH
    std::map<std::string, std::string> environment;  ///< added to, or replacing, the orchestrator's own
    std::vector<int> cpus;                           ///< affinity; empty: unchanged
    std::filesystem::path folder;                    ///< working directory; empty: the orchestrator's
    /// Starts an interpreter (worker/python/hpo/preload.py) that stays in the place, and of which workers are forked;
    /// empty: each worker is started by its command. An interpreter that cannot serve is told by a Remark, and not
    /// used.
    std::vector<std::string> preload;
    std::string told;  ///< cores and environment, in lines for people; the executor has no use for it
};

namespace execution {

struct Ready {  ///< the worker said hello (and was welcomed)
    from_worker::Hello hello;
};
struct Said {  ///< a well-formed message other than hello
    WorkerMessage message;
};
struct Garbage {  ///< lines that were not messages; told at most once a second a place
    std::int64_t lines = 0;
    std::string example;  ///< why the last one was refused; printable
};
struct Remark {  ///< something that the user should know
    std::string text;
};
struct Exited {                       ///< the worker and all its descendants are gone
    int code = 0;                     ///< exit status; meaningless if signal != 0
    int signal = 0;                   ///< that ended it; 0: it exited
    bool out_of_memory_kill = false;  ///< by the kernel's out-of-memory killer, as far as can be told
    std::string log_tail;             ///< last lines of its output, printable
    std::int64_t peak_bytes = 0;      ///< largest resident set, 0: unknown
    std::string cause;                ///< why the executor itself ended it, as text; empty: it did not
};
struct LaunchFailed {     ///< fork, exec or the connection failed; nothing is left behind
    int error = 0;        ///< errno
    std::string message;  ///< with the command and strerror
};

using What = std::variant<Ready, Said, Garbage, Remark, Exited, LaunchFailed>;

}  // namespace execution

/// Called from the event loop, never from within an Executor call. After Exited or LaunchFailed the place is free
/// again.
using ExecutionListener = std::function<void(WorkerIndex, const execution::What&)>;

/// Not thread-safe; all calls from the event loop's thread. Destruction kills everything that is left, at once.
class Executor {
   public:
    virtual ~Executor() = default;

    /// Starts a worker in a free place; the outcome comes as Ready or LaunchFailed (also when it exits before hello:
    /// Exited). A worker that never says hello is the caller's to time out.
    virtual void launch(WorkerIndex index, const LaunchSpec& spec) = 0;
    /// Queues a message. Ignored when the place's worker is gone: Exited is on its way.
    virtual void send(WorkerIndex index, const OrchestratorMessage& message) = 0;
    /// Where the worker's stdout and stderr go from now on (appended, capped); empty: nowhere but the tail.
    virtual void log_to(WorkerIndex index, const std::filesystem::path& file) = 0;
    /// TERM to the worker's process group, KILL to the whole tree after `grace` seconds. Whoever wants a gentler end
    /// sends to_worker::Shutdown first.
    virtual void terminate(WorkerIndex index, double grace) = 0;
    /// KILL to the whole tree, now.
    virtual void kill(WorkerIndex index) = 0;
};

}  // namespace hpo
