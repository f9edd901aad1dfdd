/* SPDX-License-Identifier: MIT */
/* runner.js: workers that run requests, and can be stopped in the middle of one. */

/* The module of the page: base64 of a gzip file. */
async function compiledModule() {
    const text = atob(document.getElementById("module").textContent.trim());
    const bytes = Uint8Array.from(text, c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));

    return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

function newWorker() {
    const url = URL.createObjectURL(new Blob([document.getElementById("worker").textContent], {type: "text/javascript"}));
    const worker = new Worker(url);

    URL.revokeObjectURL(url);
    return worker;
}

class Stopped extends Error {}

/* One request at a time; stop() ends the worker in the middle of it and makes another. */
class Runner {
    constructor(module) {
        this.module = module;
        this.next = 0;
        this.running = null;
        this.start();
    }

    start() {
        this.worker = newWorker();
        this.worker.postMessage({module: this.module});
        this.worker.onmessage = ({data}) => this.take(data);
    }

    take(data) {
        const running = this.running;

        if (!running || data.id !== running.id)
            return;
        if (data.progress) {
            running.onProgress(...data.progress);
            return;
        }
        this.running = null;
        if (data.failure)
            running.reject(new Error(data.failure));
        else
            running.resolve(data);
    }

    /* request: {command, words, inputs, outputs}. Fails with Stopped if it is stopped. */
    run(request, onProgress) {
        this.stop();
        return new Promise((resolve, reject) => {
            this.running = {id: ++this.next, resolve, reject, onProgress: onProgress || (() => {})};
            this.worker.postMessage({id: this.next, ...request});
        });
    }

    stop() {
        const running = this.running;

        if (!running)
            return;
        this.running = null;
        this.worker.terminate();
        this.start();
        running.reject(new Stopped("stopped"));
    }
}
