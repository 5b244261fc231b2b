#include "orchestrator/cluster/hosts.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cctype>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "hpo/clock.hpp"
#include "hpo/shell_word.hpp"
#include "hpo/version.hpp"
#include "orchestrator/cluster/join_file.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::cluster {

namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

constexpr int most_failures = 2;
constexpr double alive_every = 5;                           ///< seconds between a worker's signs of life
constexpr std::chrono::minutes forgets_failures_after{10};  ///< of an agent that works
constexpr std::chrono::seconds hello_within{60};
constexpr std::chrono::seconds told_after{3};    ///< delay before a notice about awaited hosts
constexpr std::chrono::seconds begins_after{5};  ///< with the hosts that have answered
constexpr std::chrono::seconds starts_again_after{1};
constexpr std::chrono::seconds first_rest{10},
    longest_rest{600};                            ///< of a host before it is tried again; each one doubles
constexpr std::chrono::seconds held_up_after{3};  ///< between two calls of poll(), which come every second
constexpr milliseconds destroyed_within{2000};
constexpr milliseconds holds_told_every{900};  ///< unless they have grown; the session looks once a second

}  // namespace

Hosts::Hosts(const SiteRequest& request, std::vector<Address> addresses, std::unique_ptr<Listener> listener)
    : request_(request), door_(std::move(listener)) {
    for (Address& address : addresses) {
        hosts_.emplace_back();
        hosts_.back().address = std::move(address);
    }
}

Hosts::~Hosts() { end(destroyed_within); }

Result<void> Hosts::start_agents(ExecutionListener listener) {
    listener_ = std::move(listener);
    opened_ = HostClock::now();
    if (door_)
        if (const auto open = open_door(); !open) return open;
    for (std::size_t i = 0; i < hosts_.size(); ++i) start(i);
    return {};
}

void Hosts::poll() {
    const auto now = HostClock::now();
    // A suspended orchestrator has read no messages, and its agents have ended by themselves.
    if (polled_ != HostClock::time_point() && now - polled_ > held_up_after)
        for (Host& host : hosts_) host.heard = now;
    polled_ = now;
    const bool beats = now - beaten_ >= std::chrono::duration_cast<HostClock::duration>(Seconds(heartbeat_every));
    if (beats) beaten_ = now;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        Host& host = hosts_[i];
        if (host.link && beats) host.link->send(to_agent::Heartbeat{});
        if (host.state == Host::State::up && now - host.begun > forgets_failures_after) {
            host.failures = 0;
            host.pause = {};
        }
        if (host.state == Host::State::resting && now - host.heard >= starts_again_after) start(i);
        if (host.state == Host::State::aside && host.again_at && now >= *host.again_at && !ends_) {
            host.tried_again = true;
            start(i);
        }
        if (host.state == Host::State::starting && now - host.begun > hello_within)
            set_aside(i,
                      "its agent did not answer within 60 s" +
                          (host.joins() ? "" : "; see whether " + host.address.command.front() + " reaches it"),
                      Loss::unreachable);
        if (host.state == Host::State::up && is_over(now - host.heard, orchestrator_waits))
            lose(i, "its agent was silent for 30 s", Loss::unreachable);
    }
    if (!begun_) try_to_begin(now);
}

std::vector<DeviceNotice> Hosts::take_notices() { return std::exchange(notices_, {}); }

void Hosts::session_ends(SessionEnd end, const std::string& reason) {
    if (!std::exchange(ends_, true) && door_) door_->say_farewell({end, reason});
    if (begun_ && end != SessionEnd::finished && end != SessionEnd::out_of_time) leave_silent();
}

/// Gives up the hosts that are silent, so that the session does not wait for their workers.
void Hosts::leave_silent() {
    for (std::size_t i = 0; i < hosts_.size(); ++i)
        if (hosts_[i].state == Host::State::starting || hosts_[i].is_silent(HostClock::now()))
            drop(i, Host::State::aside, "it was silent when the session ended");
}

std::optional<Hosts::Place> Hosts::place_of(WorkerIndex worker) const {
    const auto found = places_.find(worker);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
}

// ---- Workers.

