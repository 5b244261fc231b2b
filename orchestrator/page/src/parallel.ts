// Parallel coordinates, whose brushed axes filter the table below them.
import { type Axis, axis, usefulRange } from "./axis.ts";
import { parameterColumn, remarkColumns, secondsColumn, stateColumn, trialColumn, trialText, valueColumn } from "./columns.ts";
import { announce, h, section, whenDiscarded, whenSeen } from "./dom.ts";
import { plural, short } from "./format.ts";
import type { Focus } from "./focus.ts";
import { alphaOf, Raster } from "./raster.ts";
import { type Range, Selection } from "./selection.ts";
import type { Parameter, Study } from "./study.ts";
import { table } from "./table.ts";
import { channels, colour, whenColoursChange } from "./theme.ts";

const most = 12; // axes beside the objective
const height = 320;
const top = 46;
const bottom = 14;

/** The parameters that are drawn: of many the important ones, in the order of the space. */
function shown(study: Study): Parameter[] {
    if (study.parameters.length <= most) return study.parameters;
    const weight = new Map(study.document.importance.parameters.map((each, i) => [each.parameter, i]));
    const chosen = [...study.parameters].sort((a, b) => (weight.get(a.name) ?? 1e9) - (weight.get(b.name) ?? 1e9)).slice(0, most);
    return study.parameters.filter((parameter) => chosen.includes(parameter));
}

