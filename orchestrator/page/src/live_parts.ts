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

export function studyPath(name: string): string {
    return `/study/${encodeURIComponent(name)}`;
}
export function apiPath(name: string): string {
    return `/api/studies/${encodeURIComponent(name)}`;
}
