/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is refused: in a process of its own, the n-th allocation of opening a handle and
 * asking it fails, alone or with all behind it, whoever asks for it but hwloc, which uses what it
 * did not get. What comes of that is an answer or an error with words, never a signal; and once
 * there is memory again the next question is answered. Points are drawn, some of each kind;
 * OPTUNE_TEST_ALL=1 takes all of them.
 */
#include "support/check.h"
#include "support/forged.h"
#include "support/records.h"

#include <errno.h>
#include <link.h>
#include <math.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) /* allocates itself */
#define INTERPOSED 0
#else
#define INTERPOSED 1
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static volatile int64_t asked, fail_from, fail_to; /* the numbers that are refused */

static uintptr_t hwloc_from, hwloc_to; /* its code */

static int find_hwloc(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    for (int i = 0;
         info->dlpi_name && strstr(info->dlpi_name, "libhwloc") && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            hwloc_from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            hwloc_to = hwloc_from + info->dlpi_phdr[i].p_memsz;
        }
    return 0;
}

static bool refused(const void *who)
{
    const uintptr_t at = (uintptr_t)who;
    if (at >= hwloc_from && at < hwloc_to)
        return false;
    const int64_t n = __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED);
    if (n < fail_from || n >= fail_to)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return refused(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return refused(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *memory, size_t size)
{
    return refused(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}

enum { NEVER = 0, GOOD = 0, REFUSED = 1, WRONG = 2, LATER = 3 };

/* GOOD, or REFUSED with an error of its own words. */
static int ask(const char *db)
{
    optune *o = NULL;
    optune_selection *s = NULL;
    optune_found *found = NULL;
    optune_err err = {0};
    const optune_options options = {
        .size = sizeof options, .db = db, .target = "cpu -threads=1"};
    int status = optune_open(&options, &o, &err);
    if (status >= 0)
        status = optune_query(o, FORGED_WORKLOAD, &found, &err);
    if (status >= 0 && (!found->record.impl || !(found->record.cost > 0)))
        return WRONG;
    if (status >= 0)
        status = optune_select(o, FORGED_WORKLOAD, &s, &err);
    if (status >= 0 && (!optune_selection_impl(s) || !optune_selection_config(s)))
        return WRONG;
    optune_selection_free(s);
    optune_found_free(found);
    optune_close(o);
    if (status < 0 && !fail_to)
        fprintf(stderr, "later: %s\n", err.text);
    return status >= 0 ? GOOD : *err.text ? REFUSED : WRONG;
}

/* In a process that has asked for nothing yet; n < 0: how many allocations there are. */
static int asking(const char *db, int64_t from, int64_t to)
{
    dl_iterate_phdr(find_hwloc, NULL);
    asked = 0;
    fail_to = to;
    fail_from = from;
    const int came = ask(db);
    const int64_t n = asked;
    fail_from = fail_to = NEVER;
    if (from < 0)
        return write(STDOUT_FILENO, &n, sizeof n) != sizeof n;
    return came == WRONG ? WRONG : ask(db) != GOOD ? LATER : came;
}

/* As a process's status; *n (may be NULL) is what it says. */
static int process(int64_t from, int64_t to, int64_t *n)
{
    char first[24], behind[24];
    int told[2], status = 0;
    snprintf(first, sizeof first, "%lld", (long long)from);
    snprintf(behind, sizeof behind, "%lld", (long long)to);
    assert_int_equal(pipe(told), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(told[1], STDOUT_FILENO);
        execl("/proc/self/exe", "test_memory", first, behind, tuning_path("db"), NULL);
        _exit(9);
    }
    close(told[1]);
    if (n)
        assert_int_equal(read(told[0], n, sizeof *n), sizeof *n);
    close(told[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void each_allocation_fails(void **state)
{
    (void)state;
    int64_t n = 0;
    assert_int_equal(process(-1, -1, &n), 0);
    const bool all = getenv("OPTUNE_TEST_ALL") != NULL;
    uint64_t rng = (uint64_t)time(NULL);
    int good = 0, errors = 0, bad = 0;
    print_message("%lld allocations, seed %llu\n", (long long)n, (unsigned long long)rng);
    assert_true(n > 100);
    for (int64_t at = 1; at <= n; at += all ? 1 : 1 + optune_random_below(&rng, n / 15))
        for (int kind = 0; kind < 2; kind++) {
            const int status = process(at, kind ? INT64_MAX : at + 1, NULL);
            if (status == GOOD) {
                good++;
            } else if (WIFEXITED(status) && WEXITSTATUS(status) == REFUSED) {
                errors++;
            } else {
                bad++;
                print_error("%s %lld refused: %s %d\n", kind ? "from" : "the", (long long)at,
                            WIFEXITED(status) ? "status" : "signal",
                            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
            }
        }
    print_message("%d answered, %d refused with words\n", good, errors);
    assert_int_equal(bad, 0);
    assert_true(errors > 0);
}
#endif

static int setup(void **state)
{
    return forged_setup(state);
}

static void there_is_a_record(void **state)
{
    (void)state;
    optune_record r = {0};
    for (int i = 0; i < forged_run.n && !r.impl; i++)
        if (forged_run.record[i].outcome == OPTUNE_OUTCOME_OK &&
            !strcmp(forged_run.record[i].impl, "dense_pack.x86"))
            r = forged_run.record[i];
    assert_non_null(r.impl);
    r.final = true;
    forged_put("db", &r, 1, NULL);
}

int main(int argc, char **argv)
{
#if INTERPOSED
    if (argc == 4)
        return asking(argv[3], atoll(argv[1]), atoll(argv[2]));
#endif
    (void)argc;
    (void)argv;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_a_record),
#if INTERPOSED
        cmocka_unit_test(each_allocation_fails),
#endif
    };
    return cmocka_run_group_tests_name("answer/memory", tests, setup, forged_teardown);
}
