#include "orchestrator/view/diagnosis.hpp"

#include <string>
#include <vector>

namespace hpo::view {

namespace {

Style style_of_health(Health health) {
    switch (health) {
        case Health::well:
            return Style::good;
        case Health::absent:
            return Style::dim;
        case Health::missing:
            return Style::notice;
        case Health::wrong:
            return Style::bad;
    }
    return Style::plain;
}

/// "the CPU, cuda 0".
std::string list_of_devices(const std::vector<std::string>& devices) {
    std::string text;
    for (const std::string& device : devices)
        text += (text.empty() ? "" : ", ") + (device == "cpu" ? "the CPU" : device);
    return text;
}

}  // namespace

std::string draw_diagnosis(const Diagnosis& diagnosis, const Screen& screen) {
    constexpr int state_width = 9, text_column = 26;
    std::string text;
    // Long lines are not cut, since they end with the cure.
    Screen wide = screen;
    wide.width = 0;
    const auto draw = [&](const Line& line) { text += line.render(wide) + '\n'; };
    for (const Finding& finding : diagnosis.findings) {
        draw(Line()
                 .add(to_text(finding.health), style_of_health(finding.health))
                 .to(state_width)
                 .add(finding.subject)
                 .to(text_column)
                 .add(finding.text));
        if (!finding.follows.empty()) draw(Line().to(text_column).add("so " + finding.follows));
        if (!finding.cure.empty()) draw(Line().to(text_column).add("cure: " + finding.cure, Style::strong));
    }
    const bool can = diagnosis.can_train();
    draw(Line().add(can ? "hpo can train here, on " + list_of_devices(diagnosis.devices) + "."
                        : "hpo cannot train here: see the problems above.",
                    can ? Style::good : Style::bad));
    return text;
}

}  // namespace hpo::view
