/* SPDX-License-Identifier: MIT */
/* tables.js: what is read rather than looked at: facts, tables, reasons, the panel of what is
 * selected, and where it all comes from. */

/* --- facts ------------------------------------------------------------------------------------- */

function factCard(fact, result) {
    const isProof = fact.key === "value" || fact.key === "gap";
    const isProved = isProof && result && result.status === "optimal";

    return el("div", {class: "card" + (fact.key === "value" ? " first" : "") + (isProved ? " good" : ""),
        "data-key": fact.key},
    el("dt", {text: fact.label}),
    el("dd", {class: "big", text: fact.text, "data-value": fact.number}),
    fact.note ? el("dd", {class: "note", text: fact.note}) : null);
}

const CARD_WIDTH = 164;

/* Rows of cards are equally long, give or take one. */
function factCards(facts, result) {
    const list = el("dl", {class: "cards"}, ...facts.map(fact => factCard(fact, result)));

    new ResizeObserver(() => {
        const most = Math.max(1, Math.floor(list.clientWidth / CARD_WIDTH)), nRows = Math.ceil(facts.length / most);
        list.style.setProperty("--columns", Math.max(1, Math.ceil(facts.length / Math.max(nRows, 1))));
    }).observe(list);
    return list;
}

/* --- tables ------------------------------------------------------------------------------------ */

const FEW_ROWS = 40, MORE_ROWS = 1000;

/* A value for a file of comma-separated values; texts of others must not become formulas. */
function csvField(x) {
    const text = x === null || x === undefined ? "" : String(x);

    return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}

class Table {
    constructor(data) {
        this.data = data;
        this.nShown = data.rows.length <= FEW_ROWS + 10 ? data.rows.length : FEW_ROWS;
        this.order = data.rows.map((_, i) => i);
        this.sorted = {column: -1, sign: 1};
        this.body = el("tbody");
        this.heads = data.columns.map((column, i) => this.head(column, i));
        this.more = el("p", {class: "more"}, this.rest = el("span"), button("Show more", "Show more rows", () => {
            this.nShown = Math.min(this.nShown + MORE_ROWS, data.rows.length);
            this.fill();
        }));
        this.element = this.build();
        this.fill();
    }

    isText(i) {
        return this.data.columns[i].unit === "text";
    }

    head(column, i) {
        return el("th", {scope: "col", class: this.isText(i) ? "text" : "number"},
            button(column.name, "Sort by " + column.name, () => this.sort(i), {class: "sort"}));
    }

    build() {
        const copyButton = button("Copy CSV", "Copy this table as comma-separated values", () => copy(this.csv(), copyButton),
            {class: "small"});

        return el("div", {class: "table", "data-table": this.data.id},
            el("div", {class: "bar"}, el("h3", {text: this.data.title}), copyButton),
            this.data.note ? el("p", {class: "note", text: this.data.note}) : null,
            el("div", {class: "wide", tabindex: "0", role: "region", "aria-label": "Table: " + this.data.title},
                el("table", {}, el("thead", {}, el("tr", {}, ...this.heads)), this.body)),
            this.more);
    }

    sort(i) {
        const rows = this.data.rows;

        this.sorted = {column: i, sign: this.sorted.column === i ? -this.sorted.sign : this.isText(i) ? 1 : -1};
        this.order.sort((a, b) => {
            const x = rows[a][i], y = rows[b][i];
            if (x === null || y === null) /* what is not there comes last */
                return (x === null) - (y === null) || a - b;
            const d = typeof x === "number" && typeof y === "number" ? x - y :
                String(x).localeCompare(String(y), "en", {numeric: true});
            return this.sorted.sign * d || a - b;
        });
        this.heads.forEach((head, k) => {
            if (k === i)
                head.setAttribute("aria-sort", this.sorted.sign > 0 ? "ascending" : "descending");
            else
                head.removeAttribute("aria-sort");
        });
        this.fill();
    }

    fill() {
        const shown = this.order.slice(0, this.nShown), n = this.order.length;

        this.body.replaceChildren(...shown.map(row => el("tr", {}, ...this.data.columns.map((column, i) =>
            this.cell(this.data.rows[row][i], column, i)))));
        this.more.hidden = shown.length === n;
        this.rest.textContent = `${grouped(shown.length)} of ${grouped(n)} rows `;
    }

