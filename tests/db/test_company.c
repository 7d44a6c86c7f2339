/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has a store open at the same time: a process of the same number in another container, another
 * copy of the library in the same process, more readers than a full disk has room for. What needs
 * rights that are not there is skipped.
 */
#include "support/check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/db.h"
#include "optune/optune.h"
#include "support/store.h"

enum { SKIPPED = 77 };

static int told_by(int status)
{
    if (!WIFEXITED(status))
        fail_msg("signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) == SKIPPED)
        skip();
    return WEXITSTATUS(status);
}

static int status_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return told_by(status);
}

static int said(const char *what, const optune_err *err)
{
    print_error("%s: %s\n", what, err->text);
    return 2;
}

/* ---- containers -------------------------------------------------------------------------- */

/* As process 1 of its own container: puts ten records, each time all that are there are read. */
static int in_a_container(int first, int ready, int go)
{
    optune_err err = {0};
    ot_store *store;
    char byte;
    int walked;
    if (getpid() != 1)
        return 3;
    if (ot_store_open(store_dir, OT_STORE_WRITE, &store, &err) < 0)
        return said("open", &err);
    if (write(ready, "", 1) != 1 || read(go, &byte, 1) != 1)
        return 4;
    for (int i = 0; i < 10; i++) {
        const optune_record record = some_record(first + i);
        int added = 0;
        if (ot_store_put(store, &record, 1, &added, &err) < 0 || added != 1)
            return said("put", &err);
        walked = 0;
        if (ot_store_walk(store, store_count, &walked, &err) < 0)
            return said("walk", &err);
        if (walked < 50 + i + 1)
            return 5;
    }
    ot_store_close(store);
    return 0;
}

static void containers_of_equal_numbers(void **state)
{
    (void)state;
    pid_t child[2];
    int ready[2], go[2];
    store_fill(50);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    for (int i = 0; i < 2; i++) {
        child[i] = fork();
        if (child[i])
            continue;
        if (unshare(CLONE_NEWPID) < 0)
            _exit(SKIPPED);
        int status;
        const pid_t first = fork();
        if (first == 0)
            _exit(in_a_container(1000 + 100 * i, ready[1], go[0]));
        waitpid(first, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 9);
    }
    char byte;
    close(ready[1]);
    const bool both = read(ready[0], &byte, 1) == 1 && read(ready[0], &byte, 1) == 1;
    assert_int_equal(write(go[1], "..", 2), 2);
    close(ready[0]);
    close(go[0]);
    close(go[1]);
    assert_int_equal(status_of(child[0]), 0);
    assert_int_equal(status_of(child[1]), 0);
    assert_true(both);
    optune_err err = {0};
    ot_store *store;
    ot_care care;
    check_ok(ot_store_open(store_dir, OT_STORE_READ, &store, &err));
    check_ok(ot_store_check(store, &care, &err));
    assert_int_equal(care.records, 70);
    assert_int_equal(ot_care_faults(&care), 0);
    ot_store_close(store);
}

/* ---- two copies of the library ----------------------------------------------------------- */

typedef struct copy {
    int (*open)(const optune_options *, optune **, optune_err *);
    int (*import)(optune *, const char *, optune_result **, optune_err *);
    int (*select)(optune *, const char *, optune_selection **, optune_err *);
    void (*selection_free)(optune_selection *);
    void (*close)(optune *);
} copy;

