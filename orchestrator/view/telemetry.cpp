#include "orchestrator/view/telemetry.hpp"

#include <map>

#include "hpo/printable.hpp"
#include "orchestrator/telemetry/text.hpp"
#include "orchestrator/view/table.hpp"

namespace hpo::view {

std::string draw_sample(const TelemetrySample& sample, const Screen& screen) {
    std::map<std::string, Line> lines;
    for (const Measurement& measured : sample) {
        const auto [line, added] = lines.try_emplace(measured.channel.source);
        if (added) line->second.add(pad_right(printable(name_of_source(measured.channel.source)), 8, screen));
        line->second.add("  " + std::string(traits_of(measured.channel.quantity).title) + ' ', Style::dim)
            .add(value_text(measured.channel.quantity, measured.value) + (measured.possible ? "" : "?"),
                 measured.possible ? Style::plain : Style::bad);
    }
    std::string text;
    for (const auto& [source, line] : lines) text += line.render(screen) + '\n';
    return text;
}

std::string draw_summary(const TelemetrySummary& summary, const Screen& screen) {
    Table table({{"SOURCE"},
                 {"QUANTITY"},
                 {"AVERAGE", Table::Align::right},
                 {"LEAST", Table::Align::right},
                 {"5 %", Table::Align::right},
                 {"MEDIAN", Table::Align::right},
                 {"95 %", Table::Align::right},
                 {"MOST", Table::Align::right},
                 {"SAMPLES", Table::Align::right}});
    for (const auto& [channel, figures] : summary) {
        const auto text = [&](double value) {
            return figures.count == 0 ? std::string("-") : hpo::value_text(channel.quantity, value);
        };
        table.add({printable(name_of_source(channel.source)), std::string(traits_of(channel.quantity).title),
                   text(figures.average), text(figures.least), text(figures.percentile_5), text(figures.median),
                   text(figures.percentile_95), text(figures.most),
                   std::to_string(figures.count) +
                       (figures.impossible ? " + " + std::to_string(figures.impossible) + " impossible" : "")});
    }
    return table.draw(screen);
}

}  // namespace hpo::view
