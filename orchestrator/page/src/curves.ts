// Every learning curve, with its end marked.
import { usefulRange } from "./axis.ts";
import { type Area, type ChartOptions, chart, mark, markOf, nearest } from "./chart.ts";
import { numbers, stateColumn, trialColumn, trialText, valueColumn } from "./columns.ts";
import { crowded } from "./crowd.ts";
import { choice, h, section } from "./dom.ts";
import { plural } from "./format.ts";
import type { Focus } from "./focus.ts";
import { alphaOf, Raster } from "./raster.ts";
import type { Study } from "./study.ts";
import { channels, colour } from "./theme.ts";

export function curvesSection(study: Study, focus: Focus): HTMLElement | null {
    const { curves } = study;
    if (curves.count === 0 || curves.value.length === 0) return null;
    const from = (i: number) => (i === 0 ? 0 : curves.end[i - 1]!);
    const { step, value, end, trial } = curves;
    const curveOf = new Map<number, number>();
    for (let i = 0; i < curves.count; i++) curveOf.set(trial[i]! - 1, i);

    const finite = Float64Array.from(value).filter(Number.isFinite).sort();
    const [low, high] = usefulRange(study.minimize ? finite : finite.reverse(), 6);
    let first = Infinity;
    let last = 1;
    for (const each of step) (first = Math.min(first, each)), (last = Math.max(last, each));

    const trace = (area: Area, i: number, line: (x: number, y: number, start: boolean) => void) => {
        let start = true;
        for (let point = from(i); point < end[i]!; point++) {
            if (!Number.isFinite(value[point])) start = true;
            else {
                line(area.x(step[point]!), area.y(value[point]!), start);
                start = false;
            }
        }
    };
    const all = (area: Area) => {
        const raster = new Raster(Math.round(area.width), Math.round(area.height));
        for (let i = 0; i < curves.count; i++) {
            let [beforeX, beforeY] = [0, 0];
            trace(area, i, (x, y, start) => {
                x -= area.left;
                y -= area.top;
                if (!start) raster.line(beforeX, beforeY, x, y);
                [beforeX, beforeY] = [x, y];
            });
        }
        const image = new ImageData(raster.width, raster.height);
        raster.paint(image, channels("mild"), alphaOf(curves.count));
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [raster.width, raster.height];
        canvas.getContext("2d")!.putImageData(image, 0, 0);
        return canvas;
    };
    const marksEnds = curves.count <= crowded; // more of them would hide the curves
    let kept: { key: string; canvas: HTMLCanvasElement } | null = null;

    const options = (log: boolean): ChartOptions => ({
        title: `${study.metric} of ${plural(curves.count, "trial")} at each ${study.document.answer.step}${marksEnds ? ", with the end of each curve marked" : ""}.`,
        height: 340,
        x: { label: study.document.answer.step, range: [Math.min(first, last), last], whole: true },
        y: { label: study.metric, range: [low, high], log },
        draw: (area) => {
            const { context, ratio } = area;
            const key = [area.width, area.height, log, area.x(0), area.x(1), area.y(low), area.y(high), colour("mild")].join();
            if (kept?.key !== key) kept = { key, canvas: all(area) };
            context.drawImage(kept.canvas, area.left, area.top);
            context.lineWidth = ratio;
            for (let i = 0; i < curves.count && marksEnds; i++) {
                const at = end[i]! - 1;
                if (at < from(i) || !Number.isFinite(value[at])) continue;
                const shape = markOf(study.state.at(trial[i]! - 1));
                context.fillStyle = context.strokeStyle = colour(shape === "cross" ? "bad" : "soft");
                mark(area, shape, area.x(step[at]!), area.y(value[at]!), curves.count > 200 ? 2 : 3);
            }
            for (const row of focus.rows()) {
                const i = curveOf.get(row);
                if (i === undefined) continue;
                context.strokeStyle = context.fillStyle = colour(row + 1 === study.best ? "best" : "ink");
                context.lineWidth = 2.5 * ratio;
                context.beginPath();
                trace(area, i, (x, y, start) => (start ? context.moveTo(x, y) : context.lineTo(x, y)));
                context.stroke();
                const at = end[i]! - 1;
                if (at >= from(i)) {
                    context.font = `${12 * ratio}px system-ui, sans-serif`;
                    context.textAlign = area.x(step[at]!) > area.left + area.width * 0.8 ? "right" : "left";
                    context.fillText(` ${row + 1} `, area.x(step[at]!), area.y(value[at]!) - 8 * ratio);
                    mark(area, "dot", area.x(step[at]!), area.y(value[at]!), 3);
                }
            }
        },
        near: (area, x, y) => {
            const point = nearest(area, x, y, value.length, (i) => [area.x(step[i]!), area.y(value[i]!)]);
            if (point < 0) return null;
            let [least, most] = [0, curves.count - 1];
            while (least < most) {
                const middle = (least + most) >> 1;
                if (end[middle]! > point) most = middle;
                else least = middle + 1;
            }
            const row = trial[least]! - 1;
            return { x: area.x(step[point]!), y: area.y(value[point]!), text: trialText(study, row), row };
        },
        pick: focus.pick,
        rows: study.count,
        columns: [
            trialColumn(),
            stateColumn(study),
            numbers("last step", study.columns.steps),
            numbers("best step", study.columns.best_step),
            valueColumn(study),
            { title: "why it ended", text: (row) => study.reason.at(row), long: true },
        ],
    });
    const drawn = chart(options(false));
    focus.onChange(drawn.redraw);
    return section(
        "curves",
        "Learning curves",
        low > 0 ? h("div", { class: "choices" }, choice("Scale", [["linear", "linear"], ["log", "logarithmic"]], "linear", (chosen) => drawn.update(options(chosen === "log")))) : null,
        drawn.element,
        h(
            "p",
            { class: "note" },
            `${
                curves.count < curves.of
                    ? `${curves.count.toLocaleString("en-US")} of ${curves.of.toLocaleString("en-US")} curves: those of the best trials, and others at equal distances. `
                    : ""
            }${
                marksEnds ? "A mark ends each curve: dot, complete; ring, stopped or unfinished; cross, diverged or failed. " : "The stronger the shade, the more curves. "
            }${
                study.best ? `Thick line with its number: the best, trial ${study.best}, and the trial that you pick by a click.` : ""
            }`,
        ),
    );
}
