/* SPDX-License-Identifier: MIT */
/* study.c: evaluated designs in a SQLite file.
 *
 *   part      a template and workloads: what seconds depend on; limits and metric are not in it
 *   workload  the networks of a part
 *   design    sizes, area and power of an evaluated design
 *   step      its seconds on each workload
 *
 * 1. A batch is one transaction in write-ahead mode: a process that is killed at any moment leaves
 *    all of a batch or nothing, and the next one goes on from there. (A machine that loses power
 * may lose the last batches, never the file.)
 * 2. Parts are found by the hashes of template and networks and by RULES, which counts up whenever
 *    the seconds of a step change: old times are never mixed with new ones.
 * 3. A file of another program is refused before anything is written to it.
 * 4. A study that is only read needs no place to write: what nobody can write is read as a file
 *    that does not change, unless a search has left changes beside it.
 *
 * Seconds are stored as doubles, bit by bit. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dynload.h"
#include "hash.h"
#include "mine.h"

enum {
    RULES = 2,
    FORMAT = 1,
    APPLICATION = 0x77656674, /* "weft" */
    WAIT_MS = 10000,          /* for another process that writes */
};

/* What is called of the library, which is loaded with the first study. */
#define SQLITE_CALLS(X)                                                                            \
    X(bind_double)                                                                                 \
    X(bind_int)                                                                                    \
    X(bind_int64)                                                                                  \
    X(bind_text)                                                                                   \
    X(busy_timeout)                                                                                \
    X(close)                                                                                       \
    X(column_double)                                                                               \
    X(column_int64)                                                                                \
    X(column_text)                                                                                 \
    X(errmsg)                                                                                      \
    X(exec)                                                                                        \
    X(finalize)                                                                                    \
    X(last_insert_rowid)                                                                           \
    X(open_v2)                                                                                     \
    X(prepare_v2)                                                                                  \
    X(reset)                                                                                       \
    X(step)
#define FIELD(call) __typeof__(sqlite3_##call) *call;
#define SYMBOL(call) {"sqlite3_" #call, offsetof(sqlite, call)},

typedef struct sqlite {
    SQLITE_CALLS(FIELD)
} sqlite;

static const weft_symbol symbols[] = {SQLITE_CALLS(SYMBOL)};
static const weft_dynload library = {"SQLite", WEFT_SQLITE3_LIBRARY, "libsqlite3-0", symbols,
                                     sizeof symbols / sizeof symbols[0]};

typedef struct part {
    weft_study *study;
    const weft_template *template_;
    sqlite3_int64 id;
    int n_workloads;
    sqlite3_stmt *find, *put_design, *put_step;
    struct part *next;
} part;

struct weft_study {
    sqlite sql;
    sqlite3 *db;
    const char *path;
    part *first;
    weft_arena *arena;
};

static const char schema[] =
    "CREATE TABLE part (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, template TEXT NOT NULL);"
    "CREATE TABLE workload (part INTEGER, place INTEGER, name TEXT NOT NULL, batch REAL,"
    " PRIMARY KEY (part, place)) WITHOUT ROWID;"
    "CREATE TABLE design (part INTEGER, number INTEGER, rows REAL, cols REAL, tensor_cores REAL,"
    " lanes REAL, vector_cores REAL, buffer REAL, area_mm2 REAL, tdp_w REAL,"
    " PRIMARY KEY (part, number)) WITHOUT ROWID;"
    "CREATE TABLE step (part INTEGER, number INTEGER, workload INTEGER, seconds REAL,"
    " PRIMARY KEY (part, number, workload)) WITHOUT ROWID;";

/* --- calls ----------------------------------------------------------------------------------- */

static weft_status fail(const weft_study *s, int code)
{
    weft_status status =
        code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? WEFT_E_INPUT : WEFT_E_SYSTEM;

    return weft_fail(status, "%s: the study cannot be used: %s", s->path, s->sql.errmsg(s->db));
}

