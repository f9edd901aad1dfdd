// SPDX-License-Identifier: MIT
// Tests of the report page in a browser.
//
//   node run.mjs WEFT MODULES CHROMIUM [NAME...]     MODULES: folder with node_modules/playwright-core
//
// Prints a line for each test; the exit code says whether all passed.
import {mkdtempSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {launch} from "./browser.mjs";
import {makePages} from "./pages.mjs";
import {tests as looks} from "./looks.mjs";
import {tests as numbers} from "./numbers.mjs";
import {tests as use} from "./use.mjs";
import {tests as speed} from "./speed.mjs";

const [weft, modules, program, ...names] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), "weft-page-"));
let nFailed = 0, nPassed = 0;

async function attempt(name, f) {
    const start = performance.now();

    try {
        await f();
        nPassed++;
        console.log(`ok      ${name} (${((performance.now() - start) / 1e3).toFixed(1)} s)`);
    } catch (error) {
        nFailed++;
        console.log(`FAILED  ${name}: ${error.stack}`);
    }
}

try {
    const pages = makePages(weft, work);
    const browser = await launch(modules, program);
    for (const [name, f] of [...numbers(pages), ...use(pages), ...looks(pages), ...speed(pages)])
        if (names.length === 0 || names.some(part => name.includes(part)))
            await attempt(name, () => f(browser));
    await browser.close();
} finally {
    rmSync(work, {recursive: true, force: true});
}
console.log(`${nPassed} passed, ${nFailed} failed`);
process.exit(nFailed === 0 && nPassed > 0 ? 0 : 1);
