/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which C compiler there is, and of what version, which every record of compiled code depends on.
 * It is found anew by those who ask; its version is asked of it once, by the first process of a
 * user that meets this very file, as to start it costs more than all else of a question.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/note.h"
#include "target/target.h"

/* "cc (Debian 12.2.0-14) 12.2.0" -> "gcc 12.2.0"; "Debian clang version 14.0.6" -> "clang
 * 14.0.6". Others are neither, and what they say stays as it is. */
static void version_of(const char *said, char *to, size_t size)
{
    char line[256] = "", *rest = NULL;
    const bool gcc = strstr(said, "Free Software Foundation") != NULL;
    said += strspn(said, " \n");
    snprintf(line, sizeof line, "%.*s", (int)strcspn(said, "\n"), said);
    const bool clang = strstr(line, "clang") != NULL;
    const char *version = "unknown";
    if (!clang && !gcc) {
        snprintf(to, size, "%s", *line ? line : version);
        return;
    }
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (word[0] >= '0' && word[0] <= '9' && strchr(word, '.'))
            version = word;
    snprintf(to, size, "%s %s", clang ? "clang" : "gcc", version);
}

static int ask_version(char *path, char *to, size_t size, optune_err *err)
{
    enum { LIMIT_S = 20 };
    char option[] = "--version";
    char *argv[] = {path, option, NULL};
    ot_text said = {0};
    int status = ot_run_program(argv, LIMIT_S, &said, err);
    if (status >= 0 && !said.n) /* it was cut short: not what is remembered */
        status = optune_fail(err, OPTUNE_ETOOL, "'%s --version' says nothing", path);
    if (status >= 0)
        version_of(ot_text_str(&said), to, size);
    ot_text_release(&said);
    return status;
}

/* ---- noted ------------------------------------------------------------------------------- */

static const char note_name[] = "compiler";

static bool circumstances(const char *path, ot_text *to)
{
    static const char *const loader[] = {"LD_LIBRARY_PATH", "LD_PRELOAD"};
    ot_text_printf(to, "compiler=%s\nfile=", path);
    const bool told = ot_file_identity(path, to);
    for (int i = 0; i < OT_COUNT(loader); i++)
        ot_text_printf(to, "\n%s=%s", loader[i], getenv(loader[i]) ? getenv(loader[i]) : "");
    return told;
}

/* A driver of gcc has its version in itself. What stands in front of compilers (a script, ccache
 * under this name) may start another one tomorrow, and clang's is that of a library. */
static bool tells_by_itself(const char *path)
{
    char head[4] = "";
    char *real = realpath(path, NULL);
    const char *slash = real ? strrchr(real, '/') : NULL;
    const int fd = slash && strstr(slash, "gcc") ? open(real, O_RDONLY | O_CLOEXEC) : -1;
    const bool program = fd >= 0 && read(fd, head, sizeof head) == sizeof head &&
                         memcmp(head, "\177ELF", sizeof head) == 0;
    if (fd >= 0)
        close(fd);
    free(real);
    return program;
}

static int find_version(char *path, char *to, size_t size, optune_err *err)
{
    ot_text as = {0}, noted = {0};
    int status = OPTUNE_OK;
    const bool told = circumstances(path, &as);
    if (!told || !ot_note_read(note_name, as.s, &noted) ||
        strncmp(ot_text_str(&noted), "gcc ", 4) != 0 || !ot_copy(to, size, noted.s)) {
        status = ask_version(path, to, size, err);
        if (status >= 0 && told && strncmp(to, "gcc ", 4) == 0 && tells_by_itself(path))
            ot_note_write(note_name, as.s, to);
    }
    ot_text_release(&as);
    ot_text_release(&noted);
    return status;
}

/* ---- asked ------------------------------------------------------------------------------- */

/* Of the last tick, which is quicker told than how far behind it is. */
static int64_t coarse_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Of which one there was AGAIN_MS ago, on the same PATH; asked with every answer that is made, and
 * a walk through PATH is a dozen system calls. */
static bool found_lately(char *version, size_t size, const char *known_version, bool found)
{
    enum { AGAIN_MS = 20 };
    static char path[4096]; /* a longer one is looked through each time */
    static int64_t when;
    const char *list = getenv("PATH");
    const int64_t now = coarse_ms();
    if (found)
        when = ot_copy(path, sizeof path, list ? list : "") ? now : 0;
    return *known_version && when && now - when < AGAIN_MS &&
           strcmp(path, list ? list : "") == 0 && ot_copy(version, size, known_version);
}

