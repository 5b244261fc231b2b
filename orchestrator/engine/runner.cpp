#include "orchestrator/engine/runner.hpp"

#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <optional>

#include "hpo/doing.hpp"
#include "hpo/interrupted.hpp"
#include "hpo/printable.hpp"
#include "hpo/version.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/engine/announcements.hpp"
#include "orchestrator/engine/checkpoints.hpp"
#include "orchestrator/engine/control.hpp"
#include "orchestrator/engine/held_study.hpp"
#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/log_lines.hpp"
#include "orchestrator/engine/session_concurrency.hpp"
#include "orchestrator/engine/study_log.hpp"
#include "orchestrator/engine/waiting_for.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/execution/interrupts.hpp"
#include "orchestrator/execution/own_threads.hpp"
#include "orchestrator/execution/processes.hpp"
#include "orchestrator/execution/questions.hpp"
#include "orchestrator/execution/wake_up.hpp"
#include "orchestrator/store/holder_lock.hpp"
#include "orchestrator/store/lock_owner.hpp"
#include "orchestrator/telemetry/session_telemetry.hpp"

namespace hpo {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

constexpr auto draw_every = 250ms;
constexpr auto killed_within = 400ms;  ///< after the second signal
constexpr auto left_within = 150ms;    ///< after that
constexpr int most_events = 1000;      ///< events that one round takes in
constexpr auto flush_every = 50ms;     ///< limits the steps that a kill may lose, and the delay for viewers

const std::string not_stored = "the study's database cannot be written: ";

/// Returns the tag of this study's processes, by which they are found even after a crash. The same folder gives the
/// same tag.
std::string study_tag(const StudyFolder& folder) {
    struct stat info {};
    stat(folder.path.c_str(), &info);
    return "hpo-" + std::to_string(info.st_dev) + "-" + std::to_string(info.st_ino);
}

/// Seconds since the epoch.
double time_of_day() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Notice notice_of(const DeviceNotice& notice) {
    return {notice.warning ? Notice::Level::warning : Notice::Level::news, 0, notice.text};
}

/// The objects of one session.
class Session {
   public:
    Session(asio::io_context& loop, const Study& study, const StudyFolder& folder, RunObserver& observer, Ledger ledger,
            SessionSite site, std::shared_ptr<spdlog::logger> log, Questions& questions)
        : study_(study),
          folder_(folder),
          observer_(observer),
          log_(std::move(log)),
          ledger_(std::move(ledger)),
          site_(std::move(site)),
          loop_(loop),
          questions_(questions, loop_, [this] { answer(); }) {
        open_registry();
    }

