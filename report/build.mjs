// build.mjs [OUT] - report/page.html from report/src: one file, with style, script and licences in it.  The
// same bytes every time, for the versions in package-lock.json.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync, readdirSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "page.html");

const made = await build({ entryPoints: [join(here, "src/main.js")], absWorkingDir: here, bundle: true, minify: true,
  format: "iife", target: ["es2020"], charset: "ascii", legalComments: "none", metafile: true, write: false });
const script = made.outputFiles[0].text.trim();
if (/<\/script/i.test(script) || /<!--/.test(script)) throw new Error("the script would end its element");

// What packages the script is made of, and their licences.
const packages = new Set();
for (const input of Object.keys(made.metafile.outputs[Object.keys(made.metafile.outputs)[0]].inputs)) {
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (found) packages.add(found[1]);
}
const licences = [...packages].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file || !existsSync(join(folder, file))) throw new Error(`${name} has no licence file`);
  return `${name} ${about.version} (${about.license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
}).join("\n====\n\n").replace(/--/g, "- -").replace(/[^\x20-\x7e\n]/g, (c) => `&#${c.codePointAt(0)};`); // no end of a comment

const style = (await build({ entryPoints: [join(here, "src/style.css")], absWorkingDir: here, minify: true, charset: "ascii",
  write: false })).outputFiles[0].text.trim();
const hash = createHash("sha256").update(script).digest("base64");
const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`;
const parts = { STYLE: style, SCRIPT: script, POLICY: policy };
const page = readFileSync(join(here, "src/page.html"), "utf8").replace(/@(STYLE|SCRIPT|POLICY)@/g, (_, key) => parts[key]);
writeFileSync(out, page.trimEnd() + `\n<!--\nThe script of this page contains:\n\n${licences}-->\n`);
