// SPDX-License-Identifier: MIT
// Pages of made-up data (weft.page/1), for what no plan of the tests has: hostile names, many rows,
// every kind of section at once. The page is put together here as src/report/page.c does it.
//
//   node synthetic.mjs KIND N_NODES TO.html
import {readFileSync, writeFileSync} from "node:fs";
import {dirname, join} from "node:path";
import {fileURLToPath} from "node:url";

const folder = join(dirname(fileURLToPath(import.meta.url)), "../../page");

export function pageOf(data) {
    const lines = readFileSync(join(folder, "page.html"), "utf8").split("\n");

    return lines.map(line => line === "@data" ? JSON.stringify(data).replaceAll("<", "\\u003c") :
        line.startsWith("@") ? readFileSync(join(folder, line.slice(1)), "utf8") : line).join("\n");
}

// Deterministic numbers of [0, 1).
function random(seed) {
    let state = seed >>> 0;

    return () => {
        state = Math.imul(state ^ state >>> 15, 0x2c1b3c6d) + 0x9e3779b9 >>> 0;
        return (Math.imul(state ^ state >>> 13, 0x297a2d39) >>> 0) / 2 ** 32;
    };
}

const OPS = ["Conv", "Relu", "MatMul", "Add", "Concat", "MaxPool", "Gemm"];

// Columns of nodes in rows; every node has one or two predecessors in the row above.
function graphOf(n, devices, next) {
    const across = Math.min(7, Math.ceil(Math.sqrt(n) / 4)), w = 118, h = 34;
    const nodes = {name: [], op: [], x: [], y: [], w: [], h: [], device: [], seconds: [], bytes: [], joules: [], shape: [],
        start: [], note: null};
    const edges = {from: [], to: [], bytes: [], is_cross: [], points: []};
    const costs = {on: devices, seconds: [], joules: null};

    for (let i = 0; i < n; i++) {
        const row = Math.floor(i / across), column = i % across, d = Math.floor(next() * devices.length);
        const times = devices.map(() => next() < 0.08 ? null : 1e-6 * (1 + 40 * next() ** 3));

        if (times[d] === null)
            times[d] = 2e-6;
        nodes.name.push(`/features/block${row}/branch_${column}/node_${i}`);
        nodes.op.push(OPS[Math.floor(next() * OPS.length)]);
        nodes.x.push(20 + w / 2 + column * (w + 26));
        nodes.y.push(20 + h / 2 + row * (h + 30));
        nodes.w.push(w);
        nodes.h.push(h);
        nodes.device.push(d);
        nodes.seconds.push(times[d]);
        nodes.bytes.push(Math.floor(1e6 * next()));
        nodes.joules.push(times[d] * 30);
        nodes.shape.push("1x64x56x56");
        costs.seconds.push(times);
        for (const back of new Set([across, across + (column > 0 ? 1 : 0)])) {
            const from = i - back;
            if (from < 0 || (back !== across && next() < 0.6))
                continue;
            edges.from.push(from);
            edges.to.push(i);
            edges.bytes.push(nodes.bytes[from]);
            edges.is_cross.push(nodes.device[from] !== d);
            edges.points.push([]);
        }
    }
    const rows = Math.ceil(n / across);
    return {width: 40 + across * (w + 26) - 26, height: 40 + rows * (h + 30) - 30, is_graphviz: false, devices, nodes, edges, costs};
}

// Each node after its predecessors and after the node before it on its device; sends between devices.
function timelineOf(graph) {
    const rows = graph.devices.map(name => ({name, kind: "device", lanes: 1})), rowOf = new Map();
    const bars = {row: [], lane: [], start: [], end: [], kind: [], name: [], node: []};
    const arrows = {from: [], to: []}, free = graph.devices.map(() => 0), linkFree = [], barOf = [], before = [];
    const add = (row, start, end, kind, name, node) => {
        [bars.row, bars.lane, bars.start, bars.end, bars.kind, bars.name, bars.node].forEach((list, i) =>
            list.push([row, 0, start, end, kind, name, node][i]));
        return bars.row.length - 1;
    };

    graph.nodes.name.forEach((_, i) => { before[i] = []; });
    graph.edges.from.forEach((u, e) => before[graph.edges.to[e]].push(u));
    graph.nodes.name.forEach((name, i) => {
        const d = graph.nodes.device[i];
        let ready = free[d];
        const sends = [];
        for (const u of before[i]) {
            let end = bars.end[barOf[u]];
            if (graph.nodes.device[u] !== d) {
                const link = `${graph.devices[graph.nodes.device[u]]} > ${graph.devices[d]}`;
                if (!rowOf.has(link)) {
                    rowOf.set(link, rows.length);
                    rows.push({name: link, kind: "link", lanes: 1});
                    linkFree[rowOf.get(link)] = 0;
                }
                const at = Math.max(end, linkFree[rowOf.get(link)]);
                end = linkFree[rowOf.get(link)] = at + 2e-6;
                const sent = add(rowOf.get(link), at, end, 1, graph.nodes.name[u], u);
                arrows.from.push(barOf[u]);
                arrows.to.push(sent);
                sends.push(sent);
            }
            ready = Math.max(ready, end);
        }
        barOf[i] = add(d, ready, ready + graph.nodes.seconds[i], 0, name, i);
        for (const sent of sends) {
            arrows.from.push(sent);
            arrows.to.push(barOf[i]);
        }
        graph.nodes.start.push(ready);
        free[d] = ready + graph.nodes.seconds[i];
    });
    const end = Math.max(...free), chain = [];
    for (let bar = bars.end.indexOf(end); bar !== undefined && bar >= 0;) {
        chain.unshift(bar);
        const at = bars.start[bar];
        bar = at > 0 ? bars.end.findIndex((t, i) => t === at && i < bar) : -1;
    }
    return {end, rows, kinds: ["compute", "transfer"], bars, arrows, chain, colour_by: "device"};
}

