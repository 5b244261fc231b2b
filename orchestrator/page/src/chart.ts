// Charts with axes by uPlot, with our own drawing of points and lines inside, and a table behind each.
import uPlot from "uplot";
import { logMarks } from "./axis.ts";
import { h, whenDiscarded, whenSeen } from "./dom.ts";
import { compact } from "./format.ts";
import { type Column, table } from "./table.ts";
import { colour, whenColoursChange } from "./theme.ts";

export interface Area {
    u: uPlot;
    context: CanvasRenderingContext2D;
    /** The inner rectangle in pixels of the canvas. */
    left: number;
    top: number;
    width: number;
    height: number;
    /** Pixels of the canvas per CSS pixel. */
    ratio: number;
    x(value: number): number;
    y(value: number): number;
}

export interface Scale {
    label: string;
    range: [number, number];
    log?: boolean;
    /** Positions from 0 with these names, in place of numbers. */
    names?: string[];
    /** Seconds since the epoch. */
    time?: boolean;
    format?: (value: number) => string;
    /** Only whole numbers have marks. */
    whole?: boolean;
}

export interface ChartOptions {
    /** Describes the picture to people who do not see it. */
    title: string;
    height?: number;
    x: Scale;
    y: Scale;
    draw(area: Area): void;
    /** The text beside the pointer, and where it belongs; null: nothing is near. */
    near?(area: Area, x: number, y: number): { x: number; y: number; text: string; row?: number } | null;
    pick?(row: number): void;
    rows: number;
    columns: Column[];
    zoom?: boolean;
}

/** Marks of an axis that uPlot does not place well: names, and numbers on a logarithmic scale. */
function splits({ names, log }: Scale): uPlot.Axis["splits"] | undefined {
    if (names) return () => names.map((_, i) => i);
    return log ? (u, axis, low, high) => logMarks(low, high, (u.axes[axis]!.side === 3 ? u.height : u.width) / 70) : undefined;
}

function axis(scale: Scale, side: 2 | 3, width: number): uPlot.Axis {
    const small = width < 480;
    const vertical = side === 3;
    const own: uPlot.Axis = {
        side,
        stroke: () => colour("soft"),
        grid: { stroke: () => colour("line"), width: 1 },
        ticks: { stroke: () => colour("line"), width: 1, size: 4 },
        font: "12px system-ui, sans-serif",
        labelFont: "12px system-ui, sans-serif",
        label: scale.label,
        labelSize: 18,
        labelGap: vertical ? 2 : 0,
        size: vertical ? (scale.names ? 84 : small ? 48 : 56) : 34,
        space: vertical ? 30 : small ? 54 : 70,
    };
    const given = splits(scale);
    if (given) own.splits = given;
    if (scale.log) own.filter = (_, marks) => marks;
    if (scale.whole) own.incrs = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7];
    if (!scale.time)
        own.values = (_, marks) =>
            marks.map((mark) => (mark === null ? null : scale.names ? cut(scale.names[mark] ?? "") : (scale.format ?? compact)(mark)));
    return own;
}

function cut(text: string): string {
    return text.length > 12 ? `${text.slice(0, 11)}…` : text;
}

export interface Chart {
    element: HTMLElement;
    redraw(): void;
    /** Changes scales, and draws again. */
    update(options: Partial<ChartOptions>): void;
}

