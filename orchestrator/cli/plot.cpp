// hpo plot: draws a picture of a study in the terminal, or as SVG or PNG.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <csignal>
#include <memory>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/moved_aside.hpp"
#include "orchestrator/insights/insights.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/output/output_path.hpp"
#include "orchestrator/page/study_parts.hpp"
#include "orchestrator/plot/drawing.hpp"
#include "orchestrator/plot/figures.hpp"
#include "orchestrator/plot/png.hpp"
#include "orchestrator/study/diagnostics.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {

namespace {

using plot::Figure;

struct PlotArguments {
    std::string first, second, path;
    bool force = false;
};

Figure draw_curves(StudySnapshot& snapshot, const view::Screen*) {
    const auto shown = page::shown_curves(snapshot.study, snapshot.record);
    const page::CurveColumns columns(snapshot.study.objective.metric, shown.size());
    std::map<std::int64_t, page::CurvePoints> curves;
    for (const std::int64_t trial : shown)
        curves[trial] = columns.points_of(or_fail(snapshot.whole(snapshot.record.trial(trial))));
    return plot::curves(snapshot.study, snapshot.record, curves);
}

Figure draw_importance(StudySnapshot& snapshot, const view::Screen*) {
    return plot::importance(snapshot.study, whole_importance_of(snapshot));
}

Figure draw_parallel(StudySnapshot& snapshot, const view::Screen* screen) {
    constexpr int narrowest = 9;  // columns of an axis
    const int width = !screen ? 0 : screen->width > 0 ? screen->width : 80;
    const std::size_t axes = screen ? static_cast<std::size_t>(width / narrowest - 1) : snapshot.study.space.size();
    return plot::parallel(snapshot.study, snapshot.record, axes);
}

Figure draw_timeline(StudySnapshot& snapshot, const view::Screen*) {
    page::KeptParts parts;
    page::read_events(snapshot, parts);
    return plot::timeline(snapshot.study, parts.attempts.attempts());
}

template <auto Draw>
Figure of_record(StudySnapshot& snapshot, const view::Screen*) {
    return Draw(snapshot.study, snapshot.record);
}

struct PlotKind {
    std::string_view name;
    /// `screen` is null for a file.
    Figure (*draw)(StudySnapshot& snapshot, const view::Screen* screen);
};
constexpr std::array kinds{PlotKind{"history", of_record<plot::history>}, PlotKind{"curves", draw_curves},
                           PlotKind{"importance", draw_importance},       PlotKind{"slice", of_record<plot::slice>},
                           PlotKind{"parallel", draw_parallel},           PlotKind{"timeline", draw_timeline},
                           PlotKind{"front", of_record<plot::front>}};

const PlotKind* kind_named(const std::string& name) {
    for (const PlotKind& kind : kinds)
        if (kind.name == name) return &kind;
    return nullptr;
}

int run_plot(const PlotArguments& arguments) {
    // The forms are: hpo plot STUDY KIND, hpo plot KIND, hpo plot STUDY, hpo plot.
    const bool kind_alone = arguments.second.empty() && kind_named(arguments.first);
    const std::string name = kind_alone ? arguments.first : arguments.second.empty() ? "history" : arguments.second;
    const PlotKind* kind = kind_named(name);
    if (!kind) {
        std::vector<std::string_view> names;
        for (const PlotKind& each : kinds) names.push_back(each.name);
        throw Fatal("no plot '" + printable(name) + "'" + study::suggestion(name, names), 2);
    }
    const std::string& path = arguments.path;
    if (!path.empty() && path != "-" && !path.ends_with(".svg") && !path.ends_with(".png"))
        throw Fatal(printable(path) + ": SVG and PNG are written: name a file that ends with .svg or .png", 2);
    std::signal(SIGXFSZ, SIG_IGN);
    const StudyFolder folder = choose_study(kind_alone ? "" : arguments.first);
    const view::Screen screen = view::screen_of_stdout();
    StudySnapshot snapshot = snapshot_or_fail(folder);
    const Figure figure = kind->draw(snapshot, path.empty() ? &screen : nullptr);
    if (!figure.nothing.empty()) throw Fatal("nothing to plot: " + figure.nothing);
    if (path.empty() || path == "-") {
        print(path.empty() ? plot::draw_text(figure, screen) : plot::draw_svg(figure));
        return 0;
    }
    const std::string svg = plot::draw_svg(figure);
    const auto aside =
        or_fail(write_whole(path, path.ends_with(".png") ? or_fail(plot::draw_png(svg)) : svg, arguments.force));
    tell_moved_aside(aside);
    return 0;
}

}  // namespace

CommandAction plot(CLI::App& app) {
    const auto arguments = std::make_shared<PlotArguments>();
    app.add_option("STUDY", arguments->first,
                   "A study's name, folder or YAML file; it may be running; default: the most recent one");
    std::string names;
    for (const PlotKind& kind : kinds) names += (names.empty() ? "" : ",") + std::string(kind.name);
    app.add_option("KIND", arguments->second, "The picture, default: history; front is for several objectives")
        ->type_name("TEXT:{" + names + "}");
    app.add_option("-o,--output", arguments->path, "Write a file that ends with .svg or .png instead; - prints SVG");
    app.add_flag("--force", arguments->force, "Replace an existing file, which is kept under another name");
    return [arguments] { return run_plot(*arguments); };
}

}  // namespace hpo::commands
