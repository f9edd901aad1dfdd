/* SPDX-License-Identifier: MIT */
/* charts.js: memory over time, and plots of designs. */

/* --- memory ------------------------------------------------------------------------------------ */

const SMALL_SHARE = 0.2; /* of a capacity: a chart up to it would show a flat line */
const MEMORY_HEIGHT = 150, LEFT = 62, RIGHT = 14, TOP = 14, BOTTOM = 24;

class MemoryChart {
    constructor(data, end) {
        this.data = data;
        this.end = Math.max(end || 0, data.at.length ? data.at[data.at.length - 1] : 0) || 1;
        this.peak = 0;
        this.peakAt = 0;
        data.bytes.forEach((value, i) => {
            if (value > this.peak) {
                this.peak = value;
                this.peakAt = data.at[i];
            }
        });
        this.hasCapacity = isNumber(data.capacity) && data.capacity > 0;
        this.cursor = null;
        this.canvas = el("canvas", {class: "memory", role: "img", "aria-label": this.words()});
        this.canvas.style.height = MEMORY_HEIGHT + "px";
        this.element = el("figure", {class: "chart"}, this.caption(), this.canvas);
        this.surface = new Surface(this.canvas, (c, w, h) => this.draw(c, w, h));
        this.scaleTo(false);
        this.canvas.addEventListener("pointermove", e => this.hover(e));
        this.canvas.addEventListener("pointerleave", () => {
            this.cursor = null;
            hideTip();
            this.surface.redraw();
        });
        on("select", () => this.surface.redraw());
    }

    words() {
        return `Memory of ${this.data.name} over time: at most ${bytes(this.peak)}` +
            (this.hasCapacity ? `, capacity ${bytes(this.data.capacity)}` : "");
    }

    caption() {
        const share = this.hasCapacity ? this.peak / this.data.capacity : 0;
        const text = el("span", {class: "dim"}, "peak ",
            el("b", {text: bytes(this.peak), "data-value": this.peak}),
            this.hasCapacity ? ` = ${show(share, "%")} of ${bytes(this.data.capacity)}` : "");

        return el("figcaption", {}, el("b", {class: "name", text: this.data.name, title: this.data.name}), text);
    }

    scaleTo(isToCapacity) {
        this.isToCapacity = this.hasCapacity && (isToCapacity || this.peak > SMALL_SHARE * this.data.capacity);
        this.surface.redraw();
    }

    top() {
        const most = this.isToCapacity ? Math.max(this.peak, this.data.capacity) : this.peak;

        return (most || 1) * 1.08;
    }

    /* The bytes held at a time. */
    at(t) {
        const {at} = this.data;
        let low = 0, high = at.length;

        while (low < high) {
            const middle = (low + high) >> 1;
            if (at[middle] <= t)
                low = middle + 1;
            else
                high = middle;
        }
        return low > 0 ? this.data.bytes[low - 1] : 0;
    }

    hover(e) {
        const box = this.canvas.getBoundingClientRect();
        const t = clamp((e.clientX - box.left - LEFT) / Math.max(1, box.width - LEFT - RIGHT), 0, 1) * this.end;

        this.cursor = t;
        showTip(e, [this.data.name, ["at", seconds(t)], ["holds", bytes(this.at(t))]]);
        this.surface.redraw();
    }

    draw(c, width, height) {
        const top = this.top(), x = t => LEFT + t / this.end * (width - LEFT - RIGHT);
        const y = b => height - BOTTOM - b / top * (height - TOP - BOTTOM);

        this.drawAxes(c, width, height, x, y, top);
        this.drawSteps(c, x, y);
        this.drawCapacity(c, width, y, top);
        c.fillStyle = ink.text;
        c.beginPath();
        c.arc(x(this.peakAt), y(this.peak), 2.6, 0, 7);
        c.fill();
        this.drawCursors(c, height, x);
    }

