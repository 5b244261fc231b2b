// Reads the parameters of a W&B sweep as dimensions of the space and as arguments of the script.
#pragma once

#include <string>

#include "orchestrator/import/distributions.hpp"
#include "orchestrator/import/reading.hpp"

namespace hpo::importing {

/// One parameter of the sweep in the form in which the script receives it.
struct Argument {
    std::string name;       ///< in the sweep
    std::string text;       ///< the value with placeholders, as Python's str() writes it
    std::string json;       ///< the value with placeholders, as JSON
    bool flag = false;      ///< true if true and false are its only values
    bool constant = false;  ///< true for a flag that always has the value `on`
    bool on = false;
    std::string flag_name;  ///< name in the study of a flag that varies
};

/// Adds parameters one by one to the study builder's space.
class SweepParameters {
   public:
    /// `style` determines how true and false are written as arguments. Constants become fixed parameters of the study,
    /// since wandb.config has them too.
    SweepParameters(const Reading& reading, LiteralStyle style)
        : reading_(reading), builder_(reading.builder), style_(style) {}

    /// Reads one parameter. If it adds errors to the diagnostics, the result must not be used.
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
