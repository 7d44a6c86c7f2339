/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the source of a body tells of its team of threads: whether it runs one, and whether all that
 * it asks of OpenMP is what kernels/common/cpu.kernel.h does, so that who loads it may be its
 * OpenMP.
 */
#include <ctype.h>
#include <string.h>

#include "strategy/inside.h"

/* Apart from the macro's definition and from comments, it names PARALLEL_FOR. */
bool ot_team_runs(const char *source)
{
    static const char word[] = "PARALLEL_FOR", defined[] = "#define PARALLEL_FOR";
    for (const char *p = strstr(source, word); p; p = strstr(p + 1, word)) {
        const char *line = p;
        while (line > source && line[-1] != '\n')
            line--;
        if (strncmp(line, defined, strlen(defined)) != 0 && strncmp(line, "/*", 2) != 0 &&
            strncmp(line, " *", 2) != 0)
            return true;
    }
    return false;
}

/* In front of a module: what gcc (clang has others) calls for `omp parallel for`, hidden, so
 * that libgomp's are not called. Without a team a thread does one part after the other. */
static const char calls[] =
    "#if OT_THREADS > 1 && !defined __clang__\n"
    "const struct {\n"
    "    void (*run)(void (*body)(void *), void *arg, unsigned n);\n"
    "    int (*number)(void), (*count)(void), (*thread)(void);\n"
    "} *ot_team;\n"
    "static __thread int ot_part, ot_parts;\n"
    "#define OT_TEAM_THREAD (ot_team ? ot_team->thread() : ot_part)\n"
    "#define OT_HIDDEN __attribute__((visibility(\"hidden\"), noinline))\n"
    "OT_HIDDEN void GOMP_parallel(void (*body)(void *), void *arg, unsigned n, unsigned "
    "flags)\n"
    "{\n"
    "    if (ot_team) {\n"
    "        ot_team->run(body, arg, n);\n"
    "        return;\n"
    "    }\n"
    "    const int part = ot_part, parts = ot_parts;\n"
    "    for (ot_parts = parts ? 1 : (int)n, ot_part = 0; ot_part < ot_parts; ot_part++)\n"
    "        body(arg);\n"
    "    ot_part = part;\n"
    "    ot_parts = parts;\n"
    "}\n"
    "OT_HIDDEN int omp_get_thread_num(void)\n"
    "{\n"
    "    return ot_team ? ot_team->number() : ot_part;\n"
    "}\n"
    "OT_HIDDEN int omp_get_num_threads(void)\n"
    "{\n"
    "    return ot_team ? ot_team->count() : ot_parts ? ot_parts : 1;\n"
    "}\n"
    "#endif\n";

/* Words of OpenMP: `omp` by itself, and what begins with omp_ or GOMP_. */
static int words_of_openmp(const char *source)
{
    int n = 0;
    for (const char *p = source; *p;) {
        size_t length = 0;
        while (isalnum((unsigned char)p[length]) || p[length] == '_')
            length++;
        n += (length == 3 && !memcmp(p, "omp", 3)) || (length > 4 && !memcmp(p, "omp_", 4)) ||
             (length > 5 && !memcmp(p, "GOMP_", 5));
        p += length ? length : 1;
    }
    return n;
}

const char *ot_team_calls(const char *source)
{
    enum { OF_HEADER = 4 };
    return words_of_openmp(source) == OF_HEADER && strstr(source, "omp_get_thread_num()")
               ? calls
               : "";
}

bool ot_loads_as_cpu(const optune_target *target)
{
    const optune_target_row *row = optune_target_find(target->kind);
    return row && row->worker.load &&
           row->worker.load == optune_target_find("cpu")->worker.load;
}
