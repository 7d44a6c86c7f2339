/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has been learned. The log is the truth: one JSON line per trial, appended before the
 * store commits. The store (LMDB) is derived and can be rebuilt from logs to the same answers.
 * db keeps the keys it is given; it never parses a call or a target.
 */
#ifndef OPTUNE_DB_H
#define OPTUNE_DB_H

#include <jansson.h>
#include <stdatomic.h>

#include "base/base.h"

/* ---- open.c, store.c: LMDB's one door ------------------------------------------------------- */
typedef struct ot_store ot_store;
enum { OT_STORE_READ = 0, OT_STORE_WRITE = 1 };
/* Opens or (WRITE) creates DIR/store. Who may not write may still READ. ENOENT: READ and there is
 * none. ESTORE for a network file system, EDAMAGED, EVERSION, each with the remedy. */
int ot_store_open(const char *dir, int mode, ot_store **store, optune_err *err);
void ot_store_close(ot_store *store);
const char *ot_store_dir(const ot_store *store); /* the database that it is of */
/* What ends waiting for one's turn to write when it becomes true; NULL: nothing. */
void ot_store_stop(ot_store *store, const atomic_bool *stop);
/* Whether what was opened is no longer the store of its directory: removed, replaced, rebuilt, cut
 * off, or opened before a fork. Looks at the file at most every OT_LOOK_MS. */
enum { OT_LOOK_MS = 20 };
bool ot_store_gone(ot_store *store);
bool ot_store_here(
    const ot_store *store); /* not gone, as far as was seen: ot_store_last looks */
/* All in one transaction; a record already there (same content) counts as known. EUSAGE: one is
 * not sound. */
int ot_store_put(ot_store *store, const optune_record *record, int n, int *added,
                 optune_err *err);
/* Whether exactly this record is there, whole. */
bool ot_store_knows(ot_store *store, const optune_record *record);
/* When the newest record of this one's question and config (`any`: of whatever config) was made, as
 * it says; -INFINITY: none is there, or the store cannot be read. */
double ot_store_newest(ot_store *store, const optune_record *record, bool any);
/* A question; NULL policy means "warm". */
typedef struct ot_question {
    const char *device, *target, *call, *policy;
    bool known;  /* its digest, of what it asks now */
    bool absent; /* no store that is asked has a record of it, nor a hint */
    ot_digest digest;
} ot_question;
void ot_question_know(ot_question *question); /* for who asks it more than once */
/* All records of one question, cheapest first, failures last; decoded into the arena. One read
 * transaction, no lock. `limit` 0: all. Damaged values are skipped and counted. */
int ot_store_find(ot_store *store, const ot_question *question, int limit, ot_arena *arena,
                  optune_record **record, int *n, optune_err *err);
typedef enum ot_which {
    OT_ALL,
    /* Those without which an answer, or what is told of it, would be another: the rest are dearer
     * trials of configs that were tried once, and earlier failures. */
    OT_DECIDING,
    OT_NEEDED, /* of these, without those that were overtaken and are only told of */
} ot_which;
typedef struct ot_found_how {
    int alike;         /* for how many others it stands; of failures alone it is told */
    bool outdated;     /* its config was measured again later, and that record, which
                    * decides nothing, cannot be read */
    const void *block; /* in which its texts and samples lie, so many bytes; NULL: anywhere */
    size_t n_block;
} ot_found_how;
typedef struct ot_finds {
    optune_record *record; /* in the arena, as all that follows: n of them */
    ot_found_how *how;     /* of each */
    int n;
    /* Of OT_NEEDED: what was overtaken and is told of, and what overtook that, of which some may be
     * among the records. */
    ot_digest *told;
    int n_told;
} ot_finds;
int ot_store_find_which(ot_store *store, const ot_question *question, ot_which which,
                        ot_arena *arena, ot_finds *found, optune_err *err);
/* Records of the question by their digests, in that order; those that are not there, or are
 * damaged, are left out. `how` is not told. */
