/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every room may use: errors, text, memory, digests, numbers, time, files, children.
 * Nothing here knows what an operator or a trial is. Functions return an optune_status with the
 * error last, unless they cannot fail.
 */
#ifndef OPTUNE_BASE_H
#define OPTUNE_BASE_H

#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>

#include "optune/define.h"

#define OT_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* ---- err.c: optune_fail, optune_refuse -------------------------------------------------- */
/* What leads to these lies apart from the code that mostly runs. */
int optune_fail(optune_err *err, int status, const char *format, ...) __attribute__((cold));
bool optune_refuse(char *why, const char *format, ...) __attribute__((cold));
const char *ot_status_sentence(int status);
/* A row that asks for what is not there (an attribute, a knob) is somebody's slip, in a plugin
 * often: what is asked answers something harmless and notes it here, once a thread, and who called
 * the row's hook takes the note, if there is one, and refuses the row by it. */
void ot_slip(const char *format, ...) OPTUNE_PRINTF(1, 2) __attribute__((cold));
bool ot_slip_taken(char *why); /* why[OPTUNE_WHY_SIZE], or NULL */
/* From now on optune_refuse writes nothing in this thread: for who asks rows whether, and not why.
 * Returns what was before, which is to be set again. */
bool ot_refuse_quietly(bool quietly);
bool ot_refused_quietly(void); /* it is so: a sentence need not be made */
/* What a public function was given. EUSAGE names the first that is NULL: "optune_select: workload
 * is NULL". */
typedef struct ot_given {
    const char *name; /* as the header calls it */
    const void *value;
} ot_given;
int ot_check_given(optune_err *err, const char *function, const ot_given *given, int n);
#define OT_GIVEN(err, ...)                                                                     \
    ot_check_given(err, __func__, (const ot_given[]){__VA_ARGS__},                             \
                   OT_COUNT(((const ot_given[]){__VA_ARGS__})))
#define OT_RETURN_UNLESS_OK(call)                                                              \
    do {                                                                                       \
        const int ot_status_of_call = (call);                                                  \
        if (ot_status_of_call < 0)                                                             \
            return ot_status_of_call;                                                          \
    } while (0)
const char *ot_outcome_name(int outcome); /* "wrong"; "unknown" for a bad number */
int ot_outcome_named(const char *name);   /* -1: none */

/* ---- sized.c: structs that begin with their own size ------------------------------------- */
/* Copies options that a caller compiled against a header of another time may have made into `own`:
 * what its struct ends before is 0, what it has behind ours has to be 0. EVERSION, naming the
 * struct: it is not, or the size is that of no struct. */
int ot_sized_take(optune_err *err, const char *type, const void *given, void *own, size_t size);
/* The reverse for a struct that is filled: as much of `own` as it has room for. */
int ot_sized_check(optune_err *err, const char *type, const void *given, size_t size);
void ot_sized_give(const void *own, size_t size, void *given);
#define OT_SIZED_CHECK(err, type, given) ot_sized_check(err, #type, given, sizeof(type))
#define OT_SIZED_TAKE(err, type, given, own) ot_sized_take(err, #type, given, own, sizeof(type))

/* ---- text.c: a growing string, and strict reading of numbers ----------------------------- */
typedef struct ot_text {
    char *s; /* always zero-terminated once anything was added; NULL before */
    size_t n, capacity;
} ot_text;
void ot_text_release(ot_text *t);
void ot_text_clear(ot_text *t);
void ot_text_add(ot_text *t, const char *s);
void ot_text_add_n(ot_text *t, const char *s, size_t n);
/* Its end, with room for n bytes and a zero, which the caller writes and counts. */
char *ot_text_room(ot_text *t, size_t n);
void ot_text_printf(ot_text *t, const char *format, ...) OPTUNE_PRINTF(2, 3);
const char *ot_text_str(const ot_text *t); /* never NULL */
/* s as a JSON string, quotes included; bytes that are no UTF-8 become U+FFFD. */
void ot_text_add_json(ot_text *t, const char *s);
bool ot_text_is_utf8(const char *s);
/* Behind the byte order mark that some editors begin a file with. */
const char *ot_text_behind_mark(const char *text);
/* How many bytes at s a terminal obeys instead of showing them, 0 for what it shows: control
 * characters, those of Unicode (C1), separators of lines, what turns the direction of writing. */
size_t ot_text_obeyed(const char *s);
bool ot_text_is_plain(const char *s); /* one line of what is shown */
/* The shortest text that reads back as the same double, never like an integer: "1.0"; "null"
 * when it is not finite. */