    cell(value, column, i) {
        const isShare = column.unit === "%" && isNumber(value);
        const cell = el(i === 0 ? "th" : "td", {scope: i === 0 ? "row" : null, text: show(value, column.unit),
            class: (this.isText(i) ? "text" : "number") + (isShare ? " share" : "") +
                (typeof value === "string" && value.length > 40 ? " long" : ""), "data-key": column.key,
            "data-value": value === null || value === undefined ? "" : value});

        if (isShare)
            cell.style.setProperty("--share", clamp(value, 0, 1));
        return cell;
    }

    csv() {
        const unit = c => c.unit && c.unit !== "text" && c.unit !== "count" ? ` (${c.unit === "%" ? "share of 1" : c.unit})` : "";
        const lines = [this.data.columns.map(c => csvField(c.name + unit(c))),
            ...this.order.map(row => this.data.rows[row].map(csvField))];

        return lines.map(line => line.join(",")).join("\n") + "\n";
    }
}

function tableSection(id, title, tables) {
    const section = panel(id, title);

    section.append(el("div", {class: "tables"}, ...tables.map(data => new Table(data).element)));
    return section;
}

/* --- why --------------------------------------------------------------------------------------- */

const CHAIN_COLOURS = {compute: () => ink.series[0], transfer: () => ink.series[1], wait: () => ink.link};

/* A button that highlights what `find` returns, {bars, nodes}; a second click takes it away. */
function markButton(key, label, isSpan, find) {
    const made = button("Show", "Highlight it in timeline and network", () => {
        if (marked && marked.key === key) {
            mark(null);
            return;
        }
        const {bars, nodes} = find();
        mark({key, label, bars: new Set(bars), nodes: new Set(nodes)});
        if (isSpan && page.timeline && bars.length > 0)
            page.timeline.showBars(bars);
    }, {class: "small", "aria-pressed": "false", "aria-label": "Highlight: " + label});

    on("mark", () => made.setAttribute("aria-pressed", Boolean(marked && marked.key === key)));
    return made;
}

function nodesOfBars(bars) {
    const all = page.timeline ? bars.map(bar => page.timeline.bars.node[bar]).filter(node => node >= 0) : [];

    return [...new Set(all)];
}

function barsOfNodes(nodes) {
    return page.timeline ? nodes.flatMap(node => page.timeline.barsOf(node)) : [];
}

function chainPart(chain, value) {
    const sums = [["compute", chain.compute_s], ["transfer", chain.transfer_s], ["wait", chain.wait_s]];
    const total = sums.reduce((sum, [, s]) => sum + (s || 0), 0) || 1;
    const stack = el("div", {class: "stack", role: "img",
        "aria-label": sums.map(([kind, s]) => `${kind} ${seconds(s)}`).join(", ")});
    const rows = (chain.parts || []).map((part, i) => el("tr", {},
        el("td", {}, swatch(CHAIN_COLOURS[part.kind] || CHAIN_COLOURS.wait), part.kind),
        el("td", {class: "number", text: seconds(part.end - part.start), "data-value": part.end - part.start}),
        el("td", {class: "text", text: part.text}),
        el("td", {}, part.bars && part.bars.length && page.timeline ? markButton("part" + i, "part of the chain: " + part.kind, true,
            () => ({bars: part.bars, nodes: nodesOfBars(part.bars)})) : null)));

    for (const [kind, s] of sums) {
        const piece = el("span", {class: "piece", title: `${kind} ${seconds(s)}`});
        piece.style.flexGrow = 1000 * (s || 0) / total;
        piece.style.background = CHAIN_COLOURS[kind]();
        on("theme", () => { piece.style.background = CHAIN_COLOURS[kind](); });
        if (s > 0)
            stack.append(piece);
    }
    const isValue = !isNumber(value) || Math.abs(total - value) <= 1e-3 * value;

    return el("div", {class: "reason", id: "chain"},
        el("h3", {text: isValue ? "What the value is made of" : "What the latency of one item is made of"}),
        el("p", {class: "note", text: "The chain of steps that ends last; each one waits for the one before."}), stack,
        el("p", {class: "legend"}, ...sums.filter(([, s]) => s > 0).map(([kind, s]) => el("span", {}, swatch(CHAIN_COLOURS[kind]), kind + " ",
            el("b", {text: seconds(s), "data-key": "chain." + kind + "_s", "data-value": s}), ` ${show(s / total, "%")}`))),
        rows.length ? el("div", {class: "wide list", tabindex: "0", role: "region", "aria-label": "Parts of the chain"},
            el("table", {}, el("thead", {}, el("tr", {}, el("th", {scope: "col", text: "part"}),
                el("th", {scope: "col", class: "number", text: "takes"}), el("th", {scope: "col", text: "what"}),
                el("th", {scope: "col"}, el("span", {class: "unseen", text: "highlight"})))), el("tbody", {}, ...rows))) : null);
}

