/* SPDX-License-Identifier: MIT */
/* cmd_completions.c: weft completions bash|zsh|fish: commands, flags and words for a shell.
 *
 * Everything comes from the option tables and the lists of what is built in. A word that is offered
 * is one that weft takes; where any file may stand, the shell completes files. */
#include "command.h"
#include "kind.h"

#include <string.h>

typedef struct completions_options {
    const char *output;
} completions_options;

static const weft_option completions_table[] = {
    {WEFT_TEXT(completions_options, output), 0, 0, 0, "write the result to FILE", "", NULL},
    WEFT_OPTIONS_END,
};

/* --- words ----------------------------------------------------------------------------------- */

/* Words with a blank between them. */
typedef struct words {
    weft_arena *a;
    const char *text;
} words;

static void add(words *w, const char *word)
{
    w->text = weft_arena_print(w->a, "%s%s%s", w->text, *w->text ? " " : "", word);
}

/* "a|b" */
static void add_choices(words *w, const char *choices)
{
    for (const char *at = choices; *at; at += strspn(at, "|")) {
        size_t n = strcspn(at, "|");

        add(w, weft_arena_text(w->a, at, n));
        at += n;
    }
}

static void add_models(words *w)
{
    const char *const *names;

    for (int i = 0, n = weft_zoo_list(w->a, &names); i < n; i++)
        add(w, names[i]);
}

static void add_presets(words *w, int n, const weft_preset *(*at)(int))
{
    for (int i = 0; i < n; i++)
        add(w, at(i)->name);
}

/* Those of the kinds that the command makes; of others those of all kinds. */
static void add_solvers(words *w, const weft_command *c)
{
    bool is_own = false;
    weft_solver_entry s;

    for (int k = 0; k < weft_kind_count(); k++)
        is_own |= strcmp(weft_kind_at(k)->command, c->name) == 0;
    for (int k = 0; k < weft_kind_count(); k++) {
        const weft_kind *kind = weft_kind_at(k);

        for (int i = 0; kind->solver != NULL && kind->solver(i, &s); i++)
            if (!is_own || strcmp(kind->command, c->name) == 0)
                add(w, s.name);
    }
}

/* Words for the value of a flag; "": there are none to offer. */
static const char *flag_words(const weft_command *c, const weft_option *o, weft_arena *a)
{
    char name[64];
    const char *value = weft_flag_value(o, weft_flag_name(o, name));
    words w = {a, ""};

    if (o->choices != NULL)
        add_choices(&w, o->choices);
    else if (strcmp(value, "PLATFORM") == 0)
        add_presets(&w, weft_preset_count(), weft_preset_at);
    else if (strcmp(value, "MODEL") == 0)
        add_models(&w);
    else if (strcmp(name, "solver") == 0)
        add_solvers(&w, c);
    else if (strcmp(name, "template") == 0)
        add_presets(&w, weft_template_preset_count(), weft_template_preset_at);
    else if (strcmp(name, "dtype") == 0)
        add_choices(&w, "f32|f16|bf16|f64|f8e4m3fn|f8e5m2");
    return w.text;
}

/* Words for operands; files may stand there, too, unless *is_closed. */
static const char *operand_words(const weft_command *c, weft_arena *a, bool *is_closed)
{
    words w = {a, ""};

    *is_closed = strchr(c->operands, '|') != NULL && c->operands[0] >= 'a' && c->operands[0] <= 'z';
    if (*is_closed)
        add_choices(&w, c->operands);
    if (strstr(c->operands, "MODEL") != NULL)
        add_models(&w);
    if (strstr(c->operands, "SET") != NULL)
        add_presets(&w, weft_set_preset_count(), weft_set_preset_at);
    return w.text;
}

static bool is_folder(const weft_option *o)
{
    char name[64];

    return strcmp(weft_flag_value(o, weft_flag_name(o, name)), "FOLDER") == 0;
}

/* May the value be a file? */
static bool is_file(const weft_option *o)
{
    static const char *const values[] = {"FILE", "PLATFORM", "MODEL", "NAME", "MEASURED"};
    char name[64];
    const char *value = weft_flag_value(o, weft_flag_name(o, name));

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(value, values[i]) == 0)
            return true;
    return false;
}

/* The flag that has a letter, too: -o, -q, -v. */
static bool has_letter(const char *name)
{
    return strcmp(name, "output") == 0 || strcmp(name, "quiet") == 0 ||
           strcmp(name, "verbose") == 0;
}

/* --- bash ------------------------------------------------------------------------------------ */

