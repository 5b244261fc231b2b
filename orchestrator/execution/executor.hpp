// The interface between the engine and running workers: it starts and ends them and carries messages to and from them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "hpo/messages.hpp"
#include "hpo/result.hpp"

namespace hpo {

/// Number of a worker within a session, from 0. At most one worker has an index at a time; when it and all its
/// descendants are gone, the next worker can be started with that index.
using WorkerIndex = int;

struct LaunchSpec {
    std::vector<std::string> command;  ///< argv; command[0] is an absolute path or found on PATH. Empty: an executor
                                       ///< on several hosts has the host make all of this from the study and `devices`
    std::map<std::string, std::string> environment;  ///< added to, or replacing, the orchestrator's own
    std::vector<int> cpus;                           ///< CPU affinity; if empty, it is left unchanged
    std::filesystem::path folder;                    ///< working directory; if empty, the orchestrator's
    /// Command of an interpreter (worker/python/hpo/preload.py) that is kept for this index and that workers are forked
    /// from. If empty, each worker is started by `command`. When the interpreter cannot be used, a Notice says why, and
    /// workers are started by `command`.
    std::vector<std::string> preload;
    std::string description;     ///< cores and environment, one a line, for people; the executor does not read it
    int host = 0;                ///< index of the host, where the executor has several
    std::vector<int> devices{};  ///< accelerators, by their index on that host; empty: its cores
};

namespace execution {

struct Ready {  ///< the worker has sent hello and has been sent welcome
    from_worker::Hello hello;
};
struct Received {  ///< a well-formed message other than hello
    WorkerMessage message;
};
struct MalformedLines {  ///< lines that were not messages; reported at most once a second for each worker
    std::int64_t lines = 0;
    std::string example;  ///< why the last one was refused; printable
};
struct Notice {  ///< something that the user should know
    std::string text;
};
struct Exited {                       ///< the worker and all its descendants are gone
    int code = 0;                     ///< exit status; meaningless if signal != 0
    int signal = 0;                   ///< signal that ended it; 0 if it exited
    bool out_of_memory_kill = false;  ///< true if the kernel killed a process on the machine for want of
                                      ///< memory while the worker ran, and the worker failed
    std::string log_tail;             ///< last lines of its output, printable
    std::int64_t peak_bytes = 0;      ///< largest resident set; 0 if unknown
    std::string cause;                ///< why the executor itself ended it; empty if it did not
    bool host_lost = false;           ///< by the fault of its host, which is gone or starts no worker
};
struct LaunchFailed {     ///< fork, exec or the connection failed; nothing is left behind
    int error = 0;        ///< errno
    std::string message;  ///< with the command and strerror
};

using Event = std::variant<Ready, Received, MalformedLines, Notice, Exited, LaunchFailed>;

}  // namespace execution

/// Called from the event loop, never from within a call of the Executor. After Exited or LaunchFailed the index is free
/// again.
using ExecutionListener = std::function<void(WorkerIndex, const execution::Event&)>;

/// Starts workers and carries messages. Not thread-safe: all calls come from the event loop's thread. The destructor
/// kills all workers at once.
class Executor {
   public:
    virtual ~Executor() = default;

    /// Starts a worker with a free index. The outcome comes as Ready or LaunchFailed, or as Exited if the worker exits
    /// before hello. The caller limits the time until hello.
    virtual void launch(WorkerIndex index, const LaunchSpec& spec) = 0;
    /// Queues messages, which leave together. They are ignored when the worker is gone: Exited is on its way then.
    virtual void send(WorkerIndex index, std::span<const OrchestratorMessage> messages) = 0;
    void send(WorkerIndex index, const OrchestratorMessage& message) { send(index, std::span(&message, 1)); }
    /// Appends the worker's stdout and stderr to `file` from now on, up to a cap. With an empty path only the last
    /// lines are kept, for Exited::log_tail.
    virtual void log_to(WorkerIndex index, const std::filesystem::path& file) = 0;
    /// Sends SIGTERM to the worker's process group, and SIGKILL to the whole tree after `grace` seconds. For a gentler
    /// end, send to_worker::Shutdown first.
    virtual void terminate(WorkerIndex index, double grace) = 0;
    /// Sends SIGKILL to the whole process tree now.
    virtual void kill(WorkerIndex index) = 0;
};

}  // namespace hpo
