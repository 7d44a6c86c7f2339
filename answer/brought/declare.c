/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program given in words becomes a .tune file beside the database, as a person would write it:
 * from there on it is a file that is brought like any other.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer/answer.h"
#include "base/fenv.h"
#include "base/program.h"
#include "bring/bring.h"

/* ---- knobs ------------------------------------------------------------------------------- */

/* A number or truth value as it stands, anything else as a word. */
static int add_value(const char *text, size_t n, const char *knob, ot_text *to, optune_err *err)
{
    char word[OPTUNE_TEXT_SIZE], plain[32];
    double real;
    int64_t whole;
    if (n >= sizeof word)
        return optune_fail(err, OPTUNE_ELIMIT, "a value of knob '%s' is too long", knob);
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    const bool integer = ot_parse_int(word, &whole);
    snprintf(plain, sizeof plain, "%lld", (long long)(integer ? whole : 0));
    const bool number =
        (integer && strcmp(plain, word) == 0) || (!integer && ot_parse_real(word, &real));
    if (number || strcmp(word, "True") == 0 || strcmp(word, "False") == 0) {
        ot_text_add(to, word);
        return OPTUNE_OK;
    }
    const char *quote = strchr(word, '\'') ? "\"" : "'";
    if ((strchr(word, '\'') && strchr(word, '"')) || strchr(word, '\\'))
        return optune_fail(err, OPTUNE_ESYNTAX,
                           "knob '%s': the value %s has both kinds of quotes, or a backslash",
                           knob, word);
    ot_text_printf(to, "%s%s%s", quote, word, quote);
    return OPTUNE_OK;
}

/* Behind the end of a line another statement would begin. */
static int check_line(const char *said, optune_err *err)
{
    return strpbrk(said, "\n\r")
               ? optune_fail(err, OPTUNE_ESYNTAX, "a line ends within '%s'", said)
               : OPTUNE_OK;
}

static int add_knob(const char *said, ot_text *to, optune_err *err)
{
    OT_RETURN_UNLESS_OK(check_line(said, err));
    const char *equals = strchr(said, '=');
    if (!equals || equals == said)
        return optune_fail(err, OPTUNE_EUSAGE,
                           "'%s' is no knob: NAME=VALUE,VALUE..., as in threads=1,2,4", said);
    const char *p = equals + 1;
    const bool expression = *p == '[' || strncmp(p, "list(", 5) == 0;
    char name[OPTUNE_NAME_SIZE];
    if (!ot_copy(name, sizeof name, "") || (size_t)(equals - said) >= sizeof name)
        return optune_fail(err, OPTUNE_ELIMIT, "the name in '%.60s' is too long", said);
    snprintf(name, sizeof name, "%.*s", (int)(equals - said), said);
    ot_text_printf(to, "knob %s = %s", name, expression ? p : "[");
    for (bool more = !expression; more;) {
        const size_t n = strcspn(p, ",");
        OT_RETURN_UNLESS_OK(add_value(p, n, name, to, err));
        more = p[n] == ',';
        ot_text_add(to, more ? ", " : "]");
        p += n + more;
    }
    ot_text_add(to, "\n");
    return OPTUNE_OK;
}

/* ---- the rest ---------------------------------------------------------------------------- */

static int add_line(const char *word, const char *rest, ot_text *to, optune_err *err)
{
    if (!rest)
        return OPTUNE_OK;
    OT_RETURN_UNLESS_OK(check_line(rest, err));
    ot_text_printf(to, "%s %s\n", word, rest);
    return OPTUNE_OK;
}

static int add_quoted(const char *word, const char *text, ot_text *to, optune_err *err)
{
    ot_text quoted = {0};
    if (text)
        ot_word_quote(text, &quoted);
    const int status = add_line(word, text ? ot_text_str(&quoted) : NULL, to, err);
    ot_text_release(&quoted);
    return status;
}

