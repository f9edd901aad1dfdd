/* SPDX-License-Identifier: MIT */
/* graph.js: the network, laid out by the program; a canvas with pan and zoom, and beside it the
 * whole, stretched to a strip. Only what is in view is drawn; far away, boxes have no text and
 * lines no corners.
 *
 * The program lays out from top to bottom. Screens are wide and networks long: a drawing that is
 * higher than wide is turned, and then goes from left to right as time does. */

const BAND = {width: 1000, more: 60, most: 30}; /* pixels of a line on paper, and what two lines share */
const FAR = 0.2, MOST_FAR_EDGES = 4000; /* below this scale lines are a haze: some of them are enough */
const START = 0.8; /* the largest scale of the first view */
const STRIP = 74, MARGIN = 24, BOX = {width: 92, height: 34};

const SCALES = {
    time: {key: "seconds", unit: "s", name: "time where it runs"},
    memory: {key: "bytes", unit: "B", name: "memory of results and weights"},
    energy: {key: "joules", unit: "J", name: "energy"},
};

class Graph {
    constructor(data, kind) {
        this.data = data;
        this.nodes = data.nodes;
        this.n = data.nodes.name.length;
        data.nodes.op = data.nodes.op ? data.nodes.op.map(op => op || "") : data.nodes.name.map(() => "");
        this.view = {x: 0, y: 0, k: 1}; /* points at the middle of the canvas; pixels for a point */
        this.by = "device";
        this.hovered = -1;
        this.found = new Set();
        this.deviceWord = kind === "shard" ? "set" : kind === "train" ? "stage" : "device";
        this.isTurned = data.height > 1.2 * data.width;
        if (this.isTurned)
            this.turn();
        this.makeNeighbours();
        this.build();
    }

    /* --- indices ---------------------------------------------------------------------------- */

    makeNeighbours() {
        const {from, to} = this.data.edges;

        this.before = positions(this.n, to); /* edges into a node */
        this.after = positions(this.n, from);
    }

    /* Exchanges x and y, and stretches them so that boxes are as wide and high as names need. */
    turn() {
        const {x, y, w, h} = this.nodes, at = (list, share) => [...list].sort((a, b) => a - b)[Math.floor(list.length * share)] || 1;
        const along = BOX.width / at(h, 0.5), across = BOX.height / Math.max(at(w, 0.1), at(w, 0.5) / 2);
        const turned = line => line.map((_, i) => i % 2 === 0 ? line[i + 1] * along : line[i - 1] * across);

        this.nodes = {...this.nodes, x: y.map(v => v * along), y: x.map(v => v * across), w: h.map(v => v * along),
            h: w.map(v => clamp(v * across, BOX.height * 0.7, BOX.height))};
        this.data = {...this.data, width: this.data.height * along, height: this.data.width * across, nodes: this.nodes,
            edges: {...this.data.edges, points: (this.data.edges.points || []).map(line => line ? turned(line) : line)}};
    }

    /* Where an edge leaves a node (sign 1) or reaches it (sign -1). */
    port(node, sign) {
        const {x, y, w, h} = this.nodes;

        return this.isTurned ? [x[node] + sign * w[node] / 2, y[node]] : [x[node], y[node] + sign * h[node] / 2];
    }

    /* Corners of each edge and its box. An edge without corners goes straight. */
    makeLines() {
        const {from, to, points} = this.data.edges, {y, h} = this.nodes;
        const within = (v, node) => clamp(v, y[node] - h[node] / 2 + 3, y[node] + h[node] / 2 - 3);

        this.lines = from.map((u, e) => {
            const given = points && points[e], v = to[e];
            if (!given || given.length < 4)
                return [...this.port(u, 1), ...this.port(v, -1)];
            if (this.isTurned) { /* boxes have become lower than they were wide */
                given[1] = within(given[1], u);
                given[given.length - 1] = within(given[given.length - 1], v);
            }
            return given;
        });
        this.boxes = new Float64Array(4 * from.length);
        this.lines.forEach((line, e) => {
            let left = Infinity, right = -Infinity, top = Infinity, bottom = -Infinity;
            for (let i = 0; i < line.length; i += 2) {
                left = Math.min(left, line[i]);
                right = Math.max(right, line[i]);
                top = Math.min(top, line[i + 1]);
                bottom = Math.max(bottom, line[i + 1]);
            }
            this.boxes.set([left, right, top, bottom], 4 * e);
        });
    }

