// The page of hpo report: assembles it from the study that it contains.
import { h } from "./dom.ts";
import { Focus } from "./focus.ts";
import { linksTo, sections, summaryOf } from "./sections.ts";
import { type Document, Study } from "./study.ts";

const document_ = JSON.parse(document.getElementById("study")!.textContent!) as Document;
const study = new Study(document_);
const focus = new Focus(study.best);
const { study: about, answer } = document_;

document.title = `${about.study} – hpo report`;
const shown = sections.map((each) => each(study, focus)).filter((each) => each !== null);

document.body.append(
    h("a", { class: "skip", href: "#answer" }, "Skip to the answer"),
    h(
        "header",
        {},
        h("h1", {}, about.study),
        h("p", {}, `${summaryOf(study)} · ${answer.written.slice(0, 16).replace("T", " ")} UTC`),
        h("nav", { "aria-label": "Sections" }, ...linksTo(shown).map(([href, text]) => h("a", { href }, text))),
    ),
    h("main", {}, ...shown),
    h("footer", {}, `Written by hpo ${document_.version}. This file holds all that it shows and asks no network for anything.`),
);
