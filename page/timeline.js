/* SPDX-License-Identifier: MIT */
/* timeline.js: who works when. One canvas for the rows, one below for the whole at a glance.
 *
 * The bars of a lane do not overlap and are sorted, so what is in view is found by bisection. Bars
 * narrower than a pixel are drawn once a pixel: the cost is bounded by the pixels, not the bars. */

const KIND_COLOURS = { /* by name of the kind: index of a series, or a colour of the style sheet */
    compute: 0, forward: 0, backward: 1, recompute: 4, update: 2, sync: 3, shared: 6,
    transfer: "link", send: "link", return: "dim", rotate: 1, reduce: 3, reshard: 4, handover: 5,
    host: "link", wait: "faint",
};
const AXIS = 24, OVERVIEW = 46, ROW_GAP = 5, MOST_HEIGHT = 470;
const LANE_HEIGHT = {device: 26, set: 26, stage: 26, link: 15};

class Timeline {
    constructor(data, graph) {
        this.data = data;
        this.bars = data.bars;
        this.nodes = graph ? graph.nodes : null;
        this.n = data.bars.start.length;
        this.end = data.end > 0 ? data.end : Math.max(1e-12, ...data.bars.end.slice(0, 1e5));
        this.view = {from: 0, to: this.end};
        this.areLinksShown = true;
        this.hovered = -1;
        this.makeKinds();
        this.makeArrows();
        this.makeLanes();
        this.build();
    }

    /* --- indices ---------------------------------------------------------------------------- */

    makeKinds() {
        let next = 0;

        this.kindColour = this.data.kinds.map(kind => {
            const key = kind.toLowerCase();
            return key in KIND_COLOURS ? KIND_COLOURS[key] : next++ % SERIES;
        });
        this.isByRow = this.data.colour_by !== "kind";
    }

    makeArrows() {
        const {from, to} = this.data.arrows || {from: [], to: []};
        const out = positions(this.n, from), into = positions(this.n, to);

        this.arrowsOf = bar => out(bar).concat(into(bar));
        this.barsOf = positions(this.nodes ? this.nodes.name.length : 0, this.nodes ? this.bars.node : []);
    }

    /* The bar that stands for a node: the first one that is not sent over a link. */
    barOfNode(node) {
        const bars = this.barsOf(node), said = this.nodes && this.nodes.bar ? this.nodes.bar[node] : -1;

        if (said >= 0)
            return said;
        const own = bars.find(i => this.data.rows[this.bars.row[i]].kind !== "link");

        return own === undefined ? (bars.length ? bars[0] : -1) : own;
    }

    makeLanes() {
        const rows = this.data.rows, first = [], lanes = [];
        let n = 0;

        for (const row of rows) {
            first.push(n);
            n += Math.max(1, row.lanes || 1);
        }
        for (let i = 0; i < n; i++)
            lanes.push([]);
        for (let i = 0; i < this.n; i++)
            lanes[first[this.bars.row[i]] + (this.bars.lane ? this.bars.lane[i] : 0)].push(i);
        for (const lane of lanes)
            lane.sort((a, b) => this.bars.start[a] - this.bars.start[b] || this.bars.end[a] - this.bars.end[b]);
        this.first = first;
        this.laneBars = lanes;
        this.nIdle = rows.filter((row, i) => row.kind === "link" && this.isEmptyRow(i)).length;
        this.nLinks = rows.filter(row => row.kind === "link").length - this.nIdle;
        this.nUnused = rows.filter((row, i) => row.kind !== "link" && this.isEmptyRow(i)).length;
    }

    isEmptyRow(row) {
        for (let i = 0; i < Math.max(1, this.data.rows[row].lanes || 1); i++)
            if (this.laneBars[this.first[row] + i].length > 0)
                return false;
        return true;
    }

