// The Pareto front of a study with several objectives: the first against each other one.
import { usefulRange } from "./axis.ts";
import { numbers, parameterColumn } from "./columns.ts";
import { h, section } from "./dom.ts";
import { short } from "./format.ts";
import type { Focus } from "./focus.ts";
import { scatter } from "./scatter.ts";
import type { Goal, Numbers, Study } from "./study.ts";
import { table } from "./table.ts";

export function frontSection(study: Study, focus: Focus): HTMLElement | null {
    const { objectives, front } = study.document.study;
    if (!objectives || !front || objectives.length < 2) return null;
    const first = objectives[0]!;
    const valuesOf = (goal: Goal): Numbers => study.metrics.get(goal.metric) ?? new Float64Array(study.count).fill(NaN);
    const rangeOfGoal = (goal: Goal): [number, number] => {
        const sign = goal.direction === "minimize" ? 1 : -1;
        return usefulRange(Array.from(valuesOf(goal)).filter(Number.isFinite).sort((a, b) => sign * (a - b)));
    };
    const rows = front.map((each) => each.trial - 1);
    const word = (goal: Goal) => `${goal.metric} (${goal.direction === "minimize" ? "less" : "more"} is better)`;
    return section(
        "front",
        "Pareto front",
        h("p", { class: "note" }, study.document.answer.front ?? "", ". Squares: the front."),
        h(
            "div",
            { class: "grid" },
            ...objectives.slice(1).map((goal) => {
                const [x, y] = [valuesOf(first), valuesOf(goal)];
                return scatter(study, focus, {
                    title: `${goal.metric} against ${first.metric}; the front has ${front.length} trials`,
                    x: { label: word(first), range: rangeOfGoal(first) },
                    y: { label: word(goal), range: rangeOfGoal(goal) },
                    at: (row) => [x[row]!, y[row]!],
                    columns: objectives.map((each) => numbers(each.metric, valuesOf(each))),
                    // With more than two objectives the front is no line in this picture.
                    strong: [...rows].sort((a, b) => x[a]! - x[b]!),
                    height: 320,
                }).element;
            }),
        ),
        h("h3", {}, "Trials of the front"),
        table({
            rows: front.map((_, i) => i),
            columns: [
                { title: "trial", text: (i) => String(front[i]!.trial), value: (i) => front[i]!.trial, number: true },
                ...objectives.map((goal) => ({ title: goal.metric, text: (i: number) => short(front[i]!.values[goal.metric]!), value: (i: number) => front[i]!.values[goal.metric]!, number: true })),
                ...study.parameters.map((parameter) => {
                    const column = parameterColumn(parameter);
                    return { ...column, text: (i: number) => column.text(rows[i]!), ...(column.value && { value: (i: number) => column.value!(rows[i]!) }), exact: (i: number) => (column.exact ?? column.text)(rows[i]!) };
                }),
            ],
            pick: (i) => focus.pick(rows[i]!),
        }).element,
    );
}
