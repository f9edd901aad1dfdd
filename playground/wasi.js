/* SPDX-License-Identifier: MIT */
/* wasi.js: as much of WASI (wasi_snapshot_preview1) as weft calls, over files in memory. Everything is in
 * the folder "/". Plain JavaScript: the worker of the page and the tests under node include it. */

const ERRNO = {BADF: 8, EXIST: 20, INVAL: 28, ISDIR: 31, NOENT: 44, NOSYS: 52, NOTDIR: 54, NOTEMPTY: 55, SPIPE: 70};
const TYPE = {DEVICE: 2, FOLDER: 3, FILE: 4};
const ROOT_FD = 3;

/* A failure that the module is told as a number. */
class WasiError extends Error {
    constructor(name) {
        super(name);
        this.errno = ERRNO[name];
    }
}

/* The module has ended itself. */
class WasiExit extends Error {
    constructor(code) {
        super(`exit code ${code}`);
        this.code = code;
    }
}

/* Files and folders by their path without the first "/": {data, size}, or {} for a folder. */
class WasiFiles {
    constructor() {
        this.entries = new Map([["", {}]]);
    }

    /* "a/./b//../c" is "a/c". */
    static plain(path) {
        const out = [];

        for (const part of path.split("/"))
            if (part === "..")
                out.pop();
            else if (part !== "" && part !== ".")
                out.push(part);
        return out.join("/");
    }

    find(path) {
        const entry = this.entries.get(path);

        if (!entry)
            throw new WasiError("NOENT");
        return entry;
    }

    /* The folder that holds the path must be there. */
    add(path, entry) {
        const holder = this.find(path.split("/").slice(0, -1).join("/"));

        if (holder.data)
            throw new WasiError("NOTDIR");
        this.entries.set(path, entry);
        return entry;
    }

    remove(path) {
        this.find(path);
        this.entries.delete(path);
    }

    /* Names in a folder, in a fixed order. */
    list(folder) {
        const start = folder === "" ? "" : folder + "/";

        return [...this.entries.keys()].filter(path => path !== "" && path.startsWith(start) &&
            !path.slice(start.length).includes("/") && path !== folder).map(path => path.slice(start.length)).sort();
    }

    write(path, bytes) {
        this.add(WasiFiles.plain(path), {data: bytes, size: bytes.length});
    }

    read(path) {
        const entry = this.entries.get(WasiFiles.plain(path));

        return entry && entry.data ? entry.data.subarray(0, entry.size) : null;
    }
}

/* Writes bytes at a place, behind the end too. */
function putBytes(entry, at, bytes) {
    const end = at + bytes.length;

    if (end > entry.data.length) {
        const larger = new Uint8Array(Math.max(end, 2 * entry.data.length));
        larger.set(entry.data.subarray(0, entry.size));
        entry.data = larger;
    }
    entry.data.set(bytes, at);
    entry.size = Math.max(entry.size, end);
}

