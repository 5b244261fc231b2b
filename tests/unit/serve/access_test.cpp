// The rights of clients of hpo serve.
#include "orchestrator/serve/access.hpp"

#include <gmock/gmock.h>

namespace hpo::serve {
namespace {

using ::testing::HasSubstr;
using To = Route::To;

TEST(KnownHost, AddressesAndOwnNamesAreKnownWhateverTheirPort) {
    for (const char* host : {"127.0.0.1", "127.0.0.1:7878", "localhost", "LOCALHOST:1", "[::1]:7878", "[::1]",
                             "10.1.2.3:80", "box", "Box:7878"})
        EXPECT_TRUE(known_host(host, {"box"})) << host;
}

TEST(KnownHost, OtherNamesAreNotSoThatTheyCannotBePointedHere) {
    for (const char* host : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:7878", "box.evil",
                             ":80", "[::1", "127.0.0.1@evil.example"})
        EXPECT_FALSE(known_host(host, {"box"})) << host;
}

TEST(Loopback, IsThisMachineAlone) {
    for (const char* address : {"127.0.0.1", "127.9.9.9", "::1", "localhost"})
        EXPECT_TRUE(is_loopback(address)) << address;
    for (const char* address : {"0.0.0.0", "::", "10.0.0.1", "127", "127.0.0.1.evil", ""})
        EXPECT_FALSE(is_loopback(address)) << address;
}

TEST(Cookies, AreFoundByTheirWholeName) {
    EXPECT_EQ(cookie_of("a=1; hpo_session=secret; b=2", "hpo_session"), "secret");
    EXPECT_EQ(cookie_of("hpo_session=", "hpo_session"), "");
    EXPECT_EQ(cookie_of("xhpo_session=1; hpo_session2=2; hpo_session", "hpo_session"), "");
}

TEST(Secrets, AnEmptyOneOpensNothing) {
    EXPECT_TRUE(equal_secrets("abc", "abc"));
    EXPECT_FALSE(equal_secrets("abc", "abd"));
    EXPECT_FALSE(equal_secrets("abc", "abcd"));
    EXPECT_FALSE(equal_secrets("", ""));
}

class Refusal : public ::testing::Test {
   protected:
    Refusal() {
        access.session = "session";
        access.csrf = "csrf";
        request.method = "GET";
        request.host = "localhost:7878";
    }
    [[nodiscard]] int status(To to) const {
        const auto answer = refusal(request, Route{to}, access);
        return answer ? answer->status : 0;
    }
    Access access;
    Request request;
};

TEST_F(Refusal, WithoutATokenAllMayRead) {
    EXPECT_EQ(status(To::list), 0);
    request.method = "HEAD";
    EXPECT_EQ(status(To::metrics), 0);
}

TEST_F(Refusal, AForeignNameReachesNotEvenThePage) {
    request.host = "evil.example";
    EXPECT_EQ(status(To::page), 421);
    EXPECT_EQ(status(To::list), 421);
}

TEST_F(Refusal, WithATokenThePageAloneIsFree) {
    access.token = "0123456789abcdef";
    EXPECT_EQ(status(To::page), 0);
    EXPECT_EQ(status(To::script), 0);
    for (const To to : {To::list, To::metrics, To::events, To::document, To::session, To::trial})
        EXPECT_EQ(status(to), 401);
    request.authorization = "Bearer 0123456789abcdeF";
    EXPECT_EQ(status(To::list), 401);
    request.authorization = "Bearer 0123456789abcdef";
    EXPECT_EQ(status(To::list), 0);
    request.authorization = "";
    request.cookie = "hpo_session=session";
    EXPECT_EQ(status(To::list), 0);
    request.cookie = "hpo_session=";
    EXPECT_EQ(status(To::list), 401);
}

TEST_F(Refusal, LoggingInNeedsTheToken) {
    access.token = "0123456789abcdef";
    request.method = "POST";
    EXPECT_EQ(status(To::login), 401);
    request.authorization = "Bearer 0123456789abcdef";
    EXPECT_EQ(status(To::login), 0);
}

TEST_F(Refusal, OtherPagesMayNotAsk) {
    request.origin = "http://localhost:7878";
    EXPECT_EQ(status(To::list), 0);
    for (const char* origin :
         {"http://evil.example", "null", "http://localhost:9999", "http://localhost:7878.evil.example"}) {
        request.origin = origin;
        EXPECT_EQ(status(To::list), 403) << origin;
    }
    request.origin = "";
    request.fetch_site = "cross-site";
    EXPECT_EQ(status(To::list), 403);
    request.fetch_site = "same-site";
    EXPECT_EQ(status(To::list), 403);
    EXPECT_EQ(status(To::page), 0);  // a link from elsewhere leads to the page
}

TEST_F(Refusal, StoppingNeedsAllowanceAPostAndTheSecretOfThePage) {
    EXPECT_EQ(status(To::stop), 405);
    request.method = "POST";
    EXPECT_EQ(status(To::stop), 403);
    access.control = true;
    EXPECT_EQ(status(To::stop), 403);
    request.csrf = "another";
    EXPECT_EQ(status(To::stop), 403);
    request.csrf = "csrf";
    EXPECT_EQ(status(To::stop), 0);
    EXPECT_EQ(status(To::list), 405);
    request.body = true;
    EXPECT_EQ(status(To::stop), 413);
}

TEST(Headers, AllowNoScriptBesideTheServersOwn) {
    std::string policy;
    for (const auto& [name, value] : security_headers())
        if (name == "Content-Security-Policy") policy = value;
    EXPECT_THAT(policy, HasSubstr("default-src 'none'; script-src 'self';"));
    EXPECT_THAT(policy, ::testing::Not(HasSubstr("unsafe")));
}

TEST(Token, IsLongAndReadByItsOwnerAlone) {
    EXPECT_EQ(problem_with_token("0123456789abcdef", 0100600), "");
    EXPECT_EQ(problem_with_token("0123456789abcdef", 0100400), "");
    EXPECT_THAT(problem_with_token("0123456789abcdef", 0100640), HasSubstr("chmod 600"));
    EXPECT_THAT(problem_with_token("0123456789abcdef", 0100604), HasSubstr("chmod 600"));
    EXPECT_THAT(problem_with_token("0123456789abcde", 0100600), HasSubstr("16 characters"));
    EXPECT_THAT(problem_with_token("0123456789 abcdef", 0100600), HasSubstr("line"));
}

TEST(Url, IsOneThatABrowserCanOpen) {
    EXPECT_EQ(url_of(false, "127.0.0.1", "box", 7878), "http://127.0.0.1:7878/");
    EXPECT_EQ(url_of(true, "::1", "box", 443), "https://[::1]:443/");
    EXPECT_EQ(url_of(true, "0.0.0.0", "box", 443), "https://box:443/");
    EXPECT_EQ(url_of(false, "::", "box", 80), "http://box:80/");
}

TEST(Forwarding, NamesTheServerAsTheUserReachedIt) {
    EXPECT_EQ(forwarding_line("", "me", 7878), "");
    EXPECT_EQ(forwarding_line("nonsense", "me", 7878), "");
    EXPECT_EQ(forwarding_line("10.0.0.2 50000 10.0.0.1 22", "me", 7878), "ssh -N -L 7878:127.0.0.1:7878 me@10.0.0.1");
    EXPECT_EQ(forwarding_line("fe80::2 50000 fe80::1 2222", "", 80), "ssh -N -L 80:127.0.0.1:80 -p 2222 fe80::1");
}

}  // namespace
}  // namespace hpo::serve
