// Which trial ran where and when, and what the devices did meanwhile.
import { rangeOf } from "./axis.ts";
import { type Area, chart, mark, rowsOf, type Scale } from "./chart.ts";
import { h, section } from "./dom.ts";
import { bytes, duration, plural, short } from "./format.ts";
import type { Focus } from "./focus.ts";
import { lanesOf } from "./lanes.ts";
import { type Numbers, type Study, Texts, unpack } from "./study.ts";
import { colour } from "./theme.ts";

export function timelineSection(study: Study, focus: Focus): HTMLElement | null {
    const packed = study.document.attempts;
    const [trial, begin, until, reserved] = [unpack(packed.trial), unpack(packed.begin), unpack(packed.until), unpack(packed.reserved)];
    const [where, end] = [new Texts(packed.where), new Texts(packed.end)];
    const count = trial.length;
    if (count === 0) return null;

    const devices = [...where.texts].sort();
    const lane = new Float64Array(count);
    const names: string[] = [];
    for (const device of devices) {
        const rows = rowsOf(count).filter((row) => where.at(row) === device).sort((a, b) => begin[a]! - begin[b]!);
        const lanes = lanesOf(rows, begin, until);
        const first = names.length;
        for (const [row, own] of lanes) {
            lane[row] = first + own;
            names[first + own] ??= own === 0 ? device || "device" : "";
        }
    }
    const zero = rangeOf(begin)[0];
    const time: Scale = { label: "time since the first trial", range: [0, rangeOf(until)[1] - zero], format: duration };
    const place = (area: Area, i: number): [number, number, number, number] => {
        const [left, right] = [area.x(begin[i]! - zero), area.x(until[i]! - zero)];
        const [above, below] = [area.y(lane[i]! - 0.42), area.y(lane[i]! + 0.42)];
        return [left, Math.min(above, below), Math.max(1, right - left), Math.abs(below - above)];
    };
    const peak = (row: number): number => {
        const device = study.columns.peak_device[row]!;
        return device > 0 ? device : study.columns.peak_host[row]!;
    };
    const trained = rowsOf(count).reduce((sum, i) => sum + until[i]! - begin[i]!, 0);
    const busy = trained / (names.length * Math.max(1e-9, time.range[1]));
    const drawn = chart({
        title: `${plural(count, "attempt")} of trials on ${devices.join(", ")} over ${duration(time.range[1])}.`,
        height: Math.min(520, 70 + Math.max(2, names.length) * 22),
        x: time,
        y: { label: "", range: [0, names.length - 1], names },
        draw: (area) => {
            const { context, ratio } = area;
            for (let i = 0; i < count; i++) {
                const [left, above, width, height] = place(area, i);
                const how = end.at(i);
                const bad = how === "failed" || how === "diverged" || how === "lost" || how === "out_of_memory";
                const row = trial[i]! - 1;
                context.fillStyle = context.strokeStyle = colour(bad ? "bad" : row + 1 === study.best ? "best" : row === focus.row ? "ink" : "mild");
                context.lineWidth = ratio;
                // Complete: full. Stopped, paused or interrupted: a paler bar with an end. Failed: a bar with a cross.
                context.globalAlpha = how === "complete" || how === "running" ? 1 : 0.45;
                context.fillRect(left, above, Math.max(ratio, width - 0.5 * ratio), height);
                context.globalAlpha = 1;
                if (how !== "complete" && how !== "running" && width > 3 * ratio) context.fillRect(left + width - 2 * ratio, above, 1.5 * ratio, height);
                if (bad && width > 6 * ratio) {
                    context.beginPath();
                    context.moveTo(left, above);
                    context.lineTo(left + width, above + height);
                    context.moveTo(left, above + height);
                    context.lineTo(left + width, above);
                    context.stroke();
                }
                const text = String(trial[i]);
                context.font = `${Math.min(12, height / ratio - 2) * ratio}px system-ui, sans-serif`;
                if (height > 10 * ratio && width > (text.length * 7 + 8) * ratio) {
                    context.fillStyle = colour(how === "complete" || how === "running" ? "sheet" : "ink");
                    context.textBaseline = "middle";
                    context.textAlign = "left";
                    context.fillText(text, left + 4 * ratio, above + height / 2);
                    context.textBaseline = "alphabetic";
                }
            }
        },
        near: (area, x, y) => {
            for (let i = 0; i < count; i++) {
                const [left, above, width, height] = place(area, i);
                if (x < left - 2 || x > left + width + 2 || y < above || y > above + height) continue;
                const row = trial[i]! - 1;
                const text = [
                    `trial ${trial[i]} on ${where.at(i)}, ${end.at(i)}`,
                    `${duration(until[i]! - begin[i]!)} from ${duration(begin[i]! - zero)}`,
                    `memory reserved ${bytes(reserved[i]!)}, used ${bytes(peak(row))}`,
                ].join("\n");
                return { x: Math.min(x, area.left + area.width), y: above, text, row };
            }
            return null;
        },
        pick: focus.pick,
        rows: count,
        columns: [
            { title: "trial", text: (i) => String(trial[i]), value: (i) => trial[i]!, number: true },
            { title: "device", text: (i) => where.at(i) },
            { title: "from", text: (i) => duration(begin[i]! - zero), value: (i) => begin[i]!, number: true },
            { title: "for", text: (i) => duration(until[i]! - begin[i]!), value: (i) => until[i]! - begin[i]!, number: true },
            { title: "end", text: (i) => end.at(i) },
            { title: "reserved", text: (i) => bytes(reserved[i]!), value: (i) => reserved[i]!, number: true },
            { title: "used by the trial", text: (i) => bytes(peak(trial[i]! - 1)), value: (i) => peak(trial[i]! - 1), number: true },
        ],
    });
    focus.onChange(drawn.redraw);
    return section(
        "timeline",
        "Devices",
        h(
            "p",
            { class: "note" },
            `A bar an attempt, in as many lanes as trials ran at once. Full bars: complete; pale bars with an end: stopped, paused or interrupted; crossed: failed. Trials ran in ${Math.round(busy * 100)} % of the lanes' time.`,
        ),
        drawn.element,
        ...loads(study, time, zero),
    );
}

