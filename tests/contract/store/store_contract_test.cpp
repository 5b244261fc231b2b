// The contract of every Store. A new implementation adds its opener to the list at the end.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "hpo/random.hpp"
#include "orchestrator/store/store.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

/// Generates random events of every kind, with the awkward values of real ones. They only depend on the seed.
class EventMaker {
   public:
    explicit EventMaker(std::uint64_t seed) : seed_(seed) {}

    Event next() {
        const auto kind = trials_ == 0 ? 2 : below(11);
        switch (kind) {
            case 0:
                return event::SessionStarted{text(), below(1 << 22), text(),
                                             below(2) == 1 ? CodeState{} : CodeState{text() + 'c', text(), text()}};
            case 1:
                return event::SessionEnded{number(), text(), static_cast<SessionEnd>(below(6))};
            case 2: {
                event::Proposed e{++trials_, {}, {}};
                for (auto n = below(6); n > 0; --n) e.point.push_back(unit());
                for (auto n = below(6); n > 0; --n) e.params.emplace(text(), value());
                e.repeat_of = below(trials_);
                return e;
            }
            case 3:
                return event::Launched{trial(), below(5), text(), allocation()};
            case 4:
                return event::Reported{trial(), below(5), report()};
            case 5:
                return event::Paused{trial(), below(5), text(), text()};
            case 6:
                return event::Requeued{trial(), below(5), static_cast<Outcome>(below(8)), below(2) == 1, text()};
            case 7:
                return event::Measured{
                    trial(), below(5), {below(std::int64_t{1} << 40), below(std::int64_t{1} << 40), 0}};
            case 8:
                return event::Closing{trial(), below(5), {{text(), number()}}};
            case 9:
                return event::Spared{trial(), below(5), text(), text()};
            default:
                return event::Finished{trial(), below(5), static_cast<TrialState>(below(7)), text(), text()};
        }
    }

   private:
    double unit() { return draw_unit(seed_, Purpose::synthetic, 0, draws_++); }
    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(unit() * static_cast<double>(n)); }
    std::int64_t trial() { return 1 + below(trials_); }
    double number() {
        constexpr auto limits = std::numeric_limits<double>();
        switch (below(8)) {
            case 0:
                return limits.quiet_NaN();
            case 1:
                return limits.infinity();
            case 2:
                return -limits.infinity();
            case 3:
                return -0.0;
            case 4:
                return limits.denorm_min();
            case 5:
                return limits.max();
            case 6:
                return std::ldexp(unit() - 0.5, static_cast<int>(below(200)) - 100);
            default:
                return static_cast<double>(below(1000));
        }
    }
    std::string text() {
        static const std::array<std::string, 7> words{
            "", "val_loss", "a \"quoted\" one\n", "\x1b[31m", "größer", std::string("nul\0inside", 10), "nan"};
        return words[static_cast<std::size_t>(below(7))];
    }
    Value value() {
        switch (below(5)) {
            case 0:
                return below(2) == 1;
            case 1:
                return (std::int64_t{1} << 53) - below(100);
            case 2:
                return std::ldexp(unit(), static_cast<int>(below(100)) - 50);
            case 3:
                return text();
            default:
                return std::vector<std::int64_t>{below(512), -below(7)};
        }
    }
    Allocation allocation() {
        if (below(3) == 0) return {};
        const auto bytes = [this] { return below(std::int64_t{1} << 40); };
        StepForecast forecast;
        if (below(2)) forecast = {"cpu", unit(), unit(), below(99), below(99), unit() * 100, text()};
        return {{bytes(), bytes(), unit() * 8},
                below(2) ? text() : "",
                below(2) == 0,
                below(5),
                below(2) ? text() : "",
                forecast,
                below(2) ? unit() * 100 : 0,
                below(2) ? text() : ""};
    }
    Report report() {
        Report r;
        r.step = below(1'000'000);
        for (auto n = below(4); n > 0; --n) r.metrics[text()] = number();
        for (auto member : {&Report::seconds, &Report::iterations_per_second, &Report::iterations_per_second_overall,
                            &Report::samples_per_second, &Report::samples_per_second_overall, &Report::gradient_norm,
                            &Report::learning_rate, &Report::loss_deviation, &Report::loss_trend})
            if (below(2)) r.*member = number();
        if (below(2)) r.iteration = below(1 << 30);
        if (below(2)) r.peak_bytes = below(std::int64_t{1} << 40);
        if (below(2)) r.peak_device_bytes = below(std::int64_t{1} << 40);
        r.warning = text();
        return r;
    }

    std::uint64_t seed_;
    std::uint64_t draws_ = 0;
    std::int64_t trials_ = 0;
};

