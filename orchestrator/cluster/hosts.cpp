#include "orchestrator/cluster/hosts.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "hpo/clock.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/cluster/agent_link.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/execution/limits.hpp"
#include "orchestrator/execution/private_folder.hpp"
#include "orchestrator/execution/quick_wire.hpp"
#include "orchestrator/scheduling/concurrency.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::cluster {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int most_failures = 2;
constexpr double alive_every = 5;                           ///< seconds between a worker's signs of life
constexpr std::chrono::minutes forgets_failures_after{10};  ///< of an agent that works
constexpr std::chrono::seconds hello_within{60};
constexpr std::chrono::seconds told_after{3};    ///< that hosts are waited for
constexpr std::chrono::seconds begins_after{5};  ///< with the hosts that have answered
constexpr double silent_after = 3;               ///< seconds without a reading, which comes every second
constexpr std::chrono::seconds starts_again_after{1};
constexpr std::chrono::seconds held_up_after{3};  ///< between two calls of poll(), which come every second
constexpr milliseconds destruction_within{2000};

bool is_over(Clock::duration since, double seconds) { return std::chrono::duration<double>(since).count() > seconds; }

struct Host {
    enum class State { starting, up, resting, aside };

    Address address;
    State state = State::starting;
    std::shared_ptr<AgentLink> link;
    from_agent::Hello hello;
    from_agent::Reading reading;
    std::optional<from_agent::Goodbye> goodbye;
    std::optional<int> first_device;  ///< among those of all hosts; nothing: it has not answered yet
    int failures = 0;
    std::string reason;  ///< of the last failure
    Clock::time_point begun, heard;
    struct Slot {
        std::optional<WorkerIndex> worker;
        std::vector<int> devices;
    };
    std::vector<Slot> slots;
};

struct Place {
    std::size_t host = 0;
    int slot = 0;
};

/// The hosts with their agents: what the executor and the machine of a session share.
class Hosts {
   public:
    Hosts(const SiteRequest& request, std::vector<Address> addresses) : request_(request) {
        for (Address& address : addresses) {
            hosts_.emplace_back();
            hosts_.back().address = std::move(address);
        }
    }
    Hosts(const Hosts&) = delete;
    Hosts& operator=(const Hosts&) = delete;
    ~Hosts() { end(destruction_within); }

    void start_agents() {
        opened_ = Clock::now();
        for (std::size_t i = 0; i < hosts_.size(); ++i) start(i);
    }

    /// The names of the hosts without which the session does not begin.
    [[nodiscard]] std::string waits_to_begin() const { return begun_ ? "" : names_of_awaited(); }
    [[nodiscard]] bool awaits() const { return !names_of_awaited().empty(); }

    /// Gives up the hosts that are silent, since nothing of theirs is needed any more.
    void leave_silent() {
        for (std::size_t i = 0; i < hosts_.size(); ++i)
            if (hosts_[i].state == Host::State::starting || is_silent(hosts_[i]))
                drop(i, Host::State::aside, "it was silent when the session ended");
    }

    void listen(ExecutionListener listener) { listener_ = std::move(listener); }

    // ---- The executor.

    void launch(WorkerIndex worker, const LaunchSpec& spec) {
        const auto index = static_cast<std::size_t>(spec.host);
        Host& host = hosts_.at(index);
        if (host.state != Host::State::up) {
            asio::post(request_.loop, [this, worker, reason = lost_text(host), alive = std::weak_ptr<bool>(alive_)] {
                if (!alive.expired()) tell_lost(worker, reason);
            });
            return;
        }
        auto free = std::find_if(host.slots.begin(), host.slots.end(), [](const auto& slot) { return !slot.worker; });
        if (free == host.slots.end()) free = host.slots.emplace(host.slots.end());
        *free = {worker, spec.devices};
        const Place place{index, static_cast<int>(free - host.slots.begin())};
        places_[worker] = place;
        host.link->send(to_agent::Launch{place.slot, spec});
    }

