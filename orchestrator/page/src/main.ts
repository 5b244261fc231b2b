// Assembles the page from the study that it contains.
import { answerSection } from "./answer.ts";
import { curvesSection } from "./curves.ts";
import { h } from "./dom.ts";
import { failuresSection } from "./failures.ts";
import { Focus } from "./focus.ts";
import { duration } from "./format.ts";
import { frontSection } from "./front.ts";
import { historySection } from "./history.ts";
import { importanceSection } from "./importance.ts";
import { parallelSection } from "./parallel.ts";
import { reproduceSection } from "./reproduce.ts";
import { slicesSection } from "./slices.ts";
import { speedSection } from "./speed.ts";
import { type Document, Study } from "./study.ts";
import { timelineSection } from "./timeline.ts";

const document_ = JSON.parse(document.getElementById("study")!.textContent!) as Document;
const study = new Study(document_);
const focus = new Focus(study.best);
const { study: about, answer } = document_;

document.title = `${about.study} – hpo report`;
const sections = [
    answerSection(study),
    frontSection(study, focus),
    historySection(study, focus),
    curvesSection(study, focus),
    parallelSection(study, focus),
    importanceSection(study),
    slicesSection(study, focus),
    speedSection(study, focus),
    timelineSection(study, focus),
    failuresSection(study),
    reproduceSection(study),
].filter((each) => each !== null);

document.body.append(
    h("a", { class: "skip", href: "#answer" }, "Skip to the answer"),
    h(
        "header",
        {},
        h("h1", {}, about.study),
        h("p", {}, `${answer.states || "no trials"} · ${duration(answer.seconds)}${answer.end ? ` · ${answer.end}` : ""} · ${answer.written.slice(0, 16).replace("T", " ")} UTC`),
        h("nav", { "aria-label": "Sections" }, ...sections.map((each) => h("a", { href: `#${each.id}` }, each.querySelector("h2")!.textContent!))),
    ),
    h("main", {}, ...sections),
    h("footer", {}, `Written by hpo ${document_.version}. This file holds all that it shows and asks no network for anything.`),
);