static int with_two_copies(const char *log)
{
    optune_err err = {0};
    ot_store *own;
    int walked = 0;
    if (ot_store_open(store_dir, OT_STORE_WRITE, &own, &err) < 0 ||
        ot_store_walk(own, store_count, &walked, &err) < 0)
        return said("own", &err);
    void *library = dlopen(OT_BUILD_DIR "/liboptune.so", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return SKIPPED;
    copy other;
    *(void **)&other.open = dlsym(library, "optune_open");
    *(void **)&other.import = dlsym(library, "optune_import");
    *(void **)&other.select = dlsym(library, "optune_select");
    *(void **)&other.selection_free = dlsym(library, "optune_selection_free");
    *(void **)&other.close = dlsym(library, "optune_close");
    optune *o = NULL;
    optune_selection *s = NULL;
    optune_result *result = NULL;
    const optune_options options = {
        .size = sizeof options, .db = store_dir, .target = "cpu -threads=1"};
    if (other.open(&options, &o, &err) < 0 || other.select(o, "relu(f32[64])", &s, &err) < 0)
        return said("the other one reads", &err);
    other.selection_free(s);
    if (other.import(o, log, &result, &err) != OPTUNE_ESTORE ||
        !strstr(err.text, "another copy"))
        return said("the other one wrote", &err);
    other.close(o);
    /* Nothing of the first one's was given away. */
    for (int i = 0; i < 20; i++) {
        const optune_record record = some_record(500 + i);
        int added = 0;
        if (ot_store_put(own, &record, 1, &added, &err) < 0 || added != 1)
            return said("put", &err);
    }
    walked = 0;
    if (ot_store_walk(own, store_count, &walked, &err) < 0 || walked != 70)
        return said("walk", &err);
    ot_store_close(own);
    return 0;
}

static void two_copies_of_the_library(void **state)
{
    (void)state;
    char log[4200];
    ot_text line = {0};
    optune_err err = {0};
    const optune_record record = some_record(900);
    store_fill(50);
    ot_record_line(&record, &line);
    snprintf(log, sizeof log, "%s/one.log", store_dir);
    check_ok(ot_write_file(log, line.s, line.n, &err));
    ot_text_release(&line);
    const pid_t child = fork();
    if (child == 0)
        _exit(with_two_copies(log));
    assert_int_equal(status_of(child), 0);
}

/* ---- a full disk ------------------------------------------------------------------------- */

enum { MANY = 100 }; /* LMDB's places of so many readers lie in two pages */

static int reads_and_waits(int told, int go)
{
    optune_err err = {0};
    ot_store *store;
    char byte;
    int walked = 0;
    if (ot_store_open(store_dir, OT_STORE_READ, &store, &err) < 0)
        return said("open", &err);
    if (ot_store_walk(store, store_count, &walked, &err) < 0 || walked != 50)
        return said("walk", &err);
    return write(told, "", 1) != 1 || read(go, &byte, 1) != 0;
}

/* `lock`: with the lock file of those before. */
static int with_a_full_disk(bool lock)
{
    static char zeros[1 << 16];
    char path[4200], byte;
    pid_t child[MANY];
    int told[2], go[2], bad = 0, status;
    snprintf(path, sizeof path, "%s/fill", store_dir);
    if (pipe(told) < 0 || pipe(go) < 0)
        return 3;
    snprintf(path, sizeof path, "%s/store/lock.mdb", store_dir);
    if (!lock)
        unlink(path); /* as a copied or compacted store has none */
    snprintf(path, sizeof path, "%s/fill", store_dir);
    const int fill = open(path, O_WRONLY | O_CREAT, 0600);
    do {
        while (write(fill, zeros, sizeof zeros) > 0 || write(fill, zeros, 512) > 0)
            ;
        syncfs(fill); /* what was promised may turn out to be less */
    } while (write(fill, zeros, 512) > 0);
    for (int i = 0; i < MANY; i++) {
        child[i] = fork();
        if (child[i])
            continue;
        close(go[1]);
        close(told[0]);
        _exit(reads_and_waits(told[1], go[0]));
    }
    close(told[1]);
    for (int i = 0; i < MANY && read(told[0], &byte, 1) == 1; i++)
        ;
    close(go[1]);
    for (int i = 0; i < MANY; i++)
        bad += waitpid(child[i], &status, 0) != child[i] || status != 0;
    if (bad)
        print_error("%d of %d readers\n", bad, MANY);
    return bad ? 2 : 0;
}

static void many_readers_of_a_full_disk(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", store_dir, "tmpfs", 0, "size=2m") < 0)
            _exit(SKIPPED); /* not allowed here */
        store_fill(50);
        _exit(with_a_full_disk(false));
    }
    assert_int_equal(status_of(child), 0);
}

