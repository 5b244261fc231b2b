#include "tests/schedules/schedule.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "orchestrator/engine/announcements.hpp"
#include "orchestrator/engine/engine.hpp"
#include "tests/schedules/dice.hpp"
#include "tests/schedules/losable_store.hpp"
#include "tests/schedules/oracle.hpp"
#include "tests/schedules/workers.hpp"

namespace hpo::schedules {
namespace {

constexpr int most_events = 60'000;  ///< in a session; an endless one is a violation
constexpr int most_troubled_sessions = 6;
constexpr std::int64_t GiB = std::int64_t{1} << 30;

/// Probabilities of troubles in a session, for each of its events.
struct Troubles {
    double kill = 0, power_cut = 0, interrupt = 0, second_interrupt = 0, stop_trial = 0, lose_disk = 0;
    double writes_fail = 0;  ///< of each write
};

/// Everything that ends with the process.
struct Session {
    std::optional<Ledger> ledger;
    std::optional<Workers> workers;
    std::optional<Engine> engine;
    Announcements announcements;
    bool round_due = true, flush_due = false, synchronised = false;
    double others = 0;  ///< share of the memory that other programs use
};

class Schedule {
   public:
    Schedule(std::uint64_t seed, Counts& counts, std::function<void(const std::string&)> story)
        : dice_(seed), counts_(counts), story_(std::move(story)) {
        draw_study(seed);
    }

    void play() {
        for (int number = 1;; ++number) {
            troubled_ = number <= most_troubled_sessions;
            ++counts_.sessions;
            const SessionEnd end = session();
            if (end == SessionEnd::finished) break;
            if (!troubled_) violated("a session without troubles did not finish the study: " + why_);
        }
        counts_.trials += oracle_.check_the_end(store_.kept());
    }

   private:
    void tell(const std::string& text) const {
        if (story_) story_(text);
    }

    // ---- The study.

    void draw_study(std::uint64_t seed) {
        study_.name = "drawn";
        study_.seed = seed;
        study_.objective = {"loss", Direction::minimize, dice_.chance(0.8) ? Objective::At::best : Objective::At::last};
        study_.space = {Dimension{.name = "x"}};
        const bool native = dice_.chance(0.4);
        study_.worker = native ? StudyWorker(NativeWorker{}) : StudyWorker(ScriptWorker{.command = {"played"}});
        study_.budget.trials = dice_.between(1, 10);
        study_.budget.epochs = dice_.between(1, 9);
        study_.sampler.type = "random";
        study_.policy.scaled = false;
        if (dice_.chance(0.2)) study_.repeats = dice_.between(2, 3);
        const std::vector<std::string> rules{"",       "",       "asha", "pasha", "hyperband", "extrapolation",
                                             "median", "plateau"};
        if (const std::string rule = dice_.pick(rules); !rule.empty()) study_.stopping = {{rule, {}}};
        Resources& resources = study_.resources;
        resources.retries = dice_.between(0, 2);
        resources.progress_timeout = static_cast<double>(dice_.between(20, 120));
        if (!native && dice_.chance(0.5)) resources.trial.host_bytes = dice_.between(1, 700) << 20;
        if (native && dice_.chance(0.5)) resources.slots = 3;
        workers_ = static_cast<int>(dice_.between(1, 4));
        machine_ = {.hosts = {{.cores = 4, .memory = GiB}}};
        if (dice_.chance(0.3))
            for (std::int64_t i = dice_.between(1, 2); i > 0; --i)
                machine_.accelerators.push_back({.id = "GPU-" + std::to_string(i), .memory = 8 * GiB});
        if (!native && !machine_.accelerators.empty()) resources.trial.device_bytes = dice_.between(100, 5000) << 20;
        abilities_.plans = native;
        abilities_.checkpoints = native || dice_.chance(0.5);
        abilities_.once = !native && dice_.chance(0.5);
        if (resources.slots) abilities_.slots = dice_.between(1, 3);
        if (abilities_.slots > 1) abilities_.fusion_keys = {"a", "a", "b", ""};
    }

    double often(double most) { return dice_.chance(0.6) ? 0 : most * dice_.unit(); }

    void draw_troubles() {
        habits_ = {};
        trouble_ = {};
        if (!troubled_) return;
        habits_ = {.launch_fails = often(0.2),
                   .exits_before_hello = often(0.2),
                   .says_no_hello = often(0.1),
                   .plan_fails = often(0.1),
                   .crashes = often(0.1),
                   .runs_out_of_memory = often(0.1),
                   .fails = often(0.1),
                   .diverges = often(0.1),
                   .hangs = often(0.05),
                   .garbles = often(0.2),
                   .ends_early = often(0.1),
                   .stubborn = often(0.5),
                   .quits = often(0.2),
                   .device_fails = often(0.1),
                   .loses_output = often(0.5)};
        trouble_ = {.kill = often(0.02),
                    .power_cut = often(0.02),
                    .interrupt = often(0.02),
                    .second_interrupt = often(0.1),
                    .stop_trial = often(0.02),
                    .lose_disk = often(0.005),
                    .writes_fail = often(0.02)};
    }