void ot_text_add_real(ot_text *t, double value);
void ot_text_add_int(ot_text *t, int64_t value); /* in decimal */
size_t ot_identifier_length(const char *s); /* of the one it begins with; 0: none */
bool ot_is_identifier(const char *s);       /* as C has them; NULL is none */
bool ot_is_row_name(const char *s);         /* of letters, digits and "_-.+"; NULL is none */
/* Copies s into to[size]; false, and an empty string, when it does not fit. */
bool ot_copy(char *to, size_t size, const char *s);
bool ot_parse_int(const char *s, int64_t *value);               /* whole text, no overflow */
bool ot_parse_dtype(const char *s, optune_dtype *dtype);        /* f32, bf16, i8, u1 ... and
                                                                  AutoTVM's float32, int8, bool */
void ot_print_dtype(optune_dtype dtype, char *to, size_t size); /* "f32", "f32x4" */
/* How far apart, absolutely and relatively, two ways to sum in this type may be; 0: of integers. */
double ot_usual_tolerance(optune_dtype dtype);
enum { OT_BY_TYPE = -1 }; /* in place of a tolerance: what is usual for each output's type */
void ot_print_dtype_long(optune_dtype dtype, char *to, size_t size); /* "float32" */
/* The entry of names[] nearest to `word`, or NULL when none is near. */
const char *ot_nearest(const char *word, const char *const *names, int n);
/* Fails with ENOENT, naming the kind, the word and the nearest name: "no operator 'conv3d'; did
 * you mean 'conv2d'?"; where none is near, some of those there are, or that there is none. */
int ot_no_such(optune_err *err, const char *kind, const char *word, const char *const *names,
               int n);
/* The same where every name has a text about it, or NULL, that says what else it is called. */
int ot_no_such_about(optune_err *err, const char *kind, const char *word,
                     const char *const *names, const char *const *about, int n);
/* "name=value" lines: the value of one name copied into to[size]; false when absent. */
bool ot_lines_get(const char *lines, const char *name, char *to, size_t size);

/* ---- locale.c: numbers as text, in the C locale ------------------------------------------ */
/* For this thread, until it is left: what code of others may print or read in between. */
typedef struct ot_locale {
    void *own;
} ot_locale;
ot_locale ot_locale_enter(void);
void ot_locale_leave(ot_locale before);
/* snprintf and vsnprintf in it: wherever a number with a point may be printed. */
int ot_format(char *to, size_t size, const char *format, ...) OPTUNE_PRINTF(3, 4);
int ot_format_list(char *to, size_t size, const char *format, va_list list) OPTUNE_PRINTF(3, 0);
/* The decimal number, inf or nan that starts here; returns its length, 0: there is none. */
size_t ot_read_real(const char *s, double *value);
bool ot_parse_real(const char *s, double *value); /* whole text, decimal, finite */

/* ---- arena.c: many allocations, one release ---------------------------------------------- */
typedef struct ot_arena {
    struct ot_block *block;
} ot_arena; /* zero to start */
void *ot_arena_alloc(ot_arena *arena,
                     size_t size); /* zeroed, 16-aligned; never NULL */
/* The same, and holds anything: for who writes all that is read of it. */
void *ot_arena_raw(ot_arena *arena, size_t size);
char *ot_arena_copy(ot_arena *arena, const char *s); /* NULL gives NULL */
char *ot_arena_printf(ot_arena *arena, const char *format, ...) OPTUNE_PRINTF(2, 3);
void ot_arena_release(ot_arena *arena);
/* The same, but its last block stays, unless it is a large one, for who goes on with it. */
void ot_arena_reset(ot_arena *arena);
/* Zeroed, never NULL: of the reserve (reserve.h) where malloc has nothing. */
void *ot_alloc(size_t size);
void *ot_alloc_raw(size_t size); /* the same, and holds anything */
/* As ot_alloc; of a large struct, most of which is never touched, only what is takes memory. */
void *ot_alloc_sparse(size_t size);
/* Zeroed; NULL, with ENOMEM in `err`, when there is none: for elements of tensors. */
void *ot_try_alloc(size_t size, const char *what, optune_err *err);
/* An array with room for one more behind its `n` elements of `size` bytes: itself, or moved to
 * twice the room, where what is new is 0. Who has it frees it; NULL, with no room, is empty. */