export function parallelSection(study: Study, focus: Focus): HTMLElement | null {
    if (study.count === 0 || study.parameters.length === 0) return null;
    const ranked = study.ranked();
    const values = ranked.map((row) => study.columns.value[row]!);
    const [low, high] = usefulRange(values);
    const clipped = values.length > 0 && (values[values.length - 1]! < low || values[values.length - 1]! > high);
    const axes: Axis[] = shown(study).map((parameter) => axis(parameter));
    // The better end of the objective is drawn at the top, whatever the direction.
    if (values.length > 0) axes.push(axis({ name: study.metric, values: study.columns.value, low, high, log: false, choices: null, flipped: study.minimize, ...(clipped && { below: study.minimize ? "≥ " : "≤ " }) }));
    const selection = new Selection(axes, study.count);
    const order = ranked.concat(Array.from({ length: study.count }, (_, row) => row).filter((row) => !Number.isFinite(study.columns.value[row])));

    const trials = table({
        rows: order,
        columns: [trialColumn(), valueColumn(study), ...study.parameters.map(parameterColumn), stateColumn(study), secondsColumn(study), ...remarkColumns(study)],
        pick: focus.pick,
        picked: () => focus.row,
    });

    const canvas = h("canvas", { class: "parallel", "aria-hidden": "true" });
    const scroll = h("div", { class: "scroll", tabindex: 0, role: "img", "aria-label": `Parallel coordinates of ${plural(study.count, "trial")}: a line a trial, an axis a parameter${values.length > 0 ? `, the last axis ${study.metric}` : ""}. The fields below filter by values.` }, canvas);
    const count = h("output", { class: "count" });
    const clear = h("button", { type: "button" }, "Clear the filters");
    const tip = h("div", { class: "tip" });
    tip.hidden = true;
    const frame = h("div", { class: "frame" }, scroll, tip);

    let ratio = 1;
    let width = 0;
    let chosen: Raster | null = null; // the selected lines
    let behind: HTMLCanvasElement | null = null; // all lines, pale
    let picture: HTMLCanvasElement | null = null;
    let waiting = false;
    const x = (i: number) => (axes.length === 1 ? width / 2 : 56 + (i * (width - 112)) / (axes.length - 1));
    const y = (at: number) => top + (1 - at) * (height - top - bottom);

    const add = (raster: Raster, row: number, sign: 1 | -1) => {
        let before = -1;
        for (let i = 0; i < axes.length; i++) {
            const at = axes[i]!.at[row]!;
            if (Number.isNaN(at)) continue; // inactive: the line leads past the axis
            if (before >= 0) raster.line(x(before) * ratio, y(axes[before]!.at[row]!) * ratio, x(i) * ratio, y(at) * ratio, sign);
            before = i;
        }
    };
    const layout = () => {
        width = Math.max(scroll.clientWidth, axes.length * 84);
        ratio = Math.min(2, devicePixelRatio);
        [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
        [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
        chosen = new Raster(canvas.width, canvas.height);
        for (let row = 0; row < study.count; row++) add(chosen, row, 1);
        behind = paint(document.createElement("canvas"), chosen, "line", alphaOf(study.count));
        if (selection.filtered) addSelected();
        draw();
    };
    /** Paints lines in one colour on a canvas of their size. */
    const paint = (target: HTMLCanvasElement, raster: Raster, name: "line" | "accent", alpha: number) => {
        const image = new ImageData(raster.width, raster.height);
        raster.paint(image, channels(name), alpha);
        if (target.width !== raster.width || target.height !== raster.height) [target.width, target.height] = [raster.width, raster.height];
        target.getContext("2d")!.putImageData(image, 0, 0);
        return target;
    };
    const addSelected = () => {
        chosen!.clear();
        for (let row = 0; row < study.count; row++) if (selection.selected[row]) add(chosen!, row, 1);
    };
    const draw = () => {
        if (!chosen) return;
        const context = canvas.getContext("2d")!;
        context.setTransform(1, 0, 0, 1, 0, 0);
        context.clearRect(0, 0, canvas.width, canvas.height);
        if (selection.filtered && behind) context.drawImage(behind, 0, 0);
        picture ??= document.createElement("canvas");
        context.drawImage(paint(picture, chosen, "accent", alphaOf(selection.size)), 0, 0);
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.lineJoin = "round";
        for (const row of focus.rows()) {
            context.beginPath();
            axes.forEach((each, i) => {
                if (!Number.isNaN(each.at[row]!)) context.lineTo(x(i), y(each.at[row]!));
            });
            context.strokeStyle = colour("sheet");
            context.lineWidth = 5;
            context.stroke();
            context.strokeStyle = colour(row + 1 === study.best ? "best" : "ink");
            context.lineWidth = 2.5;
            context.stroke();
        }
        axes.forEach((each, i) => {
            context.strokeStyle = colour("soft");
            context.lineWidth = 1;
            context.beginPath();
            context.moveTo(x(i), y(0));
            context.lineTo(x(i), y(1));
            context.stroke();
            context.font = "11px system-ui, sans-serif";
            // Long names of choices have no room to the right of the last axis.
            const toLeft = axes.length > 1 && i === axes.length - 1 && each.choices !== null;
            context.textAlign = toLeft ? "right" : "left";
            for (const tick of each.ticks) label(context, short12(tick.text), x(i) + (toLeft ? -5 : 5), y(tick.at) + 4);
            context.font = "600 12px system-ui, sans-serif";
            context.textAlign = "center";
            label(context, short12(each.name, 16), x(i), 16);
            const range = selection.range(i);
            context.font = "11px system-ui, sans-serif";
            if (range) {
                label(context, rangeText(each, range), x(i), 32);
                const box = [x(i) - 8, y(range.high) - 3, 16, y(range.low) - y(range.high) + 6] as const;
                context.fillStyle = context.strokeStyle = colour("accent");
                context.globalAlpha = 0.25;
                context.fillRect(...box);
                context.globalAlpha = 1;
                context.lineWidth = 1.5;
                context.strokeRect(...box);
            }
        });
    };
    /** Draws at most once a frame, however fast the pointer moves. */
    const later = () => {
        if (waiting) return;
        waiting = true;
        requestAnimationFrame(() => {
            waiting = false;
            draw();
            tell();
        });
    };
    const tell = () => {
        count.textContent = selection.filtered ? `${plural(selection.size, "trial")} of ${study.count.toLocaleString("en-US")}` : plural(study.count, "trial");
        clear.disabled = !selection.filtered;
    };
    const filter = (i: number, range: Range | null) => {
        const changed = selection.set(i, range);
        // Whichever draws fewer lines: those that changed, or all that are selected now.
        if (chosen && changed.length <= selection.size) for (const row of changed) add(chosen, row, selection.selected[row] ? 1 : -1);
        else if (chosen) addSelected();
        later();
    };
    const settle = () => {
        trials.show(order.filter((row) => selection.selected[row]));
        tell();
        announce(`${plural(selection.size, "trial")} selected`);
        refreshFields();
    };

    // A brush: drag along an axis; a click on an axis removes its brush.
    let brush: { axis: number; from: number; moved: boolean } | null = null;
    const positionOf = (event: PointerEvent): [number, number] => {
        const bounds = canvas.getBoundingClientRect();
        return [event.clientX - bounds.left, event.clientY - bounds.top];
    };
    const axisAt = (left: number) => axes.findIndex((_, i) => Math.abs(x(i) - left) < 22);
    const atOf = (down: number) => Math.min(1, Math.max(0, 1 - (down - top) / (height - top - bottom)));
    canvas.addEventListener("pointerdown", (event) => {
        const [left, down] = positionOf(event);
        const i = axisAt(left);
        if (i < 0) return;
        brush = { axis: i, from: atOf(down), moved: false };
        tip.hidden = true;
        canvas.setPointerCapture(event.pointerId);
        event.preventDefault();
    });
    canvas.addEventListener("pointermove", (event) => {
        const [left, down] = positionOf(event);
        canvas.style.cursor = axisAt(left) >= 0 ? "row-resize" : "default";
        if (!brush) return hover(left, down);
        const to = atOf(down);
        if (Math.abs(to - brush.from) > 0.01) brush.moved = true;
        if (brush.moved) filter(brush.axis, { low: Math.min(brush.from, to), high: Math.max(brush.from, to) });
    });
    const end = () => {
        if (!brush) return;
        if (!brush.moved) filter(brush.axis, null);
        brush = null;
        settle();
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", () => (tip.hidden = true));

    /** The selected trial whose line passes nearest, between the two axes beside the pointer. */
    const lineAt = (left: number, down: number): number => {
        let i = 0;
        while (i < axes.length - 2 && x(i + 1) < left) i++;
        const [one, two] = [axes[i]!, axes[i + 1]];
        if (!two) return -1;
        const share = (left - x(i)) / (x(i + 1) - x(i));
        let found = -1;
        let least = 8;
        for (let row = 0; row < study.count; row++) {
            if (!selection.selected[row]) continue;
            const distance = Math.abs(y(one.at[row]! * (1 - share) + two.at[row]! * share) - down);
            if (distance < least) (least = distance), (found = row);
        }
        return found;
    };
    const hover = (left: number, down: number) => {
        const row = axisAt(left) >= 0 ? -1 : lineAt(left, down);
        tip.hidden = row < 0;
        if (row < 0) return;
        tip.textContent = trialText(study, row);
        const at = left - scroll.scrollLeft;
        [tip.style.left, tip.style.top] = [`${at}px`, `${down}px`];
        tip.classList.toggle("leftwards", at > scroll.clientWidth * 0.6);
    };
    canvas.addEventListener("click", (event) => {
        const bounds = canvas.getBoundingClientRect();
        const [left, down] = [event.clientX - bounds.left, event.clientY - bounds.top];
        const row = axisAt(left) >= 0 ? -1 : lineAt(left, down);
        if (row >= 0) focus.pick(row);
    });

    // The same filters for the keyboard: fields with values.
    const fields = axes.map((each, i) => fieldsOf(each, i));
    function fieldsOf(each: Axis, i: number): { element: HTMLElement; refresh(): void } {
        if (each.choices) {
            const select = h("select", {}, h("option", { value: "" }, "any"), ...each.choices.map((text, n) => h("option", { value: n }, text)));
            select.addEventListener("change", () => {
                const at = each.position(Number(select.value));
                filter(i, select.value === "" ? null : { low: at - 0.001, high: at + 0.001 });
                settle();
            });
            return {
                element: h("label", { class: "field" }, each.name, select),
                refresh: () => {
                    const range = selection.range(i);
                    const inside = each.choices!.map((_, n) => n).filter((n) => range && each.position(n) >= range.low && each.position(n) <= range.high);
                    select.value = inside.length === 1 ? String(inside[0]) : "";
                },
            };
        }
        const inputs = ["from", "to"].map((name) => h("input", { type: "number", step: "any", placeholder: name, "aria-label": `${each.name} ${name}` }));
        const apply = () => {
            const [from, to] = inputs.map((input) => (input.value === "" ? null : Number(input.value)));
            const flipped = each.value(0) > each.value(1);
            if (from == null && to == null) filter(i, null);
            else {
                const ends = [from == null ? Number(flipped) : each.position(from), to == null ? Number(!flipped) : each.position(to)];
                filter(i, { low: Math.min(...ends), high: Math.max(...ends) });
            }
            settle();
        };
        for (const input of inputs) input.addEventListener("change", apply);
        return {
            element: h("fieldset", { class: "field" }, h("legend", {}, each.name), ...inputs),
            refresh: () => {
                const range = selection.range(i);
                const values = range ? [each.value(range.low), each.value(range.high)].sort((a, b) => a - b) : [];
                inputs.forEach((input, n) => (input.value = values[n] === undefined ? "" : String(Number(values[n]!.toPrecision(5)))));
            },
        };
    }
    function refreshFields(): void {
        for (const field of fields) field.refresh();
    }
    clear.addEventListener("click", () => {
        for (const i of selection.filters) filter(i, null);
        settle();
    });

    whenSeen(scroll, () => {
        layout();
        const observer = new ResizeObserver(() => {
            if (scroll.clientWidth > 0 && Math.max(scroll.clientWidth, axes.length * 84) !== width) layout();
        });
        observer.observe(scroll);
        whenDiscarded(scroll, () => observer.disconnect());
        whenColoursChange(scroll, layout);
    });
    focus.onChange(() => {
        draw();
        trials.refresh();
    });
    tell();
    return section(
        "trials",
        "Configurations",
        h(
            "p",
            { class: "note" },
            `A line a trial. Drag along an axis to filter the lines and the table; click the axis to remove its filter. Filters of several axes apply together.${values.length > 0 ? ` The better end of ${study.metric} is at the top.` : ""}${
                study.parameters.length > most ? ` The ${most} parameters that matter most have an axis.` : ""
            }`,
        ),
        frame,
        h("div", { class: "filters" }, count, clear, h("details", { class: "by-value" }, h("summary", {}, "Filter by values"), h("div", { class: "fields" }, ...fields.map((field) => field.element)))),
        trials.element,
    );
}

function short12(text: string, length = 12): string {
    return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
function rangeText(each: Axis, range: Range): string {
    if (each.choices) {
        const inside = each.choices.filter((_, n) => each.position(n) >= range.low - 1e-6 && each.position(n) <= range.high + 1e-6);
        return inside.length === 1 ? short12(inside[0]!) : `${inside.length} choices`;
    }
    const values = [each.value(range.low), each.value(range.high)].sort((a, b) => a - b);
    const [low, high] = values.map((value) => short(Number(value.toPrecision(3))));
    return `${low} – ${high}`;
}
/** Text with a rim in the colour of the sheet, readable on lines. */
function label(context: CanvasRenderingContext2D, text: string, x: number, y: number): void {
    context.lineWidth = 3;
    context.strokeStyle = colour("sheet");
    context.strokeText(text, x, y);
    context.fillStyle = colour("ink");
    context.fillText(text, x, y);
}
