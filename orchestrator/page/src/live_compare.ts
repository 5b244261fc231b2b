// Several studies or trials side by side: curves over each other, and configurations with their differences marked.
import { rangeOf } from "./axis.ts";
import { bestSoFar } from "./best.ts";
import { chart } from "./chart.ts";
import { parameterText } from "./columns.ts";
import { choice, h, section } from "./dom.ts";
import { short } from "./format.ts";
import type { Server } from "./live_connection.ts";
import { apiPath, studyPath } from "./live_parts.ts";
import { type Document, Study } from "./study.ts";
import { type Name, colour } from "./theme.ts";

interface Line {
    label: string;
    x: number[];
    y: number[];
}
/** A trial that is compared. */
interface Side {
    label: string;
    study: Study;
    row: number;
}

const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [1, 2]];
const lineNames: Name[] = ["line-1", "line-2", "line-3", "line-4", "line-5", "line-6"];

function overlay(title: string, xLabel: string, yLabel: string, lines: Line[]): HTMLElement {
    const xs = lines.flatMap((line) => line.x);
    const ys = lines.flatMap((line) => line.y.filter(Number.isFinite));
    const range = rangeOf(ys);
    const style = (i: number) => ({ name: lineNames[i % lineNames.length]!, dash: dashes[i % dashes.length]! });
    const rows = lines.flatMap((line, i) => line.x.map((_, point) => [i, point] as const));
    const key = h(
        "ul",
        { class: "key" },
        ...lines.map((line, i) => {
            const { name, dash } = style(i);
            const sample = document.createElementNS("http://www.w3.org/2000/svg", "svg");
            const path = document.createElementNS("http://www.w3.org/2000/svg", "line");
            for (const [attribute, value] of Object.entries({ width: 40, height: 10, "aria-hidden": "true" })) sample.setAttribute(attribute, String(value));
            for (const [attribute, value] of Object.entries({ x1: 0, x2: 40, y1: 5, y2: 5, "stroke-width": 3, "stroke-dasharray": dash.join(" ") })) path.setAttribute(attribute, String(value));
            path.classList.add(name);
            sample.append(path);
            return h("li", {}, sample as unknown as Node, line.label);
        }),
    );
    const drawn = chart({
        title: `${title}: ${lines.map((line) => line.label).join(", ")}.`,
        height: 340,
        x: { label: xLabel, range: rangeOf(xs), whole: true },
        y: { label: yLabel, range },
        draw: (area) => {
            lines.forEach((line, i) => {
                const { context, ratio } = area;
                const { name, dash } = style(i);
                context.strokeStyle = colour(name);
                context.lineWidth = 2.2 * ratio;
                context.setLineDash(dash.map((each) => each * ratio));
                context.beginPath();
                let start = true;
                line.y.forEach((y, point) => {
                    if (!Number.isFinite(y)) return void (start = true);
                    if (start) context.moveTo(area.x(line.x[point]!), area.y(y));
                    else context.lineTo(area.x(line.x[point]!), area.y(y));
                    start = false;
                });
                context.stroke();
                context.setLineDash([]);
            });
        },
        rows: rows.length,
        columns: [
            { title: "of", text: (row) => lines[rows[row]![0]]!.label },
            { title: xLabel, text: (row) => String(lines[rows[row]![0]]!.x[rows[row]![1]]), value: (row) => lines[rows[row]![0]]!.x[rows[row]![1]]!, number: true },
            { title: yLabel, text: (row) => short(lines[rows[row]![0]]!.y[rows[row]![1]]!), value: (row) => lines[rows[row]![0]]!.y[rows[row]![1]]!, number: true },
        ],
    });
    const scale = (log: boolean) => drawn.update({ y: { label: yLabel, range, log } });
    return h(
        "div",
        {},
        h("h3", {}, title),
        range[0] > 0 && h("div", { class: "choices" }, choice("Scale", [["linear", "linear"], ["log", "logarithmic"]], "linear", (chosen) => scale(chosen === "log"))),
        key,
        drawn.element,
    );
}

function bestLine(label: string, study: Study): Line {
    const rows = Array.from({ length: study.count }, (_, row) => row).filter((row) => Number.isFinite(study.columns.value[row]));
    const best = bestSoFar(rows, study.columns.value, study.columns.counts, (a, b) => study.better(a, b));
    return { label, x: rows.map((row) => row + 1), y: Array.from(best) };
}

