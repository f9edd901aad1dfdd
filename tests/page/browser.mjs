// SPDX-License-Identifier: MIT
// A browser that tells of every message and every request of a page, and small helpers.
import {createRequire} from "node:module";
import {join} from "node:path";
import {pathToFileURL} from "node:url";

export function check(isTrue, text) {
    if (!isTrue)
        throw new Error(text);
}

export function equal(got, expected, what) {
    check(Object.is(got, expected) || got === expected,
        `${what}: ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
}

export async function launch(modules, program) {
    const {chromium} = createRequire(join(modules, "package.json"))("playwright-core");
    const browser = await chromium.launch({executablePath: program, args: ["--no-sandbox", "--disable-gpu"]});

    return new Browser(browser);
}

class Browser {
    constructor(browser) {
        this.browser = browser;
    }

    close() {
        return this.browser.close();
    }

    // Opens a file or an address; `f` gets the page. Afterwards the page must have asked for nothing but itself
    // and said nothing on the console.
    // `ready`: what the page puts into its window when it can be used.
    async visit(file, {width = 1280, height = 900, colorScheme = "light", ready = "weft"}, f) {
        const context = await this.browser.newContext({viewport: {width, height}, colorScheme});
        const url = file instanceof URL ? file.href : pathToFileURL(file).href, problems = [];

        await context.route("**/*", route => {
            if (route.request().url().split("#")[0] === url || route.request().url() === "about:srcdoc")
                return route.continue();
            problems.push("request: " + route.request().url());
            return route.abort();
        });
        const page = await context.newPage();
        page.on("console", message => problems.push(`console ${message.type()}: ${message.text()}`));
        page.on("pageerror", error => problems.push("error: " + error.stack));
        page.on("dialog", dialog => {
            problems.push("dialog: " + dialog.message());
            dialog.dismiss();
        });
        page.on("popup", () => problems.push("a window was opened"));
        try {
            await page.goto(url);
            await page.waitForFunction(name => window[name] !== undefined, ready);
            await frames(page);
            await f(page);
            await frames(page);
        } finally {
            await context.close();
        }
        check(problems.length === 0, problems.join("\n"));
    }
}

// Until what was asked for is drawn.
export function frames(page, n = 3) {
    return page.evaluate(count => new Promise(done => {
        const step = left => left === 0 ? done() : requestAnimationFrame(() => step(left - 1));
        step(count);
    }), n);
}

// "1.603 ms" -> [1.603e-3, half a unit of its last digit]; null: no number that has a unit.
export function parseShown(text) {
    const found = /^(-?[\d,]+(?:\.(\d+))?(?:e[-+]?\d+)?)(?: ?([kMGTPEmun])?(s|B\/s|B|J|W|mm\u00b2|%|x))?(?: .*)?$/.exec(text);
    const power = {k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18, m: 1e-3, u: 1e-6, n: 1e-9};

    if (!found)
        return null;
    const scale = (found[3] ? power[found[3]] : 1) * (found[4] === "%" ? 0.01 : 1);
    return [Number(found[1].replaceAll(",", "")) * scale, 0.5001 * 10 ** -(found[2] || "").length * scale];
}
