/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The target `program`: a command of somebody's, run as a process. A module is either a program
 * that a build command made, or what is to be run with all its places filled; the source of both is
 * a JSON document behind the macros of a config, as bring/program.c writes it.
 *
 * The one idea: a program is a kernel whose launch is a process and whose clock is its own: what
 * a run costs is its wall time, or what an expression makes of the numbers that it prints.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/expr.h"
#include "target/program.h"
#include "target/target.h"

enum { MOST_SOURCE = 4 << 20, MOST_PROGRAM = 256 << 20, MOST_VALUES = 64, MOST_TEXTS = 64 };
static const double BUILD_S = 600;

/* ---- a document, its places filled -------------------------------------------------------- */

typedef struct values { /* of knobs and sizes, as the plan's macros say them */
    int n;
    char *name[MOST_VALUES], *value[MOST_VALUES];
} values;

static bool fill_value(void *arg, const char *name, ot_text *to)
{
    const values *v = arg;
    for (int i = 0; i < v->n; i++)
        if (strcmp(v->name[i], name) == 0) {
            ot_text_add(to, v->value[i]);
            return true;
        }
    return false;
}

/* Macros in front of a document; returns where that begins. */
static const char *read_values(const char *text, values *v, ot_arena *arena)
{
    const char *line = text;
    for (; *line && *line != '{'; line += strcspn(line, "\n"), line += *line == '\n') {
        char name[OPTUNE_NAME_SIZE];
        int at = 0;
        if (sscanf(line, "#define %63[A-Za-z0-9_]%n", name, &at) != 1 || v->n == MOST_VALUES)
            continue;
        at += line[at] == ' ';
        v->name[v->n] = ot_arena_copy(arena, name);
        v->value[v->n++] =
            ot_arena_printf(arena, "%.*s", (int)strcspn(line + at, "\n"), line + at);
    }
    return line;
}

static int fill_words(const json_t *from, values *v, ot_words *to, ot_arena *arena,
                      optune_err *err)
{
    ot_words words = {0};
    for (size_t i = 0; i < json_array_size(from) && words.n < OT_PROGRAM_WORDS; i++)
        words.word[words.n++] =
            ot_arena_copy(arena, json_string_value(json_array_get(from, i)));
    return ot_words_fill(&words, fill_value, v, to, arena, err);
}

