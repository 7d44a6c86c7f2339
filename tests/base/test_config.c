/* SPDX-License-Identifier: Apache-2.0 */
/* Configs as text, in both directions, and what is refused. */
#include "support/check.h"

#include "base/config_packed.h"

static const char full[] =
    "[[\"tile\",\"sp\",[-1,8,4]],[\"order\",\"re\",[2,0,1]],"
    "[\"ann\",\"an\",[\"none\",\"unroll\",\"vec\",\"blockIdx.x\",\"threadIdx.z\",\"vthread\"]],"
    "[\"i\",\"ot\",-1500],[\"b\",\"ot\",true],[\"f\",\"ot\",0.1],[\"w\",\"ot\",\"a\\\"b\"]]";

static void round_trip(void **state)
{
    (void)state;
    optune_err err;
    optune_config config, again;
    ot_text text = {0};
    check_ok(ot_config_parse(full, &config, &err));
    assert_int_equal(config.n, 7);
    assert_int_equal(config.index, -1);
    assert_int_equal(config.entity[0].v[0], -1);
    assert_int_equal(config.entity[2].v[4], OPTUNE_ANN_THREAD_Z);
    assert_int_equal(config.entity[4].scalar, OPTUNE_SCALAR_BOOL);
    assert_string_equal(config.entity[6].word, "a\"b");
    ot_config_print(&config, &text);
    assert_string_equal(text.s, full);
    check_ok(ot_config_parse(text.s, &again, &err));
    assert_true(ot_config_equal(&config, &again));
    ot_text_release(&text);
}

static void white_space_and_empty(void **state)
{
    (void)state;
    optune_err err;
    optune_config config;
    ot_text text = {0};
    check_ok(ot_config_parse(" [ [ \"t\" , \"sp\" , [ 1 , 2 ] ] ]\n", &config, &err));
    ot_config_print(&config, &text);
    assert_string_equal(text.s, "[[\"t\",\"sp\",[1,2]]]");
    check_ok(ot_config_parse("[]", &config, &err));
    assert_int_equal(config.n, 0);
    ot_text_clear(&text);
    ot_config_print(&config, &text);
    assert_string_equal(text.s, "[]");
    ot_text_release(&text);
}

static void for_people(void **state)
{
    (void)state;
    optune_err err;
    optune_config config;
    ot_text text = {0};
    check_ok(ot_config_parse(full, &config, &err));
    ot_config_print_short(&config, &text);
    assert_string_equal(text.s, "tile=[-1,8,4] order=[2,0,1] "
                                "ann=[none,unroll,vec,blockIdx.x,threadIdx.z,vthread] "
                                "i=-1500 b=true f=0.1 w=a\"b");
    ot_text_release(&text);
}