    drawAxes(c, width, height, x, y, top) {
        const across = ticks(0, this.end, (width - LEFT) / 90), up = ticks(0, top, 5);
        const xTexts = tickTexts(across, "s"), yTexts = tickTexts(up, "B");

        c.font = "11px " + FONT;
        c.textBaseline = "middle";
        c.lineWidth = 1;
        c.strokeStyle = ink.line;
        c.fillStyle = ink.dim;
        up.forEach((b, i) => {
            const at = Math.round(y(b)) + 0.5;
            c.beginPath();
            c.moveTo(LEFT, at);
            c.lineTo(width - RIGHT, at);
            c.stroke();
            c.fillText(yTexts[i], LEFT - 6 - c.measureText(yTexts[i]).width, at);
        });
        across.forEach((t, i) => {
            const half = c.measureText(xTexts[i]).width / 2;
            c.fillText(xTexts[i], clamp(x(t) - half, LEFT - 4, width - 2 * half), height - BOTTOM / 2 + 2);
        });
    }

    drawSteps(c, x, y) {
        const {at, bytes: held} = this.data;
        let last = -Infinity;

        c.beginPath();
        c.moveTo(x(0), y(0));
        c.lineTo(x(0), y(at.length && at[0] <= 0 ? held[0] : 0));
        for (let i = 0; i < at.length; i++) {
            /* The highest step of a pixel is enough; equal pixels need no line. */
            let most = held[i], j = i;
            while (j + 1 < at.length && x(at[j + 1]) - x(at[i]) < 0.5)
                most = Math.max(most, held[++j]);
            if (i > 0)
                c.lineTo(x(at[i]), y(held[i - 1]));
            c.lineTo(x(at[i]), y(most));
            c.lineTo(x(at[j]), y(held[j]));
            last = held[j];
            i = j;
        }
        c.lineTo(x(this.end), y(Math.max(last, 0)));
        c.strokeStyle = ink.series[0];
        c.lineWidth = 1.5;
        c.stroke();
        c.lineTo(x(this.end), y(0));
        c.closePath();
        c.globalAlpha = 0.22;
        c.fillStyle = ink.series[0];
        c.fill();
        c.globalAlpha = 1;
    }

    drawCapacity(c, width, y, top) {
        if (!this.hasCapacity || this.data.capacity > top)
            return;
        const at = Math.round(y(this.data.capacity)) + 0.5, text = "capacity " + bytes(this.data.capacity);

        c.strokeStyle = c.fillStyle = ink.alert;
        c.setLineDash([6, 4]);
        c.lineWidth = 1.5;
        c.beginPath();
        c.moveTo(LEFT, at);
        c.lineTo(width - RIGHT, at);
        c.stroke();
        c.setLineDash([]);
        c.textBaseline = "middle";
        c.fillText(text, width - RIGHT - c.measureText(text).width - 4, at + 9);
    }

    drawCursors(c, height, x) {
        const bar = page.timeline && selection.bar >= 0 ? selection.bar : -1;
        const line = (t, colour) => {
            c.strokeStyle = colour;
            c.lineWidth = 1;
            c.beginPath();
            c.moveTo(Math.round(x(t)) + 0.5, TOP);
            c.lineTo(Math.round(x(t)) + 0.5, height - BOTTOM);
            c.stroke();
        };

        if (bar >= 0)
            line(page.timeline.bars.start[bar], ink.select);
        if (this.cursor !== null)
            line(this.cursor, ink.text);
    }
}

function memorySection(list, end) {
    const charts = list.map(data => new MemoryChart(data, end)), isSmall = charts.some(c => c.hasCapacity && !c.isToCapacity);
    const scale = isSmall ? button("Scale to capacity", "Let the axes end at the capacity of the devices", () => {
        const isOn = scale.getAttribute("aria-pressed") !== "true";
        scale.setAttribute("aria-pressed", isOn);
        charts.forEach(chart => chart.scaleTo(isOn));
    }, {"aria-pressed": "false"}) : null;
    const section = panel("memory", "Memory over time", el("span", {class: "grow"}), scale);

    section.append(el("div", {class: "charts"}, ...charts.map(chart => chart.element)));
    return section;
}

/* --- plots ------------------------------------------------------------------------------------- */

