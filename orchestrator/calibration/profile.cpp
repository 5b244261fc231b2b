#include "orchestrator/calibration/profile.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "hpo/printable.hpp"

namespace hpo {

namespace {

void add_profile_line(TrainingProfile& profile, const nlohmann::json& json) {
    const auto measured = json.at("measured").get<std::string>();
    if (measured == "update") {
        profile.backend = json.at("backend").get<std::string>();
        profile.name = json.at("name").get<std::string>();
        profile.identity = json.at("identity").get<std::string>();
        profile.precision = json.at("precision").get<std::string>();
        profile.batch_size = json.at("batch_size").get<std::int64_t>();
        profile.micro_batches = json.at("micro_batches").get<std::int64_t>();
        profile.parameters = json.at("parameters").get<std::int64_t>();
        profile.updates = json.at("updates").get<std::int64_t>();
    } else if (measured == "whole") {
        profile.whole = json.at("seconds").get<double>();
    } else if (measured == "loading") {
        profile.loading = json.at("text").get<std::string>();
    } else if (measured == "operation") {
        const auto number = [&](const char* key) { return json.at(key).get<double>(); };
        profile.operations.push_back({json.at("operation").get<std::string>(),
                                      json.at("shape").get<std::string>(),
                                      number("calls"),
                                      number("flops"),
                                      number("bytes"),
                                      {number("seconds"), number("least"), number("most")}});
    }
}

}  // namespace

double TrainingProfile::sum() const {
    double seconds = 0;
    for (const OperationTime& one : operations) seconds += one.time.seconds;
    return seconds;
}

Result<TrainingProfile> read_profile(std::string_view lines) {
    TrainingProfile profile;
    std::istringstream stream{std::string(lines)};
    int number = 0;
    for (std::string line; std::getline(stream, line);) {
        ++number;
        try {
            const auto json = nlohmann::json::parse(line);
            if (json.contains("error")) return Error{json["error"].get<std::string>()};
            add_profile_line(profile, json);
        } catch (const std::exception& problem) {
            return Error{"line " + std::to_string(number) +
                         " of the profile cannot be used: " + printable(problem.what(), 200)};
        }
    }
    if (profile.operations.empty()) return Error{"the worker measured nothing"};
    std::stable_sort(profile.operations.begin(), profile.operations.end(),
                     [](const auto& a, const auto& b) { return a.time.seconds > b.time.seconds; });
    return profile;
}

}  // namespace hpo
