#include <gtest/gtest.h>

#include "orchestrator/execution/connection.hpp"

namespace hpo {
namespace {

template <class Message>
Message cleaned(Message message) {
    WorkerMessage any = std::move(message);
    make_printable(any);
    return std::get<Message>(any);
}

TEST(MessagesOfWorkers, AreFreeOfControlCharactersOnceReceived) {
    const std::string red = "\x1b[31mred\x07\nline";
    const std::string shown = "\\x1b[31mred\\x07\nline";
    EXPECT_EQ(cleaned(from_worker::Finished{.message = red}).message, shown);
    EXPECT_EQ(cleaned(from_worker::Finished{.values = {{"a\x1b", 1}}}).values, (Metrics{{"a\\x1b", 1}}));
    EXPECT_EQ(cleaned(from_worker::Log{.text = red}).text, shown);
    EXPECT_EQ(cleaned(from_worker::PlanAnswer{.error = red}).error, shown);
    EXPECT_EQ(cleaned(from_worker::Alive{.phase = red}).phase, shown);
    const auto reported = cleaned(from_worker::Reported{{1, 1}, {.metrics = {{"los\x1b", 2}}, .warning = red}});
    EXPECT_EQ(reported.report.warning, shown);
    EXPECT_EQ(reported.report.metrics, (Metrics{{"los\\x1b", 2}}));
    EXPECT_EQ(cleaned(from_worker::Hello{.token = red}).token, red) << "it is compared, and shown nowhere";
}

}  // namespace
}  // namespace hpo
