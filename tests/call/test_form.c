/* SPDX-License-Identifier: Apache-2.0 */
/* What is read by form is what is read of each text by itself: calls, canonical texts, messages. */
#include "tests/support/check.h"

#include "base/base.h"
#include "call/call.h"
#include "call/form.h"

enum { MOST = 1200 };

typedef struct said {
    int status;
    optune_err err;
    ot_text text;
    char packed[sizeof(optune_call)];
    size_t n;
} said;

static said one, other;
static ot_forms *forms;

static void compare(const char *text)
{
    optune_call call;
    one.err = other.err = (optune_err){0};
    ot_text_clear(&one.text);
    ot_text_clear(&other.text);
    memset(&call, 0x55, sizeof call); /* what is not read says nothing */
    one.status = ot_call_parse(text, &call, &one.err);
    if (one.status >= 0) {
        one.n = ot_call_pack(&call, one.packed);
        ot_call_print(&call, &one.text);
    }
    memset(&call, 0xaa, sizeof call);
    other.status = ot_form_parse(forms, text, strlen(text), &call, &other.text, &other.err);
    if (other.status >= 0)
        other.n = ot_call_pack(&call, other.packed);
    assert_int_equal(one.status, other.status);
    assert_string_equal(one.err.text, other.err.text);
    if (one.status < 0)
        return;
    assert_string_equal(ot_text_str(&one.text), other.text.n ? other.text.s : text);
    assert_int_equal(one.n, other.n);
    optune_call a, b;
    ot_text again = {0};
    ot_call_unpack(one.packed, &a);
    ot_call_unpack(other.packed, &b);
    ot_call_print(&b, &again);
    assert_string_equal(ot_text_str(&again), ot_text_str(&one.text));
    ot_text_release(&again);
    assert_int_equal(a.n_outputs, b.n_outputs);
    for (int i = 0; i < a.n_outputs; i++)
        assert_memory_equal(&a.output[i], &b.output[i],
                            offsetof(optune_tensor, dim) +
                                (size_t)(a.output[i].rank > 0 ? a.output[i].rank : 0) *
                                    sizeof(optune_dim));
}

/* Some numbers are others, which may make the call another one, or none. */
static void vary(const char *from, uint64_t *random, char *to)
{
    while (*from) {
        const bool number = *from >= '0' && *from <= '9';
        if (number && optune_random_below(random, 3) == 0)
            to += sprintf(to, "%d", (int)optune_random_below(random, 70));
        else
            *to++ = *from;
        from++;
    }
    *to = '\0';
}

static void test_samples(void **state)
{
    (void)state;
    static const char behind[][80] = {"", " -> relu()", " -> add(f32[32], _) -> relu(_)"};
    int n_ops;
    uint64_t random = 11;
    const optune_op *const *op = ot_ops(&n_ops);
    for (int i = 0; i < n_ops; i++)
        for (int k = 0; op[i]->samples && op[i]->samples[k]; k++) {
            char text[MOST], varied[4 * MOST];
            snprintf(text, sizeof text, "%s%s", op[i]->samples[k],
                     behind[optune_random_below(&random, OT_COUNT(behind))]);
            compare(text);
            compare(text);
            for (int times = 0; times < 8; times++) {
                vary(text, &random, varied);
                compare(varied);
            }
        }
    assert_true(ot_forms_served(forms) > 500);
}

static void test_spellings(void **state)
{
    (void)state;
    static const char *const text[] = {
        "dense(f32[16,64], const f32[32,64])",
        "dense(f32[17,64], const f32[32,64])",
        "dense(f32[0017, 64], const f32[32,64])",
        "dense(f32[0018,64], const f32[032,64])", /* no canonical text, in the form of one */
        "dense(f32[00,64], const f32[32,64])",
        "dense(f32[0,64], const f32[32,64])",
        "dense(f32[16,64], const f32[32,63])",            /* does not fit */
        "dense(f32[1234567890123,64], const f32[32,64])", /* too large */
        "dense(f32[123456789012,64], const f32[32,64])",
        "dense(f32[?m:1..64,64], const f32[32,64])",
        "dense(f32[?m:1..65,64], const f32[32,64])",
        "dense(f32[#,64], const f32[32,64])",
        "dense(f32[2*?m,64], const f32[32,64])",
        "dense(f32[16,64], f32[32,64], out_dtype=f32)",
        "dense(f32[18,64], f32[32,64], out_dtype=f32)",
        "dense(f32[18,64], f32[32,64]",
        "dense(f32[18,64], f32[32,64])x",
        "sum(f32[4,5], axis=1)",
        "sum(f32[4,6], axis=1)",
        "sum(f32[4,6,7], axis=[1,2])",
        "sum(f32[4,6,8], axis=[2,1])",
        "concatenate(f32[4,1], f32[4,2], axis=1)",
        "concatenate(f32[5,1], f32[5,2], axis=1)",
        "strided_slice(f32[9,9], begin=[0,1], end=[9,5])",
        "strided_slice(f32[4,4], begin=[0,1], end=[9,5])", /* its end is another one */
        "f32[3]",
        "nothing(f32[3])",
        "[3]",
        "",
    };
    for (int times = 0; times < 2; times++)
        for (int i = 0; i < OT_COUNT(text); i++)
            compare(text[i]);
}

/* More forms than there are places, and again: who was put out of his place comes back. */
static void test_many(void **state)
{
    (void)state;
    for (int times = 0; times < 3; times++)
        for (int i = 1; i < 400; i++) {
            char text[160];
            snprintf(text, sizeof text,
                     "conv2d(f32[1,16,%d,14], const f32[%d,16,3,3], "
                     "padding=[%d,%d])",
                     7 + times, 8 * (times + 1), i % 20, i / 20);
            compare(text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_many),
    };
    forms = ot_forms_open();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ot_forms_close(forms);
    ot_text_release(&one.text);
    ot_text_release(&other.text);
    return failed;
}
