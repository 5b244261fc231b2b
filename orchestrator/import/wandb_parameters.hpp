// Reads the parameters of a W&B sweep as dimensions of the space and as arguments of the script.
#pragma once

#include <string>

#include "orchestrator/import/distributions.hpp"
#include "orchestrator/import/reading.hpp"

namespace hpo::importing {

/// One parameter of the sweep in the form in which the script gets it.
struct Argument {
    std::string name;       ///< as W&B writes it
    std::string text;       ///< with placeholders, as Python's str() writes the value
    std::string json;       ///< with placeholders, as JSON
    bool flag = false;      ///< whether true and false are its only values
    bool constant = false;  ///< whether a flag always has the value `on`
    bool on = false;
    std::string flag_name;  ///< for a flag that varies: the parameter with the value "--name" while it is on
};

/// Adds parameters one by one to the study builder's space.
class SweepParameters {
   public:
    /// `style` decides how true and false are written as arguments. Constants are parameters of the study too, because
    /// wandb.config has them.
    SweepParameters(const Reading& reading, LiteralStyle style)
        : reading_(reading), builder_(reading.builder), style_(style) {}

    /// Reads one parameter. Errors are added to the diagnostics; the argument must not be used then.
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

/// Returns a text as Python ('a') or JSON ("a") writes it.
std::string quoted_text(const std::string& text, LiteralStyle style);

}  // namespace hpo::importing