    ~Session() {
        ledger_.when_on_disk({});
        ledger_.drop_proposal();
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Writes the study to its folder once nothing can refuse it any more.
    Result<RunOutcome> run(HeldStudy& held) {
        lock_ = &held.lock;
        if (const auto made = make_executor(); !made) return made.error();
        if (const auto listens = listen_to_control(); !listens) return listens.error();
        if (!machine_->waits_to_begin().empty()) {
            if (const auto shown = held.show(study_); !shown) return shown.error();
            wait_for_hosts();
        }
        const auto warn = [this](const std::string& text) { print({Notice::Level::warning, 0, text}); };
        if (const auto begun = held.begin(study_, folder_, warn); !begun) return begun.error();
        begin();
        while (!is_over()) {
            wait();
            end_round();
        }
        if (!engine_->done()) leave_behind();
        return end();
    }

   private:
    Result<void> make_executor() {
        auto executor = site_.executor([this](WorkerIndex index, const execution::Event& event) {
            if (const auto* ready = std::get_if<execution::Ready>(&event))
                machine_->worker_started(index, ready->hello.pid);
            engine_->on(index, event);
            if (std::holds_alternative<execution::Exited>(event)) machine_->worker_ended(index);
        });
        if (!executor) return executor.error();
        executor_ = std::move(*executor);
        return {};
    }

    /// Heeds signals and `hpo stop` meanwhile. Throws Fatal if they end the session, or if no host is left.
    void wait_for_hosts() {
        const Doing doing("waits for hosts to answer");
        for (auto shown = clock_.now() - 1s;;) {
            for (const DeviceNotice& device : machine_->poll(clock_.now())) print(notice_of(device));
            if (const std::string gone = machine_->gone(); !gone.empty()) throw Fatal(gone, 2);
            const std::string awaited = machine_->waits_to_begin();
            if (awaited.empty()) return;
            if (!ended_early_.empty())
                throw Fatal(ended_early_ + " while it waited for the agents of " + awaited,
                            signal_ ? exit_status_of(signal_) : 1);
            if (const Seconds now = clock_.now(); now - shown >= 1s) {
                shown = now;
                publish(machine_->to_publish(machine_->read({}, {}, {}), {}), "for the agents of " + awaited);
            }
            loop_.run_one_for(200ms);
        }
    }

    void begin() {
        begun_ = clock_.now();
        telemetry_.emplace(machine_->host(), begun_);
        ledger_.when_on_disk([this] { on_disk_.wake(); });
        announcements_.release(ledger_.results_on_disk());
        ledger_.on_event = [this](const StoredEvent& stored) {
            has_begun_trial_ = has_begun_trial_ || std::holds_alternative<event::Launched>(stored.event);
            const std::string logged = log_line(study_, ledger_.record(), stored),
                              printed = observer_.happened(ledger_.record(), stored);
            if (logged.empty() && printed.empty()) return;
            announce([this, logged, printed] {
                if (!logged.empty()) log_->info("{}", logged);
                if (!printed.empty()) observer_.print(printed);
            });
        };
        ledger_.on_end_with_study = [this](const StoredEvent& stored) { ended_with_study_.push_back(stored); };
        const event::SessionStarted session{host_name(), getpid(), version};
        const int workers = site_.workers();
        log_->info("{}", session_line(study_, session, workers));
        ledger_.session_started(session);
        if (!site_.fewer_than_asked.empty()) tell({Notice::Level::warning, 0, site_.fewer_than_asked});
        log_->info("sampler {}", ledger_.proposer().about());
        keeper_.begin();
        engine_.emplace(parts(), workers);

        observer_.begun(view());
        listen_to_the_window();
        now_ = seen();
        engine_->start();
        end_round();
        tick();
        draw();
        end_round();
    }

    // ---- The loop.

    [[nodiscard]] bool is_over() const { return engine_->done() || gives_up_; }

    /// Waits for an event of a worker, the clock or the user, and takes in all events that have arrived by then, at
    /// most `most_events` in a round.
    void wait() {
        if (!engine_->has_more()) loop_.run_one();
        for (int taken_in = 1; taken_in < most_events && loop_.poll_one() > 0;) ++taken_in;
    }

    /// Starts trials, stores events, answers workers, and notifies the user and other sessions.
    void end_round() {
        try_to_show_stored();
        engine_->end_round();
        if (engine_->end() == Engine::End::interrupted || engine_->end() == Engine::End::failed)
            machine_->leave_silent_hosts();
        publish_reservations();
        flush_later();
    }

    /// Shows results that survive a loss of power.
    void show_stored() {
        announcements_.drop_after(ledger_.results());
        announcements_.release(ledger_.results_on_disk());
    }
    void try_to_show_stored() {
        try {
            show_stored();
        } catch (const StoreFailed& failed) {
            engine_->fail(not_stored + failed.what());
        }
    }

    /// Publishes the reservations every second, and at once when this session has read the registry and then reserved
    /// more, before others read it.
    void publish_reservations() {
        const bool due = std::exchange(publication_due_, false);
        if (due) {
            lock_registry();
            now_ = seen();
        }
        if (std::exchange(registry_locked_, false)) {
            std::vector<DeviceReservation> holds = machine_->to_publish(now_, engine_->held_resources());
            const auto more = [](const DeviceReservation& now, const DeviceReservation& before) {
                return now.reserved > before.reserved;
            };
            if (due || !std::equal(holds.begin(), holds.end(), published_.begin(), published_.end(), std::not_fn(more)))
                publish(std::move(holds), engine_->waits());
        }
        registry_lock_.reset();
    }

    /// Arranges that waiting steps are stored soon.
    void flush_later() {
        if (!ledger_.waits() || std::exchange(flushes_, true)) return;
        flusher_.expires_after(flush_every);
        flusher_.async_wait([this](auto error) {
            flushes_ = false;
            if (!error) engine_->flush();
        });
    }

    RunOutcome end() {
        if (!ended_with_study_.empty())
            announce([this, printed = observer_.ended_with_study(ledger_.record(), ended_with_study_)] {
                log_->info("{}", end_with_study_line(ended_with_study_.size()));
                observer_.print(printed);
            });
        RunOutcome outcome;
        outcome.folder_lost = folder_lost();
        outcome.end = outcome.folder_lost ? Engine::End::failed : engine_->end();
        outcome.reason = outcome.folder_lost ? lost_message() : engine_->end_reason();
        outcome.no_host_left = !machine_->gone().empty();
        outcome.no_host_worked = !has_begun_trial_ && outcome.no_host_left;
        outcome.signal = signal_;
        outcome.session = (clock_.now() - begun_).count();
        const std::vector<ConcurrencyFinding> findings = engine_->concurrency();
        outcome.concurrency = finding_lines(findings);
        for (const std::string& line : outcome.concurrency) log_->info("trials at once: {}", line);
        if (const auto kept = keep_findings(study_, *machine_, findings); !kept) log_->warn("{}", kept.error().message);
        try {
            ledger_.add_telemetry(telemetry_->finish(clock_.now(), time_of_day()));
            ledger_.session_ended(outcome.session, outcome.reason);
        } catch (const StoreFailed& failed) {
            log_->error("the end of the session was not stored: {}", failed.what());
        }
        if (const auto settled = settle(); !settled && outcome.end != Engine::End::failed) {
            outcome.end = Engine::End::failed;
            outcome.reason = settled.error().message;
        }
        observer_.draw(observer_.picture(view()));
        outcome.record = std::move(ledger_).stored_record();
        outcome.seconds = outcome.record.seconds;
        log_->info("session ended: {}", outcome.reason);
        return outcome;
    }

    EngineParts parts() {
        return {.study = study_,
                .ledger = ledger_,
                .executor = *executor_,
                .clock = clock_,
                .machine =
                    [this](auto workers, auto reusable) {
                        lock_registry();
                        std::vector<Reservation> reserved;
                        if (engine_)
                            for (const HeldResources& held : engine_->held_resources())
                                reserved.push_back(held.reservation);
                        return machine_->read(workers, reusable, reserved);
                    },
                .usage = [this](auto workers) { return machine_->usage(workers); },
                .thread_time = [this](WorkerIndex worker) { return machine_->thread_time(worker, clock_.now()); },
                .worker = site_.launch,
                .log_file = [this](std::int64_t trial) { return folder_.trial_log(trial); },
                .checkpoints =
                    [this](std::int64_t trial, bool make) {
                        std::error_code failed;  // the folder around it is there, unless the study's was moved away
                        if (make) std::filesystem::create_directory(folder_.checkpoints(trial), failed);
                        return std::filesystem::absolute(folder_.checkpoints(trial));
                    },
                .notice = [this](const Notice& notice) { tell(notice); },
                .trial_ended =
                    [this](const TrialRecord& trial) {
                        announce([this, number = trial.number] {  // its checkpoints are needed until then
                            if (folder_lost()) return;            // another run's files may lie there by now
                            keeper_.trial_ended(ledger_.record().trial(number));
                        });
                    },
                .proposal_ready = [this] { proposed_.wake(); },
                .on_device = machine_->on_device(),
                .host_too = machine_->host_too(),
                .cores = site_.cores,
                .concurrency = site_.concurrency,
                .calibrations = machine_->calibrations(),
                .awaits_hosts = [this] { return machine_->awaits_hosts(); },
                .hosts = site_.hosts};
    }

    ControlActions control_actions() {
        return {
            .stop_trial =
                [this](std::int64_t trial) {
                    if (!engine_) return Result<void>(Error{"no trial runs: the study waits for its hosts"});
                    const auto stopped = engine_->stop_trial(trial);
                    end_round();
                    return stopped ? settle() : stopped;
                },
            .stop_study = [this] { interrupt("stopped by hpo stop"); },
            .running =
                [this] { return engine_ ? static_cast<std::int64_t>(engine_->running().size()) : std::int64_t{0}; }};
    }

    /// Calls `announce` once all events up to now survive a loss of power.
    void announce(std::function<void()> what) { announcements_.add(ledger_.results(), std::move(what)); }

    /// Answers a waiting client.
    Result<void> settle() {
        try {
            ledger_.settle();
            show_stored();
            return {};
        } catch (const StoreFailed& failed) {
            return Error{not_stored + failed.what()};
        }
    }

    void tell(const Notice& notice) {
        announce([this, notice] { print(notice); });
    }

    void print(const Notice& notice) {
        const auto level = notice.level <= Notice::Level::news      ? spdlog::level::info
                           : notice.level == Notice::Level::warning ? spdlog::level::warn
                                                                    : spdlog::level::err;
        if (notice.trial)
            log_->log(level, "trial {}: {}", notice.trial, notice.text);
        else
            log_->log(level, "{}", notice.text);
        observer_.notice(notice);
    }

    [[nodiscard]] SessionView view() const {
        return {ledger_.record(), engine_->seconds(), static_cast<int>(engine_->at_once()), engine_->running(),
                engine_->waits()};
    }

    /// Processes that are stuck in the kernel, or below such a supervisor, are left to the next run's sweep.
    void leave_behind() {
        const Doing ending("waits for processes that were killed");
        std::string pids;
        for (const std::string& pid : executor_->end(left_within)) pids += (pids.empty() ? "" : ", ") + pid;
        if (!pids.empty())
            tell({Notice::Level::warning, 0, "these processes would not die, the next run ends them: " + pids});
    }

    /// Answers SIGQUIT with the things that the session waits for.
    void answer() {
        std::vector<std::string> lines;
        if (engine_) lines = engine_->waiting_for();
        if (const std::string hosts = machine_->waits_to_begin(); !hosts.empty())
            lines.push_back("the agents of " + hosts);
        StoreState store{.unwritten = ledger_.waits(),
                         .failed = ledger_.failure().value_or(""),
                         .lockers = lockers_of(folder_.database()),
                         .announcements = announcements_.waiting()};
        try {
            store.not_on_disk = ledger_.results() - ledger_.results_on_disk();
        } catch (const StoreFailed& failed) {
            store.failed = failed.what();
        }
        for (const std::string& line : waiting_for(store)) lines.push_back(line);
        std::string threads;
        for (const std::string& thread : own_threads()) threads += (threads.empty() ? "threads: " : ", ") + thread;
        if (!threads.empty()) lines.push_back(threads);
        std::string text = "hpo: study " + study_.name + ", process " + std::to_string(getpid()) + ", waits for:";
        for (const std::string& line : lines) text += "\n  " + printable(line);
        log_->info("{}", text);
        observer_.answer(text + '\n');
    }

    /// Returns true if the study's folder was moved or removed.
    [[nodiscard]] bool folder_lost() const {
        std::error_code ignored;
        return !lock_->in_place() || !std::filesystem::exists(folder_.database(), ignored);
    }
    [[nodiscard]] std::string lost_message() const {
        return "the study's folder " + folder_.path.string() +
               " was moved or removed while it ran; stored results are in the moved folder";
    }

    void sample() {
        const Seconds now = clock_.now();
        try {
            ledger_.add_telemetry(telemetry_->tick(now, time_of_day(), machine_->readings(),
                                                   !engine_->running().empty(),
                                                   study_.script() ? getpid() : 0));  // a native trial takes a core
        } catch (const StoreFailed& failed) {
            engine_->fail(not_stored + failed.what());
        }
    }

    void tick() {
        if (folder_lost()) engine_->fail(lost_message());
        for (const DeviceNotice& notice : machine_->poll(clock_.now())) tell(notice_of(notice));
        if (const std::string gone = machine_->gone(); !gone.empty()) engine_->fail(gone);
        keep_folders();
        sample();
        engine_->tick();
        publication_due_ = true;
        ticker_.expires_after(1s);
        ticker_.async_wait([this](auto error) {
            if (!error) tick();
        });
    }

    /// Locks the session registry until all placements are settled, so that no other session decides meanwhile.
    void lock_registry() {
        if (std::exchange(registry_locked_, true)) return;
        if (registry_) registry_lock_ = registry_->lock();
        machine_->take_other_sessions(registry_ ? registry_->others() : read_sessions());
    }

    /// The session continues without a registry.
    void publish(std::vector<DeviceReservation> holds, const std::string& waits) {
        published_ = holds;
        if (registry_) (void)registry_->publish({study_.name, getpid(), std::move(holds), waits});
    }

    /// Reads the machine, with the processes of this session as its own.
    [[nodiscard]] Machine seen() const {
        std::vector<Reservation> reserved;
        for (const HeldResources& held : engine_->held_resources()) reserved.push_back(held.reservation);
        return machine_->read(engine_->workers(), {}, reserved);
    }

    void draw() {
        show();
        drawer_.expires_after(draw_every);
        drawer_.async_wait([this](auto error) {
            if (!error) draw();
        });
    }

    void show() {
        announce([this, picture = observer_.picture(view())] {
            // A write that a signal interrupted does not mean a closed terminal. The signal is handled separately.
            if (!observer_.draw(picture) && interrupted_by == 0 && !signals_.outlives_terminal()) end_by(SIGHUP);
        });
    }

    /// Draws again at once when the terminal's size has changed.
    void listen_to_the_window() {
        window_.async_wait([this](auto error, int) {
            if (error) return;
            show();
            listen_to_the_window();
        });
    }

    /// Opens the control socket again if the folder of sockets is gone.
    Result<void> listen_to_control() {
        sockets_ = executor_->folder();
        control_.reset();
        auto control = ControlServer::open(loop_, sockets_ / "control", study_.name, control_actions());
        if (!control) return Error{"no control socket: " + control.error().message};
        control_.emplace(*std::move(control));
        return lock_->publish((sockets_ / "control").string());
    }

    /// Recreates the folder of sockets, since folders below $XDG_RUNTIME_DIR are removed when their user logs out.
    void keep_folders() {
        if (!registry_ || registry_->lost()) {
            registry_.reset();
            open_registry();
        }
        auto kept = executor_->keep_folder();
        if (kept && executor_->folder() != sockets_) kept = listen_to_control();
        if (!kept && std::exchange(folder_problem_, kept.error().message) != kept.error().message)
            tell({Notice::Level::warning, 0, "hpo stop cannot reach this study: " + folder_problem_});
    }

    void open_registry() {
        if (auto registry = SessionRegistry::open()) registry_.emplace(*std::move(registry));
    }

    /// The first signal ends the session gently. A second SIGINT or SIGTERM kills all workers, without waiting for
    /// those that do not die.
    void end_by(int number) {
        if (signal_ != 0 && number != SIGHUP) {
            if (engine_) engine_->kill();
            killer_.expires_after(killed_within);
            killer_.async_wait([this](auto error) {
                if (!error) gives_up_ = true;
            });
        } else if (signal_ == 0) {
            signal_ = number;
            const std::string problem = number == SIGHUP ? observer_.output_problem() : std::string();
            const std::string reason = number == SIGINT    ? "interrupted"
                                       : limit_is_near     ? limit_reason
                                       : number == SIGTERM ? "terminated"
                                       : problem.empty()   ? "the terminal was closed"
                                                           : problem;
            interrupt(reason);
        }
    }
    void interrupt(const std::string& reason) {
        if (engine_)
            engine_->interrupt(reason);
        else if (ended_early_.empty())
            ended_early_ = reason;
    }

    const Study& study_;
    const StudyFolder& folder_;
    HolderLock* lock_ = nullptr;
    RunObserver& observer_;
    std::shared_ptr<spdlog::logger> log_;
    Ledger ledger_;
    SteadyClock clock_;
    Seconds begun_{};
    SessionSite site_;
    SessionMachine* machine_ = site_.machine.get();
    std::optional<SessionTelemetry> telemetry_;
    std::optional<SessionRegistry> registry_;
    bool registry_locked_ = false;              ///< the session registry was read since the last settled round
    Descriptor registry_lock_;                  ///< from then on
    Machine now_;                               ///< as of the last tick
    std::vector<DeviceReservation> published_;  ///< reservations published to other sessions
    Announcements announcements_;
    CheckpointKeeper keeper_{study_, folder_, ledger_.record()};
    asio::io_context& loop_;
    WakeUp on_disk_{loop_, [] {}};  ///< interrupts wait()
    WakeUp proposed_{loop_, [this] { engine_->proposal_ready(); }};
    asio::steady_timer ticker_{loop_};
    asio::steady_timer drawer_{loop_};
    bool publication_due_ = false;  ///< reservations must be published
    bool gives_up_ = false;         ///< stops waiting for processes that do not end
    asio::steady_timer flusher_{loop_};
    bool flushes_ = false;
    asio::steady_timer killer_{loop_};
    Interrupts signals_{loop_, [this](int number) { end_by(number); }};
    asio::signal_set window_{loop_, SIGWINCH};
    Questions::Listener questions_;
    int signal_ = 0;
    std::string ended_early_;       ///< why it ends before the engine begins
    bool has_begun_trial_ = false;  ///< in this session
    std::unique_ptr<SessionExecutor> executor_;
    std::filesystem::path sockets_;  ///< the folder where the control socket listens
    std::optional<ControlServer> control_;
    std::string folder_problem_;  ///< last problem that the user was warned of
    std::optional<Engine> engine_;
    std::vector<StoredEvent> ended_with_study_;  ///< paused trials
};

}  // namespace

Result<void> could_begin(const Study& study, const Programs& programs, bool here) {
    if (const auto proposer = Proposer::make(study); !proposer) return proposer.error();
    if (const auto rules = Rules::make(study); !rules) return rules.error();
    if (!here) return {};
    if (const auto machine = LiveMachine::make(study, programs.hpo); !machine) return machine.error();
    return {};
}

Result<RunOutcome> run_study(const Study& study, const StudyFolder& folder, const Programs& programs,
                             RunObserver& observer, const Acceptance& accepted, const OpenSite& open_site) {
    if (const auto named = check_utf8(folder.path); !named) return named.error();
    heed_interrupts();
    Questions questions;
    const auto warn = [&](const std::string& message) { observer.notice({Notice::Level::warning, 0, message}); };
    auto held = HeldStudy::take(study, folder, accepted, warn);
    if (!held) return held.error();

    const std::string tag = study_tag(folder);
    std::optional<Doing> doing(std::in_place, "ends processes that an earlier session has left");
    if (!sweep(tag)) return Error{"processes of an earlier run would not die; see ps for HPO_TAG=" + tag};
    doing.reset();
    doing.emplace("looks for the machine's devices");
    const auto notice = [&](Notice::Level level, const std::string& text) { observer.notice({level, 0, text}); };
    asio::io_context loop(1);
    auto site = open_site({loop, study, folder, programs, tag, [&](const DeviceNotice& device) {
                               notice(device.warning ? Notice::Level::warning : Notice::Level::info, device.text);
                           }});
    if (!site) return site.error();
    doing.reset();
    Session session(loop, study, folder, observer, std::move((*held)->ledger), *std::move(site),
                    open_study_log(folder.log()), questions);
    auto outcome = session.run(**held);
    if (outcome) outcome->store = std::move((*held)->store);
    return outcome;
}

}  // namespace hpo
