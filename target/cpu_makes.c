/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which instructions the compiler of candidates can make of those that this CPU has. A processor is
 * often newer than the system on it: bodies write them as such, so that what decides is the
 * assembler, which comes from another package.
 *
 * The one idea: to ask is to compile a function of them, all at once, and one by one only where
 * that fails. The answer is a note, as long as compiler, version, flags and assembler are the same;
 * so is which assembler the compiler runs.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/note.h"
#include "target/target.h"

enum { COMPILER_LIMIT_S = 20 };
static const char note_name[] = "instructions", assembler_note[] = "assembler";

static const struct {
    int dot;
    const char *words, *name, *operands;
} known[] = {
    {OPTUNE_DOT_BF16 | OPTUNE_DOT_BF16_SLOW, "AVX-512 BF16", "vdpbf16ps",
     "%zmm0, %zmm1, %zmm2"},
    {OPTUNE_DOT_I8, "AVX-512 VNNI", "vpdpbusd", "%zmm0, %zmm1, %zmm2"},
    {OPTUNE_DOT_TILE_BF16, "AMX for bfloat16", "tdpbf16ps", "%tmm0, %tmm1, %tmm2"},
    {OPTUNE_DOT_TILE_I8, "AMX for 8-bit integers", "tdpbssd", "%tmm0, %tmm1, %tmm2"},
};

/* ---- asked ------------------------------------------------------------------------------- */

typedef enum verdict { MADE, REFUSED, UNKNOWN } verdict;

/* Of a function of these instructions, compiled in this folder. It is refused where what the
 * compiler says names the instruction: else there was no memory, room or time, or no compiler. */
static verdict try(const optune_argv *compiler, const char *dir, int dots)
{
    optune_argv argv = {0};
    ot_text source = {0}, path = {0}, module = {0}, said = {0};
    optune_err err = {0};
    verdict v = UNKNOWN;
    ot_text_printf(&path, "%s/instructions.c", dir);
    ot_text_printf(&module, "%s/instructions.o", dir);
    ot_text_add(&source, "void instructions(void)\n{\n");
    for (int i = 0; i < OT_COUNT(known); i++)
        if (dots & known[i].dot)
            ot_text_printf(&source, "    __asm__ volatile(\"%s %s\");\n", known[i].name,
                           known[i].operands);
    ot_text_add(&source, "}\n");
    for (int i = 0; i < compiler->n; i++)
        optune_argv_add(&argv, compiler->word[i]);
    /* Code for the linker (-flto) meets no assembler here. */
    const char *const rest[] = {"-w", "-fno-lto", "-c", "-o", module.s, path.s};
    for (int i = 0; i < OT_COUNT(rest); i++)
        optune_argv_add(&argv, rest[i]);
    if (ot_write_cached(path.s, source.s, source.n, &err) >= 0 &&
        ot_run_program_in(argv.word, dir, COMPILER_LIMIT_S, &said, &err) >= 0)
        v = MADE;
    for (int i = 0; i < OT_COUNT(known) && v == UNKNOWN; i++)
        if (dots & known[i].dot && strstr(ot_text_str(&said), known[i].name))
            v = REFUSED;
    optune_argv_release(&argv);
    ot_text_release(&source);
    ot_text_release(&path);
    ot_text_release(&module);
    ot_text_release(&said);
    return v;
}

/* False: of some it cannot be told; they are among those that are made. */
static bool ask(const optune_argv *compiler, int dots, int *makes)
{
    char dir[4096];
    *makes = dots;
    if (ot_temp_dir(dir, sizeof dir, NULL) < 0)
        return false;
    verdict v = try(compiler, dir, dots);
    bool told = v != UNKNOWN;
    for (int i = 0; i < OT_COUNT(known) && v == REFUSED; i++)
        if (dots & known[i].dot) {
            const verdict one = try(compiler, dir, known[i].dot);
            told &= one != UNKNOWN;
            *makes &= one == REFUSED ? ~known[i].dot : ~0;
        }
    ot_remove_tree(dir);
    return told;
}

/* ---- noted ------------------------------------------------------------------------------- */

/* Asks a compiler which assembler it runs. */
static void ask_assembler(const optune_argv *compiler, const char *as, ot_text *to)
{
    optune_argv argv = {0};
    optune_err err = {0};
    for (int i = 0; i < compiler->n; i++)
        optune_argv_add(&argv, compiler->word[i]);
    optune_argv_add(&argv, "-print-prog-name=as");
    if (ot_run_program(argv.word, COMPILER_LIMIT_S, to, &err) >= 0 && to->n) {
        to->s[strcspn(to->s, "\r\n")] = '\0';
        to->n = strlen(to->s);
        ot_note_write(assembler_note, as, to->s);
    } else {
        ot_text_clear(to);
    }
    optune_argv_release(&argv);
}