static const char *text_at(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* ---- compiling: a build command, or nothing but filling ----------------------------------- */

/* A file that was edited since the program was declared: what it does from then on is another's. */
static int check_files(const json_t *files, optune_err *err)
{
    size_t i;
    const json_t *file;
    json_array_foreach(files, i, file)
    {
        const char *path = json_string_value(json_array_get(file, 0));
        const char *then = json_string_value(json_array_get(file, 1));
        char now[33];
        if (!path || !then)
            continue;
        ot_file_digest(path, now);
        if (strcmp(now, then) != 0)
            return optune_fail(
                err, OPTUNE_ECONFLICT,
                "'%s' was edited while it is tuned; start again: what was measured "
                "before is stored",
                path);
    }
    return OPTUNE_OK;
}

static int dependencies(const optune_target *target, const optune_impl *impl, char *text,
                        size_t size, optune_err *err)
{
    (void)target;
    if (size)
        text[0] = '\0'; /* what is built with is the build command's business */
    json_t *doc = impl && impl->source ? json_loads(impl->source, 0, NULL) : NULL;
    const int status = check_files(json_object_get(doc, "files"), err);
    json_decref(doc);
    return status;
}

static int compile(const optune_target *target, const optune_device *device,
                   const char *const *flags, int n_flags, const char *source,
                   const char *module, optune_argv *argv, optune_err *err)
{
    char path[4096];
    (void)target;
    (void)device;
    (void)flags;
    (void)n_flags;
    OT_RETURN_UNLESS_OK(ot_worker_program(path, sizeof path, err));
    const char *const words[] = {path, "--compile", "program", source, module};
    for (int i = 0; i < OT_COUNT(words); i++)
        optune_argv_add(argv, words[i]);
    return OPTUNE_OK;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* One at a time in its folder, as all of them leave the same file. */
static int build_alone(const ot_words *command, const char *folder, const char *program,
                       const char *module, optune_err *err)
{
    struct stat before = {0}, after = {0};
    ot_program_end end = {0};
    const bool was = stat(program, &before) == 0;
    const ot_program_order order = {
        .argv = command->word,
        .exe = -1,
        .folder = folder,
        .limit_s = BUILD_S,
        .in_group = true, /* who ends or stops this compiler means all that it started */
    };
    int status = ot_program_run(&order, &end, err);
    if (status >= 0 && (end.late || end.status != 0)) {
        fputs(ot_text_str(&end.printed), stdout); /* it names its error itself */
        status = ot_program_check_end(&end, "the build command", BUILD_S, err);
    }
    ot_text_release(&end.printed);
    if (status < 0)
        return status;
    if (stat(program, &after) < 0)
        return optune_fail(err, OPTUNE_ENOENT,
                           "the build command left no '%s', which is what is run", program);
    if (was && same_file(&before, &after))
        return optune_fail(err, OPTUNE_EUSAGE,
                           "the build command left '%s' as it was; it has to make it for every "
                           "config (make -B, say)",
                           program);
    ot_text bytes = {0};
    status = ot_read_file(program, &bytes, MOST_PROGRAM, err);
    if (status >= 0)
        status = ot_write_file(module, bytes.s, bytes.n, err);
    ot_text_release(&bytes);
    return status;
}

static int build(const json_t *doc, values *v, const char *module, ot_arena *arena,
                 optune_err *err)
{
    ot_words command;
    const char *folder = text_at(doc, "folder");
    OT_RETURN_UNLESS_OK(fill_words(json_object_get(doc, "build"), v, &command, arena, err));
    if (command.n == 0)
        return optune_fail(err, OPTUNE_EUSAGE, "the build command has no word left");
    const int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX) < 0) {
        if (lock >= 0)
            close(lock);
        return optune_fail(err, OPTUNE_EIO, "cannot work in '%s': %s", folder, strerror(errno));
    }
    const int status = build_alone(&command, folder, text_at(doc, "program"), module, err);
    close(lock);
    return status;
}

static json_t *json_words(const ot_words *words)
{
    json_t *array = json_array();
    for (int i = 0; i < words->n; i++)
        json_array_append_new(array, json_string(words->word[i]));
    return array;
}

/* The document again, with nothing left to fill, and the values themselves. */
static int write_filled(json_t *doc, values *v, const char *module, ot_arena *arena,
                        optune_err *err)
{
    static const char *const lists[] = {"run", "check"};
    json_t *env = json_array(), *known = json_object();
    int status = OPTUNE_OK;
    for (int i = 0; i < OT_COUNT(lists) && status >= 0; i++) {
        ot_words words;
        status = fill_words(json_object_get(doc, lists[i]), v, &words, arena, err);
        if (status >= 0 && json_object_get(doc, lists[i]))
            json_object_set_new(doc, lists[i], json_words(&words));
    }
    for (size_t i = 0; i < json_array_size(json_object_get(doc, "env")) && status >= 0; i++) {
        ot_text text = {0};
        status = ot_fill(json_string_value(json_array_get(json_object_get(doc, "env"), i)),
                         fill_value, v, &text, err);
        json_array_append_new(env, json_string(ot_text_str(&text)));
        ot_text_release(&text);
    }
    for (int i = 0; i < v->n; i++)
        json_object_set_new(known, v->name[i], json_string(v->value[i]));
    json_object_set_new(doc, "env", env);
    json_object_set_new(doc, "values", known);
    char *text = json_dumps(doc, JSON_COMPACT);
    if (status >= 0)
        status = text ? ot_write_file(module, text, strlen(text), err)
                      : optune_fail(err, OPTUNE_EUSAGE, "a value is no text in UTF-8");
    free(text);
    return status;
}

