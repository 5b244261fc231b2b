// The control socket with clients that misbehave.
#include "orchestrator/engine/control.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <list>

#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using Socket = boost::asio::local::stream_protocol::socket;
using std::chrono::milliseconds;

class Control : public ::testing::Test {
   protected:
    Socket& connect() {
        clients_.emplace_back(clients_loop_);
        clients_.back().connect({(folder_ / "control").string()});
        return clients_.back();
    }
    std::string ask(Socket& client, const std::string& line) {
        boost::asio::write(client, boost::asio::buffer(line + '\n'));
        client.non_blocking(true);
        std::string answer(1024, '\0');
        for (int lock = 0; lock < 1000; ++lock) {
            loop_.run_for(milliseconds(1));
            boost::system::error_code none;
            if (const auto size = client.read_some(boost::asio::buffer(answer), none); size > 0)
                return answer.substr(0, size);
        }
        return {};
    }

    testing::TemporaryFolder folder_;
    boost::asio::io_context loop_, clients_loop_;
    Result<ControlServer> server_ = ControlServer::open(
        loop_, folder_ / "control", "small",
        {.stop_trial = [](std::int64_t) { return Result<void>(); }, .stop_study = [] {}, .running = [] { return 3; }});
    std::list<Socket> clients_;
};

TEST_F(Control, FortyIdleClientsDoNotBlockAnotherOne) {
    for (int i = 0; i < 40; ++i) {
        connect();
        loop_.poll();
    }
    EXPECT_THAT(ask(connect(), R"({"op": "status"})"), ::testing::HasSubstr(R"("running":3)"));
    boost::system::error_code closed;
    char byte;
    clients_.front().non_blocking(true);
    clients_.front().read_some(boost::asio::buffer(&byte, 1), closed);
    EXPECT_EQ(closed, boost::asio::error::eof) << "the first has made place";
}

TEST_F(Control, WithoutADescriptorForAClientItPausesInsteadOfSpinning) {
    for (int i = 0; i < 3; ++i) connect();
    rlimit whole{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &whole), 0);
    const int next = ::dup(0);
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), whole.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const std::size_t handlers = loop_.run_for(milliseconds(30));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &whole), 0);
    EXPECT_LE(handlers, 3U);
    EXPECT_THAT(ask(clients_.front(), R"({"op": "status"})"), ::testing::HasSubstr(R"("ok":true)")) << "heard later";
}

}  // namespace
}  // namespace hpo
