/* SPDX-License-Identifier: MIT */
/* app.js: what is asked, the answer, and the address that holds both. The report of the answer is the page
 * that weft makes, in a frame. */

const KINDS = {
    place: {title: "Place", options: "", quick: {solver: "heft"}, hasPlatform: true},
    shard: {title: "Shard", options: "", hasPlatform: true},
    train: {title: "Train", options: "--dtype f16", hasPlatform: true},
    mine: {title: "Mine", options: "--area 600mm2 --power 280W", hasPlatform: false},
};
const EXAMPLES = [
    ["ResNet-50 on a CPU and two GPUs", {kind: "place", model: "resnet50", preset: "server-cpu-2gpu"}],
    ["Inception on an embedded chip", {kind: "place", model: "inception_v3", preset: "edge-soc"}],
    ["Throughput of a mixed fleet", {kind: "place", model: "resnet50", preset: "mixed-fleet", options: "--goal throughput"}],
    ["AlexNet over eight FPGAs", {kind: "shard", model: "alexnet", preset: "f1-2x4"}],
    ["GPT-2 training on a DGX A100", {kind: "train", model: "gpt2", preset: "dgx-a100", options: "--dtype f16"}],
    ["An accelerator for two networks", {kind: "mine", model: "resnet18 mobilenet_v2", options: "--area 600mm2 --power 280W"}],
];
const EFFORTS = [["quick: 2,000 steps", 2000], ["usual: 20,000 steps", 20000], ["long: 200,000 steps", 200000]];
const WAIT_MS = 15; /* an edit that another one follows at once is not run */
const state = {kind: "place", model: "resnet50", preset: "server-cpu-2gpu", platform: null, options: "", steps: 2000};
const dropped = new Map(); /* files by name */
const presets = JSON.parse(document.getElementById("presets").textContent); /* files by name */
const ui = {}, runners = {};
/* What tests look at: how many answers were drawn, and how long the first one after an edit took. */
const told = window.playground = {state, nDrawn: 0, firstMs: NaN, isBusy: true, result: null};

/* --- the question -------------------------------------------------------------------------------- */

/* "--batch 8 --mix" as {batch: "8", mix: true}. */
function flags(text) {
    const words = text.split(/\s+/).filter(word => word), out = {};

    while (words.length > 0) {
        const word = words.shift();
        if (!word.startsWith("--"))
            throw new Error(`options: found '${word}', expected a flag such as --batch 8`);
        out[word.slice(2)] = words.length > 0 && !words[0].startsWith("--") ? words.shift() : true;
    }
    return out;
}

function inputs() {
    const files = [...dropped].map(([name, bytes]) => ({name, bytes}));

    if (KINDS[state.kind].hasPlatform && state.platform !== null)
        files.push({name: "platform.yaml", bytes: new TextEncoder().encode(state.platform)});
    return files;
}

function request(more) {
    const kind = KINDS[state.kind], models = state.model.split(/\s+/).filter(word => word);
    const words = {model: state.kind === "mine" ? models : state.model, ...flags(state.options)};

    words[state.kind === "mine" ? "evaluations" : "steps"] = state.kind === "mine" ? Math.ceil(state.steps / 20) : state.steps;
    if (kind.hasPlatform)
        words.on = state.platform !== null ? "platform.yaml" : state.preset;
    return {command: state.kind, words: {...words, ...more, report: "report.html"}, inputs: inputs(), outputs: ["report.html"]};
}

/* The same on a command line. */
function commandLine() {
    const {command, words} = request({}), {model, report: _, ...rest} = words;
    const flag = ([name, value]) => value === true ? `--${name}` : `--${name} ${value}`;

    return ["weft", command, [].concat(model).join(" "), ...Object.entries(rest).map(flag)].join(" ");
}

/* --- the answer ---------------------------------------------------------------------------------- */