static int translate(char **word, int n)
{
    optune_err err = {0};
    ot_arena arena = {0};
    ot_text source = {0};
    values v = {0};
    if (n != 2)
        return 2;
    int status = ot_read_file(word[0], &source, MOST_SOURCE, &err);
    const char *text = status < 0 ? "" : read_values(ot_text_str(&source), &v, &arena);
    json_t *doc = json_loads(text, 0, NULL);
    if (status >= 0 && !doc)
        status = optune_fail(&err, OPTUNE_EDAMAGED, "it declares no program");
    if (status >= 0 && fill_value(&v, "OPTUNE_BUILD", &(ot_text){0}))
        status = build(doc, &v, word[1], &arena, &err);
    else if (status >= 0)
        status = write_filled(doc, &v, word[1], &arena, &err);
    if (status < 0)
        printf("error: %s\n", err.text);
    json_decref(doc);
    ot_text_release(&source);
    ot_arena_release(&arena);
    return status < 0 ? 1 : 0;
}

static int probe(const optune_target *target, optune_device *device, optune_err *err)
{
    return ot_target_find("cpu")->probe(target, device, err);
}

/* ---- modules, loaded ---------------------------------------------------------------------- */

typedef struct module {
    json_t *doc; /* what is to be run; NULL: this is a program */
    int fd;      /* of a program */
    ot_arena arena;
    char *argv[OT_PROGRAM_WORDS + 1], *env[MOST_TEXTS + 1], *check[OT_PROGRAM_WORDS + 1];
    ot_pattern pattern[MOST_TEXTS];
    int n_patterns;
    ot_expr *objective;
    double limit_s;
    bool compared, checked;
    int n_numbers; /* of the last run */
    char name[MOST_VALUES][OPTUNE_NAME_SIZE];
    double number[MOST_VALUES];
} module;

static int open_state(void *state, const optune_target *target, const optune_device *device,
                      optune_err *err)
{
    (void)state;
    (void)target;
    (void)device;
    (void)err;
    return OPTUNE_OK;
}

static void close_state(void *state)
{
    (void)state;
}

static void take_list(const json_t *doc, const char *name, char **to, int most)
{
    const json_t *list = json_object_get(doc, name);
    for (int i = 0; i < (int)json_array_size(list) && i < most; i++)
        to[i] = (char *)(uintptr_t)json_string_value(json_array_get(list, (size_t)i));
}

static int read_run(module *m, optune_err *err)
{
    const json_t *read = json_object_get(m->doc, "read");
    take_list(m->doc, "run", m->argv, OT_PROGRAM_WORDS);
    take_list(m->doc, "env", m->env, MOST_TEXTS);
    take_list(m->doc, "check", m->check, OT_PROGRAM_WORDS);
    m->limit_s = json_number_value(json_object_get(m->doc, "timeout"));
    m->compared = json_is_true(json_object_get(m->doc, "same_output"));
    for (size_t i = 0; i < json_array_size(read) && i < MOST_TEXTS; i++)
        OT_RETURN_UNLESS_OK(ot_pattern_read(json_string_value(json_array_get(read, i)),
                                            &m->pattern[m->n_patterns++], err));
    const ot_spot place = {.file = "the objective", .column = 1};
    return ot_expr_parse(text_at(m->doc, "objective"), &place, &m->objective, err);
}

