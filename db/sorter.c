/* SPDX-License-Identifier: Apache-2.0 */
/* See sorter.h. An entry is the length of its value (4), its key and its value. */
#include "db/sorter.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LENGTH = 4,
    PREFIX = 8, /* bytes of a key that are compared first */
    WRITTEN_AT_ONCE = 1 << 18,
    LEAST_READ = 4 << 10, /* of a run at once */
    MOST_READ = 64 << 10,
    READ_IN_ALL = 8 << 20,
};

typedef struct place { /* of an entry in memory */
    uint64_t prefix;
    size_t at;
} place;

/* Entries in order: in the file, or, `places` set, in memory. */
typedef struct run {
    int64_t from, end; /* in the file; in memory numbers of places */
    bool places;
    /* Where it is read: */
    int64_t next;
    char *buffer;
    size_t capacity, filled, used;
    const char *entry; /* the one in front; NULL: it is through */
    uint64_t prefix;
} run;

struct ot_sorter {
    char *folder;
    size_t n_key, memory;
    char *bytes;
    size_t used, capacity;
    place *place;
    int n_places, places_capacity;
    int file; /* -1: none is needed so far */
    int64_t size, count;
    run *run;
    int n_runs, runs_capacity;
    int *heap, n_heap;   /* of runs, the one whose entry comes first in front */
    bool rewound, taken; /* the first of the heap's entry was given away */
};

ot_sorter *ot_sorter_new(const char *folder, size_t key, size_t memory)
{
    ot_sorter *s = ot_alloc(sizeof *s);
    assert(key >= PREFIX);
    *s = (ot_sorter){.folder = ot_strdup(folder), .n_key = key, .memory = memory, .file = -1};
    return s;
}

static void forget_reading(ot_sorter *s)
{
    for (int i = 0; i < s->n_runs; i++) {
        free(s->run[i].buffer);
        s->run[i].buffer = NULL;
        s->run[i].capacity = 0;
    }
    free(s->heap);
    s->heap = NULL;
}

void ot_sorter_free(ot_sorter *s)
{
    if (!s)
        return;
    forget_reading(s);
    if (s->file >= 0)
        close(s->file);
    free(s->folder);
    free(s->bytes);
    free(s->place);
    free(s->run);
    free(s);
}

int64_t ot_sorter_count(const ot_sorter *s)
{
    return s->count;
}

/* ---- entries ----------------------------------------------------------------------------- */

static size_t value_bytes(const char *entry)
{
    uint32_t n;
    memcpy(&n, entry, sizeof n);
    return n;
}

static size_t entry_bytes(const ot_sorter *s, const char *entry)
{
    return LENGTH + s->n_key + value_bytes(entry);
}

static uint64_t prefix_of(const char *key)
{
    uint64_t prefix;
    memcpy(&prefix, key, sizeof prefix);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? prefix : __builtin_bswap64(prefix);
}

static int order(const ot_sorter *s, uint64_t a_prefix, const char *a, uint64_t b_prefix,
                 const char *b)
{
    if (a_prefix != b_prefix)
        return a_prefix < b_prefix ? -1 : 1;
    return memcmp(a + LENGTH + PREFIX, b + LENGTH + PREFIX, s->n_key - PREFIX);
}

static int by_key(const void *a, const void *b, void *arg)
{
    const place *x = a, *y = b;
    const ot_sorter *s = arg;
    const int found = order(s, x->prefix, s->bytes + x->at, y->prefix, s->bytes + y->at);
    return found ? found : (x->at > y->at) - (x->at < y->at);
}

/* ---- writing ----------------------------------------------------------------------------- */

static int failed(const ot_sorter *s, const char *doing, int number, optune_err *err)
{
    return ot_place_refused(s->folder, doing, number, err);
}

/* Where files without a name cannot be had, a sorter's has one for a moment. It loses that itself,
 * so to take it away does no harm to one that lives; of one that was killed it stays. */
#define NAMED "/.sort-"
static const char unnamed[] = "XXXXXX";