const PLOT = {width: 640, height: 380, left: 76, right: 22, top: 18, bottom: 48};

/* A scatter of designs: the front is joined by a line, limits are dashed. */
class Plot {
    constructor(data) {
        this.data = data;
        this.points = data.points.filter(p => isNumber(p.x) && isNumber(p.y));
        this.front = this.points.filter(p => p.is_front).sort((a, b) => a.x - b.x || a.y - b.y);
        this.chosen = -1;
        this.x = this.axis("x", PLOT.left, PLOT.width - PLOT.right);
        this.y = this.axis("y", PLOT.height - PLOT.bottom, PLOT.top);
        this.drawing = svg("svg", {viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, class: "plot", tabindex: "0",
            role: "img", "aria-label": this.words()});
        this.ring = svg("circle", {r: 8, class: "ring", visibility: "hidden"});
        this.drawing.append(...this.axes(), ...this.limits(), ...this.dots(), this.ring);
        this.element = el("figure", {class: "chart"},
            el("figcaption", {}, el("b", {class: "name", text: data.title || data.id}), this.legend()), this.drawing);
        this.listen();
    }

    words() {
        return `${this.data.title || this.data.id}: ${this.points.length} points, ${this.front.length} on the front. ` +
            "Arrow keys go along the front.";
    }

    axis(key, low, high) {
        const values = this.points.map(p => p[key]).concat((this.data.lines || []).filter(l => l.axis === key)
            .map(l => l.at));
        const least = values.reduce((a, b) => Math.min(a, b), Infinity);
        const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
        const isNear = least > 0 && least > most * 0.5, room = (most - least || Math.abs(most) || 1) * 0.06;
        const from = !Number.isFinite(least) ? 0 : isNear || least < 0 ? least - room : 0;
        const to = !Number.isFinite(most) ? 1 : most + room;

        return {from, to, at: v => low + (v - from) / (to - from) * (high - low), unit: this.data[key].unit,
            name: this.data[key].name, ticks: ticks(from, to, key === "x" ? 6 : 5)};
    }

    axes() {
        const {x, y} = this, out = [], xTexts = this.texts(x), yTexts = this.texts(y);

        x.ticks.forEach((v, i) => out.push(
            svg("line", {class: "grid", x1: x.at(v), x2: x.at(v), y1: PLOT.top, y2: PLOT.height - PLOT.bottom}),
            svg("text", {class: "tick", x: x.at(v), y: PLOT.height - PLOT.bottom + 16, "text-anchor": "middle",
                text: xTexts[i]})));
        y.ticks.forEach((v, i) => out.push(
            svg("line", {class: "grid", x1: PLOT.left, x2: PLOT.width - PLOT.right, y1: y.at(v), y2: y.at(v)}),
            svg("text", {class: "tick", x: PLOT.left - 8, y: y.at(v) + 4, "text-anchor": "end", text: yTexts[i]})));
        out.push(svg("text", {class: "axis", x: (PLOT.left + PLOT.width - PLOT.right) / 2, y: PLOT.height - 8,
            "text-anchor": "middle", text: this.title(x)}),
        svg("text", {class: "axis", transform: `translate(16 ${(PLOT.top + PLOT.height - PLOT.bottom) / 2}) rotate(-90)`,
            "text-anchor": "middle", text: this.title(y)}));
        return out;
    }

    /* Units are said by the title of the axis, with those prefixes that the page knows. */
    texts(axis) {
        return tickTexts(axis.ticks, axis.unit in printers ? axis.unit : "");
    }

    title(axis) {
        return axis.unit && !(axis.unit in printers) ? `${axis.name} (${axis.unit})` : axis.name;
    }

    limits() {
        const out = [];

        for (const l of this.data.lines || []) {
            const isX = l.axis === "x", at = isX ? this.x.at(l.at) : this.y.at(l.at);
            out.push(svg("line", isX ?
                {class: "limit", x1: at, x2: at, y1: PLOT.top, y2: PLOT.height - PLOT.bottom} :
                {class: "limit", x1: PLOT.left, x2: PLOT.width - PLOT.right, y1: at, y2: at}),
            svg("text", isX ?
                {class: "limit", x: at - 5, y: PLOT.height - PLOT.bottom - 8, "text-anchor": "end", text: l.label} :
                {class: "limit", x: PLOT.left + 6, y: at - 6, text: l.label}));
        }
        return out;
    }

