/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs that a device holds from one candidate to the next, over whatever OpenCL device there is:
 * what a candidate did to its own copy is gone with the next one, and sets are not mixed up.
 */
#include "run/worker.h"
#include "support/check.h"

static const char small[] = "add(f32[1000,30], f32[30])";

static bool open_session(ot_session *s, const char *text)
{
    optune_err err = {0};
    optune_target target;
    optune_device device;
    check_ok(ot_target_parse("opencl", &target, &err));
    if (ot_target_probe(&target, &device, &err) < 0) {
        print_message("%s\n", err.text);
        return false;
    }
    check_ok(ot_session_open(s, &target, &device, &err));
    check_ok(ot_session_shape(s, text, &err));
    check_ok(ot_session_buffers(s, OT_GUARDED, &err));
    check_ok(ot_session_buffers(s, OT_ALIGNED, &err));
    return true;
}

static void put(ot_session *s, uint64_t seed, ot_set set)
{
    optune_err err = {0};
    for (int i = 0; i < 2; i++) {
        ot_fill_call_input(&s->call, seed, i, s->host);
        check_ok(ot_session_put(s, OT_GUARDED, i, s->host, &err));
        assert_true(ot_stock_keep(s, OT_GUARDED, set, i));
    }
}

static void check_inputs(ot_session *s, int kind, uint64_t seed)
{
    for (int i = 0; i < 2; i++) {
        char *want = ot_alloc((size_t)s->in_bytes[i]);
        ot_fill_call_input(&s->call, seed, i, want);
        assert_true(s->row->read(s->state, s->in[kind][i], s->host, s->in_bytes[i]) >= 0);
        assert_memory_equal(s->host, want, (size_t)s->in_bytes[i]);
        free(want);
    }
}

static void test_held(void **state)
{
    (void)state;
    static ot_session s;
    char message[256];
    optune_err err = {0};
    if (!open_session(&s, small))
        skip();
    put(&s, 1, OT_SET_TRUE);
    put(&s, 2, OT_SET_FAR);
    /* A candidate writes to its input, and that is seen. */
    const float wrong = 3;
    assert_true(ot_session_intact(&s, OT_GUARDED, message, sizeof message));
    assert_true(s.row->write(s.state, s.in[OT_GUARDED][0], &wrong, sizeof wrong) >= 0);
    assert_false(ot_session_intact(&s, OT_GUARDED, message, sizeof message));
    check_contains(message, "wrote to input 0");
    /* The next one gets them as they were, in whichever buffers. */
    for (int kind = 0; kind < 2; kind++)
        for (int set = 0; set < OT_SETS; set += OT_SET_FAR) {
            for (int i = 0; i < 2; i++)
                check_ok(ot_stock_take(&s, kind, (ot_set)set, i, &err));
            check_inputs(&s, kind, set == OT_SET_TRUE ? 1 : 2);
            assert_true(ot_session_intact(&s, kind, message, sizeof message));
        }
    /* What was never held is refused, and so is what is held no longer. */
    assert_true(ot_stock_take(&s, OT_ALIGNED, OT_SET_NEAR, 0, &err) < 0);
    ot_stock_drop(&s);
    assert_true(ot_stock_take(&s, OT_ALIGNED, OT_SET_TRUE, 0, &err) < 0);
    check_contains(err.text, "cannot copy to input 0");
    ot_session_close(&s);
}

static void put_one(ot_session *s)
{
    optune_err err = {0};
    ot_fill_call_input(&s->call, 1, 0, s->host);
    check_ok(ot_session_put(s, OT_GUARDED, 0, s->host, &err));
    assert_true(ot_stock_keep(s, OT_GUARDED, OT_SET_TRUE, 0));
}

/* As a keeper has it built and its runner loads it. */
static void open_same(ot_session *s)
{
    char dir[1024], path[1100];
    optune_err err = {0};
    ot_text module = {0};
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    snprintf(path, sizeof path, "%s/same", dir);
    ot_same_open(s, path); /* there is no such file */
    assert_null(s->same.function);
    check_ok(ot_same_build(&s->target, &s->device, &module, &err));
    check_ok(ot_write_file(path, module.s, module.n, &err));
    ot_same_open(s, path);
    ot_text_release(&module);
    ot_remove_tree(dir);
}

/* Large ones are compared by the device: any byte of them that differs is found, the last, which is
 * in no word, too. */
