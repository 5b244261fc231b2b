// Makes dist/page.html: the page without a study, with its scripts, styles and licences inside; and dist/live.*, the page
// of hpo serve. With --test, runs the tests. `sources` is the hash that tests/e2e/report_test.py checks, so that a stale page is a red test.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";

process.chdir(import.meta.dirname);

function bundle(entryPoints, options) {
    return build({ entryPoints, bundle: true, target: "es2022", charset: "utf8", legalComments: "none", ...options });
}

if (process.argv.includes("--test")) {
    const folder = mkdtempSync(join(tmpdir(), "hpo-page-"));
    const tests = readdirSync("test").map((name) => `test/${name}`);
    await bundle(tests, { outdir: folder, platform: "node", format: "esm", outExtension: { ".js": ".mjs" } });
    const done = spawnSync(process.execPath, ["--test", folder], { stdio: "inherit" });
    rmSync(folder, { recursive: true });
    process.exit(done.status ?? 1);
}

const base64Of = (text) => createHash("sha256").update(text).digest("base64");

function sources() {
    const hash = createHash("sha256");
    const files = ["build.mjs", "package-lock.json", "tsconfig.json"].concat(readdirSync("src").map((name) => `src/${name}`));
    for (const file of files.sort()) hash.update(`${file}\n`).update(readFileSync(file));
    return hash.digest("hex");
}

const [script, style, liveScript, liveStyle] = await Promise.all(
    ["src/main.ts", "src/style.css", "src/live.ts", "src/live.css"].map(async (entry) => {
        const { outputFiles } = await bundle([entry], { minify: true, write: false, format: "iife" });
        return outputFiles[0].text.trim();
    }),
);
if (script.includes("</script") || style.includes("</style")) throw new Error("the bundle ends its own element");

const policy = [
    "default-src 'none'",
    `script-src 'sha256-${base64Of(script)}'`,
    `style-src 'sha256-${base64Of(style)}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
].join("; ");
const uplot = JSON.parse(readFileSync("node_modules/uplot/package.json", "utf8")).version;
const licence = readFileSync("node_modules/uplot/LICENSE", "utf8").trim();

const head = `<!doctype html>
<html lang="en">
<!-- Made by npm run build in orchestrator/page; do not edit.
sources: ${sources()}

This page contains uPlot ${uplot} under this licence:

${licence}
-->
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
`;

writeFileSync(
    "dist/page.html",
    `${head}<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>hpo report</title>
<style>${style}</style>
</head>
<body>
<noscript>This page draws its charts with a script, which this browser does not run.</noscript>
<script type="application/json" id="study">@STUDY@</script>
<script>${script}</script>
</body>
</html>
`,
);

// The page of hpo serve, whose policy is in the server's headers.
writeFileSync(
    "dist/live.html",
    `${head}<title>hpo</title>
<link rel="stylesheet" href="/live.css">
<script src="/live.js" defer></script>
</head>
<body>
<noscript>This page draws its charts with a script, which this browser does not run.</noscript>
</body>
</html>
`,
);
writeFileSync("dist/live.js", `${liveScript}\n`);
writeFileSync("dist/live.css", `${liveStyle}\n`);
