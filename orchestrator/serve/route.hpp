// The addresses that `hpo serve` answers (docs/serve.md). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hpo::serve {

struct Route {
    enum class To {
        page,    ///< the page, which shows the list, a study or a comparison by its address
        script,  ///< of the page
        style,
        metrics,
        session,
        login,
        list,
        events,  ///< of all studies, or of one
        study,
        trials,
        trial,
        document,  ///< all that the page shows of a study
        stop,      ///< a trial, or a study
    };
    To to = To::page;
    std::string study = {};
    std::optional<std::int64_t> trial = {};

    /// Whether the request changes something, and so must be a POST.
    [[nodiscard]] bool changes() const { return to == To::stop || to == To::login; }
    friend bool operator==(const Route&, const Route&) = default;
};

/// Returns what the decoded path names; nothing if there is no such address.
std::optional<Route> route_of(const std::string& path);

}  // namespace hpo::serve
