/* SPDX-License-Identifier: MIT */
/* base.js: what all parts of the page share: elements, numbers for people, colours, canvases, and
 * what is selected or marked. Texts of the data reach the page as text nodes or on a canvas only. */

/* --- elements ---------------------------------------------------------------------------------- */

/* An element: el("a", {class: "x", href: "#y", onclick: f, text: "z"}, child, ...). */
function el(tag, attributes, ...children) {
    const node = document.createElement(tag);

    for (const [key, value] of Object.entries(attributes || {}))
        if (key === "text")
            node.textContent = value;
        else if (key.startsWith("on"))
            node.addEventListener(key.slice(2), value);
        else if (value !== null && value !== undefined && (value !== false || key.startsWith("aria-")))
            node.setAttribute(key, value === true && !key.startsWith("aria-") ? "" : value);
    node.append(...children.filter(child => child !== null && child !== undefined));
    return node;
}

function button(text, title, onclick, more) {
    return el("button", {type: "button", text, title, onclick, ...more});
}

/* A drawing by SVG elements. */
function svg(tag, attributes, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);

    for (const [key, value] of Object.entries(attributes || {}))
        if (key === "text")
            node.textContent = value;
        else
            node.setAttribute(key, value);
    node.append(...children);
    return node;
}

/* --- numbers ----------------------------------------------------------------------------------- */

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const isNumber = x => typeof x === "number" && Number.isFinite(x);
const grouped = x => Math.round(x).toString().replace(/\B(?=(\d{3})+$)/g, ",");
const plain = (x, digits) => String(Number(x.toPrecision(digits)));

/* With the prefix that leaves one to three digits before the point, as the program prints it. */
function prefixed(x, digits, unit, prefixes) {
    const size = Math.abs(x);
    let best = null;

    if (x === 0)
        return "0 " + unit;
    for (const [letter, power] of prefixes)
        if (Number((size / power).toPrecision(digits)) >= 1) {
            best = [letter, power];
            break;
        }
    best = best || prefixes[prefixes.length - 1];
    return plain(x / best[1], digits) + " " + best[0] + unit;
}