    dots() {
        const {x, y} = this, out = [];
        const rank = p => p.is_best ? 2 : p.is_front ? 1 : 0;

        if (this.front.length > 1)
            out.push(svg("polyline", {class: "front",
                points: this.front.map(p => `${x.at(p.x).toFixed(1)},${y.at(p.y).toFixed(1)}`).join(" ")}));
        for (const p of [...this.points].sort((a, b) => rank(a) - rank(b))) {
            const kind = ["point", "point on-front", "point best"][rank(p)];
            if (p.is_best)
                out.push(svg("path", {class: kind, d: this.diamond(x.at(p.x), y.at(p.y), 8)}));
            else
                out.push(svg("circle", {class: kind, cx: x.at(p.x), cy: y.at(p.y), r: p.is_front ? 4.5 : 3}));
        }
        return out;
    }

    diamond(x, y, r) {
        return `M${x} ${y - r}L${x + r} ${y}L${x} ${y + r}L${x - r} ${y}Z`;
    }

    legend() {
        const mark = (draw, text) => el("span", {}, svg("svg", {width: 14, height: 14, viewBox: "-7 -7 14 14",
            "aria-hidden": "true"}, draw), text);
        const out = el("span", {class: "legend"});

        if (this.points.some(p => p.is_best))
            out.append(mark(svg("path", {class: "point best", d: this.diamond(0, 0, 6)}), "chosen"));
        if (this.front.length)
            out.append(mark(svg("circle", {class: "point on-front", r: 4.5}), "front"));
        if (this.points.some(p => !p.is_front && !p.is_best))
            out.append(mark(svg("circle", {class: "point", r: 3}), "other"));
        return out;
    }

    listen() {
        this.drawing.addEventListener("pointermove", e => {
            const box = this.drawing.getBoundingClientRect(), k = PLOT.width / box.width;
            this.choose(this.nearest((e.clientX - box.left) * k, (e.clientY - box.top) * k), e);
        });
        this.drawing.addEventListener("pointerleave", () => this.choose(null));
        this.drawing.addEventListener("blur", () => this.choose(null));
        this.drawing.addEventListener("keydown", e => {
            const list = this.front.length ? this.front : this.points;
            const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;

            if (by === 0 || list.length === 0)
                return;
            e.preventDefault();
            this.chosen = clamp(this.chosen + by, 0, list.length - 1);
            const p = list[this.chosen], box = this.drawing.getBoundingClientRect(), k = box.width / PLOT.width;
            this.choose(p, {clientX: box.left + this.x.at(p.x) * k, clientY: box.top + this.y.at(p.y) * k});
            say(`${p.label}: ${this.x.name} ${show(p.x, this.x.unit)}, ${this.y.name} ${show(p.y, this.y.unit)}`);
        });
    }

    nearest(px, py) {
        let best = null, distance = 18 * 18;

        for (const p of this.points) {
            const d = (this.x.at(p.x) - px) ** 2 + (this.y.at(p.y) - py) ** 2;
            if (d < distance) {
                best = p;
                distance = d;
            }
        }
        return best;
    }

    choose(p, e) {
        this.ring.setAttribute("visibility", p ? "visible" : "hidden");
        if (!p) {
            hideTip();
            return;
        }
        this.ring.setAttribute("cx", this.x.at(p.x));
        this.ring.setAttribute("cy", this.y.at(p.y));
        showTip(e, [p.label || "design", [this.x.name, show(p.x, this.x.unit)], [this.y.name, show(p.y, this.y.unit)]]);
    }
}

function plotSection(list) {
    const section = panel("plots", list.length > 1 ? "Plots" : list[0].title || "Plot");

    section.append(el("div", {class: "charts wide"}, ...list.map(data => new Plot(data).element)));
    return section;
}