static int add_lines(const char *word, const char *const *list, bool quoted, ot_text *to,
                     optune_err *err)
{
    for (int i = 0; list && list[i]; i++)
        OT_RETURN_UNLESS_OK((quoted ? add_quoted : add_line)(word, list[i], to, err));
    return OPTUNE_OK;
}

static int add_command(const optune_command *program, ot_text *to, optune_err *err)
{
    ot_text words = {0};
    for (int i = 0; program->command[i]; i++) {
        ot_text_add(&words, i ? " " : "");
        ot_word_quote(program->command[i], &words);
    }
    const int status = add_line("run", ot_text_str(&words), to, err);
    ot_text_release(&words);
    return status;
}

static int write_text(const optune_command *p, ot_text *to, optune_err *err)
{
    char folder[4096], timeout[32];
    if (!getcwd(folder, sizeof folder))
        return optune_fail(err, OPTUNE_EIO, "the current folder has no name");
    OT_RETURN_UNLESS_OK(ot_path_check(folder, err));
    ot_text_add(to,
                "# Written by `optune tune ... -- COMMAND`; docs/tune.md has the notation.\n");
    OT_RETURN_UNLESS_OK(add_quoted("folder", folder, to, err));
    OT_RETURN_UNLESS_OK(add_command(p, to, err));
    OT_RETURN_UNLESS_OK(add_line("build", p->build, to, err));
    OT_RETURN_UNLESS_OK(add_line("check", p->check, to, err));
    OT_RETURN_UNLESS_OK(add_lines("size", p->sizes, false, to, err));
    for (int i = 0; p->knobs && p->knobs[i]; i++)
        OT_RETURN_UNLESS_OK(add_knob(p->knobs[i], to, err));
    OT_RETURN_UNLESS_OK(add_lines("where", p->where, false, to, err));
    OT_RETURN_UNLESS_OK(add_lines("env", p->env, true, to, err));
    OT_RETURN_UNLESS_OK(add_lines("read", p->reads, true, to, err));
    OT_RETURN_UNLESS_OK(add_lines("depends", p->depends, true, to, err));
    OT_RETURN_UNLESS_OK(add_line("objective", p->objective, to, err));
    /* Below 0 it is what is refused when it is read, as a file's `timeout 0` is. */
    ot_format(timeout, sizeof timeout, "%.9g", p->timeout > 0 ? p->timeout : 0);
    OT_RETURN_UNLESS_OK(add_line("timeout", p->timeout != 0 ? timeout : NULL, to, err));
    ot_text_add(to, p->same_output ? "same_output\n" : "");
    return OPTUNE_OK;
}

/* The program's own, with what no name may have left out. */
static void default_name(const char *program, char name[OPTUNE_NAME_SIZE])
{
    const char *slash = strrchr(program, '/');
    size_t n = 0;
    for (const char *p = slash ? slash + 1 : program; *p && *p != '.' && n < 40; p++)
        name[n++] = isalnum((unsigned char)*p) ? *p : '_';
    name[n] = '\0';
    if (!ot_is_identifier(name))
        ot_copy(name, OPTUNE_NAME_SIZE, "program");
}

#define MAKING ".new."
static const char unnamed[] = "XXXXXX";

/* Folders in which declarations were made whose process was killed: nobody holds their lock. */
static void remove_leftovers(const char *parent)
{
    DIR *dir = opendir(parent);
    const size_t head = sizeof MAKING - 1;
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        const char *name = entry->d_name;
        struct stat info;
        if (strncmp(name, MAKING, head) != 0 || strlen(name) != head + sizeof unnamed - 1)
            continue;
        const int fd =
            openat(dirfd(dir), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == geteuid() &&
            flock(fd, LOCK_EX | LOCK_NB) == 0) {
            ot_text path = {0};
            ot_text_printf(&path, "%s/%s", parent, name);
            ot_remove_tree(path.s);
            ot_text_release(&path);
        }
        if (fd >= 0)
            close(fd);
    }
    if (dir)
        closedir(dir);
}