    /* --- elements --------------------------------------------------------------------------- */

    build() {
        const label = "Network graph. Arrow keys move, plus and minus zoom, 0 shows all, comma and point " +
            "select the node before and after, Escape clears.";

        this.canvas = el("canvas", {tabindex: "0", role: "application", "aria-label": label, class: "graph"});
        this.strip = el("canvas", {class: "map", "aria-hidden": "true"});
        if (this.isTurned) /* as high as it needs at the scale that can be read */
            this.canvas.style.height = clamp(Math.round(this.data.height * START + 2 * MARGIN), 200, 470) + "px";
        this.strip.style[this.isTurned ? "height" : "width"] = STRIP + "px";
        this.key = el("span", {class: "legend line"});
        this.element = panel("network", "Network", this.colourChoice(), el("span", {class: "grow"}),
            this.searchBox(), this.tools(), this.key);
        this.element.append(el("div", {class: this.isTurned ? "drawing turned" : "drawing"}, this.canvas, this.strip),
            el("p", {class: "hint", text: this.hint()}));
        this.surface = new Surface(this.canvas, (c, w, h) => this.draw(c, w, h));
        this.overview = new Surface(this.strip, (c, w, h) => this.drawStrip(c, w, h));
        this.listen();
        this.colourBy(this.by);
        on("theme", () => {
            this.showKey();
            if (isPrinting && !this.bands)
                this.makeBands();
        });
    }

    /* On paper, a long drawing goes on in the next line: one canvas for each. */
    makeBands() {
        const k = 0.7, n = 1 + Math.ceil((this.data.width * k + BAND.more / 2 - BAND.width) / (BAND.width - BAND.more));

        if (!this.isTurned || n < 2 || n > BAND.most)
            return;
        this.bands = el("div", {class: "bands"});
        for (let i = 0; i < n; i++) {
            const canvas = el("canvas", {"aria-hidden": "true"}), left = (i * (BAND.width - BAND.more) - BAND.more / 2) / k;
            const [top, bottom] = this.extent(left, left + BAND.width / k);
            if (!(top < bottom))
                continue; /* nothing but lines */
            canvas.style.height = Math.round((bottom - top) * k) + MARGIN + "px";
            this.bands.append(canvas);
            new Surface(canvas, (c, width, height) => {
                const scale = k * Math.min(width / BAND.width, 1);
                this.drawPart(c, width, height, left + width / 2 / scale, (top + bottom) / 2, scale);
            });
        }
        this.element.classList.add("banded");
        this.element.append(this.bands);
    }

    /* Top and bottom of what lies between two abscissas. */
    extent(left, right) {
        const {x, y, w, h} = this.nodes;
        let top = Infinity, bottom = -Infinity;

        for (let i = 0; i < this.n; i++)
            if (x[i] + w[i] / 2 >= left && x[i] - w[i] / 2 <= right) {
                top = Math.min(top, y[i] - h[i] / 2);
                bottom = Math.max(bottom, y[i] + h[i] / 2);
            }
        return [top, bottom];
    }

    hint() {
        const n = this.data.edges.from.length, cross = this.data.edges.is_cross || [];
        const nCross = cross.reduce((sum, is) => sum + (is ? 1 : 0), 0);

        return `${grouped(this.n)} nodes, ${grouped(n)} edges` +
            (nCross ? `, ${grouped(nCross)} of them between ${this.deviceWord}s (drawn strong)` : "") +
            (this.data.is_graphviz ? "." : "; laid out in rows by depth.") +
            " Click a node for its costs; click into the drawing to zoom with the wheel.";
    }

    tools() {
        return el("span", {class: "tools"},
            button("\u2212", "Zoom out (\u2212)", () => this.zoom(1 / 1.4)),
            button("+", "Zoom in (+)", () => this.zoom(1.4)),
            button("Fit", "Show all (0)", () => this.fit()));
    }

