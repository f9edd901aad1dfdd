// SPDX-License-Identifier: MIT
// The page in use: zoom, selection, search, tables, keys, copying, hostile names.
import {check, equal, frames} from "./browser.mjs";

const span = tab => tab.evaluate(() => window.weft.page.timeline.view.to - window.weft.page.timeline.view.from);
const picture = (tab, selector) => tab.evaluate(s => document.querySelector(s).toDataURL(), selector);

async function bring(tab, selector) {
    await tab.locator(selector).first().scrollIntoViewIfNeeded();
    await frames(tab);
}

async function zoomTimeline(tab) {
    await bring(tab, "canvas.rows");
    const box = await tab.locator("canvas.rows").boundingBox(), whole = await span(tab);
    const before = await picture(tab, "canvas.rows");
    const at = [box.x + box.width * 0.6, box.y + 40];

    await tab.mouse.move(...at);
    await tab.keyboard.down("Control");
    await tab.mouse.wheel(0, -400);
    await tab.keyboard.up("Control");
    await frames(tab);
    const wheeled = await span(tab);
    check(wheeled < whole * 0.8, `the wheel did not zoom: ${whole} to ${wheeled}`);
    check(await picture(tab, "canvas.rows") !== before, "the drawing did not change");
    const from = await tab.evaluate(() => window.weft.page.timeline.view.from);
    await tab.mouse.down();
    await tab.mouse.move(at[0] + 120, at[1], {steps: 4});
    await tab.mouse.up();
    const moved = await tab.evaluate(() => window.weft.page.timeline.view.from);
    check(moved < from, `dragging to the right did not move: ${from} to ${moved}`);
    check(Math.abs(await span(tab) - wheeled) < wheeled * 1e-9, "dragging changed the span");
    await tab.locator("#timeline .tools button", {hasText: "Fit"}).click();
    equal(await span(tab), whole, "span after Fit");
    await tab.locator("#timeline .tools button", {hasText: "+"}).click();
    check(await span(tab) < whole * 0.7, "the button + did not zoom");
}

async function brush(tab) {
    await tab.evaluate(() => window.weft.page.timeline.show(0, window.weft.page.timeline.end));
    await bring(tab, "canvas.strip");
    const box = await tab.locator("canvas.strip").boundingBox(), whole = await span(tab);

    await tab.mouse.move(box.x + box.width * 0.5, box.y + 20);
    await tab.mouse.down();
    await tab.mouse.move(box.x + box.width * 0.7, box.y + 20, {steps: 5});
    await tab.mouse.up();
    const part = await span(tab) / whole;
    check(part > 0.15 && part < 0.3, `brushing a fifth gave ${part}`);
}

// Pixels of the middle of a node.
const nodeAt = (tab, node) => tab.evaluate(i => {
    const g = window.weft.page.graph;
    g.setView(g.nodes.x[i], g.nodes.y[i], 1);
    const box = g.canvas.getBoundingClientRect();
    return [box.left + box.width / 2 + (g.nodes.x[i] - g.view.x) * g.view.k,
        box.top + box.height / 2 + (g.nodes.y[i] - g.view.y) * g.view.k];
}, node);

const inspector = tab => tab.evaluate(() => {
    const box = document.querySelector("#inspector");
    return {text: box.innerText, node: Number(box.dataset.node), bar: Number(box.dataset.bar),
        costs: [...box.querySelectorAll(".costs tr")].map(row => ({name: row.querySelector("th").firstChild.textContent,
            raw: row.querySelector("[data-value]").dataset.value, isBest: row.querySelector(".best") !== null,
            isHere: row.classList.contains("runs")}))};
});

function checkCosts(shown, costs, node, device) {
    const row = costs.seconds[node], best = Math.min(...row.filter(s => s !== null));

    equal(shown.length, row.length, "devices with costs");
    shown.forEach((line, i) => {
        equal(line.name, costs.on[i], "device of a cost");
        equal(line.raw, row[i] === null ? "" : String(row[i]), `cost on ${costs.on[i]}`);
        equal(line.isBest, row[i] === best, `best mark of ${costs.on[i]}`);
        equal(line.isHere, costs.of[device] === i, `where-it-runs mark of ${costs.on[i]}`);
    });
}

