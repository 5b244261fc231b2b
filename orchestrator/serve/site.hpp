// Answers requests: finds the route, checks the client's rights, and makes the body.
#pragma once

#include "orchestrator/serve/access.hpp"
#include "orchestrator/serve/live_studies.hpp"
#include "orchestrator/serve/request.hpp"

namespace hpo::serve {

class Site {
   public:
    Site(LiveStudies& studies, Access access) : studies_(studies), access_(std::move(access)) {}
    /// May be called by several threads at once.
    [[nodiscard]] Answer answer(const Request& request);
    /// Returns the next version of a study, or of the list if `study` is empty; an Error: it is no longer there.
    [[nodiscard]] Result<std::string> version(const std::string& study) { return studies_.version(study); }

   private:
    [[nodiscard]] Answer reach(const Request& request, const Route& route);

    LiveStudies& studies_;
    const Access access_;
};

}  // namespace hpo::serve
