/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store in bad weather: killed writers, damaged files, little memory. What may crash the
 * process is tried in a child of its own.
 */
#include "support/check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/db.h"
#include "db/kv.h"
#include "support/store.h"

/* ---- killed ------------------------------------------------------------------------------ */

static int note_number(void *arg, const optune_record *record)
{
    ((char *)arg)[record->config.index - 1000] = 1;
    return 0;
}

static void killed_writers_lose_nothing_committed(void **state)
{
    (void)state;
    enum { ROUNDS = 25, MOST = 4000 };
    optune_err err;
    char *committed = ot_alloc(MOST), *there = ot_alloc(MOST);
    uint64_t seed = 7;
    int next = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int pipe_end[2];
        assert_int_equal(pipe(pipe_end), 0);
        pid_t child = fork();
        if (child == 0) {
            ot_store *store;
            if (ot_store_open(store_dir, OT_STORE_WRITE, &store, &err) < 0)
                _exit(1);
            for (int i = next; i < MOST; i++) {
                optune_record record = some_record(i);
                if (ot_store_put(store, &record, 1, NULL, &err) < 0 ||
                    write(pipe_end[1], &i, sizeof i) != sizeof i)
                    _exit(1);
            }
            _exit(0);
        }
        close(pipe_end[1]);
        int wanted = (int)optune_random_below(&seed, 12), number;
        for (int i = 0; i < wanted; i++) {
            assert_int_equal(read(pipe_end[0], &number, sizeof number), sizeof number);
            committed[number] = 1;
        }
        /* Anywhere in the next commit, or in opening. */
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        while (read(pipe_end[0], &number, sizeof number) == sizeof number)
            committed[number] = 1;
        close(pipe_end[0]);
        ot_store *store;
        int status = ot_store_open(store_dir, OT_STORE_READ, &store, &err);
        if (status == OPTUNE_ENOENT) { /* killed before there was one */
            assert_null(memchr(committed, 1, MOST));
            continue;
        }
        check_ok(status);
        memset(there, 0, MOST);
        check_ok(ot_store_walk(store, note_number, there, &err));
        ot_store_stats stats;
        check_ok(ot_store_stats_get(store, &stats, &err));
        assert_int_equal(stats.damaged, 0);
        ot_store_close(store);
        for (int i = 0; i < MOST; i++)
            assert_true(there[i] >= committed[i]);
        while (next < MOST && there[next])
            next++;
    }
    assert_true(next > 0);
    free(committed);
    free(there);
}

/* ---- damaged ----------------------------------------------------------------------------- */

/* Everything a program may do with a store of n records. Ends with 0: fine, all records there;
 * 1: refused as damaged; 2: fine, records missing; 3: anything else. */
static int use(int n)
{
    optune_err err = {0};
    ot_store *store;
    int status = ot_store_open(store_dir, OT_STORE_WRITE, &store, &err);
    if (status < 0) {
        bool remedy = strstr(err.text, "optune db rebuild") && strstr(err.text, store_dir);
        bool right = status == OPTUNE_EVERSION || (status == OPTUNE_EDAMAGED && remedy);
        if (!right)
            print_error("%s\n", err.text);
        return right ? 1 : 3;
    }
    optune_record record = some_record(1), *found;
    ot_question question = {.device = record.device,
                            .target = record.target,
                            .call = record.call,
                            .policy = record.policy};
    int seen = 0, walked = 0;
    ot_arena arena = {0};
    ot_store_stats stats;
    bool good = ot_store_find(store, &question, 0, &arena, &found, &seen, &err) == OPTUNE_OK &&
                ot_store_walk(store, store_count, &walked, &err) == OPTUNE_OK &&
                ot_store_stats_get(store, &stats, &err) == OPTUNE_OK;
    for (int i = 5000; good && i < 5010; i++) {
        optune_record more = some_record(i);
        good = ot_store_put(store, &more, 1, NULL, &err) == OPTUNE_OK;
    }
    ot_arena_release(&arena);
    ot_store_close(store);
    if (!good && err.status != OPTUNE_EDAMAGED)
        print_error("%s\n", err.text);
    if (!good)
        return err.status == OPTUNE_EDAMAGED ? 1 : 3;
    return seen == n && walked == n ? 0 : 2;
}

static int use_in_child(int n)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(use(n));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status)); /* no signal */
    return WEXITSTATUS(status);
}

static void spoil(const ot_text *sound, size_t at, const void *bytes, size_t n)
{
    optune_err err;
    ot_text spoilt = {0};
    ot_text_add_n(&spoilt, sound->s, sound->n);
    memcpy(spoilt.s + at, bytes, n);
    check_ok(ot_write_file(store_data, spoilt.s, spoilt.n, &err));
    ot_text_release(&spoilt);
}