int ot_store_find_these(ot_store *store, const ot_question *question, const ot_digest *digest,
                        int n, ot_arena *arena, ot_finds *found, optune_err *err);
/* The cheapest `most` hints (records that name no digest, of logs of others) of a call for targets
 * of that kind, whatever their device, options and policy: their costs are of other machines. A
 * store that was made by an older version lists hints from then on, and all when rebuilt. */
int ot_store_find_hints(ot_store *store, const char *call, const char *target, int most,
                        ot_arena *arena, optune_record **record, int *n, optune_err *err);
bool ot_store_may_hint(ot_store *store); /* false: it has none of them */
/* Every record, in key order; stops when fn returns non-zero and returns that. */
typedef int (*ot_record_fn)(void *arg, const optune_record *record);
int ot_store_walk(ot_store *store, ot_record_fn fn, void *arg, optune_err *err);
/* Grows with every commit of any process. What was read after ot_store_snapshot said S is still
 * the whole truth while ot_store_last says S. ot_store_last costs nanoseconds and takes no lock;
 * snapshot is -1 when the store cannot be read. */
int64_t ot_store_last(const ot_store *store);
int64_t ot_store_snapshot(ot_store *store);
typedef struct ot_store_stats {
    int64_t records, questions, bytes, damaged;
} ot_store_stats;
int64_t ot_store_bytes_used(ot_store *store); /* of its file */
/* rest.c: what was read of it leaves the memory of this process, until it is read again. */
void ot_store_rest(ot_store *store);
/* parts.c: until it is let go, which is to be soon, all this thread reads of the store is of one
 * snapshot: that of now. Where it cannot be held, nothing happens, and what is read says why. */
void ot_store_hold(ot_store *store);
void ot_store_let_go(ot_store *store); /* also one that is not held */
/* What an answer to this question follows from, as of now. As long as a later one is equal, no
 * record of the question has come or gone. False: that cannot be told. */
typedef struct ot_stamp {
    uint64_t epoch, serial;
} ot_stamp;
/* *snapshot: of which commit this is said, as ot_store_snapshot. */
bool ot_store_stamp(ot_store *store, const ot_question *question, ot_stamp *stamp,
                    int64_t *snapshot);
/* absent.c: whether no record of the question is there, nor any hint, as of the last commit,
 * *snapshot. False: it has to be looked for. Costs less than to look. */
bool ot_store_lacks(ot_store *store, const ot_digest *asked, int64_t *snapshot);
/* catch_up.c: for who sees again and again that ot_store_last is ahead of what can be read: the
 * writer of that commit was killed before it said so to readers, and after a while this says it in
 * its place. Nothing happens where somebody writes, or this process may not. */
void ot_store_catch_up(ot_store *store);
int ot_store_stats_get(ot_store *store, ot_store_stats *stats, optune_err *err);
/* Devices are kept so that any host can answer for them. */
int ot_store_put_device(ot_store *store, const optune_device *device, optune_err *err);
int ot_store_put_devices(ot_store *store, const optune_device *device, int n, optune_err *err);
/* ENOENT names the keys that are known. */
int ot_store_device(ot_store *store, const char *key, optune_device *device, optune_err *err);
int ot_store_devices(ot_store *store, ot_arena *arena, optune_device **device, int *n,
                     optune_err *err);

/* How many damaged records were passed over by whoever asked this handle. */
int ot_store_damaged(const ot_store *store);