/// Returns an event as a text. Two events are equal if their texts are, also with values of NaN.
std::string describe(const Event& event) {
    const auto number = [](double d) { return std::signbit(d) ? "-" + to_text(std::abs(d)) : to_text(d); };
    const auto optional = [&](const std::optional<double>& d) { return d ? number(*d) : std::string("none"); };
    std::string out = std::to_string(event.index());
    const auto add = [&out](const auto& part) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>)
            out += "|" + std::to_string(part);
        else
            out.append("|").append(part);
    };
    std::visit(Overloaded{
                   [&](const event::SessionStarted& e) {
                       add(e.host), add(e.pid), add(e.version);
                       add(e.code.commit), add(e.code.branch), add(e.code.changed);
                   },
                   [&](const event::SessionEnded& e) { add(number(e.seconds)), add(e.reason), add(to_text(e.end)); },
                   [&](const event::Proposed& e) {
                       add(e.trial);
                       for (double c : e.point) add(number(c));
                       for (const auto& [name, value] : e.params) add(name), add(value.index()), add(to_text(value));
                       add(e.repeat_of);
                   },
                   [&](const event::Launched& e) {
                       add(e.trial), add(e.attempt), add(e.where);
                       const auto& [footprint, device, alone, micro_batches, environment, forecast, start, host] =
                           e.allocation;
                       add(footprint.device_bytes), add(footprint.host_bytes), add(number(footprint.cores));
                       add(device), add(alone), add(micro_batches), add(environment), add(number(start)), add(host);
                       add(forecast.device), add(number(forecast.uncorrected)), add(number(forecast.factor));
                       add(forecast.trials), add(forecast.done), add(number(forecast.trained)), add(forecast.why);
                   },
                   [&](const event::Reported& e) {
                       add(e.trial), add(e.attempt), add(e.report.step);
                       for (const auto& [name, value] : e.report.metrics) add(name), add(number(value));
                       for (auto member :
                            {&Report::seconds, &Report::iterations_per_second, &Report::iterations_per_second_overall,
                             &Report::samples_per_second, &Report::samples_per_second_overall, &Report::gradient_norm,
                             &Report::learning_rate, &Report::loss_deviation, &Report::loss_trend})
                           add(optional(e.report.*member));
                       add(e.report.iteration.value_or(-1)), add(e.report.peak_bytes.value_or(-1)),
                           add(e.report.peak_device_bytes.value_or(-1)), add(e.report.warning);
                   },
                   [&](const event::Paused& e) { add(e.trial), add(e.attempt), add(e.rule), add(e.reason); },
                   [&](const event::Spared& e) { add(e.trial), add(e.attempt), add(e.rule), add(e.reason); },
                   [&](const event::Requeued& e) {
                       add(e.trial), add(e.attempt), add(to_text(e.outcome)), add(e.charged), add(e.reason);
                   },
                   [&](const event::Finished& e) {
                       add(e.trial), add(e.attempt), add(to_text(e.state)), add(e.rule), add(e.reason);
                   },
                   [&](const event::Measured& e) {
                       add(e.trial), add(e.attempt), add(e.peak.device_bytes), add(e.peak.host_bytes);
                   },
                   [&](const event::Closing& e) {
                       add(e.trial), add(e.attempt);
                       for (const auto& [name, value] : e.values) add(name), add(value);
                   },
               },
               event);
    return out;
}

struct Opener {
    const char* name;
    Result<std::unique_ptr<Store>> (*open)(const std::filesystem::path&);
    Result<std::unique_ptr<Store>> (*open_read_only)(const std::filesystem::path&);
};

class StoreContract : public ::testing::TestWithParam<Opener> {
   protected:
    std::unique_ptr<Store> open() {
        auto store = GetParam().open(file_);
        if (!store) throw std::runtime_error(store.error().message);
        return std::move(*store);
    }
    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "study.db";
};

TEST_P(StoreContract, ANewStoreIsEmpty) {
    auto store = open();
    EXPECT_EQ(store->source(), "");
    EXPECT_THAT(*store->events(0, 10), ::testing::IsEmpty());
}