    template <class Make>
    void order(WorkerIndex worker, Make&& make) {
        const auto found = places_.find(worker);
        if (found == places_.end()) return;
        const Host& host = hosts_[found->second.host];
        if (host.link) host.link->send(make(found->second.slot));
    }

    /// At most twice `within`. Returns the names of the hosts whose agents have not ended.
    std::vector<std::string> end(milliseconds within) {
        alive_.reset();
        listener_ = {};
        std::vector<std::string> left;
        for (Host& host : hosts_) {
            if (!host.link) continue;
            host.link->close();
            if (host.state == Host::State::starting) host.link->destroy();  // it has no workers
        }
        const auto deadline = Clock::now() + within;
        for (Host& host : hosts_)
            if (host.link && !host.link->wait(deadline)) host.link->destroy();
        for (Host& host : hosts_) {
            if (host.link && !host.link->wait(deadline + within)) left.push_back("the agent of " + host.address.name);
            host.link.reset();
        }
        return left;
    }

    // ---- The machine.

    void poll() {
        const auto now = Clock::now();
        // A suspended orchestrator has read no messages, and its agents have ended by themselves.
        if (polled_ != Clock::time_point() && now - polled_ > held_up_after)
            for (Host& host : hosts_) host.heard = now;
        polled_ = now;
        const bool beats = now - beaten_ >= std::chrono::duration_cast<Clock::duration>(Seconds(heartbeat_every));
        if (beats) beaten_ = now;
        for (std::size_t i = 0; i < hosts_.size(); ++i) {
            Host& host = hosts_[i];
            if (host.link && beats) host.link->send(to_agent::Heartbeat{});
            if (host.state == Host::State::up && now - host.begun > forgets_failures_after) host.failures = 0;
            if (host.state == Host::State::resting && now - host.heard >= starts_again_after) start(i);
            if (host.state == Host::State::starting && now - host.begun > hello_within)
                set_aside(i, "its agent did not answer within 60 s");
            if (host.state == Host::State::up && is_over(now - host.heard, orchestrator_waits))
                lose(i, "its agent was silent for 30 s", true);
        }
        if (!begun_) try_to_begin(now);
    }

    [[nodiscard]] std::vector<DeviceNotice> take_notices() { return std::exchange(notices_, {}); }

    [[nodiscard]] std::string gone() const {
        std::string reasons;
        for (const Host& host : hosts_) {
            if (host.state != Host::State::aside) return {};
            reasons += (reasons.empty() ? "" : "; ") + host.address.name + ": " + host.reason;
        }
        return "no host is left: " + reasons;
    }

    [[nodiscard]] Machine read(std::span<const WorkerIndex> workers, std::optional<WorkerIndex> reusable,
                               std::span<const Reservation> reserved) const {
        Machine machine;
        // A host that has not answered has nothing yet. Accelerators keep the places that they got with the first
        // answer.
        machine.hosts.assign(hosts_.size(), {.cores = 0, .usable = false});
        for (const std::size_t i : answered_) {
            const Host& host = hosts_[i];
            const from_agent::Reading& reading = host.reading;
            Machine::Host one = reading.host;
            one.usable = host.state == Host::State::up;
            std::vector<Accelerator> accelerators = reading.accelerators;
            for (std::size_t d = 0; d < accelerators.size(); ++d) {
                Accelerator& device = accelerators[d];
                device.host = static_cast<int>(i);
                device.usable = device.usable && one.usable;
                if (d < reading.hidden.size() && reading.hidden[d])
                    for (const Reservation& reservation : reserved)
                        if (computes_on(*host.first_device + static_cast<int>(d), reservation.device, reservation.more))
                            device.others =
                                std::max<std::int64_t>(0, device.others - reservation.footprint.device_bytes);
            }
            for (const auto& use : reading.workers) {
                const auto slot = static_cast<std::size_t>(use.slot);
                const auto worker = slot < host.slots.size() ? host.slots[slot].worker : std::nullopt;
                if (worker && worker == reusable) {
                    if (one.free) *one.free += use.host_bytes;
                    for (const int device : host.slots[slot].devices)
                        if (auto& free = accelerators.at(static_cast<std::size_t>(device)).free)
                            *free += use.device_bytes;
                } else if (!worker || std::find(workers.begin(), workers.end(), *worker) == workers.end()) {
                    one.others += use.host_bytes;  // it is about to leave, with nothing reserved for it
                }
            }
            machine.hosts[i] = one;
            machine.accelerators.insert(machine.accelerators.end(), accelerators.begin(), accelerators.end());
        }
        return machine;
    }

