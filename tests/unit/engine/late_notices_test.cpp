// Notices of hosts and devices that come after a session's last look at them.
#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/engine/runner.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/engine/played.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;

/// A machine that says something once poll() is called no more.
class LateMachine final : public SessionMachine {
   public:
    [[nodiscard]] const Host& host() const override { return host_; }
    [[nodiscard]] bool on_device() const override { return false; }
    [[nodiscard]] Target target(std::span<const int>) const override { return {}; }
    std::vector<DeviceNotice> poll(Seconds) override { return {}; }
    std::vector<DeviceNotice> take_notices() override { return std::exchange(late_, {}); }
    [[nodiscard]] const DeviceReadings& readings() const override { return none_; }
    void take_other_sessions(std::vector<SessionReservations>) override {}
    void worker_started(WorkerIndex, std::int64_t) override {}
    void worker_ended(WorkerIndex) override {}
    [[nodiscard]] Machine read(std::span<const WorkerIndex>, std::optional<WorkerIndex>,
                               std::span<const Reservation>) const override {
        return testing::small_machine();
    }
    [[nodiscard]] std::vector<Footprint> usage(std::span<const WorkerIndex>) const override { return {}; }
    [[nodiscard]] std::optional<ThreadTime> thread_time(WorkerIndex, Seconds) override { return {}; }
    [[nodiscard]] std::vector<DeviceReservation> to_publish(const Machine&,
                                                            std::span<const HeldResources>) const override {
        return {};
    }

   private:
    Host host_ = read_host();
    DeviceReadings none_;
    std::vector<DeviceNotice> late_{{false, "far has joined"}, {true, "far: its disk is full"}};
};

/// Starts no processes: its workers end as soon as they are launched.
class EndingExecutor final : public SessionExecutor {
   public:
    EndingExecutor(boost::asio::io_context& loop, ExecutionListener listener)
        : loop_(loop), listener_(std::move(listener)) {}
    void launch(WorkerIndex worker, const LaunchSpec&) override {
        boost::asio::post(loop_, [this, worker] { listener_(worker, execution::Exited{}); });
    }
    void send(WorkerIndex, std::span<const OrchestratorMessage>) override {}
    void log_to(WorkerIndex, const std::filesystem::path&) override {}
    void terminate(WorkerIndex, double) override {}
    void kill(WorkerIndex) override {}
    std::vector<std::string> end(std::chrono::milliseconds) override { return {}; }
    Result<void> keep_folder() override { return {}; }
    [[nodiscard]] const std::filesystem::path& folder() const override { return folder_.path(); }

   private:
    boost::asio::io_context& loop_;
    ExecutionListener listener_;
    testing::TemporaryFolder folder_;
};

class Listening final : public RunObserver {
   public:
    void notice(const Notice& notice) override { notices.push_back(notice.text); }
    std::vector<std::string> notices;
};

TEST(StudySession, PrintsAndLogsWhatHostsTellAfterItsLastLookAtThem) {
    const testing::TemporaryFolder folder;
    Study study = testing::small_study();
    study.budget.seconds = 0;  // the session ends with its first worker
    const StudyFolder at{folder / "small"};
    const Programs programs;
    const auto open_site = [](const SiteRequest& request) -> Result<SessionSite> {
        SessionSite site;
        site.machine = std::make_unique<LateMachine>();
        site.workers = [] { return 1; };
        site.executor = [&loop = request.loop](ExecutionListener listener) -> Result<std::unique_ptr<SessionExecutor>> {
            return std::unique_ptr<SessionExecutor>(std::make_unique<EndingExecutor>(loop, std::move(listener)));
        };
        site.launch = [](WorkerIndex, std::span<const int>) { return LaunchSpec{}; };
        return site;
    };
    Listening observer;
    const auto accepted = [](const std::string&, const std::function<bool()>&) { return Result(Continuation()); };
    const auto outcome = run_study(study, at, programs, observer, accepted, open_site);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_THAT(observer.notices, ElementsAre("far has joined", "far: its disk is full"));
    std::stringstream log;
    log << std::ifstream(at.log()).rdbuf();
    EXPECT_THAT(log.str(), Mentions("info", "far", "joined"));
    EXPECT_THAT(log.str(), Mentions("far", "disk"));
}

}  // namespace
}  // namespace hpo