TEST_P(StoreContract, EveryKindOfEventComesBackAsItWasWithNaNAndAllAlsoAfterReopening) {
    std::vector<std::string> written;
    EventMaker maker(7);
    for (int round = 0; round < 2; ++round) {
        auto store = open();
        for (int i = 0; i < 400; ++i) {
            const Event event = maker.next();
            const auto stored = store->append(event);
            ASSERT_TRUE(stored) << stored.error().message;
            EXPECT_EQ(stored->sequence, static_cast<std::int64_t>(written.size()) + 1);
            written.push_back(describe(event));
        }
    }
    const auto events = open()->events(0, 10'000);
    ASSERT_TRUE(events) << events.error().message;
    ASSERT_EQ(events->size(), written.size());
    std::array<int, std::variant_size_v<Event>> kinds{};
    for (std::size_t i = 0; i < written.size(); ++i) {
        EXPECT_EQ(describe((*events)[i].event), written[i]);
        EXPECT_EQ((*events)[i].sequence, static_cast<std::int64_t>(i) + 1);
        EXPECT_GT((*events)[i].time, 1.6e9);
        ++kinds[(*events)[i].event.index()];
    }
    EXPECT_THAT(kinds, ::testing::Each(::testing::Gt(10)));
}

TEST_P(StoreContract, ReadsGoOnAfterTheLastSeenEventAndNoFurtherThanTheLimit) {
    auto store = open();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(store->append(event::SessionEnded{double(i), ""}));
    const auto middle = store->events(3, 4);
    ASSERT_TRUE(middle);
    ASSERT_EQ(middle->size(), 4u);
    EXPECT_EQ(middle->front().sequence, 4);
    EXPECT_EQ(middle->back().sequence, 7);
    EXPECT_THAT(*store->events(10, 4), ::testing::IsEmpty());
}

TEST_P(StoreContract, EventsOfUnknownTrialsAndTrialsOutOfOrderAreRefusedAndNotStored) {
    auto store = open();
    EXPECT_FALSE(store->append(event::Launched{1, 1, "cpu 0"}));
    EXPECT_FALSE(store->append(event::Proposed{2, {}, {}}));
    ASSERT_TRUE(store->append(event::Proposed{1, {}, {}}));
    EXPECT_FALSE(store->append(event::Proposed{1, {}, {}}));
    EXPECT_FALSE(store->append(event::Reported{2, 1, {}}));
    EXPECT_FALSE(store->append(event::Finished{0, 1, TrialState::complete, "", ""}));
    EXPECT_FALSE(store->append(event::Paused{-1, 1, "", ""}));
    EXPECT_TRUE(store->append(event::Launched{1, 1, "cpu 0"}));
    EXPECT_EQ(store->events(0, 100)->size(), 2u);
    store.reset();
    EXPECT_FALSE(open()->append(event::Proposed{1, {}, {}}));
}

TEST_P(StoreContract, AParameterThatCouldNotBeReadBackIsRefused) {
    auto store = open();
    const auto refused = store->append(event::Proposed{1, {}, {{"n", std::int64_t{1} << 60}}});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr("2^53"));
    EXPECT_THAT(*store->events(0, 10), ::testing::IsEmpty());
}

TEST_P(StoreContract, ATrialRepeatsOneBeforeIt) {
    auto store = open();
    ASSERT_TRUE(store->append(event::Proposed{1, {}, {}}));
    for (const std::int64_t other : {2, 3, -1}) {
        const auto refused = store->append(event::Proposed{2, {}, {}, other});
        ASSERT_FALSE(refused) << other;
        EXPECT_THAT(refused.error().message, Mentions("before trial 2"));
    }
    EXPECT_TRUE(store->append(event::Proposed{2, {}, {}, 1}));
}

TEST_P(StoreContract, TheProposalOfATrialIsFoundAmongAllEvents) {
    auto store = open();
    for (std::int64_t trial = 1; trial <= 3; ++trial) {
        ASSERT_TRUE(store->append(event::Proposed{trial, {0.25}, {{"n", trial}}}));
        ASSERT_TRUE(store->append(event::Launched{trial, 1, "cpu 0", {}}));
    }
    const auto found = store->proposal(2);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(std::get<event::Proposed>(found->event).params, (Params{{"n", std::int64_t{2}}}));
    EXPECT_FALSE(store->proposal(4));
}

