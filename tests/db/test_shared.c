/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database that several users have: what one of them makes or replaces the others may use as they
 * did before, whatever his umask is.
 */
#include "support/check.h"

#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "db/db.h"
#include "support/store.h"

enum { ANNE = 1234, BERT = 1235, TEAM = 4321 };

static int number; /* of the next record */

static void use(uid_t who, mode_t mask, void (*deed)(ot_store *store))
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const gid_t team = TEAM;
        ot_store *store;
        optune_err err = {0};
        if (who && (setgroups(1, &team) < 0 || setgid(who) < 0 || setuid(who) < 0))
            _exit(99);
        umask(mask);
        const int opened = ot_store_open(store_dir, OT_STORE_WRITE, &store, &err);
        if (opened < 0)
            print_error("user %d: %s\n", (int)who, err.text);
        else
            deed(store);
        _exit(opened < 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    number++;
}

static void must(int status, const optune_err *err)
{
    if (status < 0) {
        print_error("%s\n", err->text);
        _exit(1);
    }
}

static void put(ot_store *store)
{
    const optune_record record = some_record(number);
    ot_text path = {0};
    ot_log *log;
    optune_err err = {0};
    ot_text_printf(&path, "%s/logs", store_dir);
    must(ot_make_shared_dirs(path.s, &err), &err);
    ot_text_printf(&path, "/%d.log", number);
    must(ot_log_open(path.s, OT_LOG_SHORT, &log, &err), &err);
    must(ot_log_append(log, &record, &err), &err);
    ot_log_close(log);
    must(ot_store_put(store, &record, 1, NULL, &err), &err);
    must(ot_store_log_done(store, path.s, &err), &err);
    ot_text_release(&path);
}

/* The new one, which gets its files. */
static void open_again(ot_store *store)
{
    optune_err err = {0};
    ot_store_close(store);
    must(ot_store_open(store_dir, OT_STORE_WRITE, &store, &err), &err);
}

static void compact(ot_store *store)
{
    int64_t before, after;
    optune_err err = {0};
    must(ot_store_compact(store, &before, &after, &err), &err);
    open_again(store);
}

static void rebuild(ot_store *store)
{
    int64_t refused;
    ot_store_stats stats;
    optune_err err = {0};
    must(ot_store_rebuild(store_dir, NULL, &stats, &refused, &err), &err);
    if (stats.records != number - 2) /* two of the deeds stored none */
        _exit(2);
    open_again(store);
}

static void forget(ot_store *store)
{
    const optune_record record = some_record(0);
    const ot_digest digest = ot_record_digest(&record);
    ot_pruned pruned;
    optune_err err = {0};
    must(ot_store_forget(store, &digest, 1, &pruned, &err), &err);
    if (pruned.logs != 1 || pruned.unread)
        _exit(3);
}

static bool (*good)(const struct stat *info);
static int files;

static int look(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)type;
    if (place->level > 0 && !good(info))
        print_error("%s: %d:%d %o\n", path, (int)info->st_uid, (int)info->st_gid,
                    (unsigned)info->st_mode);
    files += place->level > 0;
    return place->level > 0 && !good(info);
}

static void all_are(bool (*so)(const struct stat *info))
{
    good = so;
    files = 0;
    assert_int_equal(nftw(store_dir, look, 16, FTW_PHYS), 0);
    assert_true(files >= 8); /* store/ with three files, logs/ with as many, two locks */
}

static bool is_the_team_s(const struct stat *info)
{
    const mode_t rights = S_ISDIR(info->st_mode) ? S_ISGID | 070 : 060;
    return info->st_gid == TEAM && (info->st_mode & rights) == rights;
}

/* Every other one has a umask for folders of his own. */
static void a_group_has_one(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    number = 0;
    assert_int_equal(chown(store_dir, 0, TEAM), 0);
    assert_int_equal(chmod(store_dir, 02770), 0);
    use(ANNE, 022, put);
    use(BERT, 077, compact);
    use(ANNE, 022, put);
    use(BERT, 022, put);
    use(BERT, 077, compact);
    use(ANNE, 077, rebuild);
    use(BERT, 022, forget);
    use(BERT, 022, put);
    use(ANNE, 022, compact);
    all_are(is_the_team_s);
}

