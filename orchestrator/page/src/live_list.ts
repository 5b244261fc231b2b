// The list of all studies.
import { h } from "./dom.ts";
import { short } from "./format.ts";
import { follow, type Server } from "./live_connection.ts";
import { apiPath, liveMark, stopButton, studyPath } from "./live_parts.ts";
import type { Document } from "./study.ts";

type About = Document["study"] & { state: string; begun: number; ended: number };
type Listed = About | { study: string; error: string };

export async function listPage(server: Server): Promise<HTMLElement[]> {
    document.title = "hpo – studies";
    const mark = liveMark();
    const body = h("tbody");
    const chosen = new Set<string>();
    const stops = new Map<string, HTMLButtonElement>();
    const compare = h("button", { type: "button", disabled: true }, "Compare");
    const count = () => {
        compare.disabled = chosen.size < 2;
        compare.textContent = chosen.size < 2 ? "Compare: choose two or more" : `Compare ${chosen.size} studies`;
    };
    compare.addEventListener("click", () => (location.href = `/compare?${[...chosen].map((name) => `with=${encodeURIComponent(name)}`).join("&")}`));
    const empty = h("p", { class: "note" }, "There is no study yet: hpo run FILE.yaml starts one, and it appears here.");

    const row = (listed: Listed): HTMLElement => {
        const name = listed.study;
        if ("error" in listed) return h("tr", {}, h("td", {}), h("th", { scope: "row" }, name), h("td", { class: "long", colspan: 6 }, `cannot be read: ${listed.error}`));
        const box = h("input", { type: "checkbox", "aria-label": `Compare ${name}` });
        box.checked = chosen.has(name);
        box.addEventListener("change", () => {
            if (box.checked) chosen.add(name);
            else chosen.delete(name);
            count();
        });
        const { state } = listed;
        let stop: HTMLButtonElement | null = null;
        if (server.session.control && listed.running) {
            stop = stops.get(name) ?? stopButton(server, `${apiPath(name)}/stop`, name);
            stops.set(name, stop);
        } else stops.delete(name);
        return h(
            "tr",
            {},
            h("td", { class: "box" }, box),
            h("th", { scope: "row" }, h("a", { href: studyPath(name) }, name)),
            h("td", {}, h("span", { class: "state", "data-state": state }, state)),
            h("td", { class: "number" }, listed.budget.trials === null ? String(listed.ended) : `${listed.ended}/${listed.budget.trials}`),
            h("td", { class: "number" }, listed.best ? short(listed.best.value) : "–"),
            h("td", {}, (listed.objectives ?? [listed]).map((goal) => goal.metric).join(", ")),
            h("td", {}, listed.best ? (listed.front ? `front of ${listed.front.length}` : `trial ${listed.best.trial}`) : "–"),
            h("td", {}, listed.tags.join(", ")),
            server.session.control ? h("td", {}, stop) : null,
        );
    };
    const load = async () => {
        const { studies } = await server.get<{ studies: Listed[] }>("/api/studies");
        const focused = document.activeElement instanceof HTMLElement && body.contains(document.activeElement) ? document.activeElement.closest("tr") : null;
        const [line, cell] = [focused ? [...body.children].indexOf(focused) : -1, focused ? [...focused.querySelectorAll("a, input, button")].indexOf(document.activeElement!) : -1];
        body.replaceChildren(...studies.map(row));
        if (line >= 0) body.children[line]?.querySelectorAll<HTMLElement>("a, input, button")[cell]?.focus();
        empty.hidden = studies.length > 0;
        for (const name of chosen) if (!studies.some((each) => each.study === name)) chosen.delete(name);
        count();
    };
    await load();
    mark.tell("live");
    follow("/api/events", load, mark.tell);
    const head = (title: string, kind = "") => h("th", { scope: "col", class: kind }, title);
    return [
        h("header", {}, h("h1", {}, "Studies"), h("p", {}, mark.element)),
        h(
            "main",
            {},
            h(
                "section",
                { "aria-label": "Studies" },
                empty,
                h(
                    "div",
                    { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table" },
                    h(
                        "table",
                        { class: "studies" },
                        h("thead", {}, h("tr", {}, h("td"), head("study"), head("state"), head("ended", "number"), head("best", "number"), head("metric"), head("by"), head("tags"), server.session.control ? h("td") : null)),
                        body,
                    ),
                ),
                h("p", {}, compare),
            ),
        ),
        h("footer", {}, `hpo ${server.session.version}`),
    ];
}