/* A folder of one's own, locked as long as *fd is open. What was not locked yet, another one may
 * have taken for a leftover. Without locks (NFS) nobody takes any for one. */
static int make_folder(const char *parent, char *folder, size_t size, int *fd, optune_err *err)
{
    enum { TRIES = 100 };
    struct stat held, named;
    for (int i = 0; i < TRIES; i++) {
        snprintf(folder, size, "%s/" MAKING "%s", parent, unnamed);
        if (!mkdtemp(folder))
            break;
        *fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (*fd < 0 && errno == ENOENT)
            continue;
        if (*fd < 0) {
            optune_fail(err, OPTUNE_EIO, "cannot open '%s': %s", folder, strerror(errno));
            rmdir(folder);
            return OPTUNE_EIO;
        }
        const bool busy = flock(*fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
        if (!busy && fstat(*fd, &held) == 0 && stat(folder, &named) == 0 &&
            held.st_ino == named.st_ino && held.st_dev == named.st_dev)
            return OPTUNE_OK;
        close(*fd);
    }
    optune_err why = {0};
    return ot_context_refused(
        optune_fail(&why, OPTUNE_EIO, "cannot make '%s': %s", folder, strerror(errno)), &why,
        err);
}

/* Written beside its place first, and read there: what cannot be read replaces nothing. */
static int put(const char *path, const ot_text *text, optune_err *err)
{
    const char *file = strrchr(path, '/') + 1;
    char parent[4096 + 16], folder[sizeof parent + 16],
        at[sizeof folder + OPTUNE_NAME_SIZE + 16];
    int fd = -1;
    snprintf(parent, sizeof parent, "%.*s", (int)(file - path) - 1, path);
    OT_RETURN_UNLESS_OK(ot_context_make(parent, err));
    remove_leftovers(parent);
    OT_RETURN_UNLESS_OK(make_folder(parent, folder, sizeof folder, &fd, err));
    snprintf(at, sizeof at, "%s/%s", folder, file);
    int status = ot_write_file(at, text->s, text->n, err);
    if (status >= 0)
        status = ot_brought_check_options(at, err);
    if (status >= 0 && rename(at, path) != 0)
        status = optune_fail(err, OPTUNE_EIO, "cannot write '%s': %s", path, strerror(errno));
    ot_remove_tree(folder);
    close(fd);
    return status;
}

int optune_declare(const char *db, const optune_command *program, char *path, size_t size,
                   optune_err *err)
{
    char folder[4096], name[OPTUNE_NAME_SIZE] = "";
    const char *others;
    OT_ENTER(err, {"program", program}, {"path", path});
    optune_command own;
    OT_RETURN_UNLESS_OK(OT_SIZED_TAKE(err, optune_command, program, &own));
    program = &own;
    OT_RETURN_UNLESS_OK(OT_GIVEN(
        err, {"program->command", program->command},
        {"the first word of the command", program->command ? program->command[0] : NULL}));
    if (!program->name)
        default_name(program->command[0], name);
    else if (!ot_is_identifier(program->name) ||
             !ot_copy(name, sizeof name - 16, program->name))
        return optune_fail(err, OPTUNE_EUSAGE,
                           "'%s' is no name: letters, digits and '_', not too many",
                           program->name);
    OT_RETURN_UNLESS_OK(ot_context_folder(db, folder, sizeof folder, &others, err));
    if (!*folder)
        return optune_fail(
            err, OPTUNE_EUSAGE,
            "no database directory: set OPTUNE_DB or HOME, or name one with --db");
    ot_text text = {0};
    int status = write_text(program, &text, err);
    if (status >= 0 && snprintf(path, size, "%s/programs/%s.tune", folder, name) >= (int)size)
        status = optune_fail(err, OPTUNE_ELIMIT, "the path of the database is too long");
    if (status >= 0)
        status = ot_path_check(path, err);
    if (status >= 0)
        status = put(path, &text, err);
    ot_text_release(&text);
    return status;
}