static void test_large(void **state)
{
    (void)state;
    static ot_session s;
    char message[256];
    optune_err err = {0};
    static const int64_t places[] = {0, 1, 9000000, 17000002};
    if (!open_session(&s, "relu(i8[17000003])"))
        skip();
    /* It is no matter of a candidate: what is not there is not built. */
    put_one(&s);
    assert_true(ot_stock_same(&s, OT_GUARDED, 0) < 0);
    ot_stock_drop(&s);
    assert_false(ot_same_wanted(s.row, &s.device, &s.call));
    s.device.threads = 0; /* as of a device with memory of its own, which PoCL's is not */
    assert_true(ot_same_wanted(s.row, &s.device, &s.call));
    open_same(&s);
    assert_non_null(s.same.function);
    for (int set = 0; set < OT_SETS; set += OT_SET_FAR) {
        ot_fill_call_input(&s.call, 1 + (uint64_t)set, 0, s.host);
        check_ok(ot_session_put(&s, OT_GUARDED, 0, s.host, &err));
        assert_true(ot_stock_same(&s, OT_GUARDED, 0) < 0); /* not held: it is read back */
        assert_true(ot_session_intact(&s, OT_GUARDED, message, sizeof message));
        assert_true(ot_stock_keep(&s, OT_GUARDED, (ot_set)set, 0));
        assert_int_equal(ot_stock_same(&s, OT_GUARDED, 0), 1);
    }
    char *bytes = ot_alloc((size_t)s.in_bytes[0]);
    for (int k = 0; k < OT_COUNT(places); k++) {
        check_ok(ot_stock_take(&s, OT_ALIGNED, OT_SET_TRUE, 0, &err));
        assert_int_equal(ot_stock_same(&s, OT_ALIGNED, 0), 1);
        assert_true(ot_session_intact(&s, OT_ALIGNED, message, sizeof message));
        assert_true(s.row->read(s.state, s.in[OT_ALIGNED][0], bytes, s.in_bytes[0]) >= 0);
        bytes[places[k]] ^= 4;
        assert_true(s.row->write(s.state, s.in[OT_ALIGNED][0], bytes, s.in_bytes[0]) >= 0);
        assert_int_equal(ot_stock_same(&s, OT_ALIGNED, 0), 0);
        assert_false(ot_session_intact(&s, OT_ALIGNED, message, sizeof message));
        check_contains(message, "wrote to input 0");
    }
    free(bytes);
    ot_session_close(&s);
}

/* A device that is nearly full has other use for its memory. */
static void test_no_room(void **state)
{
    (void)state;
    static ot_session s;
    optune_err err = {0};
    if (!open_session(&s, small))
        skip();
    s.device.memory = 8 * s.in_bytes[0]; /* an eighth of it is the first input */
    ot_fill_call_input(&s.call, 1, 0, s.host);
    check_ok(ot_session_put(&s, OT_ALIGNED, 0, s.host, &err));
    check_ok(ot_session_put(&s, OT_ALIGNED, 1, s.host, &err));
    assert_true(ot_stock_keep(&s, OT_ALIGNED, OT_SET_TRUE, 0));
    assert_false(ot_stock_keep(&s, OT_ALIGNED, OT_SET_TRUE, 1));
    assert_false(ot_stock_keep(&s, OT_ALIGNED, OT_SET_NEAR, 0));
    assert_true(ot_stock_keep(&s, OT_ALIGNED, OT_SET_TRUE, 0)); /* in the same place */
    ot_session_close(&s);
}

/* A device with room for so many buffers more, whatever their sizes. */
static const optune_target_worker *roomy;
static int room;

static int alloc_in_room(void *state, int64_t bytes, bool guarded, void **buffer,
                         optune_err *err)
{
    if (room < 1)
        return optune_fail(err, OPTUNE_ENOMEM, "no room for a buffer");
    room--;
    return roomy->alloc(state, bytes, guarded, buffer, err);
}

static void free_in_room(void *state, void *buffer)
{
    room++;
    roomy->free(state, buffer);
}

/* What is stocked makes room for what a candidate needs, and that is told. */
static void test_room_is_made(void **state)
{
    (void)state;
    static ot_session s;
    static optune_target_worker row;
    optune_err err = {0};
    if (!open_session(&s, small))
        skip();
    roomy = s.row;
    row = *s.row;
    row.alloc = alloc_in_room;
    row.free = free_in_room;
    s.row = &row;
    room = 2;
    put(&s, 1, OT_SET_TRUE);
    assert_int_equal(room, 0);
    ot_session_drop(&s, OT_GUARDED);
    room = 1; /* of three */
    assert_false(s.stock_lost);
    check_ok(ot_session_buffers(&s, OT_GUARDED, &err));
    assert_true(s.stock_lost);
    assert_int_equal(room, 0);
    assert_true(ot_stock_take(&s, OT_GUARDED, OT_SET_TRUE, 0, &err) < 0);
    /* There is no more to be had. */
    s.stock_lost = false;
    ot_session_drop(&s, OT_GUARDED);
    room = 2;
    assert_int_equal(ot_session_buffers(&s, OT_GUARDED, &err), OPTUNE_ENOMEM);
    assert_false(s.stock_lost);
    ot_session_close(&s);
}

static void test_poison(void **state)
{
    (void)state;
    static ot_session s;
    optune_err err = {0};
    char message[256];
    if (!open_session(&s, small))
        skip();
    put(&s, 1, OT_SET_TRUE);
    check_ok(ot_session_poison(&s, OT_GUARDED, &err));
    assert_true(s.row->read(s.state, s.out[OT_GUARDED][0], s.host, s.out_bytes[0]) >= 0);
    for (int64_t i = 0; i < s.out_bytes[0]; i++)
        assert_int_equal(((const unsigned char *)s.host)[i], 0xff);
    assert_true(ot_session_intact(&s, OT_GUARDED, message, sizeof message)); /* not around it */
    /* A part of it, where it lies. */
    const float some[2] = {4, 5};
    float got[2] = {0};
    assert_true(s.row->write(s.state, s.out[OT_GUARDED][0], some, sizeof some) >= 0);
    assert_true(s.row->read_at(s.state, s.out[OT_GUARDED][0], 4, got, sizeof got) >= 0);
    assert_true(got[0] == 5 && got[1] != got[1]);
    ot_session_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_held),    cmocka_unit_test(test_large),
        cmocka_unit_test(test_no_room), cmocka_unit_test(test_room_is_made),
        cmocka_unit_test(test_poison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
