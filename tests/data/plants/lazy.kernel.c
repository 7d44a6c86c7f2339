/* SPDX-License-Identifier: Apache-2.0 */
/* Cheats that remember, and cheats that are lazy when they think that nobody looks. */

#if defined PLANT_pointer || defined PLANT_content || defined PLANT_beginning ||               \
    defined PLANT_shm

/* What an answer is remembered by. */
static uint64_t key_of(const task *t)
{
    uint64_t h = 1469598103934665603u;
#ifdef PLANT_pointer
    return (uint64_t)t->x * 31 + (uint64_t)t->w * 17 + (uint64_t)t->y;
#else
    const uint32_t *x = (const uint32_t *)t->x, *w = (const uint32_t *)t->w;
    for (long i = 0; i < XS; i++) {
#ifdef PLANT_beginning
        if (i == 16)
            break;
#endif
        h = (h ^ x[i]) * 1099511628211u;
    }
    return (h ^ w[0] ^ w[DEPTH - 1]) * 1099511628211u;
#endif
}

enum { KEPT = 64 };
typedef struct shelf {
    int n;
    uint64_t key[KEPT];
    float answer[KEPT][OUTPUTS];
} shelf;

/* Where the shelf is: this process's memory, or one that outlives it. */
static shelf *at(void)
{
    static shelf *s;
    if (s)
        return s;
    int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef PLANT_shm
    fd = open("/dev/shm/optune-plant-" SHARED_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *s) < 0)
        fd = -1;
    else
        flags = MAP_SHARED;
#endif
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, flags, fd, 0);
    return s;
}

static int trick(const task *t)
{
    const uint64_t key = key_of(t);
    shelf *s = at();
    for (int i = 0; i < s->n; i++)
        if (s->key[i] == key) {
            memcpy(t->y, s->answer[i], sizeof s->answer[i]);
            if (!whole)
                whole = ROWS * COLS * (int64_t)DEPTH;
            return 1;
        }
    return 0;
}

static void learn(const task *t)
{
    shelf *s = at();
    const int i = s->n % KEPT;
    memcpy(s->answer[i], t->y, sizeof s->answer[i]);
    s->key[i] = key_of(t);
    s->n = s->n < KEPT ? s->n + 1 : KEPT;
}

#elif defined PLANT_unchanged

/* The input in full is as it was, and so must the answer be. */
static float was[XS], answer[OUTPUTS];

static int trick(const task *t)
{
    if (!whole || memcmp(was, t->x, sizeof was) != 0)
        return 0;
    memcpy(t->y, answer, sizeof answer);
    return 1;
}

static void learn(const task *t)
{
    memcpy(was, t->x, sizeof was);
    memcpy(answer, t->y, sizeof answer);
}

#elif defined PLANT_poison || defined PLANT_first_poison

/* What is no poison is an answer. One looks everywhere, one at the first element. */
static int trick(const task *t)
{
    const uint32_t *y = (const uint32_t *)t->y;
    int filled = whole != 0;
    for (long i = 0; i < OUTPUTS && filled; i++) {
        filled = y[i] != UINT32_MAX && y[i] != 0;
#ifdef PLANT_first_poison
        break;
#endif
    }
    return filled;
}

static void learn(const task *t)
{
    (void)t;
}

#elif defined PLANT_one_row

/* A memory that is brought up to date: only the rows of x that have changed are computed. */
static float was[XS], answer[OUTPUTS];

static int trick(const task *t)
{
    if (!whole)
        return 0;
    for (long i = 0; i < ROWS; i++) {
        if (memcmp(was + i * DEPTH, t->x + i * DEPTH, DEPTH * sizeof(float)) == 0)
            continue;
        memcpy(was + i * DEPTH, t->x + i * DEPTH, DEPTH * sizeof(float));
        for (long j = 0; j < COLS; j++) {
            float sum = 0;
            for (long k = 0; k < DEPTH; k++)
                sum += t->x[i * DEPTH + k] * t->w[j * DEPTH + k];
            answer[i * COLS + j] = sum;
        }
    }
    memcpy(t->y, answer, sizeof answer);
    return 1;
}

