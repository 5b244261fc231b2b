#include "orchestrator/script/client_link.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "hpo/wire.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo::script {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Link : public ::testing::Test {
   protected:
    Link() { EXPECT_TRUE(link.listen((folder.path() / "workers.sock").string())); }

    std::string variable(std::size_t index) const {
        const std::string text = link.environment()[index];
        return text.substr(text.find('=') + 1);
    }
    Descriptor connect() {
        Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_un address{.sun_family = AF_UNIX};
        variable(0).copy(address.sun_path, sizeof address.sun_path - 1);
        EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        link.accept();
        return socket;
    }
    void say(const Descriptor& socket, const std::string& text) {
        EXPECT_EQ(::send(socket.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
        while (link.read()) {
        }
    }
    std::string hello() const { return wire::encode(from_worker::Hello{.token = variable(1), .pid = 1}); }

    hpo::testing::TemporaryFolder folder;
    std::vector<std::int64_t> greeted;
    std::vector<std::string> lines;
    ClientLink link{{.hello = [this](const from_worker::Hello& hello) { greeted.push_back(hello.pid); },
                     .line = [this](std::string_view line) { lines.emplace_back(line); }}};
};

TEST_F(Link, PassesOnTheLinesOfAClientThatKnowsTheToken) {
    const Descriptor client = connect();
    EXPECT_FALSE(link.used());
    say(client, hello() + "{\"a\":1}\nno message\n{\"b\"");
    say(client, ":2}\n");
    EXPECT_TRUE(link.connected() && link.used());
    EXPECT_THAT(greeted, ElementsAre(1));
    EXPECT_THAT(lines, ElementsAre("{\"a\":1}", "no message", "{\"b\":2}"));
    link.send(to_worker::Shutdown{});
    char buffer[100];
    EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(::recv(client.get(), buffer, sizeof buffer, 0))),
              wire::encode(to_worker::Shutdown{}));
}

TEST_F(Link, RefusesAWrongTokenAndASecondClientUntilTheFirstHasGone) {
    {
        const Descriptor stranger = connect();
        say(stranger, wire::encode(from_worker::Hello{.token = "x", .pid = 2}) + "{}\n");
        EXPECT_FALSE(link.connected() || link.used());
    }
    Descriptor first = connect();
    say(first, hello());
    const Descriptor second = connect();
    char byte = 0;
    EXPECT_EQ(::recv(second.get(), &byte, 1, 0), 0);
    first.reset();
    EXPECT_FALSE(link.read());
    EXPECT_TRUE(!link.connected() && link.used());
    const Descriptor third = connect();
    say(third, hello());
    EXPECT_THAT(greeted, ElementsAre(1, 1));
    EXPECT_THAT(lines, IsEmpty());
}

TEST_F(Link, TellsOfAMessageThatIsTooLongAndReadsTheNext) {
    const Descriptor client = connect();
    say(client, hello());
    ::testing::internal::CaptureStderr();
    say(client, std::string(max_line_bytes, 'x'));
    say(client, "\n{\"a\":1}\n");
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), Mentions("65536"));
    EXPECT_THAT(lines, ElementsAre("{\"a\":1}"));
}

}  // namespace
}  // namespace hpo::script