function curveLine({ label, study, row }: Side): Line {
    const { trial, end, step, value, count } = study.curves;
    for (let i = 0; i < count; i++)
        if (trial[i] === row + 1) {
            const from = i === 0 ? 0 : end[i - 1]!;
            return { label, x: Array.from(step).slice(from, end[i]), y: Array.from(value).slice(from, end[i]) };
        }
    return { label, x: [], y: [] };
}

/** Returns the rows of the table: a name, and a text for each side, which is empty where it has none. */
export function configurationRows(sides: Side[]): { name: string; texts: string[]; differs: boolean }[] {
    const names = [...new Set(sides.flatMap(({ study }) => study.parameters.map((parameter) => parameter.name)))];
    return names.map((name) => {
        const texts = sides.map(({ study, row }) => {
            const parameter = study.parameters.find((each) => each.name === name);
            return !parameter || Number.isNaN(parameter.values[row]!) ? "–" : parameterText(parameter, row);
        });
        return { name, texts, differs: texts.some((text) => text !== texts[0]) };
    });
}

function sideBySide(sides: Side[]): HTMLElement {
    const cells = (texts: string[]) => texts.map((text) => h("td", {}, text));
    const about = (name: string, text: (side: Side) => string) => h("tr", {}, h("th", { scope: "row" }, name), ...cells(sides.map(text)));
    const rows = configurationRows(sides);
    const same = rows.filter((row) => !row.differs).length;
    return section(
        "configurations",
        "Configurations",
        h(
            "div",
            { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table" },
            h(
                "table",
                { class: "sides" },
                h("thead", {}, h("tr", {}, h("td"), ...sides.map((side) => h("th", { scope: "col" }, side.label)))),
                h(
                    "tbody",
                    {},
                    about("value", ({ study, row }) => `${study.metric} ${short(study.columns.value[row]!)}`),
                    about("state", ({ study, row }) => study.state.at(row)),
                    about("steps", ({ study, row }) => short(study.columns.steps[row]!)),
                    ...rows.map(({ name, texts, differs }) =>
                        h("tr", { class: differs ? "differs" : "" }, h("th", { scope: "row" }, differs ? `≠ ${name}` : name), ...cells(texts)),
                    ),
                ),
            ),
        ),
        h("p", { class: "note" }, `≠ marks the parameters that differ${same > 0 ? `; ${same} ${same === 1 ? "is" : "are"} the same` : ""}.`),
    );
}

export async function comparePage(server: Server, wanted: string[]): Promise<HTMLElement[]> {
    document.title = "hpo – comparison";
    const names = [...new Set(wanted.map((each) => each.replace(/\/\d+$/, "")))];
    const studies = new Map(await Promise.all(names.map(async (name) => [name, new Study(await server.get<Document>(`${apiPath(name)}/page`))] as const)));
    const sides: Side[] = wanted.flatMap((each) => {
        const name = each.replace(/\/\d+$/, "");
        const study = studies.get(name)!;
        const row = name === each ? study.best - 1 : Number(each.slice(name.length + 1)) - 1;
        return row >= 0 && row < study.count ? [{ label: `${name}/${row + 1}`, study, row }] : [];
    });
    const without = names.filter((name) => !sides.some((side) => side.label.startsWith(`${name}/`)));
    const metrics = [...new Set([...studies.values()].map((study) => study.metric))];
    const curves = metrics.flatMap((metric) => {
        const own = sides.filter(({ study }) => study.metric === metric);
        const of = [...studies].filter(([, study]) => study.metric === metric && study.best > 0);
        return [
            of.length > 1 ? overlay(`Best ${metric} so far`, "trial", metric, of.map(([name, study]) => bestLine(name, study))) : null,
            own.length > 0 ? overlay(`${metric} at each step`, own[0]!.study.document.answer.step, metric, own.map(curveLine)) : null,
        ];
    });
    return [
        h(
            "header",
            {},
            h("h1", {}, "Comparison"),
            h("p", {}, wanted.length > 0 ? `Of ${names.join(", ")}${metrics.length > 1 ? "; their metrics differ, so each has its own charts" : ""}.` : "Nothing is compared: the address names studies or trials, /compare?with=a&with=b/7."),
            h("nav", { "aria-label": "Studies" }, h("a", { href: "/" }, "All studies"), ...names.map((name) => h("a", { href: studyPath(name) }, name))),
        ),
        h(
            "main",
            {},
            without.length > 0 ? h("section", {}, h("p", {}, `Without a trial that counts: ${without.join(", ")}.`)) : null,
            sides.length > 0 ? section("curves", "Curves", ...curves) : null,
            sides.length > 0 ? sideBySide(sides) : null,
        ),
        h("footer", {}, `hpo ${server.session.version}`),
    ];
}