/* ---- care.c: records against indexes ----------------------------------------------------- */
typedef struct ot_care {
    int64_t records, entries, devices; /* looked at */
    int64_t damaged;                   /* records that are not what their checksum says */
    int64_t misplaced;                 /* whole, under another's key */
    int64_t unlisted;                  /* records that no index entry leads to */
    int64_t dangling;                  /* entries that lead to no such record */
    int64_t devices_damaged;
    int64_t summaries;   /* that are not what the index says */
    int64_t restored;    /* from the logs, when mended */
    int64_t quarantined; /* kept apart, of all times */
    int64_t forgotten;   /* likewise */
} ot_care;
static inline int64_t ot_care_faults(const ot_care *care)
{
    return care->damaged + care->misplaced + care->unlisted + care->dangling +
           care->devices_damaged + care->summaries;
}
/* Looks at everything, both ways, in one snapshot. */
int ot_store_check(ot_store *store, ot_care *care, optune_err *err);
/* Puts right what that finds: what is damaged goes into quarantine, entries follow the records,
 * and the logs are read again for what is missing (see ot_store_recover). */
int ot_store_mend(ot_store *store, ot_care *care, optune_err *err);

/* ---- recover.c: what was logged and not stored ------------------------------------------- */
/* Reads the logs of the store's directory that hold more than is known to be stored, but those
 * that somebody is writing to; with `all`, every log from its start. *added: records that were
 * missing. Where these are many, another store may be in place of this one afterwards
 * (ot_store_gone): with all of it. */
int ot_store_recover(ot_store *store, bool all, int64_t *added, optune_err *err);
/* What is in this log of the directory is stored: said when it is closed. */
int ot_store_log_done(ot_store *store, const char *path, optune_err *err);
/* Ours of one log, wherever it lies; `own`: what it says was forgotten is. As above, another store
 * may be there afterwards. */
int ot_store_read_log(ot_store *store, const char *path, bool own, int64_t *added,
                      int64_t *refused, optune_err *err);

/* ---- swap.c: another store in place of this one ------------------------------------------ */
/* Both write all into a new store beside the old one and exchange the two; who has the old one
 * open goes on reading it until they look again. The handle is of the old one afterwards. */
int ot_store_compact(ot_store *store, int64_t *before, int64_t *after, optune_err *err);
/* rebuild.c: from logs. ENOENT: there are none. EVERSION: a newer version's is left as it is. */
typedef struct ot_rebuilding {
    const char *const *logs; /* NULL-terminated; NULL: all of the directory */
    const atomic_bool
        *stop;     /* what ends it when it becomes true (EINTERRUPTED); NULL: nothing */
    int64_t *gone; /* logs of the directory that were removed meanwhile; NULL is fine */
} ot_rebuilding;
int ot_store_rebuild(const char *dir, const ot_rebuilding *how, ot_store_stats *stats,
                     int64_t *refused, optune_err *err);

/* ---- prune.c: records that go, from the logs and then from the store --------------------- */
/* Lines among a record's counters, under a graph's policy, of which the newest of a question
 * decides, not its cost: that this was chosen for the graph, which layouts the graph has, which of
 * its sites are one call. */
#define OT_CHOSEN "chosen"
#define OT_LAYOUTS "layouts"
#define OT_SITES "sites"
typedef struct ot_pruned {
    int64_t history, failures; /* records that went */
    int64_t lines, logs;       /* lines of logs that went, and logs that were written anew */
    int64_t busy;              /* logs left alone, as somebody writes to them */
    int64_t unread;            /* and those that cannot be read */
} ot_pruned;
/* Of each question's measurements that newer ones of the same config replaced the newest `history`
 * stay (negative: all), and of failed trials those of the last `days` (negative: all). What decides
 * an answer always stays, and so does what a log has that is left alone, or may have as it cannot
 * be read: a rebuild gives the same store. Where one cannot be written anew the others are, and
 * what it has stays; that is the error then. */
int ot_store_prune(ot_store *store, int64_t history, double days, ot_pruned *pruned,
                   optune_err *err);
/* Those records go for good: a line in a log says so, and they are not stored again. */
int ot_store_forget(ot_store *store, const ot_digest *digest, int n, ot_pruned *pruned,
                    optune_err *err);

