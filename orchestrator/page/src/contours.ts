// The objective over two parameters.
import { axis, rangeOf, usefulRange } from "./axis.ts";
import { parameterColumn, valueColumn } from "./columns.ts";
import { h, section } from "./dom.ts";
import type { Focus } from "./focus.ts";
import { short } from "./format.ts";
import type { Area, Scale } from "./chart.ts";
import { scatter } from "./scatter.ts";
import type { Parameter, Study } from "./study.ts";
import { type Side, surface } from "./surface.ts";
import { colour } from "./theme.ts";

const fewest = 8; // trials with a value
const cells = 48; // along a range
const bands = 8;

export function contoursSection(study: Study, focus: Focus): HTMLElement | null {
    const ranked = study.ranked();
    const parameters = study.parameters.filter((each) => new Set(ranked.map((row) => each.values[row])).size > 1);
    if (ranked.length < fewest || parameters.length < 2) return null;
    const [first, second] = pairThatMatters(study, parameters);
    const [, worst] = ends(usefulRange(ranked.map((row) => study.columns.value[row]!)), study.minimize);
    const last = study.columns.value[ranked[ranked.length - 1]!]!;
    const limited = Float64Array.from(study.columns.value, (value) => (study.minimize ? Math.min(value, worst) : Math.max(value, worst)));

    const shown = (across: Parameter, up: Parameter) => {
        const cellsOf = surface(sideOf(across), sideOf(up), limited, ranked);
        const [low, high] = ends(rangeOf(cellsOf), study.minimize);
        return {
            title: `${study.metric} over ${across.name} and ${up.name}`,
            x: scaleOf(across),
            y: scaleOf(up),
            at: (row: number): [number, number] => [placed(across, row), placed(up, row)],
            columns: [parameterColumn(across), parameterColumn(up), valueColumn(study)],
            under: (area: Area) => paint(area, across, up, cellsOf, low, high),
            legend: `The stronger the colour, the better: from ${short(high)} to ${short(low)}.`,
        };
    };
    let [across, up] = [first, second];
    const legend = h("p", { class: "note" });
    const initial = shown(across, up);
    const drawn = scatter(study, focus, { ...initial, height: 420 });
    legend.textContent = initial.legend;
    const select = (label: string, chosen: Parameter, choose: (parameter: Parameter) => void) => {
        const element = h("select", {}, ...parameters.map((each) => h("option", { value: each.name, selected: each === chosen }, each.name)));
        element.addEventListener("change", () => {
            choose(parameters[element.selectedIndex]!);
            const next = shown(across, up);
            legend.textContent = next.legend;
            drawn.update(next);
        });
        return h("label", { class: "field" }, label, element);
    };
    return section(
        "contours",
        "Contours",
        h("p", { class: "note" }, `${study.metric} over two parameters: each area has the mean of the trials nearby, and none where there is no trial. All other parameters vary too.${last !== worst ? ` Values worse than ${short(worst)} count as ${short(worst)}.` : ""}`),
        h("div", { class: "fields" }, select("across", first, (parameter) => (across = parameter)), select("up", second, (parameter) => (up = parameter))),
        drawn.element,
        legend,
    );
}

/** The pair with the largest share, or the two parameters with the largest ones. */
function pairThatMatters(study: Study, parameters: Parameter[]): [Parameter, Parameter] {
    const { pairs, parameters: effects } = study.document.importance;
    const named = (name: string) => parameters.find((each) => each.name === name);
    const names = [...(pairs[0]?.parameters ?? []), ...effects.map((each) => each.parameter), ...parameters.map((each) => each.name)];
    const [first, second] = [...new Set(names)].map(named).filter((each) => each !== undefined);
    return [first!, second!];
}

/** The better end of a range, then the worse one. */
function ends([low, high]: [number, number], minimize: boolean): [number, number] {
    return minimize ? [low, high] : [high, low];
}

function sideOf(parameter: Parameter): Side {
    const { choices, values } = parameter;
    if (choices) return { at: Float64Array.from(values, (index) => (index + 0.5) / choices.length), cells: choices.length, ordered: false };
    return { at: axis(parameter).at, cells, ordered: true };
}

function scaleOf(parameter: Parameter): Scale {
    const { name, choices, low, high, log, integer } = parameter;
    return choices ? { label: name, range: [0, choices.length - 1], names: choices } : { label: name, range: [low, high], log, whole: integer && !log };
}

/** Where a trial has its mark: those with the same choice lie beside each other. */
function placed(parameter: Parameter, row: number): number {
    return parameter.choices ? parameter.values[row]! + 0.5 * (((row * 0.618034) % 1) - 0.5) : parameter.values[row]!;
}

/** The value at the lower end of a cell; that of the last cell plus one is the upper end of the range. */
function edge(parameter: Parameter, cell: number): number {
    return parameter.choices ? cell - 0.5 : axis(parameter).value(cell / cells);
}

function paint(area: Area, across: Parameter, up: Parameter, values: Float64Array, best: number, worst: number): void {
    const { context } = area;
    const edges = (parameter: Parameter, place: (value: number) => number) => Array.from({ length: (parameter.choices?.length ?? cells) + 1 }, (_, cell) => Math.round(place(edge(parameter, cell))));
    const lefts = edges(across, area.x);
    const bottoms = edges(up, area.y);
    context.fillStyle = colour("accent");
    for (let j = 0; j + 1 < bottoms.length; j++)
        for (let i = 0; i + 1 < lefts.length; i++) {
            const value = values[j * (lefts.length - 1) + i]!;
            if (Number.isNaN(value)) continue;
            const share = best === worst ? 1 : (value - worst) / (best - worst);
            const band = Math.min(bands - 1, Math.floor(share * bands));
            context.globalAlpha = 0.06 + (0.54 * band) / (bands - 1);
            context.fillRect(lefts[i]!, bottoms[j + 1]!, lefts[i + 1]! - lefts[i]!, bottoms[j]! - bottoms[j + 1]!);
        }
    context.globalAlpha = 1;
}