    colourChoice() {
        const has = key => Array.isArray(this.nodes[key]) && this.nodes[key].some(value => value > 0);
        const choice = el("select", {id: "colour-by", onchange: e => this.colourBy(e.target.value)},
            el("option", {value: "device", text: this.deviceWord}),
            ...Object.entries(SCALES).filter(([, s]) => has(s.key)).map(([value]) => el("option", {value, text: value})));

        this.choice = choice;
        return el("label", {class: "choice"}, "Colour by ", choice);
    }

    searchBox() {
        this.matches = [];
        this.active = -1;
        this.list = el("ul", {id: "found", role: "listbox", "aria-label": "Nodes found", hidden: true});
        this.search = el("input", {type: "search", id: "search", placeholder: "Find a node", role: "combobox",
            autocomplete: "off", spellcheck: "false", "aria-label": "Find a node by name or operator",
            "aria-expanded": "false", "aria-controls": "found", oninput: () => this.find(),
            onkeydown: e => this.searchKey(e), onfocus: () => this.find(), onblur: () => this.closeList()});
        return el("span", {class: "search"}, this.search, this.list);
    }

    find() {
        const text = this.search.value.trim().toLowerCase(), most = 10;

        this.matches = [];
        this.found = new Set();
        for (let i = 0; text && i < this.n; i++)
            if (this.nodes.name[i].toLowerCase().includes(text) || this.nodes.op[i].toLowerCase().includes(text))
                this.found.add(i);
        this.matches = [...this.found].slice(0, most);
        this.active = this.matches.length ? 0 : -1;
        this.showList(text !== "");
        this.surface.redraw();
    }

    showList(isOpen) {
        const rest = this.found.size - this.matches.length;

        this.list.replaceChildren(...this.matches.map((node, i) => el("li", {role: "option", id: "found-" + i,
            "aria-selected": i === this.active, onpointerdown: e => {
                e.preventDefault();
                this.take(node);
            }}, el("b", {text: this.nodes.op[node]}), " " + this.nodes.name[node])));
        if (this.found.size === 0)
            this.list.append(el("li", {class: "none", text: "no node has this in its name or operator"}));
        else if (rest > 0)
            this.list.append(el("li", {class: "none", text: `and ${grouped(rest)} more, outlined in the drawing`}));
        this.list.hidden = !isOpen;
        this.search.setAttribute("aria-expanded", isOpen);
        if (this.active >= 0)
            this.search.setAttribute("aria-activedescendant", "found-" + this.active);
        else
            this.search.removeAttribute("aria-activedescendant");
    }

    closeList() {
        this.list.hidden = true;
        this.search.setAttribute("aria-expanded", "false");
    }

    searchKey(e) {
        const n = this.matches.length;

        if (e.key === "Escape") {
            this.search.value = "";
            this.find();
        } else if (n > 0 && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
            this.active = (this.active + (e.key === "ArrowDown" ? 1 : n - 1)) % n;
            this.showList(true);
        } else if (n > 0 && e.key === "Enter") {
            this.take(this.matches[this.active]);
        } else {
            return;
        }
        e.preventDefault();
    }

    take(node) {
        this.closeList();
        selectNode(node, "search");
    }

    /* --- colours ---------------------------------------------------------------------------- */

    colourBy(by) {
        const scale = SCALES[by];

        this.by = by;
        this.most = 0;
        if (scale)
            for (const value of this.nodes[scale.key])
                if (isNumber(value))
                    this.most = Math.max(this.most, value);
        this.showKey();
        this.redraw();
    }

    /* Square roots: a few large nodes would leave all others with one colour. */
    share(node) {
        const value = this.nodes[SCALES[this.by].key][node];

        return isNumber(value) && this.most > 0 ? Math.sqrt(value / this.most) : 0;
    }

    colour(node) {
        return this.by === "device" ? seriesColour(this.nodes.device[node]) : scaleColour(this.share(node));
    }