/* Which pages are looked at at once, as nobody will before they are believed. */
typedef enum ot_check_for {
    OT_CHECK_TO_READ,  /* all of a small file; of others the meta pages */
    OT_CHECK_TO_WRITE, /* all but leaves without large values: branches, and the free lists */
    OT_CHECK_ALL,
} ot_check_for;
enum { OT_SMALL_FILE = 5 << 19 };
struct ot_vetted; /* format.h */

/* ---- place.c: the directory of a store --------------------------------------------------- */
typedef struct ot_place {        /* the file system a path is on */
    int64_t magic;               /* statfs's f_type; -1: not known */
    char type[OPTUNE_NAME_SIZE]; /* "fuse.sshfs"; told for FUSE only, else empty */
} ot_place;
/* How a place is found out; tests put their own here. */
extern void (*ot_place_of)(const char *path, ot_place *place);
/* ESTORE with the remedy when locks or shared memory maps cannot be relied on there. */
int ot_check_place(const char *path, optune_err *err);
/* Of the store `path` (DIR/store) with its file `data`. Making the directory, or finding it
 * (ENOENT: there is none), includes checking the place. */
int ot_place_make(const char *path, optune_err *err);
int ot_place_find(const char *dir, const char *path, const char *data, optune_err *err);
/* ot_check_pages, and how to rebuild what is damaged. */
int ot_place_sound(const char *dir, const char *data, ot_check_for to, struct ot_vetted *vetted,
                   optune_err *err);
int ot_place_damaged(const char *dir, const char *why, optune_err *err);
/* ESTORE: what an errno means to who wanted to open, read ... the store, and the remedy. */
int ot_place_refused(const char *path, const char *doing, int number, optune_err *err);

/* ---- check.c: may LMDB be let at this file ----------------------------------------------- */
/* EDAMAGED unless the file is a sound LMDB data file as far as LMDB would follow it: LMDB itself
 * would crash. Reads without a lock. Pages that were found sound are noted in *vetted (may be
 * NULL). */
int ot_check_pages(const char *path, ot_check_for to, struct ot_vetted *vetted,
                   optune_err *err);

/* ---- sound.c: can this record be what it says ------------------------------------------- */
enum {
    OT_MOST_RECORD_SAMPLES = 16384,
    OT_LONG_TEXT = OPTUNE_CALL_TEXT_SIZE - 1, /* bytes of a text, as that of a call can be */
    OT_LONGEST_LINE = 2 << 20,                /* more than any sound record's line needs */
};
/* Whether its figures agree with one another; false with a sentence in why[OPTUNE_WHY_SIZE]. */
bool ot_record_figures(const optune_record *record, char *why);
/* And whether its own line can be read back to the same record. */
bool ot_record_sound(const optune_record *record, char *why);
/* The same of a record that was read from its own line: that its config and its task can be read
 * back is known. */
bool ot_record_sound_read(const optune_record *record, char *why);
/* Of a head, what the asker says in words; and of a trial that leans on a sound one, the rest. */
bool ot_record_sound_asked(const optune_record *record, char *why);
bool ot_record_sound_told(const optune_record *record, char *why);

/* ---- codec.c: record <-> versioned, checksummed bytes ------------------------------------ */
int ot_record_encode(const optune_record *record, ot_text *to, optune_err *err);
/* Texts and samples are copied into the arena. EDAMAGED, contradicting figures among it;
 * EVERSION. */
int ot_record_decode(const void *data, size_t n, ot_arena *arena, optune_record *record,
                     optune_err *err);
/* Identity of a record's content: equal for the same trial wherever it was imported. */
ot_digest ot_record_digest(const optune_record *record);
/* The same where its config's text, as ot_config_print prints it, is at hand. */
ot_digest ot_record_digest_at(const optune_record *record, const char *config);
ot_digest ot_question_digest(const ot_question *question);
int ot_device_encode(const optune_device *device, ot_text *to, optune_err *err);
int ot_device_decode(const void *data, size_t n, optune_device *device, optune_err *err);

