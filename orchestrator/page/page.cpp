#include "orchestrator/page/page.hpp"

namespace hpo::page {

std::string as_script(const Json& json) {
    const std::string dumped = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    std::string script;
    script.reserve(dumped.size());
    for (const char c : dumped) {
        // In JSON, '<' stands in texts alone.
        if (c == '<')
            script += "\\u003c";
        else
            script += c;
    }
    return script;
}

std::string with_study(const Json& study) {
    const std::size_t at = text.find(place);
    std::string page(text.substr(0, at));
    page += as_script(study);
    page += text.substr(at + place.size());
    return page;
}

}  // namespace hpo::page