/* Its bytes in a file that nobody writes to any more, which a program must be. */
static int keep_program(const ot_text *bytes, int *kept, optune_err *err)
{
    char path[64];
    const int fd = memfd_create("program", MFD_CLOEXEC);
    size_t done = 0;
    while (fd >= 0 && done < bytes->n) {
        const ssize_t n = write(fd, bytes->s + done, bytes->n - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    *kept = fd >= 0 && done == bytes->n ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0)
        close(fd);
    return *kept >= 0 ? OPTUNE_OK
                      : optune_fail(err, OPTUNE_ENOMEM, "no memory for the program: %s",
                                    strerror(errno));
}

static void unload(void *state, void *handle)
{
    module *m = handle;
    (void)state;
    json_decref(m->doc);
    if (m->fd >= 0)
        close(m->fd);
    ot_expr_free(m->objective);
    ot_arena_release(&m->arena);
    free(m);
}

static int load(void *state, const char *path, void **handle, optune_err *err)
{
    static const char mark[] = "{\"optune_program\"";
    ot_text bytes = {0};
    module *m = ot_alloc(sizeof *m);
    m->fd = -1;
    int status = ot_read_file(path, &bytes, MOST_PROGRAM, err);
    if (status >= 0 && strncmp(ot_text_str(&bytes), mark, sizeof mark - 1) == 0) {
        m->doc = json_loads(bytes.s, 0, NULL);
        status = m->doc ? read_run(m, err)
                        : optune_fail(err, OPTUNE_EDAMAGED, "'%s' is no module", path);
    } else if (status >= 0) {
        status = keep_program(&bytes, &m->fd, err);
    }
    ot_text_release(&bytes);
    if (status < 0)
        unload(state, m);
    else
        *handle = m;
    return status;
}

static void *symbol(void *state, void *handle, const char *function)
{
    (void)state;
    (void)function;
    return handle;
}

/* ---- numbers ------------------------------------------------------------------------------ */

static void add_number(module *m, const char *name, double value)
{
    for (int i = 0; i < m->n_numbers; i++)
        if (strcmp(m->name[i], name) == 0) {
            m->number[i] = value;
            return;
        }
    if (m->n_numbers < MOST_VALUES) {
        ot_copy(m->name[m->n_numbers], OPTUNE_NAME_SIZE, name);
        m->number[m->n_numbers++] = value;
    }
}

/* What nobody sees at once: numbers are there, but written for people. */
static const char *comma_note(const char *line)
{
    for (const char *p = line; (p = strchr(p, ',')); p++)
        if (p > line && isdigit((unsigned char)p[-1]) && isdigit((unsigned char)p[1]))
            return "; numbers with a comma in them, as 1,234.5 or 0,5, are not read";
    return "";
}

static int read_printed(module *m, const ot_pattern *pattern, const ot_text *printed,
                        optune_err *err)
{
    double number[OT_PATTERN_NUMBERS], other[OT_PATTERN_NUMBERS];
    char last[160];
    const char *end;
    if (!ot_pattern_find(pattern, ot_text_str(printed), number, &end)) {
        ot_program_last_line(printed, last, sizeof last);
        if (!*last)
            return optune_fail(err, OPTUNE_EIO, "it printed nothing: there is no '%s'",
                               pattern->text);
        return optune_fail(err, OPTUNE_EIO,
                           "it printed nothing like '%s'; its last line is '%s'%s",
                           pattern->text, last, comma_note(last));
    }
    if (ot_pattern_find(pattern, end, other, &end))
        return optune_fail(
            err, OPTUNE_EIO,
            "it printed '%s' more than once, with %.9g and %.9g: a longer pattern "
            "fits one of them only",
            pattern->text, number[0], other[0]);
    for (int i = 0; i < pattern->n; i++)
        add_number(m, pattern->name[i], number[i]);
    return OPTUNE_OK;
}

static int read_numbers(module *m, const ot_program_end *end, optune_err *err)
{
    const struct timeval *user = &end->used.ru_utime, *system = &end->used.ru_stime;
    m->n_numbers = 0;
    add_number(m, "time", end->wall);
    add_number(m, "wall", end->wall);
    add_number(m, "cpu",
               (double)(user->tv_sec + system->tv_sec) +
                   (double)(user->tv_usec + system->tv_usec) * 1e-6);
    add_number(m, "memory", (double)end->used.ru_maxrss * 1024);
    for (int i = 0; i < m->n_patterns; i++)
        OT_RETURN_UNLESS_OK(read_printed(m, &m->pattern[i], &end->printed, err));
    return OPTUNE_OK;
}

/* A number that was measured, else a knob's or a size's value. */
static bool meaning(const void *arg, const char *name, ot_expr_value *value)
{
    const module *m = arg;
    double real;
    int64_t whole;
    for (int i = 0; i < m->n_numbers; i++)
        if (strcmp(m->name[i], name) == 0) {
            *value = (ot_expr_value){.kind = OT_VALUE_REAL, .f = m->number[i]};
            return true;
        }
    const char *text =
        json_string_value(json_object_get(json_object_get(m->doc, "values"), name));
    if (!text)
        return false;
    if (ot_parse_int(text, &whole))
        *value = ot_int_value(whole);
    else if (ot_parse_real(text, &real))
        *value = (ot_expr_value){.kind = OT_VALUE_REAL, .f = real};
    else if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0)
        *value = (ot_expr_value){.kind = OT_VALUE_BOOL, .i = *text == 'T'};
    else
        *value = (ot_expr_value){.kind = OT_VALUE_WORD, .s = text};
    return true;
}

