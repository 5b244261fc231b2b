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
        notes,     ///< of a trial, or of a study
        tags,
    };
    To to = To::page;
    std::string study = {};
    std::optional<std::int64_t> trial = {};

    /// Returns true if the request has a body, which is a text.
    [[nodiscard]] bool takes_text() const { return to == To::notes || to == To::tags; }
    /// Returns true if the request changes a study, which needs --allow-control.
    [[nodiscard]] bool controls() const { return to == To::stop || takes_text(); }
    /// Returns true if the request changes something, and so must be a POST.
    [[nodiscard]] bool changes() const { return controls() || to == To::login; }
    friend bool operator==(const Route&, const Route&) = default;
};

/// Returns the route of the decoded path; nothing if there is no such address.
std::optional<Route> route_of(const std::string& path);

}  // namespace hpo::serve
