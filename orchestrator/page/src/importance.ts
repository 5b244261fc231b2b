// Which parameters matter: their shares of the variance with their spread. The picture is itself a table.
import { basis } from "./basis.ts";
import { h, section } from "./dom.ts";
import { percent } from "./format.ts";
import type { Share, Study } from "./study.ts";

export function importanceSection(study: Study): HTMLElement | null {
    const { importance } = study.document;
    if (importance.parameters.length === 0) {
        return importance.no_effects && study.count > 0 ? section("importance", "Importance", h("p", {}, importance.no_effects)) : null;
    }
    const most = Math.max(0.05, ...importance.parameters.flatMap(({ share, deviation, best }) => [share + deviation, best ? best.share + best.deviation : 0]));
    const among = importance.parameters.some((each) => each.best);
    const row = (name: string, all: Share, best: Share | null) =>
        h("tr", {}, h("th", { scope: "row" }, name), cell(all, most, "all"), among ? (best ? cell(best, most, "few") : h("td", {}, "–")) : null);
    return section(
        "importance",
        "Importance",
        h(
            "p",
            { class: "note" },
            `Share of the variance of ${study.metric}${importance.at_step ? ` at ${study.document.answer.step} ${importance.at_step}` : ""} over the whole space that a parameter explains alone. The whisker is one standard deviation to either side. ${basis(importance)}. Held-back trials are predicted to ${percent(Math.max(0, importance.explained))} of their variance${
                importance.explained < 0.2 ? ", which is too little to rely on these shares" : ""
            }.`,
        ),
        h(
            "div",
            { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table" },
            h(
                "table",
                { class: "bars" },
                h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "parameter"), h("th", { scope: "col" }, "of all trials"), among && h("th", { scope: "col" }, `among the best ${importance.best_trials}`))),
                h(
                    "tbody",
                    {},
                    ...importance.parameters.map((each) => row(each.parameter, each, each.best)),
                    ...importance.pairs.map((pair) => row(pair.parameters.join(" × "), pair, null)),
                ),
            ),
        ),
    );
}

function cell({ share, deviation, sure }: Share, most: number, kind: "all" | "few"): HTMLElement {
    const fill = h("span", { class: `fill ${kind}` });
    fill.style.width = `${(100 * share) / most}%`;
    const whisker = h("span", { class: "whisker" });
    whisker.style.left = `${(100 * Math.max(0, share - deviation)) / most}%`;
    whisker.style.right = `${Math.max(0, 100 - (100 * (share + deviation)) / most)}%`;
    return h("td", {}, h("span", { class: "bar", "aria-hidden": "true" }, fill, whisker), h("span", { class: "share" }, `${percent(share)} ± ${percent(deviation)}${sure ? "" : ", not sure"}`));
}