/* What the file at a path said of itself, until it is another one. */
typedef struct asked {
    char path[4096], version[128];
    ot_text file;
} asked;

static int ask(asked *a, char *path, optune_err *err)
{
    ot_text file = {0};
    int status = OPTUNE_OK;
    ot_file_identity(path, &file);
    if (!a->file.n || strcmp(path, a->path) != 0 ||
        strcmp(ot_text_str(&file), ot_text_str(&a->file)) != 0) {
        char version[sizeof a->version];
        ot_text_release(&a->file); /* asked again unless it answers */
        status = find_version(path, version, sizeof version, err);
        if (status >= 0) {
            ot_copy(a->version, sizeof a->version, version);
            ot_copy(a->path, sizeof a->path, path);
            a->file = file;
            return status;
        }
    }
    ot_text_release(&file);
    return status;
}

static bool is_gcc(const asked *a)
{
    return strncmp(a->version, "gcc ", 4) == 0;
}

/* `cc` where that is a gcc, else gcc where there is one, as bodies are GNU C that others do not
 * read whole; else what there is. One at a time. */
static int choose(const asked **chosen, optune_err *err)
{
    static asked cc, gcc;
    optune_err other = {0};
    char path[4096];
    int status = OPTUNE_ETOOL;
    if (ot_find_program("cc", path, sizeof path))
        status = ask(&cc, path, err);
    else
        optune_fail(err, OPTUNE_ETOOL,
                    "no C compiler: neither 'cc' nor 'gcc' is on PATH; install it with: "
                    "apt-get install gcc");
    *chosen = &cc;
    if (status >= 0 && is_gcc(&cc))
        return status;
    if (ot_find_program("gcc", path, sizeof path) && ask(&gcc, path, &other) >= 0 &&
        (is_gcc(&gcc) || status < 0)) {
        *chosen = &gcc;
        return OPTUNE_OK;
    }
    return status;
}

/* What was found lately is not kept from whoever asks by a compiler that does not answer. */
static pthread_mutex_t choosing = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the version */
static char known_version[128];

int ot_cpu_compiler(char *path, size_t size, optune_err *err)
{
    const asked *chosen;
    pthread_mutex_lock(&choosing);
    int status = choose(&chosen, err);
    if (status >= 0 && !ot_copy(path, size, chosen->path))
        status = optune_fail(err, OPTUNE_ETOOL, "the path of the C compiler is too long");
    pthread_mutex_unlock(&choosing);
    return status;
}

int ot_cpu_compiler_version(char *to, size_t size, optune_err *err)
{
    const asked *chosen;
    pthread_mutex_lock(&lock);
    const bool known = found_lately(to, size, known_version, false);
    pthread_mutex_unlock(&lock);
    if (known)
        return OPTUNE_OK;
    pthread_mutex_lock(&choosing);
    const int status = choose(&chosen, err);
    if (status >= 0) {
        pthread_mutex_lock(&lock);
        ot_copy(known_version, sizeof known_version, chosen->version);
        ot_copy(to, size, known_version);
        found_lately(to, size, known_version, true);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_unlock(&choosing);
    return status;
}

/* ---- linking ----------------------------------------------------------------------------- */

/* Says what code is made of what is there; any other flag may want a library (-fsanitize=...). */
static bool decides_code_only(const char *flag)
{
    static const char *const known[] = {"-O",          "-D",      "-U",       "-fno-",
                                        "-fwrapv",     "-funroll", "-fexpensive-",
                                        "-ftree-vect", "-ftree-loop-", "-ftree-slp-"};
    for (int i = 0; i < OT_COUNT(known); i++)
        if (strncmp(flag, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

bool ot_cpu_links_bare(const optune_target *target, const char *const *flags, int n_flags)
{
    char version[128];
    optune_err err = {0};
    for (int i = 0; i < n_flags; i++)
        if (!decides_code_only(flags[i]))
            return false;
    return !target->cflags[0] && ot_cpu_compiler_version(version, sizeof version, &err) >= 0 &&
           strncmp(version, "gcc ", 4) == 0;
}