    /* Tops of rows and lanes; links that carry nothing and devices without work have no row. */
    makeRows() {
        let top = ROW_GAP;

        this.rows = [];
        this.lanes = [];
        this.rowAt = new Map();
        this.data.rows.forEach((row, i) => {
            const height = LANE_HEIGHT[row.kind] || 22, n = Math.max(1, row.lanes || 1);

            if (this.isEmptyRow(i) && this.n > 0 || row.kind === "link" && !this.areLinksShown)
                return;
            this.rowAt.set(i, this.rows.length);
            this.rows.push({row: i, top, height: n * height, each: height});
            for (let lane = 0; lane < n; lane++)
                this.lanes.push({row: i, top: top + lane * height, height, bars: this.laneBars[this.first[i] + lane]});
            top += n * height + ROW_GAP;
        });
        this.total = top;
        this.space.style.height = AXIS + this.total + "px";
        this.canvas.style.height = this.scroll.style.height =
            Math.min(AXIS + this.total, isPrinting ? Infinity : MOST_HEIGHT) + "px";
        this.gutter = 0;
    }

    /* --- elements --------------------------------------------------------------------------- */

    build() {
        const label = "Timeline. Arrow keys move, plus and minus zoom, 0 shows all, comma and point " +
            "select the bar before and after, C marks the critical chain, Escape clears.";

        this.canvas = el("canvas", {tabindex: "0", role: "application", "aria-label": label, class: "rows"});
        this.space = el("div", {class: "space"}, this.canvas);
        this.scroll = el("div", {class: "scroll"}, this.space);
        this.strip = el("canvas", {class: "strip", "aria-hidden": "true"});
        this.strip.style.height = OVERVIEW + "px";
        this.span = el("output", {class: "span", "aria-live": "off"});
        this.clear = button("", "Stop highlighting", () => mark(null), {class: "chip", hidden: true});
        this.element = panel("timeline", "Timeline", this.legend(), el("span", {class: "grow"}), this.clear,
            this.span, this.tools());
        this.element.append(this.scroll, this.strip, el("p", {class: "hint", text: this.hint()}));
        this.makeRows();
        this.surface = new Surface(this.canvas, (c, w, h) => this.draw(c, w, h));
        this.overview = new Surface(this.strip, (c, w, h) => this.drawOverview(c, w, h));
        this.listen();
        this.showSpan();
    }

    hint() {
        const idle = this.nIdle === 0 ? "" : this.nIdle === 1 ? " One link carries nothing and has no row." :
            ` ${this.nIdle} links carry nothing and have no row.`;
        const unused = this.nUnused === 0 ? "" : this.nUnused === 1 ? " One device has no work and no row." :
            ` ${this.nUnused} devices have no work and no row.`;

        return (this.data.note ? sentence(this.data.note).replace(/\.?$/, ". ") : "") + "Click into the chart, then scroll to zoom and drag to move; or Ctrl + wheel. Keys: " +
            "\u2190 \u2192 + \u2212 0. Drag over the strip to choose a span." + idle + unused;
    }

    tools() {
        const chain = this.data.chain && this.data.chain.length > 0 ?
            button("Critical chain", "Highlight the bars that make up the value (C)", () => this.toggleChain(),
                {"aria-pressed": "false", class: "chain"}) : null;
        const links = this.nLinks > 0 ?
            button("Links", "Show or hide the rows of links", () => {
                this.areLinksShown = !this.areLinksShown;
                this.linksButton.setAttribute("aria-pressed", this.areLinksShown);
                this.makeRows();
                this.redraw();
            }, {"aria-pressed": "true"}) : null;

        this.chainButton = chain;
        this.linksButton = links;
        return el("span", {class: "tools"}, chain, links,
            button("\u2212", "Zoom out (\u2212)", () => this.zoom(1.6, null)),
            button("+", "Zoom in (+)", () => this.zoom(1 / 1.6, null)),
            button("Fit", "Show all (0)", () => this.show(0, this.end)));
    }