void ot_sorter_sweep(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    const size_t head = sizeof NAMED - 2, all = head + sizeof unnamed - 1;
    while (dir && (entry = readdir(dir))) {
        struct stat info;
        const char *name = entry->d_name;
        if (strlen(name) == all && strncmp(name, NAMED + 1, head) == 0 &&
            fstatat(dirfd(dir), name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(info.st_mode) && info.st_uid == geteuid() && info.st_nlink == 1)
            unlinkat(dirfd(dir), name, 0);
    }
    if (dir)
        closedir(dir);
}

/* Nobody else sees it, and it ends with its process. */
static int open_file(ot_sorter *s, optune_err *err)
{
    s->file = open(s->folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (s->file < 0) {
        ot_text name = {0};
        ot_text_printf(&name, "%s" NAMED "%s", s->folder, unnamed);
        s->file = mkostemp(name.s, O_CLOEXEC);
        if (s->file >= 0)
            unlink(name.s);
        ot_text_release(&name);
    }
    return s->file < 0 ? failed(s, "sort for", errno, err) : OPTUNE_OK;
}

static int write_out(ot_sorter *s, ot_text *out, optune_err *err)
{
    for (size_t done = 0; done < out->n;) {
        const ssize_t n = pwrite(s->file, out->s + done, out->n - done, s->size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return failed(s, "sort for", n < 0 ? errno : ENOSPC, err);
        done += (size_t)n;
        s->size += n;
    }
    ot_text_clear(out);
    return OPTUNE_OK;
}

static void sort_places(ot_sorter *s)
{
    if (s->n_places)
        qsort_r(s->place, (size_t)s->n_places, sizeof *s->place, by_key, s);
}

static run *another(ot_sorter *s)
{
    s->run = ot_room(s->run, s->n_runs, &s->runs_capacity, sizeof *s->run);
    return &s->run[s->n_runs++];
}

/* What is in memory becomes a run of the file. */
static int spill(ot_sorter *s, optune_err *err)
{
    ot_text out = {0};
    if (s->file < 0)
        OT_RETURN_UNLESS_OK(open_file(s, err));
    const int64_t from = s->size;
    int status = OPTUNE_OK;
    sort_places(s);
    for (int i = 0; status >= 0 && i < s->n_places; i++) {
        const char *entry = s->bytes + s->place[i].at;
        ot_text_add_n(&out, entry, entry_bytes(s, entry));
        if (out.n >= WRITTEN_AT_ONCE)
            status = write_out(s, &out, err);
    }
    if (status >= 0)
        status = write_out(s, &out, err);
    ot_text_release(&out);
    if (status < 0)
        return status;
    *another(s) = (run){.from = from, .end = s->size};
    s->used = 0;
    s->n_places = 0;
    return OPTUNE_OK;
}

static void make_room(ot_sorter *s, size_t need)
{
    if (s->capacity - s->used >= need)
        return;
    size_t more = s->capacity ? 2 * s->capacity : LEAST_READ;
    while (more - s->used < need)
        more *= 2;
    if (more > s->memory && s->used + need <= s->memory)
        more = s->memory;
    char *bytes = ot_alloc_raw(more);
    if (s->used)
        memcpy(bytes, s->bytes, s->used);
    free(s->bytes);
    s->bytes = bytes;
    s->capacity = more;
}

int ot_sorter_add(ot_sorter *s, const void *key, ot_bytes head, ot_bytes tail, optune_err *err)
{
    const size_t n = head.n + tail.n, need = LENGTH + s->n_key + n;
    const uint32_t length = (uint32_t)n;
    assert(!s->rewound && n == length);
    if (s->n_places && s->used + (size_t)s->n_places * sizeof(place) + need > s->memory)
        OT_RETURN_UNLESS_OK(spill(s, err));
    make_room(s, need);
    s->place = ot_room(s->place, s->n_places, &s->places_capacity, sizeof *s->place);
    char *to = s->bytes + s->used;
    memcpy(to, &length, LENGTH);
    memcpy(to + LENGTH, key, s->n_key);
    if (head.n)
        memcpy(to + LENGTH + s->n_key, head.data, head.n);
    if (tail.n)
        memcpy(to + LENGTH + s->n_key + head.n, tail.data, tail.n);
    s->place[s->n_places++] = (place){prefix_of(to + LENGTH), s->used};
    s->used += need;
    s->count++;
    return OPTUNE_OK;
}

/* ---- reading ----------------------------------------------------------------------------- */

/* At least n bytes behind what was used, unless the run ends. */
static int fill(ot_sorter *s, run *r, size_t n, optune_err *err)
{
    const size_t left = r->filled - r->used;
    if (left >= n)
        return OPTUNE_OK;
    memmove(r->buffer, r->buffer + r->used, left);
    if (n > r->capacity) {
        char *more = ot_alloc_raw(n);
        memcpy(more, r->buffer, left);
        free(r->buffer);
        r->buffer = more;
        r->capacity = n;
    }
    r->used = 0;
    r->filled = left;
    while (r->filled < n && r->next < r->end) {
        const size_t room = r->capacity - r->filled;
        const int64_t rest = r->end - r->next;
        const ssize_t got = pread(s->file, r->buffer + r->filled,
                                  rest < (int64_t)room ? (size_t)rest : room, r->next);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return failed(s, "sort for", got < 0 ? errno : EIO, err);
        r->filled += (size_t)got;
        r->next += got;
    }
    return OPTUNE_OK;
}

/* The entry behind the one in front. */
static int advance(ot_sorter *s, run *r, optune_err *err)
{
    const char *was = r->entry;
    r->entry = NULL;
    if (r->places) {
        if (r->next == r->end)
            return OPTUNE_OK;
        r->prefix = s->place[r->next].prefix;
        r->entry = s->bytes + s->place[r->next++].at;
        return OPTUNE_OK;
    }
    r->used += was ? entry_bytes(s, was) : 0;
    OT_RETURN_UNLESS_OK(fill(s, r, LENGTH, err));
    if (r->filled == r->used)
        return OPTUNE_OK;
    OT_RETURN_UNLESS_OK(fill(s, r, entry_bytes(s, r->buffer + r->used), err));
    r->entry = r->buffer + r->used;
    r->prefix = prefix_of(r->entry + LENGTH);
    return OPTUNE_OK;
}

static bool before(const ot_sorter *s, int a, int b)
{
    const run *x = &s->run[a], *y = &s->run[b];
    const int found = order(s, x->prefix, x->entry, y->prefix, y->entry);
    return found ? found < 0 : a < b;
}

static void sink(ot_sorter *s, int at)
{
    for (;;) {
        int first = at;
        for (int child = 2 * at + 1; child <= 2 * at + 2 && child < s->n_heap; child++)
            if (before(s, s->heap[child], s->heap[first]))
                first = child;
        if (first == at)
            return;
        const int above = s->heap[at];
        s->heap[at] = s->heap[first];
        s->heap[first] = above;
        at = first;
    }
}

int ot_sorter_rewind(ot_sorter *s, optune_err *err)
{
    if (!s->rewound) {
        sort_places(s);
        *another(s) = (run){.end = s->n_places, .places = true};
        s->rewound = true;
    }
    forget_reading(s);
    s->heap = ot_alloc((size_t)s->n_runs * sizeof *s->heap);
    s->n_heap = 0;
    s->taken = false;
    size_t each = READ_IN_ALL / (size_t)s->n_runs;
    each = each < LEAST_READ ? LEAST_READ : each > MOST_READ ? MOST_READ : each;
    for (int i = 0; i < s->n_runs; i++) {
        run *r = &s->run[i];
        r->next = r->from;
        r->filled = r->used = 0;
        r->entry = NULL;
        r->capacity = r->places ? 0 : each;
        r->buffer = r->places ? NULL : ot_alloc_raw(each);
        OT_RETURN_UNLESS_OK(advance(s, r, err));
        if (r->entry)
            s->heap[s->n_heap++] = i;
    }
    for (int i = s->n_heap / 2; i-- > 0;)
        sink(s, i);
    return OPTUNE_OK;
}

int ot_sorter_next(ot_sorter *s, ot_bytes *key, ot_bytes *value, optune_err *err)
{
    assert(s->rewound);
    if (s->taken) {
        run *r = &s->run[s->heap[0]];
        OT_RETURN_UNLESS_OK(advance(s, r, err));
        if (!r->entry)
            s->heap[0] = s->heap[--s->n_heap];
        sink(s, 0);
        s->taken = false;
    }
    if (!s->n_heap)
        return 1;
    const char *entry = s->run[s->heap[0]].entry;
    *key = (ot_bytes){entry + LENGTH, s->n_key};
    *value = (ot_bytes){entry + LENGTH + s->n_key, value_bytes(entry)};
    s->taken = true;
    return OPTUNE_OK;
}
