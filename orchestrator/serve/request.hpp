// A request to `hpo serve` and its answer, as far as decisions depend on them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hpo::serve {

struct Request {
    std::string method, path;                                           ///< the path is decoded, without the query
    std::string host, origin, fetch_site, authorization, cookie, csrf;  ///< headers; empty if absent
    std::string known;                                                  ///< If-None-Match
    bool body = false;                                                  ///< true if a body follows that was not read
    std::string text;                                                   ///< the body of a route that takes one
};

using Text = std::shared_ptr<const std::string>;

struct Answer {
    int status = 200;
    std::string type = "text/plain; charset=utf-8";
    Text body;
    std::vector<std::pair<std::string, std::string>> headers;
    /// Instead of a body: events about this study, or about all if it is empty, as long as the client listens.
    std::optional<std::string> events;
};

inline Answer plain(int status, const std::string& text) {
    return {.status = status, .body = std::make_shared<const std::string>(text + '\n')};
}

}  // namespace hpo::serve
