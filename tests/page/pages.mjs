// SPDX-License-Identifier: MIT
// The pages that the tests look at: one of each kind, made by the program, and made-up ones.
import {execFileSync} from "node:child_process";
import {readFileSync, statSync, writeFileSync} from "node:fs";
import {dirname, join} from "node:path";
import {fileURLToPath} from "node:url";
import {hostileData, mineData, pageOf, placeData, trainData} from "./synthetic.mjs";

const data = join(dirname(fileURLToPath(import.meta.url)), "../data");
const BAD = "</script><img src=x onerror=\"document.title='hurt'\">";

// name, command that makes the plan. Searches are bounded by steps, so that plans are the same
// everywhere.
const PLANS = [
    ["latency", ["place", "squeezenet1_1", "--on", "edge-soc", "--steps", "2000"]],
    ["throughput", ["place", "resnet18", "--on", "server-cpu-2gpu", "--goal", "throughput", "--steps", "2000"]],
    ["tasks", ["place", join(data, "tasks/topcuoglu.json")]],
    ["shard", ["shard", "alexnet", "--on", "f1-2x4", "--dtype", "f16"]],
    ["train", ["train", "gpt2:layers=4", "--on", "mixed-fleet", "--dtype", "f16", "--batch", "32"]],
    ["mine", ["mine", "gpt2:layers=2,seq=64", "--template", join(data, "templates/small.yaml"), "--area", "300mm2", "--power", "160W",
        "--sensitivity", "1", "--time-limit", "10min"]],
    ["pipeline", ["mine", "gpt2:layers=4,seq=64", "--template", join(data, "templates/small.yaml"), "--area", "300mm2", "--stages", "2",
        "--designs", "stages", "--batch", "16", "--time-limit", "10min"]],
];

function run(weft, folder, args) {
    return execFileSync(weft, args, {cwd: folder, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"]});
}

// Numbers that are the same everywhere.
function random(seed) {
    let state = BigInt(seed);

    return () => {
        state = state * 6364136223846793005n + 1442695040888963407n & (1n << 64n) - 1n;
        return Number(state >> 40n) / 2 ** 24;
    };
}

// Tasks in layers, each with one to three readers: what a large unrolled network looks like.
export function tasksFile(n, across, names = i => `task_${i}`) {
    const next = random(7), devices = ["cpu", "gpu0", "gpu1", "npu"], edges = [];
    const tasks = Array.from({length: n}, (_, i) => ({name: names(i),
        seconds: devices.map(() => Math.round(1e3 + 9e4 * next()) * 1e-9)}));

    for (let i = across; i < n; i++)
        for (const back of new Set([across, across - 1 + Math.floor(3 * next())]))
            if (i - back >= 0)
                edges.push({from: names(i - back), to: names(i), amount: Math.round(1e5 * next())});
    const matrix = value => devices.map((_, i) => devices.map((__, k) => i === k ? 0 : value));
    return {schema: "weft.tasks/1", devices, tasks, edges, link: matrix(1e-10), latency: matrix(2e-6)};
}

// The data in a page.
function dataOf(html) {
    const begin = '<script id="data" type="application/json">', from = html.indexOf(begin) + begin.length;

    return JSON.parse(html.slice(from, html.indexOf("</script>", from)));
}

// more: flags of the report, and what the documents that they name say: {table: list of rows}.
function makePlan(weft, folder, name, args, more = {flags: [], lists: {}}) {
    const plan = `${name}.plan.json`, page = `${name}.html`, file = join(folder, page);
    /* Of a training plan, the command knows more than the file: what only its search knows. */
    const isAtOnce = args[0] === "train";
    const result = JSON.parse(run(weft, folder, [...args, "-o", plan, "--json", ...isAtOnce ? ["--report", page] : []]));

    if (!isAtOnce)
        run(weft, folder, ["report", plan, "-o", page, ...more.flags]);
    return {name, file, result, bytes: statSync(file).size, data: dataOf(readFileSync(file, "utf8")), lists: more.lists};
}

// What `weft compare` and `weft explain` say about the plan of this name.
function documents(weft, folder, name, args) {
    const compare = JSON.parse(run(weft, folder, ["compare", ...args.slice(1), "--time-limit", "500ms", "--json"]));
    const explain = JSON.parse(run(weft, folder, ["explain", `${name}.plan.json`, "--steps", "2000", "--json"]));

    writeFileSync(join(folder, "compare.json"), JSON.stringify(compare));
    writeFileSync(join(folder, "explain.json"), JSON.stringify(explain));
    return {flags: ["--compare", "compare.json", "--explain", "explain.json"],
        lists: {compare: compare.solvers, upgrades: explain.upgrades}};
}

function makeUp(folder, name, made) {
    const file = join(folder, `${name}.html`);

    writeFileSync(file, pageOf(made));
    return {name, file, data: made, lists: {}, result: null, bytes: statSync(file).size};
}

export function makePages(weft, folder) {
    const real = [];

    for (const [name, args] of PLANS)
        real.push(makePlan(weft, folder, name, args));
    const [name, args] = PLANS[0];
    real[0] = makePlan(weft, folder, name, args, documents(weft, folder, name, args));
    writeFileSync(join(folder, "large.tasks.json"), JSON.stringify(tasksFile(10000, 40)));
    writeFileSync(join(folder, "hostile.tasks.json"), JSON.stringify(tasksFile(12, 3, i => BAD + i)));
    return {
        real,
        large: makePlan(weft, folder, "large", ["place", "large.tasks.json", "--solver", "heft"]),
        resnet: makePlan(weft, folder, "resnet50", ["place", "resnet50", "--on", "edge-soc", "--solver", "heft"]),
        hostile: [makePlan(weft, folder, "hostile", ["place", "hostile.tasks.json", "--solver", "heft"]),
            makeUp(folder, "made-up-hostile", hostileData())],
        madeUp: [makeUp(folder, "made-up-place", placeData(120, 11)), makeUp(folder, "made-up-train", trainData(4, 8)),
            makeUp(folder, "made-up-mine", mineData(120))],
    };
}
