#include "orchestrator/serve/site.hpp"

#include <nlohmann/json.hpp>

#include "hpo/version.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/page/page.hpp"

namespace hpo::serve {

namespace {

constexpr const char* json_type = "application/json";

Answer json_answer(const nlohmann::ordered_json& json) {
    Answer answer = plain(200, json.dump());
    answer.type = json_type;
    return answer;
}

/// The answer, or 304 if the client has this version.
Answer versioned(const Request& request, const Versioned& found) {
    const std::string tag = '"' + found.version + '"';
    Answer answer{.type = json_type, .body = found.text, .headers = {{"ETag", tag}}};
    if (request.known == tag) answer.status = 304, answer.body = nullptr;
    return answer;
}

Answer asset(std::string_view text, const char* type) {
    return {.type = type, .body = std::make_shared<const std::string>(text)};
}

}  // namespace

Answer Site::reach(const Request& request, const Route& route) {
    using To = Route::To;
    switch (route.to) {
        case To::page:
            return asset(page::live_text, "text/html; charset=utf-8");
        case To::script:
            return asset(page::live_script, "text/javascript; charset=utf-8");
        case To::style:
            return asset(page::live_style, "text/css; charset=utf-8");
        case To::metrics:
            return {.type = "text/plain; version=0.0.4; charset=utf-8",
                    .body = std::make_shared<const std::string>(studies_.metrics())};
        case To::session:
            return json_answer({{"schema", json_schema},
                                {"version", hpo::version},
                                {"control", access_.control},
                                {"csrf", access_.csrf}});
        case To::login: {
            Answer answer = plain(200, "welcome");
            if (!access_.token.empty())
                answer.headers.emplace_back("Set-Cookie", std::string(session_cookie) + '=' + access_.session +
                                                              "; Path=/; HttpOnly; SameSite=Strict" +
                                                              (access_.secure ? "; Secure" : ""));
            return answer;
        }
        case To::list:
            return versioned(request, studies_.list());
        case To::events: {
            if (const auto version = studies_.version(route.study); !version)
                return plain(404, version.error().message);
            return {.type = "text/event-stream", .events = route.study};
        }
        case To::study:
        case To::trials:
        case To::trial:
        case To::document: {
            const auto found = studies_.json(route);
            return found ? versioned(request, *found) : plain(404, found.error().message);
        }
        case To::stop: {
            const auto subject = studies_.subject(route.study, route.trial);
            if (!subject) return plain(404, subject.error().message);
            const auto stopped = studies_.stop(*subject);
            return stopped ? json_answer({{"schema", json_schema}, {"stopping", true}})
                           : plain(409, stopped.error().message);
        }
        case To::notes:
        case To::tags: {
            const auto subject = studies_.subject(route.study, route.trial);
            if (!subject) return plain(404, subject.error().message);
            const auto written = route.to == To::notes ? LiveStudies::add_note(*subject, request.text)
                                                       : LiveStudies::change_tags(*subject, request.text);
            return written ? json_answer({{"schema", json_schema}, {"written", true}})
                           : plain(409, written.error().message);
        }
    }
    return plain(404, "not found");
}

Answer Site::answer(const Request& request) {
    const auto route = route_of(request.path);
    Request looked = request;  // for an unknown address, the method and the body do not matter
    if (!route) looked.method = "GET", looked.body = false;
    auto refused = refusal(looked, route.value_or(Route{}), access_);
    Answer answer = refused  ? *std::move(refused)
                    : !route ? plain(404, "there is nothing at this address; docs/serve.md lists them")
                             : reach(request, *route);
    for (auto& header : security_headers()) answer.headers.push_back(std::move(header));
    answer.headers.emplace_back("Cache-Control", "no-cache");
    return answer;
}

}  // namespace hpo::serve
