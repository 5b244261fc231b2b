// The objective against each parameter.
import { usefulRange } from "./axis.ts";
import { parameterColumn, valueColumn } from "./columns.ts";
import { crowded } from "./crowd.ts";
import { h, section } from "./dom.ts";
import type { Focus } from "./focus.ts";
import { scatter } from "./scatter.ts";
import type { Parameter, Study } from "./study.ts";

const most = 24; // pictures

export function slicesSection(study: Study, focus: Focus): HTMLElement | null {
    const ranked = study.ranked();
    if (ranked.length === 0 || study.parameters.length === 0) return null;
    const weight = new Map(study.document.importance.parameters.map((each, i) => [each.parameter, i]));
    const parameters = [...study.parameters].sort((a, b) => (weight.get(a.name) ?? 1e9) - (weight.get(b.name) ?? 1e9));
    const range = usefulRange(ranked.map((row) => study.columns.value[row]!));
    return section(
        "slices",
        "Slices",
        h("p", { class: "note" }, `${study.metric} against each parameter, those that matter most first. All other parameters vary too, so that a slope here may be another parameter's.${ranked.length > crowded ? " The stronger the shade, the more trials." : ""}`),
        h("div", { class: "grid" }, ...parameters.slice(0, most).map((parameter) => slice(study, focus, parameter, range))),
    );
}

function slice(study: Study, focus: Focus, parameter: Parameter, range: [number, number]): HTMLElement {
    const { values, choices, log, low, high, name, integer } = parameter;
    const { value } = study.columns;
    return scatter(study, focus, {
        title: `${study.metric} against ${name}`,
        x: choices ? { label: name, range: [0, choices.length - 1], names: choices } : { label: name, range: [low, high], log, whole: integer && !log },
        y: { label: study.metric, range },
        // Trials with the same choice lie beside each other.
        at: (row) => [choices ? values[row]! + 0.5 * (((row * 0.618034) % 1) - 0.5) : values[row]!, value[row]!],
        columns: [parameterColumn(parameter), valueColumn(study)],
    }).element;
}