/* The functions a module imports. `print(fd, text)` takes what is written to standard output and error. */
function wasiImports(files, memory, print) {
    const open = new Map([0, 1, 2].map(fd => [fd, {type: TYPE.DEVICE}]));
    const view = () => new DataView(memory().buffer);
    const bytes = (at, n) => new Uint8Array(memory().buffer, at, n);
    const text = (at, n) => new TextDecoder().decode(bytes(at, n).slice());

    open.set(ROOT_FD, {type: TYPE.FOLDER, path: "", entry: files.find("")});

    const handle = fd => {
        if (!open.has(fd))
            throw new WasiError("BADF");
        return open.get(fd);
    };
    const fileOf = fd => {
        const h = handle(fd);
        if (h.type !== TYPE.FILE)
            throw new WasiError(h.type === TYPE.FOLDER ? "ISDIR" : "SPIPE");
        return h;
    };
    const pathOf = (fd, at, n) => WasiFiles.plain(handle(fd).path + "/" + text(at, n));

    /* Pieces of memory that a list names: [bytes, ...]. */
    const pieces = (list, n) => Array.from({length: n}, (_, i) =>
        bytes(view().getUint32(list + 8 * i, true), view().getUint32(list + 8 * i + 4, true)));

    const readFrom = (entry, at, list, n) => {
        let read = 0;
        for (const piece of pieces(list, n)) {
            const part = entry.data.subarray(Math.min(at + read, entry.size), Math.min(at + read + piece.length, entry.size));
            piece.set(part);
            read += part.length;
        }
        return read;
    };

    const putStat = (entry, type, at) => {
        bytes(at, 64).fill(0);
        view().setUint8(at + 16, type);
        view().setBigUint64(at + 24, 1n, true);
        view().setBigUint64(at + 32, BigInt(entry.size || 0), true);
    };
    const typeOf = entry => entry.data ? TYPE.FILE : TYPE.FOLDER;

    const calls = {
        clock_time_get(clock, _precision, to) {
            const ms = clock === 0 ? Date.now() : performance.now();
            view().setBigUint64(to, BigInt(Math.round(ms * 1e6)), true);
        },
        random_get(at, n) {
            crypto.getRandomValues(bytes(at, n));
        },
        proc_exit(code) {
            throw new WasiExit(code);
        },
        poll_oneoff() {
            throw new WasiError("NOSYS");
        },

        fd_close(fd) {
            handle(fd);
            open.delete(fd);
        },
        fd_fdstat_get(fd, to) {
            const h = handle(fd);
            bytes(to, 24).fill(0);
            view().setUint8(to, h.type);
            view().setUint16(to + 2, h.isAppended ? 1 : 0, true);
            view().setBigUint64(to + 8, 0xffffffffffffffffn, true);
            view().setBigUint64(to + 16, 0xffffffffffffffffn, true);
        },
        fd_fdstat_set_flags(fd) {
            handle(fd);
        },
        fd_filestat_get(fd, to) {
            const h = handle(fd);
            putStat(h.entry || {}, h.type, to);
        },
        fd_filestat_set_size(fd, size) {
            const entry = fileOf(fd).entry, n = Number(size), data = new Uint8Array(n);
            data.set(entry.data.subarray(0, Math.min(entry.size, n)));
            Object.assign(entry, {data, size: n});
        },
        fd_prestat_get(fd, to) {
            if (fd !== ROOT_FD)
                throw new WasiError("BADF");
            view().setUint32(to, 0, true);
            view().setUint32(to + 4, 1, true);
        },
        fd_prestat_dir_name(_fd, to) {
            bytes(to, 1)[0] = 0x2f;
        },
        fd_pread(fd, list, n, at, to) {
            view().setUint32(to, readFrom(fileOf(fd).entry, Number(at), list, n), true);
        },
        fd_read(fd, list, n, to) {
            const h = handle(fd);
            const read = h.type === TYPE.DEVICE ? 0 : readFrom(fileOf(fd).entry, h.at, list, n);
            if (h.type === TYPE.FILE)
                h.at += read;
            view().setUint32(to, read, true);
        },
        fd_write(fd, list, n, to) {
            const h = handle(fd);
            let written = 0;
            for (const piece of pieces(list, n)) {
                if (h.type === TYPE.DEVICE)
                    print(fd, new TextDecoder().decode(piece.slice()));
                else {
                    h.at = h.isAppended ? h.entry.size : h.at;
                    putBytes(fileOf(fd).entry, h.at, piece);
                    h.at += piece.length;
                }
                written += piece.length;
            }
            view().setUint32(to, written, true);
        },
        fd_seek(fd, offset, whence, to) {
            const h = fileOf(fd);
            const at = [0, h.at, h.entry.size][whence] + Number(offset);
            if (!(at >= 0))
                throw new WasiError("INVAL");
            h.at = at;
            view().setBigUint64(to, BigInt(at), true);
        },
        fd_sync(fd) {
            handle(fd);
        },
        fd_readdir(fd, to, size, cookie, used) {
            const folder = handle(fd).path;
            let at = 0;
            files.list(folder).forEach((name, i) => {
                const word = new TextEncoder().encode(name), record = new Uint8Array(24 + word.length);
                const fields = new DataView(record.buffer);
                if (i < Number(cookie) || at >= size)
                    return;
                fields.setBigUint64(0, BigInt(i + 1), true);
                fields.setUint32(16, word.length, true);
                fields.setUint8(20, typeOf(files.find(WasiFiles.plain(folder + "/" + name))));
                record.set(word, 24);
                bytes(to + at, Math.min(record.length, size - at)).set(record.subarray(0, size - at));
                at = Math.min(at + record.length, size);
            });
            view().setUint32(used, at, true);
        },

        path_open(fd, _follow, at, n, how, _rights, _inherited, flags, to) {
            const path = pathOf(fd, at, n), create = how & 1, folder = how & 2, exclusive = how & 4, cut = how & 8;
            let entry = files.entries.get(path), next = ROOT_FD + 1;

            if (entry && exclusive)
                throw new WasiError("EXIST");
            if (!entry && !create)
                throw new WasiError("NOENT");
            if (!entry)
                entry = files.add(path, {data: new Uint8Array(0), size: 0});
            if (folder && entry.data)
                throw new WasiError("NOTDIR");
            if (cut && entry.data)
                Object.assign(entry, {data: new Uint8Array(0), size: 0});
            while (open.has(next))
                next++;
            open.set(next, {type: typeOf(entry), path, entry, at: 0, isAppended: (flags & 1) !== 0});
            view().setUint32(to, next, true);
        },
        path_filestat_get(fd, _follow, at, n, to) {
            const entry = files.find(pathOf(fd, at, n));
            putStat(entry, typeOf(entry), to);
        },
        path_create_directory(fd, at, n) {
            const path = pathOf(fd, at, n);
            if (files.entries.has(path))
                throw new WasiError("EXIST");
            files.add(path, {});
        },
        path_remove_directory(fd, at, n) {
            const path = pathOf(fd, at, n);
            if (files.list(path).length > 0)
                throw new WasiError("NOTEMPTY");
            files.remove(path);
        },
        path_unlink_file(fd, at, n) {
            const path = pathOf(fd, at, n);
            if (!files.find(path).data)
                throw new WasiError("ISDIR");
            files.remove(path);
        },
        path_rename(fd, at, n, toFd, toAt, toN) {
            const from = pathOf(fd, at, n), entry = files.find(from);
            if (!entry.data)
                throw new WasiError("INVAL");
            files.add(pathOf(toFd, toAt, toN), entry);
            files.remove(from);
        },
        path_link(fd, _follow, at, n, toFd, toAt, toN) {
            const to = pathOf(toFd, toAt, toN);
            if (files.entries.has(to))
                throw new WasiError("EXIST");
            files.add(to, files.find(pathOf(fd, at, n)));
        },
        path_readlink() {
            throw new WasiError("INVAL");
        },
    };

    const told = f => (...words) => {
        try {
            f(...words);
            return 0;
        } catch (e) {
            if (e instanceof WasiError)
                return e.errno;
            throw e;
        }
    };
    return Object.fromEntries(Object.entries(calls).map(([name, f]) => [name, told(f)]));
}