    [[nodiscard]] Footprint usage(WorkerIndex worker) const {
        const auto found = places_.find(worker);
        if (found == places_.end()) return {0, 0, 0};
        for (const auto& use : hosts_[found->second.host].reading.workers)
            if (use.slot == found->second.slot) return {use.device_bytes, use.host_bytes, 0};
        return {0, 0, 0};
    }

    /// Returns what the session holds of each host, and tells the agents, for other sessions there.
    std::vector<DeviceReservation> publish(const Machine& now, std::span<const HeldResources> held) {
        std::vector<DeviceReservation> all;
        for (std::size_t i = 0; i < hosts_.size(); ++i) {
            to_agent::Holds holds{reservations_of(i, now, held), {}};
            for (DeviceReservation one : holds.devices) {
                one.device.insert(0, hosts_[i].address.name + "/");
                std::tie(one.state, one.reason) = state_of(hosts_[i]);
                all.push_back(std::move(one));
            }
            Host& host = hosts_[i];
            if (host.state == Host::State::up) host.link->send(std::move(holds));
        }
        return all;
    }

    [[nodiscard]] bool on_device() const { return on_device_; }
    /// A host that is awaited counts like the largest that has answered.
    [[nodiscard]] int workers() const {
        int all = 0, awaited = 0, most = 0;
        for (const Host& host : hosts_) {
            if (host.state == Host::State::aside) continue;
            awaited += host.first_device ? 0 : 1;
            if (!host.first_device || (on_device_ && !host.hello.on_device)) continue;
            all += host.hello.workers;
            most = std::max(most, host.hello.workers);
        }
        all += awaited * most;
        return std::max(1,
                        static_cast<int>(std::min<std::int64_t>(all, request_.study.resources.parallel.value_or(all))));
    }
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const Host& host : hosts_) names.push_back(host.address.name);
        return names;
    }
    [[nodiscard]] LaunchSpec spec(std::span<const int> devices) const {
        LaunchSpec spec;
        if (is_host(devices.front())) {
            spec.host = on_host(devices.front());
            return spec;
        }
        for (const std::size_t i : answered_)
            if (*hosts_[i].first_device <= devices.front()) spec.host = static_cast<int>(i);
        for (const int device : devices)
            spec.devices.push_back(device - *hosts_[static_cast<std::size_t>(spec.host)].first_device);
        return spec;
    }

   private:
    /// The session begins once each host is up or set aside; after a while one that is up suffices, and the others join
    /// later.
    void try_to_begin(Clock::time_point now) {
        const std::string awaited = names_of_awaited();
        const auto waited = now - opened_;
        if (!awaited.empty() && waited > told_after && !std::exchange(told_, true))
            notices_.push_back({true, "waits for the agents of " + awaited});
        if (!awaited.empty() && (waited <= begins_after || !any_up())) return;
        if (!awaited.empty()) notices_.push_back({true, "begins without " + awaited + "; what answers later joins"});
        begun_ = true;
        on_device_ = std::any_of(hosts_.begin(), hosts_.end(), [](const Host& host) {
            return host.state != Host::State::aside && host.hello.on_device;
        });
        for (const Host& host : hosts_)
            if (const std::string text = unused_part(host); !text.empty()) notices_.push_back({true, text});
    }

    /// Names of the hosts that have not answered yet, and may.
    [[nodiscard]] std::string names_of_awaited() const {
        std::string names;
        for (const Host& host : hosts_)
            if (!host.first_device && host.state != Host::State::aside)
                names += (names.empty() ? "" : ", ") + host.address.name;
        return names;
    }

    [[nodiscard]] bool any_up() const {
        return std::any_of(hosts_.begin(), hosts_.end(),
                           [](const Host& host) { return host.state == Host::State::up; });
    }
    static bool is_silent(const Host& host) {
        return host.state == Host::State::up && is_over(Clock::now() - host.heard, silent_after);
    }
    /// For people and programs.
    static std::pair<std::string, std::string> state_of(const Host& host) {
        const auto silence = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - host.heard).count();
        switch (host.state) {
            case Host::State::aside:
                return {"set aside", host.reason};
            case Host::State::resting:
                return {"awaited", host.reason};
            case Host::State::starting:
                return {"awaited", host.reason.empty() ? "its agent has not answered yet" : host.reason};
            case Host::State::up:
                break;
        }
        if (is_silent(host)) return {"silent", "for " + std::to_string(silence) + " s"};
        return {"up", ""};
    }
    /// Why a host, or its GPUs, are not used; empty: they are.
    [[nodiscard]] std::string unused_part(const Host& host) const {
        if (!host.first_device || host.hello.on_device == on_device_) return {};
        return host.address.name +
               (on_device_ ? " gets no trials: the study computes on GPUs, and it has none"
                           : " computes on its cores alone, as the study has begun on hosts without GPUs; hpo stop and "
                             "hpo run use its GPUs");
    }

    static int count_devices(const Host& host) { return static_cast<int>(host.reading.accelerators.size()); }

    [[nodiscard]] std::string tag_of(const Host& host) const {
        std::string name = host.address.name;
        for (char& c : name)
            if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '_';
        return request_.tag + "@" + name;
    }
    [[nodiscard]] static std::string lost_text(const Host& host) {
        return "its host, " + host.address.name + ", was lost: " + host.reason;
    }

    void start(std::size_t index) {
        Host& host = hosts_[index];
        host.state = Host::State::starting;
        host.begun = host.heard = Clock::now();
        host.goodbye.reset();
        host.link = std::make_shared<AgentLink>(
            request_.loop, AgentLink::Callbacks{[this, index](FromAgent&& message) { take(index, std::move(message)); },
                                                [this, index](const std::string& why, bool another_version) {
                                                    ended(index, why, another_version);
                                                }});
        if (const int error = host.link->start(host.address.command); error != 0)
            return set_aside(index, "cannot start " + host.address.command.front() + ": " + std::strerror(error) +
                                        "; install it here");
        std::error_code failed;
        host.link->send(to_agent::Setup{
            write_study(request_.study), std::filesystem::absolute(request_.folder.path, failed).string(),
            std::filesystem::current_path(failed).string(), tag_of(host),
            std::min(alive_every, request_.study.resources.progress_timeout / 3), static_cast<int>(hosts_.size())});
    }

    void take(std::size_t index, FromAgent&& message) {
        Host& host = hosts_[index];
        host.heard = Clock::now();
        std::visit(Overloaded{
                       [&](from_agent::Hello& hello) {
                           host.state = Host::State::up;
                           const bool known = host.first_device.has_value();
                           if (known && static_cast<int>(hello.reading.accelerators.size()) != count_devices(host))
                               return set_aside(index, "it came back with other devices");
                           host.reading = hello.reading;
                           host.hello = std::move(hello);
                           if (!known) answered(index);
                       },
                       [&](from_agent::Refused& refused) { set_aside(index, refused.reason); },
                       [&](from_agent::Reading& reading) {
                           if (reading.accelerators.size() == host.reading.accelerators.size())
                               host.reading = std::move(reading);
                       },
                       [&](from_agent::Happened& happened) { tell(index, happened); },
                       [&](from_agent::Notice& notice) {
                           notices_.push_back({notice.warning, host.address.name + ": " + notice.text});
                       },
                       [&](from_agent::Goodbye& goodbye) { host.goodbye = std::move(goodbye); },
                   },
                   message);
    }

    /// A host has answered for the first time: its accelerators follow those of the others.
    void answered(std::size_t index) {
        Host& host = hosts_[index];
        host.first_device = devices_;
        devices_ += count_devices(host);
        answered_.push_back(index);
        if (!begun_) return;
        notices_.push_back({false, host.address.name + " has joined"});
        if (const std::string text = unused_part(host); !text.empty()) notices_.push_back({true, text});
    }

    void tell(std::size_t index, const from_agent::Happened& happened) {
        Host& host = hosts_[index];
        const auto number = static_cast<std::size_t>(happened.slot);
        if (number >= host.slots.size() || !host.slots[number].worker) return;
        const WorkerIndex worker = *host.slots[number].worker;
        if (std::holds_alternative<execution::Exited>(happened.event) ||
            std::holds_alternative<execution::LaunchFailed>(happened.event)) {
            host.slots[number] = {};
            places_.erase(worker);
        }
        if (listener_) listener_(worker, happened.event);
    }

    void ended(std::size_t index, const std::string& why, bool another_version) {
        Host& host = hosts_[index];
        if (another_version) return set_aside(index, why);
        if (host.goodbye) return lose(index, "its agent ended: " + host.goodbye->reason, host.goodbye->own_fault);
        lose(index, why, true);
    }

    /// The agent is gone, or nothing is heard of it.
    void lose(std::size_t index, const std::string& reason, bool own_fault) {
        Host& host = hosts_[index];
        if (own_fault && ++host.failures >= most_failures) return set_aside(index, reason);
        notices_.push_back({true, host.address.name + ": " + reason + "; its agent is started again"});
        drop(index, Host::State::resting, reason);
    }

    void set_aside(std::size_t index, const std::string& reason) {
        drop(index, Host::State::aside, reason);
        if (gone().empty()) notices_.push_back({true, hosts_[index].address.name + " is set aside: " + reason});
    }

    void drop(std::size_t index, Host::State state, const std::string& reason) {
        Host& host = hosts_[index];
        host.state = state;
        host.reason = reason;
        host.heard = Clock::now();
        if (host.link) {
            host.link->close();
            host.link->destroy();  // what is below it ends when its input closes
            leaving_.push_back(std::move(host.link));
        }
        std::erase_if(leaving_, [](const auto& link) { return link->wait(Clock::now()); });
        host.reading.workers.clear();
        for (const Host::Slot& slot : std::exchange(host.slots, {}))
            if (slot.worker) tell_lost(*slot.worker, lost_text(host));
    }

    /// No trial has caused it.
    void tell_lost(WorkerIndex worker, const std::string& reason) {
        places_.erase(worker);
        execution::Exited exited;
        exited.signal = SIGKILL;
        exited.cause = reason;
        exited.host_lost = true;
        if (listener_) listener_(worker, exited);
    }

    [[nodiscard]] std::vector<DeviceReservation> reservations_of(std::size_t index, const Machine& now,
                                                                 std::span<const HeldResources> held) const {
        const Machine::Host& here = now.hosts.at(index);
        const int first = hosts_[index].first_device.value_or(0);
        // `now` may be older than the host's first answer.
        const bool has_all = first + count_devices(hosts_[index]) <= static_cast<int>(now.accelerators.size());
        const int count = has_all ? count_devices(hosts_[index]) : 0;
        std::vector<DeviceReservation> all(1 + static_cast<std::size_t>(count));
        all.front() = {.device = "host", .capacity = here.memory, .reserve = here.reserve, .others = here.others};
        all.front().limit = request_.study.resources.memory;
        for (int d = 0; d < count; ++d) {
            const Accelerator& one = now.accelerators.at(static_cast<std::size_t>(first + d));
            all[static_cast<std::size_t>(d) + 1] = {
                .device = one.id, .capacity = one.memory, .reserve = one.reserve, .others = one.others};
        }
        for (const HeldResources& resources : held) {
            const Reservation& reservation = resources.reservation;
            if (host_of(now, reservation.device) != static_cast<int>(index)) continue;
            const bool on_cores = is_host(reservation.device);
            DeviceReservation& host = all.front();
            host.reserved += reservation.footprint.host_bytes + (on_cores ? reservation.footprint.device_bytes : 0);
            host.used += resources.used.host_bytes;
            host.cores += reservation.footprint.cores;
            ++host.trials;
            for (int d = 0; d < count; ++d) {
                if (!computes_on(first + d, reservation.device, reservation.more)) continue;
                DeviceReservation& device = all[static_cast<std::size_t>(d) + 1];
                device.reserved += reservation.footprint.device_bytes;
                device.used += resources.used.device_bytes;
                ++device.trials;
            }
        }
        return all;
    }

    SiteRequest request_;
    std::vector<Host> hosts_;
    std::vector<std::size_t> answered_;  ///< hosts in the order of their first answer
    int devices_ = 0;                    ///< of these
    Clock::time_point opened_;           ///< when the agents were started
    bool told_ = false;                  ///< that hosts are waited for
    bool begun_ = false;                 ///< the session
    std::map<WorkerIndex, Place> places_;
    std::vector<std::shared_ptr<AgentLink>> leaving_;  ///< that are not reaped yet
    std::vector<DeviceNotice> notices_;
    ExecutionListener listener_;
    bool on_device_ = false;
    Clock::time_point polled_, beaten_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class HostsMachine final : public SessionMachine {
   public:
    explicit HostsMachine(std::shared_ptr<Hosts> hosts) : hosts_(std::move(hosts)) {}

    [[nodiscard]] const hpo::Host& host() const override { return here_; }
    [[nodiscard]] bool on_device() const override { return hosts_->on_device(); }
    [[nodiscard]] Target target(std::span<const int>) const override { return {}; }
    std::vector<DeviceNotice> poll(Seconds) override {
        hosts_->poll();
        return hosts_->take_notices();
    }
    [[nodiscard]] const DeviceReadings& readings() const override { return none_; }
    [[nodiscard]] std::string gone() const override { return hosts_->gone(); }
    [[nodiscard]] std::string waits_to_begin() const override { return hosts_->waits_to_begin(); }
    [[nodiscard]] bool awaits_hosts() const override { return hosts_->awaits(); }
    void leave_silent_hosts() override { hosts_->leave_silent(); }

    // The agents know of these.
    void take_other_sessions(std::vector<SessionReservations>) override {}
    void worker_started(WorkerIndex, std::int64_t) override {}
    void worker_ended(WorkerIndex) override {}

    [[nodiscard]] Machine read(std::span<const WorkerIndex> workers, std::optional<WorkerIndex> reusable,
                               std::span<const Reservation> reserved) const override {
        return hosts_->read(workers, reusable, reserved);
    }
    [[nodiscard]] std::vector<Footprint> usage(std::span<const WorkerIndex> workers) const override {
        std::vector<Footprint> used;
        for (const WorkerIndex worker : workers) used.push_back(hosts_->usage(worker));
        return used;
    }
    [[nodiscard]] std::optional<ThreadTime> thread_time(WorkerIndex, Seconds) override { return std::nullopt; }
    [[nodiscard]] std::vector<DeviceReservation> to_publish(const Machine& now,
                                                            std::span<const HeldResources> held) const override {
        return hosts_->publish(now, held);
    }

   private:
    std::shared_ptr<Hosts> hosts_;
    hpo::Host here_ = read_host();  ///< of the orchestrator, for its telemetry
    DeviceReadings none_;
};

