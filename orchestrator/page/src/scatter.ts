// A chart with a mark a trial.
import { type Area, chart, mark, markOf, nearest, type Scale } from "./chart.ts";
import { stateColumn, trialColumn, trialText } from "./columns.ts";
import { Crowd, crowded } from "./crowd.ts";
import type { Focus } from "./focus.ts";
import type { Study } from "./study.ts";
import type { Column } from "./table.ts";
import { colour } from "./theme.ts";

export interface ScatterOptions {
    title: string;
    x: Scale;
    y: Scale;
    /** Positions of a row; NaN: it has no mark. */
    at(row: number): [number, number];
    columns: Column[];
    height?: number;
    /** Draws below the marks. */
    under?(area: Area): void;
    /** Rows that are marked strongly and joined by a line, in this order. */
    strong?: number[];
}

export interface Scatter {
    element: HTMLElement;
    /** Changes what is shown, and draws again. */
    update(changed: Partial<ScatterOptions>): void;
}

/** The rows that have a mark. */
function marked(study: Study, { x, y, at }: ScatterOptions): number[] {
    return Array.from({ length: study.count }, (_, row) => row).filter((row) => {
        const [across, up] = at(row);
        return Number.isFinite(across) && Number.isFinite(up) && !(x.log && across <= 0) && !(y.log && up <= 0);
    });
}

export function scatter(study: Study, focus: Focus, given: ScatterOptions): Scatter {
    let options = given;
    let rows = marked(study, options);
    let crowd = new Crowd();
    const columns = () => [trialColumn(), stateColumn(study), ...options.columns];
    const drawn = chart({
        title: options.title,
        height: options.height ?? 260,
        x: options.x,
        y: options.y,
        draw: (area) => {
            const { context, ratio } = area;
            options.under?.(area);
            const place = (row: number): [number, number] => {
                const [x, y] = options.at(row);
                return [area.x(x), area.y(y)];
            };
            context.lineWidth = 1.2 * ratio;
            context.globalAlpha = 0.9;
            if (rows.length > crowded) crowd.draw(area, rows, place);
            else
                for (const row of rows) {
                    const shape = markOf(study.state.at(row));
                    context.fillStyle = context.strokeStyle = colour(shape === "cross" ? "bad" : "mild");
                    mark(area, shape, ...place(row), 3);
                }
            context.globalAlpha = 1;
            const strong = options.strong ?? [];
            context.strokeStyle = context.fillStyle = colour("accent");
            context.lineWidth = 2 * ratio;
            context.beginPath();
            strong.forEach((row) => context.lineTo(...place(row)));
            context.stroke();
            for (const row of strong) mark(area, "square", ...place(row), 4);
            for (const row of focus.rows()) {
                context.strokeStyle = colour(row + 1 === study.best ? "best" : "ink");
                mark(area, "ring", ...place(row), 6);
            }
        },
        near: (area, x, y) => {
            const i = nearest(area, x, y, rows.length, (n) => {
                const [left, down] = options.at(rows[n]!);
                return [area.x(left), area.y(down)];
            });
            if (i < 0) return null;
            const [left, down] = options.at(rows[i]!);
            return { x: area.x(left), y: area.y(down), text: trialText(study, rows[i]!), row: rows[i]! };
        },
        pick: focus.pick,
        rows: study.count,
        columns: columns(),
    });
    focus.onChange(drawn.redraw);
    return {
        element: drawn.element,
        update: (changed) => {
            options = { ...options, ...changed };
            rows = marked(study, options);
            crowd = new Crowd();
            drawn.update({ title: options.title, x: options.x, y: options.y, columns: columns() });
        },
    };
}