function tell(text, isWrong) {
    ui.status.textContent = text;
    ui.status.className = isWrong ? "wrong" : "";
}

const gapText = r => r.gap === null || r.gap === undefined ? "" : `, gap ${show(r.gap < 1e-9 ? 0 : r.gap, "%")}`;

function resultText(r) {
    if (!r || r.value === null || r.value === undefined)
        return r && r.status ? r.status : "done";
    const bound = r.bound === null || r.bound === undefined ? "" : `, bound ${show(r.bound, r.unit)}`;
    return `${show(r.value, r.unit)}${bound}${gapText(r)}, ${r.status}, solver ${r.solver}`;
}

/* The new report is made behind the old one and takes its place when it is drawn, at the same height. */
function draw(html) {
    const [old, next] = ui.frames;

    return new Promise(done => {
        next.onload = () => {
            next.onload = null;
            const y = old.contentWindow ? old.contentWindow.scrollY : 0;
            next.contentWindow.scrollTo(0, y);
            next.className = "";
            old.className = "behind";
            ui.frames = [next, old];
            told.nDrawn++;
            requestAnimationFrame(() => done());
        };
        next.srcdoc = html;
    });
}

async function take(data) {
    const {reply, outputs} = data;

    if (reply.error) {
        tell(reply.error.message, true);
        return;
    }
    told.result = reply.result;
    if (outputs["report.html"])
        await draw(outputs["report.html"]);
    tell(reply.status === 0 ? resultText(reply.result) : `no plan: ${(reply.result && reply.result.reason) || reply.notes.join(" ")}`,
        reply.status !== 0);
}

function busy(is) {
    told.isBusy = is;
    ui.stop.disabled = !is;
    ui.answer.classList.toggle("waits", is && told.nDrawn === 0);
}

let round = 0;

/* A quick plan first, where there is a quick solver, then the search. A later edit ends both. */
async function run(since) {
    const mine = ++round, kind = KINDS[state.kind];

    runners.search.stop();
    busy(true);
    try {
        ui.command.textContent = commandLine();
        if (kind.quick && !("solver" in flags(state.options)) && !/goal/.test(state.options)) {
            const first = await runners.quick.run(request(kind.quick));
            if (mine !== round)
                return;
            await take(first);
            told.firstMs = performance.now() - since;
            if (first.reply.error)
                return;
        }
        await take(await runners.search.run(request({}), (value, bound) => progress(mine, value, bound)));
        if (!kind.quick)
            told.firstMs = performance.now() - since;
    } catch (e) {
        if (mine === round)
            tell(e instanceof Stopped ? "stopped" : e.message, !(e instanceof Stopped));
    } finally {
        if (mine === round)
            busy(false);
    }
}

function progress(mine, value, bound) {
    if (mine === round && isNumber(value))
        tell(`searching: best ${Number(value.toPrecision(4))}${isNumber(bound) && bound > 0 ? `, bound ${Number(bound.toPrecision(4))}` : ""}`);
}

let timer = 0;

/* Something was edited: now, or a moment ago. */
function changed() {
    const since = performance.now();

    busy(true);
    clearTimeout(timer);
    timer = setTimeout(() => {
        remember();
        run(since);
    }, WAIT_MS);
}

function stop() {
    clearTimeout(timer);
    round++;
    runners.quick.stop();
    runners.search.stop();
    busy(false);
    tell("stopped");
}

/* --- the address --------------------------------------------------------------------------------- */

const toBase64 = bytes => btoa(Array.from(bytes, b => String.fromCharCode(b)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const fromBase64 = text => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));

async function through(bytes, stream) {
    return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

async function remember() {
    const text = JSON.stringify(state), bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));

    try {
        history.replaceState(null, "", "#" + toBase64(bytes));
    } catch {
        location.hash = toBase64(bytes);
    }
}