const LARGE = [["E", 1e18], ["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1]];
const SMALL = [["", 1], ["m", 1e-3], ["u", 1e-6], ["n", 1e-9]];
const ALL = LARGE.slice(0, -1).concat(SMALL);

/* Three digits, also zeros: 9.60 MB. */
function threeDigits(x, unit) {
    let size = Math.abs(x), i = LARGE.length - 1;

    while (size >= 999.5 && i > 0) {
        size /= 1000;
        i--;
    }
    if (i === LARGE.length - 1)
        return plain(x, 3) + (unit ? " " + unit : "");
    return (x < 0 ? "-" : "") + size.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0) + " " +
        LARGE[i][0] + unit;
}

const printers = {
    "s": x => Math.abs(x) >= 9999.5 ? grouped(x) + " s" : prefixed(x, 4, "s", SMALL),
    "B": x => threeDigits(x, "B"),
    "B/s": x => prefixed(x, 4, "B/s", LARGE),
    "J": x => prefixed(x, 4, "J", ALL),
    "W": x => prefixed(x, 4, "W", ALL),
    "%": x => (Math.abs(x) < 0.0005 && x !== 0 ? plain(100 * x, 1) : (100 * x).toFixed(1)) + " %",
    "mm2": x => plain(x, 4) + " mm\u00b2",
    "x": x => (Math.abs(x) >= 100 ? grouped(x) : x.toFixed(2)) + "x",
    "count": x => Number.isInteger(x) ? grouped(x) : plain(x, 5),
};

/* A value of a unit as text; a unit that is not known follows the number. */
function show(x, unit) {
    if (x === null || x === undefined)
        return "\u2013";
    if (typeof x !== "number")
        return typeof x === "boolean" ? (x ? "yes" : "no") : String(x);
    if (unit in printers)
        return printers[unit](x);
    if (!unit || unit === "text")
        return String(x);
    return (Math.abs(x) >= 1e4 ? grouped(x) : plain(x, 4)) + " " + unit;
}

const seconds = x => show(x, "s");
const bytes = x => show(x, "B");

/* Round numbers, about `n` of them, from low to high. */
function ticks(low, high, n) {
    const rough = (high - low) / Math.max(n, 1), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find(m => m * power >= rough * 0.999) * power, out = [];

    if (!(rough > 0) || !Number.isFinite(step))
        return [low];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
        out.push(i * step);
    return out;
}

/* Texts of ticks: one unit for all, with as many digits as their distance needs. */
function tickTexts(at, unit) {
    const top = Math.max(...at.map(Math.abs)), step = at.length > 1 ? at[1] - at[0] : top || 1;
    const prefixes = unit === "s" ? SMALL : ["B", "B/s", "J", "W"].includes(unit) ? ALL : [["", 1]];
    const [letter, power] = prefixes.find(p => top / p[1] >= 0.9999) || prefixes[prefixes.length - 1];
    const digits = clamp(-Math.floor(Math.log10(step / power) + 1e-9), 0, 9);
    const suffix = unit === "%" ? " %" : unit === "mm2" ? " mm\u00b2" : unit === "x" ? "x" :
        unit && unit !== "count" ? " " + letter + unit : "";

    if (unit === "%")
        return at.map(x => (100 * x).toFixed(clamp(digits - 2, 0, 9)) + suffix);
    return at.map(x => {
        if (Math.abs(x) < step * 1e-6)
            return "0";
        const text = (x / power).toFixed(digits);
        return (Math.abs(x / power) >= 1e4 ? grouped(x / power) : text) + suffix;
    });
}

/* A name of at most n characters, cut in the middle: beginnings of names are often equal. */
function shortened(text, n) {
    return text.length <= n ? text : text.slice(0, Math.floor((n - 1) / 3)) + "\u2026" +
        text.slice(text.length - Math.ceil(2 * (n - 1) / 3));
}

/* Begins with a capital letter. */
const sentence = text => text ? text[0].toUpperCase() + text.slice(1) : "";

/* For each key of 0 .. n - 1, the positions where it stands among the keys, in order. */
function positions(n, keys) {
    const at = new Int32Array(n + 2), list = new Int32Array(keys.length);

    for (let i = 0; i < keys.length; i++)
        if (keys[i] >= 0)
            at[keys[i] + 2]++;
    for (let k = 2; k < n + 2; k++)
        at[k] += at[k - 1];
    for (let i = 0; i < keys.length; i++)
        if (keys[i] >= 0)
            list[at[keys[i] + 1]++] = i;
    return key => key < 0 || key >= n ? [] : Array.from(list.subarray(at[key], at[key + 1]));
}

/* --- selection and marks ----------------------------------------------------------------------- */

const listeners = {select: [], mark: [], theme: [], view: []};
const selection = {node: -1, bar: -1};
let marked = null; /* {label, bars: Set, nodes: Set}: all others step back */

function on(event, f) {
    listeners[event].push(f);
}

function emit(event, detail) {
    for (const f of listeners[event])
        f(detail);
}

/* from: the part of the page where it was selected; the other parts scroll to it. */
function select(node, bar, from) {
    selection.node = node;
    selection.bar = bar;
    emit("select", from);
}

function mark(what) {
    marked = what;
    emit("mark");
}

/* --- colours ----------------------------------------------------------------------------------- */

const SERIES = 8;
const ink = {series: []};
let isPrinting = false;

/* Colours of the canvases are those of the style sheet, as it is now. */
function readInk() {
    const style = getComputedStyle(document.documentElement);
    const get = name => style.getPropertyValue("--" + name).trim();

    for (const name of ["text", "dim", "line", "faint", "panel", "page", "accent", "alert", "link",
        "low", "mid", "high", "top", "select"])
        ink[name] = get(name);
    for (let i = 0; i < SERIES; i++)
        ink.series[i] = get("c" + i);
    ink.cache = new Map();
}

function parts(colour) {
    return [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16));
}

function blend(a, b, share) {
    const x = parts(a), y = parts(b);

    return "#" + x.map((v, i) => Math.round(v + (y[i] - v) * share).toString(16).padStart(2, "0"))
        .join("");
}

/* The colour of a device, set or stage; after eight of them, mixed with the colour of text. */
function seriesColour(i) {
    if (i < 0)
        return ink.link;
    return i < SERIES ? ink.series[i] :
        blend(ink.series[i % SERIES], ink.text, Math.min(0.3 * Math.floor(i / SERIES), 0.75));
}

/* 0 .. 1 on a scale that grows in lightness only one way, for those who do not see hues. */
function scaleColour(x) {
    const stops = [ink.low, ink.mid, ink.high, ink.top], at = clamp(x, 0, 1) * 3;
    const i = Math.min(Math.floor(at), 2);

    return blend(stops[i], stops[i + 1], at - i);
}

/* Black or white, whichever is easier to read on a colour. */
function textOn(colour) {
    let found = ink.cache.get(colour);

    if (!found) {
        const [r, g, b] = parts(colour).map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        found = 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? "#10141a" : "#ffffff";
        ink.cache.set(colour, found);
    }
    return found;
}

/* --- theme ------------------------------------------------------------------------------------- */

const darkScheme = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;

const isDark = () => root.dataset.theme === "dark";

function setTheme(name) {
    root.dataset.theme = name;
    readInk();
    emit("theme");
}

function startTheme() {
    const print = matchMedia("print");
    /* Before the layout for paper, to make what it needs, and after it, at the size it has there. */
    const printing = is => {
        isPrinting = is;
        readInk();
        emit("theme");
        drawAllNow();
    };

    setTheme(darkScheme.matches ? "dark" : "light");
    darkScheme.addEventListener("change", e => setTheme(e.matches ? "dark" : "light"));
    print.addEventListener("change", e => printing(e.matches));
    addEventListener("beforeprint", () => printing(true));
    addEventListener("afterprint", () => printing(print.matches));
}