/* Two open it for the first time at once: what one has made is not shared for a moment. */
static void the_first_one_is_waited_for(void **state)
{
    (void)state;
    int status;
    if (geteuid() != 0)
        skip();
    number = 0;
    assert_int_equal(chown(store_dir, 0, TEAM), 0);
    assert_int_equal(chmod(store_dir, 02770), 0);
    use(ANNE, 022, put);
    ot_text path = {0};
    ot_text_printf(&path, "%s/write.lock", store_dir);
    assert_int_equal(chmod(path.s, 0644), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        usleep(60000);
        _exit(chmod(path.s, 0664) < 0);
    }
    use(BERT, 022, put);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ot_text_release(&path);
}

static bool is_anne_s(const struct stat *info)
{
    return info->st_uid == ANNE && (info->st_mode & 0600) == 0600;
}

static void it_stays_whose_it_is_under_root(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    number = 0;
    assert_int_equal(chown(store_dir, ANNE, ANNE), 0);
    use(ANNE, 022, put);
    use(0, 077, compact);
    use(0, 022, put);
    use(ANNE, 022, put);
    use(0, 077, compact);
    use(0, 077, rebuild);
    use(ANNE, 022, forget);
    use(ANNE, 022, compact);
    all_are(is_anne_s);
}

enum { ENTRIES = 5, NOBODY = -1 };
static const char list_name[] = "system.posix_acl_access";
/* version; of each: kind and rights, who (owner rw, BERT rw, group r, mask rw, others) */
static const int32_t list[1 + 2 * ENTRIES] = {2,      0x01 | 6 << 16, NOBODY, 0x02 | 6 << 16,
                                              BERT,   0x04 | 4 << 16, NOBODY, 0x10 | 6 << 16,
                                              NOBODY, 0x20 | 0 << 16, NOBODY};

/* Who is named one by one (an access control list, as the system keeps it) stays named. */
static void a_list_stays(void **state)
{
    (void)state;
    char found[sizeof list + 1];
    store_fill(3);
    if (setxattr(store_data, list_name, list, sizeof list, 0) < 0)
        skip(); /* the file system has none */
    for (int i = 0; i < 2; i++) {
        use(0, i ? 022 : 077, compact);
        assert_int_equal(getxattr(store_data, list_name, found, sizeof found), sizeof list);
        assert_memory_equal(found, list, sizeof list);
    }
}

static const char list_of_new[] = "system.posix_acl_default";

static const char *in(const char *folder, const char *name)
{
    static char path[4][4200];
    static int next;
    char *to = path[next++ % 4];
    ot_format(to, sizeof path[0], "%s%s", folder, name);
    return to;
}

/* Also to write: of no file is a right lost that whoever opened the new store would make first. */
static void who_is_named_writes_on(void **state)
{
    (void)state;
    static const char *const file[] = {"/store/data.mdb",
                                       "/store/lock.mdb",
                                       "/store/commits",
                                       "/write.lock",
                                       "/swap.lock",
                                       "/store",
                                       ""};
    int32_t rights[OT_COUNT(list)];
    char found[sizeof list + 1];
    if (geteuid() != 0)
        skip();
    store_fill(3);
    number = 3;
    use(0, 022, compact);
    for (int i = 0; i < OT_COUNT(file); i++) {
        const char *path = in(store_dir, file[i]);
        memcpy(rights, list, sizeof list);
        for (int k = 1; k < OT_COUNT(list); k += 2) /* a folder's are to be entered, too */
            rights[k] |= (file[i][0] == 0 || !strcmp(file[i], "/store")) << 16;
        if (setxattr(path, list_name, rights, sizeof rights, 0) < 0)
            skip(); /* the file system has none */
    }
    for (int i = 0; i < 2; i++) {
        use(0, 077, compact);
        use(BERT, 022, put);
    }
    assert_int_equal(setxattr(in(store_dir, "/store"), list_of_new, list, sizeof list, 0), 0);
    use(0, 077, compact);
    assert_int_equal(getxattr(in(store_dir, "/store"), list_of_new, found, sizeof found),
                     sizeof list);
}