/* weft in a module: call(request) is weft_call of the library, with objects instead of texts. After an
 * exception the module is of no more use: make another one. */
class WeftModule {
    constructor(compiled, files, onProgress, print) {
        const missing = WebAssembly.Module.imports(compiled).map(({name}) => [name, () => ERRNO.NOSYS]);
        const imports = {
            wasi_snapshot_preview1: {...Object.fromEntries(missing), ...wasiImports(files, () => this.exports.memory, print || (() => {}))},
            weft: {progress: onProgress || (() => {})},
        };

        this.exports = new WebAssembly.Instance(compiled, imports).exports;
        this.exports._initialize();
    }

    callText(request) {
        const bytes = new TextEncoder().encode(request + "\0"), {malloc, free, playground_call, playground_free} = this.exports;
        const at = malloc(bytes.length);

        new Uint8Array(this.exports.memory.buffer).set(bytes, at);
        const reply = playground_call(at), memory = new Uint8Array(this.exports.memory.buffer);
        const text = new TextDecoder().decode(memory.slice(reply, memory.indexOf(0, reply)));
        playground_free(reply);
        free(at);
        return text;
    }

    call(command, words) {
        return JSON.parse(this.callText(JSON.stringify({schema: "weft.request/1", command, arguments: words})));
    }
}