function toggleTheme() {
    setTheme(isDark() ? "light" : "dark");
}

/* --- canvases ---------------------------------------------------------------------------------- */

const surfaces = [], unseen = [];

/* Draws canvases for the first time, one a frame: what comes first on the page is seen first. */
function drawNext() {
    unseen.shift().drawNow();
    if (unseen.length > 0)
        requestAnimationFrame(drawNext);
}

/* A canvas as wide as its element that draws itself again, once a frame at most, when its size,
 * the colours, or something it shows have changed, and only while it can be seen. */
class Surface {
    constructor(canvas, draw) {
        this.canvas = canvas;
        this.context = canvas.getContext("2d");
        this.paint = draw;
        this.isSeen = false;
        this.isDirty = true;
        this.isAsked = false;
        this.width = this.height = 0;
        surfaces.push(this);
        new ResizeObserver(() => this.redraw()).observe(canvas);
        new IntersectionObserver(entries => {
            this.isSeen = entries[entries.length - 1].isIntersecting;
            if (this.isSeen && this.isDirty)
                this.redraw();
        }, {rootMargin: "80px"}).observe(canvas);
        on("theme", () => this.redraw());
    }

    redraw() {
        this.isDirty = true;
        if (this.isAsked || !this.isSeen)
            return;
        this.isAsked = true;
        if (this.width > 0)
            requestAnimationFrame(() => this.drawNow());
        else if (unseen.push(this) === 1)
            requestAnimationFrame(drawNext);
    }

    drawNow() {
        const ratio = isPrinting ? 3 : Math.max(devicePixelRatio || 1, 1);
        const width = this.canvas.clientWidth, height = this.canvas.clientHeight;

        this.isAsked = false;
        if (width === 0 || height === 0)
            return;
        this.width = width;
        this.height = height;
        if (this.canvas.width !== Math.round(width * ratio) ||
            this.canvas.height !== Math.round(height * ratio)) {
            this.canvas.width = Math.round(width * ratio);
            this.canvas.height = Math.round(height * ratio);
        }
        this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
        this.context.clearRect(0, 0, width, height);
        this.isDirty = false;
        this.paint(this.context, width, height);
    }
}

function drawAllNow() {
    for (const surface of surfaces)
        surface.drawNow();
}

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif";

/* The text, or as much of it as fits, with an ellipsis in the middle: ends of names differ. */
function fitted(context, text, width) {
    if (text.length === 0 || context.measureText(text).width <= width)
        return text;
    let low = 0, high = text.length - 1;

    const cut = n => text.slice(0, Math.ceil(n / 2)) + "\u2026" + text.slice(text.length - Math.floor(n / 2));
    while (low < high) {
        const n = Math.ceil((low + high) / 2);
        if (context.measureText(cut(n)).width <= width)
            low = n;
        else
            high = n - 1;
    }
    return low > 3 ? cut(low) : "";
}

/* --- small things ------------------------------------------------------------------------------ */

const tip = el("div", {class: "tip", role: "tooltip", hidden: true});
const live = el("div", {class: "unseen", "aria-live": "polite", id: "live"});

/* lines: the first one is a heading; others are [label, value]. */
function showTip(event, lines) {
    const [head, ...rest] = lines;

    tip.replaceChildren(el("b", {text: head}),
        ...rest.map(([label, value]) => el("span", {}, el("i", {text: label}), " " + value)));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const x = event.clientX + 14 + box.width > innerWidth ? event.clientX - 14 - box.width : event.clientX + 14;
    const y = event.clientY + 14 + box.height > innerHeight ? event.clientY - 14 - box.height : event.clientY + 14;
    tip.style.left = Math.max(x, 4) + "px";
    tip.style.top = Math.max(y, 4) + "px";
}

function hideTip() {
    tip.hidden = true;
}

function say(text) {
    live.textContent = text;
}

/* Copies a text; the button says so for a moment. Pages from disk may lack the clipboard. */
async function copy(text, from) {
    const was = from.textContent;
    let isDone = true;

    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const area = el("textarea", {class: "unseen"});

        area.value = text;
        document.body.append(area);
        area.select();
        isDone = document.execCommand("copy");
        area.remove();
        from.focus();
    }
    from.textContent = isDone ? "Copied" : "Not copied";
    say(from.textContent);
    setTimeout(() => { from.textContent = was; }, 1500);
}

/* A section of the page with a heading and tools beside it. */
function panel(id, title, ...tools) {
    return el("section", {id, class: "panel", "aria-labelledby": id + "-title"},
        el("header", {}, el("h2", {id: id + "-title", text: title}), ...tools));
}

function swatch(colour) {
    const box = el("span", {class: "swatch", "aria-hidden": "true"});

    box.style.background = colour();
    on("theme", () => { box.style.background = colour(); });
    return box;
}
