// The hosts of a session: an agent on each, started by a command, runs its workers and reads its machine. Agents that
// end are started once more; a host whose agent fails twice is set aside, and the study goes on without it. One that
// had answered and cannot be reached is tried again from time to time. If the session listens, agents that were started
// elsewhere join and leave at any time.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "orchestrator/cluster/host.hpp"
#include "orchestrator/cluster/listener.hpp"
#include "orchestrator/engine/site.hpp"

namespace hpo::cluster {

/// The state that the executor and the machine of a session share.
class Hosts {
   public:
    struct Place {
        std::size_t host = 0;
        int slot = 0;
    };

    /// `listener`: for agents that join; nullptr: none may.
    Hosts(const SiteRequest& request, std::vector<Address> addresses, std::unique_ptr<Listener> listener = nullptr);
    Hosts(const Hosts&) = delete;
    Hosts& operator=(const Hosts&) = delete;
    ~Hosts();

    /// `listener` gets the events of workers from now on. Fails where agents cannot join as they should.
    Result<void> start_agents(ExecutionListener listener);
    /// Starts agents again, and gives up hosts that are silent. Call it every second.
    void poll();
    [[nodiscard]] std::vector<DeviceNotice> take_notices();

    /// The functions of SessionMachine with these names.
    [[nodiscard]] std::string waits_to_begin() const;
    [[nodiscard]] std::string waits_for_hosts() const;
    [[nodiscard]] bool awaits() const { return awaits_hosts(hosts_, door_ != nullptr); }
    [[nodiscard]] std::string gone() const { return why_no_host_is_left(hosts_, door_ != nullptr); }
    void session_ends(SessionEnd end, const std::string& reason);

    [[nodiscard]] const std::vector<Host>& all() const { return hosts_; }
    /// Returns the hosts in the order of their first answer, in which their accelerators follow each other.
    [[nodiscard]] const std::vector<std::size_t>& answered() const { return answered_; }
    /// Returns true if trials compute on accelerators. This is decided when the session begins.
    [[nodiscard]] bool on_device() const { return on_device_; }
    [[nodiscard]] std::optional<Place> place_of(WorkerIndex worker) const;

    void launch(WorkerIndex worker, const LaunchSpec& spec);
    /// Sends the message that `make` returns for the worker's slot.
    void order(WorkerIndex worker, const std::function<ToAgent(int slot)>& make);
    /// Tells an agent the session's reservations on its host: at once if they have grown, else once a second.
    void tell(std::size_t host, to_agent::Holds holds);
    /// Takes at most twice `within`. Returns the names of the agents that have not ended.
    std::vector<std::string> end(std::chrono::milliseconds within);

   private:
    /// Why a host has lost its agent: that ended for no fault of its own, or failed, or cannot be reached.
    enum class Loss { left, failed, unreachable };

    Result<void> open_door();
    void joined(Listener::Joined agent);
    std::size_t place_for(const std::string& name);
    std::shared_ptr<AgentLink> new_link(std::size_t index);
    void set_up(std::size_t index);
    void try_to_begin(HostClock::time_point now);
    [[nodiscard]] std::string join_command() const;
    [[nodiscard]] std::string names_of_awaited() const;
    void leave_silent();
    [[nodiscard]] std::string unused_part(const Host& host) const;
    [[nodiscard]] std::string tag_of(const Host& host) const;
    void start(std::size_t index);
    void take(std::size_t index, FromAgent&& message);
    void take_first_answer(std::size_t index);
    void happened(std::size_t index, const from_agent::Happened& happened);
    void ended(std::size_t index, const std::string& why, AgentEnd end);
    void lose(std::size_t index, const std::string& reason, Loss loss);
    void set_aside(std::size_t index, const std::string& reason, Loss loss = Loss::failed);
    void drop(std::size_t index, Host::State state, const std::string& reason);
    void tell_lost(WorkerIndex worker, const std::string& reason);

    SiteRequest request_;
    std::unique_ptr<Listener> door_;  ///< for agents that join
    std::filesystem::path join_file_;
    std::vector<Host> hosts_;
    std::vector<std::size_t> answered_;
    int devices_ = 0;               ///< of these
    HostClock::time_point opened_;  ///< when the agents were started
    bool told_ = false;             ///< the user was told which hosts are awaited
    bool ends_ = false;             ///< the session ends, and agents that joined were told
    bool begun_ = false;            ///< the session
    std::map<WorkerIndex, Place> places_;
    std::vector<std::shared_ptr<AgentLink>> leaving_;  ///< agents that are not reaped yet
    std::vector<DeviceNotice> notices_;
    ExecutionListener listener_;
    bool on_device_ = false;
    HostClock::time_point polled_, beaten_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hpo::cluster