async function clickNode(tab, data) {
    const graph = data.graph, node = Math.floor(graph.nodes.name.length / 2);

    await bring(tab, "canvas.graph");
    const at = await nodeAt(tab, node);
    await tab.mouse.click(...at);
    await frames(tab);
    const shown = await inspector(tab);
    equal(shown.node, node, "selected node");
    check(shown.text.includes(graph.nodes.name[node]), `no name in: ${shown.text}`);
    check(!graph.nodes.shape || !graph.nodes.shape[node] || shown.text.includes(graph.nodes.shape[node]), "no shape");
    if (graph.nodes.device[node] >= 0)
        check(shown.text.includes(graph.devices[graph.nodes.device[node]]), "no device");
    if (graph.costs && graph.costs.of)
        checkCosts(shown.costs, graph.costs, node, graph.nodes.device[node]);
    check((await tab.locator("#live").textContent()).includes(graph.nodes.name[node]), "the selection is not announced");
    if (data.timeline && data.timeline.bars.node.includes(node)) {
        check(shown.bar >= 0 && data.timeline.bars.node[shown.bar] === node, "its bar is not selected");
        const view = await tab.evaluate(() => window.weft.page.timeline.view);
        check(data.timeline.bars.start[shown.bar] >= view.from && data.timeline.bars.end[shown.bar] <= view.to,
            "its bar is not in view");
    }
    const next = graph.edges.to[graph.edges.from.indexOf(node)];
    if (next !== undefined) {
        await tab.locator("#inspector h3", {hasText: "Needed by"}).locator("xpath=following-sibling::ul[1]//button").first().click();
        equal((await inspector(tab)).node, next, "node behind the first link");
    }
}

async function clickBar(tab, data) {
    await bring(tab, "canvas.rows");
    const bar = await tab.evaluate(() => {
        const t = window.weft.page.timeline;
        let best = 0;
        for (let i = 0; i < t.n; i++)
            if (t.rowAt.has(t.bars.row[i]) && t.bars.end[i] - t.bars.start[i] > t.bars.end[best] - t.bars.start[best])
                best = i;
        t.showBars([best]);
        return best;
    });
    await frames(tab);
    const at = await tab.evaluate(i => {
        const t = window.weft.page.timeline, p = t.place(i, t.surface.width, t.scroll.scrollTop);
        const box = t.canvas.getBoundingClientRect();
        return [box.left + (p.left + p.right) / 2, box.top + p.y];
    }, bar);
    await tab.mouse.click(...at);
    const shown = await inspector(tab);
    equal(shown.bar, bar, "selected bar");
    equal(shown.node, data.graph ? data.timeline.bars.node[bar] : shown.node, "node of the bar");
    await tab.mouse.move(at[0] + 1, at[1]);
    await frames(tab);
    check(await tab.locator(".tip").isVisible(), "no tooltip");
}

async function search(tab, data) {
    const node = data.graph.nodes.name.length - 1, name = data.graph.nodes.name[node];

    await tab.locator("#search").fill(name);
    check(await tab.locator("#found").isVisible(), "nothing is offered");
    const n = await tab.locator("#found [role=option]").count();
    check(n >= 1, "no node was found by its own name");
    for (let i = 0; i < n; i++) {
        if ((await tab.locator("#found [aria-selected=true]").textContent()).endsWith(" " + name))
            break;
        await tab.keyboard.press("ArrowDown");
    }
    await tab.keyboard.press("Enter");
    const found = (await inspector(tab)).node;
    equal(data.graph.nodes.name[found], name, "node that was searched for");
    await tab.locator("#search").fill("no such node at all");
    equal(await tab.locator("#found [role=option]").count(), 0, "nodes of a name that nobody has");
    await tab.keyboard.press("Escape");
}

async function colours(tab) {
    const choices = await tab.locator("#colour-by option").allTextContents();
    const seen = new Set();

    check(choices.length >= 2, "only one way to colour: " + choices);
    await bring(tab, "canvas.graph");
    await tab.evaluate(() => window.weft.page.graph.fit());
    for (const by of choices) {
        await tab.locator("#colour-by").selectOption({label: by});
        await frames(tab);
        seen.add(await picture(tab, "canvas.graph"));
        check((await tab.locator("#network .legend").textContent()).length > 0, "no legend for " + by);
    }
    check(seen.size >= 2, "colours do not change the drawing");
}

async function highlight(tab, data) {
    if (data.timeline && data.timeline.chain.length > 0) {
        await bring(tab, "canvas.rows");
        const before = await picture(tab, "canvas.rows");
        await tab.locator("button.chain").click();
        await frames(tab);
        equal(await tab.evaluate(() => window.weft.marked().bars.size), new Set(data.timeline.chain).size, "bars of the chain");
        const isAll = new Set(data.timeline.chain).size === data.timeline.bars.start.length; /* nothing is dimmed */
        check(isAll || await picture(tab, "canvas.rows") !== before, "the chain is not highlighted");
        await tab.locator("button.chain").click();
        equal(await tab.evaluate(() => window.weft.marked()), null, "highlight after a second click");
    }
    const show = tab.locator("#why button", {hasText: "Show"});
    if (await show.count() > 0) {
        await show.first().click();
        check(await tab.evaluate(() => window.weft.marked() !== null), "a part of the reasons is not highlighted");
        await show.first().click();
    }
}

async function sortTables(tab) {
    const table = tab.locator("[data-table]", {has: tab.locator("th.number button.sort")}).first();
    const column = await table.evaluate(node => [...node.querySelectorAll("thead th")].findIndex(th => th.className === "number"));
    const values = () => table.evaluate((node, k) => [...node.querySelectorAll("tbody tr")].map(row => row.children[k].dataset.value)
        .filter(text => text !== "").map(Number), column);

    await table.locator("thead th").nth(column).locator("button").click();
    equal((await values()).join(), (await values()).sort((a, b) => b - a).join(), "falling order");
    equal(await table.locator("thead th").nth(column).getAttribute("aria-sort"), "descending", "aria-sort");
    await table.locator("thead th").nth(column).locator("button").click();
    equal((await values()).join(), (await values()).sort((a, b) => a - b).join(), "rising order");
}

