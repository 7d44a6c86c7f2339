/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where answers come from: a list of databases, one that cannot be read, one that changes under an
 * open handle. One run feeds all tests.
 */
#include "run/cache.h"
#include "support/check.h"
#include "support/forged.h"
#include "support/records.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static optune_record record_of(const char *impl, double cost)
{
    for (int i = 0; i < forged_run.n; i++)
        if (forged_run.record[i].outcome == OPTUNE_OUTCOME_OK &&
            !strcmp(forged_run.record[i].impl, impl)) {
            optune_record r = forged_run.record[i];
            record_cost(&r, cost);
            r.final = true;
            return r;
        }
    fail_msg("no record of %s", impl);
    return (optune_record){0};
}

static void put(const char *db, const char *impl, double cost)
{
    const optune_record r = record_of(impl, cost);
    forged_put(db, &r, 1, NULL);
}

static optune *open_list(const char *list)
{
    optune *o = NULL;
    optune_err err = {0};
    const optune_options options = {
        .size = sizeof options, .db = list, .target = "cpu -threads=1"};
    check_ok(optune_open(&options, &o, &err));
    return o;
}

/* Looks are made every OT_LOOK_MS. */
static void wait_for_a_look(void)
{
    usleep(3 * 1000 * OT_LOOK_MS);
}

static bool answers(optune *o, const char *impl, double cost)
{
    optune_selection *s = NULL;
    optune_err err = {0};
    if (optune_select(o, FORGED_WORKLOAD, &s, &err) < 0) {
        print_error("%s\n", err.text);
        return false;
    }
    const bool right =
        !strcmp(optune_selection_impl(s), impl) && optune_selection_cost(s) == cost;
    if (!right)
        print_error("%s, %g\n", optune_selection_impl(s), optune_selection_cost(s));
    optune_selection_free(s);
    return right;
}

/* Also where the process goes to another folder, in which there are such names, too. */
static void a_relative_place_stays(void **state)
{
    (void)state;
    char cwd[4096], folder[3100];
    assert_non_null(getcwd(cwd, sizeof cwd));
    put("here/own", "dense_pack.x86", 3e-7);
    put("here/pack", "dense_gemm.cpu", 2e-7);
    put("there/own", "dense_gemm.cpu", 1e-6);
    put("there/pack", "dense_pack.x86", 1e-6);
    snprintf(folder, sizeof folder, "%s", tuning_path("here"));
    assert_int_equal(chdir(folder), 0);
    optune *first = open_list("own:pack"), *second = open_list("none:./pack");
    assert_int_equal(chdir(tuning_path("there")), 0);
    assert_true(answers(first, "dense_pack.x86", 3e-7)); /* opens it only now */
    assert_true(answers(second, "dense_gemm.cpu", 2e-7));
    assert_int_equal(chdir(tuning_path("here")), 0);
    assert_true(answers(first, "dense_pack.x86", 3e-7));
    assert_int_equal(chdir(cwd), 0);
    wait_for_a_look();
    assert_true(answers(first, "dense_pack.x86", 3e-7));
    assert_true(answers(second, "dense_gemm.cpu", 2e-7));
    assert_false(ot_exists(tuning_path("there/none")) || ot_exists(tuning_path("here/none")));
    optune_close(first);
    optune_close(second);
}

static void the_first_of_a_list_counts(void **state)
{
    (void)state;
    char list[3100];
    optune_err err = {0};
    optune_found *found = NULL;
    put("system", "dense_pack.x86", 1e-6);
    put("shared", "dense_gemm.cpu", 1e-7);
    snprintf(list, sizeof list, "%s:%s:%s", tuning_path("mine"), tuning_path("system"),
             tuning_path("shared"));
    optune *o = open_list(list);
    assert_true(answers(o, "dense_pack.x86", 1e-6)); /* there is none of mine */
    assert_false(ot_exists(tuning_path("mine/store")));
    check_ok(optune_query(o, FORGED_WORKLOAD, &found, &err));
    optune_found_free(found);
    put("mine", "dense_nopack.x86", 2e-6);
    wait_for_a_look();
    assert_true(answers(o, "dense_nopack.x86", 2e-6)); /* slower, and mine */
    put("system", "dense_pack.x86", 5e-7);
    assert_true(answers(o, "dense_nopack.x86", 2e-6));
    optune_close(o);
    /* One of another device's, or broken, does not keep the others out. */
    snprintf(list, sizeof list, "%s:%s:%s", tuning_path("none"), tuning_path("nowhere"),
             tuning_path("system"));
    o = open_list(list);
    assert_true(answers(o, "dense_pack.x86", 5e-7));
    optune_close(o);
}

