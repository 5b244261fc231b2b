// Trials that failed or diverged, with their reasons and the ends of their logs.
import { copyButton, h, section } from "./dom.ts";
import { plural } from "./format.ts";
import type { Failure, Study } from "./study.ts";

export function failuresSection(study: Study): HTMLElement | null {
    const { failures, study: about } = study.document;
    if (failures.length === 0) return null;
    const total = (about.states["failed"] ?? 0) + (about.states["diverged"] ?? 0);
    return section(
        "failures",
        "Failures",
        h("p", { class: "note" }, `${plural(about.states["failed"] ?? 0, "trial")} failed and ${about.states["diverged"] ?? 0} diverged.${total > failures.length ? ` The last ${failures.length} are listed.` : ""}`),
        ...failures.map((failure, i) => entry(failure, i < 3)),
    );
}

function entry({ trial, state, attempts, reason, log }: Failure, open: boolean): HTMLElement {
    const lines = reason.split("\n");
    return h(
        "details",
        { class: "failure", open: open && log !== "" },
        h("summary", {}, h("strong", {}, `Trial ${trial} ${state}`), attempts > 1 ? ` after ${attempts} attempts` : "", `: ${lines[0] ?? ""}`),
        lines.length > 1 ? h("pre", { tabindex: 0 }, lines.slice(1).join("\n")) : null,
        h("p", { class: "note" }, log ? "The end of its log:" : "It has no log."),
        log ? h("div", { class: "code" }, copyButton(log, `the end of the log of trial ${trial}`), h("pre", { tabindex: 0 }, log)) : null,
    );
}