function boundPart(bound, value) {
    const top = Math.max(value || 0, ...bound.parts.map(part => part.seconds || 0), 1e-30);
    const rows = bound.parts.map((part, i) => {
        const bar = el("span", {class: "gauge", "aria-hidden": "true"});

        bar.style.setProperty("--share", (part.seconds || 0) / top);
        return el("tr", {}, el("td", {class: "text"}, el("b", {text: part.name})),
            el("td", {class: "number", text: seconds(part.seconds), "data-key": part.key, "data-value": part.seconds}),
            el("td", {class: "text"}, bar, el("span", {class: "words", text: sentence(part.text)})),
            el("td", {}, part.nodes && part.nodes.length && (page.graph || page.timeline) ? markButton("bound" + i, part.name, false,
                () => ({bars: barsOfNodes(part.nodes), nodes: part.nodes})) : null));
    });

    return el("div", {class: "reason", id: "bound"}, el("h3", {text: "What the bound is made of"}),
        bound.text ? el("p", {class: "note", text: sentence(bound.text)}) : null,
        rows.length ? el("div", {class: "wide list", tabindex: "0", role: "region", "aria-label": "Reasons of the bound"},
            el("table", {}, el("thead", {}, el("tr", {}, el("th", {scope: "col", text: "no plan is faster because of"}),
                el("th", {scope: "col", class: "number", text: "least"}), el("th", {scope: "col", text: "how it compares with the plan"}),
                el("th", {scope: "col"}, el("span", {class: "unseen", text: "highlight"})))), el("tbody", {}, ...rows))) : null);
}

function whySection(data) {
    const section = panel("why", "Why is it not faster?");
    const value = isNumber(data.result && data.result.value) ? data.result.value : data.timeline ? data.timeline.end : 0;

    section.append(el("div", {class: "reasons"}, data.chain ? chainPart(data.chain, value) : null,
        data.bound ? boundPart(data.bound, value) : null));
    return section;
}

/* --- what is selected -------------------------------------------------------------------------- */

const MOST_LINKS = 12, NAME_LENGTH = 36;

function selectNode(node, from) {
    select(node, node >= 0 && page.timeline ? page.timeline.barOfNode(node) : -1, from);
}

class Inspector {
    constructor(graph, timeline) {
        this.graph = graph;
        this.timeline = timeline;
        this.body = el("div", {class: "body"});
        this.element = el("aside", {id: "inspector", class: "panel", "aria-labelledby": "inspector-title"},
            el("header", {}, el("h2", {id: "inspector-title", text: "Selection"}), el("span", {class: "grow"}),
                this.close = button("Clear", "Clear the selection (Escape)", () => select(-1, -1, "panel"), {hidden: true})),
            this.body);
        on("select", () => this.fill());
        this.fill();
    }

    fill() {
        const {node, bar} = selection;

        this.close.hidden = node < 0 && bar < 0;
        this.element.dataset.node = node;
        this.element.dataset.bar = bar;
        if (node >= 0 && this.graph)
            this.fillNode(node, bar);
        else if (bar >= 0)
            this.fillBar(bar);
        else
            this.fillEmpty();
    }

