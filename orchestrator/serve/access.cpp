#include "orchestrator/serve/access.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace hpo::serve {

namespace {

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

/// "name:80" as "name", "[::1]:80" as "::1".
std::string without_port(std::string_view host) {
    if (host.starts_with('[')) {
        const auto end = host.find(']');
        return end == std::string_view::npos ? std::string() : std::string(host.substr(1, end - 1));
    }
    return lower(host.substr(0, host.find(':')));
}

bool is_address(const std::string& name) {
    unsigned char bytes[16];
    return ::inet_pton(AF_INET, name.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

/// Returns true if a script of another page sent the request.
bool is_foreign(const Request& request) {
    if (!request.fetch_site.empty() && request.fetch_site != "same-origin" && request.fetch_site != "none") return true;
    const auto scheme = request.origin.find("://");
    return !request.origin.empty() &&
           (scheme == std::string::npos || lower(request.origin.substr(scheme + 3)) != lower(request.host));
}

bool has_token(const Request& request, const Access& access) {
    constexpr std::string_view bearer = "Bearer ";
    const std::string_view authorization = request.authorization;
    if (authorization.starts_with(bearer) && equal_secrets(authorization.substr(bearer.size()), access.token))
        return true;
    return equal_secrets(cookie_of(request.cookie, session_cookie), access.session);
}

}  // namespace

bool is_loopback(std::string_view address) {
    if (lower(address) == "localhost" || address == "::1") return true;
    in_addr bytes{};
    return ::inet_pton(AF_INET, std::string(address).c_str(), &bytes) == 1 && (ntohl(bytes.s_addr) >> 24) == 127;
}

bool known_host(std::string_view host, const std::vector<std::string>& names) {
    const std::string name = without_port(host);
    if (name.empty()) return false;
    if (name == "localhost" || is_address(name)) return true;
    return std::any_of(names.begin(), names.end(), [&](const std::string& own) { return lower(own) == name; });
}

bool equal_secrets(std::string_view a, std::string_view b) {
    if (a.size() != b.size() || a.empty()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
    return difference == 0;
}

std::string cookie_of(std::string_view header, std::string_view name) {
    while (!header.empty()) {
        const auto end = header.find(';');
        std::string_view pair = header.substr(0, end);
        header = end == std::string_view::npos ? std::string_view() : header.substr(end + 1);
        while (pair.starts_with(' ')) pair.remove_prefix(1);
        if (const auto equals = pair.find('='); equals != std::string_view::npos && pair.substr(0, equals) == name)
            return std::string(pair.substr(equals + 1));
    }
    return {};
}

std::optional<Answer> refusal(const Request& request, const Route& route, const Access& access) {
    using To = Route::To;
    if (!known_host(request.host, access.names))
        return plain(421, "this server does not answer by this name; hpo serve --name NAME allows one");
    const bool reads = request.method == "GET" || request.method == "HEAD";
    if (route.changes() ? request.method != "POST" : !reads) {
        Answer answer = plain(405, "not by this method");
        answer.headers.emplace_back("Allow", route.changes() ? "POST" : "GET, HEAD");
        return answer;
    }
    if (request.body)
        return plain(413, route.takes_text() ? "a body has at most 12,000 bytes, as a form 8,192, and a Content-Length"
                                             : "this address takes no body");
    if (route.to == To::page || route.to == To::script || route.to == To::style) return {};
    if (is_foreign(request)) return plain(403, "not from another page");
    if (!access.token.empty() && !has_token(request, access)) {
        Answer answer = plain(401, "a token is needed: Authorization: Bearer TOKEN");
        answer.headers.emplace_back("WWW-Authenticate", "Bearer");
        return answer;
    }
    if (!route.controls()) return {};
    if (!access.control)
        return plain(403, "nothing can be changed here: hpo serve was started without --allow-control");
    if (!equal_secrets(request.csrf, access.csrf))
        return plain(403, "X-CSRF-Token must be the \"csrf\" that /api/session returns");
    return {};
}

std::vector<std::pair<std::string, std::string>> security_headers() {
    return {{"Content-Security-Policy",
             "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
             "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
            {"X-Content-Type-Options", "nosniff"},
            {"X-Frame-Options", "DENY"},
            {"Referrer-Policy", "no-referrer"},
            {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
            {"Cross-Origin-Opener-Policy", "same-origin"},
            {"Cross-Origin-Resource-Policy", "same-origin"}};
}

std::string problem_with_token(std::string_view token, unsigned mode) {
    constexpr std::size_t least = 16;
    if ((mode & 077) != 0) return "others can read it; chmod 600 makes it yours alone";
    if (token.size() < least) return "has fewer than 16 characters; openssl rand -hex 32 makes a token";
    if (std::any_of(token.begin(), token.end(), [](unsigned char c) { return c <= ' ' || c > '~'; }))
        return "a token is one line of letters, digits and signs; openssl rand -hex 32 makes one";
    return {};
}

std::string url_of(bool secure, const std::string& address, const std::string& name, int port) {
    const std::string host = address == "0.0.0.0" || address == "::"  ? name
                             : address.find(':') != std::string::npos ? '[' + address + ']'
                                                                      : address;
    return (secure ? "https://" : "http://") + host + ':' + std::to_string(port) + '/';
}

std::string forwarding_line(std::string_view connection, const std::string& user, int port) {
    std::istringstream words{std::string(connection)};
    std::string client, client_port, server, server_port;
    if (!(words >> client >> client_port >> server >> server_port)) return {};
    const std::string number = std::to_string(port);
    return "ssh -N -L " + number + ":127.0.0.1:" + number + (server_port == "22" ? " " : " -p " + server_port + " ") +
           (user.empty() ? "" : user + "@") + server;
}

}  // namespace hpo::serve