static ot_text sound_data(int records)
{
    optune_err err;
    ot_text sound = {0};
    store_fill(records);
    check_ok(ot_read_file(store_data, &sound, 64 << 20, &err));
    check_ok(ot_check_pages(store_data, OT_CHECK_ALL, NULL, &err));
    return sound;
}

static void cut_files_are_refused(void **state)
{
    (void)state;
    optune_err err;
    ot_text sound = sound_data(100);
    int refused = 0;
    for (size_t n = 0; n < sound.n; n += n < 12288 ? 777 : 4095) {
        check_ok(ot_write_file(store_data, sound.s, n, &err));
        int status = use_in_child(100);
        /* What was cut off may have been free pages: then nothing is missing. */
        assert_true(status == 1 || (status == 0 && n > sound.n / 2));
        refused += status == 1;
    }
    assert_true(refused > 20);
    ot_text_release(&sound);
}

static void garbage_is_refused(void **state)
{
    (void)state;
    optune_err err;
    ot_text sound = sound_data(20);
    uint64_t seed = 3;
    for (size_t i = 0; i < sound.n; i++)
        sound.s[i] = (char)optune_random(&seed);
    check_ok(ot_write_file(store_data, sound.s, sound.n, &err));
    assert_int_equal(use_in_child(20), 1);
    check_ok(ot_write_file(store_data, "no database at all\n", 19, &err));
    assert_int_equal(use_in_child(20), 1);
    memset(sound.s, 0, sound.n);
    check_ok(ot_write_file(store_data, sound.s, sound.n, &err));
    assert_int_equal(use_in_child(20), 1);
    ot_text_release(&sound);
}

static void damage_anywhere_never_crashes(void **state)
{
    (void)state;
    ot_text sound = sound_data(100);
    uint64_t seed = 11;
    int refused = 0, rounds = 300;
    for (int i = 0; i < rounds; i++) {
        unsigned char bytes[4096];
        size_t n = (size_t)1 << optune_random_below(&seed, 13);
        size_t at = (size_t)optune_random_below(&seed, (int64_t)(sound.n - n));
        if (i % 3 == 0) /* page headers and what follows them matter most */
            at &= ~(size_t)4095;
        for (size_t j = 0; j < n; j++)
            bytes[j] = i % 2 ? (unsigned char)optune_random(&seed) : 0xff;
        spoil(&sound, at, bytes, n);
        int status = use_in_child(100);
        if (status > 2)
            print_error("round %d: %zu bytes at %zu\n", i, n, at);
        assert_in_range(status, 0, 2);
        refused += status == 1;
    }
    assert_in_range(refused, 20, rounds - 20); /* both happen: values alone do not refuse */
    ot_text_release(&sound);
}

static void damaged_values_are_passed_over_and_mended(void **state)
{
    (void)state;
    optune_err err;
    ot_store *store;
    ot_text sound = sound_data(20);
    /* One record's time, in whatever pages it was ever written to. */
    double time = some_record(13).time;
    int places = 0;
    for (size_t i = 0; i + sizeof time <= sound.n; i++) {
        if (memcmp(sound.s + i, &time, sizeof time) == 0) {
            sound.s[i] ^= 1;
            places++;
        }
    }
    assert_true(places > 0);
    check_ok(ot_write_file(store_data, sound.s, sound.n, &err));
    optune_record record[20], *found;
    for (int i = 0; i < 20; i++)
        record[i] = some_record(i);
    ot_question question = {.device = record->device,
                            .target = record->target,
                            .call = record->call,
                            .policy = record->policy};
    ot_arena arena = {0};
    ot_store_stats stats;
    int n, added;
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_store_stats_get(store, &stats, &err));
    assert_int_equal(stats.damaged, 1);
    check_ok(ot_store_find(store, &question, 0, &arena, &found, &n, &err));
    assert_int_equal(n, 19);
    n = 0;
    check_ok(ot_store_walk(store, store_count, &n, &err));
    assert_int_equal(n, 19);
    check_ok(ot_store_put(store, record, 20, &added, &err));
    assert_int_equal(added, 1);
    check_ok(ot_store_find(store, &question, 0, &arena, &found, &n, &err));
    assert_int_equal(n, 20);
    check_ok(ot_store_stats_get(store, &stats, &err));
    assert_int_equal(stats.damaged, 0);
    assert_int_equal(stats.records, 20);
    ot_store_close(store);
    ot_arena_release(&arena);
    ot_text_release(&sound);
}