/** Charts of the load, one a quantity, with a line a device. */
function loads(study: Study, time: Scale, zero: number): (HTMLElement | null)[] {
    const wanted = ["utilization", "cores", "memory", "power"];
    return wanted.map((quantity) => {
        const lines = study.document.load
            .filter((each) => each.quantity === quantity)
            .map((each) => ({ source: each.source, unit: each.unit, title: each.title, time: unpack(each.time), average: unpack(each.average), most: unpack(each.most) }));
        const first = lines[0];
        if (!first || lines.every((line) => line.time.length < 2)) return null; // one sample is no course of time
        const format = first.unit === "B" ? bytes : (value: number) => `${short(value)}${first.unit ? ` ${first.unit}` : ""}`;
        const all: { line: number; i: number }[] = lines.flatMap((line, n) => Array.from(line.time, (_, i) => ({ line: n, i })));
        const highest = Math.max(...lines.map((line) => rangeOf(line.average)[1]));
        return h(
            "div",
            {},
            h("h3", {}, `${first.title[0]!.toUpperCase()}${first.title.slice(1)}: ${lines.map((line, n) => line.source + (lines.length > 1 ? ` (${dashNames[n % 4]})` : "")).join(", ")}`),
            chart({
                title: `${first.title} of ${lines.map((line) => line.source).join(", ")} over time`,
                height: 170,
                x: { ...time, range: [0, Math.max(time.range[1], ...lines.map((line) => rangeOf(line.time)[1] - zero))] },
                y: { label: first.unit === "B" ? "" : first.unit, range: [0, highest], ...(first.unit === "B" && { format: bytes }) },
                draw: (area) => {
                    lines.forEach((line, n) => plot(area, line.time, line.average, zero, n));
                },
                rows: all.length,
                columns: [
                    { title: "device", text: (row) => lines[all[row]!.line]!.source },
                    { title: "time", text: (row) => duration(lines[all[row]!.line]!.time[all[row]!.i]! - zero), value: (row) => lines[all[row]!.line]!.time[all[row]!.i]!, number: true },
                    { title: "average", text: (row) => format(lines[all[row]!.line]!.average[all[row]!.i]!), value: (row) => lines[all[row]!.line]!.average[all[row]!.i]!, number: true },
                    { title: "most", text: (row) => format(lines[all[row]!.line]!.most[all[row]!.i]!), value: (row) => lines[all[row]!.line]!.most[all[row]!.i]!, number: true },
                ],
            }).element,
        );
    });
}

const dashes = [[], [6, 4], [2, 3], [8, 3, 2, 3]];
const dashNames = ["full", "dashed", "dotted", "dash-dotted"];

function plot(area: Area, time: Numbers, values: Numbers, zero: number, n: number): void {
    const { context, ratio, x, y } = area;
    context.beginPath();
    for (let i = 0; i < time.length; i++) context.lineTo(x(time[i]! - zero), y(values[i]!));
    context.setLineDash(dashes[n % 4]!.map((length) => length * ratio));
    context.strokeStyle = colour(n === 0 ? "accent" : "ink");
    context.lineWidth = 1.5 * ratio;
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = context.strokeStyle;
    if (time.length <= 60) for (let i = 0; i < time.length; i++) mark(area, "dot", x(time[i]! - zero), y(values[i]!), 2.5);
}