    showKey() {
        const scale = SCALES[this.by], most = 12;

        this.element.dataset.by = this.by;
        if (!scale) {
            const names = this.data.devices, rest = names.length - most;
            this.key.replaceChildren(...names.slice(0, most).map((name, i) => {
                const box = el("span", {class: "swatch", "aria-hidden": "true"});
                box.style.background = seriesColour(i);
                return el("span", {}, box, name);
            }), rest > 0 ? el("span", {text: `and ${rest} more`}) : "");
            return;
        }
        const bar = el("span", {class: "ramp", role: "img", "aria-label": scale.name + ", 0 to " + show(this.most, scale.unit)});
        bar.style.background = `linear-gradient(to right, ${[0, 1, 2, 3].map(i => scaleColour(i / 3)).join(", ")})`;
        this.key.replaceChildren(el("span", {text: "0"}), bar, el("span", {text: show(this.most, scale.unit)}),
            el("span", {class: "dim", text: scale.name + "; middle: " + show(this.most / 4, scale.unit)}));
    }

    /* --- the view --------------------------------------------------------------------------- */

    redraw() {
        this.surface.redraw();
        this.overview.redraw();
    }

    setView(x, y, k) {
        const least = Math.min(this.fitScale() * 0.6, 0.6);

        /* What fits is in the middle; else no more than a margin beside it is empty. */
        const within = (at, all, room) => all + MARGIN <= room ? all / 2 :
            clamp(at, (room - MARGIN) / 2, all - (room - MARGIN) / 2);

        this.view.k = clamp(k, least, 4);
        this.view.x = within(x, this.data.width, this.surface.width / this.view.k);
        this.view.y = within(y, this.data.height, this.surface.height / this.view.k);
        this.element.dataset.scale = this.view.k;
        this.isPlaced = true;
        this.redraw();
    }

    fitScale() {
        const width = this.surface.width || this.canvas.clientWidth || 800;
        const height = this.surface.height || this.canvas.clientHeight || 520;

        return Math.min((width - MARGIN) / this.data.width, (height - MARGIN) / this.data.height);
    }

    fit() {
        this.setView(this.data.width / 2, this.data.height / 2, Math.min(this.fitScale(), 1.6));
    }

    /* All of it if it can be read then; else the beginning, as wide as the canvas or readable. */
    begin() {
        const width = this.surface.width, height = this.surface.height, k = this.fitScale();

        if (k >= 0.55) {
            this.fit();
            return;
        }
        const fits = this.isTurned ? (height - MARGIN) / this.data.height : (width - MARGIN) / this.data.width;
        const readable = clamp(fits, 0.62, START);
        if (this.isTurned)
            this.setView((width / 2 - MARGIN / 2) / readable, this.data.height / 2, readable);
        else
            this.setView(this.data.width / 2, (height / 2 - MARGIN / 2) / readable, readable);
    }

    zoom(factor, x, y) {
        const {k} = this.view, dx = x === undefined ? 0 : x - this.surface.width / 2;
        const dy = y === undefined ? 0 : y - this.surface.height / 2;
        const next = clamp(k * factor, Math.min(this.fitScale() * 0.6, 0.6), 4);

        this.setView(this.view.x + dx / k - dx / next, this.view.y + dy / k - dy / next, next);
    }

    reveal(node) {
        const k = Math.max(this.view.k, 0.8), {x, y} = this.nodes;
        const dx = Math.abs(x[node] - this.view.x) * this.view.k, dy = Math.abs(y[node] - this.view.y) * this.view.k;

        if (this.view.k < 0.5 || dx > this.surface.width / 2 - 60 || dy > this.surface.height / 2 - 40)
            this.setView(x[node], y[node], k);
    }

    nodeAt(px, py) {
        const {x, y, w, h} = this.nodes, {k} = this.view, more = 3 / k;
        const px0 = this.view.x + (px - this.surface.width / 2) / k;
        const py0 = this.view.y + (py - this.surface.height / 2) / k;

        for (let i = this.n - 1; i >= 0; i--)
            if (Math.abs(px0 - x[i]) <= w[i] / 2 + more && Math.abs(py0 - y[i]) <= h[i] / 2 + more)
                return i;
        return -1;
    }

    /* --- events ----------------------------------------------------------------------------- */