static void bash_command(const weft_command *c, weft_arena *a, FILE *to)
{
    bool is_closed;
    const char *operands = operand_words(c, a, &is_closed);

    fprintf(to, "    *:%s)\n        case $previous in\n", c->name);
    for (const weft_option *o = c->options; o->kind != WEFT_OPTION_END; o++) {
        char name[64];

        if (o->kind == WEFT_OPTION_FLAG)
            continue;
        weft_flag_name(o, name);
        fprintf(to, "        --%s%s) words='%s' takes=%s ;;\n", name,
                has_letter(name) ? weft_arena_print(a, "|-%.1s", name) : "", flag_words(c, o, a),
                is_folder(o) ? "folders"
                : is_file(o) ? "files"
                             : "words");
    }
    fprintf(to, "        *) words='%s' takes=%s", operands, is_closed ? "words" : "files");
    fprintf(to, " flags='--help");
    for (const weft_option *o = c->options; o->kind != WEFT_OPTION_END; o++) {
        char name[64];

        fprintf(to, " --%s", weft_flag_name(o, name));
    }
    fprintf(to, "' ;;\n        esac\n        ;;\n");
}

static void print_bash(weft_arena *a, FILE *to)
{
    fprintf(to, "# bash completion of weft, made by: weft completions bash\n"
                "_weft()\n{\n"
                "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                "    local words= flags= takes=words\n\n"
                "    COMPREPLY=()\n"
                "    [ \"$current\" != = ] || current=\n"
                "    [ \"$previous\" != = ] || previous=${COMP_WORDS[COMP_CWORD-2]}\n"
                "    case $COMP_CWORD:${COMP_WORDS[1]} in\n"
                "    1:*)\n        words='help --version --help");
    for (const weft_command *const *c = weft_commands; *c != NULL; c++)
        fprintf(to, " %s", (*c)->name);
    fprintf(to, "' ;;\n    *:help)\n        words='");
    for (const weft_command *const *c = weft_commands; *c != NULL; c++)
        fprintf(to, "%s%s", c == weft_commands ? "" : " ", (*c)->name);
    fprintf(to, "' ;;\n");
    for (const weft_command *const *c = weft_commands; *c != NULL; c++)
        bash_command(*c, a, to);
    fprintf(to, "    esac\n"
                "    case $current in -*) words=$flags takes=words ;; esac\n"
                "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                "    case $takes in\n"
                "    files) COMPREPLY+=($(compgen -f -- \"$current\")) ;;\n"
                "    folders) COMPREPLY+=($(compgen -d -- \"$current\")) ;;\n"
                "    esac\n"
                "}\n"
                "complete -o filenames -F _weft weft\n");
}

/* --- zsh ------------------------------------------------------------------------------------- */

/* Text in single quotes, with \ before marks. */
static const char *quoted(const char *text, const char *marks, const char *quote, weft_arena *a)
{
    const char *out = "";

    for (const char *p = text; *p; p++)
        out = weft_arena_print(a, "%s%s", out,
                               *p == '\''          ? quote
                               : strchr(marks, *p) ? weft_arena_print(a, "\\%c", *p)
                                                   : weft_arena_print(a, "%c", *p));
    return out;
}

static const char *zsh_quoted(const char *text, weft_arena *a)
{
    return quoted(text, "[]:\\", "'\\''", a);
}

/* What completes a value: words, files, or both. */
static const char *zsh_values(const char *list, bool is_closed, bool is_folder_, weft_arena *a)
{
    const char *files = is_folder_ ? "_files -/" : "_files";

    if (*list == '\0')
        return is_closed ? " " : files;
    if (is_closed)
        return weft_arena_print(a, "(%s)", list);
    return weft_arena_print(a, "{_alternative \"words\\:word\\:(%s)\" \"files\\:file\\:%s\"}", list,
                            files);
}

static void zsh_flag(const weft_command *c, const weft_option *o, weft_arena *a, FILE *to)
{
    char name[64];
    const char *help = zsh_quoted(o->help, a);

    weft_flag_name(o, name);
    for (int i = 0; i < (has_letter(name) ? 2 : 1); i++) {
        const char *flag =
            i ? weft_arena_print(a, "-%.1s", name) : weft_arena_print(a, "--%s", name);

        if (o->kind == WEFT_OPTION_FLAG)
            fprintf(to, " \\\n            '%s[%s]'", flag, help);
        else
            fprintf(to, " \\\n            '%s%s[%s]:%s:%s'", flag, i ? "+" : "=", help,
                    zsh_quoted(weft_flag_value(o, name), a),
                    zsh_values(flag_words(c, o, a), !is_file(o) && !is_folder(o), is_folder(o), a));
    }
}

static void zsh_command(const weft_command *c, weft_arena *a, FILE *to)
{
    bool is_closed;
    const char *list = operand_words(c, a, &is_closed);

    fprintf(to, "    %s)\n        _arguments -s -S '--help[show flags and examples]'", c->name);
    for (const weft_option *o = c->options; o->kind != WEFT_OPTION_END; o++)
        zsh_flag(c, o, a, to);
    fprintf(to, " \\\n            '*:%s:%s'\n        ;;\n", zsh_quoted(c->operands, a),
            zsh_values(list, is_closed, false, a));
}

