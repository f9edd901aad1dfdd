/* SPDX-License-Identifier: MIT */
/* page.js: reads the data (weft.page/1: docs/formats.md) and puts the parts together. */

const page = {timeline: null, graph: null};

const TABLE_SECTIONS = [["use", "Use of the machine", "Use"], ["front", "Designs", "Designs"],
    ["upgrades", "What would help?", "Upgrades"], ["compare", "Comparison of solvers", "Solvers"]];

function pageHead(data) {
    const theme = button("", "Change between light and dark", toggleTheme, {id: "theme"});
    const name = () => { theme.textContent = isDark() ? "Light" : "Dark"; };

    name();
    on("theme", name);
    page.nav = el("nav", {"aria-label": "Sections"});
    return el("header", {id: "head"},
        el("div", {class: "title"}, el("h1", {text: data.title || "weft"}), data.subtitle ? el("p", {text: data.subtitle}) : null),
        page.nav, theme);
}

/* The section that is read now is marked among the links. */
function followSections(sections) {
    const links = new Map(sections.map(s => [s, el("a", {href: "#" + s.id, text: s.dataset.short})]));
    const seen = new Set();

    page.nav.append(...links.values());
    const observer = new IntersectionObserver(entries => {
        for (const entry of entries)
            if (entry.isIntersecting)
                seen.add(entry.target);
            else
                seen.delete(entry.target);
        const first = sections.find(s => seen.has(s));
        for (const [section, link] of links)
            if (section === first)
                link.setAttribute("aria-current", "true");
            else
                link.removeAttribute("aria-current");
    }, {rootMargin: "-70px 0px -45% 0px"});
    sections.forEach(s => observer.observe(s));
}

function short(section, text) {
    section.dataset.short = text;
    return section;
}

/* Timeline and network, and beside them what is selected in either. */
function workbench(data, sections) {
    const column = el("div", {class: "column"});

    if (data.timeline)
        page.timeline = new Timeline(data.timeline, data.graph);
    if (data.graph)
        page.graph = new Graph(data.graph, data.kind);
    if (page.timeline)
        sections.push(short(page.timeline.element, "Timeline"));
    if (page.graph)
        sections.push(short(page.graph.element, "Network"));
    column.append(...[page.timeline, page.graph].filter(Boolean).map(part => part.element));
    return el("div", {class: "bench"}, column, new Inspector(page.graph, page.timeline).element);
}

/* What is read first: title and summary. Returns the rest, to be called. */
function build(data) {
    const main = el("main"), sections = [];
    const add = (section, text) => {
        sections.push(short(section, text));
        main.append(section);
    };
    const summary = panel("summary", "Summary");

    summary.append(factCards(data.facts || [], data.result));
    add(summary, "Summary");
    document.body.append(el("a", {href: "#summary", class: "skip", text: "To the summary"}), pageHead(data), main, tip, live);
    return () => buildRest(data, main, sections, add);
}

function buildRest(data, main, sections, add) {
    if (data.plots && data.plots.length)
        add(plotSection(data.plots), "Plots");
    if (data.timeline || data.graph)
        main.append(workbench(data, sections));
    if (data.chain || data.bound)
        add(whySection(data), "Why");
    if ((data.memory || []).some(device => device.capacity > 0 || device.bytes.some(held => held > 0)))
        add(memorySection(data.memory, data.timeline ? data.timeline.end : 0), "Memory");
    for (const [id, title, text] of TABLE_SECTIONS) {
        const tables = (data.tables || []).filter(table => table.section === id);
        if (tables.length)
            add(tableSection(id, title, tables), text);
    }
    add(aboutSection(data), "About");
    followSections(sections);
    /* What tests look at and drive. */
    window.weft = {data, page, selection, select, selectNode, mark, marked: () => marked};
}

const LARGE_PAGE = 1e6; /* characters of data: the summary is on the screen before the rest is made */

function start() {
    const text = document.getElementById("data").textContent, data = JSON.parse(text);

    startTheme();
    document.title = (data.title || "report") + " \u00b7 weft";
    const rest = build(data);
    if (text.length > LARGE_PAGE)
        requestAnimationFrame(() => setTimeout(rest));
    else
        rest();
}

start();