    listen() {
        const local = e => {
            const box = this.canvas.getBoundingClientRect();
            return [e.clientX - box.left, e.clientY - box.top];
        };
        let drag = null;

        this.canvas.addEventListener("wheel", e => {
            if (!e.ctrlKey && document.activeElement !== this.canvas)
                return;
            e.preventDefault();
            this.zoom(Math.exp(-clamp(e.deltaY * (e.deltaMode === 1 ? 16 : 1), -240, 240) / 400), ...local(e));
        }, {passive: false});
        this.canvas.addEventListener("pointerdown", e => {
            if (e.button !== 0)
                return;
            drag = {x: e.clientX, y: e.clientY, view: {...this.view}, isMoved: false};
            this.canvas.setPointerCapture(e.pointerId);
        });
        this.canvas.addEventListener("pointermove", e => {
            if (drag)
                this.dragged(drag, e);
            else
                this.hover(e, ...local(e));
        });
        this.canvas.addEventListener("pointerup", e => {
            if (drag && !drag.isMoved) {
                this.canvas.focus({preventScroll: true});
                selectNode(this.nodeAt(...local(e)), "graph");
            }
            drag = null;
        });
        this.canvas.addEventListener("pointercancel", () => { drag = null; });
        this.canvas.addEventListener("pointerleave", () => {
            hideTip();
            this.hovered = -1;
        });
        this.canvas.addEventListener("dblclick", e => this.zoom(1.8, ...local(e)));
        this.canvas.addEventListener("keydown", e => this.pressed(e));
        this.listenStrip();
        on("select", from => {
            if (selection.node >= 0 && from !== "graph")
                this.reveal(selection.node);
            this.redraw();
        });
        on("mark", () => this.redraw());
    }

    dragged(drag, e) {
        const dx = e.clientX - drag.x, dy = e.clientY - drag.y;

        if (!drag.isMoved && Math.abs(dx) + Math.abs(dy) < 4)
            return;
        drag.isMoved = true;
        hideTip();
        this.setView(drag.view.x - dx / this.view.k, drag.view.y - dy / this.view.k, this.view.k);
    }

    hover(e, x, y) {
        const node = this.nodeAt(x, y);

        this.canvas.style.cursor = node >= 0 ? "pointer" : "grab";
        if (node >= 0)
            showTip(e, this.describe(node));
        else
            hideTip();
        if (node !== this.hovered) {
            this.hovered = node;
            this.surface.redraw();
        }
    }

    describe(node) {
        const n = this.nodes, lines = [n.name[node]];

        if (n.op[node])
            lines.push(["operator", n.op[node]]);
        if (n.device[node] >= 0)
            lines.push([this.deviceWord, this.data.devices[n.device[node]]]);
        if (isNumber(n.seconds[node]))
            lines.push(["takes", seconds(n.seconds[node])]);
        if (n.shape && n.shape[node])
            lines.push(["shape", n.shape[node]]);
        if (n.bytes[node] > 0)
            lines.push(["memory", bytes(n.bytes[node])]);
        return lines;
    }

    pressed(e) {
        const step = 80 / this.view.k, {x, y, k} = this.view;
        const go = by => selectNode(clamp(selection.node < 0 ? 0 : selection.node + by, 0, this.n - 1), "keys");
        const keys = {
            ArrowLeft: () => this.setView(x - step, y, k), ArrowRight: () => this.setView(x + step, y, k),
            ArrowUp: () => this.setView(x, y - step, k), ArrowDown: () => this.setView(x, y + step, k),
            "+": () => this.zoom(1.4), "=": () => this.zoom(1.4), "-": () => this.zoom(1 / 1.4), "0": () => this.fit(),
            ",": () => go(-1), ".": () => go(1), Escape: () => { mark(null); selectNode(-1, "graph"); },
        };

        if (e.ctrlKey || e.metaKey || e.altKey || !(e.key in keys))
            return;
        e.preventDefault();
        keys[e.key]();
    }

    listenStrip() {
        let isDown = false;
        const go = e => {
            const box = this.strip.getBoundingClientRect();
            this.setView((e.clientX - box.left) / box.width * this.data.width,
                (e.clientY - box.top) / box.height * this.data.height, this.view.k);
        };

        this.strip.addEventListener("pointerdown", e => {
            isDown = true;
            this.strip.setPointerCapture(e.pointerId);
            go(e);
        });
        this.strip.addEventListener("pointermove", e => isDown && go(e));
        this.strip.addEventListener("pointerup", () => { isDown = false; });
        this.strip.addEventListener("pointercancel", () => { isDown = false; });
    }