TEST_P(StoreContract, TheSourceIsKept) {
    ASSERT_TRUE(open()->set_source("study: first\n"));
    auto store = open();
    EXPECT_EQ(store->source(), "study: first\n");
    ASSERT_TRUE(store->set_source("study: größer\n"));
    EXPECT_EQ(store->source(), "study: größer\n");
    store.reset();
    EXPECT_EQ(open()->source(), "study: größer\n");
}

TEST_P(StoreContract, WhatWasSeenOfTheDataIsKept) {
    EXPECT_EQ(open()->seen_data(), "");
    ASSERT_TRUE(open()->set_seen_data("[1]"));
    ASSERT_TRUE(open()->set_seen_data("[2]"));
    EXPECT_EQ(open()->seen_data(), "[2]");
}

TEST_P(StoreContract, FingerprintsOfScriptsAreKept) {
    EXPECT_EQ(open()->scripts(), "");
    ASSERT_TRUE(open()->set_scripts("1-2 train.py\n"));
    ASSERT_TRUE(open()->set_scripts("3-4 train.py\n"));
    EXPECT_EQ(open()->scripts(), "3-4 train.py\n");
}

TEST_P(StoreContract, TelemetryComesBackInItsOrderAlsoForViewersAndOtherRowsStay) {
    auto store = open();
    EXPECT_THAT(*store->telemetry(), ::testing::IsEmpty());
    EventMaker maker(7);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(store->append(maker.next()));
    const std::vector<TelemetryRow> first{{10.5, 10, "host", "utilization", 9, 1, 50.25, 0, 100},
                                          {10.5, 10, "gpu 0", "power", 0, 2, 0, 0, 0}};
    const std::vector<TelemetryRow> second{{20.5, 10, "host", "utilization", 10, 0, 75, 70, 80}};
    ASSERT_TRUE(store->add_telemetry(first));
    ASSERT_TRUE(store->add_telemetry(second));
    const auto viewer = GetParam().open_read_only(file_);
    ASSERT_TRUE(viewer) << viewer.error().message;
    for (const Store* reader : {store.get(), viewer->get()}) {
        const auto rows = reader->telemetry();
        ASSERT_TRUE(rows) << rows.error().message;
        ASSERT_EQ(rows->size(), 3U);
        EXPECT_EQ((*rows)[0].average, 50.25);
        EXPECT_EQ((*rows)[1].source, "gpu 0");
        EXPECT_EQ((*rows)[1].impossible, 2);
        EXPECT_EQ((*rows)[2].time, 20.5);
        EXPECT_EQ(reader->events(0, 10)->size(), 5U);
    }
}

TEST_P(StoreContract, AViewerSeesWhatIsAppendedWhileItLooksAndCannotWrite) {
    auto store = open();
    auto viewer = GetParam().open_read_only(file_);
    ASSERT_TRUE(viewer) << viewer.error().message;
    ASSERT_TRUE(store->append(event::Proposed{1, {0.5}, {{"lr", 0.1}}}));
    EXPECT_EQ((*viewer)->events(0, 10)->size(), 1u);
    ASSERT_TRUE(store->append(event::Launched{1, 1, "cpu 0"}));
    EXPECT_EQ((*viewer)->events(1, 10)->size(), 1u);
    EXPECT_FALSE((*viewer)->append(event::Proposed{2, {}, {}}));
    EXPECT_FALSE((*viewer)->set_source("x"));
    EXPECT_EQ(store->events(0, 10)->size(), 2u);
}

TEST_P(StoreContract, AViewerReadsAStoreThatNobodyHolds) {
    ASSERT_TRUE(open()->append(event::Proposed{1, {}, {}}));
    auto viewer = GetParam().open_read_only(file_);
    ASSERT_TRUE(viewer) << viewer.error().message;
    EXPECT_EQ((*viewer)->events(0, 10)->size(), 1u);
}

TEST_P(StoreContract, AMissingFolderIsAnErrorAndAMissingFileIsOneForAViewer) {
    EXPECT_FALSE(GetParam().open(folder_ / "nowhere/study.db"));
    EXPECT_FALSE(GetParam().open_read_only(file_));
    EXPECT_FALSE(std::filesystem::exists(file_));
}

INSTANTIATE_TEST_SUITE_P(All, StoreContract,
                         ::testing::Values(Opener{"sqlite",
                                                  [](const std::filesystem::path& file) { return open_store(file); },
                                                  open_store_read_only}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace hpo