export function chart(given: ChartOptions): Chart {
    let options = given;
    let u: uPlot | null = null;
    const box = h("div", { class: "plot", role: "img", "aria-label": options.title, tabindex: 0 });
    const tip = h("div", { class: "tip" });
    tip.hidden = true;
    const behind = h("details", { class: "behind" }, h("summary", {}, "Show as a table"));
    behind.addEventListener("toggle", () => {
        if (behind.open && behind.childElementCount === 1) behind.append(table({ rows: rowsOf(options.rows), columns: options.columns, pick: options.pick }).element);
    });
    const element = h("div", { class: "chart" }, box, behind);
    box.style.height = `${options.height ?? 300}px`;

    const area = (): Area => {
        const plot = u!;
        const { left, top, width, height } = plot.bbox;
        return { u: plot, context: plot.ctx, left, top, width, height, ratio: devicePixelRatio, x: (value) => plot.valToPos(value, "x", true), y: (value) => plot.valToPos(value, "y", true) };
    };
    const scaleOf = (scale: Scale): uPlot.Scale => {
        const own: uPlot.Scale = { time: scale.time ?? false, range: (_, low, high) => (low === null || low === high ? padded(scale) : [low, high]) };
        if (scale.log) (own.distr = 3), (own.log = 10);
        return own;
    };
    const build = () => {
        u?.destroy();
        box.replaceChildren();
        const width = box.clientWidth;
        u = new uPlot(
            {
                width,
                height: options.height ?? 300,
                legend: { show: false },
                cursor: { drag: { x: options.zoom !== false, y: options.zoom !== false, uni: 20 }, points: { show: false }, x: false, y: false },
                scales: { x: scaleOf(options.x), y: scaleOf(options.y) },
                axes: [axis(options.x, 2, width), axis(options.y, 3, width)],
                series: [{}, { show: true, paths: () => null, points: { show: false } }],
                hooks: {
                    draw: [
                        () => {
                            const here = area();
                            const { context } = here;
                            context.save();
                            context.beginPath();
                            context.rect(here.left, here.top, here.width, here.height);
                            context.clip();
                            options.draw(here);
                            context.restore();
                        },
                    ],
                },
            },
            [[...padded(options.x)], [...padded(options.y)]],
            box,
        );
        u.setScale("x", { min: padded(options.x)[0], max: padded(options.x)[1] });
        u.setScale("y", { min: padded(options.y)[0], max: padded(options.y)[1] });
        u.over.append(tip);
        u.over.addEventListener("mousemove", (event) => point(event));
        u.over.addEventListener("mouseleave", () => (tip.hidden = true));
        u.over.addEventListener("click", (event) => {
            const found = point(event);
            if (found?.row !== undefined) options.pick?.(found.row);
        });
        u.over.addEventListener("dblclick", () => rescale());
    };
    const rescale = () => {
        u?.batch(() => {
            u!.setScale("x", { min: padded(options.x)[0], max: padded(options.x)[1] });
            u!.setScale("y", { min: padded(options.y)[0], max: padded(options.y)[1] });
        });
    };
    const point = (event: MouseEvent) => {
        if (!options.near || !u) return null;
        const here = area();
        const bounds = u.over.getBoundingClientRect();
        const found = options.near(here, here.left + (event.clientX - bounds.left) * here.ratio, here.top + (event.clientY - bounds.top) * here.ratio);
        tip.hidden = !found;
        if (found) {
            tip.textContent = found.text;
            const left = (found.x - here.left) / here.ratio;
            tip.style.left = `${left}px`;
            tip.style.top = `${(found.y - here.top) / here.ratio}px`;
            tip.classList.toggle("leftwards", left > u.over.clientWidth * 0.6);
        }
        return found;
    };
    whenSeen(box, () => {
        build();
        let width = box.clientWidth;
        const observer = new ResizeObserver(() => {
            if (box.clientWidth === width || box.clientWidth === 0) return;
            width = box.clientWidth;
            build();
        });
        observer.observe(box);
        whenColoursChange(box, build);
        whenDiscarded(box, () => {
            observer.disconnect();
            u?.destroy();
        });
    });
    return {
        element,
        redraw: () => u?.redraw(false),
        update: (changed) => {
            options = { ...options, ...changed };
            behind.replaceChildren(behind.firstElementChild!);
            behind.open = false;
            box.setAttribute("aria-label", options.title);
            if (u) build();
        },
    };
}

/** The range with a margin, so that no mark is cut. */
function padded(scale: Scale): [number, number] {
    const [low, high] = scale.range;
    if (scale.names) return [-0.6, Math.max(0, scale.names.length - 1) + 0.6];
    if (scale.log && low > 0) {
        const factor = high > low ? (high / low) ** 0.05 : 2;
        return [low / factor, high * factor];
    }
    const margin = high > low ? 0.05 * (high - low) : Math.abs(low) * 0.05 || 1;
    return [low - margin, high + margin];
}

export function rowsOf(count: number): number[] {
    return Array.from({ length: count }, (_, row) => row);
}

/** The row whose position is nearest to the pointer, at most 24 pixels away; -1 if there is none. */
export function nearest(area: Area, x: number, y: number, count: number, at: (i: number) => [number, number]): number {
    let found = -1;
    let least = (24 * area.ratio) ** 2;
    for (let i = 0; i < count; i++) {
        const [left, top] = at(i);
        const distance = (left - x) ** 2 + (top - y) ** 2;
        if (distance < least) (least = distance), (found = i);
    }
    return found;
}

export type Mark = "dot" | "ring" | "cross" | "square";

/** Draws a mark of a trial: its shape tells the state. */
export function mark({ context, ratio }: Area, shape: Mark, x: number, y: number, size: number): void {
    const r = size * ratio;
    if (shape === "square") context.fillRect(x - r, y - r, 2 * r, 2 * r);
    else if (shape === "cross") {
        context.beginPath();
        context.moveTo(x - r, y - r);
        context.lineTo(x + r, y + r);
        context.moveTo(x - r, y + r);
        context.lineTo(x + r, y - r);
        context.stroke();
    } else {
        context.beginPath();
        context.arc(x, y, r, 0, 2 * Math.PI);
        if (shape === "dot") context.fill();
        else context.stroke();
    }
}

export function markOf(state: string): Mark {
    return state === "complete" ? "dot" : state === "diverged" || state === "failed" ? "cross" : "ring";
}