    fillEmpty() {
        const heading = this.graph ? "Longest nodes" : "Longest bars";
        const values = this.graph ? this.graph.nodes.seconds : this.timeline.bars.start.map((s, i) => this.timeline.bars.end[i] - s);
        const names = this.graph ? this.graph.nodes.name : this.timeline.bars.name;
        const top = values.map((value, i) => i).filter(i => isNumber(values[i]))
            .sort((a, b) => values[b] - values[a] || a - b).slice(0, 10);

        this.body.replaceChildren(el("p", {class: "note", text: "Select a bar of the timeline" +
            (this.graph ? " or a node of the network" : "") + " to see what it is."}),
        el("h3", {text: heading}), el("ol", {class: "links"}, ...top.map(i => el("li", {},
            button(shortened(names[i], NAME_LENGTH), names[i], () => this.graph ? selectNode(i, "panel") :
                select(this.timeline.bars.node[i], i, "panel"), {class: "link"}),
            el("span", {class: "number", text: seconds(values[i])})))));
    }

    /* Rows of label and value; what is not there has no row. */
    facts(rows) {
        return el("dl", {class: "rows"}, ...rows.filter(([, value]) => value !== null && value !== undefined && value !== "")
            .flatMap(([label, value, raw]) => [el("dt", {text: label}), el("dd", {"data-label": label, "data-value": raw},
                value)]));
    }

    fillNode(node, bar) {
        const n = this.graph.nodes, device = n.device[node], list = this.timeline ? this.timeline.barsOf(node) : [];
        const where = device >= 0 ? el("span", {}, swatchOnce(seriesColour(device)), this.graph.data.devices[device]) : null;
        const start = n.start && isNumber(n.start[node]) ? n.start[node] : bar >= 0 ? this.timeline.bars.start[bar] : null;

        this.body.replaceChildren(el("h3", {class: "name", text: n.name[node]}),
            this.facts([["operator", n.op[node]], ["shape", n.shape ? n.shape[node] : null], [this.graph.deviceWord, where],
                ["takes", isNumber(n.seconds[node]) ? seconds(n.seconds[node]) : null, n.seconds[node]],
                ["starts", start === null ? null : seconds(start), start],
                ["memory", n.bytes[node] > 0 ? bytes(n.bytes[node]) : null, n.bytes[node]],
                ["energy", n.joules && n.joules[node] > 0 ? show(n.joules[node], "J") : null, n.joules ? n.joules[node] : null],
                ["more", n.note ? n.note[node] : null]]),
            ...this.costs(node, device), ...this.bars(list, bar),
            ...this.neighbours("Needs", this.graph.before(node), this.graph.data.edges.from),
            ...this.neighbours("Needed by", this.graph.after(node), this.graph.data.edges.to));
        say(`Selected ${n.op[node]} ${n.name[node]}` + (device >= 0 ? ` on ${this.graph.data.devices[device]}` : "") +
            (isNumber(n.seconds[node]) ? `, ${seconds(n.seconds[node])}` : ""));
    }

    costs(node, device) {
        const costs = this.graph.data.costs;

        if (!costs || !costs.seconds[node])
            return [];
        const row = costs.seconds[node], known = row.filter(isNumber), best = Math.min(...known), most = Math.max(...known);
        const joules = costs.joules && costs.joules[node].some(j => j > 0) ? costs.joules[node] : null;
        const runs = device < 0 ? -1 : costs.of ? costs.of[device] : costs.on.indexOf(this.graph.data.devices[device]);
        const lines = row.map((s, i) => {
            const cell = el("td", {class: "number", text: s === null ? "cannot" : seconds(s), "data-value": s === null ? "" : s});
            const bar = el("span", {class: "gauge", "aria-hidden": "true"});
            bar.style.setProperty("--share", isNumber(s) && most > 0 ? s / most : 0);
            return el("tr", {class: i === runs ? "runs" : null},
                el("th", {scope: "row", class: "text"}, costs.on[i], i === runs ? el("em", {text: " runs here"}) : null),
                cell, joules ? el("td", {class: "number", text: joules[i] === null ? "" : show(joules[i], "J")}) : null,
                el("td", {class: "scale"}, bar), el("td", {}, isNumber(s) && s === best ? el("em", {class: "best", text: "best"}) : null));
        });

        return [el("h3", {text: "Costs on each device"}), el("table", {class: "costs"}, el("tbody", {}, ...lines))];
    }