    // ---- A session.

    SessionEnd session() {
        draw_troubles();
        session_.emplace();
        Session& s = *session_;
        store_.begin_session();
        s.ledger.emplace(study_, store_, *Proposer::make(study_), *Rules::make(study_));
        if (const auto replayed = s.ledger->replay(); !replayed) violated(replayed.error().message);
        oracle_.check_announced(s.ledger->record(), "after the replay");
        tell("session, " + std::to_string(s.ledger->record().trials.size()) + " trials");
        if (trouble_.writes_fail > 0)
            store_.fail_writes([this] {
                const bool fails = dice_.chance(trouble_.writes_fail);
                if (fails) ++counts_.failed_writes, tell("a write fails");
                return fails;
            });
        try {
            begin(s);
        } catch (const StoreFailed& failed) {  // as when the disk is full: the command ends with the error
            return end_of_process(SessionEnd::failed, failed.what());
        }
        for (int event = 0; !s.engine->done(); ++event) {
            if (event > most_events) violated("the session does not end; it waits for: " + waits(s));
            ++counts_.events;
            if (befalls(trouble_.kill)) {
                ++counts_.kills;
                return end_of_process(SessionEnd::interrupted, "killed");
            }
            if (befalls(trouble_.power_cut)) {
                ++counts_.power_cuts;
                session_.reset();
                store_.cut_power(dice_);
                lose_checkpoints();
                tell("the power fails");
                return SessionEnd::interrupted;
            }
            if (s.engine->end() != SessionEnd::none && befalls(trouble_.second_interrupt)) {
                s.engine->kill();
                if (dice_.chance(0.3)) break;
            }
            happens(s);
        }
        const SessionEnd end = s.engine->end();
        if (s.engine->done() && s.workers->any_alive()) violated("the session is done, and a worker lives");
        why_ = s.engine->end_reason();
        finish(s);
        return end_of_process(end, why_);
    }

    void begin(Session& s) {
        s.workers.emplace(dice_, clock_, habits_, abilities_, checkpoints_, oracle_.harmed, story_);
        s.workers->on_send = [this](WorkerIndex index, const OrchestratorMessage& message) {
            check_sent(index, message);
        };
        s.workers->excuses = [&s] { return s.engine && s.engine->end() != SessionEnd::none; };
        store_.when_on_disk([&s] { s.synchronised = true; });
        s.announcements.release(s.ledger->results_on_disk());
        s.ledger->on_event = [this, &s](const StoredEvent& stored) { happened(s, stored); };
        s.ledger->on_end_with_study = s.ledger->on_event;
        s.ledger->session_started({"host", 1, "test"});
        s.engine.emplace(EngineParts{.study = study_,
                                     .ledger = *s.ledger,
                                     .executor = *s.workers,
                                     .clock = clock_,
                                     .machine =
                                         [this, &s](auto, auto) {
                                             Machine now = machine_;
                                             now.hosts[0].others = static_cast<std::int64_t>(
                                                 s.others * static_cast<double>(now.hosts[0].memory));
                                             return now;
                                         },
                                     .usage =
                                         [](auto workers) {
                                             return std::vector<Footprint>(workers.size(), Footprint{0, 50 << 20, 0});
                                         },
                                     .worker =
                                         [&s](WorkerIndex, auto devices) {
                                             s.workers->next_devices.assign(devices.begin(), devices.end());
                                             return LaunchSpec{};
                                         },
                                     .log_file = [](std::int64_t) { return ""; },
                                     .checkpoints = [](std::int64_t, bool) { return ""; },
                                     .notice = [this](const Notice& notice) { tell("notice: " + notice.text); },
                                     .trial_ended = [](const TrialRecord&) {},
                                     .on_device = !machine_.accelerators.empty()},
                         workers_);
        s.engine->start();
        end_round(s);
        tick(s);
    }

    bool befalls(double probability) { return probability > 0 && dice_.chance(probability); }