function memoryOf(graph, timeline, next) {
    return graph.devices.map((name, d) => {
        const at = [0], held = [2e7];
        timeline.bars.node.forEach((node, i) => {
            if (timeline.bars.kind[i] === 0 && graph.nodes.device[node] === d) {
                at.push(timeline.bars.start[i]);
                held.push(Math.max(1e6, held[held.length - 1] + (next() - 0.5) * 4e6));
            }
        });
        return {name, capacity: d === 0 ? 6.4e7 : 4.8e10, at, bytes: held};
    });
}

export function placeData(n, nDevices = 3, seed = 1) {
    const next = random(seed), devices = ["cpu", "a6000", "a4000", ...Array.from({length: Math.max(0, nDevices - 3)}, (_, i) => `dev${i}`)]
        .slice(0, nDevices);
    const graph = graphOf(n, devices, next), timeline = timelineOf(graph), end = timeline.end;
    const busy = devices.map((_, d) => graph.nodes.seconds.reduce((s, x, i) => s + (graph.nodes.device[i] === d ? x : 0), 0));
    const result = {value: end, bound: end * 0.94, gap: 0.0638, status: "feasible"};

    return {
        schema: "weft.page/1", kind: "place", title: "made-up network on made-up machine", subtitle: "lowest latency, solver auto",
        result,
        facts: [
            {key: "value", label: "latency", text: `${(end * 1e3).toPrecision(4)} ms`},
            {key: "bound", label: "bound", text: `${(end * 940).toPrecision(4)} ms`, note: "no plan is faster (search)"},
            {key: "gap", label: "gap", text: "at most 6.38 %", note: "from the best possible plan"},
            {key: "speedup", label: "speed-up", text: "1.39x", note: "over the best single device (a6000: 2.644 ms); at most 1.39x is possible"},
            {key: "heft", label: "over HEFT", text: "1.11x", note: "the list scheduler: 2.099 ms"},
            {key: "energy", label: "energy", text: "1.777 mJ", note: "of idle devices; dynamic energy unknown"},
            {key: "sent", label: "sent", text: "13.0 MB", note: "in 62 transfers"},
        ],
        timeline, graph, memory: memoryOf(graph, timeline, next),
        tables: [
            {id: "devices", title: "Devices", section: "use", note: null, columns: [{key: "name", name: "device", unit: "text"},
                {key: "tasks", name: "tasks", unit: "count"}, {key: "busy", name: "busy", unit: "s"},
                {key: "utilisation", name: "utilisation", unit: "%"}, {key: "memory", name: "peak memory", unit: "B"}],
            rows: devices.map((name, d) => [name, graph.nodes.device.filter(x => x === d).length, busy[d], busy[d] / end, 1e7 * (d + 1)])},
            {id: "links", title: "Links", section: "use", note: "Links that carry nothing are left out.",
                columns: [{key: "name", name: "link", unit: "text"}, {key: "sent", name: "sent", unit: "B"},
                    {key: "busy", name: "busy", unit: "s"}, {key: "share", name: "busy share", unit: "%"}],
                rows: timeline.rows.filter(r => r.kind === "link").map((r, i) => [r.name, 1e6 * (i + 1), end * 0.1, 0.1])},
            {id: "upgrades", title: "Upgrades, by what they are worth", section: "upgrades", note: "Each one solved again.",
                columns: [{key: "what", name: "upgrade", unit: "text"}, {key: "value", name: "new latency", unit: "s"},
                    {key: "faster", name: "faster", unit: "%"}, {key: "bound", name: "new bound", unit: "s"}],
                rows: [["a6000 twice as fast", end * 0.6, 0.4, end * 0.55], ["link cpu > a6000 twice as fast", end * 0.97, 0.03, end * 0.9]]},
            {id: "compare", title: "Solvers", section: "compare", note: null, columns: [{key: "solver", name: "solver", unit: "text"},
                {key: "value", name: "latency", unit: "s"}, {key: "gap", name: "gap", unit: "%"}],
            rows: [["exact", end, 0.06], ["heft", end * 1.11, 0.17], ["milp", null, null]]},
        ],
        chain: {compute_s: end * 0.8, transfer_s: end * 0.15, wait_s: end * 0.05,
            parts: [{kind: "compute", text: "58 tasks on a6000: conv_2 .. conv_126", start: 0, end: end * 0.8, bars: timeline.chain.slice(0, 20)},
                {kind: "transfer", text: "conv_126 from a6000 to cpu", start: end * 0.8, end: end * 0.95, bars: timeline.chain.slice(20, 22)},
                {kind: "wait", text: "cpu is busy with others", start: end * 0.95, end, bars: []}]},
        bound: {value: end * 0.94, method: "search", is_explained: false, text: "A search excludes every plan below 1.2 ms.",
            parts: [{key: "path", name: "critical path", text: "58 tasks, each on its fastest device.", seconds: end * 0.7, nodes: [0, 3, 5, 9]},
                {key: "work", name: "work of all devices", text: "All tasks, shared perfectly.", seconds: end * 0.5, nodes: []}]},
        plots: [],
        about: [{title: "Model", rows: [["source", "made-up"], ["content hash", "d0f4a1b2c3d4e5f60718293a4b5c6d7e"], ["nodes", n]]},
            {title: "Platform", rows: [["name", "made-up machine"], ["devices", devices.length]]},
            {title: "Options", rows: [["solver", "auto"], ["seed", 1]]}, {title: "Proof", rows: [["method", "search"], ["steps", 20000]]}],
        assumptions: ["Devices run one task at a time.", "A link carries one tensor after the other."],
        command: "weft place made-up --on machine -o plan.json\nweft report plan.json -o report.html",
    };
}

