// Decides which client may send which request to `hpo serve`. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/serve/request.hpp"
#include "orchestrator/serve/route.hpp"

namespace hpo::serve {

struct Access {
    std::vector<std::string> names;  ///< names of this server, in addition to localhost and addresses of IP
    std::string token;               ///< token that every client must have; empty: none
    std::string session;             ///< value of the cookie of clients that have logged in with the token
    std::string csrf;                ///< token that the page sends with requests that change a study
    bool control = false;            ///< true if requests may stop trials and change studies
    bool secure = false;             ///< true if clients are reached by TLS
};

inline constexpr std::string_view session_cookie = "hpo_session";

/// Returns true if a page with this Host was loaded from this server. Names of others are refused, since their owner
/// can let them point here and so let a browser read the served data (DNS rebinding). Addresses of IP cannot be used
/// that way.
bool known_host(std::string_view host, const std::vector<std::string>& names);

/// Returns true if this address reaches this machine alone: "127.0.0.1", "::1", "localhost".
bool is_loopback(std::string_view address);

/// Returns true if the texts are equal. Its duration does not depend on where they differ.
bool equal_secrets(std::string_view a, std::string_view b);

/// Returns the value of a cookie in the header; empty if it is absent.
std::string cookie_of(std::string_view header, std::string_view name);

/// Returns the answer to a request that is refused; nothing if it may go on. The page itself and its files are free:
/// they hold nothing of studies, and the page asks for the token.
std::optional<Answer> refusal(const Request& request, const Route& route, const Access& access);

/// Returns the headers of every answer, which restrict the page in the browser.
std::vector<std::pair<std::string, std::string>> security_headers();

/// Returns the problem with a token that was read from a file with this mode; empty if it serves.
std::string problem_with_token(std::string_view token, unsigned mode);

/// Returns the address at which browsers find the server. A server that listens at all addresses of the machine is
/// found by its name.
std::string url_of(bool secure, const std::string& address, const std::string& name, int port);

/// Returns the command with which somebody who came by SSH forwards the port. `connection` is $SSH_CONNECTION; empty if
/// the user did not.
std::string forwarding_line(std::string_view connection, const std::string& user, int port);

}  // namespace hpo::serve