/* Nor may more people use it than before: those whom its folder names. */
static void no_list_comes(void **state)
{
    (void)state;
    char found[sizeof list + 1];
    store_fill(3);
    if (setxattr(store_dir, list_of_new, list, sizeof list, 0) < 0)
        skip(); /* the file system has none */
    use(0, 022, compact);
    assert_int_equal(getxattr(store_data, list_name, found, sizeof found), -1);
    assert_int_equal(getxattr(in(store_dir, "/store"), list_name, found, sizeof found), -1);
    assert_int_equal(getxattr(in(store_dir, "/store"), list_of_new, found, sizeof found), -1);
}

/* A folder's new files are the group's, also where the folder around it was never told so. */
static void a_folder_stays_the_group_s(void **state)
{
    (void)state;
    struct stat info;
    ot_text folder = {0};
    store_fill(3);
    ot_text_printf(&folder, "%s/store", store_dir);
    assert_int_equal(chmod(folder.s, 02755), 0);
    use(0, 022, compact);
    assert_int_equal(stat(folder.s, &info), 0);
    assert_int_equal(info.st_mode & 07777, 02755);
    ot_text_release(&folder);
}

/* ---- what a database's owner puts there for root ------------------------------------------ */

static uid_t owner_once_made(const char *path)
{
    struct stat info;
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    ot_made(fd, path);
    assert_int_equal(fstat(fd, &info), 0);
    close(fd);
    return info.st_uid;
}

static void expect_text(const char *path, const char *expected)
{
    ot_text text = {0};
    assert_int_equal(ot_read_file(path, &text, 100, NULL), OPTUNE_OK);
    assert_string_equal(ot_text_str(&text), expected);
    ot_text_release(&text);
}

static void root_gives_nothing_of_others_away(void **state)
{
    (void)state;
    struct stat info;
    ot_log *log;
    optune_err err = {0};
    char outside[1100];
    if (geteuid() != 0)
        skip();
    ot_format(outside, sizeof outside, "%s.root", store_dir);
    assert_int_equal(mkdir(outside, 0755), 0);
    assert_int_equal(chown(store_dir, ANNE, ANNE), 0);
    assert_int_equal(owner_once_made(in(store_dir, "/new")), ANNE);
    /* links to what is not there, to a file, to its folder, and a second name */
    assert_int_equal(symlink(in(outside, "/missing"), in(store_dir, "/link")), 0);
    assert_int_equal(symlink(outside, in(store_dir, "/folder")), 0);
    assert_int_equal(ot_write_file(in(outside, "/kept"), "kept", 4, NULL), OPTUNE_OK);
    assert_int_equal(ot_write_file(in(outside, "/two"), "", 0, NULL), OPTUNE_OK);
    assert_int_equal(symlink(in(outside, "/kept"), in(store_dir, "/kept")), 0);
    assert_int_equal(link(in(outside, "/two"), in(store_dir, "/two")), 0);
    assert_int_equal(owner_once_made(in(store_dir, "/link")), 0);
    assert_int_equal(owner_once_made(in(store_dir, "/folder/file")), 0);
    assert_int_equal(owner_once_made(in(store_dir, "/two")), 0);
    assert_int_equal(rename(in(outside, "/missing"), in(store_dir, "/was there")), 0);
    assert_int_equal(ot_write_file(in(store_dir, "/was there"), "secret", 6, NULL), OPTUNE_OK);
    assert_int_equal(owner_once_made(in(store_dir, "/was there")), 0);
    /* nor does root write there */
    assert_int_equal(ot_write_shared(in(store_dir, "/kept"), "new", 3, &err), OPTUNE_OK);
    expect_text(in(outside, "/kept"), "kept");
    expect_text(in(store_dir, "/kept"), "new");
    assert_int_equal(lstat(in(store_dir, "/kept"), &info), 0);
    assert_true(S_ISREG(info.st_mode) && info.st_uid == ANNE);
    assert_int_equal(ot_log_open(in(store_dir, "/link"), OT_LOG_SHORT, &log, &err), OPTUNE_EIO);
    check_contains(err.text, "where none is followed: remove it");
    assert_false(ot_exists(in(outside, "/missing")));
    ot_remove_tree(outside);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, store_fresh, store_gone)
    const struct CMUnitTest tests[] = {
        EACH(a_group_has_one),
        EACH(the_first_one_is_waited_for),
        EACH(it_stays_whose_it_is_under_root),
        EACH(a_list_stays),
        EACH(who_is_named_writes_on),
        EACH(no_list_comes),
        EACH(a_folder_stays_the_group_s),
        EACH(root_gives_nothing_of_others_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
