#include "orchestrator/view/diagnosis.hpp"

#include <string>
#include <vector>

#include "hpo/text.hpp"

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

constexpr int state_width = 9;

/// Draws a line that is not cut, since the cure is at its end.
std::string draw_whole(const Line& line, const Screen& screen) {
    Screen wide = screen;
    wide.width = 0;
    return line.render(wide) + '\n';
}

}  // namespace

std::string draw_diagnosis(const Diagnosis& diagnosis, const Screen& screen) {
    constexpr int text_column = 26;
    std::string text;
    const auto draw = [&](const Line& line) { text += draw_whole(line, screen); };
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

std::string draw_promise(const Promise& promise, const Screen& screen) {
    const Line first = Line()
                           .add(promise.kept ? "kept" : "broken", promise.kept ? Style::good : Style::bad)
                           .to(state_width)
                           .add(promise.text);
    const std::string seen = promise.seen + " (" + duration_text(promise.took.count()) + ")";
    return draw_whole(first, screen) +
           draw_whole(Line().to(state_width).add(seen, promise.kept ? Style::dim : Style::plain), screen);
}

std::string draw_self_test_end(const SelfTestResult& result, const Screen& screen) {
    if (result.kept())
        return draw_whole(Line().add("hpo keeps its promises here (docs/guarantees.md).", Style::good), screen);
    return draw_whole(
        Line().add("hpo does not keep all of its promises here: see " + result.folder.string() + '.', Style::bad),
        screen);
}

}  // namespace hpo::view
