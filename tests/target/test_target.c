/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a target: what is accepted, what it means, what is printed back. */
#include "support/check.h"
#include "target/target.h"

static optune_target parse(const char *text)
{
    optune_err err = {0};
    optune_target target;
    check_ok(ot_target_parse(text, &target, &err));
    return target;
}

static void expect_text(const char *text, const char *full, const char *measured)
{
    const optune_target target = parse(text);
    ot_text t = {0};
    ot_target_print(&target, false, &t);
    assert_string_equal(t.s, full);
    const optune_target again = parse(t.s); /* what is printed means the same */
    assert_memory_equal(&again, &target, sizeof target);
    ot_text_clear(&t);
    ot_target_print(&target, true, &t);
    assert_string_equal(t.s, measured);
    ot_text_release(&t);
}

static void test_round_trip(void **state)
{
    (void)state;
    expect_text("cpu", "cpu", "cpu");
    expect_text("  cpu   -threads=2 ", "cpu -threads=2", "cpu -threads=2");
    expect_text("cpu -libs=cblas,dnnl,cblas -threads=1", "cpu -threads=1 -libs=cblas,dnnl",
                "cpu -threads=1");
    expect_text("llvm -mcpu=skylake-avx512", "cpu -mcpu=skylake-avx512",
                "cpu -mcpu=skylake-avx512");
    expect_text("cpu --mcpu=native", "cpu", "cpu");
    expect_text("cpu -device=0 -model=epyc", "cpu -model=epyc -device=0", "cpu -model=epyc");
    expect_text("cpu -cflags='-O2 -march=haswell' -threads=3",
                "cpu -threads=3 -cflags='-O2 -march=haswell'",
                "cpu -threads=3 -cflags='-O2 -march=haswell'");
    expect_text("cpu -keys=mine,cpu", "cpu -keys=mine",
                "cpu"); /* its own key goes without saying */
    expect_text("cpu -keys=mine", "cpu -keys=mine", "cpu");
}

static void test_fields(void **state)
{
    (void)state;
    const optune_target t = parse("cpu -keys=mine -libs=a,b -threads=7 -arch=znver4");
    assert_string_equal(t.kind, "cpu");
    assert_int_equal(t.n_keys, 2);
    assert_string_equal(t.key[0], "mine"); /* before the row's own */
    assert_string_equal(t.key[1], "cpu");
    assert_int_equal(t.n_libs, 2);
    assert_int_equal(t.threads, 7);
    assert_string_equal(t.arch, "znver4");
    assert_true(optune_target_has_lib(&t, "b"));
    assert_false(optune_target_has_lib(&t, "c"));
}

static void expect_error(const char *text, int status, const char *part)
{
    optune_err err = {0};
    optune_target target;
    memset(&target, 0x5a, sizeof target);
    assert_int_equal(ot_target_parse(text, &target, &err), status);
    check_contains(err.text, part);
    assert_int_equal(target.kind[0], 0x5a); /* untouched */
}

static void test_errors(void **state)
{
    (void)state;
    char many[400] = "cpu -libs=a0";
    expect_error("", OPTUNE_ESYNTAX, "empty");
    expect_error("cpux", OPTUNE_ENOENT, "no target 'cpux'; did you mean 'cpu'?");
    expect_error("zzzzzz", OPTUNE_ENOENT, "no target 'zzzzzz'");
    expect_error("cpu -thread=2", OPTUNE_ENOENT, "did you mean '-threads'?");
    expect_error("cpu threads=2", OPTUNE_ESYNTAX, "'threads=2'");
    expect_error("cpu -threads", OPTUNE_ESYNTAX, "needs a value");
    expect_error("cpu -threads=", OPTUNE_ESYNTAX, "needs a value");
    expect_error("cpu -threads=two", OPTUNE_ESYNTAX, "'-threads=two'");
    expect_error("cpu -threads=-1", OPTUNE_ESYNTAX, "-1");
    expect_error("cpu -threads=99999999999999999999", OPTUNE_ESYNTAX, "9999");
    expect_error("cpu -libs=a;b", OPTUNE_ESYNTAX, "'a;b'");
    expect_error("cpu -mcpu=$(id)", OPTUNE_ESYNTAX, "$(id)");
    expect_error("cpu -cflags='-O2", OPTUNE_ESYNTAX, "not closed");
    for (int i = 1; i < 9; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), ",a%d", i);
    expect_error(many, OPTUNE_ELIMIT, "more than 8");
    char name[200] = "cpu -model=";
    memset(name + 11, 'x', 100);
    expect_error(name, OPTUNE_ELIMIT, "'-model' is too long");
}

static int never(const optune_target *target, optune_device *device, optune_err *err)
{
    (void)target, (void)device;
    return optune_fail(err, OPTUNE_ENODEV, "looked nowhere");
}

static void test_added_row(void **state)
{
    (void)state;
    static const char *const keys[] = {"toy", "cpu", NULL};
    static optune_target_row toy = {.name = "toy", .keys = keys, .probe = never};
    optune_err err = {0};
    int before, after;
    ot_targets(&before);
    assert_int_equal(ot_target_add(&toy, &err), OPTUNE_EUSAGE); /* no compile */
    toy.compile = ot_target_find("cpu")->compile;
    check_ok(ot_target_add(&toy, &err));
    assert_int_equal(ot_target_add(&toy, &err), OPTUNE_ECONFLICT);
    check_contains(err.text, "'toy'");
    ot_targets(&after);
    assert_int_equal(after, before + 1);
    optune_target t = parse("toy");
    assert_int_equal(t.n_keys, 2);
    assert_string_equal(t.key[1], "cpu");
    optune_device device;
    assert_int_equal(ot_target_probe(&t, &device, &err), OPTUNE_ENODEV);
    check_contains(err.text, "looked nowhere");
}