/* The assembler that a compiler of these circumstances runs, a path or a name to look for on PATH:
 * gcc may have one of its own. "": it does not say. */
static void assembler_of(const optune_argv *compiler, const char *as, ot_text *to)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static ot_text last, last_said; /* circumstances of this process's last answer */
    pthread_mutex_lock(&lock);
    if (!last.n || strcmp(last.s, as) != 0) {
        ot_text_clear(&last);
        ot_text_clear(&last_said);
        if (!ot_note_read(assembler_note, as, &last_said))
            ask_assembler(compiler, as, &last_said);
        ot_text_add(&last, as);
    }
    ot_text_add(to, ot_text_str(&last_said));
    pthread_mutex_unlock(&lock);
}

static void add_environment(ot_text *to, const char *name)
{
    const char *value = getenv(name);
    ot_text_printf(to, "\n%s=%s", name, value ? value : "");
}

static bool circumstances(const optune_argv *compiler, int dots, ot_text *to)
{
    char version[128], path[4096];
    optune_err err = {0};
    ot_text as = {0};
    if (ot_cpu_compiler_version(version, sizeof version, &err) < 0)
        return false;
    ot_text_printf(to, "compiler=%s\nversion=%s\nfile=", compiler->word[0], version);
    const bool told = ot_file_identity(compiler->word[0], to);
    ot_text_add(to, "\nflags=");
    for (int i = 1; i < compiler->n; i++)
        ot_text_printf(to, " %s", compiler->word[i]);
    add_environment(to, "COMPILER_PATH");
    add_environment(to, "GCC_EXEC_PREFIX");
    assembler_of(compiler, to->s, &as);
    ot_text_add(to, "\nassembler=");
    if (ot_find_program(as.n ? as.s : "as", path, sizeof path)) {
        ot_file_identity(path, to);
        ot_text_printf(to, " %s", path);
    }
    ot_text_release(&as);
    ot_text_printf(to, "\ndots=%d", dots);
    return told;
}

static bool number_of(const char *text, int dots, int *makes)
{
    int64_t number;
    if (!ot_parse_int(text, &number) || (number & ~(int64_t)dots))
        return false;
    *makes = (int)number;
    return true;
}

static bool noted(const char *as, int dots, int *makes)
{
    ot_text note = {0};
    const bool found =
        ot_note_read(note_name, as, &note) && number_of(ot_text_str(&note), dots, makes);
    ot_text_release(&note);
    return found;
}

static void write_note(const char *as, int makes)
{
    char text[24];
    snprintf(text, sizeof text, "%d", makes);
    ot_note_write(note_name, as, text);
}

int ot_cpu_makes(const optune_argv *compiler, int dots)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static ot_text last; /* circumstances of this process's last answer */
    static int last_makes;
    ot_text as = {0};
    int makes = dots;
    if (!dots || !circumstances(compiler, dots, &as)) {
        ot_text_release(&as);
        return dots;
    }
    pthread_mutex_lock(&lock);
    if (last.n && strcmp(last.s, as.s) == 0) {
        makes = last_makes;
    } else {
        /* What could not be told is kept, too: a process has many devices looked at. */
        if (!noted(as.s, dots, &makes) && ask(compiler, dots, &makes))
            write_note(as.s, makes);
        ot_text_release(&last);
        last = as;
        as = (ot_text){0};
        last_makes = makes;
    }
    pthread_mutex_unlock(&lock);
    ot_text_release(&as);
    return makes;
}

/* ---- told -------------------------------------------------------------------------------- */

bool ot_cpu_unmade(const optune_device *device, ot_text *to)
{
    char version[128];
    optune_err err = {0};
    ot_cpu_features here;
    ot_cpu_features_here(&here);
    /* How long an instruction takes each process measures for itself. */
    const int without = here.dots & ~device->dots & ~OPTUNE_DOT_BF16_SLOW;
    if (!without || ot_cpu_compiler_version(version, sizeof version, &err) < 0)
        return false;
    const char *between = "";
    for (int i = 0; i < OT_COUNT(known); i++)
        if (without & known[i].dot) {
            ot_text_printf(to, "%s%s", between, known[i].words);
            between = ", ";
        }
    ot_text_printf(to,
                   ": %s, its flags or its assembler do not make these instructions, newer "
                   "gcc and binutils do",
                   version);
    return true;
}