/* Of databases of which one has hubs and no store, as where somebody pulls and nobody measures: how
 * often a store is looked for in it. The library's own call, as no other library makes it there. */
static int n_looked;

int access(const char *path, int mode)
{
    n_looked += strstr(path, "hubs_alone/store") != NULL;
    return faccessat(AT_FDCWD, path, mode, 0);
}

static void an_absent_store_is_looked_for_now_and_then(void **state)
{
    (void)state;
    enum { ASKED = 500, MOST = 10 };
    char list[3100];
    put("measured", "dense_pack.x86", 1e-6);
    put("hubs_alone/hubs/pulled", "dense_gemm.cpu", 1e-7);
    snprintf(list, sizeof list, "%s:%s", tuning_path("measured"), tuning_path("hubs_alone"));
    optune *o = open_list(list);
    n_looked = 0;
    const double start = ot_now();
    assert_true(answers(o, "dense_pack.x86", 1e-6));
    assert_in_range(n_looked, 1, MOST);
    const int each = n_looked;
    for (int i = 0; i < ASKED; i++)
        assert_true(answers(o, "dense_pack.x86", 1e-6));
    const double looks = (ot_now() - start) / (1e-3 * OT_LOOK_MS) + 1;
    if (n_looked > each * looks)
        fail_msg("looked for %d times by %d selects, in which %.0f looks are due", n_looked,
                 ASKED, looks);
    /* It is found once it is there. */
    ot_remove_tree(tuning_path("measured/store"));
    put("hubs_alone", "dense_nopack.x86", 2e-6);
    wait_for_a_look();
    assert_true(answers(o, "dense_nopack.x86", 2e-6));
    optune_close(o);
}

/* ---- not to be read ---------------------------------------------------------------------- */

static int ask_unreadable(void)
{
    optune_err err = {0};
    optune_selection *s = NULL;
    optune_found *found = NULL;
    optune *o = open_list(tuning_path("private"));
    if (optune_select(o, FORGED_WORKLOAD, &s, &err) < 0)
        return 2;
    const bool told = !strcmp(optune_selection_tier(s), "plevel") &&
                      strstr(optune_selection_json(s), "none can be read") &&
                      strstr(optune_selection_json(s), "private");
    const bool refused = optune_query(o, FORGED_WORKLOAD, &found, &err) == OPTUNE_ESTORE &&
                         strstr(err.text, "private");
    if (!told || !refused)
        print_error("%s\n%s\n", optune_selection_json(s), err.text);
    optune_selection_free(s);
    optune_close(o);
    return told && refused ? 0 : 3;
}