static void test_like(void **state)
{
    (void)state;
    optune_err err = {0};
    static const optune_target_row lost = {.name = "lost", .like = "nowhere"};
    assert_int_equal(ot_target_add(&lost, &err), OPTUNE_ENOENT);
    check_contains(err.text, "like 'nowhere'");
    static const char *const odd[] = {"a b", NULL};
    static const optune_target_row spaced = {.name = "my cpu", .like = "cpu"},
                                   key = {.name = "odd", .like = "cpu", .keys = odd};
    assert_int_equal(ot_target_add(&spaced, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "'my cpu' is no target's name");
    assert_int_equal(ot_target_add(&key, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "target 'odd': 'a b' is no key");
    static const char *const keys[] = {"small", "cpu", NULL};
    static optune_target_row small = {
        .name = "small", .summary = "a small one", .like = "cpu", .keys = keys, .probe = never};
    const optune_target_row *cpu = optune_target_find("cpu");
    small.worker.state_size = 8;
    assert_int_equal(ot_target_add(&small, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "leave out state_size");
    small.worker.state_size = 0;
    check_ok(ot_target_add(&small, &err));
    const optune_target_row *made = optune_target_find("small");
    assert_string_equal(made->summary, "a small one");
    assert_string_equal(made->module_suffix, cpu->module_suffix);
    assert_ptr_equal(made->probe, never);
    assert_ptr_equal(made->worker.run, cpu->worker.run);
    assert_int_equal(made->worker.state_size, cpu->worker.state_size);
    assert_string_equal(parse("small -threads=2").key[0], "small");
}

/* Whatever the slot is, so that none is dropped that is added one day. */
static void test_like_slot_by_slot(void **state)
{
    (void)state;
    enum { SLOT = sizeof(void *), SLOTS = sizeof(optune_target_row) / SLOT };
    static const char *const word[] = {"other", NULL}; /* good as keys, and as any address */
    static optune_target_row row[SLOTS];
    static char name[SLOTS][16];
    const void *const other = word;
    const optune_target_row *cpu = optune_target_find("cpu");
    optune_err err = {0};
    int laid_over = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        const size_t at = i * SLOT;
        snprintf(name[i], sizeof name[i], "like-%zu", i);
        row[i] = (optune_target_row){.name = name[i], .like = "cpu"};
        if (at == offsetof(optune_target_row, name) ||
            at == offsetof(optune_target_row, like) ||
            at == offsetof(optune_target_row, worker.state_size))
            continue;
        memcpy((char *)&row[i] + at, &other, SLOT);
        check_ok(ot_target_add(&row[i], &err));
        optune_target_row expected = *cpu;
        expected.name = name[i];
        expected.like = "cpu";
        memcpy((char *)&expected + at, &other, SLOT);
        const optune_target_row *made = optune_target_find(name[i]);
        if (memcmp(made, &expected, sizeof expected) != 0)
            fail_msg("slot %zu of a row is not laid over", i);
        laid_over++;
    }
    assert_int_equal(laid_over, SLOTS - 3);
}

static int writes_more(void *state, void *buffer, const void *from, int64_t bytes)
{
    const optune_target_worker *cpu = &optune_target_find("cpu")->worker;
    unsigned char *first = cpu->address(state, buffer);
    const int status = cpu->write(state, buffer, from, bytes);
    if (status >= 0)
        first[0]++;
    return status;
}

/* One hook of the worker is another's, which calls the first's with the state they share. */
static void test_like_one_hook(void **state)
{
    (void)state;
    static const optune_target_row more = {
        .name = "more", .like = "cpu", .worker = {.write = writes_more}};
    optune_err err = {0};
    optune_target target;
    optune_device device;
    check_ok(ot_target_add(&more, &err));
    check_ok(ot_target_parse("more -threads=1", &target, &err));
    check_ok(ot_target_probe(&target, &device, &err));
    const optune_target_worker *w = &ot_target_find("more")->worker;
    void *opened = ot_alloc(w->state_size), *buffer;
    unsigned char bytes[4] = {1, 2, 3, 4};
    check_ok(w->open(opened, &target, &device, &err));
    check_ok(w->alloc(opened, sizeof bytes, true, &buffer, &err));
    check_ok(w->write(opened, buffer, bytes, sizeof bytes));
    check_ok(w->read(opened, buffer, bytes, sizeof bytes));
    assert_int_equal(bytes[0], 2);
    assert_int_equal(bytes[3], 4);
    w->free(opened, buffer);
    w->close(opened);
    free(opened);
}

static void test_argv(void **state)
{
    (void)state;
    optune_argv argv = {0};
    optune_argv_add(&argv, "a b");
    optune_argv_add(&argv, "");
    assert_int_equal(argv.n, 2);
    assert_string_equal(argv.word[0], "a b");
    assert_string_equal(argv.word[1], "");
    assert_null(argv.word[2]);
    optune_argv_release(&argv);
    assert_int_equal(argv.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_added_row),
        cmocka_unit_test(test_like),
        cmocka_unit_test(test_like_one_hook),
        cmocka_unit_test(test_like_slot_by_slot),
        cmocka_unit_test(test_argv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