static int objective_of(const module *m, double *cost, optune_err *err)
{
    OT_RETURN_UNLESS_OK(ot_expr_number(m->objective, meaning, m, cost, err));
    if (!isfinite(*cost) || *cost <= 0)
        return optune_fail(err, OPTUNE_EIO,
                           "the objective '%s' is %.6g: the least is wanted, above 0; of a "
                           "rate that is '1 / rate'",
                           ot_expr_text(m->objective), *cost);
    return OPTUNE_OK;
}

/* ---- running ------------------------------------------------------------------------------ */

typedef struct buffer {
    int64_t bytes;
    char *data;
} buffer;

static int alloc(void *state, int64_t bytes, bool guarded, void **to, optune_err *err)
{
    (void)state;
    (void)guarded;
    (void)err;
    buffer *b = ot_alloc(sizeof *b);
    *b = (buffer){.bytes = bytes, .data = ot_alloc((size_t)bytes + 1)};
    *to = b;
    return OPTUNE_OK;
}

static void free_buffer(void *state, void *handle)
{
    buffer *b = handle;
    (void)state;
    free(b->data);
    free(b);
}

static int write_buffer(void *state, void *handle, const void *from, int64_t bytes)
{
    (void)state;
    memcpy(((buffer *)handle)->data, from, (size_t)bytes);
    return OPTUNE_OK;
}

static int read_buffer(void *state, const void *handle, void *to, int64_t bytes)
{
    (void)state;
    memcpy(to, ((const buffer *)handle)->data, (size_t)bytes);
    return OPTUNE_OK;
}

static bool intact(void *state, void *handle)
{
    (void)state;
    (void)handle;
    return true;
}

/* The digest of what it printed, but for lines with numbers that are read: these differ. */
static void digest_printed(const module *m, const ot_text *printed, ot_digest *digest)
{
    ot_text kept = {0}, line = {0};
    double number[OT_PATTERN_NUMBERS];
    const char *end;
    for (const char *p = ot_text_str(printed); *p;) {
        const size_t n = strcspn(p, "\n");
        bool read = false;
        ot_text_clear(&line);
        ot_text_add_n(&line, p, n);
        for (int i = 0; i < m->n_patterns && !read; i++)
            read = ot_pattern_find(&m->pattern[i], ot_text_str(&line), number, &end) != NULL;
        if (!read)
            ot_text_printf(&kept, "%s\n", ot_text_str(&line));
        p += n + (p[n] == '\n');
    }
    *digest = ot_digest_of(ot_text_str(&kept), kept.n);
    ot_text_release(&kept);
    ot_text_release(&line);
}