static void unreadable_is_told(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    int status;
    put("private", "dense_pack.x86", 1e-6);
    assert_int_equal(chmod(tuning_dir, 0755), 0);
    assert_int_equal(chmod(tuning_path("private/store"), 0700), 0);
    const pid_t child = fork();
    if (child == 0)
        _exit(setgid(65534) < 0 || setuid(65534) < 0 ? 99 : ask_unreadable());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void keep_warning(void *arg, optune_log_level level, const char *text)
{
    ot_text *all = arg;
    if (level <= OPTUNE_LOG_WARNING)
        ot_text_printf(all, "%s\n", text);
}

/* The others answer in its place, and nobody would notice that one's own is damaged. */
static void a_damaged_first_is_told(void **state)
{
    (void)state;
    char list[3100];
    ot_text told = {0};
    put("spoilt", "dense_pack.x86", 1e-8);
    put("good", "dense_gemm.cpu", 1e-7);
    snprintf(list, sizeof list, "%s:%s", tuning_path("spoilt"), tuning_path("good"));
    const optune_options options = {.size = sizeof options,
                                    .db = list,
                                    .target = "cpu -threads=1",
                                    .log = keep_warning,
                                    .log_level = OPTUNE_LOG_WARNING,
                                    .log_arg = &told};
    optune *o = NULL;
    assert_int_equal(optune_open(&options, &o, NULL), OPTUNE_OK);
    assert_true(answers(o, "dense_pack.x86", 1e-8));
    ot_text store = {0};
    optune_err err = {0};
    check_ok(ot_read_file(tuning_path("spoilt/store/data.mdb"), &store, INT64_MAX, &err));
    check_ok(ot_write_file(tuning_path("spoilt/store/data.mdb"), store.s, 5000, &err));
    ot_text_release(&store);
    wait_for_a_look();
    for (int i = 0; i < 2; i++)
        assert_true(answers(o, "dense_gemm.cpu", 1e-7));
    optune_close(o);
    check_contains(ot_text_str(&told), "spoilt/store/data.mdb' is damaged");
    check_contains(ot_text_str(&told), "optune db rebuild");
    const char *once = strstr(told.s, "is damaged");
    assert_null(strstr(once + 1, "is damaged"));
    ot_text_release(&told);
}

/* ---- under a handle ---------------------------------------------------------------------- */

static void rebuilt_under_a_handle(void **state)
{
    (void)state;
    put("moving", "dense_pack.x86", 1e-6);
    optune *o = open_list(tuning_path("moving"));
    assert_true(answers(o, "dense_pack.x86", 1e-6));
    ot_remove_tree(tuning_path("moving/store"));
    wait_for_a_look();
    assert_true(answers(o, "dense_gemm.cpu", INFINITY)); /* nothing is known */
    put("moving", "dense_nopack.x86", 3e-6);
    wait_for_a_look();
    assert_true(answers(o, "dense_nopack.x86", 3e-6));
    optune_close(o);
}

static void cut_off_under_a_handle(void **state)
{
    (void)state;
    put("cut", "dense_pack.x86", 1e-6);
    optune *o = open_list(tuning_path("cut"));
    assert_true(answers(o, "dense_pack.x86", 1e-6));
    for (off_t n = 8192; n >= 0; n -= 4096) {
        assert_int_equal(truncate(tuning_path("cut/store/data.mdb"), n), 0);
        wait_for_a_look();
        optune_selection *s = NULL;
        optune_err err = {0};
        check_ok(optune_select(o, FORGED_WORKLOAD, &s, &err));
        assert_string_equal(optune_selection_tier(s), "plevel");
        check_contains(optune_selection_json(s), "damaged");
        optune_selection_free(s);
    }
    optune_close(o);
}

static void overwritten_under_a_handle(void **state)
{
    (void)state;
    ot_text other = {0};
    optune_err err = {0};
    put("over", "dense_pack.x86", 1e-6);
    put("over", "dense_pack.x86", 2e-6);
    put("over", "dense_pack.x86", 3e-6);
    put("other", "dense_nopack.x86", 5e-6);
    check_ok(ot_read_file(tuning_path("other/store/data.mdb"), &other, 64 << 20, &err));
    optune *o = open_list(tuning_path("over"));
    assert_true(answers(o, "dense_pack.x86", 1e-6));
    FILE *file = fopen(tuning_path("over/store/data.mdb"), "r+"); /* as cp does */
    assert_int_equal(fwrite(other.s, 1, other.n, file), other.n);
    assert_int_equal(ftruncate(fileno(file), (off_t)other.n), 0);
    fclose(file);
    wait_for_a_look();
    assert_true(answers(o, "dense_nopack.x86", 5e-6));
    optune_close(o);
    ot_text_release(&other);
}

static void fork_after_open(void **state)
{
    (void)state;
    put("forked", "dense_pack.x86", 1e-6);
    optune *o = open_list(tuning_path("forked"));
    assert_true(answers(o, "dense_pack.x86", 1e-6));
    for (int i = 0; i < 20; i++) {
        int status;
        const pid_t child = fork();
        if (child == 0) {
            const bool right = answers(o, "dense_pack.x86", 1e-6);
            optune_close(o);
            _exit(right ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_true(answers(o, "dense_pack.x86", 1e-6));
    }
    put("forked", "dense_nopack.x86", 5e-7);
    assert_true(answers(o, "dense_nopack.x86", 5e-7));
    optune_close(o);
}

static char *set_aside(const char *variable)
{
    char *kept = getenv(variable) ? ot_strdup(getenv(variable)) : NULL;
    unsetenv(variable);
    return kept;
}

static void put_back(const char *variable, char *kept)
{
    if (kept)
        setenv(variable, kept, 1);
    else
        unsetenv(variable);
    free(kept);
}

/* Of a home that cannot hold it the database's folder does; what was named stays. */
static void the_cache_has_a_place(void **state)
{
    (void)state;
    static const char *const variables[] = {"OPTUNE_CACHE", "XDG_CACHE_HOME", "HOME"};
    char *kept[OT_COUNT(variables)], path[4096], wanted[4096];
    for (int i = 0; i < OT_COUNT(variables); i++)
        kept[i] = set_aside(variables[i]);
    optune *o = open_list(tuning_path("cached"));
    snprintf(wanted, sizeof wanted, "%s", tuning_path("cached/cache"));
    setenv("HOME", "/dev/null", 1); /* in which root, too, can make nothing */
    ot_context_cache(o, path, sizeof path);
    assert_string_equal(path, wanted);
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    ot_context_cache(o, path, sizeof path);
    assert_string_equal(path, "/dev/null/optune");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", tuning_path("home"), 1);
    snprintf(wanted, sizeof wanted, "%s", tuning_path("home/.cache/optune"));
    ot_context_cache(o, path, sizeof path);
    assert_string_equal(path, wanted);
    optune_close(o);
    for (int i = 0; i < OT_COUNT(variables); i++)
        put_back(variables[i], kept[i]);
}

/* As of a user whom no list of users has. */
static void without_any_home(void **state)
{
    (void)state;
    static const char *const variables[] = {"OPTUNE_CACHE", "XDG_CACHE_HOME", "HOME"};
    char *kept[OT_COUNT(variables)], path[4096], none[4096];
    optune_err err = {0};
    if (geteuid() != 0)
        skip();
    for (int i = 0; i < OT_COUNT(variables); i++)
        kept[i] = set_aside(variables[i]);
    optune *o = open_list(tuning_path("cached"));
    assert_int_equal(seteuid(54321), 0);
    ot_context_cache(o, path, sizeof path);
    *o->db = '\0';
    ot_context_cache(o, none, sizeof none);
    assert_int_equal(seteuid(0), 0);
    assert_string_equal(path, tuning_path("cached/cache"));
    assert_int_equal(ot_cache_open(none, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "OPTUNE_CACHE");
    snprintf(o->db, sizeof o->db, "%s", tuning_path("cached"));
    optune_close(o);
    for (int i = 0; i < OT_COUNT(variables); i++)
        put_back(variables[i], kept[i]);
}

static void compact(optune *o)
{
    optune_err err = {0};
    optune_result *result = NULL;
    const optune_database_options options = {.size = sizeof options, .what = "compact"};
    check_ok(optune_database(o, &options, &result, &err));
    optune_result_free(result);
}

/* Who has written, and asks once the store was replaced, opens the new one only to read; it can
 * write on all the same. */
static void replaced_between_writes(void **state)
{
    (void)state;
    optune_err err = {0};
    put("between", "dense_pack.x86", 3e-6);
    optune *o = tuning_open("between"), *other = tuning_open("between");
    for (int i = 0; i < 2; i++) {
        const char *impl = i ? "dense_pack.x86" : "dense_nopack.x86";
        const optune_record r = record_of(impl, 2e-6 / (i + 1));
        check_ok(ot_context_put(o, &r, 1, NULL, &err));
        compact(other);
        wait_for_a_look();
        assert_true(answers(o, impl, r.cost));
    }
    optune_close(other);
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relative_place_stays),
        cmocka_unit_test(the_first_of_a_list_counts),
        cmocka_unit_test(unreadable_is_told),
        cmocka_unit_test(rebuilt_under_a_handle),
        cmocka_unit_test(cut_off_under_a_handle),
        cmocka_unit_test(overwritten_under_a_handle),
        cmocka_unit_test(fork_after_open),
        cmocka_unit_test(the_cache_has_a_place),
        cmocka_unit_test(without_any_home),
        cmocka_unit_test(replaced_between_writes),
        cmocka_unit_test(a_damaged_first_is_told),
        cmocka_unit_test(an_absent_store_is_looked_for_now_and_then),
    };
    return cmocka_run_group_tests_name("answer/places", tests, forged_setup, forged_teardown);
}