static weft_status run_sql(weft_study *s, const char *sql)
{
    int code = s->sql.exec(s->db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? WEFT_OK : fail(s, code);
}

static weft_status prepare(weft_study *s, const char *sql, sqlite3_stmt **out)
{
    int code = s->sql.prepare_v2(s->db, sql, -1, out, NULL);

    return code == SQLITE_OK ? WEFT_OK : fail(s, code);
}

/* A statement that changes something; it can run again afterwards. */
static weft_status step_done(weft_study *s, sqlite3_stmt *stmt)
{
    int code = s->sql.step(stmt);

    s->sql.reset(stmt);
    return code == SQLITE_DONE ? WEFT_OK : fail(s, code);
}

/* The first number that a query gives. */
static weft_status ask_int(weft_study *s, const char *sql, int64_t *out)
{
    sqlite3_stmt *stmt = NULL;
    int code;

    WEFT_TRY(prepare(s, sql, &stmt));
    code = s->sql.step(stmt);
    if (code == SQLITE_ROW)
        *out = s->sql.column_int64(stmt, 0);
    s->sql.finalize(stmt);
    return code == SQLITE_ROW ? WEFT_OK : fail(s, code);
}

/* Ends a transaction well or undoes it. */
static weft_status end_change(weft_study *s, weft_status status)
{
    if (status == WEFT_OK)
        status = run_sql(s, "COMMIT");
    if (status != WEFT_OK)
        s->sql.exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* the message is that of the failure */
    return status;
}

/* --- the file -------------------------------------------------------------------------------- */

static weft_status check_owner(weft_study *s, bool *is_new)
{
    int64_t application = 0, format = 0, n_tables = 0;

    WEFT_TRY(ask_int(s, "PRAGMA application_id", &application));
    WEFT_TRY(ask_int(s, "PRAGMA user_version", &format));
    WEFT_TRY(ask_int(s, "SELECT count(*) FROM sqlite_master", &n_tables));
    *is_new = application == 0 && n_tables == 0;
    if (!*is_new && application != APPLICATION)
        return weft_fail(WEFT_E_INPUT, "%s: this database is not a study of weft", s->path);
    if (!*is_new && format != FORMAT)
        return weft_fail(WEFT_E_INPUT, "%s: a study of version %" PRId64 ", expected version %d",
                         s->path, format, FORMAT);
    return WEFT_OK;
}

/* Another process may have made the tables since we looked: asked again inside. */
static weft_status make_tables(weft_study *s)
{
    char pragmas[96];
    bool is_new = false;
    weft_status status;

    WEFT_TRY(run_sql(s, "BEGIN IMMEDIATE"));
    status = check_owner(s, &is_new);
    if (status == WEFT_OK && is_new) {
        snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                 APPLICATION, FORMAT);
        status = run_sql(s, schema);
        if (status == WEFT_OK)
            status = run_sql(s, pragmas);
    }
    return end_change(s, status);
}

/* It names a place where there is no file and can be none. */
static weft_status cannot_open(const weft_study *s)
{
    return weft_fail(WEFT_E_INPUT, "%s: the study cannot be opened: %s", s->path,
                     s->db ? s->sql.errmsg(s->db) : "out of memory");
}