void *ot_room(void *array, int n, int *capacity, size_t size);
/* What was freed goes back to the system, as far as the C library can tell. */
void ot_memory_trim(void);
char *ot_strdup(const char *s);
/* In a public function, before it gives what it made: ENOMEM where any of that had to come from the
 * reserve; `status` else. ot_memory_begin forgets what came from it before. */
void ot_memory_begin(void);
int ot_memory_end(int status, optune_err *err);

/* ---- rows.c: tables of rows that grow ----------------------------------------------------- */
typedef struct ot_rows {
    const char *kind; /* "operator": of a table that is asked by name; NULL: it is not */
    size_t name;      /* where a row of it has its name: offsetof */
    const void **row;
    int n, capacity;
    int *slot; /* of names; rows.c's own */
} ot_rows;     /* the rest zero to start */
void ot_rows_push(ot_rows *rows, const void *row);
void ot_rows_rewind(ot_rows *rows, int n); /* back to the first n */
/* The rest for tables that are asked by name. */
void ot_rows_sort(ot_rows *rows); /* by name */
/* The last row of that name; NULL: none. */
const void *ot_rows_find(const ot_rows *rows, const char *name);
/* ENOENT: there is no such row, and the nearest names. `about` says of a row what else it is
 * called, in the arena or for ever; NULL: nothing. */
typedef const char *(*ot_row_about)(const void *row, ot_arena *arena);
int ot_rows_absent(const ot_rows *rows, const char *name, ot_row_about about, optune_err *err);
/* Whether a row of this name may be added: else EUSAGE, ELIMIT or ECONFLICT. */
int ot_rows_admit(const ot_rows *rows, const char *name, optune_err *err);
/* ECONFLICT: `kind` 'name' exists already. */
int ot_row_taken(optune_err *err, const char *kind, const char *name);
/* EUSAGE: a row of that kind has no name; ELIMIT: a name that is too long. */
int ot_row_check_name(const char *kind, const char *name, optune_err *err);

/* ---- hash.c: stable digests (XXH3, 128 bits, big-endian) --------------------------------- */
typedef struct ot_digest {
    uint8_t byte[16];
} ot_digest;
ot_digest ot_digest_of(const void *data, size_t size);
ot_digest ot_digest_texts(const char *const *texts,
                          int n); /* NULL counts as absent; unambiguous */
void ot_digest_hex(ot_digest digest, char hex[33]);
/* object.c: of the code and the constants of the shared object that the address lies in. False: it
 * is the program's own, or this library's, or in no object. */
bool ot_object_digest(const void *address, ot_digest *digest);
uint64_t ot_hash64(const void *data, size_t size);

/* ---- rng.c: optune_random and friends ---------------------------------------------------- */

/* ---- element.c --------------------------------------------------------------------------- */
/* n elements of a buffer, from `first` on, as doubles; 64-bit integers are rounded. */
void ot_elements(optune_dtype dtype, const void *data, int64_t first, int64_t n, double *to);
/* The reverse: rounded to nearest, ties to even; a float too large becomes infinite. */
void ot_elements_set(optune_dtype dtype, void *data, int64_t first, int64_t n,
                     const double *from);

/* ---- parallel.c: pieces of a range, by threads that end with the call --------------------- */
/* Calls `part` for pieces of at most `piece` of [0, n), in any order, from as many threads (this
 * one among them) as there are pieces for, at most `threads`. */
void ot_parallel(int64_t n, int64_t piece, int threads,
                 void (*part)(void *arg, int64_t from, int64_t to), void *arg);
void ot_parallel_copy(void *to, const void *from, int64_t bytes, int threads);

/* ---- stats.c ---------------------------------------------------------------------------------*/
typedef struct ot_interval {
    double median, low, high;
} ot_interval;
/* Median with its distribution-free confidence interval (order statistics, binomial), 95 %.
 * Fewer than 6 samples cannot give 95 %: then low and high are the extremes. */
int ot_ascending(const void *a, const void *b); /* of doubles, for qsort */
ot_interval ot_median_interval(const double *sample, int n);
/* The interval's ends are this smallest and this largest of n samples, counted from 1. */
int ot_median_rank(int n);
double ot_geomean(const double *value, int n);
/* Between the two nearest of n > 0 ascending ones; share 0 to 1. */
double ot_quantile(const double *sorted, int n, double share);
/* Of n that took turns, sample[i][r] seconds in round r: which rounds are of one speed (taken[r]),
 * those at full speed, or where they are few, below ten or a quarter, the others. Cores have more
 * than one speed (clocks, a neighbour on the other half of the core, the host); with both in a
 * median, on which side of half it falls would decide who is called faster. Returns how many; all
 * where there are too few to tell, nobody to compare with, or no more that are slow for all than
 * when each is slow by itself now and then. */