static void checking_beside_a_writer(void **state)
{
    (void)state;
    optune_err err;
    store_fill(50);
    pid_t child = fork();
    if (child == 0) {
        ot_store *store;
        if (ot_store_open(store_dir, OT_STORE_WRITE, &store, &err) < 0)
            _exit(1);
        for (int i = 50; i < 250; i++) {
            optune_record record = some_record(i);
            if (ot_store_put(store, &record, 1, NULL, &err) < 0)
                _exit(1);
        }
        _exit(0);
    }
    int status = 0, checks = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        check_ok(ot_check_pages(store_data, OT_CHECK_ALL, NULL, &err));
        checks++;
    }
    assert_int_equal(status, 0);
    assert_true(checks > 0);
}

static void newer_layout_is_refused(void **state)
{
    (void)state;
    optune_err err;
    ot_store *store;
    ot_writer writer;
    uint32_t schema = 99;
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_writer_begin(store, &writer, &err));
    check_ok(ot_writer_put(&writer, OT_TABLE_META, (ot_bytes){"schema", 6},
                           (ot_bytes){&schema, sizeof schema}, NULL, &err));
    check_ok(ot_writer_commit(&writer, &err));
    ot_store_close(store);
    assert_int_equal(ot_store_open(store_dir, OT_STORE_READ, &store, &err), OPTUNE_EVERSION);
    check_contains(err.text, "layout 99");
}

/* ---- little memory ------------------------------------------------------------------------ */

static void little_address_space(void **state)
{
    (void)state;
    store_fill(1);
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* AddressSanitizer needs terabytes of it */
#endif
    int status;
    pid_t child = fork();
    if (child == 0) {
        rlim_t limit = (rlim_t)2 << 30;
        if (setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit}) < 0)
            _exit(1);
        _exit(use(1));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Leaves so many bytes of address space. */
static bool limit_room(size_t room)
{
    char text[64] = "";
    const int fd = open("/proc/self/statm", O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return false;
    close(fd);
    const rlim_t all = room + (rlim_t)atol(text) * (rlim_t)sysconf(_SC_PAGESIZE);
    return setrlimit(RLIMIT_AS, &(struct rlimit){all, all}) == 0;
}

/* As libraries of somebody else's program and their data do. */
static bool use_up(size_t bytes)
{
    return !bytes || mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                          -1, 0) != MAP_FAILED;
}

/* Half of what is left stays for others, whatever powers of two fit into it. */
static int leaves_room(size_t used, size_t room)
{
    optune_err err = {0};
    ot_store *store;
    if (!use_up(used) || !limit_room(room))
        return 1;
    if (ot_store_open(store_dir, OT_STORE_WRITE, &store, &err) < 0) {
        print_error("%zu MiB, %zu used: %s\n", room >> 20, used >> 20, err.text);
        return 2;
    }
    if (mmap(NULL, room / 2, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) {
        print_error("%zu MiB, %zu used: nothing left\n", room >> 20, used >> 20);
        return 3;
    }
    return 0;
}

static void room_beside_the_map(void **state)
{
    (void)state;
    store_fill(1);
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* as above */
#endif
    for (size_t used = 0; used <= 600; used += 600)
        for (size_t room = 190; room <= 2240; room += 205) {
            int status;
            const pid_t child = fork();
            if (child == 0)
                _exit(leaves_room(used << 20, room << 20));
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_int_equal(status, 0);
        }
}

static void fill_large(int n, size_t bytes)
{
    optune_err err;
    ot_store *store;
    ot_writer writer;
    char *value = ot_alloc(bytes), name[16];
    check_ok(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err));
    check_ok(ot_writer_begin(store, &writer, &err));
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "large%d", i);
        check_ok(ot_writer_put(&writer, OT_TABLE_META, (ot_bytes){name, strlen(name)},
                               (ot_bytes){value, bytes}, NULL, &err));
    }
    check_ok(ot_writer_commit(&writer, &err));
    ot_store_close(store);
    free(value);
}

static int compacts(size_t room)
{
    optune_err err = {0};
    ot_store *store;
    int64_t before, after;
    if (!limit_room(room))
        return 1;
    if (ot_store_open(store_dir, OT_STORE_WRITE, &store, &err) >= 0 &&
        ot_store_compact(store, &before, &after, &err) >= 0)
        return 0;
    print_error("%s\n", err.text);
    return 2;
}

/* More than a quarter of the address space that there is. */
static void room_for_a_copy(void **state)
{
    (void)state;
    int status;
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* as above */
#endif
    fill_large(90, 1 << 20);
    const pid_t child = fork();
    if (child == 0)
        _exit(compacts((size_t)320 << 20));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define each(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(killed_writers_lose_nothing_committed),
        each(cut_files_are_refused),
        each(garbage_is_refused),
        each(damage_anywhere_never_crashes),
        each(damaged_values_are_passed_over_and_mended),
        each(checking_beside_a_writer),
        each(newer_layout_is_refused),
        each(little_address_space),
        each(room_beside_the_map),
        each(room_for_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
