// SPDX-License-Identifier: MIT
// What the page says is what the program says: raw numbers behind every card and cell, the texts
// they are shown as, and the sections that the data has.
import {check, equal, parseShown} from "./browser.mjs";

// plan and ends are the timeline; why a search stopped is not in the plan file
const IGNORED = new Set(["plan", "end_s", "seconds", "peak_rss_bytes", "stopped"]);

// Every number of the command's --json is on the page, and nothing else.
function checkResult(result, onPage) {
    const keys = Object.keys(result).filter(key => !IGNORED.has(key));

    equal(Object.keys(onPage).sort().join(), keys.sort().join(), "keys of the result");
    for (const key of keys)
        equal(JSON.stringify(onPage[key]), JSON.stringify(withoutFolder(key, result[key])), `result.${key}`);
}

// Pages name no folders of the machine they were made on.
function withoutFolder(key, value) {
    return ["model", "platform"].includes(key) && typeof value === "string" ? value.replace(/.*\//, "") : value;
}

function checkShown(text, raw, what) {
    const shown = parseShown(text);

    check(shown !== null, `${what}: '${text}' is not a number`);
    check(Math.abs(shown[0] - raw) <= shown[1] + Math.abs(raw) * 6e-4, `${what}: shown as ${text}, is ${raw}`);
}

function checkFacts(cards, result) {
    const by = Object.fromEntries(cards.map(card => [card.key, card]));

    for (const key of ["value", "bound"]) {
        if (!isFinite(result[key]) || result[key] === null)
            continue;
        check(by[key], `no card for the ${key}`);
        equal(Number(by[key].raw), result[key], `card ${key}`);
        checkShown(by[key].text, result[key], `card ${key}`);
    }
    if (by.gap && by.gap.raw !== null)
        equal(Number(by.gap.raw), result.gap, "card gap");
    const words = cards.map(card => card.text + " " + card.note).join(" ");
    if (result.status === "optimal")
        check(/optimal|no plan is better|proved/.test(words), "nothing says that the plan is optimal: " + words);
}

// Cells of a table that a document has under the same names.
function checkAgainst(table, list) {
    table.rows.forEach((row, i) => table.keys.forEach((key, k) => {
        const raw = list[i] ? list[i][key] : undefined;
        if (typeof raw === "number")
            equal(Number(row[k].raw), raw, `table ${table.id}, row ${i}, ${key}`);
    }));
}

function checkTable(table, data) {
    const columns = data.columns;

    equal(table.keys.join(), columns.map(c => c.key).join(), `columns of ${table.id}`);
    check(table.rows.length === Math.min(table.rows.length, data.rows.length) && table.rows.length >= Math.min(40, data.rows.length),
        `rows of ${table.id}: ${table.rows.length}`);
    table.rows.forEach((row, i) => row.forEach((cell, k) => {
        const value = data.rows[i][k], what = `table ${table.id}, row ${i}, ${columns[k].key}`;
        if (typeof value !== "number") {
            equal(cell.raw, value === null ? "" : String(value), what);
            return;
        }
        equal(Number(cell.raw), value, what);
        if (columns[k].unit !== "text")
            checkShown(cell.text, value, what);
        check(columns[k].unit === "text" || cell.align === "right", `${what} is not right-aligned`);
    }));
}

function read() {
    const cell = node => ({raw: node.dataset.value, text: node.textContent, align: getComputedStyle(node).textAlign});

    return {
        result: window.weft.data.result,
        title: document.title,
        heading: document.querySelector("h1").textContent,
        cards: [...document.querySelectorAll(".card")].map(card => ({key: card.dataset.key,
            raw: card.querySelector(".big").getAttribute("data-value"), text: card.querySelector(".big").textContent,
            note: card.querySelector(".note") ? card.querySelector(".note").textContent : ""})),
        tables: [...document.querySelectorAll("[data-table]")].map(table => ({id: table.dataset.table,
            keys: [...table.querySelectorAll("tbody tr:first-child > *")].map(node => node.dataset.key),
            rows: [...table.querySelectorAll("tbody tr")].map(row => [...row.children].map(cell))})),
        sections: [...document.querySelectorAll("main section")].map(section => section.id),
        reasons: [...document.querySelectorAll("#why [data-value]")].map(cell),
        about: document.querySelector("#about").innerText,
    };
}

function expectedSections(data) {
    const has = id => data.tables.some(table => table.section === id);

    return ["summary", data.plots.length && "plots", data.timeline && "timeline", data.graph && "network",
        (data.chain || data.bound) && "why", data.memory.some(m => m.capacity > 0 || m.bytes.some(b => b > 0)) && "memory", has("use") && "use", has("front") && "front",
        has("upgrades") && "upgrades", has("compare") && "compare", "about"].filter(Boolean);
}

function checkPage(page, got) {
    equal(got.sections.join(), expectedSections(page.data).join(), "sections");
    equal(got.heading, page.data.title, "heading");
    equal(got.cards.length, page.data.facts.length, "cards");
    check(got.cards.length > 0, "no cards");
    for (const table of page.data.tables.filter(t => t.rows.length > 0))
        checkTable(got.tables.find(t => t.id === table.id), table);
    for (const cell of got.reasons)
        checkShown(cell.text, Number(cell.raw), "reason");
    for (const group of page.data.about)
        for (const [label, value] of group.rows)
            check(got.about.includes(label) && (value === null || got.about.includes(String(value).split("\n")[0].trim())),
                `about: ${label}`);
}

export function tests(pages) {
    const all = [...pages.real, pages.large, pages.resnet, ...pages.madeUp];

    return all.map(page => [`${page.name}: numbers are those of --json`, browser => browser.visit(page.file, {}, async tab => {
        const got = await tab.evaluate(read);

        checkPage(page, got);
        for (const [id, list] of Object.entries(page.lists)) {
            const table = got.tables.find(t => t.id === id);
            check(table && table.rows.length > 0, `no table ${id}`);
            equal(table.rows.length, list.length, `rows of ${id}`);
            checkAgainst(table, list);
        }
        if (!page.result)
            return;
        checkResult(page.result, got.result);
        checkFacts(got.cards, page.result);
        const measures = page.result.plan ? page.result.plan.measures : null;
        for (const table of got.tables)
            if (measures && Array.isArray(measures[table.id]))
                checkAgainst(table, measures[table.id]);
    })]);
}
