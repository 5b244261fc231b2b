// The value of every trial, and the best so far, by number and over time.
import { rangeOf, usefulRange } from "./axis.ts";
import { bestSoFar } from "./best.ts";
import { type ChartOptions, chart, mark, markOf, nearest, rowsOf } from "./chart.ts";
import { numbers, stateColumn, trialColumn, trialText, valueColumn } from "./columns.ts";
import { Crowd, crowded } from "./crowd.ts";
import { choice, h, section } from "./dom.ts";
import { duration, plural, short } from "./format.ts";
import type { Focus } from "./focus.ts";
import type { Study } from "./study.ts";
import { colour } from "./theme.ts";

export function historySection(study: Study, focus: Focus): HTMLElement | null {
    const { value, started, counts } = study.columns;
    const { trained } = study;
    const ranked = study.ranked();
    if (ranked.length === 0) return null;
    const sorted = ranked.map((row) => value[row]!);
    const useful = usefulRange(sorted);
    const outside = sorted.filter((each) => each < useful[0] || each > useful[1]).length;
    const begin = rangeOf(started)[0];
    const byNumber = rowsOf(study.count).filter((row) => Number.isFinite(value[row]));
    const byTime = byNumber.filter((row) => Number.isFinite(trained[row])).sort((a, b) => trained[a]! - trained[b]!);
    const positive = rangeOf(sorted)[0] > 0;

    const options = (over: string, log: boolean, all: boolean): ChartOptions => {
        const rows = over === "time" ? byTime : byNumber;
        const best = bestSoFar(rows, value, counts, (a, b) => study.better(a, b));
        const bestOf = new Map(rows.map((row, i) => [row, best[i]!]));
        const at = (row: number) => (over === "time" ? trained[row]! - begin : row + 1);
        const last = rows.length > 0 ? at(rows[rows.length - 1]!) : 1;
        const crowd = new Crowd();
        return {
            title: `${study.metric} of ${plural(rows.length, "trial")} ${over === "time" ? "over time" : "by number"}, and the best so far, which ends at ${short(best[best.length - 1] ?? NaN)}.`,
            x: over === "time" ? { label: "time since the first trial", range: [0, last], format: duration } : { label: "trial", range: [1, Math.max(2, study.count)], whole: true },
            y: { label: study.metric, range: all ? rangeOf(sorted) : useful, log },
            draw: (area) => {
                const { context, ratio } = area;
                context.lineWidth = 1.2 * ratio;
                if (rows.length > crowded) crowd.draw(area, rows, (row) => [area.x(at(row)), area.y(value[row]!)]);
                else
                    for (const row of rows) {
                        const shape = markOf(study.state.at(row));
                        context.fillStyle = context.strokeStyle = colour(shape === "cross" ? "bad" : "mild");
                        mark(area, shape, area.x(at(row)), area.y(value[row]!), 3);
                    }
                context.beginPath();
                let before = NaN;
                rows.forEach((row, i) => {
                    const [x, y] = [area.x(at(row)), area.y(best[i]!)];
                    if (Number.isNaN(best[i]!)) return;
                    if (Number.isNaN(before)) context.moveTo(x, y);
                    else {
                        context.lineTo(x, before);
                        context.lineTo(x, y);
                    }
                    before = y;
                });
                context.lineTo(area.left + area.width, before);
                context.strokeStyle = colour("accent");
                context.lineWidth = 2 * ratio;
                context.stroke();
                for (const row of focus.rows()) {
                    if (!Number.isFinite(value[row])) continue;
                    context.strokeStyle = colour(row + 1 === study.best ? "best" : "ink");
                    mark(area, "ring", area.x(at(row)), area.y(value[row]!), 6);
                }
            },
            near: (area, x, y) => {
                const i = nearest(area, x, y, rows.length, (n) => [area.x(at(rows[n]!)), area.y(value[rows[n]!]!)]);
                if (i < 0) return null;
                const row = rows[i]!;
                return { x: area.x(at(row)), y: area.y(value[row]!), text: trialText(study, row), row };
            },
            pick: focus.pick,
            rows: study.count,
            columns: [
                trialColumn(),
                numbers("trained until", trained.map((each) => each - begin), duration),
                stateColumn(study),
                valueColumn(study),
                { title: "best so far", text: (row) => short(bestOf.get(row) ?? NaN), value: (row) => bestOf.get(row) ?? NaN, number: true },
            ],
        };
    };
    let over = "number";
    let log = false;
    let all = false;
    const drawn = chart(options(over, log, all));
    focus.onChange(drawn.redraw);
    const again = () => drawn.update(options(over, log, all));
    return section(
        "history",
        "Best so far",
        h(
            "div",
            { class: "choices" },
            choice("Order", [["number", "by number"], ["time", "over time"]], over, (chosen) => ((over = chosen), again())),
            outside > 0 && choice("Values", [["better", "of the better trials"], ["all", "all"]], "better", (chosen) => ((all = chosen === "all"), again())),
            positive && choice("Scale", [["linear", "linear"], ["log", "logarithmic"]], "linear", (chosen) => ((log = chosen === "log"), again())),
        ),
        drawn.element,
        h(
            "p",
            { class: "note" },
            `Line: the best so far. ${
                byNumber.length > crowded ? "Shades: the other trials, the stronger the more of them." : "Full dots: complete; rings: stopped or unfinished; crosses: diverged or failed."
            }${
                outside > 0 ? ` ${plural(outside, "trial")} with worse values ${outside === 1 ? "lies" : "lie"} outside the picture of the better trials.` : ""
            } Drag to enlarge a part, double-click for all.`,
        ),
    );
}
