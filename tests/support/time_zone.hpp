// The local time zone of a test, independent of the files of zones that the machine has.
#pragma once

#include <cstdlib>
#include <ctime>
#include <optional>
#include <stdexcept>
#include <string>

namespace hpo::testing {

/// Sets the zone until the object is destroyed. `zone` is one of those below.
class TimeZone {
   public:
    explicit TimeZone(const std::string& zone) {
        if (const char* before = std::getenv("TZ")) before_ = before;
        set(rule_of(zone));
    }
    ~TimeZone() { set(before_ ? before_->c_str() : nullptr); }
    TimeZone(const TimeZone&) = delete;
    TimeZone& operator=(const TimeZone&) = delete;

   private:
    static const char* rule_of(const std::string& zone) {
        if (zone == "Europe/Berlin") return "CET-1CEST,M3.5.0,M10.5.0/3";
        if (zone == "America/New_York") return "EST5EDT,M3.2.0,M11.1.0";
        if (zone == "America/St_Johns") return "NST3:30NDT,M3.2.0,M11.1.0";
        if (zone == "Asia/Kathmandu") return "<+0545>-5:45";
        if (zone == "UTC") return "UTC0";
        throw std::invalid_argument("no rule for the zone " + zone);
    }
    static void set(const char* value) {
        value ? ::setenv("TZ", value, 1) : ::unsetenv("TZ");
        ::tzset();
    }

    std::optional<std::string> before_;
};

}  // namespace hpo::testing