// Microbatches through stages, forward then backward.
export function trainData(nStages = 4, nMicro = 8) {
    const bars = {row: [], lane: [], start: [], end: [], kind: [], name: [], node: []};
    const put = (...values) => Object.values(bars).forEach((list, i) => list.push(values[i]));

    for (let s = 0; s < nStages; s++)
        for (let m = 0; m < nMicro; m++) {
            put(s, 0, (s + m) * 1e-3, (s + m + 1) * 1e-3, 0, `forward ${m}`, -1);
            const at = (nStages + nMicro - 1) * 1e-3 + (nStages - 1 - s + m) * 2e-3;
            put(s, 0, at, at + 2e-3, 1, `backward ${m}`, -1);
        }
    const end = Math.max(...bars.end);
    return {
        ...placeData(40), kind: "train", title: "made-up training", graph: null, bound: null, chain: null, plots: [],
        memory: Array.from({length: nStages}, (_, s) => ({name: `stage ${s}`, capacity: 8e10, at: [0, end / 3, end / 2, end * 0.9],
            bytes: [2e10, 5e10, 6.5e10 - 4e9 * s, 2.2e10]})),
        timeline: {end, rows: Array.from({length: nStages}, (_, s) => ({name: `stage ${s}`, kind: "stage", lanes: 1})),
            kinds: ["forward", "backward"], bars, arrows: {from: [], to: []}, chain: [], colour_by: "kind"},
    };
}

export function mineData(n = 200) {
    const next = random(3), points = [];

    for (let i = 0; i < n; i++) {
        const x = 60 + 220 * next();
        points.push({x, y: (40 + x * 2.2) * (0.4 + 0.6 * next()), label: `${16 << i % 4}x${16 << i % 3} x${1 + i % 8}`, is_best: false, is_front: false});
    }
    for (const p of points)
        p.is_front = !points.some(q => q !== p && q.x <= p.x && q.y >= p.y);
    const best = points.filter(p => p.is_front).sort((a, b) => b.y - a.y)[0];
    best.is_best = true;
    return {
        ...placeData(20), kind: "mine", title: "resnet50 on a mined design", graph: null, timeline: null, memory: [], bound: null, chain: null,
        plots: ["front", "area"].map((id, i) => ({id, title: i ? "Throughput and area" : "Throughput and power",
            x: i ? {name: "area", unit: "mm2"} : {name: "TDP", unit: "W"}, y: {name: "throughput", unit: "samples/s"},
            points: points.map(p => ({...p, x: i ? p.x * 2 : p.x})), lines: [{axis: "x", at: i ? 600 : 280, label: i ? "limit 600 mm\u00b2" : "limit 280 W"}]})),
        tables: [{id: "front", title: "Front", section: "front", note: null, columns: [{key: "design", name: "design", unit: "text"},
            {key: "tdp", name: "TDP", unit: "W"}, {key: "throughput", name: "throughput", unit: "samples/s"}],
        rows: points.filter(p => p.is_front).map(p => [p.label, p.x, p.y])}],
    };
}

export function hostileData() {
    const data = placeData(30), bad = "</script><img src=x onerror=\"window.isHurt=1\"><b>&amp;";

    data.title = data.subtitle = bad;
    data.graph.nodes.name[3] = data.timeline.bars.name[3] = data.timeline.rows[0].name = data.memory[0].name = bad;
    data.tables[0].rows[0][0] = data.about[0].rows[0][1] = data.assumptions[0] = data.command = bad;
    return data;
}

export const kinds = {place: placeData, train: trainData, mine: mineData, hostile: hostileData};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const [kind, n, to] = process.argv.slice(2);
    writeFileSync(to, pageOf(kinds[kind](kind === "train" ? undefined : Number(n))));
}