    /* --- drawing ---------------------------------------------------------------------------- */

    draw(c, width, height) {
        if (!this.isPlaced)
            this.begin();
        this.drawPart(c, width, height, this.view.x, this.view.y, this.view.k);
    }

    /* What is around a point, at a scale. */
    drawPart(c, width, height, x, y, k) {
        if (!this.lines)
            this.makeLines();
        const seen = {left: x - width / 2 / k, right: x + width / 2 / k, top: y - height / 2 / k, bottom: y + height / 2 / k};

        c.save();
        c.translate(width / 2 - x * k, height / 2 - y * k);
        c.scale(k, k);
        this.drawEdges(c, seen, k);
        this.drawNodes(c, seen, k);
        c.restore();
    }

    isEdgeSeen(e, seen) {
        const b = this.boxes, i = 4 * e;

        return b[i] <= seen.right && b[i + 1] >= seen.left && b[i + 2] <= seen.bottom && b[i + 3] >= seen.top;
    }

    isEdgeBack(e) {
        return marked && marked.nodes &&
            !(marked.nodes.has(this.data.edges.from[e]) && marked.nodes.has(this.data.edges.to[e]));
    }

    drawEdges(c, seen, k) {
        const plainEdges = [], cross = [], chosen = [], is = this.data.edges.is_cross || [];
        const {from, to} = this.data.edges, node = selection.node;

        for (let e = 0; e < from.length; e++) {
            if (!this.isEdgeSeen(e, seen))
                continue;
            if (node >= 0 && (from[e] === node || to[e] === node))
                chosen.push(e);
            else
                (is[e] && !this.isEdgeBack(e) ? cross : plainEdges).push(e);
        }
        const thinned = list => k >= FAR || list.length <= MOST_FAR_EDGES ? list :
            list.filter((_, i) => i % Math.ceil(list.length / MOST_FAR_EDGES) === 0);
        this.strokeEdges(c, thinned(plainEdges), marked ? blend(ink.dim, ink.panel, 0.6) : ink.dim, 0.9, k, false);
        this.strokeEdges(c, thinned(cross), ink.text, 1.5, k, false);
        this.strokeEdges(c, chosen, ink.select, 2.2, k, true);
    }

    strokeEdges(c, edges, colour, thick, k, isStrong) {
        const isFar = k < FAR;

        c.strokeStyle = c.fillStyle = colour;
        c.lineWidth = isFar ? Math.min((isStrong ? 1.6 : 0.6) / k, 8) : Math.max(thick, 0.7 / k);
        c.beginPath();
        for (const e of edges) {
            const p = this.lines[e], n = p.length;
            c.moveTo(p[0], p[1]);
            if (!isFar)
                for (let i = 2; i + 3 < n; i += 2)
                    c.quadraticCurveTo(p[i], p[i + 1], i + 5 < n ? (p[i] + p[i + 2]) / 2 : p[i + 2],
                        i + 5 < n ? (p[i + 1] + p[i + 3]) / 2 : p[i + 3]);
            if (isFar || n < 6)
                c.lineTo(p[n - 2], p[n - 1]);
        }
        c.stroke();
        if (k < 0.4)
            return;
        c.beginPath();
        for (const e of edges)
            this.arrowHead(c, this.lines[e]);
        c.fill();
    }

    arrowHead(c, p) {
        const n = p.length, x = p[n - 2], y = p[n - 1];
        const long = Math.hypot(x - p[n - 4], y - p[n - 3]) || 1;
        const ux = (x - p[n - 4]) / long, uy = (y - p[n - 3]) / long;

        c.moveTo(x, y);
        c.lineTo(x - 6 * ux - 3 * uy, y - 6 * uy + 3 * ux);
        c.lineTo(x - 6 * ux + 3 * uy, y - 6 * uy - 3 * ux);
        c.closePath();
    }