static void equality(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[]",
        "[[\"a\",\"ot\",1]]",
        "[[\"a\",\"ot\",1.0]]",
        "[[\"a\",\"ot\",true]]",
        "[[\"a\",\"ot\",\"1\"]]",
        "[[\"b\",\"ot\",1]]",
        "[[\"a\",\"sp\",[1]]]",
        "[[\"a\",\"sp\",[1,1]]]",
        "[[\"a\",\"re\",[1]]]",
        "[[\"a\",\"ot\",1],[\"b\",\"ot\",1]]",
        "[[\"b\",\"ot\",1],[\"a\",\"ot\",1]]",
    };
    optune_err err;
    for (int i = 0; i < OT_COUNT(texts); i++) {
        for (int j = 0; j < OT_COUNT(texts); j++) {
            optune_config a, b;
            check_ok(ot_config_parse(texts[i], &a, &err));
            check_ok(ot_config_parse(texts[j], &b, &err));
            a.index = 5; /* belongs to a space, not to the config */
            assert_int_equal(ot_config_equal(&a, &b), i == j);
        }
    }
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
        const char *part;
    } rows[] = {
        {"", OPTUNE_ESYNTAX, "JSON"},
        {"{}", OPTUNE_ESYNTAX, "no list"},
        {"[1]", OPTUNE_ESYNTAX, "[name, kind, value]"},
        {"[[\"a\",\"sp\"]]", OPTUNE_ESYNTAX, "[name, kind, value]"},
        {"[[\"a\",\"xx\",1]]", OPTUNE_ESYNTAX, "unknown kind 'xx'"},
        {"[[\"a\",\"sp\",1]]", OPTUNE_ESYNTAX, "no list"},
        {"[[\"a\",\"sp\",[1.5]]]", OPTUNE_ESYNTAX, "no integer"},
        {"[[\"a\",\"sp\",[99999999999999999999]]]", OPTUNE_ESYNTAX, "integer"},
        {"[[\"a\",\"an\",[\"fly\"]]]", OPTUNE_ESYNTAX, "unknown annotation"},
        {"[[\"a\",\"ot\",null]]", OPTUNE_ESYNTAX, "no scalar"},
        {"[[\"a\",\"ot\",[1]]]", OPTUNE_ESYNTAX, "no scalar"},
        {"[[\"a\",\"ot\",1],[\"a\",\"ot\",2]]", OPTUNE_ESYNTAX, "twice"},
        {"[[\"a234567890123456789012345678901x\",\"ot\",1]]", OPTUNE_ELIMIT, "too long"},
        {"[[\"a\",\"ot\",\"b234567890123456789012345678901x\"]]", OPTUNE_ELIMIT, "too long"},
    };
    for (int i = 0; i < OT_COUNT(rows); i++) {
        optune_err err = {0};
        optune_config config;
        assert_int_equal(ot_config_parse(rows[i].text, &config, &err), rows[i].status);
        check_contains(err.text, rows[i].part);
        assert_int_equal(config.n, 0);
    }
}

/* In little memory, and the same again. */
static void packed(void **state)
{
    (void)state;
    static const char *const text[] = {
        "[]",
        "[[\"tile_x\",\"sp\",[1,2,3,4,5,6,7,8,9,10,11,12]],[\"order\",\"re\",[2,0,1]],"
        "[\"unroll\",\"ot\",true],[\"n\",\"ot\",-9223372036854775808],"
        "[\"f\",\"ot\",0.10000000000000001],"
        "[\"a_name_of_thirty_one_characters\",\"ot\",\"a_word_of_thirty_one_characters\"]]",
    };
    for (int i = 0; i < OT_COUNT(text); i++) {
        optune_err err;
        optune_config config, again;
        char bytes[sizeof config];
        ot_text one = {0}, other = {0};
        check_ok(ot_config_parse(text[i], &config, &err));
        config.index = 77;
        memset(&again, 0xa5, sizeof again);
        assert_true(ot_config_pack(&config, bytes) < 16 + strlen(text[i]) * 2);
        ot_config_unpack(bytes, &again);
        assert_true(ot_config_equal(&config, &again) && again.index == 77);
        ot_config_print(&config, &one);
        ot_config_print(&again, &other);
        assert_string_equal(ot_text_str(&one), ot_text_str(&other));
        ot_text_release(&one);
        ot_text_release(&other);
    }
}

static void limits(void **state)
{
    (void)state;
    optune_err err;
    optune_config config;
    for (int over = 0; over <= 1; over++) {
        ot_text knobs = {0}, list = {0};
        for (int i = 0; i < OPTUNE_MAX_KNOBS + over; i++)
            ot_text_printf(&knobs, "%s[\"k%d\",\"ot\",%d]", i ? "," : "[", i, i);
        ot_text_add(&knobs, "]");
        for (int i = 0; i < OPTUNE_MAX_LIST + over; i++)
            ot_text_printf(&list, "%s%d", i ? "," : "[[\"k\",\"sp\",[", i);
        ot_text_add(&list, "]]]");
        int expected = over ? OPTUNE_ELIMIT : OPTUNE_OK;
        assert_int_equal(ot_config_parse(knobs.s, &config, &err), expected);
        assert_int_equal(ot_config_parse(list.s, &config, &err), expected);
        ot_text_release(&knobs);
        ot_text_release(&list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip), cmocka_unit_test(white_space_and_empty),
        cmocka_unit_test(for_people), cmocka_unit_test(equality),
        cmocka_unit_test(refusals),   cmocka_unit_test(limits),
        cmocka_unit_test(packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