/* ---- log.c: JSON lines, AutoTVM's v0.2 plus one key `optune`, or short ones -------------- */
typedef struct ot_log ot_log;
/* Appends to `path`, made when absent, with O_APPEND. A half line left by a crash is closed off
 * with a newline first. FULL lines are AutoTVM's; SHORT ones, those of a database, say once for
 * many what they have in common. */
typedef enum ot_log_lines { OT_LOG_FULL, OT_LOG_SHORT } ot_log_lines;
extern double ot_log_patience_s; /* tests are less patient */
/* ETIMEOUT: another process has it locked and does not end. */
int ot_log_open(const char *path, ot_log_lines lines, ot_log **log, optune_err *err);
/* One write(2). EUSAGE: the record is not sound. */
int ot_log_append(ot_log *log, const optune_record *record, optune_err *err);
int ot_log_forget(ot_log *log, const ot_digest *digest, optune_err *err); /* a comment line */
const char *ot_log_name(const ot_log *log);                               /* its path */
void ot_log_device(ot_log *log, const optune_device *device); /* a comment line describing it */
int ot_log_sync(ot_log *log, optune_err *err);
void ot_log_close(ot_log *log);
void ot_device_line(const optune_device *device, ot_text *to); /* the same, with its newline */
/* 0: both say the same; positive: `a` stays where both describe one device: it says more, or as
 * much and its line sorts behind the other. Whichever log is read first, the same one stays; a
 * device that is at hand describes itself anew (ot_store_put_device). */
int ot_device_order(const optune_device *a, const optune_device *b);
void ot_record_line(const optune_record *record, ot_text *to); /* with its newline */

/* One line of a log as read. Exactly one of: a full record of ours; an AutoTVM line (record has
 * config, cost, samples, time, outcome, tool; `task_name`, `target_text` and `args` say the
 * rest); a problem. */
typedef struct ot_log_line {
    int64_t number; /* from 1 */
    bool ours;
    const char *problem; /* NULL: none; else one sentence */
    optune_record record;
    const char *target_text, *task_name, *template_key; /* AutoTVM only */
    const json_t *args;                                 /* borrowed for the call */
    const optune_device *device;                        /* a device line of ours, else NULL */
    const ot_digest *forgotten; /* a line that says so of this record, else NULL */
    /* Of ours that stands there as it is written here, borrowed for the call: the line without its
     * newline, and the config as ot_config_print prints it. Else NULL. */
    const char *text, *entities;
    size_t n_text, n_entities;
    const struct ot_head *head; /* that it leans on: `text` is a short line */
} ot_log_line;
typedef int (*ot_log_fn)(void *arg, const ot_log_line *line);
typedef struct ot_log_source {
    const char *path;        /* a file, or a pipe that somebody writes to */
    const atomic_bool *stop; /* when it becomes true, EINTERRUPTED; NULL: never */
    double patience_s;       /* a pipe that is silent for so long is given up; 0: 60 */
} ot_log_source;
/* Reads comments away; never stops at a bad or half line: it is passed on as a problem. EUSAGE:
 * what is no log at all (a folder, a device, something compressed, a "line" without an end, a
 * pipe of which a million lines in a row were no records). */
int ot_log_read_from(const ot_log_source *source, ot_log_fn fn, void *arg, optune_err *err);
int ot_log_read(const char *path, ot_log_fn fn, void *arg, optune_err *err);

/* ---- batch.c: records on their way into a log and a store, as their bytes ---------------- */
typedef struct ot_batch ot_batch;
ot_batch *ot_batch_new(bool logged); /* logged: for a log, too */
void ot_batch_free(ot_batch *batch); /* NULL is fine */
int ot_batch_count(const ot_batch *batch);
bool ot_batch_full(const ot_batch *batch);
void ot_batch_clear(ot_batch *batch);
/* Takes what it needs of both. `from`, of ours, is the line that the record was read from: whether
 * it is sound was looked at there. NULL: it was not, and EUSAGE says that it is not. */
