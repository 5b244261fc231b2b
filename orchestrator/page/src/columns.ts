// The columns of tables of trials.
import { duration, exact, short } from "./format.ts";
import type { Parameter, Study } from "./study.ts";
import type { Column } from "./table.ts";

export function trialColumn(): Column {
    return { title: "trial", text: (row) => String(row + 1), value: (row) => row, number: true };
}
export function stateColumn(study: Study): Column {
    return {
        title: "state",
        text: (row) => {
            const rule = study.rule.at(row);
            return study.state.at(row) + (rule ? ` by ${rule}` : "");
        },
    };
}
export function valueColumn(study: Study): Column {
    return numbers(study.metric, study.columns.value);
}
export function numbers(title: string, column: ArrayLike<number>, format: (value: number) => string = short): Column {
    return { title, text: (row) => format(column[row]!), value: (row) => column[row]!, exact: (row) => exact(column[row]!), number: true };
}
export function parameterColumn(parameter: Parameter): Column {
    const { name, values, choices } = parameter;
    if (!choices) return numbers(name, values);
    return { title: name, text: (row) => choices[values[row]!] ?? "–" };
}
export function parameterText(parameter: Parameter, row: number): string {
    return parameterColumn(parameter).text(row);
}
export function secondsColumn(study: Study): Column {
    return numbers("time", study.columns.seconds, duration);
}

/** The columns of tags and of notes, where any trial has some. */
export function remarkColumns(study: Study): Column[] {
    const all = Object.values(study.document.remarks);
    const columns: Column[] = [];
    if (all.some((each) => each.tags.length > 0)) columns.push({ title: "tags", text: (row) => study.remarks(row).tags.join(", ") });
    if (all.some((each) => each.notes.length > 0)) columns.push({ title: "notes", text: (row) => study.remarks(row).notes.map((note) => note.text).join("\n"), long: true });
    return columns;
}

/** What a pointer shows of a trial. */
export function trialText(study: Study, row: number): string {
    const value = study.columns.value[row]!;
    const step = study.columns.best_step[row]!;
    const lines = [`trial ${row + 1}, ${stateColumn(study).text(row)}`];
    if (Number.isFinite(value)) lines.push(`${study.metric} ${short(value)} at ${study.document.answer.step} ${step}`);
    const { tags } = study.remarks(row);
    if (tags.length > 0) lines.push(tags.join(", "));
    for (const parameter of study.parameters.slice(0, 8)) lines.push(`${parameter.name} ${parameterText(parameter, row)}`);
    return lines.join("\n");
}