void Hosts::launch(WorkerIndex worker, const LaunchSpec& spec) {
    const auto index = static_cast<std::size_t>(spec.host);
    Host& host = hosts_.at(index);
    if (host.state != Host::State::up) {
        asio::post(request_.loop, [this, worker, reason = host.lost_text(), alive = std::weak_ptr<bool>(alive_)] {
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

void Hosts::order(WorkerIndex worker, const std::function<ToAgent(int slot)>& make) {
    const auto place = place_of(worker);
    if (!place) return;
    const Host& host = hosts_[place->host];
    if (host.link) host.link->send(make(place->slot));
}

void Hosts::tell(std::size_t index, to_agent::Holds holds) {
    Host& host = hosts_[index];
    const auto now = HostClock::now();
    if (host.state != Host::State::up) return;
    if (now - host.told_at < holds_told_every && !has_grown(holds.devices, host.told)) return;
    host.told = holds.devices;
    host.told_at = now;
    host.link->send(std::move(holds));
}

std::vector<std::string> Hosts::end(milliseconds within) {
    alive_.reset();
    listener_ = {};
    std::vector<std::string> left;
    for (Host& host : hosts_) {
        if (!host.link) continue;
        host.link->close();
        if (host.state == Host::State::starting) host.link->destroy();  // the agent has no workers
    }
    const auto deadline = HostClock::now() + within;
    for (Host& host : hosts_)
        if (host.link && !host.link->wait(deadline)) host.link->destroy();
    for (Host& host : hosts_) {
        if (host.link && !host.link->wait(deadline + within)) left.push_back("the agent of " + host.address.name);
        host.link.reset();
    }
    if (door_ && !join_file_.empty()) remove_join_file(join_file_, door_->key());
    door_.reset();
    return left;
}

// ---- The session's beginning.

/// Begins the session once each host is up or set aside; after a while one that is up suffices, and the others join
/// later.
void Hosts::try_to_begin(HostClock::time_point now) {
    const std::string awaited = names_of_awaited();
    const auto waited = now - opened_;
    const bool some_up = any_up(hosts_);
    // An agent that joins was started a moment ago.
    const bool tells =
        std::any_of(hosts_.begin(), hosts_.end(), [](const Host& host) { return host.is_awaited() && !host.joins(); });
    if (tells && waited > told_after && !std::exchange(told_, true))
        notices_.push_back({true, "waits for the agents of " + awaited});
    if (awaited.empty() && !some_up && door_) return;  // for the first that joins
    if (!awaited.empty() && (waited <= begins_after || !some_up)) return;
    if (tells) notices_.push_back({true, "begins without " + awaited + "; what answers later joins"});
    begun_ = true;
    on_device_ = std::any_of(hosts_.begin(), hosts_.end(),
                             [](const Host& host) { return host.state != Host::State::aside && host.hello.on_device; });
    for (const Host& host : hosts_)
        if (const std::string text = unused_part(host); !text.empty()) notices_.push_back({true, text});
}

std::string Hosts::waits_to_begin() const {
    if (begun_) return {};
    const std::string names = names_of_awaited();
    return names.empty() && door_ ? "hosts that join (" + join_command() + ")" : names;
}

std::string Hosts::join_command() const { return "hpo agent --join " + shell_word(join_file_.string()); }

std::string Hosts::waits_for_hosts() const {
    if (!door_ || !begun_ || any_up(hosts_)) return {};
    return "no host is there; one joins by " + join_command();
}

/// Names of the hosts that have not answered yet, and may.
std::string Hosts::names_of_awaited() const {
    std::string names;
    for (const Host& host : hosts_)
        if (host.is_awaited()) names += (names.empty() ? "" : ", ") + host.address.name;
    return names;
}

/// Returns why a host, or its GPUs, are not used; empty if they are.
std::string Hosts::unused_part(const Host& host) const {
    if (!host.first_device || host.hello.on_device == on_device_) return {};
    return host.address.name +
           (on_device_ ? " gets no trials: the study computes on GPUs, and it has none"
                       : " computes on its cores alone, as the study has begun on hosts without GPUs; hpo stop and "
                         "hpo run use its GPUs");
}

// ---- Agents.

std::string Hosts::tag_of(const Host& host) const {
    std::string name = host.address.name;
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '_';
    return request_.tag + "@" + name;
}

void Hosts::start(std::size_t index) {
    Host& host = hosts_[index];
    host.state = Host::State::starting;
    host.begun = host.heard = HostClock::now();
    host.goodbye.reset();
    host.link = new_link(index);
    if (const int error = host.link->start(host.address.command); error != 0)
        return set_aside(
            index, "cannot start " + host.address.command.front() + ": " + std::strerror(error) + "; install it here");
    set_up(index);
}

std::shared_ptr<AgentLink> Hosts::new_link(std::size_t index) {
    return std::make_shared<AgentLink>(
        request_.loop,
        AgentLink::Callbacks{[this, index](FromAgent&& message) { take(index, std::move(message)); },
                             [this, index](const std::string& why, AgentEnd end) { ended(index, why, end); }});
}

void Hosts::set_up(std::size_t index) {
    Host& host = hosts_[index];
    host.told.clear();
    std::error_code failed;
    host.link->send(
        to_agent::Setup{write_study(request_.study), std::filesystem::absolute(request_.folder.path, failed).string(),
                        std::filesystem::current_path(failed).string(), tag_of(host),
                        std::min(alive_every, request_.study.resources.progress_timeout / 3), count_present(hosts_)});
}

// ---- Agents that join.

/// Writes the join file, and lets agents in.
Result<void> Hosts::open_door() {
    std::error_code failed;
    join_file_ = std::filesystem::absolute(request_.folder.path / join_file_name, failed);
    if (const auto written = write_join_file(
            join_file_, {request_.study.name, version, door_->addresses(), door_->port(), door_->key()});
        !written)
        return written;
    const std::string where = door_->reaches_this_host_alone() ? "; on this host alone: " : "; on another host: ";
    notices_.push_back({false, "listens at port " + std::to_string(door_->port()) + where + join_command()});
    const auto post = [this, alive = std::weak_ptr<bool>(alive_)](auto work) {
        asio::post(request_.loop, [alive, work = std::move(work)]() mutable {
            if (!alive.expired()) work();
        });
    };
    return door_->start({.joined =
                             [this, post](Listener::Joined agent) {
                                 post([this, shared = std::make_shared<Listener::Joined>(std::move(agent))] {
                                     joined(std::move(*shared));
                                 });
                             },
                         .refused =
                             [this, post](const std::string& text) {
                                 post([this, text] { notices_.push_back({true, text}); });
                             }});
}

void Hosts::joined(Listener::Joined agent) {
    const std::size_t index = place_for(agent.host);
    Host& host = hosts_[index];
    host.state = Host::State::starting;
    host.begun = host.heard = HostClock::now();
    host.goodbye.reset();
    host.link = new_link(index);
    host.link->adopt(std::move(agent.orders), std::move(agent.events));
    set_up(index);
}

/// Returns the index of the host from which an agent joins. A host that has left takes its place again, so that its
/// accelerators keep theirs. Several agents of one host get a number behind its name.
std::size_t Hosts::place_for(const std::string& name) {
    for (int number = 1;; ++number) {
        const std::string wanted = number == 1 ? name : name + "-" + std::to_string(number);
        const auto found =
            std::find_if(hosts_.begin(), hosts_.end(), [&](const Host& host) { return host.address.name == wanted; });
        if (found == hosts_.end()) {
            hosts_.emplace_back();
            hosts_.back().address.name = wanted;
            return hosts_.size() - 1;
        }
        if (found->joins() && !found->link) return static_cast<std::size_t>(found - hosts_.begin());
    }
}

void Hosts::take(std::size_t index, FromAgent&& message) {
    Host& host = hosts_[index];
    host.heard = HostClock::now();
    std::visit(Overloaded{
                   [&](from_agent::Hello& hello) {
                       host.state = Host::State::up;
                       const bool known = host.first_device.has_value();
                       if (known && static_cast<int>(hello.reading.accelerators.size()) != host.devices())
                           return set_aside(index, "it came back with other devices; hpo stop and hpo run use them");
                       if (const bool again = std::exchange(host.tried_again, false); known && (again || host.joins()))
                           notices_.push_back({false, host.address.name + " has joined again"});
                       host.reading = hello.reading;
                       host.hello = std::move(hello);
                       if (!known) take_first_answer(index);
                   },
                   [&](from_agent::Refused& refused) { set_aside(index, refused.reason); },
                   [&](from_agent::Reading& reading) {
                       if (reading.accelerators.size() == host.reading.accelerators.size())
                           host.reading = std::move(reading);
                   },
                   [&](from_agent::Happened& happened) { this->happened(index, happened); },
                   [&](from_agent::Notice& notice) {
                       notices_.push_back({notice.warning, host.address.name + ": " + notice.text});
                   },
                   [&](from_agent::Goodbye& goodbye) { host.goodbye = std::move(goodbye); },
               },
               message);
}

/// Takes in a host's first answer: its accelerators follow those of the others.
void Hosts::take_first_answer(std::size_t index) {
    Host& host = hosts_[index];
    host.first_device = devices_;
    devices_ += host.devices();
    answered_.push_back(index);
    if (!begun_ && !host.joins()) return;
    notices_.push_back({false, host.address.name + " has joined"});
    if (!begun_) return;
    if (const std::string text = unused_part(host); !text.empty()) notices_.push_back({true, text});
}

void Hosts::happened(std::size_t index, const from_agent::Happened& happened) {
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

void Hosts::ended(std::size_t index, const std::string& why, AgentEnd end) {
    Host& host = hosts_[index];
    if (end == AgentEnd::in_vain) return set_aside(index, why);
    if (host.goodbye)
        return lose(index, "its agent ended: " + host.goodbye->reason,
                    host.goodbye->own_fault ? Loss::failed : Loss::left);
    lose(index, why, end == AgentEnd::unreachable ? Loss::unreachable : Loss::failed);
}

/// Takes in that the agent is gone or silent.
void Hosts::lose(std::size_t index, const std::string& reason, Loss loss) {
    Host& host = hosts_[index];
    const bool own_fault = loss != Loss::left;
    if (host.joins()) {
        notices_.push_back({own_fault, host.address.name + " has left: " + reason});
        return drop(index, Host::State::left, reason);
    }
    if (own_fault && ++host.failures >= most_failures) return set_aside(index, reason, loss);
    notices_.push_back({true, host.address.name + ": " + reason + "; its agent is started again"});
    drop(index, Host::State::resting, reason);
}

/// Sets a host aside: for good, or, where it had answered and cannot be reached, for a pause.
void Hosts::set_aside(std::size_t index, const std::string& reason, Loss loss) {
    drop(index, Host::State::aside, reason);
    Host& host = hosts_[index];
    host.again_at.reset();
    const bool told = std::exchange(host.tried_again, false);
    std::string text = host.address.name + " is set aside: " + reason;
    if (loss == Loss::unreachable && host.first_device && !host.joins()) {
        host.pause = std::clamp(2 * host.pause, first_rest, longest_rest);
        host.again_at = HostClock::now() + host.pause;
        text += "; it is tried again in " + std::to_string(host.pause.count()) + " s, and later";
    }
    if (!(told && host.again_at) && gone().empty()) notices_.push_back({true, text});
}

void Hosts::drop(std::size_t index, Host::State state, const std::string& reason) {
    Host& host = hosts_[index];
    host.state = state;
    host.reason = reason;
    host.heard = HostClock::now();
    if (host.link) {
        host.link->close();
        host.link->destroy();  // its workers end when its input closes
        leaving_.push_back(std::move(host.link));
    }
    std::erase_if(leaving_, [](const auto& link) { return link->wait(HostClock::now()); });
    host.reading.workers.clear();
    for (const Host::Slot& slot : std::exchange(host.slots, {}))
        if (slot.worker) tell_lost(*slot.worker, host.lost_text());
}

/// Tells the engine that a worker was lost, which no trial has caused.
void Hosts::tell_lost(WorkerIndex worker, const std::string& reason) {
    places_.erase(worker);
    execution::Exited exited;
    exited.signal = SIGKILL;
    exited.cause = reason;
    exited.host_lost = true;
    if (listener_) listener_(worker, exited);
}

}  // namespace hpo::cluster
