/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which library a loaded file really is. Names of files say little: Debian's libblas.so.3 is
 * whatever its alternatives point to, and the reference BLAS answers to every name that a fast
 * one has.
 *
 * The one idea: a library is known by a function that only it exports, and that function says
 * its version and the kernels that it chose. What has none is named for what it is: the
 * reference BLAS by variables of its own, anything else "unidentified", with its file and the
 * file's digest, so that a record goes stale when the file changes.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "target/library.h"

/* ---- functions by name ------------------------------------------------------------------- */

/* SciPy's wheels put a prefix before every name, so that two OpenBLAS can live together. */
static const char *const prefix[] = {"", "scipy_"};

void *ot_library_function(void *handle, const char *name)
{
    void *symbol = NULL;
    for (int i = 0; i < OT_COUNT(prefix) && !symbol; i++) {
        char full[OPTUNE_TEXT_SIZE];
        snprintf(full, sizeof full, "%s%s", prefix[i], name);
        symbol = dlsym(handle, full);
    }
    return symbol;
}

bool ot_library_bind(void *handle, const char *name, void *pointer)
{
    void *symbol = ot_library_function(handle, name);
    memcpy(pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* ---- what each says of itself ------------------------------------------------------------ */

/* Its config text is `OpenBLAS 0.3.21 FLAG ... CoreName MAX_THREADS=64`. */
static bool is_openblas(void *handle, ot_library_identity *is)
{
    char *(*config)(void), *(*core)(void);
    int (*parallel)(void);
    static const char *const threading[] = {"serial", "pthread", "openmp"};
    if (!ot_library_bind(handle, "openblas_get_config", &config))
        return false;
    const int kind =
        ot_library_bind(handle, "openblas_get_parallel", &parallel) ? parallel() : -1;
    if (ot_library_bind(handle, "openblas_get_corename", &core))
        snprintf(is->core, sizeof is->core, "%s", core());
    char *copy = ot_strdup(config()), *rest = NULL;
    strtok_r(copy, " ", &rest); /* its name */
    const char *version = strtok_r(NULL, " ", &rest);
    ot_text build = {0};
    ot_text_add(&build, kind >= 0 && kind < 3 ? threading[kind] : "unknown");
    for (const char *word; (word = strtok_r(NULL, " ", &rest));) {
        is->wide_integers = is->wide_integers || strcmp(word, "USE64BITINT") == 0;
        if (strcmp(word, is->core) != 0)
            ot_text_printf(&build, " %s", word);
    }
    snprintf(is->name, sizeof is->name, "OpenBLAS");
    snprintf(is->version, sizeof is->version, "%s", version ? version : "unknown");
    snprintf(is->build, sizeof is->build, "%s", build.s);
    ot_text_release(&build);
    free(copy);
    return true;
}

typedef struct mkl_version { /* MKLVersion, stable since 10.3 */
    int major, minor, update;
    char *status, *build, *processor, *platform;
} mkl_version;

/* Its processor text is `... Extensions 2 (Intel(R) AVX2) enabled processors`, or names none. */
static void core_of_mkl(const char *processor, char *to, size_t size)
{
    const char *from = strstr(processor, "(Intel(R) ");
    from = from ? from + strlen("(Intel(R) ") : "";
    snprintf(to, size, "%.*s", (int)strcspn(from, ")"), from);
}

static bool is_mkl(void *handle, ot_library_identity *is)
{
    void (*version)(mkl_version *);
    if (!ot_library_bind(handle, "MKL_Get_Version", &version) &&
        !ot_library_bind(handle, "mkl_get_version", &version))
        return false;
    mkl_version v = {0};
    version(&v);
    snprintf(is->name, sizeof is->name, "MKL");
    /* It calls itself 2026.0 Update 2, everyone else calls it 2026.2. */
    if (v.minor)
        snprintf(is->version, sizeof is->version, "%d.%d.%d", v.major, v.minor, v.update);
    else
        snprintf(is->version, sizeof is->version, "%d.%d", v.major, v.update);
    snprintf(is->build, sizeof is->build, "%s", v.build ? v.build : "");
    core_of_mkl(v.processor ? v.processor : "", is->core, sizeof is->core);
    return true;
}

static bool is_blis(void *handle, ot_library_identity *is)
{
    const char *(*version)(void), *(*arch)(int);
    int (*query)(void);
    if (!ot_library_bind(handle, "bli_info_get_version_str", &version))
        return false;
    snprintf(is->name, sizeof is->name, "BLIS");
    snprintf(is->version, sizeof is->version, "%s", version());
    if (ot_library_bind(handle, "bli_arch_query_id", &query) &&
        ot_library_bind(handle, "bli_arch_string", &arch))
        snprintf(is->core, sizeof is->core, "%s", arch(query()));
    return true;
}

/* ATLAS prints what it is, it does not tell: its version is its file's. */
static bool is_atlas(void *handle, ot_library_identity *is)
{
    if (!ot_library_function(handle, "ATL_buildinfo") &&
        !ot_library_function(handle, "ATL_sgemm"))
        return false;
    snprintf(is->name, sizeof is->name, "ATLAS");
    return true;
}

static bool is_flexiblas(void *handle, ot_library_identity *is)
{
    int (*backend)(char *, size_t);
    void (*version)(int *, int *, int *);
    if (!ot_library_bind(handle, "flexiblas_current_backend", &backend))
        return false;
    snprintf(is->name, sizeof is->name, "FlexiBLAS");
    int v[3] = {0};
    if (ot_library_bind(handle, "flexiblas_get_version", &version)) {
        version(&v[0], &v[1], &v[2]);
        snprintf(is->version, sizeof is->version, "%d.%d.%d", v[0], v[1], v[2]);
    }
    backend(is->core, sizeof is->core);
    is->reference = strcasecmp(is->core, "netlib") == 0;
    return true;
}

static bool is_armpl(void *handle, ot_library_identity *is)
{
    void (*version)(int *, int *, int *, const char **);
    if (!ot_library_bind(handle, "armplversion", &version))
        return false;
    int v[3] = {0};
    const char *tag = NULL;
    version(&v[0], &v[1], &v[2], &tag);
    snprintf(is->name, sizeof is->name, "Arm-PL");
    snprintf(is->version, sizeof is->version, "%d.%d.%d", v[0], v[1], v[2]);
    return true;
}

typedef struct dnnl_version { /* the head of dnnl_version_t, stable since 1.0 */
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime;
} dnnl_version;

static bool is_onednn(void *handle, ot_library_identity *is)
{
    const dnnl_version *(*version)(void);
    int (*isa)(void);
    if (!ot_library_bind(handle, "dnnl_version", &version))
        return false;
    const dnnl_version *v = version();
    snprintf(is->name, sizeof is->name, "oneDNN");
    snprintf(is->version, sizeof is->version, "%d.%d.%d", v->major, v->minor, v->patch);
    const bool tells = ot_library_bind(handle, "dnnl_get_effective_cpu_isa", &isa);
    snprintf(is->build, sizeof is->build, "%s runtime %u isa 0x%x", v->hash ? v->hash : "",
             v->cpu_runtime, tells ? (unsigned)isa() : 0);
    return true;
}

/* netlib's C interface keeps two variables that no other library needs. It comes last: faster
 * libraries are also found beneath that interface. */
static bool is_reference(void *handle, ot_library_identity *is)
{
    if (!ot_library_function(handle, "RowMajorStrg") ||
        !ot_library_function(handle, "CBLAS_CallFromC"))
        return false;
    snprintf(is->name, sizeof is->name, "reference BLAS");
    is->reference = true;
    return true;
}

/* ---- the file ---------------------------------------------------------------------------- */

enum { LARGEST_FILE = 512 << 20 };

/* `libblas.so.3.11.0` -> `3.11.0`; one number is an interface's, no version. */
static const char *version_in(const char *file)
{
    const char *at = strstr(file, ".so.");
    return at && strchr(at + strlen(".so."), '.') ? at + strlen(".so.") : "";
}

/* Of the file that has `symbol`, links followed. */
static void look_at_file(void *handle, const char *symbol, ot_library_identity *is)
{
    Dl_info info = {0};
    struct link_map *map = NULL;
    void *at = symbol ? ot_library_function(handle, symbol) : NULL;
    const char *path = at && dladdr(at, &info) ? info.dli_fname : NULL;
    if (!path && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
        path = map->l_name;
    if (!path || !realpath(path, is->file))
        snprintf(is->file, sizeof is->file, "%s", path ? path : "");
}

/* BLIS's build under the name of libblas hides its own functions, not its words. */
static void look_at_words(const ot_text *content, ot_library_identity *is)
{
    static const char word[] = "BLIS_ARCH_TYPE";
    if (memmem(content->s, content->n, word, sizeof word - 1))
        snprintf(is->name, sizeof is->name, "BLIS");
}

static void look_at_content(ot_library_identity *is, bool found)
{
    ot_text content = {0};
    char hex[33];
    if (ot_read_file(is->file, &content, LARGEST_FILE, NULL) >= 0 && content.n) {
        ot_digest_hex(ot_digest_of(content.s, content.n), hex);
        snprintf(is->build, sizeof is->build, "digest %.16s", hex);
        if (!found)
            look_at_words(&content, is);
    }
    ot_text_release(&content);
}

void ot_library_identify(void *handle, const char *symbol, ot_library_identity *is)
{
    static bool (*const known[])(void *, ot_library_identity *) = {
        is_flexiblas, is_openblas, is_mkl, is_blis, is_armpl, is_atlas, is_onednn, is_reference,
    };
    *is = (ot_library_identity){0};
    look_at_file(handle, symbol, is);
    const char *slash = strrchr(is->file, '/');
    const char *file = slash ? slash + 1 : is->file;
    bool found = false;
    for (int i = 0; i < OT_COUNT(known) && !found; i++)
        found = known[i](handle, is);
    if (!found)
        snprintf(is->name, sizeof is->name, "unidentified library %.100s", file);
    else if (!is->version[0])
        snprintf(is->version, sizeof is->version, "%s", version_in(file));
    if (!is->build[0])
        look_at_content(is, found);
}

void ot_library_name(const ot_library_identity *is, char *to, size_t size)
{
    snprintf(to, size, "%s%s%s%s%s", is->name, *is->version ? " " : "", is->version,
             *is->core ? " " : "", is->core);
}

/* ---- kernels and the CPU ----------------------------------------------------------------- */

/* Vector instructions: 1 SSE, 2 AVX, 3 AVX2 with FMA, 4 AVX-512. Names are OpenBLAS's, MKL's and
 * BLIS's. */
static int level_of(const char *core)
{
    static const struct {
        const char *core;
        int level;
    } cores[] = {
        {"Generic", 1},     {"Katmai", 1},       {"Coppermine", 1},
        {"Northwood", 1},   {"Prescott", 1},     {"Banias", 1},
        {"Atom", 1},        {"Core2", 1},        {"Penryn", 1},
        {"Dunnington", 1},  {"Nehalem", 1},      {"Athlon", 1},
        {"Opteron", 1},     {"Opteron_SSE3", 1}, {"Barcelona", 1},
        {"Nano", 1},        {"Bobcat", 1},       {"SSE4.2", 1},
        {"Sandybridge", 2}, {"Bulldozer", 2},    {"Piledriver", 2},
        {"Steamroller", 2}, {"AVX", 2},          {"Haswell", 3},
        {"Zen", 3},         {"Zen2", 3},         {"Zen3", 3},
        {"Excavator", 3},   {"AVX2", 3},         {"SkylakeX", 4},
        {"skx", 4},         {"Cooperlake", 4},   {"SapphireRapids", 4},
        {"Zen4", 4},        {"Zen5", 4},         {"AVX-512", 4},
    };
    for (int i = 0; i < OT_COUNT(cores); i++)
        if (strcasecmp(core, cores[i].core) == 0)
            return cores[i].level;
    return 0;
}

static int level_here(const ot_cpu_features *f)
{
    return f->avx512                             ? 4
           : strcmp(f->level, "x86-64-v3") == 0  ? 3
           : strncmp(f->level, "x86-64", 6) != 0 ? 0
           : f->vector_bytes == 32               ? 2
                                                 : 1;
}

const char *ot_library_newer_core(const char *core, const ot_cpu_features *f)
{
    const int has = level_of(core), here = level_here(f);
    if (!has || has >= here)
        return NULL;
    return here == 4 ? "SkylakeX" : here == 3 ? "Haswell" : "Sandybridge";
}

const char *ot_library_unused(const char *core, const ot_cpu_features *f)
{
    static const char *const words[] = {"", "SSE", "AVX", "AVX2", "AVX-512"};
    return ot_library_newer_core(core, f) ? words[level_here(f)] : NULL;
}
