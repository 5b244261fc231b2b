// The answer: the best trial and how certain it is, what matters, what stopping saved, and what to do next.
import { drawnFrom } from "./basis.ts";
import { copyButton, copyable, h, section } from "./dom.ts";
import { exact, percent, plural, short } from "./format.ts";
import type { Study } from "./study.ts";
import { parameterText } from "./columns.ts";

const noiseOf = { repeats: "from seed to seed", standard_errors: "its standard error", steps: "from step to step, which is less than from seed to seed" };

export function answerSection(study: Study): HTMLElement {
    const { answer, importance, study: about } = study.document;
    const facts = h("dl", { class: "facts" });
    const fact = (name: string, ...content: (Node | string)[]) => facts.append(h("div", {}, h("dt", {}, name), h("dd", {}, ...content)));

    if (answer.front) fact("Pareto front", answer.front);
    if (study.best > 0 && about.best) {
        const configuration = answer.configuration;
        const { noise, tied } = importance;
        const deviation = configuration?.deviation ?? null;
        fact(
            answer.front ? `Best by ${study.metric}` : `Best ${study.metric}`,
            h("span", { class: "best" }, copyable(short(about.best.value), exact(about.best.value), study.metric)),
            deviation !== null ? ` ± ${short(deviation)} (standard deviation over seeds)` : noise ? ` ± ${short(noise.deviation)} (${noiseOf[noise.of]})` : "",
            h("div", {}, `trial ${about.best.trial}, ${answer.step} ${study.columns.best_step[study.best - 1]} of ${study.columns.steps[study.best - 1]}`),
        );
        if (tied.length > 0) fact("Ties", `${plural(tied.length, "trial")} cannot be told from it: ${tied.slice(0, 8).join(", ")}${tied.length > 8 ? ", …" : ""}`);
    } else {
        fact("Best", study.count === 0 ? "The study has no trials yet." : `No trial has a value of ${study.metric} that counts.`);
    }
    if (about.tags.length > 0) fact("Tags", about.tags.join(", "));
    if (about.notes.length > 0) fact("Notes", ...about.notes.map((note) => h("div", { class: "remark" }, h("time", { datetime: note.time }, note.time.slice(0, 10)), ` ${note.text}`)));
    if (answer.constraints) fact("Constraints", answer.constraints);

    const sure = importance.parameters.filter((each) => each.sure);
    if (importance.no_effects) fact("What matters", importance.no_effects);
    else if (importance.explained >= 0.2 && sure.length > 0)
        fact("What matters", sure.slice(0, 4).map((each) => `${each.parameter} ${percent(each.share)} ± ${percent(each.deviation)}`).join(", "), ` of the variance${importance.at_step ? ` at ${answer.step} ${importance.at_step}` : ""}`);
    else if (importance.parameters.length > 0)
        fact("What matters", importance.explained < 0.2 ? "Nothing that is certain: the trials do not predict each other." : "No share of a parameter is certain yet.");

    for (const bound of importance.bounds)
        fact("At a bound", `${bound.parameter}: ${bound.trials} of the best ${bound.of} lie at its ${bound.end === "high" ? "upper" : "lower"} end, ${String(bound.value)}`);
    const stopping = answer.stopping.trim();
    if (stopping) fact("Stopping", ...stopping.split("\n").map((line) => h("div", {}, line.trim())));
    const drawn = drawnFrom(importance.drawn_from);
    for (const { rule, agreement, cost } of importance.stopping) {
        const lines: string[] = [];
        if (agreement) lines.push(`${rule}: of two of the ${agreement.trials} trials trained to their end${drawn}, the one ahead at ${answer.step} ${agreement.step} ended ahead in ${percent(agreement.share)} (50 % is chance).`);
        if (cost)
            lines.push(
                cost.about > 0
                    ? `${rule} has cost about ${short(cost.about)} of ${study.metric}: trial ${cost.nearest} might have ended that much better than the best. An estimate, no bound.`
                    : `${rule}: of the ${plural(cost.trials, "trial")} that it stopped${drawn}, none is predicted to end better than the best, but some may have.`,
            );
        if (lines.length > 0) fact("Was it right to stop?", ...lines.map((line) => h("div", {}, line)));
    }
    if (answer.limit) fact("Machine", answer.limit);
    if (importance.next.length > 0) fact("Next", h("ul", {}, ...importance.next.map((line) => h("li", {}, line))));

    return section("answer", "The answer", facts, ...configurationOf(study));
}

function configurationOf(study: Study): (HTMLElement | null)[] {
    const { configuration } = study.document.answer;
    if (!configuration) return [];
    const row = configuration.trial - 1;
    const cells = study.parameters
        .filter((parameter) => !Number.isNaN(parameter.values[row]!))
        .map((parameter) => {
            const text = parameterText(parameter, row);
            const all = parameter.choices ? text : exact(parameter.values[row]!);
            return h("div", {}, h("dt", {}, parameter.name), h("dd", {}, copyable(text, all, parameter.name)));
        });
    return [
        h("h3", {}, `The configuration of trial ${configuration.trial}`),
        h("dl", { class: "configuration" }, ...cells),
        h(
            "details",
            {},
            h("summary", {}, "Ready to run"),
            h("div", { class: "code" }, copyButton(configuration.yaml, "best.yaml"), h("pre", { tabindex: 0 }, configuration.yaml)),
            configuration.environment ? h("p", { class: "note" }, "The environment that hpo set for its script:") : null,
            configuration.environment ? h("pre", { tabindex: 0 }, configuration.environment) : null,
        ),
    ];
}
