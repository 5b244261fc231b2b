// Makes elements. Texts always become text nodes, so that names with markup stay text.

type Child = Node | string | null | false;
type Attributes = Record<string, string | number | boolean | ((event: never) => void)>;

export function h<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[Tag] {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function") element.addEventListener(name, value as EventListener);
        else if (value === true) element.setAttribute(name, "");
        else if (value !== false) element.setAttribute(name, String(value));
    }
    for (const child of children) if (child !== null && child !== false) element.append(child);
    return element;
}

const announcer = h("div", { class: "unseen", role: "status", "aria-live": "polite" });

/** Tells people who do not see the page about a change. */
export function announce(text: string): void {
    if (!announcer.isConnected) document.body.append(announcer);
    announcer.textContent = text;
}

async function toClipboard(text: string): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        // A page that was opened as a file may not use the clipboard in some browsers; the old command works there.
        const area = h("textarea", { class: "unseen", readonly: true });
        area.value = text;
        document.body.append(area);
        area.select();
        const done = document.execCommand("copy");
        area.remove();
        return done;
    }
}

/** A button that copies a text and says so. */
export function copyButton(text: string | (() => string), what: string, label = "Copy"): HTMLButtonElement {
    const button = h("button", { type: "button", class: "copy", title: `Copy ${what}`, "aria-label": `Copy ${what}` }, label);
    button.addEventListener("click", async (event) => {
        event.stopPropagation();
        const done = await toClipboard(typeof text === "string" ? text : text());
        button.textContent = done ? "Copied" : "Not allowed here";
        announce(done ? `Copied ${what}` : `This browser does not let the page copy ${what}`);
        setTimeout(() => (button.textContent = label), 1500);
    });
    return button;
}

/** A value that a click copies with all its digits. */
export function copyable(shown: string, text: string, what: string): HTMLButtonElement {
    const button = copyButton(text, what, shown);
    button.classList.add("value");
    return button;
}

/** A section of the page. */
export function section(id: string, title: string, ...children: Child[]): HTMLElement {
    return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...children);
}

const ends: [Element, () => void][] = [];

/** Calls `end` when the element is discarded. */
export function whenDiscarded(element: Element, end: () => void): void {
    ends.push([element, end]);
}

/** Removes an element of a page that lives on, with all that observes it or something inside. */
export function discard(element: Element): void {
    for (let i = ends.length - 1; i >= 0; i--) if (element.contains(ends[i]![0])) ends.splice(i, 1)[0]![1]();
    element.remove();
}

/** Calls `build` when the element comes near the screen, or when the page is printed. */
export function whenSeen(element: Element, build: () => void): void {
    let built = false;
    const once = () => {
        if (built) return;
        built = true;
        end();
        build();
    };
    const end = () => {
        observer.disconnect();
        removeEventListener("beforeprint", once);
    };
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && once(), { rootMargin: "400px" });
    observer.observe(element);
    addEventListener("beforeprint", once);
    whenDiscarded(element, end);
}

/** The mutually exclusive choices of a chart. */
export function choice(label: string, options: [string, string][], chosen: string, change: (value: string) => void): HTMLElement {
    const name = `choice-${label.replace(/\W+/g, "-")}-${choice.count++}`;
    return h(
        "fieldset",
        { class: "choice" },
        h("legend", {}, label),
        ...options.map(([value, text]) => {
            const input = h("input", { type: "radio", name, value });
            input.checked = value === chosen;
            input.addEventListener("change", () => change(value));
            return h("label", {}, input, text);
        }),
    );
}
choice.count = 0;