#define OT_SLOWED 1.15 /* times a quick round, and it was slow */
int ot_one_speed(const double *const *sample, int n, int rounds, bool *taken);

/* ---- clock.c: monotonic raw -------------------------------------------------------------- */
int64_t ot_now_ns(void);
double ot_now(void);       /* seconds, monotonic */
double ot_unix_time(void); /* seconds since 1970 */
/* How long ago that was: "just now", "5 min old", "of unknown age" (0); in `text`, or a literal. */
const char *ot_age_text(double time, char text[32]);

/* ---- file.c ------------------------------------------------------------------------------ */
int ot_make_dirs(const char *path, optune_err *err); /* like mkdir -p */
/* The same of a database or a hub: those that it makes are shared as their folder is. */
int ot_make_shared_dirs(const char *path, optune_err *err);
/* open(2) of a regular file, close-on-exec, mode 0666: a descriptor, or a negative status. What is
 * none is refused (EDAMAGED; EIO with O_CREAT), and the other end of a pipe is not waited for. */
int ot_open_file(const char *path, int flags, optune_err *err);
int ot_read_file(const char *path, ot_text *to, size_t limit, optune_err *err);
/* The same of what a user names: a pipe or a terminal, too, which is waited for, and a minute for
 * its next bytes. */
int ot_read_input(const char *path, ot_text *to, size_t limit, optune_err *err);
/* A new file that takes the other's place in one step; a device or a pipe is written to, and of a
 * pipe a reader is waited for ten seconds. */
int ot_write_file(const char *path, const void *data, size_t n, optune_err *err);
/* The same of what can be made again, for its owner alone whatever the umask: the disk is not
 * waited for, so that after a sudden end of the machine it may be there empty or cut short. */
int ot_write_cached(const char *path, const void *data, size_t n, optune_err *err);
/* ot_write_file of what is shared as its folder is. */
int ot_write_shared(const char *path, const void *data, size_t n, optune_err *err);
/* flock of the whole file, without waiting. 1: this has it; 0: somebody else has, or a signal came;
 * negative: an errno, as of a file system that has no locks. */
int ot_lock_at_once(int fd);
void ot_sync_path(const char *path); /* a file or a folder, as far as it can be */
/* path[n] as it is called wherever the process goes: behind the current folder, where it is
 * relative; as it is, where that has no name or both are longer than `most` bytes. */
void ot_path_from_root(const char *path, size_t n, size_t most, ot_text *to);
bool ot_exists(const char *path);
void ot_remove_tree(const char *path);
/* Fresh, in $TMPDIR or /tmp; what killed processes left there a day ago or more is removed. */
int ot_temp_dir(char *path, size_t size, optune_err *err);
/* Directory of the shared object or program that holds this code, for finding what is installed
 * beside it. */
int ot_self_dir(char *path, size_t size);
/* Full path of a program found on PATH; false when there is none. */
bool ot_find_program(const char *name, char *path, size_t size);

/* ---- shared.c: files that several may use ------------------------------------------------ */
/* Shares what this process just made at `path` as its folder is: in one of a group (setgid, and
 * the group may write to it) the group may read and write it, whatever the umask, and what root
 * makes is its folder's owner's. */
void ot_made(int fd, const char *path);
/* By its name. Never of a file in which this process has fcntl's locks: closing it loses them. */
void ot_made_at(const char *path);
/* Gives to this file or folder, which takes the place of another one, that one's owner, group,
 * rights and list of others, as far as the system lets it. 0, or an errno: fewer may use it. */
int ot_stay_whose(int fd, int was);

/* ---- bind.c: libraries opened when first needed ------------------------------------------ */
/* For a list X(function) of what is used: the fields of a struct, and the names. */
#define OT_BIND_FIELD(name) __typeof__(&name) name;
#define OT_BIND_NAME(name) #name,
/* Opens the first of files[] (NULL-terminated) that is there and fills `functions`, an array of n
 * pointers or a struct of n function pointers, in the order of symbols[]. ETOOL names the
 * package. */
int ot_bind(const char *const *files, const char *package, const char *const *symbols, int n,
            void *functions, optune_err *err);