    legend() {
        const used = new Set(this.bars.kind);
        const items = this.data.kinds.map((kind, i) => [kind, i]).filter(([kind, i]) => used.has(i));

        return el("span", {class: "legend"}, ...items
            .filter(([kind, i]) => !(this.isByRow && kind === "compute"))
            .map(([kind, i]) => el("span", {}, swatch(() => this.colourOfKind(i)), kind)));
    }

    /* --- colours and texts ------------------------------------------------------------------ */

    colourOfKind(kind) {
        const colour = this.kindColour[kind];

        return typeof colour === "number" ? ink.series[colour] : ink[colour];
    }

    colour(bar) {
        const kind = this.bars.kind[bar];

        return this.isByRow && this.data.kinds[kind] === "compute" ? seriesColour(this.bars.row[bar]) :
            this.colourOfKind(kind);
    }

    describe(bar) {
        const b = this.bars, node = b.node[bar], lines = [b.name[bar] || this.data.kinds[b.kind[bar]]];

        if (node >= 0 && this.nodes && this.nodes.name[node] !== lines[0])
            lines.push(["node", this.nodes.name[node]]);
        lines.push([this.data.rows[b.row[bar]].kind, this.data.rows[b.row[bar]].name],
            ["kind", this.data.kinds[b.kind[bar]]],
            ["takes", seconds(b.end[bar] - b.start[bar])],
            ["from", seconds(b.start[bar]) + " to " + seconds(b.end[bar])]);
        return lines;
    }

    /* --- the view --------------------------------------------------------------------------- */

    redraw() {
        this.surface.redraw();
        this.overview.redraw();
    }

    show(from, to) {
        const least = Math.max(this.end * 1e-7, 1e-12), span = clamp(to - from, least, this.end);

        this.view.from = clamp(from, 0, this.end - span);
        this.view.to = this.view.from + span;
        this.showSpan();
        this.redraw();
        emit("view");
    }

    showSpan() {
        const {from, to} = this.view, isAll = to - from >= this.end * 0.999999;

        this.span.textContent = isAll ? "all " + seconds(this.end) :
            seconds(to - from) + " of " + seconds(this.end);
        this.element.dataset.from = from;
        this.element.dataset.to = to;
    }

    /* factor < 1 zooms in; at: seconds that stay where they are (null: the middle). */
    zoom(factor, at) {
        const {from, to} = this.view, fixed = at === null ? (from + to) / 2 : at;

        this.show(fixed - (fixed - from) * factor, fixed + (to - fixed) * factor);
    }

    move(share) {
        const span = this.view.to - this.view.from;

        this.show(this.view.from + share * span, this.view.to + share * span);
    }

    secondsAt(x) {
        const {from, to} = this.view;

        return from + (x - this.gutter) / Math.max(1, this.surface.width - this.gutter) * (to - from);
    }

    /* Brings a bar into view: as it is if that is enough, else with some of what is around it. */
    reveal(bar) {
        const {from, to} = this.view, start = this.bars.start[bar], end = this.bars.end[bar];
        const at = this.rowAt.get(this.bars.row[bar]);

        if (start < from || end > to || (end - start) < (to - from) / 400) {
            const span = clamp(Math.max((end - start) * 12, this.end / 200), 0, this.end);
            this.show((start + end - span) / 2, (start + end + span) / 2);
        }
        if (at !== undefined) {
            const row = this.rows[at], room = this.scroll.clientHeight - AXIS;
            if (row.top < this.scroll.scrollTop || row.top + row.height > this.scroll.scrollTop + room)
                this.scroll.scrollTop = row.top - room / 2;
        }
    }

    barAt(x, y) {
        const t = this.secondsAt(x), near = 3 * (this.view.to - this.view.from) / Math.max(1, this.surface.width);
        const inside = y - AXIS + this.scroll.scrollTop;
        const lane = y < AXIS || x < this.gutter ? null :
            this.lanes.find(l => inside >= l.top && inside < l.top + l.height);
        let best = -1, distance = near;

        if (!lane)
            return -1;
        for (let i = this.firstFrom(lane.bars, t - near); i < lane.bars.length; i++) {
            const bar = lane.bars[i], start = this.bars.start[bar], end = this.bars.end[bar];
            if (start > t + near)
                break;
            const d = t < start ? start - t : t > end ? t - end : 0;
            if (d <= distance) {
                best = bar;
                distance = d;
            }
            if (d === 0)
                break;
        }
        return best;
    }

