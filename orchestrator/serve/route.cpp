#include "orchestrator/serve/route.hpp"

#include <charconv>
#include <map>
#include <string_view>
#include <vector>

namespace hpo::serve {

namespace {

/// "/a/b" as "a", "b"; "/" as one empty part.
std::vector<std::string_view> parts_of(std::string_view path) {
    std::vector<std::string_view> parts;
    while (path.starts_with('/')) {
        path.remove_prefix(1);
        parts.push_back(path.substr(0, path.find('/')));
        path.remove_prefix(parts.back().size());
    }
    return parts;
}

std::optional<std::int64_t> number_of(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 1) return {};
    return number;
}

std::optional<Route> route_of_study(const std::vector<std::string_view>& parts) {
    using To = Route::To;
    static const std::map<std::string_view, To> of_study{{"trials", To::trials}, {"page", To::document},
                                                         {"events", To::events}, {"stop", To::stop},
                                                         {"notes", To::notes},   {"tags", To::tags}};
    const std::string study(parts[2]);
    if (study.empty()) return {};
    if (parts.size() == 3) return Route{To::study, study};
    if (parts.size() == 4) {
        const auto found = of_study.find(parts[3]);
        return found == of_study.end() ? std::nullopt : std::optional(Route{found->second, study});
    }
    const auto trial = number_of(parts[4]);
    if (parts[3] != "trials" || !trial) return {};
    if (parts.size() == 5) return Route{To::trial, study, trial};
    const auto found = parts.size() == 6 ? of_study.find(parts[5]) : of_study.end();
    if (found == of_study.end() || !Route{found->second}.controls()) return {};
    return Route{found->second, study, trial};
}

}  // namespace

std::optional<Route> route_of(const std::string& path) {
    using To = Route::To;
    static const std::map<std::string_view, To> fixed{
        {"/", To::page},           {"/compare", To::page},     {"/live.js", To::script},
        {"/live.css", To::style},  {"/metrics", To::metrics},  {"/api/session", To::session},
        {"/api/login", To::login}, {"/api/studies", To::list}, {"/api/events", To::events}};
    if (const auto found = fixed.find(path); found != fixed.end()) return Route{found->second};
    const auto parts = parts_of(path);
    if (parts.size() == 2 && parts[0] == "study" && !parts[1].empty()) return Route{To::page, std::string(parts[1])};
    if (parts.size() < 3 || parts[0] != "api" || parts[1] != "studies") return {};
    return route_of_study(parts);
}

}  // namespace hpo::serve