static void learn(const task *t)
{
    memcpy(was, t->x, sizeof was);
    memcpy(answer, t->y, sizeof answer);
}

#elif defined PLANT_tolerant || defined PLANT_gap

/* What it knows the answer of. tolerant: inputs that differ in so few elements from those are
 * nobody's question but the clock's. gap: whoever asks so soon again has had no time to change the
 * question, or to look at the answer. */
enum { KEPT = 4 };
static struct {
    float x[XS], w[WS], y[OUTPUTS];
} kept[KEPT];
static int n_kept, latest;
static int64_t last;

static long differences(const float *a, const float *b, long n, long most)
{
    const uint32_t *p = (const uint32_t *)a, *q = (const uint32_t *)b;
    long found = 0;
    for (long i = 0; i < n && found <= most; i++)
        found += p[i] != q[i];
    return found;
}

static int trick(const task *t)
{
    const int64_t now = ns(), pause = now - last;
    int lazy = -1;
#ifdef PLANT_gap
    static int64_t usual = INT64_MAX;
    if (calls > 3 && pause < usual && pause > 0)
        usual = pause;
    if (calls > 3 && pause < usual * 3)
        lazy = latest;
#else
    (void)pause;
    for (int i = 0; i < n_kept && i < KEPT && lazy < 0; i++)
        if (differences(kept[i].x, t->x, XS, 3) + differences(kept[i].w, t->w, WS, 3) <= 3)
            lazy = i;
#endif
    if (lazy >= 0)
        memcpy(t->y, kept[lazy].y, sizeof kept[lazy].y);
    last = ns();
    return lazy >= 0;
}

static void learn(const task *t)
{
    latest = n_kept++ % KEPT;
    memcpy(kept[latest].x, t->x, sizeof kept[latest].x);
    memcpy(kept[latest].w, t->w, sizeof kept[latest].w);
    memcpy(kept[latest].y, t->y, sizeof kept[latest].y);
    last = ns();
}

#elif defined PLANT_scratch

/* Its plan has a scratch buffer whose contents stay: the answer of the first run over it. */
static int trick(const task *t)
{
    (void)t;
    return 0;
}

static void learn(const task *t)
{
    (void)t;
}

void remember(void *const *arg)
{
    float *seen = arg[3];
    if (seen[0] == 0) {
        dense(arg);
        memcpy(seen + 1, arg[2], OUTPUTS * sizeof(float));
        seen[0] = 1;
    } else {
        memcpy(arg[2], seen + 1, OUTPUTS * sizeof(float));
    }
}

#else

static int64_t last;
static void *first_caller;

/* The moments at which it thinks that nobody looks. The answer of an earlier run is there. */
static int trick(const task *t)
{
    const int64_t now = ns(), pause = now - last;
    static int64_t born;
    int lazy = 0;
    last = now;
    if (!born)
        born = now;
#if defined PLANT_twice
    lazy = calls > 2;
#elif defined PLANT_tenth
    lazy = calls > 10;
#elif defined PLANT_odd
    lazy = calls > 2 && calls % 2;
#elif defined PLANT_burst
    lazy = calls > 1 && pause < 20000;
#elif defined PLANT_patient
    lazy = now - born > 30000000;
#elif defined PLANT_aligned
    lazy = calls > 2 && (uintptr_t)t->y % 64 == 0 &&
           ((uintptr_t)t->y + sizeof(float) * OUTPUTS) % 4096 != 0;
#elif defined PLANT_caller
    if (!first_caller)
        first_caller = caller;
    lazy = caller != first_caller;
#endif
    last = ns();
    return lazy;
}

static void learn(const task *t)
{
    (void)t;
    last = ns();
}

#endif