    bars(list, bar) {
        if (list.length < 2)
            return [];
        const b = this.timeline.bars;

        return [el("h3", {text: `Its ${grouped(list.length)} bars`}), this.links(list, i => [
            this.timeline.data.rows[b.row[i]].name + " \u00b7 " + (b.name[i] === this.graph.nodes.name[b.node[i]] ?
                this.timeline.data.kinds[b.kind[i]] : b.name[i]), seconds(b.end[i] - b.start[i]),
            () => select(b.node[i], i, "panel"), i === bar])];
    }

    neighbours(title, edges, ends) {
        if (edges.length === 0)
            return [];
        const n = this.graph.nodes, {bytes: sent, unit} = this.graph.data.edges;

        return [el("h3", {text: title}), this.links(edges, e => [(n.op[ends[e]] + " " + n.name[ends[e]]).trim(),
            sent && isNumber(sent[e]) ? show(sent[e], unit || "B") : "", () => selectNode(ends[e], "panel"), false])];
    }

    links(list, describe) {
        const rest = list.length - MOST_LINKS;
        const item = x => {
            const [text, value, f, isNow] = describe(x);
            return el("li", {}, button(shortened(text, NAME_LENGTH), text, f, {class: "link", "aria-current": isNow ? "true" : null}),
                el("span", {class: "number", text: value}));
        };
        const made = el("ul", {class: "links"}, ...list.slice(0, MOST_LINKS).map(item));

        if (rest > 0)
            made.append(el("li", {}, button(`${grouped(rest)} more`, "Show all", e => {
                e.currentTarget.parentNode.replaceWith(...list.slice(MOST_LINKS).map(item));
            }, {class: "link"})));
        return made;
    }

    fillBar(bar) {
        const t = this.timeline, b = t.bars, row = t.data.rows[b.row[bar]], arrows = t.arrowsOf(bar);
        const {from, to} = t.data.arrows || {from: [], to: []};
        const list = (title, bars) => bars.length ? [el("h3", {text: title}), this.links(bars, i => [
            b.name[i] + " \u00b7 " + t.data.rows[b.row[i]].name, seconds(b.end[i] - b.start[i]),
            () => select(b.node[i], i, "panel"), false])] : [];

        this.body.replaceChildren(el("h3", {class: "name", text: b.name[bar] || t.data.kinds[b.kind[bar]]}),
            this.facts([["kind", t.data.kinds[b.kind[bar]]], [row.kind, row.name],
                ["takes", seconds(b.end[bar] - b.start[bar]), b.end[bar] - b.start[bar]],
                ["starts", seconds(b.start[bar]), b.start[bar]], ["ends", seconds(b.end[bar]), b.end[bar]]]),
            ...list("After", arrows.filter(i => to[i] === bar).map(i => from[i])),
            ...list("Before", arrows.filter(i => from[i] === bar).map(i => to[i])));
        say(`Selected ${b.name[bar]}, ${t.data.kinds[b.kind[bar]]} on ${row.name}, ${seconds(b.end[bar] - b.start[bar])}`);
    }
}

function swatchOnce(colour) {
    const box = el("span", {class: "swatch", "aria-hidden": "true"});

    box.style.background = colour;
    return box;
}

/* --- where it comes from ----------------------------------------------------------------------- */

function aboutSection(data) {
    const section = panel("about", "About this page");
    const groups = (data.about || []).map(group => el("div", {class: "group"}, el("h3", {text: group.title}),
        el("dl", {class: "rows"}, ...group.rows.flatMap(([label, value]) => [el("dt", {text: label}),
            el("dd", {text: show(value)})]))));

    section.append(el("div", {class: "groups"}, ...groups));
    if (data.assumptions && data.assumptions.length)
        section.append(el("h3", {text: "What the figures assume"}),
            el("ul", {class: "assumptions"}, ...data.assumptions.map(text => el("li", {text}))));
    if (data.command) {
        const copyButton = button("Copy", "Copy the commands", () => copy(data.command, copyButton), {class: "small"});
        section.append(el("div", {class: "bar"}, el("h3", {text: "Make this page again"}), copyButton),
            el("pre", {class: "command", tabindex: "0", text: data.command}));
    }
    return section;
}
