/* SPDX-License-Identifier: MIT */
/* worker.js: runs requests away from the page, one by one. After wasi.js. */

let compiled = null, weft = null, files = null;

/* Takes a message {module}, then {id, command, words, inputs: [{name, bytes}], outputs: [name]}; answers
 * {ready} and {id, progress: [value, bound]} and {id, reply, outputs: {name: text}} or {id, failure}. */
onmessage = ({data}) => {
    if (data.module) {
        compiled = data.module;
        postMessage({ready: true});
        return;
    }
    try {
        if (!weft) {
            files = new WasiFiles();
            weft = new WeftModule(compiled, files, (value, bound) => postMessage({id: current, progress: [value, bound]}));
        }
        current = data.id;
        data.inputs.forEach(file => files.write(file.name, file.bytes));
        const reply = weft.call(data.command, data.words), outputs = {};
        for (const name of data.outputs) {
            const bytes = files.read(name);
            if (bytes) {
                outputs[name] = new TextDecoder().decode(bytes);
                files.remove(name);
            }
        }
        postMessage({id: data.id, reply, outputs});
    } catch (e) {
        weft = null; /* what its memory holds is not known any more */
        postMessage({id: data.id, failure: e instanceof WebAssembly.RuntimeError && /memory|unreachable/.test(e.message) ?
            "weft has run out of memory: a browser gives it 4 GB at most" : String(e)});
    }
};

let current = 0;