/* Where each page that is written needs room anew. */
static void many_readers_of_a_full_btrfs(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        char command[5 * sizeof store_dir];
        snprintf(command, sizeof command,
                 "PATH=$PATH:/sbin:/usr/sbin; truncate -s 120M '%s.img' && "
                 "mkfs.btrfs -q '%s.img' && mount -o loop '%s.img' '%s'",
                 store_dir, store_dir, store_dir, store_dir);
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            ot_make_dirs(store_dir, NULL) < 0 || system(command) != 0)
            _exit(SKIPPED); /* not allowed, or not known, here */
        store_fill(50);
        _exit(with_a_full_disk(true));
    }
    char image[4200];
    snprintf(image, sizeof image, "%s.img", store_dir);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(image);
    assert_int_equal(told_by(status), 0);
}

/* ---- a full disk at any moment of what makes a store ------------------------------------- */

/* Of so many free bytes: 0, or refused for want of room; what was there stays. */
static int made_on_what_is_left(long bytes)
{
    static char zeros[4096];
    optune_err err = {0};
    ot_store *store;
    int64_t before, after;
    char path[4200], fresh[4200];
    int n = 0;
    snprintf(path, sizeof path, "%s/fill", store_dir);
    snprintf(fresh, sizeof fresh, "%s/fresh", store_dir);
    if (ot_store_open(store_dir, OT_STORE_WRITE, &store, &err) < 0)
        return said("open", &err);
    const int fill = open(path, O_RDWR | O_CREAT, 0600);
    while (write(fill, zeros, sizeof zeros) > 0)
        ;
    struct stat info;
    if (fstat(fill, &info) < 0 || ftruncate(fill, info.st_size - bytes) < 0)
        return 3;
    if (ot_store_compact(store, &before, &after, &err) < 0 && !strstr(err.text, "No space"))
        return said("compact", &err);
    ot_store_close(store);
    if (ot_store_open(fresh, OT_STORE_WRITE, &store, &err) >= 0) /* from nothing */
        ot_store_close(store);
    else if (!strstr(err.text, "No space"))
        return said("make", &err);
    unlink(path);
    ot_remove_tree(fresh);
    if (ot_store_open(store_dir, OT_STORE_READ, &store, &err) < 0 ||
        ot_store_walk(store, store_count, &n, &err) < 0)
        return said("read", &err);
    ot_store_close(store);
    return n == 50 ? 0 : 4;
}

static void made_on_a_full_disk(void **state)
{
    (void)state;
    enum { STEP = 20 << 10, MOST = 560 << 10 };
    const pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", store_dir, "tmpfs", 0, "size=2m") < 0)
            _exit(SKIPPED); /* not allowed here */
        store_fill(50);
        int bad = 0;
        for (long bytes = 0; !bad && bytes < MOST; bytes += STEP) {
            int status;
            const pid_t maker = fork();
            if (maker == 0)
                _exit(made_on_what_is_left(bytes));
            if (waitpid(maker, &status, 0) != maker || status != 0) {
                print_error("%ld bytes left: status %x\n", bytes, (unsigned)status);
                bad = 2;
            }
        }
        _exit(bad);
    }
    assert_int_equal(status_of(child), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(containers_of_equal_numbers, store_fresh, store_gone),
        cmocka_unit_test_setup_teardown(two_copies_of_the_library, store_fresh, store_gone),
        cmocka_unit_test_setup_teardown(many_readers_of_a_full_disk, store_fresh, store_gone),
        cmocka_unit_test_setup_teardown(many_readers_of_a_full_btrfs, store_fresh, store_gone),
        cmocka_unit_test_setup_teardown(made_on_a_full_disk, store_fresh, store_gone),
    };
    return cmocka_run_group_tests_name("db/company", tests, NULL, NULL);
}
