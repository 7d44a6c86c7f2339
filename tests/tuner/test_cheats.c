/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planted cheats (tests/data/plants) are not believed. Each computes honestly when it thinks that
 * it is verified, and takes a sixteenth of the honest time when it thinks that it is timed: so none
 * of them is faster than the machine could be, and each must be seen at what it does.
 *
 * What no check on the same machine can prevent is not tested here: a candidate that knows this
 * worker's code may change it in its own process, and lie as far as the keeper's clock allows.
 */
#include <math.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/plants.h"

#define WORKLOAD "dense(f32[96,256], f32[120,256])"
#define SMALL "dense(f32[8,64], f32[33,64])"
#define LARGE "dense(f32[256,512], f32[250,512])"

/* A cheat's outcome must be bad; one that is right whenever its inputs are new ones, or that finds
 * nothing to fake or to steal, may also have gained nothing: its time is the honest one, then. A
 * quarter of it in three tries of three, measured in turns, is no noise. One that could gain less
 * has gained little where it takes four fifths of the honest time: a busy machine may give it no
 * more, and then it is rightly believed. */
typedef enum verdict { CAUGHT, NOTHING_GAINED, LITTLE_GAINED } verdict;

static plant_result last;

/* Counts what went wrong for others. */
static int harm(const char *what, const char *cheat, const plant_result *honest)
{
    if (honest->outcome == OPTUNE_OUTCOME_OK)
        return 0;
    print_error("%s %s: %s: %s\n", what, cheat, plants_word(honest->outcome), honest->message);
    return 1;
}

static bool believed(const char *cheat, const char *honest, double honest_cost, verdict want,
                     int *harmed)
{
    last = plants_trial(cheat, 20);
    *harmed += last.outcome < 0;
    if (last.outcome != OPTUNE_OUTCOME_OK)
        return false;
    const char *both[] = {honest, cheat};
    plant_result result[2];
    plants_finals(both, 2, result);
    *harmed += harm("the honest one in finals with", cheat, &result[0]);
    last = result[1];
    const double most = want == CAUGHT           ? INFINITY
                        : want == NOTHING_GAINED ? honest_cost / 4
                                                 : result[0].cost * 4 / 5;
    return last.outcome == OPTUNE_OUTCOME_OK && last.cost < most;
}

static int try_all(const char *const *cheat, const char *honest, verdict want)
{
    int n = 0;
    for (int i = 0; cheat[i]; i++) {
        char name[64];
        int harmed = 0;
        snprintf(name, sizeof name, "plant_%s.cpu", cheat[i]);
        const plant_result before = plants_trial(honest, 20);
        harmed += harm("the honest one before", name, &before);
        bool won = believed(name, honest, before.cost, want, &harmed);
        for (int again = 0; won && want != CAUGHT && again < 2; again++)
            won = believed(name, honest, before.cost, want, &harmed);
        if (won)
            print_error("%s is believed: %g us\n", name, last.cost * 1e6);
        else
            print_message("%s: %s: %s\n", name, plants_word(last.outcome), last.message);
        const plant_result after = plants_trial(honest, 20);
        n += won + harmed + harm("the honest one after", name, &after) + plants_left();
    }
    return n;
}

static int wrong; /* of one test */
#define try(want, honest, ...)                                                                 \
    (wrong += try_all((const char *const[]){__VA_ARGS__, NULL}, honest, want))

static void remembered_answers(void **state)
{
    (void)state;
    wrong = 0;
    plants_workload(WORKLOAD);
    try(CAUGHT, "plant_honest.cpu", "pointer", "beginning", "scratch");
    try(NOTHING_GAINED, "plant_honest.cpu", "content", "shm", "unchanged", "one_row");
    assert_int_equal(wrong, 0);
}

static void lazy_when_nobody_looks(void **state)
{
    (void)state;
    wrong = 0;
    plants_workload(WORKLOAD);
    try(CAUGHT, "plant_honest.cpu", "twice", "tenth", "odd", "patient", "aligned", "blatant");
    try(NOTHING_GAINED, "plant_honest.cpu", "burst", "poison", "first_poison", "gap",
        "tolerant", "caller");
    assert_int_equal(wrong, 0);
}

/* Several runs are one sample here, and only the first of them may see a new input. */
static void lazy_within_a_sample(void **state)
{
    (void)state;
    wrong = 0;
    plants_workload(SMALL);
    try(CAUGHT, "plant_honest.cpu", "pointer", "odd", "scratch");
    try(NOTHING_GAINED, "plant_honest.cpu", "content", "unchanged", "burst", "poison",
        "first_poison", "caller");
    assert_int_equal(wrong, 0);
}

/* Even a lazy run takes so long here that a sample is one run. */
static void lazy_where_a_sample_is_one_run(void **state)
{
    (void)state;
    wrong = 0;
    plants_workload(LARGE);
    try(CAUGHT, "plant_honest.cpu", "pointer", "twice", "odd", "patient", "thread");
    try(NOTHING_GAINED, "plant_honest.cpu", "gap", "tolerant", "unchanged", "caller");
    assert_int_equal(wrong, 0);
}