static weft_status open_file(weft_study *s)
{
    int code = s->sql.open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    bool is_new = false;

    if (code != SQLITE_OK)
        return cannot_open(s);
    s->sql.busy_timeout(s->db, WAIT_MS);
    WEFT_TRY(check_owner(s, &is_new));
    WEFT_TRY(run_sql(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL"));
    return is_new ? make_tables(s) : WEFT_OK;
}

static weft_status open_study(const char *path, weft_status (*open)(weft_study *s),
                              weft_study **out)
{
    weft_arena *a = weft_arena_new();
    weft_study *s = WEFT_NEW(a, weft_study, 1);
    weft_status status;

    s->arena = a;
    s->path = weft_arena_word(a, path);
    status = weft_dynload_open(&library, &s->sql);
    if (status == WEFT_OK)
        status = open(s);
    if (status == WEFT_OK)
        *out = s;
    else
        weft_study_close(s);
    return status;
}

weft_status weft_study_open(const char *path, weft_study **out)
{
    return open_study(path, open_file, out);
}

/* --- a file that is only read ---------------------------------------------------------------- */

static bool can_change(const weft_study *s)
{
    const char *slash = strrchr(s->path, '/');
    const char *folder =
        slash == NULL ? "." : weft_arena_text(s->arena, s->path, (size_t)(slash - s->path) + 1);

    return access(s->path, W_OK) == 0 && access(folder, W_OK) == 0;
}

/* Changes that are not in the file yet lie beside it. */
static bool has_changes(const weft_study *s)
{
    struct stat beside;

    return stat(weft_arena_print(s->arena, "%s-wal", s->path), &beside) == 0 && beside.st_size > 0;
}

/* The address of a file that does not change, as SQLite has it. */
static const char *still_address(const weft_study *s)
{
    const char *address = *s->path == '/' ? "file://" : "file:";

    for (const char *c = s->path; *c != '\0'; c++)
        address = strchr("?#%", *c) != NULL
                      ? weft_arena_print(s->arena, "%s%%%02X", address, (unsigned)*c)
                      : weft_arena_print(s->arena, "%s%c", address, *c);
    return weft_arena_print(s->arena, "%s?immutable=1", address);
}

static weft_status open_to_read(weft_study *s)
{
    bool is_still = !can_change(s) && !has_changes(s), is_new = false;
    int flags = can_change(s) ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    int code = s->sql.open_v2(is_still ? still_address(s) : s->path, &s->db,
                              is_still ? flags | SQLITE_OPEN_URI : flags, NULL);

    if (code != SQLITE_OK)
        return cannot_open(s);
    s->sql.busy_timeout(s->db, WAIT_MS);
    WEFT_TRY(check_owner(s, &is_new));
    return is_new ? weft_fail(WEFT_E_INPUT, "%s: this file is empty, expected a study", s->path)
                  : WEFT_OK;
}

weft_status weft_study_open_to_read(const char *path, weft_study **out)
{
    return open_study(path, open_to_read, out);
}

void weft_study_close(weft_study *s)
{
    if (s == NULL)
        return;
    for (part *p = s->first; p; p = p->next) { /* none without the library */
        s->sql.finalize(p->find);
        s->sql.finalize(p->put_design);
        s->sql.finalize(p->put_step);
    }
    if (s->db)
        s->sql.close(s->db);
    weft_arena_free(s->arena);
}

/* --- parts ----------------------------------------------------------------------------------- */

static const char *key_of(const weft_objective *q, weft_arena *a)
{
    uint64_t h = weft_hash_start();

    for (int i = 0; i < q->n_workloads; i++) {
        h = weft_hash_text(h, q->workload[i].name);
        h = weft_hash_bits(h, q->workload[i].hash);
        h = weft_hash_real(h, q->workload[i].batch);
    }
    return weft_arena_print(a, "%d:%016" PRIx64 ":%016" PRIx64, RULES, q->template_->hash,
                            weft_hash_end(h));
}

static weft_status find_part(weft_study *s, const char *key, sqlite3_int64 *id)
{
    sqlite3_stmt *stmt = NULL;
    int code;

    WEFT_TRY(prepare(s, "SELECT id FROM part WHERE key = ?", &stmt));
    s->sql.bind_text(stmt, 1, key, -1, SQLITE_STATIC);
    code = s->sql.step(stmt);
    *id = code == SQLITE_ROW ? s->sql.column_int64(stmt, 0) : -1;
    s->sql.finalize(stmt);
    return code == SQLITE_ROW || code == SQLITE_DONE ? WEFT_OK : fail(s, code);
}

static weft_status add_workloads(weft_study *s, const weft_objective *q, sqlite3_int64 id)
{
    sqlite3_stmt *stmt = NULL;
    weft_status status =
        prepare(s, "INSERT INTO workload (part, place, name, batch) VALUES (?, ?, ?, ?)", &stmt);

    for (int i = 0; i < q->n_workloads && status == WEFT_OK; i++) {
        s->sql.bind_int64(stmt, 1, id);
        s->sql.bind_int(stmt, 2, i);
        s->sql.bind_text(stmt, 3, q->workload[i].name, -1, SQLITE_STATIC);
        s->sql.bind_double(stmt, 4, q->workload[i].batch);
        status = step_done(s, stmt);
    }
    s->sql.finalize(stmt);
    return status;
}

static weft_status insert_part(weft_study *s, const weft_objective *q, const char *key,
                               sqlite3_int64 *id)
{
    sqlite3_stmt *stmt = NULL;
    weft_status status;

    WEFT_TRY(find_part(s, key, id)); /* another process may have been quicker */
    if (*id >= 0)
        return WEFT_OK;
    WEFT_TRY(prepare(s, "INSERT INTO part (key, template) VALUES (?, ?)", &stmt));
    s->sql.bind_text(stmt, 1, key, -1, SQLITE_STATIC);
    s->sql.bind_text(stmt, 2, q->template_->name, -1, SQLITE_STATIC);
    status = step_done(s, stmt);
    s->sql.finalize(stmt);
    WEFT_TRY(status);
    *id = s->sql.last_insert_rowid(s->db);
    return add_workloads(s, q, *id);
}

/* --- the cache of evaluations ---------------------------------------------------------------- */

static bool find_design(void *context, int64_t index, double *step_s)
{
    part *p = context;
    const sqlite *sql = &p->study->sql;
    int n = 0;

    sql->bind_int64(p->find, 1, p->id);
    sql->bind_int64(p->find, 2, index);
    while (n < p->n_workloads && sql->step(p->find) == SQLITE_ROW)
        step_s[n++] = sql->column_double(p->find, 0);
    sql->reset(p->find);
    return n == p->n_workloads;
}

static weft_status put_one(part *p, int64_t index, const double *step_s)
{
    const sqlite *sql = &p->study->sql;
    weft_design_point at = weft_point_at(p->template_, index);

    sql->bind_int64(p->put_design, 1, p->id);
    sql->bind_int64(p->put_design, 2, index);
    for (int k = 0; k < WEFT_N_PARAMETERS; k++)
        sql->bind_double(p->put_design, 3 + k,
                         weft_parameter_size(p->template_, &at, (weft_parameter)k));
    sql->bind_double(p->put_design, 3 + WEFT_N_PARAMETERS,
                     weft_design_point_area_mm2(p->template_, &at));
    sql->bind_double(p->put_design, 4 + WEFT_N_PARAMETERS,
                     weft_design_point_tdp_w(p->template_, &at));
    WEFT_TRY(step_done(p->study, p->put_design));
    for (int i = 0; i < p->n_workloads; i++) {
        sql->bind_int64(p->put_step, 1, p->id);
        sql->bind_int64(p->put_step, 2, index);
        sql->bind_int(p->put_step, 3, i);
        sql->bind_double(p->put_step, 4, step_s[i]);
        WEFT_TRY(step_done(p->study, p->put_step));
    }
    return WEFT_OK;
}

static weft_status put_designs(void *context, int n, const int64_t *index, const double *step_s)
{
    part *p = context;
    weft_status status = WEFT_OK;

    WEFT_TRY(run_sql(p->study, "BEGIN IMMEDIATE"));
    for (int i = 0; i < n && status == WEFT_OK; i++)
        status = put_one(p, index[i], step_s + (size_t)i * (size_t)p->n_workloads);
    return end_change(p->study, status);
}

static weft_status prepare_part(weft_study *s, part *p)
{
    WEFT_TRY(prepare(s, "SELECT seconds FROM step WHERE part = ? AND number = ? ORDER BY workload",
                     &p->find));
    WEFT_TRY(prepare(s, "INSERT OR IGNORE INTO design VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                     &p->put_design));
    return prepare(s, "INSERT OR IGNORE INTO step VALUES (?, ?, ?, ?)", &p->put_step);
}

weft_status weft_study_eval_cache(weft_study *s, const weft_objective *q, weft_eval_cache *out)
{
    part *p = WEFT_NEW(s->arena, part, 1);
    const char *key = key_of(q, s->arena);

    p->study = s;
    p->template_ = q->template_;
    p->n_workloads = q->n_workloads;
    p->next = s->first;
    s->first = p;
    WEFT_TRY(run_sql(s, "BEGIN IMMEDIATE"));
    WEFT_TRY(end_change(s, insert_part(s, q, key, &p->id)));
    WEFT_TRY(prepare_part(s, p));
    *out = (weft_eval_cache){find_design, put_designs, p};
    return WEFT_OK;
}

/* --- reading --------------------------------------------------------------------------------- */

static const char *column_text(const weft_study *s, sqlite3_stmt *stmt, int i, weft_arena *a)
{
    const char *text = (const char *)s->sql.column_text(stmt, i);

    return weft_arena_text(a, text ? text : "", text ? strlen(text) : 0);
}

static weft_status read_workloads(weft_study *s, int64_t id, weft_arena *a, weft_study_part *out)
{
    sqlite3_stmt *stmt = NULL;
    WEFT_VEC(const char *) name = {0};
    WEFT_VEC(double) batch = {0};
    int code;

    WEFT_TRY(prepare(s, "SELECT name, batch FROM workload WHERE part = ? ORDER BY place", &stmt));
    s->sql.bind_int64(stmt, 1, id);
    while ((code = s->sql.step(stmt)) == SQLITE_ROW) {
        const char *text = column_text(s, stmt, 0, a);

        WEFT_PUSH(a, name, text);
        WEFT_PUSH(a, batch, s->sql.column_double(stmt, 1));
    }
    s->sql.finalize(stmt);
    out->n_workloads = name.n;
    out->workload = name.at;
    out->batch = batch.at;
    return code == SQLITE_DONE ? WEFT_OK : fail(s, code);
}

/* The seconds of the designs, which come in the same order. */
static weft_status read_steps(weft_study *s, int64_t id, weft_arena *a, const weft_study_part *of,
                              weft_study_design *design)
{
    sqlite3_stmt *stmt = NULL;
    int n = of->n_designs * of->n_workloads, i = 0, code;
    double *seconds = WEFT_NEW(a, double, n);

    WEFT_TRY(
        prepare(s, "SELECT seconds FROM step WHERE part = ? ORDER BY number, workload", &stmt));
    s->sql.bind_int64(stmt, 1, id);
    while ((code = s->sql.step(stmt)) == SQLITE_ROW && i < n)
        seconds[i++] = s->sql.column_double(stmt, 0);
    s->sql.finalize(stmt);
    if (code != SQLITE_DONE && code != SQLITE_ROW)
        return fail(s, code);
    if (i < n || code == SQLITE_ROW)
        return weft_fail(WEFT_E_INPUT, "%s: the study lacks seconds of some designs", s->path);
    for (i = 0; i < of->n_designs; i++)
        design[i].step_s = seconds + i * of->n_workloads;
    return WEFT_OK;
}

static weft_status read_designs(weft_study *s, int64_t id, weft_arena *a, weft_study_part *out)
{
    sqlite3_stmt *stmt = NULL;
    WEFT_VEC(weft_study_design) design = {0};
    int code;

    WEFT_TRY(prepare(s,
                     "SELECT number, rows, cols, tensor_cores, lanes, vector_cores, buffer, "
                     "area_mm2, tdp_w FROM design WHERE part = ? ORDER BY number",
                     &stmt));
    s->sql.bind_int64(stmt, 1, id);
    while ((code = s->sql.step(stmt)) == SQLITE_ROW) {
        weft_study_design d = {.index = s->sql.column_int64(stmt, 0)};

        for (int k = 0; k < WEFT_N_PARAMETERS; k++)
            d.size[k] = s->sql.column_double(stmt, 1 + k);
        d.area_mm2 = s->sql.column_double(stmt, 1 + WEFT_N_PARAMETERS);
        d.tdp_w = s->sql.column_double(stmt, 2 + WEFT_N_PARAMETERS);
        WEFT_PUSH(a, design, d);
    }
    s->sql.finalize(stmt);
    out->n_designs = design.n;
    out->design = design.at;
    return code == SQLITE_DONE ? read_steps(s, id, a, out, design.at) : fail(s, code);
}

static weft_status read_parts(weft_study *s, weft_arena *a, int *n, const weft_study_part **out)
{
    sqlite3_stmt *stmt = NULL;
    WEFT_VEC(weft_study_part) list = {0};
    weft_status status = prepare(s, "SELECT id, template FROM part ORDER BY id", &stmt);
    int code = SQLITE_ROW;

    while (status == WEFT_OK && (code = s->sql.step(stmt)) == SQLITE_ROW) {
        weft_study_part p = {.template_name = column_text(s, stmt, 1, a)};

        status = read_workloads(s, s->sql.column_int64(stmt, 0), a, &p);
        if (status == WEFT_OK)
            status = read_designs(s, s->sql.column_int64(stmt, 0), a, &p);
        WEFT_PUSH(a, list, p);
    }
    if (status == WEFT_OK && code != SQLITE_DONE)
        status = fail(s, code);
    s->sql.finalize(stmt);
    *n = list.n;
    *out = list.at;
    return status;
}

/* One transaction: a search that writes meanwhile is not seen half. */
weft_status weft_study_read(weft_study *s, weft_arena *a, int *n, const weft_study_part **out)
{
    WEFT_TRY(run_sql(s, "BEGIN"));
    return end_change(s, read_parts(s, a, n, out));
}
