// The colours of the style sheet, as canvases need them.

import { whenDiscarded } from "./dom.ts";

const names = ["ink", "soft", "line", "accent", "best", "bad", "mild", "sheet", "line-1", "line-2", "line-3", "line-4", "line-5", "line-6"] as const;
export type Name = (typeof names)[number];

let colours: Record<Name, string> | null = null;
const listeners = new Set<() => void>();

export function colour(name: Name): string {
    if (!colours) {
        const probe = document.createElement("span");
        document.body.append(probe);
        colours = Object.fromEntries(
            names.map((each) => {
                probe.style.color = `var(--${each})`;
                return [each, getComputedStyle(probe).color];
            }),
        ) as Record<Name, string>;
        probe.remove();
    }
    return colours[name];
}

/** Red, green and blue. */
export function channels(name: Name): [number, number, number] {
    const [red = 0, green = 0, blue = 0] = (colour(name).match(/[\d.]+/g) ?? []).map(Number);
    return [red, green, blue];
}

/**
 * Calls `redraw` when the colours change, until the element is discarded: between light and dark, or on paper, which is
 * always light.
 */
export function whenColoursChange(element: Element, redraw: () => void): void {
    listeners.add(redraw);
    whenDiscarded(element, () => listeners.delete(redraw));
}

function changed(): void {
    colours = null;
    for (const redraw of listeners) redraw();
}
function paper(on: boolean): void {
    document.documentElement.classList.toggle("paper", on);
    changed();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
addEventListener("beforeprint", () => paper(true));
addEventListener("afterprint", () => paper(false));