static void work_is_done_elsewhere(void **state)
{
    (void)state;
    wrong = 0;
    plants_workload(WORKLOAD);
    try(CAUGHT, "plant_honest.cpu", "thread", "blatant_thread", "sibling", "child", "fault",
        "signal");
    assert_int_equal(wrong, 0);
}

/* Half of it, by a thread or a process that ends with every run. */
static void work_is_shared(void **state)
{
    (void)state;
    wrong = 0;
    plants_workload(WORKLOAD);
    try(LITTLE_GAINED, "plant_honest.cpu", "helpers", "children", "unseen_children");
    assert_int_equal(wrong, 0);
}

/* Waiting for a core is nobody's fault: what is late or long for that reason is no cheat. Each
 * load is a session of its own, as those of other users are: a kernel that shares cores among
 * sessions lets a report wait its full turn behind each. A faked clock is seen all the same. */
static void honest_ones_on_a_busy_machine(void **state)
{
    (void)state;
    enum { LOADS = 8, ROUNDS = 3 };
    pid_t load[LOADS];
    const char *both[] = {"plant_honest.cpu", "dense_nopack.x86"};
    plant_result result[2];
    int harmed = 0;
    plants_workload(WORKLOAD);
    for (int i = 0; i < LOADS; i++)
        if ((load[i] = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            setsid();
            for (;;)
                continue;
        }
    for (int i = 0; i < ROUNDS; i++) {
        plants_finals(both, 2, result);
        harmed += harm("beside a load:", both[0], &result[0]);
        harmed += harm("beside a load:", both[1], &result[1]);
    }
    wrong = 0;
    try(NOTHING_GAINED, "plant_honest.cpu", "vdso");
    harmed += wrong;
    for (int i = 0; i < LOADS; i++)
        if (load[i] > 0) {
            kill(load[i], SIGKILL);
            waitpid(load[i], NULL, 0);
        }
    assert_int_equal(harmed, 0);
}

static void time_is_faked(void **state)
{
    (void)state;
    wrong = 0;
    plants_workload(WORKLOAD);
    try(NOTHING_GAINED, "plant_honest.cpu", "vdso", "stack", "heap");
    try(LITTLE_GAINED, "plant_honest.cpu", "a_third");
    assert_int_equal(wrong, 0);
}

static void answers_are_forged(void **state)
{
    (void)state;
    wrong = 0;
    plants_workload(WORKLOAD);
    try(NOTHING_GAINED, "plant_honest.cpu", "forge", "forge_exit", "forge_flood", "resend");
    assert_int_equal(wrong, 0);
}

static void answers_are_stolen(void **state)
{
    (void)state;
    wrong = 0;
    plants_workload(WORKLOAD);
    try(NOTHING_GAINED, "plant_honest.cpu", "own_memory", "parent_memory", "files");
    assert_int_equal(wrong, 0);
}

static void computed_before_the_time_or_not_right(void **state)
{
    (void)state;
    wrong = 0;
    plants_workload(WORKLOAD);
    try(CAUGHT, "plant_honest.cpu", "early", "half_precision", "own_bound");
    assert_int_equal(wrong, 0);
}

static void right_only_where_it_is_looked_at(void **state)
{
    (void)state;
    wrong = 0;
    plants_workload("plant_exp(f32[65536])");
    try(CAUGHT, "plant_exact.cpu", "narrow");
    plants_workload("plant_below(i32[65536])");
    try(CAUGHT, "plant_below.cpu", "below_ones", "below_zeros");
    plants_workload("plant_exp(f32[12000000])");
    try(CAUGHT, "plant_exact.cpu", "sampled");
    assert_int_equal(wrong, 0);
}

/* Of whole pages or not: no two sets of inputs are where the ones before were. */
static void right_only_at_its_first_addresses(void **state)
{
    (void)state;
    static const char *const calls[] = {"plant_exp(f32[524288])", "plant_exp(f32[524289])",
                                        "plant_exp(f32[1000])"};
    wrong = 0;
    for (int i = 0; i < OT_COUNT(calls); i++) {
        plants_workload(calls[i]);
        try(CAUGHT, "plant_exact.cpu", "first", "first_x", "first_y");
    }
    assert_int_equal(wrong, 0);
}

static int setup(void **state)
{
    (void)state;
    return plants_setup("CHEATS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remembered_answers),
        cmocka_unit_test(lazy_when_nobody_looks),
        cmocka_unit_test(lazy_within_a_sample),
        cmocka_unit_test(lazy_where_a_sample_is_one_run),
        cmocka_unit_test(work_is_done_elsewhere),
        cmocka_unit_test(work_is_shared),
        cmocka_unit_test(honest_ones_on_a_busy_machine),
        cmocka_unit_test(time_is_faked),
        cmocka_unit_test(answers_are_forged),
        cmocka_unit_test(answers_are_stolen),
        cmocka_unit_test(computed_before_the_time_or_not_right),
        cmocka_unit_test(right_only_where_it_is_looked_at),
        cmocka_unit_test(right_only_at_its_first_addresses),
    };
    return cmocka_run_group_tests(tests, setup, plants_teardown);
}