int ot_batch_add(ot_batch *batch, const optune_record *record, const ot_log_line *from,
                 optune_err *err);
/* Leaves out what the store has, whole, or has forgotten, and doubles; how many are left. */
int ot_batch_settle(ot_batch *batch, ot_store *store);
/* As ot_log_append to a log of short lines, all with one write(2). */
int ot_batch_log(ot_batch *batch, ot_log *log, optune_err *err);
/* As ot_store_put; the batch stays. */
int ot_batch_put(ot_batch *batch, ot_store *store, int *added, optune_err *err);

/* intake.c: two batches, one of which is written, by a thread of its own, while the other is
 * filled. That thread begins with the first batch that is full. */
typedef struct ot_intake ot_intake;
/* Settles, logs and stores a batch; called by one thread at a time, in the batches' order. */
typedef int ot_intake_fn(void *arg, ot_batch *batch, optune_err *err);
ot_intake *ot_intake_open(bool logged, ot_intake_fn *write, void *arg);
void ot_intake_close(ot_intake *in); /* waits; NULL is fine */
ot_batch *
ot_intake_batch(ot_intake *in); /* the one to fill; another one after each call below */
/* All of these say how what was written before went, if that was not yet said; nothing more is
 * written then. */
int ot_intake_full(ot_intake *in, optune_err *err); /* it is written while the next is filled */
int ot_intake_wait(ot_intake *in, optune_err *err); /* nothing is being written any more */
int ot_intake_flush(ot_intake *in, optune_err *err); /* all is written, by this thread */

/* ---- http.c: the only file that includes curl -------------------------------------------- */
typedef struct ot_http { /* how to speak; all zero is sensible */
    int64_t max_bytes;   /* of what comes, uncompressed; 0: 256 MiB */
    double connect_s;    /* 0: 15 */
    double total_s;      /* of one try; 0: 300 */
    int tries;           /* of what may pass: lost connections, 408, 425, 429, 5xx; 0: 4 */
    const char *ca_file; /* NULL: the system's */
    bool plain;          /* http:// too; from https no redirect leads there */
    bool packed;         /* get: a server may compress */
    bool resume;         /* get: what PATH.part holds of an earlier try is gone on with */
    const char *etag;    /* get: only if it is another by now; put: only if it is this still */
    bool only_new;       /* put: only if there is none */
    const char
        *bearer; /* a token; NULL: none. Goes to the address's own host, by https alone */
    const char *region, *key_id, *secret, *session; /* of S3, all but the last; NULL: none */
    const atomic_bool *stop;                        /* EINTERRUPTED once it becomes true */
    void (*progress)(void *arg, int64_t done, int64_t total); /* bytes; total -1: not known */
    void *arg;
} ot_http;
typedef struct ot_http_reply {
    long status;    /* 200, 304, 404, 412 ...; 0: none came */
    char etag[128]; /* as it was sent; empty: none */
    int64_t bytes;  /* that went over the wire */
    bool at_fault;  /* it failed for what was asked for: other addresses there may do */
} ot_http_reply;
/* A file from an https (or file:) address into `path`, whole or not at all. With `etag`, status 304
 * says that it is the same, and `path` stays. ENOENT: 404, 410; ENET names the host and the reason;
 * EUSAGE: no such kind of address. No message holds what is secret in an address. */
int ot_http_get(const char *url, const char *path, const ot_http *how, ot_http_reply *reply,
                optune_err *err);
/* A folder there (MKCOL), which WebDAV wants before what is in it. OPTUNE_OK also where it is. */
int ot_http_make_folder(const char *url, const ot_http *how, optune_err *err);
/* The file `path` to such an address (PUT). ECONFLICT, status 412 or 409: there is another. */
int ot_http_put(const char *url, const char *path, const ot_http *how, ot_http_reply *reply,
                optune_err *err);

#endif
