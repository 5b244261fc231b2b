// The sections of the page about a study, in their order.
import { answerSection } from "./answer.ts";
import { contoursSection } from "./contours.ts";
import { curvesSection } from "./curves.ts";
import { failuresSection } from "./failures.ts";
import type { Focus } from "./focus.ts";
import { duration } from "./format.ts";
import { frontSection } from "./front.ts";
import { historySection } from "./history.ts";
import { importanceSection } from "./importance.ts";
import { parallelSection } from "./parallel.ts";
import { reproduceSection } from "./reproduce.ts";
import { slicesSection } from "./slices.ts";
import { speedSection } from "./speed.ts";
import type { Study } from "./study.ts";
import { timelineSection } from "./timeline.ts";

export type Section = (study: Study, focus: Focus) => HTMLElement | null;

/** Each returns null where it has nothing to show. */
export const sections: Section[] = [
    answerSection,
    frontSection,
    historySection,
    curvesSection,
    parallelSection,
    importanceSection,
    slicesSection,
    contoursSection,
    speedSection,
    timelineSection,
    failuresSection,
    reproduceSection,
];

/** "12 complete, 3 stopped · 4 min · finished". */
export function summaryOf(study: Study): string {
    const { answer } = study.document;
    return `${answer.states || "no trials"} · ${duration(answer.seconds)}${answer.end ? ` · ${answer.end}` : ""}`;
}

/** Links to the sections. */
export function linksTo(shown: HTMLElement[]): [string, string][] {
    return shown.map((each) => [`#${each.id}`, each.querySelector("h2")!.textContent!]);
}
