// Reads NNI's search space.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/import/reading.hpp"

namespace hpo::importing {

class NniSpace {
   public:
    /// `reading` must outlive this object.
    explicit NniSpace(const Reading& reading) : reading_(reading), builder_(reading.builder) {}

    /// Reads a map of names to {_type: ..., _value: [...]} and adds its errors to the diagnostics.
    void read(const study::Node& root);

   private:
    void parameter(const study::Entry& entry, const std::string& prefix, const std::vector<Condition>& when);
    std::string choice(const std::string& name, const study::Node& value, const std::vector<Condition>& when);
    std::string number(const std::string& name, const std::string& type, const study::Node& value);

    const Reading& reading_;
    StudyBuilder& builder_;
};

}  // namespace hpo::importing