    /// One thing happens.
    void happens(Session& s) {
        if (dice_.chance(0.02)) clock_.advance(Seconds(dice_.unit()));
        if (befalls(trouble_.interrupt)) {
            ++counts_.interrupts;
            tell("interrupt");
            s.engine->interrupt("interrupted");
            s.round_due = true;
        } else if (befalls(trouble_.stop_trial)) {
            const auto trial = dice_.between(1, study_.budget.trials);
            if (s.engine->stop_trial(trial)) {
                tell("the user stops " + named(trial));
                oracle_.stopped_by_user.insert(trial);
                s.round_due = true;
            }
        } else if (befalls(trouble_.lose_disk)) {
            tell("the disk fails");
            store_.lose_disk();
        } else if (troubled_ && dice_.chance(0.003)) {
            s.others = dice_.chance(0.5) ? 0 : dice_.unit();
        }
        const double which = dice_.unit();
        if (s.engine->has_more()) s.round_due = true;
        if (s.round_due && which < 0.35) return end_round(s);
        if (which < 0.40) return tick(s);
        if (which < 0.45) return store_.synchronise();
        if (std::exchange(s.synchronised, false)) s.round_due = true;
        if (s.flush_due && which < 0.5) {
            s.flush_due = false;
            s.engine->flush();
            s.round_due = true;
            return;
        }
        if (which < 0.75 && s.workers->act()) return;
        if (auto event = s.workers->deliver()) {
            if (story_) tell(text_of(event->first, event->second));
            s.engine->on(event->first, event->second);
            s.round_due = true;
            return;
        }
        if (s.workers->act()) return;
        if (s.round_due) return end_round(s);
        store_.synchronise();
        if (std::exchange(s.synchronised, false)) s.round_due = true;
        tick(s);  // nothing else can happen: time passes
        if (!troubled_ || dice_.chance(0.2)) s.others = 0;
    }

    void tick(Session& s) {
        clock_.advance(Seconds(dice_.chance(0.02) ? 1000 * dice_.unit() : 1));  // seldom the machine stands still
        if (story_) tell("tick, " + std::to_string(clock_.now().count()));
        s.engine->tick();
        end_round(s);
    }

    void end_round(Session& s) {
        s.round_due = false;
        release(s);
        s.engine->end_round();
        if (s.ledger->waits()) s.flush_due = true;
        if (const auto id = s.workers->unanswered())
            violated("the report of " + named(id->trial) + ", attempt " + std::to_string(id->attempt) +
                     ", is not answered");
        check_reservations(*s.engine);
    }

    void release(Session& s) {
        try {
            s.announcements.drop_after(s.ledger->results());
            s.announcements.release(s.ledger->results_on_disk());
        } catch (const StoreFailed& failed) {
            s.engine->fail(failed.what());
        }
    }

    void finish(Session& s) {
        try {
            s.ledger->session_ended({1, why_});
            s.ledger->settle();
            s.announcements.drop_after(s.ledger->results());
            s.announcements.release(s.ledger->results_on_disk());
            if (s.announcements.waiting() != 0) violated("announcements wait although all is on the disk");
        } catch (const StoreFailed& failed) {
            tell(std::string("the end of the session was not stored: ") + failed.what());
        }
        oracle_.check_announced(s.ledger->stored_record(), "at the end of the session");
    }

    SessionEnd end_of_process(SessionEnd end, const std::string& why) {
        tell("the session ends: " + why);
        why_ = why;
        session_.reset();
        store_.lose_unwritten();
        return end;
    }

    /// Loses checkpoints. A checkpoint may be older after a power cut, and is never ahead of the stored steps: the
    /// worker brings it to the disk when it is answered.
    void lose_checkpoints() {
        StudyRecord record;
        for (const StoredEvent& stored : store_.kept()) apply(record, stored, study_.objective);
        for (auto& [trial, step] : checkpoints_) {
            const bool known = trial <= static_cast<std::int64_t>(record.trials.size());
            step = known ? dice_.between(0, std::min(step, record.trial(trial).steps())) : 0;
        }
    }

    std::string waits(const Session& s) const {
        std::string all;
        for (const std::string& line : s.engine->waiting_for()) all += line + "; ";
        return all;
    }

    std::string text_of(WorkerIndex index, const execution::Event& event) const {
        std::string text = "worker " + std::to_string(index) + ": ";
        if (std::holds_alternative<execution::Ready>(event)) return text + "hello";
        if (const auto* exited = std::get_if<execution::Exited>(&event))
            return text + "exited, " + std::to_string(exited->code) + ", signal " + std::to_string(exited->signal);
        if (std::holds_alternative<execution::LaunchFailed>(event)) return text + "was not launched";
        const auto* received = std::get_if<execution::Received>(&event);
        if (!received) return text + "lines that are no messages";
        if (const auto* report = std::get_if<from_worker::Reported>(&received->message))
            return text + named(report->id.trial) + ", attempt " + std::to_string(report->id.attempt) + ", step " +
                   std::to_string(report->report.step);
        if (const auto* end = std::get_if<from_worker::Finished>(&received->message))
            return text + named(end->id.trial) + " " + std::string(to_text(end->outcome));
        return text + "a message";
    }

