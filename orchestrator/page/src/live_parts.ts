// What the pages of hpo serve have in common.
import { h } from "./dom.ts";
import type { Server, State } from "./live_connection.ts";

/** A mark that tells whether the page shows the present, with `tell` to change it. */
export function liveMark(): { element: HTMLElement; tell: (state: State) => void } {
    const element = h("span", { class: "live", role: "status" });
    const texts: Record<State, string> = {
        live: "live",
        waiting: "no connection; trying again",
        gone: "the study is no longer there; this is what was last seen",
    };
    return {
        element,
        tell: (state) => {
            if (element.dataset["state"] === state) return;
            element.dataset["state"] = state;
            element.textContent = texts[state];
        },
    };
}

/** A button that asks for a stop, after a second click. */
export function stopButton(server: Server, path: string, what: string): HTMLButtonElement {
    const label = `Stop ${what}`;
    const button = h("button", { type: "button", class: "stop" }, label);
    const rest = () => {
        button.classList.remove("sure");
        button.textContent = label;
    };
    button.addEventListener("click", async () => {
        if (!button.classList.contains("sure")) {
            button.classList.add("sure");
            button.textContent = `Really stop ${what}?`;
            setTimeout(() => button.classList.contains("sure") && rest(), 5000);
            return;
        }
        button.disabled = true;
        try {
            await server.post(path);
            button.classList.remove("sure");
            button.textContent = `${what} is stopping`;
        } catch (error) {
            button.disabled = false;
            button.classList.remove("sure");
            button.textContent = (error as Error).message;
            setTimeout(rest, 5000);
        }
    });
    return button;
}

/** A form that writes notes and tags about the study, or about a trial: at first the picked one. */
export function remarkForm(server: Server, path: string, picked: () => number): HTMLElement {
    const about = h("input", { type: "number", min: 1, step: 1, placeholder: "the study", "aria-label": "Trial; empty: the study" });
    const note = h("textarea", { rows: 2, maxlength: 5000, placeholder: "A note", "aria-label": "Note" });
    const tags = h("input", { type: "text", maxlength: 200, placeholder: "tags; -tag removes one", "aria-label": "Tags" });
    const told = h("output", {});
    const target = () => (about.value === "" ? path : `${path}/trials/${about.value}`);
    const button = (label: string, kind: string, field: HTMLInputElement | HTMLTextAreaElement) => {
        const each = h("button", { type: "button" }, label);
        each.addEventListener("click", async () => {
            if (field.value.trim() === "") return field.focus();
            each.disabled = true;
            try {
                await server.post(`${target()}/${kind}`, field.value.trim());
                field.value = "";
                told.textContent = `Written about ${about.value === "" ? "the study" : `trial ${about.value}`}.`;
            } catch (error) {
                told.textContent = (error as Error).message;
            }
            each.disabled = false;
        });
        return each;
    };
    const form = h(
        "details",
        { class: "remarks" },
        h("summary", {}, "Note or tag"),
        h("label", {}, "Trial ", about),
        h("div", {}, note, button("Add the note", "notes", note)),
        h("div", {}, tags, button("Add the tags", "tags", tags)),
        told,
    );
    form.addEventListener("toggle", () => {
        if (form.open && about.value === "" && picked() > 0) about.value = String(picked());
        told.textContent = "";
    });
    return form;
}

export function studyPath(name: string): string {
    return `/study/${encodeURIComponent(name)}`;
}
export function apiPath(name: string): string {
    return `/api/studies/${encodeURIComponent(name)}`;
}