async function copyTable(tab, data) {
    const table = data.tables.find(t => t.rows.length > 0);

    await tab.evaluate(() => {
        Object.defineProperty(navigator, "clipboard", {configurable: true, value: {writeText: async text => { window.copied = text; }}});
    });
    await tab.locator(`[data-table="${table.id}"] button`, {hasText: "Copy CSV"}).click();
    await tab.waitForFunction(() => window.copied !== undefined);
    const lines = (await tab.evaluate(() => window.copied)).trimEnd().split("\n");
    equal(lines.length, table.rows.length + 1, "lines of the copy");
    check(lines[0].startsWith(table.columns[0].name), "no header: " + lines[0]);
    table.rows.forEach((row, i) => row.forEach(value => {
        if (typeof value === "number")
            check(lines[i + 1].split(",").some(field => Number(field) === value), `${value} is not in: ${lines[i + 1]}`);
    }));
}

// From the first key to the last without a mouse.
async function keyboard(tab, data) {
    const reached = new Map();

    for (let i = 0; i < 400; i++) {
        await tab.keyboard.press("Tab");
        const at = await tab.evaluate(() => {
            const node = document.activeElement, style = getComputedStyle(node);
            if (node === document.body)
                return null;
            if (!node.dataset.step)
                node.dataset.step = String(performance.now());
            return {step: node.dataset.step, key: node.id || node.className || node.textContent, tag: node.tagName,
                name: node.getAttribute("aria-label") || node.textContent || node.placeholder || (node.labels && node.labels[0] ?
                    node.labels[0].textContent : ""), isSeen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1.5};
        });
        if (!at || reached.has(at.step))
            break;
        check(at.isSeen, `focus cannot be seen on ${at.tag} ${at.key}`);
        check(at.name.trim() !== "", `${at.tag} ${at.key} has no name`);
        reached.set(at.step, at.key);
    }
    const keys = [...reached.values()].join(" ");
    for (const part of ["theme", data.timeline && "rows", data.graph && "search", data.graph && "graph", "sort", "command"].filter(Boolean))
        check(keys.includes(part), `Tab does not reach ${part}: ${keys}`);
    if (!data.timeline)
        return;
    await tab.locator("canvas.rows").focus();
    const whole = await span(tab);
    await tab.keyboard.press("+");
    await tab.keyboard.press("+");
    const near = await span(tab), from = await tab.evaluate(() => window.weft.page.timeline.view.from);
    check(near < whole * 0.5, "the key + does not zoom");
    await tab.keyboard.press("ArrowRight");
    check(await tab.evaluate(() => window.weft.page.timeline.view.from) > from, "the arrow does not move");
    await tab.keyboard.press("-");
    check(await span(tab) > near, "the key - does not zoom out");
    await tab.keyboard.press("0");
    equal(await span(tab), whole, "span after the key 0");
    await tab.keyboard.press(".");
    check((await inspector(tab)).bar >= 0, "the key . selects nothing");
    await tab.keyboard.press("Escape");
    equal((await inspector(tab)).bar, -1, "bar after Escape");
}

async function hostile(tab, page) {
    equal(await tab.locator("img").count(), 0, "images on the page");
    equal(await tab.evaluate(() => window.isHurt), undefined, "code of a name was run");
    check(!(await tab.title()).startsWith("hurt"), "code of a name was run");
    await tab.evaluate(() => window.weft.selectNode(3, "test"));
    check((await inspector(tab)).text.includes("</script><img src=x onerror="), "the name is not shown as it is");
    equal(await tab.locator("script").count(), 2, "scripts");
}

export function tests(pages) {
    const real = [...pages.real, ...pages.madeUp], list = [];
    const add = (page, name, f) => list.push([`${page.name}: ${name}`, browser => browser.visit(page.file, {}, tab => f(tab, page.data))]);

    for (const page of real) {
        if (page.data.timeline) {
            add(page, "timeline zooms, moves, is brushed", async tab => {
                await zoomTimeline(tab);
                await brush(tab);
            });
            add(page, "a click on a bar selects it", clickBar);
        }
        if (page.data.graph) {
            add(page, "a click on a node shows its details", clickNode);
            add(page, "nodes are found by name", search);
            add(page, "colours of nodes", colours);
        }
        add(page, "highlights", highlight);
        add(page, "tables are sorted", sortTables);
        add(page, "a table is copied", copyTable);
        add(page, "keyboard only", keyboard);
    }
    for (const page of pages.hostile)
        list.push([`${page.name}: names are text`, browser => browser.visit(page.file, {}, tab => hostile(tab, page))]);
    return list;
}
