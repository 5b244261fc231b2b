// The page of a study, whose sections are drawn again when there is something new.
import { discard, h } from "./dom.ts";
import { Focus } from "./focus.ts";
import { follow, type Server } from "./live_connection.ts";
import { apiPath, liveMark, remarkForm, stopButton } from "./live_parts.ts";
import { type Section, linksTo, sections, summaryOf } from "./sections.ts";
import { type Document, Study } from "./study.ts";

/** Keeps the picked trial the same in all sections, whenever each was drawn. */
class SharedFocus {
    private readonly members = new Map<Slot, Focus>();
    row = -1;
    private spreading = false;
    /** The focus of a section that is drawn now. */
    join(slot: Slot, best: number): Focus {
        const focus = new Focus(best);
        focus.show(this.row);
        focus.onChange(() => {
            if (this.spreading) return;
            this.spreading = true;
            this.row = focus.row;
            for (const each of this.members.values()) each.show(this.row);
            this.spreading = false;
        });
        this.members.set(slot, focus);
        return focus;
    }
}

/**
 * The place of a section. What a reader has changed in it stays until they ask for the newer one. One that is far from the
 * screen is drawn again when it comes near.
 */
class Slot {
    readonly element = h("div", { class: "slot" });
    private shown: HTMLElement | null = null;
    private touched = false;
    private near = false;
    private stale = false;
    private retry: ReturnType<typeof setTimeout> | undefined;
    private study: Study | null = null;
    private readonly note = h("p", { class: "newer" }, h("button", { type: "button" }, "Show the newest results here"));
    constructor(
        private readonly section: Section,
        private readonly focus: SharedFocus,
    ) {
        for (const kind of ["click", "input", "keydown"])
            this.element.addEventListener(kind, (event) => {
                if (!this.note.contains(event.target as Node) && (event as KeyboardEvent).key !== "Tab") this.touched = true;
            });
        new IntersectionObserver(
            ([entry]) => {
                this.near = entry!.isIntersecting;
                if (this.near && this.stale && this.study) this.update(this.study);
            },
            { rootMargin: "400px" },
        ).observe(this.element);
        this.note.addEventListener("click", () => {
            this.note.remove();
            this.touched = false;
            (document.activeElement as HTMLElement | null)?.blur();
            if (this.study) this.update(this.study);
        });
    }
    get current(): HTMLElement | null {
        return this.shown;
    }
    private inUse(): boolean {
        const selection = getSelection();
        return (
            this.element.contains(document.activeElement) ||
            this.element.querySelector(".tip:not([hidden])") !== null ||
            (selection !== null && !selection.isCollapsed && selection.containsNode(this.element, true))
        );
    }
    update(study: Study): void {
        this.study = study;
        const before = this.shown;
        if (before && this.touched) {
            this.element.prepend(this.note);
            return;
        }
        this.stale = before !== null && (!this.near || this.inUse());
        if (this.stale) {
            clearTimeout(this.retry);
            if (this.near) this.retry = setTimeout(() => this.update(study), 2000);
            return;
        }
        const next = this.section(study, this.focus.join(this, study.best));
        this.shown = next;
        if (!before || !next) {
            if (before) discard(before);
            if (next) this.element.append(next);
            return;
        }
        // The charts of the new one are drawn before it takes the other's place, so that nothing flickers.
        next.classList.add("coming");
        next.inert = true;
        this.element.append(next);
        requestAnimationFrame(() =>
            requestAnimationFrame(() => {
                discard(before);
                next.classList.remove("coming");
                next.inert = false;
            }),
        );
    }
}

/** The running trials, each with a button that stops it. */
function runningTrials(server: Server, name: string, study: Study, buttons: Map<number, HTMLElement>): HTMLElement[] {
    const rows = Array.from({ length: study.count }, (_, row) => row).filter((row) => study.state.at(row) === "running");
    for (const number of buttons.keys()) if (!rows.includes(number - 1)) buttons.delete(number);
    return rows.map((row) => {
        const number = row + 1;
        const button = buttons.get(number) ?? stopButton(server, `${apiPath(name)}/trials/${number}/stop`, `trial ${number}`);
        buttons.set(number, button);
        return button;
    });
}

export async function studyPage(server: Server, name: string): Promise<HTMLElement[]> {
    document.title = `${name} – hpo`;
    const mark = liveMark();
    const summary = h("span");
    const links = h("nav", { "aria-label": "Sections" });
    const focus = new SharedFocus();
    const slots = sections.map((section) => new Slot(section, focus));
    const stopStudy = stopButton(server, `${apiPath(name)}/stop`, name);
    const buttons = new Map<number, HTMLElement>();
    const control = h("div", { class: "control" });
    const remarks = server.session.control ? remarkForm(server, apiPath(name), () => focus.row + 1) : null;
    let anchors = "";

    const load = async () => {
        const document_ = await server.get<Document>(`${apiPath(name)}/page`);
        const study = new Study(document_);
        summary.textContent = `${summaryOf(study)} · `;
        for (const slot of slots) slot.update(study);
        const current = linksTo(slots.map((slot) => slot.current).filter((each) => each !== null));
        if (JSON.stringify(current) !== anchors) {
            anchors = JSON.stringify(current);
            links.replaceChildren(h("a", { href: "/" }, "All studies"), ...current.map(([href, text]) => h("a", { href }, text)));
        }
        if (server.session.control && !control.contains(document.activeElement)) {
            const all = document_.study.running ? [stopStudy, ...runningTrials(server, name, study, buttons)] : [];
            control.replaceChildren(...all);
        }
    };
    await load();
    mark.tell("live");
    follow(`${apiPath(name)}/events`, load, mark.tell);
    return [
        h("a", { class: "skip", href: "#answer" }, "Skip to the answer"),
        h("header", {}, h("h1", {}, name), h("p", {}, summary, mark.element), control, remarks, links),
        h("main", {}, ...slots.map((slot) => slot.element)),
        h("footer", {}, `hpo ${server.session.version}`),
    ];
}