class HostsExecutor final : public SessionExecutor {
   public:
    HostsExecutor(std::shared_ptr<Hosts> hosts, std::string tag, PrivateFolder folder)
        : hosts_(std::move(hosts)), tag_(std::move(tag)), folder_(std::move(folder)) {}
    ~HostsExecutor() override { (void)hosts_->end(destruction_within); }

    void launch(WorkerIndex worker, const LaunchSpec& spec) override { hosts_->launch(worker, spec); }
    using Executor::send;
    void send(WorkerIndex worker, std::span<const OrchestratorMessage> messages) override {
        hosts_->order(worker, [&](int slot) {
            to_agent::Send order{slot, {}};
            for (const OrchestratorMessage& message : messages) {
                const auto* decision = std::get_if<to_worker::Decision>(&message);
                order.lines += decision ? wire::quick_encode(*decision) : wire::encode(message);
            }
            return order;
        });
    }
    void log_to(WorkerIndex worker, const std::filesystem::path& file) override {
        hosts_->order(worker, [&](int slot) {
            std::error_code failed;
            return to_agent::LogTo{slot, file.empty() ? "" : std::filesystem::absolute(file, failed).string()};
        });
    }
    void terminate(WorkerIndex worker, double grace) override {
        hosts_->order(worker, [&](int slot) { return to_agent::Terminate{slot, grace}; });
    }
    void kill(WorkerIndex worker) override {
        hosts_->order(worker, [&](int slot) { return to_agent::Kill{slot}; });
    }