    /* The first bar of a lane that does not end before t. */
    firstFrom(lane, t) {
        let low = 0, high = lane.length;

        while (low < high) {
            const middle = (low + high) >> 1;
            if (this.bars.end[lane[middle]] < t)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    toggleChain() {
        const isOn = marked && marked.key === "chain";
        const bars = new Set(this.data.chain), nodes = new Set();

        for (const bar of bars)
            if (this.bars.node[bar] >= 0)
                nodes.add(this.bars.node[bar]);
        mark(isOn ? null : {key: "chain", label: "critical chain", bars, nodes});
    }

    /* --- events ----------------------------------------------------------------------------- */

    listen() {
        const local = e => {
            const box = this.canvas.getBoundingClientRect();
            return [e.clientX - box.left, e.clientY - box.top];
        };
        let drag = null;

        this.canvas.addEventListener("wheel", e => this.wheel(e, local(e)[0]), {passive: false});
        this.canvas.addEventListener("pointerdown", e => {
            if (e.button !== 0)
                return;
            drag = {x: e.clientX, y: e.clientY, from: this.view.from, top: this.scroll.scrollTop, isMoved: false};
            this.canvas.setPointerCapture(e.pointerId);
        });
        this.canvas.addEventListener("pointermove", e => {
            if (drag)
                this.dragged(drag, e);
            else
                this.hover(e, ...local(e));
        });
        this.canvas.addEventListener("pointerup", e => {
            if (drag && !drag.isMoved)
                this.clicked(...local(e));
            drag = null;
        });
        this.canvas.addEventListener("pointercancel", () => { drag = null; });
        this.canvas.addEventListener("pointerleave", () => this.leave());
        this.canvas.addEventListener("dblclick", e => {
            const bar = this.barAt(...local(e));
            if (bar >= 0)
                this.showBars([bar]);
            else
                this.zoom(1 / 2.5, this.secondsAt(local(e)[0]));
        });
        this.canvas.addEventListener("keydown", e => this.key(e));
        this.scroll.addEventListener("scroll", () => this.surface.redraw());
        this.listenStrip();
        on("select", from => this.selected(from));
        on("mark", () => this.markChanged());
        on("theme", () => this.makeRows());
    }

    wheel(e, x) {
        if (!e.ctrlKey && !e.shiftKey && document.activeElement !== this.canvas)
            return;
        e.preventDefault();
        const delta = (e.deltaY || e.deltaX) * (e.deltaMode === 1 ? 16 : 1);
        if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
            this.move((e.deltaX || e.deltaY) / 800);
        else
            this.zoom(Math.exp(clamp(delta, -240, 240) / 400), this.secondsAt(Math.max(x, this.gutter)));
        hideTip();
    }

    dragged(drag, e) {
        const dx = e.clientX - drag.x, dy = e.clientY - drag.y;

        if (!drag.isMoved && Math.abs(dx) + Math.abs(dy) < 4)
            return;
        drag.isMoved = true;
        hideTip();
        const span = this.view.to - this.view.from;
        const from = drag.from - dx / Math.max(1, this.surface.width - this.gutter) * span;
        this.show(from, from + span);
        this.scroll.scrollTop = drag.top - dy;
    }

    hover(e, x, y) {
        const bar = this.barAt(x, y);

        this.canvas.style.cursor = bar >= 0 ? "pointer" : "grab";
        if (bar >= 0)
            showTip(e, this.describe(bar));
        else
            hideTip();
        if (bar !== this.hovered) {
            this.hovered = bar;
            this.surface.redraw();
        }
    }

    leave() {
        hideTip();
        if (this.hovered >= 0) {
            this.hovered = -1;
            this.surface.redraw();
        }
    }

    clicked(x, y) {
        const bar = this.barAt(x, y);

        this.canvas.focus({preventScroll: true});
        select(bar >= 0 ? this.bars.node[bar] : -1, bar, "timeline");
    }

    key(e) {
        const keys = {
            ArrowLeft: () => this.move(-0.15), ArrowRight: () => this.move(0.15),
            ArrowUp: () => { this.scroll.scrollTop -= 40; }, ArrowDown: () => { this.scroll.scrollTop += 40; },
            "+": () => this.zoom(1 / 1.6, null), "=": () => this.zoom(1 / 1.6, null),
            "-": () => this.zoom(1.6, null), "0": () => this.show(0, this.end),
            Home: () => this.move(-1e9), End: () => this.move(1e9),
            ",": () => this.step(-1), ".": () => this.step(1),
            c: () => this.chainButton && this.toggleChain(),
            Escape: () => { mark(null); select(-1, -1, "timeline"); },
        };

        if (e.ctrlKey || e.metaKey || e.altKey || !(e.key in keys))
            return;
        e.preventDefault();
        keys[e.key]();
    }

    /* Selects the bar before or after the selected one in its lane. */
    step(by) {
        const bar = selection.bar;
        const lane = bar < 0 ? this.lanes.find(l => l.bars.length > 0) :
            this.lanes.find(l => l.row === this.bars.row[bar] && l.bars.includes(bar));

        if (!lane)
            return;
        const next = bar < 0 ? 0 : clamp(lane.bars.indexOf(bar) + by, 0, lane.bars.length - 1);
        select(this.bars.node[lane.bars[next]], lane.bars[next], "timeline");
        this.reveal(lane.bars[next]);
    }

    selected(from) {
        if (from !== "timeline" && selection.bar >= 0)
            this.reveal(selection.bar);
        this.surface.redraw();
    }

    markChanged() {
        if (this.chainButton)
            this.chainButton.setAttribute("aria-pressed", Boolean(marked && marked.key === "chain"));
        this.clear.hidden = !marked || marked.key === "chain";
        this.clear.textContent = marked ? marked.label + " \u00d7" : "";
        this.redraw();
    }

    showBars(bars) {
        let from = Infinity, to = -Infinity;

        for (const bar of bars) {
            from = Math.min(from, this.bars.start[bar]);
            to = Math.max(to, this.bars.end[bar]);
        }
        if (from <= to)
            this.show(from - (to - from) * 0.15 - this.end * 1e-6, to + (to - from) * 0.15 + this.end * 1e-6);
    }

    listenStrip() {
        let drag = null;
        const at = e => {
            const box = this.strip.getBoundingClientRect();
            return clamp((e.clientX - box.left - this.gutter) / Math.max(1, box.width - this.gutter), 0, 1) * this.end;
        };

        this.strip.addEventListener("pointerdown", e => {
            const t = at(e), {from, to} = this.view, near = this.end * 6 / Math.max(1, this.strip.clientWidth);
            const isAll = to - from >= this.end * 0.999999;

            this.strip.setPointerCapture(e.pointerId);
            if (!isAll && Math.abs(t - from) < near)
                drag = {fixed: to};
            else if (!isAll && Math.abs(t - to) < near)
                drag = {fixed: from};
            else if (!isAll && t > from && t < to)
                drag = {grip: t - from};
            else
                drag = {fixed: t};
        });
        this.strip.addEventListener("pointermove", e => {
            if (!drag)
                return;
            const t = at(e), span = this.view.to - this.view.from;
            if (drag.grip !== undefined)
                this.show(t - drag.grip, t - drag.grip + span);
            else if (Math.abs(t - drag.fixed) > this.end / 500)
                this.show(Math.min(t, drag.fixed), Math.max(t, drag.fixed));
        });
        this.strip.addEventListener("pointerup", () => { drag = null; });
        this.strip.addEventListener("pointercancel", () => { drag = null; });
        this.strip.addEventListener("dblclick", () => this.show(0, this.end));
    }

    /* --- drawing ---------------------------------------------------------------------------- */

    measureGutter(c, width) {
        c.font = "12px " + FONT;
        const widest = Math.max(...this.data.rows.map(row => c.measureText(row.name).width), 20);
        this.gutter = Math.ceil(Math.min(widest + 22, Math.max(70, width * 0.16), 210));
    }

    draw(c, width, height) {
        const top = this.scroll.scrollTop;

        if (this.gutter === 0)
            this.measureGutter(c, width);
        c.save();
        c.beginPath();
        c.rect(0, AXIS, width, height - AXIS);
        c.clip();
        this.drawRows(c, width, top, height);
        c.beginPath();
        c.rect(this.gutter, AXIS, width - this.gutter, height - AXIS);
        c.clip();
        this.drawGrid(c, width, height);
        for (const lane of this.lanes)
            if (lane.top + lane.height >= top && lane.top <= top + height)
                this.drawLane(c, lane, AXIS + lane.top - top, width);
        if (marked && marked.key === "chain")
            this.drawChain(c, width, top);
        this.drawSelection(c, width, top);
        c.restore();
        this.drawAxis(c, width);
    }

    drawRows(c, width, top, height) {
        c.font = "12px " + FONT;
        c.textBaseline = "middle";
        for (const row of this.rows) {
            const y = AXIS + row.top - top, name = this.data.rows[row.row].name;

            if (y + row.height < AXIS || y > height)
                continue;
            c.fillStyle = ink.faint;
            c.fillRect(this.gutter, y, width - this.gutter, row.height);
            c.fillStyle = this.data.rows[row.row].kind === "link" ? ink.dim : ink.text;
            if (this.isByRow && this.data.rows[row.row].kind !== "link") {
                c.save();
                c.fillStyle = seriesColour(row.row);
                c.fillRect(0, y, 4, row.height);
                c.restore();
            }
            c.fillText(fitted(c, name, this.gutter - 20), 10, y + row.height / 2 + 0.5);
        }
    }

    drawGrid(c, width, height) {
        const scale = (width - this.gutter) / (this.view.to - this.view.from);

        c.strokeStyle = ink.line;
        c.lineWidth = 1;
        c.beginPath();
        for (const t of ticks(this.view.from, this.view.to, (width - this.gutter) / 110)) {
            const x = Math.round(this.gutter + (t - this.view.from) * scale) + 0.5;
            c.moveTo(x, AXIS);
            c.lineTo(x, height);
        }
        c.stroke();
    }

    drawAxis(c, width) {
        const {from, to} = this.view, at = ticks(from, to, (width - this.gutter) / 110);
        const texts = tickTexts(at, "s"), scale = (width - this.gutter) / (to - from);

        c.font = "11px " + FONT;
        c.textBaseline = "middle";
        c.fillStyle = ink.dim;
        at.forEach((t, i) => {
            const x = this.gutter + (t - from) * scale, half = c.measureText(texts[i]).width / 2;
            c.fillText(texts[i], clamp(x - half, this.gutter, width - 2 * half), AXIS / 2);
        });
    }

    drawLane(c, lane, y, width) {
        const {from, to} = this.view, b = this.bars, scale = (width - this.gutter) / (to - from);
        const list = lane.bars, height = lane.height - 2;

        c.font = (lane.height < 20 ? "10px " : "11px ") + FONT;
        c.textBaseline = "middle";
        for (let i = this.firstFrom(list, from); i < list.length && b.start[list[i]] <= to; i++) {
            const bar = list[i], x = this.gutter + (b.start[bar] - from) * scale;
            const w = (b.end[bar] - b.start[bar]) * scale, colour = this.colour(bar);
            const isBack = marked && marked.bars && !marked.bars.has(bar);

            c.globalAlpha = isBack ? 0.16 : 1;
            c.fillStyle = colour;
            if (w < 1) {
                i = this.drawColumn(c, list, i, y + 1, height, scale);
                continue;
            }
            c.fillRect(x, y + 1, w > 3 ? w - 0.6 : w, height);
            if (bar === this.hovered) {
                c.strokeStyle = ink.text;
                c.strokeRect(x + 0.5, y + 1.5, Math.max(w - 1.6, 1), height - 1);
            }
            if (w > 16 && !isBack)
                this.drawName(c, bar, Math.max(x, this.gutter), Math.min(x + w, width), y + lane.height / 2 + 0.5,
                    colour);
        }
        c.globalAlpha = 1;
    }

    /* All bars from position i on that end within the same pixel, as strong as they fill it; of a
     * marked one, if there is any, the colour. Returns the position of the last. */
    drawColumn(c, list, i, y, height, scale) {
        const b = this.bars, column = Math.floor(this.gutter + (b.start[list[i]] - this.view.from) * scale);
        const until = this.view.from + (column + 1 - this.gutter) / scale, isMarked = bar => marked && marked.bars && marked.bars.has(bar);
        let best = list[i], busy = b.end[best] - b.start[best];

        while (i + 1 < list.length && b.end[list[i + 1]] <= until) {
            i++;
            busy += b.end[list[i]] - b.start[list[i]];
            if (isMarked(list[i]))
                best = list[i];
        }
        c.globalAlpha = (marked && marked.bars && !isMarked(best) ? 0.16 : 1) * clamp(busy * scale, 0.35, 1);
        c.fillStyle = this.colour(best);
        c.fillRect(column, y, 1, height);
        return i;
    }

    drawName(c, bar, x, right, y, colour) {
        const name = this.bars.name[bar] || "", kind = this.data.kinds[this.bars.kind[bar]] + " ";
        const isShort = !this.isByRow && name.startsWith(kind) && c.measureText(name).width > right - x - 8;
        const text = right - x > 12 ? fitted(c, isShort ? name.slice(kind.length) : name, right - x - 6) : "";

        if (text) {
            c.fillStyle = textOn(colour);
            c.fillText(text, x + 3, y);
        }
    }

    /* Left, right and middle line of a bar on the canvas; null: its row is not shown. */
    place(bar, width, top) {
        const {from, to} = this.view, scale = (width - this.gutter) / (to - from);
        const at = this.rowAt.get(this.bars.row[bar]);

        if (at === undefined)
            return null;
        const {top: rowTop, each} = this.rows[at];
        const y = AXIS + rowTop - top + (this.bars.lane ? this.bars.lane[bar] : 0) * each;
        return {left: this.gutter + (this.bars.start[bar] - from) * scale,
            right: this.gutter + (this.bars.end[bar] - from) * scale, y: y + each / 2, top: y, height: each};
    }

    /* Lines from row to row along the chain; so many that they hide the bars are left out. */
    drawChain(c, width, top) {
        const lines = [];

        for (let i = 1; i < this.data.chain.length; i++) {
            const a = this.place(this.data.chain[i - 1], width, top), b = this.place(this.data.chain[i], width, top);
            if (a && b && a.top !== b.top && b.left >= 0 && a.right <= width)
                lines.push([a, b]);
        }
        if (lines.length > width / 12)
            return;
        c.strokeStyle = ink.alert;
        c.lineWidth = 1.5;
        c.beginPath();
        for (const [a, b] of lines) {
            c.moveTo(a.right, a.y);
            c.lineTo(b.left, b.y);
        }
        c.stroke();
    }

    drawSelection(c, width, top) {
        const bar = selection.bar;

        if (bar < 0 && selection.node < 0)
            return;
        for (const other of this.barsOf(selection.node))
            if (other !== bar)
                this.outline(c, other, width, top, 1);
        if (bar < 0)
            return;
        for (const i of this.arrowsOf(bar))
            this.drawArrow(c, this.data.arrows.from[i], this.data.arrows.to[i], width, top);
        this.outline(c, bar, width, top, 2.5);
    }

    outline(c, bar, width, top, thick) {
        const at = this.place(bar, width, top);

        if (!at || at.right < this.gutter - 4 || at.left > width + 4)
            return;
        c.strokeStyle = ink.select;
        c.lineWidth = thick;
        c.strokeRect(at.left - 1, at.top + 0.5, Math.max(at.right - at.left, 1) + 2, at.height - 1);
    }

    drawArrow(c, from, to, width, top) {
        const a = this.place(from, width, top), b = this.place(to, width, top);

        if (!a || !b)
            return;
        const bend = clamp((b.left - a.right) / 2, 14, 60);
        c.strokeStyle = c.fillStyle = ink.select;
        c.lineWidth = 1.5;
        c.beginPath();
        c.moveTo(a.right, a.y);
        c.bezierCurveTo(a.right + bend, a.y, b.left - bend, b.y, b.left, b.y);
        c.stroke();
        c.beginPath();
        c.moveTo(b.left, b.y);
        c.lineTo(b.left - 7, b.y - 4);
        c.lineTo(b.left - 7, b.y + 4);
        c.fill();
    }

    /* The whole: drawn once for each size and theme, then copied. */
    drawOverview(c, width, height) {
        const {from, to} = this.view, room = width - this.gutter;
        const x = t => this.gutter + t / this.end * room;

        if (this.gutter === 0)
            this.measureGutter(c, width);
        c.fillStyle = ink.faint;
        c.fillRect(this.gutter, 0, room, height);
        this.paintWhole(c, width, height);
        c.fillStyle = ink.dim;
        c.font = "11px " + FONT;
        c.textBaseline = "middle";
        c.fillText(fitted(c, "whole", this.gutter - 16), 10, height / 2);
        c.fillStyle = ink.page;
        c.globalAlpha = 0.72;
        c.fillRect(this.gutter, 0, x(from) - this.gutter, height);
        c.fillRect(x(to), 0, width - x(to), height);
        c.globalAlpha = 1;
        c.strokeStyle = ink.accent;
        c.lineWidth = 2;
        c.strokeRect(x(from) + 1, 1, Math.max(x(to) - x(from) - 2, 1), height - 2);
    }

    /* Of many rows, without the links. */
    overviewLanes() {
        const devices = this.lanes.filter(lane => this.data.rows[lane.row].kind !== "link");

        return this.rows.length > 10 && devices.length > 0 ? devices : this.lanes;
    }

    paintWhole(c, width, height) {
        const lanes = this.overviewLanes(), shown = new Map();
        for (const lane of lanes)
            shown.set(lane.row, shown.has(lane.row) ? shown.get(lane.row) : shown.size);
        const each = (height - 6) / Math.max(1, shown.size), room = width - this.gutter;
        const key = [width, height, isDark(), isPrinting, this.rows.length, marked ? marked.label : ""].join();

        if (this.whole && this.whole.key === key) {
            c.drawImage(this.whole.canvas, 0, 0, width, height);
            return;
        }
        const canvas = document.createElement("canvas"), ratio = c.getTransform().a;
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        const d = canvas.getContext("2d");
        d.scale(ratio, ratio);
        for (const lane of lanes) {
            const y = 3 + shown.get(lane.row) * each;
            let last = -1;
            for (const bar of lane.bars) {
                const left = this.gutter + this.bars.start[bar] / this.end * room;
                const right = this.gutter + this.bars.end[bar] / this.end * room;
                if (right - last < 0.5)
                    continue;
                d.globalAlpha = marked && marked.bars && !marked.bars.has(bar) ? 0.16 : 1;
                d.fillStyle = this.colour(bar);
                d.fillRect(left, y, Math.max(right - left, 0.7), Math.max(each - 1, 0.8));
                last = right;
            }
        }
        this.whole = {key, canvas};
        c.drawImage(canvas, 0, 0, width, height);
    }
}