static void print_zsh(weft_arena *a, FILE *to)
{
    fprintf(to, "#compdef weft\n# zsh completion of weft, made by: weft completions zsh\n"
                "local -a commands\ncommands=(\n");
    for (const weft_command *const *c = weft_commands; *c != NULL; c++)
        fprintf(to, "    '%s:%s'\n", (*c)->name, zsh_quoted((*c)->summary, a));
    fprintf(to, ")\n"
                "if (( CURRENT == 2 )); then\n"
                "    _describe command commands\n"
                "    return\n"
                "fi\n"
                "local command=$words[2]\n"
                "shift words\n"
                "(( CURRENT-- ))\n"
                "case $command in\n"
                "    help) _describe command commands ;;\n");
    for (const weft_command *const *c = weft_commands; *c != NULL; c++)
        zsh_command(*c, a, to);
    fprintf(to, "esac\n");
}

/* --- fish ------------------------------------------------------------------------------------ */

static const char *fish_quoted(const char *text, weft_arena *a)
{
    return quoted(text, "\\", "\\'", a);
}

static void fish_flag(const weft_command *c, const weft_option *o, weft_arena *a, FILE *to)
{
    char name[64];
    const char *list = flag_words(c, o, a);

    weft_flag_name(o, name);
    fprintf(to, "complete -c weft -n '__fish_seen_subcommand_from %s' -l %s", c->name, name);
    if (has_letter(name))
        fprintf(to, " -s %.1s", name);
    if (o->kind != WEFT_OPTION_FLAG)
        fprintf(to, " %s", is_file(o) || is_folder(o) ? "-r" : "-x");
    if (*list)
        fprintf(to, " -a '%s'", list);
    else if (is_folder(o))
        fprintf(to, " -a '(__fish_complete_directories)'");
    fprintf(to, " -d '%s'\n", fish_quoted(o->help, a));
}

static void fish_command(const weft_command *c, weft_arena *a, FILE *to)
{
    bool is_closed;
    const char *list = operand_words(c, a, &is_closed);

    fprintf(to, "complete -c weft -n __fish_use_subcommand -f -a %s -d '%s'\n", c->name,
            fish_quoted(c->summary, a));
    if (*list)
        fprintf(to, "complete -c weft -n '__fish_seen_subcommand_from %s' %s-a '%s'\n", c->name,
                is_closed ? "-f " : "", list);
    for (const weft_option *o = c->options; o->kind != WEFT_OPTION_END; o++)
        fish_flag(c, o, a, to);
}

static void print_fish(weft_arena *a, FILE *to)
{
    fprintf(to, "# fish completion of weft, made by: weft completions fish\n"
                "complete -c weft -l help -s h -d 'show flags and examples'\n"
                "complete -c weft -n __fish_use_subcommand -l version -d 'show the version'\n");
    for (const weft_command *const *c = weft_commands; *c != NULL; c++)
        fish_command(*c, a, to);
}

/* --- the command ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*print)(weft_arena *a, FILE *to);
} shells[] = {
    {"bash", print_bash},
    {"zsh",  print_zsh },
    {"fish", print_fish},
};

static weft_status run(const void *options, const char *const *operand, int n_operands, int *code)
{
    const completions_options *o = options;
    weft_arena *a = weft_arena_new();
    weft_status status = weft_fail(WEFT_E_INPUT,
                                   "completions: '%s' is no shell that weft knows, "
                                   "expected bash, zsh or fish",
                                   operand[0]);
    weft_collect c;

    (void)n_operands; /* one: the table says so */
    *code = WEFT_EXIT_DONE;
    for (int i = 0; i < 3; i++) {
        if (strcmp(operand[0], shells[i].name) != 0)
            continue;
        status = weft_collect_begin(&c);
        if (status != WEFT_OK)
            break;
        shells[i].print(a, c.to);
        status = weft_collect_emit(&c, o->output);
    }
    weft_arena_free(a);
    return status;
}

const weft_command weft_cmd_completions = {
    .name = "completions",
    .summary = "Print completions of commands and flags for a shell",
    .operands = "bash|zsh|fish",
    .description =
        "Prints a script that completes commands, flags, models, platforms and solvers in a\n"
        "shell. Packages install it; by hand it goes to the folder where the shell looks:",
    .examples = "  weft completions bash -o ~/.local/share/bash-completion/completions/weft\n"
                "  weft completions zsh -o ~/.zfunc/_weft\n"
                "  weft completions fish -o ~/.config/fish/completions/weft.fish\n",
    .options = completions_table,
    .options_size = sizeof(completions_options),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
