// The parameters of a W&B sweep, as dimensions of the space and as what the script is given.
#pragma once

#include <string>

#include "orchestrator/import/distributions.hpp"
#include "orchestrator/import/reading.hpp"

namespace hpo::importing {

/// One parameter of the sweep as the script is to get it.
struct Argument {
    std::string name;       ///< as W&B writes it
    std::string text;       ///< with placeholders, as Python's str() of the value
    std::string json;       ///< with placeholders, as JSON of it
    bool flag = false;      ///< true and false are its only values
    bool constant = false;  ///< a flag that is always `on`
    bool on = false;
    std::string flag_name;  ///< of a flag that varies: the parameter that holds "--name" while it is on
};

/// Reads them one by one into the draft's space.
class SweepParameters {
   public:
    /// `words`: how true and false reach the script as arguments. Constants are parameters of the study too: they stand
    /// in wandb.config.
    SweepParameters(const Reading& reading, LiteralStyle style)
        : reading_(reading), builder_(reading.builder), style_(style) {}

    /// What is wrong goes to the diagnostics; the argument is not to be used then.
    Argument read(const study::Entry& entry) { return parameter(entry, ""); }

   private:
    Argument parameter(const study::Entry& entry, const std::string& prefix);
    Argument group(Argument argument, const std::string& name, const study::Node& nested);
    Argument constant(Argument argument, const std::string& name, const study::Node* value, const study::Entry& entry);
    Argument choices(Argument argument, const std::string& name, const study::Node& node, const study::Entry& entry);
    Argument number(Argument argument, const std::string& name, const struct Form& form, const study::Node& node,
                    const study::Entry& entry);
    void refer(Argument& argument, const std::string& name, bool quoted);

    const Reading& reading_;
    StudyBuilder& builder_;
    LiteralStyle style_;
};

/// A text as Python ('a') or JSON ("a") writes it.
std::string quoted_text(const std::string& text, LiteralStyle style);

}  // namespace hpo::importing
