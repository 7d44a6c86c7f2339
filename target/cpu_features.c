/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What instructions a CPU has, as the kernel lists them. Only features that a compiler or a
 * library can make use of count: lists of the kernel also hold bug work-arounds and change with
 * its version, and a device's key must not.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "target/target.h"

static const char *const counted[] = {
    "sse",  "ssse3", "avx",  "fma",    "f16c",    "bmi",  "amx",   "abm",     "popcnt", "movbe",
    "aes",  "vaes",  "gfni", "pclmul", "vpclmul", "sha",  "adx",   "asimd",   "sve",    "sme",
    "neon", "fphp",  "bf16", "i8mm",   "svebf16", "fcma", "crc32", "atomics",
};

static bool counts(const char *flag, size_t n)
{
    for (int i = 0; i < OT_COUNT(counted); i++)
        if (n >= strlen(counted[i]) && strncmp(flag, counted[i], strlen(counted[i])) == 0)
            return true;
    return false;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The digest is of the sorted names, so that their order in the list does not matter. */
static uint64_t digest_of(const char *flags)
{
    char *copy = ot_strdup(flags), *rest = NULL;
    char **name = ot_alloc((strlen(flags) / 2 + 1) * sizeof *name);
    size_t n = 0;
    for (char *word = strtok_r(copy, " \t\n", &rest); word;
         word = strtok_r(NULL, " \t\n", &rest))
        if (counts(word, strlen(word)))
            name[n++] = word;
    qsort(name, n, sizeof *name, by_text);
    ot_text text = {0};
    for (size_t i = 0; i < n; i++)
        ot_text_printf(&text, "%s ", name[i]);
    const uint64_t digest = ot_hash64(ot_text_str(&text), text.n);
    ot_text_release(&text);
    free(name);
    free(copy);
    return digest;
}

static bool has(const char *flags, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = flags; (p = strstr(p, name)); p += n)
        if ((p == flags || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\n' || p[n] == '\0'))
            return true;
    return false;
}

void ot_cpu_features_of(const char *flags, const char *machine, ot_cpu_features *f)
{
    *f = (ot_cpu_features){.vector_bytes = 16, .vector_registers = 16};
    f->digest = digest_of(flags);
    if (strcmp(machine, "x86_64") != 0) {
        const bool sve = has(flags, "sve");
        f->vector_registers = strcmp(machine, "aarch64") == 0 ? 32 : 16;
        ot_copy(f->level, sizeof f->level, machine);
        ot_copy(f->word, sizeof f->word, sve ? "sve" : has(flags, "asimd") ? "neon" : "base");
        return;
    }
    f->avx512 = has(flags, "avx512f") && has(flags, "avx512dq") && has(flags, "avx512bw") &&
                has(flags, "avx512vl");
    if (f->avx512) {
        f->dots |= has(flags, "avx512_bf16") ? OPTUNE_DOT_BF16 : 0;
        f->dots |= has(flags, "avx512_vnni") ? OPTUNE_DOT_I8 : 0;
        if (has(flags, "amx_tile")) {
            f->dots |= has(flags, "amx_bf16") ? OPTUNE_DOT_TILE_BF16 : 0;
            f->dots |= has(flags, "amx_int8") ? OPTUNE_DOT_TILE_I8 : 0;
        }
    }
    const bool avx2 = has(flags, "avx2") && has(flags, "fma");
    if (f->avx512) {
        f->vector_bytes = 64;
        f->vector_registers = 32;
    } else if (avx2 || has(flags, "avx")) {
        f->vector_bytes = 32;
    }
    ot_copy(f->word, sizeof f->word,
            f->avx512           ? "avx512"
            : avx2              ? "avx2"
            : has(flags, "avx") ? "avx"
                                : "sse2");
    ot_copy(f->level, sizeof f->level,
            f->avx512              ? "x86-64-v4"
            : avx2                 ? "x86-64-v3"
            : has(flags, "sse4_2") ? "x86-64-v2"
                                   : "x86-64");
}

static ot_cpu_features here;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_here(void)
{
    struct utsname name;
    ot_text info = {0};
    optune_err err;
    char flags[8192] = "";
    if (ot_read_file("/proc/cpuinfo", &info, 16 << 20, &err) >= 0) {
        const char *line = strstr(ot_text_str(&info), "\nflags");
        if (!line)
            line = strstr(ot_text_str(&info), "\nFeatures");
        line = line ? strchr(line, ':') : NULL;
        if (line) {
            const size_t n = strcspn(line + 1, "\n");
            if (n < sizeof flags) {
                memcpy(flags, line + 1, n);
                flags[n] = '\0';
            }
        }
    }
    ot_text_release(&info);
    ot_cpu_features_of(flags, uname(&name) == 0 ? name.machine : "", &here);
    if (here.dots & OPTUNE_DOT_BF16 && ot_cpu_bf16_slow())
        here.dots |= OPTUNE_DOT_BF16_SLOW;
}

void ot_cpu_features_here(ot_cpu_features *f)
{
    pthread_once(&once, read_here);
    *f = here;
}
