#include "orchestrator/engine/study_session.hpp"
#include "hpo/open_trials.hpp"
#include "orchestrator/engine/code_state.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <utility>

#include "hpo/doing.hpp"
#include "hpo/interrupted.hpp"
#include "hpo/version.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/engine/host_wait.hpp"
#include "orchestrator/engine/log_lines.hpp"
#include "orchestrator/engine/session_concurrency.hpp"
#include "orchestrator/engine/supply.hpp"
#include "orchestrator/engine/waiting_for.hpp"
#include "orchestrator/store/lock_owner.hpp"

namespace hpo {

namespace {

using namespace std::chrono_literals;

constexpr auto draw_every = 250ms;
constexpr auto left_within = 150ms;  ///< after workers were killed
constexpr int most_events = 1000;    ///< events that one round takes in
constexpr auto flush_every = 50ms;   ///< limits the steps that a kill may lose, and the delay for viewers

const std::string not_stored = "the study's database cannot be written: ";

/// Seconds since the epoch.
double time_of_day() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Notice notice_of(const DeviceNotice& notice) {
    return {notice.warning ? Notice::Level::warning : Notice::Level::news, 0, notice.text};
}

}  // namespace

StudySession::StudySession(boost::asio::io_context& loop, const Study& study, const StudyFolder& folder,
                           RunObserver& observer, HeldStudy& held, SessionSite site,
                           std::shared_ptr<spdlog::logger> log, Questions& questions)
    : study_(study),
      folder_(folder),
      observer_(observer),
      held_(held),
      log_(std::move(log)),
      ledger_(std::move(held.ledger)),
      site_(std::move(site)),
      loop_(loop),
      ticker_(loop, 1s, [this] { tick(); }),
      drawer_(loop, draw_every, [this] { show(); }),
      signals_(loop, {.interrupt = [this](const std::string& reason, SessionEnd how) { interrupt(reason, how); },
                      .kill =
                          [this] {
                              if (engine_) engine_->kill();
                          },
                      .output_problem = [this] { return observer_.output_problem(); }}),
      window_(loop, SIGWINCH),
      questions_(questions, loop, [this] { answer(); }),
      published_(loop, study.name, *machine_, control_actions()) {}

StudySession::~StudySession() {
    ledger_.when_on_disk({});
    ledger_.drop_proposal();
}

Result<RunOutcome> StudySession::run() {
    if (const auto made = make_executor(); !made) return made.error();
    const bool waits = !machine_->waits_to_begin().empty() && has_work();
    if (waits)
        if (const auto shown = held_.show(study_); !shown) return shown.error();
    if (const auto listens = published_.listen(*executor_, held_.lock); !listens) return listens.error();
    if (waits)
        if (auto ended = wait_for_hosts()) return *std::move(ended);
    const bool keeps_stored = !held_.changes.lasting.empty() && !has_work();
    if (const auto written = keeps_stored ? keep_stored_study() : write_study(); !written) return written.error();
    begin();
    while (!is_over()) {
        wait();
        end_round();
    }
    if (!engine_->done()) leave_behind();
    RunOutcome outcome = end();
    outcome.kept_stored = keeps_stored;
    return outcome;
}

Result<void> StudySession::make_executor() {
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

/// Returns false if the study is over already, so that it needs no host.
bool StudySession::has_work() {
    const Supply supply(study_, ledger_);
    const auto& limit = study_.budget.seconds;
    if (limit && ledger_.record().seconds >= *limit) return false;
    return !ledger_.queued().empty() || !ledger_.unfinished().empty() || !supply.is_over();
}

Result<void> StudySession::write_study() {
    const auto warn = [this](const std::string& text) { print({Notice::Level::warning, 0, text}); };
    if (const auto begun = held_.begin(study_, folder_, warn); !begun) return begun;
    if (!held_.changes.wider.empty()) print({Notice::Level::news, 0, held_.changes.wider});
    return {};
}

/// Leaves the stored study as it is, since no trial runs with changes that could not be undone.
Result<void> StudySession::keep_stored_study() {
    const auto begun = static_cast<std::int64_t>(ledger_.record().trials.size());
    const std::int64_t enough = is_open_ended(study_.budget) ? begun : std::max(begun, study_.budget.trials);
    const bool no_time = study_.budget.seconds && ledger_.record().seconds >= *study_.budget.seconds;
    const std::string cure = no_time ? "--time " + std::to_string(std::llround(2 * *study_.budget.seconds)) + 's'
                                     : "--trials " + std::to_string(2 * enough);
    print({Notice::Level::news, 0,
           "nothing is left to run, so study " + study_.name + " keeps its settings; with " + cure +
               ", trials run with " + held_.changes.lasting});
    held_.takeback.forget();
    return {};
}

/// Returns the outcome if the session ends meanwhile.
std::optional<RunOutcome> StudySession::wait_for_hosts() {
    const Seconds begun = clock_.now();
    const auto ended = [&] {
        waited_ = clock_.now() - begun;
        const auto& limit = study_.budget.seconds;
        if (limit && ledger_.record().seconds + waited_.count() >= *limit)
            interrupt("the time budget was used up", SessionEnd::out_of_time);
        return ended_early_.has_value();
    };
    const std::string awaited = hpo::wait_for_hosts(
        loop_, clock_, *machine_,
        {.tell = [this](const DeviceNotice& notice) { print(notice_of(notice)); },
         .publish = [this](auto holds, const std::string& names) { published_.publish(std::move(holds), names); },
         .ended = ended});
    if (awaited.empty()) return std::nullopt;
    machine_->session_ends(ended_early_->end, ended_early_->reason);
    for (const DeviceNotice& notice : machine_->take_notices()) print(notice_of(notice));
    RunOutcome outcome;
    outcome.end = ended_early_->end;
    outcome.reason = ended_early_->reason + " while it waited for the agents of " + awaited;
    outcome.signal = signals_.number();
    outcome.has_begun = false;
    return outcome;
}

void StudySession::begin() {
    begun_ = clock_.now();
    telemetry_.emplace(machine_->host(), begun_);
    follow_ledger();
    const event::SessionStarted session{host_name(), getpid(), version, code_state(study_)};
    const int workers = site_.workers();
    log_->info("{}", session_line(study_, session, workers));
    ledger_.session_started(session);
    if (!site_.fewer_than_asked.empty()) tell({Notice::Level::warning, 0, site_.fewer_than_asked});
    log_->info("sampler {}", ledger_.proposer().about());
    tell_changed_files();
    keeper_.begin();
    engine_.emplace(parts(), workers);

    observer_.begun(view());
    show_at_new_size();
    engine_->start();
    end_round();
    ticker_.start();
    drawer_.start();
    end_round();
}

/// Says that trials of earlier sessions ran another version of the script.
void StudySession::tell_changed_files() {
    double last = 0;
    for (const TrialRecord& trial : ledger_.record().trials) last = std::max(last, trial.started_at);
    const std::string before = ledger_.scripts();
    const std::string now = fingerprints_of_files(study_);
    if (now != before) ledger_.set_scripts(now);
    if (last == 0) return;
    for (const std::string& file : files_changed_since(study_, before, last))
        tell({Notice::Level::news, 0,
              file + " has changed since the last trial began: earlier trials ran another version of it (--fresh "
                     "begins anew)"});
}

void StudySession::follow_ledger() {
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
}

// ---- The loop.

/// Waits for an event of a worker, the clock or the user, and takes in all events that have arrived by then, at most
/// `most_events` in a round.
void StudySession::wait() {
    if (!engine_->has_more()) loop_.run_one();
    for (int taken_in = 1; taken_in < most_events && loop_.poll_one() > 0;) ++taken_in;
}

/// Starts trials, stores events, answers workers, and notifies the user and other sessions.
void StudySession::end_round() {
    try {
        show_stored();
    } catch (const StoreFailed& failed) {
        engine_->fail(not_stored + failed.what());
    }
    engine_->end_round();
    if (engine_->end() != Engine::End::none) machine_->session_ends(engine_->end(), engine_->end_reason());
    published_.settle(*engine_);
    flush_later();
}

void StudySession::tick() {
    if (folder_lost()) engine_->fail(lost_message());
    for (const DeviceNotice& notice : machine_->poll(clock_.now())) tell(notice_of(notice));
    if (const std::string gone = machine_->gone(); !gone.empty()) engine_->fail(gone);
    if (const std::string problem = published_.keep_folders(*executor_, held_.lock); !problem.empty())
        tell({Notice::Level::warning, 0, problem});
    sample();
    engine_->grow(site_.workers());
    engine_->tick();
    published_.publication_is_due();
}

/// Arranges that waiting steps are stored soon.
void StudySession::flush_later() {
    if (!ledger_.waits() || std::exchange(flushes_, true)) return;
    flusher_.expires_after(flush_every);
    flusher_.async_wait([this](auto error) {
        flushes_ = false;
        if (!error) engine_->flush();
    });
}

void StudySession::sample() {
    try {
        const bool runs = !engine_->running().empty();
        const std::int64_t own = study_.script() ? getpid() : 0;  // a native trial takes a core
        ledger_.add_telemetry(telemetry_->tick(clock_.now(), time_of_day(), machine_->readings(), runs, own));
    } catch (const StoreFailed& failed) {
        engine_->fail(not_stored + failed.what());
    }
}

// ---- The end.

/// Leaves processes that are stuck in the kernel, and those below a stuck supervisor, to the next run's sweep.
void StudySession::leave_behind() {
    const Doing ending("waits for processes that were killed");
    std::string pids;
    for (const std::string& pid : executor_->end(left_within)) pids += (pids.empty() ? "" : ", ") + pid;
    if (!pids.empty())
        tell({Notice::Level::warning, 0, "these processes would not die, the next run ends them: " + pids});
}

RunOutcome StudySession::end() {
    for (const DeviceNotice& notice : machine_->take_notices()) tell(notice_of(notice));  // those since the last tick
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
    // A lock of another process may have kept the loop from the signal.
    outcome.signal = signals_.number() != 0 ? signals_.number() : interrupted_by.load();
    outcome.session = (clock_.now() - begun_).count();
    const std::vector<ConcurrencyFinding> findings = engine_->concurrency();
    outcome.concurrency = finding_lines(findings);
    for (const std::string& line : outcome.concurrency) log_->info("trials at once: {}", line);
    if (const auto kept = keep_findings(study_, *machine_, findings); !kept) log_->warn("{}", kept.error().message);
    const bool stored = store_the_end(outcome);
    if (const auto settled = settle(); !settled && outcome.end != Engine::End::failed) {
        outcome.end = Engine::End::failed;
        outcome.reason = settled.error().message;
    }
    outcome.lock_given_up = lock_given_up;
    observer_.draw(observer_.picture(view()));
    outcome.record = std::move(ledger_).stored_record();
    outcome.seconds = stored ? outcome.record.seconds : engine_->seconds();
    log_->info("session ended: {}", outcome.reason);
    return outcome;
}

/// Returns false if the database cannot be written, so that the record lacks this session's time.
bool StudySession::store_the_end(const RunOutcome& outcome) {
    try {
        ledger_.add_telemetry(telemetry_->finish(clock_.now(), time_of_day()));
        ledger_.session_ended({outcome.session, outcome.reason, outcome.end});
        return true;
    } catch (const StoreFailed& failed) {
        log_->error("the end of the session was not stored: {}", failed.what());
        return false;
    }
}

// ---- Answers to the engine and to clients.

EngineParts StudySession::parts() {
    return {.study = study_,
            .ledger = ledger_,
            .executor = *executor_,
            .clock = clock_,
            .machine = [this](auto workers, auto reusable) { return read_machine(workers, reusable); },
            .usage = [this](auto workers) { return machine_->usage(workers); },
            .thread_time = [this](WorkerIndex worker) { return machine_->thread_time(worker, clock_.now()); },
            .worker = site_.launch,
            .log_file = [this](std::int64_t trial) { return folder_.trial_log(trial); },
            .checkpoints = [this](std::int64_t trial, bool make) { return checkpoints(trial, make); },
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
            .waited = waited_,
            .host_name = site_.host_name};
}

Machine StudySession::read_machine(std::span<const WorkerIndex> workers, std::optional<WorkerIndex> reusable) {
    published_.lock_registry();
    std::vector<Reservation> reserved;
    if (engine_)
        for (const HeldResources& held : engine_->held_resources()) reserved.push_back(held.reservation);
    return machine_->read(workers, reusable, reserved);
}

std::filesystem::path StudySession::checkpoints(std::int64_t trial, bool make) const {
    std::error_code failed;  // the folder around it is there, unless the study's was moved away
    if (make) std::filesystem::create_directory(folder_.checkpoints(trial), failed);
    return std::filesystem::absolute(folder_.checkpoints(trial));
}

ControlActions StudySession::control_actions() {
    return {
        .stop_trial =
            [this](std::int64_t trial) {
                if (!engine_) return Result<void>(Error{"no trial runs: the study waits for its hosts"});
                const auto stopped = engine_->stop_trial(trial);
                end_round();
                return stopped ? settle() : stopped;
            },
        .stop_study = [this] { interrupt("stopped by hpo stop"); },
        .running = [this] { return engine_ ? static_cast<std::int64_t>(engine_->running().size()) : std::int64_t{0}; }};
}

void StudySession::interrupt(const std::string& reason, SessionEnd how) {
    if (engine_)
        engine_->interrupt(reason, how);
    else if (!ended_early_)
        ended_early_ = {0, reason, how};
}

/// Stores all events before a waiting client is answered.
Result<void> StudySession::settle() {
    try {
        ledger_.settle();
        show_stored();
        return {};
    } catch (const StoreFailed& failed) {
        return Error{not_stored + failed.what()};
    }
}

// ---- Output for the user.

/// Calls `announcement` once all events up to now survive a loss of power.
void StudySession::announce(std::function<void()> announcement) {
    announcements_.add(ledger_.results(), std::move(announcement));
}

/// Shows results that survive a loss of power.
void StudySession::show_stored() {
    announcements_.drop_after(ledger_.results());
    announcements_.release(ledger_.results_on_disk());
}

void StudySession::tell(const Notice& notice) {
    announce([this, notice] { print(notice); });
}

void StudySession::print(const Notice& notice) {
    const auto level = notice.level <= Notice::Level::news      ? spdlog::level::info
                       : notice.level == Notice::Level::warning ? spdlog::level::warn
                                                                : spdlog::level::err;
    if (notice.trial)
        log_->log(level, "trial {}: {}", notice.trial, notice.text);
    else
        log_->log(level, "{}", notice.text);
    observer_.notice(notice);
}

SessionView StudySession::view() const {
    return {ledger_.record(), engine_->seconds(), static_cast<int>(engine_->at_once()), engine_->running(),
            waits_of(*engine_, *machine_)};
}

void StudySession::show() {
    announce([this, picture = observer_.picture(view())] {
        if (!observer_.draw(picture)) signals_.on_closed_output();
    });
}

/// Draws again at once when the terminal's size has changed.
void StudySession::show_at_new_size() {
    window_.async_wait([this](auto error, int) {
        if (error) return;
        show();
        show_at_new_size();
    });
}

/// Answers SIGQUIT with the things that the session waits for.
void StudySession::answer() {
    std::vector<std::string> lines;
    if (engine_) lines = engine_->waiting_for();
    if (const std::string hosts = machine_->waits_to_begin(); !hosts.empty()) lines.push_back("the agents of " + hosts);
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
    const std::string text = waiting_text(study_.name, lines);
    log_->info("{}", text);
    observer_.answer(text + '\n');
}

/// Returns true if the study's folder was moved or removed.
bool StudySession::folder_lost() const {
    std::error_code ignored;
    return !held_.lock.in_place() || !std::filesystem::exists(folder_.database(), ignored);
}

std::string StudySession::lost_message() const {
    return "the study's folder " + folder_.path.string() +
           " was moved or removed while it ran; stored results are in the moved folder";
}

}  // namespace hpo
