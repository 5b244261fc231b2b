#include "orchestrator/view/advice.hpp"

#include <cstdio>

#include "hpo/printable.hpp"
#include "orchestrator/view/prediction.hpp"
#include "orchestrator/view/table.hpp"
#include "orchestrator/view/wrapped.hpp"

namespace hpo::view {

namespace {

std::string gain_text(const std::optional<double>& gain) {
    if (!gain) return "not known";
    char text[24];
    std::snprintf(text, sizeof text, *gain < 9.95 ? "%.1f times" : "%.0f times", *gain);
    return text;
}

std::string range_or_dash(const std::optional<PredictedRange>& seconds) {
    return seconds ? predicted_time_text(*seconds) : "-";
}

}  // namespace

std::string keys_text(const std::vector<std::pair<std::string, std::string>>& keys) {
    std::string text;
    for (const auto& [key, value] : keys) text += (text.empty() ? "" : ", ") + key + ": " + value;
    return text;
}

std::string draw_advice(const AdviceReport& report, const Screen& screen) {
    const Advice& advice = report.advice;
    std::string text = report.study + " is " + std::string(to_text(advice.bound)) + '\n';
    for (const std::string& sentence : advice.evidence) text += "  " + wrapped(sentence, 2, 100) + '\n';
    text += '\n';
    Table table({{"CHANGE"}, {"WORK A SECOND", Table::Align::right}, {"WHOLE SEARCH"}, {"BASIS"}});
    table.add({"none", "1.0 times", range_or_dash(report.now), "simulated from its record"});
    for (std::size_t i = 0; i < advice.changes.size(); ++i) {
        const Change& change = advice.changes[i];
        table.add({printable(change.group == "together" ? "all of them" : keys_text(change.keys)),
                   gain_text(change.gain), range_or_dash(i < report.changed.size() ? report.changed[i] : std::nullopt),
                   change.basis});
    }
    text += table.draw(screen);
    if (advice.changes.empty())
        text += advice.to_measure.empty() ? "No change is known that gains a tenth.\n"
                                          : "No change is known to gain a tenth, by the measurements so far.\n";
    text += '\n';
    for (const Change& change : advice.changes)
        if (change.group != "together")
            text += wrapped(printable(keys_text(change.keys)) + ": " + change.why, 2, 100) + '\n';
    if (report.facts.largest_batch) {
        text += wrapped("The largest batch that fits is " + std::to_string(*report.facts.largest_batch) +
                            (report.facts.largest_batch_limit.empty()
                                 ? " or more"
                                 : "; one more is refused: " + printable(report.facts.largest_batch_limit)) +
                            ".",
                        2, 100) +
                '\n';
    }
    for (const std::string& sentence : advice.to_measure)
        text += wrapped("Not known: " + sentence + ".", 2, 100) + '\n';
    if (!report.lines.empty()) {
        text += "\nTo change the study (or hpo advise --apply NEW.yaml):\n";
        for (const std::string& line : report.lines) text += "    " + printable(line) + '\n';
    }
    return text;
}

}  // namespace hpo::view
