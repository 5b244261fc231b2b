// Opens a report in headless Chromium (Debian's package chromium), measures it, and takes pictures.
//
//     node look.mjs REPORT.html|URL                  times of opening and of brushing, five times
//     node look.mjs REPORT.html --pictures PREFIX    PREFIX-light.png, PREFIX-dark.png, PREFIX-phone.png of the whole page
//     node look.mjs REPORT.html --picture FILE.png   of its top, as in the README
//     node look.mjs REPORT.html --brushed FILE.png   of the configurations, with a brush over the better values
//
// It speaks the DevTools protocol over a pipe, so that it needs no package.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [report, option, target] = process.argv.slice(2);
if (!report || (option && !["--pictures", "--picture", "--brushed"].includes(option)) || (option && !target)) {
    console.error("usage: node look.mjs REPORT.html [--pictures PREFIX | --picture FILE.png | --brushed FILE.png]");
    process.exit(2);
}

const profile = mkdtempSync(join(tmpdir(), "hpo-look-"));
const browser = spawn(
    process.env.CHROMIUM ?? "chromium",
    ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", `--user-data-dir=${profile}`],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
);
const waiting = new Map();
let count = 0;
let rest = "";
browser.stdio[4].setEncoding("utf8").on("data", (data) => {
    const messages = (rest + data).split("\0");
    rest = messages.pop();
    for (const { id, result, error, method, params } of messages.map((text) => JSON.parse(text))) {
        if (method === "Runtime.exceptionThrown") console.error("error:", params.exceptionDetails.exception?.description);
        if (!waiting.has(id)) continue;
        const [done, fail] = waiting.get(id);
        waiting.delete(id);
        if (error) fail(new Error(error.message));
        else done(result);
    }
});
function send(method, params = {}, sessionId) {
    const id = ++count;
    browser.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((done, fail) => waiting.set(id, [done, fail]));
}

/** Opens the report in a new tab, calls `use` with it, and closes the tab. */
async function open({ width = 1280, height = 900, phone = false, dark = false }, use) {
    const { targetId } = await send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
    const tell = (method, params) => send(method, params, sessionId);
    const evaluate = async (body, ...given) => {
        const expression = `(${body})(${given.map((value) => JSON.stringify(value)).join()})`;
        const { result, exceptionDetails } = await tell("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
    };
    await tell("Runtime.enable");
    await tell("Page.enable");
    await tell("Performance.enable", { timeDomain: "threadTicks" });
    const cpu = async () => 1000 * (await tell("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
    await tell("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: phone ? 2 : 1, mobile: phone });
    await tell("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
    await tell("Page.navigate", { url: /^https?:/.test(report) ? report : `file://${resolve(report)}` });
    await evaluate(async () => {
        while (document.readyState !== "complete" || !document.querySelector("main")) await new Promise((done) => setTimeout(done, 5));
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    });
    const result = await use({ tell, evaluate, cpu });
    await send("Target.closeTarget", { targetId });
    return result;
}

async function picture(file, { tell, evaluate }, most, section) {
    // Charts are drawn when they come near the screen.
    const [width, height] = await evaluate(async () => {
        for (let y = 0; y < document.body.scrollHeight; y += 400) {
            scrollTo(0, y);
            await new Promise((done) => setTimeout(done, 60));
        }
        scrollTo(0, 0);
        await new Promise((done) => setTimeout(done, 300));
        return [document.documentElement.clientWidth, document.documentElement.scrollHeight];
    });
    const { x, y } = section ? await evaluate(brush, section) : { x: 0, y: 0 };
    const clip = { x, y, width: width - 2 * x, height: Math.min(height, most), scale: 1 };
    const { data } = await tell("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip });
    writeFileSync(file, Buffer.from(data, "base64"));
    console.log(`${file}: ${clip.width} x ${clip.height}`);
}

/** Brushes the upper third of the last axis, and returns where the section lies. In the page. */
async function brush(section) {
    const canvas = document.querySelector("canvas.parallel");
    canvas.setPointerCapture = () => {};
    const { left, top, width } = canvas.getBoundingClientRect();
    const point = (type, y) => canvas.dispatchEvent(new PointerEvent(type, { clientX: left + width - 56, clientY: top + y, pointerId: 1, bubbles: true }));
    point("pointerdown", 40);
    point("pointermove", 110);
    point("pointerup", 110);
    await new Promise((done) => setTimeout(done, 300));
    const box = document.querySelector(section).getBoundingClientRect();
    return { x: box.left + scrollX, y: box.top + scrollY };
}

/**
 * Times in milliseconds: until the page is there, and of each frame while a brush moves over the first axis. CPU times
 * are those of the page's thread, which other programs hardly change.
 */
function times() {
    return open({}, async ({ evaluate, cpu }) => {
        const opened = await evaluate(() => performance.now());
        const opening = await cpu();
        await evaluate(async () => {
            document.querySelector("canvas.parallel")?.scrollIntoView({ block: "center" });
            await new Promise((done) => setTimeout(done, 3000));
        });
        const before = await cpu();
        const frames = await evaluate(async () => {
            const canvas = document.querySelector("canvas.parallel");
            if (!canvas) return [];
            canvas.setPointerCapture = () => {};
            const { left, top } = canvas.getBoundingClientRect();
            const point = (type, y) => canvas.dispatchEvent(new PointerEvent(type, { clientX: left + 56, clientY: top + y, pointerId: 1, bubbles: true }));
            const frames = [];
            let before = await new Promise(requestAnimationFrame);
            point("pointerdown", 300);
            for (let i = 0; i < 120; i++) {
                point("pointermove", 60 + Math.abs(((i * 7) % 480) - 240));
                const now = await new Promise(requestAnimationFrame);
                frames.push(now - before);
                before = now;
            }
            point("pointerup", 60);
            return frames.sort((a, b) => a - b);
        });
        return { opened, opening, frames, brushing: (await cpu()) - before };
    });
}

try {
    if (option === "--picture") await open({ width: 1120 }, (tab) => picture(target, tab, 1000));
    else if (option === "--brushed") await open({ width: 1120 }, (tab) => picture(target, tab, 640, "#trials"));
    else if (option === "--pictures") {
        for (const [name, how] of Object.entries({ light: {}, dark: { dark: true }, phone: { width: 390, height: 844, phone: true } }))
            await open(how, (tab) => picture(`${target}-${name}.png`, tab, 16000));
    } else
        for (let i = 0; i < 5; i++) {
            const { opened, opening, frames, brushing } = await times();
            const at = (share) => Math.round(frames[Math.floor((frames.length - 1) * share)]);
            const frame = `; a frame of brushing: ${(brushing / frames.length).toFixed(1)} ms of CPU, median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`;
            console.log(`open: ${Math.round(opening)} ms of CPU, ${Math.round(opened)} ms${frames.length > 0 ? frame : ""}`);
        }
} finally {
    await send("Browser.close");
    await new Promise((done) => browser.on("exit", done));
    rmSync(profile, { recursive: true, force: true });
}
