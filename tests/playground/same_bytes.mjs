/* SPDX-License-Identifier: MIT */
/* The module says what the program says.
 *
 *   node same_bytes.mjs WEFT MODULE ROOT
 *
 * Each command runs in both, with a budget in steps. The exit code, the message of an error, the
 * reply without times and use of memory, and every file that was written must be the same bytes. The
 * files are in one folder for the whole list, so that later commands read what earlier ones wrote. */
import {spawnSync} from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const [program, compiled, root] = process.argv.slice(2).map(name => path.resolve(name));
const {WeftModule, WasiFiles} = new Function(fs.readFileSync(path.join(root, "playground/wasi.js"), "utf8") +
    "; return {WeftModule, WasiFiles};")();

const INPUTS = ["tests/data/onnx/alexnet.onnx", "tests/data/onnx/small_cnn_qdq.onnx", "tests/data/tasks/topcuoglu.json",
    "presets/edge-soc.yaml"];
const COMMANDS = `
inspect resnet50
inspect alexnet.onnx
inspect small_cnn_qdq.onnx --train
list platforms
place resnet50 --on edge-soc --steps 2000 -o soc.json --report soc.html --trace soc.trace
place resnet50 --on edge-soc.yaml --steps 2000 --batch 4 -o soc4.json
place googlenet --on server-cpu-2gpu --solver heft -o gpu.json --dot gpu.dot
place inception_v3 --on edge-soc --steps 2000 --report inception.html
place alexnet.onnx --on phone-soc --steps 2000 -o phone.json --report phone.html
place resnet50 --on mixed-fleet --goal throughput --steps 2000 -o fleet.json --report fleet.html
place bert --on mixed-fleet --goal throughput --solver load --mix --steps 2000 -o mix.json
place alexnet --on edge-soc --semantics calls --steps 2000 -o calls.json
place topcuoglu.json --steps 1000 -o tasks.json --report tasks.html
place alexnet --on edge-sock --steps 10
place alexnet --on soc.json --steps 10
shard alexnet --on f1-2x4 --steps 2000 -o shard.json --report shard.html
shard casia_surf --on h2h-12 --solver herald -o herald.json
train gpt2 --on dgx-a100 --dtype f16 --steps 2000 -o train.json --report train.html
train bert:large --on dgx-a100 --batch 1024 --schedule 1f1b --steps 2000 -o bert.json
mine alexnet --area 400mm2 --evaluations 300 -o mine.json --report mine.html
mine resnet18 mobilenet_v2 --area 600mm2 --power 280W --evaluations 200 -o two.json
check soc.json
check shard.json
check train.json
check mine.json
explain soc.json
explain train.json
diff soc.json soc4.json
report gpu.json -o gpu.html
`.trim().split("\n").map(line => line.split(" "));

const OPERANDS = {inspect: ["model"], list: ["what"], place: ["model"], shard: ["model"], train: ["model"], mine: ["model"],
    check: ["plan"], explain: ["plan"], report: ["plan"], diff: ["a", "b"]};
const PAGES = new Set(["report"]); /* its reply is the data of the page: the file is compared */
const SWITCHES = new Set(["mix", "train"]);

/* The words of a command line as arguments of a request. */
function request([command, ...words]) {
    const operands = [], out = {};

    while (words.length > 0) {
        const word = words.shift(), flag = word === "-o" ? "output" : word.slice(2);
        if (!word.startsWith("-"))
            operands.push(word);
        else
            out[flag] = SWITCHES.has(flag) ? true : words.shift();
    }
    OPERANDS[command].forEach((name, i) => { out[name] = command === "mine" ? operands : operands[i]; });
    return [command, out];
}

/* Without what differs from run to run. */
function lasting(value) {
    return JSON.stringify(value, (key, x) => key === "seconds" || key === "peak_rss_bytes" || key.endsWith("_seconds") ? undefined : x);
}

/* What the program prints for --json, as a reply holds it. */
function native(words, folder) {
    const run = spawnSync(program, [...words, ...(PAGES.has(words[0]) ? [] : ["--json"])], {cwd: folder, encoding: "utf8", maxBuffer: 1 << 28});
    const isJson = run.stdout.trimStart().startsWith("{") || run.stdout.trimStart().startsWith("[");

    return {status: run.status, result: run.stdout === "" || PAGES.has(words[0]) ? null : isJson ? JSON.parse(run.stdout) : run.stdout,
        message: run.status > 1 ? run.stderr.trim().replace(/^weft: /, "") : null};
}

/* Files of pages and plans tell how long the search took, too. */
function comparable(bytes) {
    return Buffer.from(bytes).toString("utf8").replace(/"(seconds|peak_rss_bytes)": ?[0-9.e+-]+/g, '"$1": 0');
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "weft-"));
const files = new WasiFiles();
const weft = new WeftModule(new WebAssembly.Module(fs.readFileSync(compiled)), files);
let nFailed = 0, nFiles = 0;

function fail(words, what, a, b) {
    const at = [...a].findIndex((c, i) => c !== b[i]), from = Math.max(0, at - 60);

    nFailed++;
    console.log(`FAIL ${words.join(" ")}: ${what}\n  program: ${a.slice(from, from + 200)}\n  module:  ${b.slice(from, from + 200)}`);
}

for (const input of INPUTS) {
    fs.copyFileSync(path.join(root, input), path.join(folder, path.basename(input)));
    files.write(path.basename(input), new Uint8Array(fs.readFileSync(path.join(root, input))));
}
for (const words of COMMANDS) {
    const before = Date.now(), told = native(words, folder), between = Date.now(), reply = weft.call(...request(words));
    const said = {status: reply.status, result: PAGES.has(words[0]) ? null : reply.result, message: reply.error ? reply.error.message : null};
    const names = words.filter((_, i) => ["-o", "--report", "--trace", "--dot"].includes(words[i - 1]));

    if (lasting(told) !== lasting(said))
        fail(words, "another reply", lasting(told), lasting(said));
    for (const name of names) {
        const a = comparable(fs.readFileSync(path.join(folder, name))), b = comparable(files.read(name) || []);
        nFiles++;
        if (a !== b)
            fail(words, name, a, b);
    }
    if (process.env.WEFT_TIMES)
        console.log(words.join(" "), between - before, Date.now() - between);
}
fs.rmSync(folder, {recursive: true});
console.log(`${COMMANDS.length} commands, ${nFiles} files, ${nFailed} differ`);
process.exit(nFailed === 0 && nFiles > 20 ? 0 : 1);