/* ---- config.c: configs as text, AutoTVM's entity list ------------------------------------ */
/* `[["tile_x","sp",[1,8]],["unroll","ot",true]]`: the canonical text of a config. */
void ot_config_print(const optune_config *config, ot_text *to);
/* Index becomes -1. Accepts what AutoTVM writes, a leading -1 in a split included. */
int ot_config_parse(const char *text, optune_config *config, optune_err *err);
/* As many entities as it has: of a config nothing is read behind them. */
void ot_config_copy(optune_config *to, const optune_config *from);
/* With memory for as many as it has. */
const optune_config *ot_config_keep(ot_arena *arena, const optune_config *from);
bool ot_config_equal(const optune_config *a, const optune_config *b); /* by entities */
bool ot_entity_equal(const optune_entity *a, const optune_entity *b);
/* What stands behind name and kind in the text of a config; and the reverse, as ot_config_read, of
 * an entity whose kind is set. */
void ot_config_print_value(const optune_entity *entity, ot_text *to);
size_t ot_config_read_value(const char *text, size_t n, optune_entity *entity);
const char *ot_knob_kind_word(int kind); /* "sp" ... */
int ot_knob_kind_named(const char *word); /* -1: none */
/* For people: `tile_x=[1,8] unroll=true`. */
void ot_config_print_short(const optune_config *config, ot_text *to);
/* The config that text[n] begins with, if these are the very bytes that ot_config_print prints of
 * it, none of them escaped and no real among them; returns how many, 0: it is not so, and
 * ot_config_parse may know more. */
size_t ot_config_read(const char *text, size_t n, optune_config *config);

/* ---- child.c: processes, started with argument vectors, never through a shell ------------ */
enum { OT_SPAWN_FILES = 4 };
/* Starts argv[0] (found on PATH) as the leader of a process group with default signals and, as
 * its files 0 to n - 1, these and no others; -1: /dev/null. `temp`: its TMPDIR,
 * and its messages are in English; NULL: as ours.
 * Returns 0 or an errno. */
int ot_spawn(pid_t *pid, char *const *argv, const char *temp, const int *file, int n);

typedef struct ot_child {
    pid_t pid;       /* 0: none */
    int out;         /* its stdout and stderr, non-blocking; -1 when not captured */
    int talk;        /* to a server's stdin; -1: it is none, or takes no more */
    ot_text text;    /* what it printed so far, at most 64 KiB */
    double started;  /* ot_now() */
    double deadline; /* ot_now() by which it is killed; 0: none */
    bool ended, timed_out;
    int status;    /* as waitpid gives it, when ended; 0 where others of this process took it */
    bool answered; /* a server, the last request */
    int answer;    /* 0 to 255, when answered */
} ot_child;
/* Starts argv[0] (found on PATH) in a process group of its own, stdin from /dev/null, output
 * captured. limit_s 0: no limit. */
int ot_child_start(ot_child *child, char *const *argv, double limit_s, optune_err *err);
/* The same with its temporary files in the folder `temp` (TMPDIR; NULL: where they are else). */
int ot_child_start_in(ot_child *child, char *const *argv, const char *temp, double limit_s,
                      optune_err *err);
/* A server: it receives messages on its stdin and answers each with a message of one byte. */
int ot_child_start_server(ot_child *child, char *const *argv, optune_err *err);
/* One request at a time; text and times are this request's. EWORKER when it is gone. */
int ot_child_ask(ot_child *child, const char *request, size_t n, double limit_s,
                 optune_err *err);
/* Collects output; kills the group past its deadline. Returns true once it has ended, or, of a
 * server, has answered. */
bool ot_child_poll(ot_child *child);
/* Waits until ot_child_poll is true of one of them or seconds pass. */
void ot_child_wait_any(ot_child *const *children, int n, double seconds);
void ot_child_kill(ot_child *child); /* the whole group; waits for it */
void ot_child_release(ot_child *child);
/* All at once: OPTUNE_OK when it exits 0; output in `text` in any case. */
int ot_run_program(char *const *argv, double limit_s, ot_text *text, optune_err *err);
int ot_run_program_in(char *const *argv, const char *temp, double limit_s, ot_text *text,
                      optune_err *err); /* as ot_child_start_in */

/* ---- message.c: length-prefixed messages on a socket ------------------------------------- */
enum { OT_MESSAGE_LIMIT = 64 << 20 };
int ot_message_send(int fd, const char *data, size_t n, optune_err *err);
/* ETIMEOUT after `seconds` (negative: wait for ever); EWORKER when the peer is gone. */
int ot_message_receive(int fd, ot_text *to, double seconds, optune_err *err);

#endif