/* What its output tensor says: nothing, or four parts of the digest. */
static void write_output(const module *m, const ot_text *printed, buffer *to)
{
    ot_digest digest = {0};
    if (m->compared)
        digest_printed(m, printed, &digest);
    memset(to->data, 0, (size_t)to->bytes);
    memcpy(to->data, digest.byte,
           (size_t)to->bytes < sizeof digest.byte ? (size_t)to->bytes : sizeof digest.byte);
}

/* Once for each config: with what the run printed on its stdin. */
static int check(module *m, const ot_text *printed, optune_err *err)
{
    const ot_program_order order = {.argv = m->check,
                                    .exe = -1,
                                    .folder = text_at(m->doc, "folder"),
                                    .more = m->env,
                                    .input = ot_text_str(printed),
                                    .limit_s = m->limit_s};
    ot_program_end end;
    if (m->checked || !m->check[0])
        return OPTUNE_OK;
    int status = ot_program_run(&order, &end, err);
    if (status >= 0) {
        status = ot_program_check_end(&end, "the check", m->limit_s, err);
        ot_text_release(&end.printed);
    }
    if (status < 0 && err)
        err->status = status = OPTUNE_EDAMAGED; /* the result is wrong */
    m->checked = status >= 0;
    return status;
}

static int run_once(module *m, const module *built, buffer *out, double *cost, optune_err *err)
{
    const ot_program_order order = {.argv = m->argv,
                                    .exe = built ? built->fd : -1,
                                    .folder = text_at(m->doc, "folder"),
                                    .more = m->env,
                                    .limit_s = m->limit_s};
    ot_program_end end;
    OT_RETURN_UNLESS_OK(ot_program_run(&order, &end, err));
    int status = ot_program_check_end(&end, "it", m->limit_s, err);
    if (status >= 0 && end.cut && m->compared)
        status = optune_fail(err, OPTUNE_ELIMIT, "it prints too much to be compared");
    if (status >= 0)
        status = read_numbers(m, &end, err);
    if (status >= 0)
        status = objective_of(m, cost, err);
    if (status >= 0)
        status = check(m, &end.printed, err);
    if (status >= 0)
        write_output(m, &end.printed, out);
    ot_text_release(&end.printed);
    return status;
}

static double time_runs(void *state, const optune_launch *launch, int n, int64_t count,
                        optune_err *err)
{
    double sum = 0;
    (void)state;
    for (int64_t k = 0; k < count; k++) {
        const module *built = NULL;
        for (int i = 0; i < n; i++) {
            module *m = launch[i].function;
            double cost = 0;
            if (!m->doc)
                built = m;
            else if (run_once(m, built, launch[i].arg[0], &cost, err) < 0)
                return -1;
            sum += cost;
        }
    }
    return sum;
}

static int run(void *state, const optune_launch *launch, int n, optune_err *err)
{
    return time_runs(state, launch, n, 1, err) < 0 ? err->status : OPTUNE_OK;
}

/* The numbers of the last run, as counters are told. */
static void numbers(void *state, const optune_launch *launch, int n, char *text, size_t size,
                    char *why)
{
    optune_err err = {0};
    text[0] = why[0] = '\0';
    if (time_runs(state, launch, n, 1, &err) < 0) {
        optune_refuse(why, "%s", err.text);
        return;
    }
    const module *m = launch[n - 1].function;
    for (int i = 0; i < m->n_numbers; i++) {
        const size_t used = strlen(text);
        ot_format(text + used, size - used, "%s=%.9g\n", m->name[i], m->number[i]);
    }
}

OPTUNE_TARGET(program) = {
    .name = "program",
    .summary = "programs of one's own, run as processes (optune tune -- COMMAND)",
    .keys = (const char *const[]){"program", NULL},
    .source_suffix = ".json",
    .module_suffix = ".program",
    .probe = probe,
    .dependencies = dependencies,
    .compile = compile,
    .translate = translate,
    .patience_s = 3600,
    .worker =
        {
            .open = open_state,
            .close = close_state,
            OT_WORKER_FUNCTIONS,
            .counters = numbers,
            .costs = 1,
        },
};