    std::vector<std::string> end(milliseconds within) override { return hosts_->end(within); }
    Result<void> keep_folder() override {
        if (::access(folder_.path().c_str(), F_OK) == 0) return {};
        auto folder = PrivateFolder::make(tag_);
        if (!folder) return folder.error();
        folder_ = *std::move(folder);
        return {};
    }
    [[nodiscard]] const std::filesystem::path& folder() const override { return folder_.path(); }

   private:
    std::shared_ptr<Hosts> hosts_;
    std::string tag_;
    PrivateFolder folder_;
};

}  // namespace

Result<Study> for_several_hosts(Study study) {
    Resources& resources = study.resources;
    if (!resources.parallel_each.empty())
        return Error{
            "resources.parallel: a list has a number for each device of one machine; several hosts need one number"};
    if (resources.gpu_memory.size() > 1)
        return Error{
            "resources.gpu_memory: a list has a size for each device of one machine; several hosts need one size"};
    if (study.script() && !resources.trial.cores) resources.trial.cores = 1;
    return study;
}

OpenSite open_hosts(std::vector<Address> addresses) {
    return [addresses = std::move(addresses)](const SiteRequest& request) -> Result<SessionSite> {
        raise_soft_limits();
        const auto hosts = std::make_shared<Hosts>(request, addresses);
        SessionSite site;
        site.machine = std::make_unique<HostsMachine>(hosts);
        site.workers = [hosts] { return hosts->workers(); };
        site.hosts = hosts->names();
        site.launch = [hosts](WorkerIndex, std::span<const int> devices) { return hosts->spec(devices); };
        site.executor = [hosts,
                         tag = request.tag](ExecutionListener listener) -> Result<std::unique_ptr<SessionExecutor>> {
            auto folder = PrivateFolder::make(tag);
            if (!folder) return folder.error();
            hosts->listen(std::move(listener));
            hosts->start_agents();
            return std::unique_ptr<SessionExecutor>(std::make_unique<HostsExecutor>(hosts, tag, *std::move(folder)));
        };
        return site;
    };
}

}  // namespace hpo::cluster
