// What is needed to run the study again.
import { copyButton, h, section } from "./dom.ts";
import { bytes, plural } from "./format.ts";
import type { Git, Study } from "./study.ts";

export function reproduceSection(study: Study): HTMLElement {
    const { source, version, git, sessions, machine, study: about } = study.document;
    const facts = h("dl", { class: "facts" });
    const fact = (name: string, ...content: (Node | string)[]) => facts.append(h("div", {}, h("dt", {}, name), h("dd", {}, ...content)));
    fact("Folder", h("code", {}, about.folder));
    fact("hpo", version, ", which wrote this page");
    const began = sessions.filter((session) => session.git).pop()?.git;
    if (began) fact("Git", ...code(began, "when the last session began"));
    else if (git) fact("Git", ...code(git, "when this page was written"));
    else fact("Git", "The study's folder is in no repository.");
    if (sessions.length > 0)
        fact("Sessions", h("ul", {}, ...sessions.map((session) => h("li", {}, `${session.started.slice(0, 19).replace("T", " ")} UTC on ${session.host}, hpo ${session.version}${session.git ? `, ${short(session.git)}` : ""}`))));
    const ranHere = sessions.some((session) => session.host === machine.name);
    fact(ranHere ? "Machine" : "Page written on", `${machine.name}: ${machine.cpu}, ${plural(machine.cores, "core")}, ${bytes(machine.memory)} of memory`);
    return section("reproduce", "To run it again", facts, h("h3", {}, "The study file"), h("div", { class: "code" }, copyButton(source, "the study file"), h("pre", { tabindex: 0 }, source)));
}

function files(git: Git): string[] {
    return git.changed.split("\n").filter((line) => line.trim());
}

function code(git: Git, when: string): (Node | string)[] {
    const changed = files(git);
    return [
        h("code", {}, git.commit),
        copyButton(git.commit, "the commit"),
        git.branch ? ` on ${git.branch}` : "",
        ` ${when}: `,
        changed.length === 0 ? "no changed files" : h("details", {}, h("summary", {}, `${plural(changed.length, "changed file")} (a dirty tree)`), h("pre", {}, changed.join("\n"))),
    ];
}

function short(git: Git): string {
    const changed = files(git).length;
    return `commit ${git.commit.slice(0, 10)}${changed > 0 ? ` with ${plural(changed, "changed file")}` : ""}`;
}