    // ---- What the oracle sees of a session.

    void happened(Session& s, const StoredEvent& stored) {
        const auto* finished = std::get_if<event::Finished>(&stored.event);
        if (!finished) return;
        const std::int64_t trial = finished->trial;
        oracle_.check_first_end(trial);
        const TrialRecord& record = s.ledger->record().trial(trial);
        s.announcements.add(s.ledger->results(), [this, trial, end = AnnouncedEnd{record.state, own_value(record)}] {
            tell(named(trial) + " is announced: " + std::string(to_text(end.state)));
            oracle_.announce(trial, end);
        });
    }

    /// Checks that a worker is told of stored events only.
    void check_sent(WorkerIndex index, const OrchestratorMessage& message) const {
        const StudyRecord& record = session_->ledger->record();
        const auto unwritten = [&](auto&& is_about) {
            const auto& kept = store_.kept();
            return std::any_of(kept.begin() + static_cast<std::ptrdiff_t>(store_.written()), kept.end(),
                               [&](const StoredEvent& stored) { return is_about(stored.event); });
        };
        if (const auto* plan = std::get_if<to_worker::Plan>(&message))
            tell("ask worker " + std::to_string(index) + " for the needs of " + named(plan->id));
        if (const auto* run = std::get_if<to_worker::Run>(&message)) {
            const std::int64_t trial = run->id.trial, stored_steps = record.trial(trial).steps();
            tell("run " + named(trial) + ", attempt " + std::to_string(run->id.attempt) + " in worker " +
                 std::to_string(index));
            // A trial that the user stops while its launch is stored is told to stop by the next message.
            if (is_final(record.trial(trial).state) && record.trial(trial).rule != "user")
                violated(named(trial) + " has ended and is run again");
            if (stored_steps >= study_.budget.epochs &&
                std::isfinite(record.trial(trial).curve.back().metrics.at("loss")))
                violated(named(trial) + " has all its steps and is run again");
            if (session_->workers->trains(trial)) violated(named(trial) + " trains in two workers");
            if (unwritten([&](const Event& event) {
                    const auto* launched = std::get_if<event::Launched>(&event);
                    return launched && launched->trial == trial;
                }))
                violated(named(trial) + " is run before its launch is stored");
            const auto checkpoint = checkpoints_.find(trial);
            if (run->resume && checkpoint != checkpoints_.end() && checkpoint->second > stored_steps)
                violated("the checkpoint of " + named(trial) + " is ahead of its stored steps");
        } else if (const auto* decision = std::get_if<to_worker::Decision>(&message)) {
            const std::int64_t trial = decision->id.trial;
            if (unwritten([&](const Event& event) {
                    const auto* finished = std::get_if<event::Finished>(&event);
                    const auto* paused = std::get_if<event::Paused>(&event);
                    const auto* reported = std::get_if<event::Reported>(&event);
                    return (finished && finished->trial == trial) || (paused && paused->trial == trial) ||
                           (reported && reported->trial == trial && abilities_.checkpoints);
                }))
                violated(named(trial) + " is answered before its end, or the step of its checkpoint, is stored");
        }
    }

    void check_reservations(const Engine& engine) const {
        std::int64_t host = 0;
        std::map<int, std::int64_t> on_device;
        for (const HeldResources& held : engine.held_resources()) {
            host += held.reservation.footprint.host_bytes;
            for (const int device : devices_of(held.reservation))
                if (device != host_only) on_device[device] += held.reservation.footprint.device_bytes;
        }
        if (host > machine_.hosts[0].memory) violated("reservations exceed the host's memory: " + std::to_string(host));
        for (const auto& [device, bytes] : on_device)
            if (bytes > machine_.accelerators.at(static_cast<std::size_t>(device)).memory)
                violated("reservations exceed the memory of device " + std::to_string(device));
    }

    Dice dice_;
    Counts& counts_;
    std::function<void(const std::string&)> story_;
    Study study_;
    Oracle oracle_{study_};
    Machine machine_;
    int workers_ = 1;
    Abilities abilities_;
    Habits habits_;
    Troubles trouble_;
    bool troubled_ = true;
    ManualClock clock_;
    LosableStore store_{clock_};
    std::optional<Session> session_;
    std::string why_;
    std::map<std::int64_t, std::int64_t> checkpoints_;  ///< the last step in each trial's checkpoint
};

}  // namespace

void play(std::uint64_t seed, Counts& counts, const std::function<void(const std::string&)>& story) {
    Schedule(seed, counts, story).play();
}

}  // namespace hpo::schedules