    drawNodes(c, seen, k) {
        const {x, y, w, h} = this.nodes, isText = k >= 0.38;

        for (let i = 0; i < this.n; i++) {
            if (x[i] + w[i] / 2 < seen.left || x[i] - w[i] / 2 > seen.right || y[i] + h[i] / 2 < seen.top ||
                y[i] - h[i] / 2 > seen.bottom)
                continue;
            const colour = this.colour(i), isBack = marked && marked.nodes && !marked.nodes.has(i);
            c.globalAlpha = isBack ? 0.22 : 1;
            c.fillStyle = colour;
            c.fillRect(x[i] - w[i] / 2, y[i] - h[i] / 2, w[i], h[i]);
            if (isText)
                this.drawText(c, i, colour);
            if (i === selection.node || i === this.hovered || this.found.has(i)) {
                const thick = (i === selection.node ? 3 : 2) / Math.min(k, 1);
                c.globalAlpha = 1;
                c.strokeStyle = i === this.hovered && i !== selection.node ? ink.text : ink.select;
                c.lineWidth = thick;
                c.strokeRect(x[i] - w[i] / 2 - thick / 2, y[i] - h[i] / 2 - thick / 2, w[i] + thick, h[i] + thick);
            }
        }
        c.globalAlpha = 1;
    }

    drawText(c, i, colour) {
        const {x, y, w, h, op, name} = this.nodes, isTwo = op[i] && name[i] !== op[i] && h[i] >= 26;
        const size = Math.min(h[i] * (isTwo ? 0.36 : 0.55), 11);

        c.fillStyle = textOn(colour);
        c.textAlign = "center";
        c.textBaseline = "middle";
        c.font = `600 ${size}px ${FONT}`;
        c.fillText(fitted(c, op[i] || name[i], w[i] - 6), x[i], isTwo ? y[i] - h[i] * 0.2 : y[i]);
        if (isTwo) {
            c.font = `${size * 0.9}px ${FONT}`;
            c.fillText(fitted(c, name[i], w[i] - 6), x[i], y[i] + h[i] * 0.22);
        }
        c.textAlign = "start";
    }

    /* The whole, and a frame around what is in view. */
    drawStrip(c, width, height) {
        const key = [width, height, isDark(), isPrinting, this.by, marked ? marked.label : ""].join();
        const sx = width / this.data.width, sy = height / this.data.height;

        if (!this.whole || this.whole.key !== key)
            this.whole = {key, canvas: this.paintWhole(width, height, c.getTransform().a)};
        c.fillStyle = ink.faint;
        c.fillRect(0, 0, width, height);
        c.drawImage(this.whole.canvas, 0, 0, width, height);
        const {x, y, k} = this.view, w = this.surface.width / k * sx, h = this.surface.height / k * sy;
        const left = clamp(x * sx - w / 2, 0, width), right = clamp(x * sx + w / 2, 0, width);
        const top = clamp(y * sy - h / 2, 0, height), bottom = clamp(y * sy + h / 2, 0, height);
        c.strokeStyle = ink.accent;
        c.lineWidth = 2;
        c.strokeRect(left + 1, top + 1, Math.max(right - left - 2, 2), Math.max(bottom - top - 2, 2));
        if (selection.node >= 0) {
            c.fillStyle = ink.select;
            c.beginPath();
            c.arc(this.nodes.x[selection.node] * sx, this.nodes.y[selection.node] * sy, 4, 0, 7);
            c.fill();
        }
    }

    paintWhole(width, height, ratio) {
        const canvas = document.createElement("canvas"), {x, y, w, h} = this.nodes;
        const sx = width / this.data.width, sy = height / this.data.height;

        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        const d = canvas.getContext("2d");
        d.scale(ratio, ratio);
        for (let i = 0; i < this.n; i++) {
            d.globalAlpha = marked && marked.nodes && !marked.nodes.has(i) ? 0.2 : 1;
            d.fillStyle = this.colour(i);
            d.fillRect((x[i] - w[i] / 2) * sx, (y[i] - h[i] / 2) * sy, Math.max(w[i] * sx, 1), Math.max(h[i] * sy, 0.8));
        }
        return canvas;
    }
}