/* What the address says, as far as it has the right types. */
async function recall() {
    if (location.hash.length < 2)
        return;
    try {
        const bytes = await through(fromBase64(location.hash.slice(1)), new DecompressionStream("deflate-raw"));
        const read = JSON.parse(new TextDecoder().decode(bytes));
        for (const key of ["model", "preset", "options"])
            if (typeof read[key] === "string")
                state[key] = read[key];
        if (typeof read.platform === "string")
            state.platform = read.platform;
        if (read.kind in KINDS)
            state.kind = read.kind;
        if (Number.isInteger(read.steps) && read.steps > 0)
            state.steps = read.steps;
    } catch {
        tell("the address holds no question of weft", true);
    }
}

/* --- platforms ----------------------------------------------------------------------------------- */

const QUANTITY = /^(.*?\b)(memory_bandwidth|bandwidth)(:\s*)([0-9.]+(?:e[+-]?[0-9]+)?)(\s*[kMGT]?B\/s)?/;

/* Bandwidths of a platform file in the order of its lines: {line, name, value, unit}. */
function quantities(text) {
    let device = "", nLinks = 0;

    return text.split("\n").flatMap((line, i) => {
        const named = /^\s*-?\s*\{?\s*name:\s*([\w.-]+)/.exec(line), found = line.trimStart().startsWith("#") ? null : QUANTITY.exec(line);
        if (named)
            device = named[1];
        if (!found)
            return [];
        const name = found[2] === "bandwidth" ? `link ${++nLinks}` : `memory of ${device}`;
        return [{line: i, name, value: Number(found[4]), unit: (found[5] || " B/s").trim()}];
    });
}

function setQuantity(text, line, value) {
    return text.split("\n").map((old, i) => i === line ? old.replace(QUANTITY, (_, a, b, c, _v, unit) => a + b + c + value + (unit || "")) : old).join("\n");
}

/* A slider for each bandwidth: from a sixteenth to sixteen times what the file said first. */
function drawSliders() {
    const all = quantities(ui.platform.value).slice(0, 12);

    ui.sliders.replaceChildren(...all.map(q => {
        const value = el("span", {text: `${q.value} ${q.unit}`});
        const slider = el("input", {type: "range", min: -4, max: 4, step: 0.05, value: 0, "aria-label": `bandwidth of ${q.name}`});
        slider.addEventListener("input", () => {
            const now = Number((q.value * 2 ** slider.value).toPrecision(3));
            value.textContent = `${now} ${q.unit}`;
            state.platform = ui.platform.value = setQuantity(ui.platform.value, q.line, now);
            changed();
        });
        return el("label", {class: "slide"}, el("span", {text: q.name}), value, slider);
    }));
}

function showPreset(name) {
    ui.platform.value = presets[name] || "";
    drawSliders();
}

/* --- the page ------------------------------------------------------------------------------------ */

function choice(list, onchange, label) {
    return el("select", {onchange, "aria-label": label}, ...list.map(([text, value]) => el("option", {text, value})));
}

async function addFiles(list) {
    const files = [...list];

    for (const file of files)
        dropped.set(file.name, new Uint8Array(await file.arrayBuffer()));
    const model = files.find(file => /\.(onnx|json|stg|dot)$/.test(file.name)) || files[0];
    if (!model)
        return;
    state.model = ui.model.value = model.name;
    ui.drop.textContent = `${files.map(file => file.name).join(", ")}: read here, sent nowhere`;
    changed();
}

function dropZone() {
    const picker = el("input", {type: "file", multiple: true, hidden: true, onchange: () => addFiles(picker.files)});
    const zone = el("div", {class: "drop", tabindex: 0, role: "button", text: "Drop an ONNX file here, or click. It stays on this machine.",
        onclick: () => picker.click(), onkeydown: e => { if (e.key === "Enter") picker.click(); }});

    for (const name of ["dragover", "dragleave", "drop"])
        addEventListener(name, e => {
            e.preventDefault();
            zone.classList.toggle("over", name === "dragover");
            if (name === "drop")
                addFiles(e.dataTransfer.files);
        });
    ui.drop = zone;
    return [zone, picker];
}

/* The controls say what the state says. */
function showState() {
    const kind = KINDS[state.kind];

    for (const [name, key] of Object.entries(ui.kinds))
        key.setAttribute("aria-pressed", String(name === state.kind));
    ui.model.value = state.model;
    ui.options.value = state.options;
    ui.effort.value = state.steps;
    ui.machine.hidden = !kind.hasPlatform;
    ui.preset.value = state.preset;
    if (state.platform !== null) {
        ui.platform.value = state.platform;
        drawSliders();
    } else if (kind.hasPlatform)
        showPreset(state.preset);
}

function ask(more) {
    Object.assign(state, {platform: null, options: KINDS[more.kind].options}, more);
    runners.quick.stop();
    showState();
    changed();
}

function kindButtons() {
    ui.kinds = Object.fromEntries(Object.entries(KINDS).map(([name, kind]) =>
        [name, button(kind.title, `weft ${name}`, () => ask(EXAMPLES.find(([, e]) => e.kind === name)[1]))]));
    return el("div", {class: "row"}, ...Object.values(ui.kinds));
}

function controls(models) {
    ui.model = el("input", {type: "text", list: "models", "aria-label": "model", onchange: () => { state.model = ui.model.value.trim(); changed(); }});
    ui.preset = choice(Object.keys(presets).map(name => [name, name]), () => {
        state.preset = ui.preset.value;
        state.platform = null;
        showPreset(state.preset);
        changed();
    }, "preset");
    ui.platform = el("textarea", {spellcheck: "false", "aria-label": "platform file", oninput: () => {
        state.platform = ui.platform.value;
        changed();
    }, onchange: drawSliders});
    ui.sliders = el("div");
    ui.options = el("input", {type: "text", "aria-label": "options", onchange: () => { state.options = ui.options.value.trim(); changed(); }});
    ui.effort = choice(EFFORTS, () => { state.steps = Number(ui.effort.value); changed(); }, "effort");
    ui.command = el("code");
    ui.machine = el("div", {}, el("h2", {text: "On which machine?"}), ui.preset, ui.sliders, el("label", {text: "Its file, to be edited"}), ui.platform);
    return el("div", {class: "ask"},
        el("h2", {text: "What is asked?"}), kindButtons(),
        el("h2", {text: "Which network?"}), ui.model, el("datalist", {id: "models"}, ...models.map(m => el("option", {value: m.name}))), ...dropZone(),
        ui.machine,
        el("h2", {text: "How?"}), el("label", {text: "Flags of the command"}), ui.options, el("label", {text: "Effort"}), ui.effort,
        el("label", {text: "The same on a command line"}), ui.command,
        el("h2", {text: "Examples"}), el("div", {class: "row"}, ...EXAMPLES.map(([text, example]) => button(text, text, () => ask(example)))));
}

function build(models) {
    const share = button("Share", "Copy the address of this question", async () => {
        await remember();
        copy(location.href, share);
    });

    ui.status = el("p", {role: "status", text: "loading"});
    ui.stop = button("Stop", "End the search", stop);
    ui.frames = [el("iframe", {title: "report"}), el("iframe", {title: "report", class: "behind"})];
    ui.answer = el("div", {class: "answer"}, ...ui.frames);
    document.body.className = "play";
    document.body.append(el("header", {}, el("h1", {text: "weft playground"}), ui.status, ui.stop, share),
        controls(models), ui.answer, live);
}

async function start() {
    const module = await compiledModule();

    startTheme();
    runners.quick = new Runner(module);
    runners.search = new Runner(module);
    build((await runners.quick.run({command: "list", words: {what: "models"}, inputs: [], outputs: []})).reply.result);
    await recall();
    showState();
    changed();
}

start();
