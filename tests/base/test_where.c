/* SPDX-License-Identifier: Apache-2.0 */
/* Counting, numbering and drawing what satisfies constraints, against walking the product. */
#include <sys/resource.h>
#include <time.h>

#include "base/where.h"
#include "support/check.h"

enum { MOST_KNOBS = 16, MOST_RULES = 16 };

typedef struct space {
    const char *name[MOST_KNOBS];
    ot_expr_value list[MOST_KNOBS];
    ot_arena arena;
    ot_expr *rule[MOST_RULES];
    int n_knobs, n_rules;
} space;

static void add_knob(space *s, const char *name, const char *values)
{
    ot_expr *expr;
    ot_expr_value list;
    optune_err err = {0};
    check_ok(ot_expr_parse(values, NULL, &expr, &err));
    check_ok(ot_expr_eval(expr, NULL, &s->arena, &list, &err));
    ot_expr_value *item = ot_arena_alloc(&s->arena, (size_t)list.n * sizeof *item);
    for (int i = 0; i < list.n; i++) {
        item[i] = list.item[i];
        if (item[i].kind == OT_VALUE_WORD)
            item[i].s = ot_arena_copy(&s->arena, item[i].s);
    }
    s->name[s->n_knobs] = name;
    s->list[s->n_knobs++] = (ot_expr_value){.kind = OT_VALUE_LIST, .n = list.n, .item = item};
    ot_expr_free(expr);
}

static void add_rule(space *s, const char *text)
{
    optune_err err = {0};
    check_ok(ot_expr_parse(text, NULL, &s->rule[s->n_rules++], &err));
}

static ot_where *open_space(const space *s)
{
    ot_where_knob knob[MOST_KNOBS];
    ot_where_rule rule[MOST_RULES];
    for (int k = 0; k < s->n_knobs; k++)
        knob[k] = (ot_where_knob){s->list[k].item, s->list[k].n};
    for (int r = 0; r < s->n_rules; r++) {
        const char *const *name;
        rule[r] = (ot_where_rule){.expr = s->rule[r]};
        for (int n = ot_expr_names(s->rule[r], &name) - 1; n >= 0; n--) {
            rule[r].knob[n] = -1;
            for (int k = 0; k < s->n_knobs; k++)
                if (strcmp(s->name[k], name[n]) == 0)
                    rule[r].knob[n] = k;
            if (rule[r].knob[n] < 0) /* all others are 48 */
                rule[r].value[n] = ot_int_value(48);
        }
    }
    return ot_where_open(knob, s->n_knobs, rule, s->n_rules);
}

static void close_space(space *s, ot_where *w)
{
    ot_where_close(w);
    for (int r = 0; r < s->n_rules; r++)
        ot_expr_free(s->rule[r]);
    ot_arena_release(&s->arena);
}

/* By the evaluator itself, one rule after the other. */
static bool holds(const space *s, const int64_t *digit)
{
    for (int r = 0; r < s->n_rules; r++) {
        const char *const *name;
        ot_expr_value value[OT_EXPR_MOST_NAMES], result;
        ot_arena arena = {0};
        for (int n = ot_expr_names(s->rule[r], &name) - 1; n >= 0; n--) {
            value[n] = ot_int_value(48);
            for (int k = 0; k < s->n_knobs; k++)
                if (strcmp(s->name[k], name[n]) == 0)
                    value[n] = s->list[k].item[digit[k]];
        }
        const bool good = ot_expr_eval(s->rule[r], value, &arena, &result, NULL) >= 0 &&
                          ot_value_true(&result);
        ot_arena_release(&arena);
        if (!good)
            return false;
    }
    return true;
}

/* The whole product: as many, and numbered one to one. */
static void check_all(space *s)
{
    ot_where *w = open_space(s);
    ot_where_count count;
    int64_t digit[MOST_KNOBS] = {0}, valid = 0, size = 1;
    assert_true(ot_where_counted(w, &count));
    char *met = ot_alloc((size_t)count.valid + 1);
    for (int k = 0; k < s->n_knobs; k++)
        size *= s->list[k].n;
    for (int64_t i = 0; i < size; i++) {
        int64_t rest = i;
        for (int k = 0; k < s->n_knobs; k++) {
            digit[k] = rest % s->list[k].n;
            rest /= s->list[k].n;
        }
        const bool good = holds(s, digit);
        assert_int_equal(ot_where_holds(w, digit), good);
        const int64_t rank = ot_where_rank(w, digit);
        assert_int_equal(rank >= 0, good);
        if (!good)
            continue;
        valid++;
        assert_true(rank < count.valid && !met[rank]);
        met[rank] = 1;
        int64_t again[MOST_KNOBS];
        ot_where_nth(w, rank, again);
        assert_memory_equal(again, digit, (size_t)s->n_knobs * sizeof *digit);
    }
    assert_int_equal(count.valid, valid);
    free(met);
    uint64_t rng = 1;
    assert_int_equal(ot_where_some(w, 1 << 20, &rng, digit), valid > 0);
    assert_true(valid == 0 || holds(s, digit));
    for (int turn = 0; turn < 20; turn++) {
        int64_t from[MOST_KNOBS] = {0};
        for (int k = 0; k < s->n_knobs; k++)
            from[k] = digit[k] = optune_random_below(&rng, s->list[k].n);
        const bool there = holds(s, from);
        assert_int_equal(ot_where_near(w, 1 << 20, digit), valid > 0);
        assert_int_equal(valid > 0, holds(s, digit));
        if (there || valid == 0)
            assert_memory_equal(digit, from, (size_t)s->n_knobs * sizeof *digit);
    }
    close_space(s, w);
}

static void no_rule(void **state)
{
    (void)state;
    space s = {0};
    add_knob(&s, "a", "[1, 2, 3]");
    add_knob(&s, "b", "['x', 'y']");
    check_all(&s);
}

static void rules_of_all_kinds(void **state)
{
    (void)state;
    static const char *const rules[] = {
        "a * b <= 16",
        "N % a == 0 and c != 'y'",
        "a < b <= c2 or f",
        "b in [1, 4, 8] and a not in (2, 3)",
        "not (a == b) and min(a, b) > 1",
        "a != 0 and b % a == 0", /* what is not reached does not fail */
        "b // z > 1",            /* what cannot be computed is not valid */
        "a / b < 1.5",
        "2 ** a <= N",
        "(a + b) * (c2 + b) - a <= 40 and -a > -8",
        "x > 0.4 and a > 1",
        "max(a, b, c2) % 3 == 1",
        "False",
        "True",
    };
    for (int i = 0; i < OT_COUNT(rules); i++)
        for (int j = i; j < OT_COUNT(rules); j++) {
            space s = {0};
            add_knob(&s, "a", "[0, 1, 2, 4, 7]");
            add_knob(&s, "b", "[1, 2, 4, 8]");
            add_knob(&s, "c", "['x', 'y', 'z']");
            add_knob(&s, "c2", "[-1, 3, 9]");
            add_knob(&s, "f", "[True, False]");
            add_knob(&s, "z", "[0, 2]");
            add_knob(&s, "x", "[0.25, 0.5]");
            add_rule(&s, rules[i]);
            if (j > i)
                add_rule(&s, rules[j]);
            check_all(&s);
        }
}

/* An expression over knobs a to d and numbers. */
static void draw_term(uint64_t *rng, int depth, ot_text *to)
{
    static const char *const between[] = {" + ", " - ", " * ", " // ", " % "};
    const int64_t what = optune_random_below(rng, depth ? 8 : 2);
    if (what == 0) {
        ot_text_printf(to, "%d", (int)optune_random_below(rng, 7) - 1);
    } else if (what == 1) {
        ot_text_printf(to, "%c", (char)('a' + optune_random_below(rng, 4)));
    } else {
        const bool call = what == 2;
        ot_text_add(to, call ? (optune_random_below(rng, 2) ? "min(" : "max(") : "(");
        draw_term(rng, depth - 1, to);
        ot_text_add(to, call ? ", " : between[what - 3]);
        draw_term(rng, depth - 1, to);
        ot_text_add(to, ")");
    }
}

/* Bounds of what is to come cut off nothing that is valid. */
static void random_rules(void **state)
{
    (void)state;
    static const char *const how[] = {" <= ", " < ", " >= ", " > ", " == ", " != "};
    static const char *const join[] = {" and ", " or "};
    static const char *const tight[] = {"a % d > 2",     "b // d <= -2", "b * d <= -48",
                                        "a - b >= 10",   "d - b < -2",   "max(a, b) > 6",
                                        "min(b, d) < -2"};
    uint64_t rng = 11;
    for (int i = 0; i < OT_COUNT(tight); i++) {
        space s = {0};
        add_knob(&s, "a", "[1, 2, 4, 7]");
        add_knob(&s, "b", "[-3, 1, 5]");
        add_knob(&s, "d", "[2, 3, 8, 16]");
        add_rule(&s, tight[i]);
        check_all(&s);
    }
    for (int i = 0; i < 150; i++) {
        space s = {0};
        ot_text rule[3] = {{0}, {0}, {0}};
        add_knob(&s, "a", i % 3 ? "[1, 2, 4, 7]" : "[9, 1, -4, 2, 0, 12, 7, 3, -2, 5]");
        add_knob(&s, "b", "[-3, 1, 5]");
        add_knob(&s, "c", i % 2 ? "[1, 2, 3]" : "[-1, 0, 6]");
        add_knob(&s, "d", i % 3 != 1 ? "[2, 3, 8, 16]" : "[8, 3, 11, 2, 5, 16, 7, 4]");
        for (int r = 0; r < 3; r++) {
            draw_term(&rng, 2, &rule[r]);
            ot_text_add(&rule[r], how[optune_random_below(&rng, 6)]);
            draw_term(&rng, 2, &rule[r]);
            if (r == 2) {
                ot_text_add(&rule[r], join[i % 2]);
                draw_term(&rng, 1, &rule[r]);
                ot_text_add(&rule[r], how[optune_random_below(&rng, 4)]);
                draw_term(&rng, 1, &rule[r]);
            }
            add_rule(&s, ot_text_str(&rule[r]));
        }
        check_all(&s);
        for (int r = 0; r < 3; r++)
            ot_text_release(&rule[r]);
    }
}

/* Of a space like hotspot's, which says how much its device holds. */
static void add_hotspot(space *s)
{
    add_knob(s, "bx", "[1, 2, 4, 8, 16] + [32 * i for i in range(1, 33)]");
    add_knob(s, "by", "[2**i for i in range(6)]");
    add_knob(s, "tx", "list(range(1, 11))");
    add_knob(s, "ty", "list(range(1, 11))");
    add_knob(s, "t", "list(range(1, 11))");
    add_knob(s, "u", "list(range(1, 11))");
    add_knob(s, "sh", "[0, 1]");
    add_knob(s, "per", "list(range(5))");
    add_rule(s, "bx * by >= 32");
    add_rule(s, "t % u == 0");
    add_rule(s, "bx * by <= 1024");
    add_rule(s, "(bx * tx + t * 2) * (by * ty + t * 2) * (2 + sh) * 4 <= N * 1024");
    add_rule(s, "per == 0 or ((bx * tx + t * 2) * (by * ty + t * 2) * (2 + sh) * 4 * per <= "
                "N * 2048 and bx * by * per <= 2048)");
}

static double processor_ms(void)
{
    return 1e3 * (double)clock() / CLOCKS_PER_SEC;
}

/* 22.2 million combinations, of which a loop of its own knows how many are valid. */
static void as_many_as_a_loop_says(void **state)
{
    (void)state;
    space s = {0};
    int64_t n = 0, bx[37];
    add_hotspot(&s);
    for (int i = 0; i < 37; i++)
        bx[i] = s.list[0].item[i].i;
    for (int i = 0; i < 37; i++)
        for (int by = 1; by <= 32; by *= 2)
            for (int t = 1; t <= 10 && bx[i] * by >= 32 && bx[i] * by <= 1024; t++)
                for (int u = 1; u <= 10; u++)
                    for (int tile = 0; tile < 100 && t % u == 0; tile++)
                        for (int sh = 0; sh < 2; sh++) {
                            const int64_t bytes = (bx[i] * (tile / 10 + 1) + t * 2) *
                                                  (by * (tile % 10 + 1) + t * 2) * (2 + sh) * 4;
                            for (int per = 0; per < 5 && bytes <= 48 * 1024; per++)
                                n += per == 0 ||
                                     (bytes * per <= 96 * 1024 && bx[i] * by * per <= 2048);
                        }
    ot_where_count count;
    int64_t digit[MOST_KNOBS];
    const double began = processor_ms();
    ot_where *w = open_space(&s);
    assert_true(ot_where_counted(w, &count));
    const double counted = processor_ms();
    ot_where_nth(w, count.valid / 3, digit);
    print_message("%lld valid, made and counted in %.2f ms, first draw %.3f ms\n",
                  (long long)count.valid, counted - began, processor_ms() - counted);
    assert_int_equal(count.valid, n);
    assert_true(holds(&s, digit));
    assert_int_equal(ot_where_rank(w, digit), count.valid / 3);
    close_space(&s, w);
}

/* 10^12 combinations and ten constraints: nothing of that size is ever held. */
static void a_million_millions(void **state)
{
    (void)state;
    space s = {0};
    static const char *const name[] = {"a", "b", "c", "d", "e", "f",
                                       "g", "h", "i", "j", "k", "l"};
    for (int k = 0; k < 12; k++)
        add_knob(&s, name[k], "[1, 2, 3, 4, 6, 8, 12, 16, 24, 32]");
    add_rule(&s, "a * b * c <= 512");
    add_rule(&s, "d % a == 0");
    add_rule(&s, "e % b == 0");
    add_rule(&s, "f % c == 0");
    add_rule(&s, "a * b >= 8");
    add_rule(&s, "(d * e + e * f) * 4 <= N * 64");
    add_rule(&s, "g * h <= d * 4");
    add_rule(&s, "i + j + k + l <= 32");
    add_rule(&s, "i == 1 or j > 1");
    add_rule(&s, "k <= l");
    const double began = processor_ms();
    ot_where *w = open_space(&s);
    ot_where_count count;
    uint64_t rng = 7;
    int64_t digit[MOST_KNOBS];
    struct rusage used;
    assert_true(ot_where_counted(w, &count));
    ot_where_nth(w, optune_random_below(&rng, count.valid), digit);
    getrusage(RUSAGE_SELF, &used);
    print_message("%lld of 10^12 valid, first draw after %.2f ms, %ld KB\n",
                  (long long)count.valid, processor_ms() - began, used.ru_maxrss);
    assert_true(count.valid > 0 && count.valid < 1000000000000);
    for (int i = 0; i < 1000; i++) {
        const int64_t k = optune_random_below(&rng, count.valid);
        ot_where_nth(w, k, digit);
        assert_true(holds(&s, digit));
        assert_int_equal(ot_where_rank(w, digit), k);
    }
    close_space(&s, w);
}

/* One knob follows from the others: its values are found, not tried. */
static void what_follows_from_the_others(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        int64_t valid;
    } known[] = {
        {"a * b == c", 7069}, /* pairs of at most 1000 */
        {"a == b * c", 7069},
        {"a * b == c + 1", 7074},
        {"a * a + b * b == c * c", 2 * 881}, /* Pythagorean triples */
        {"a * b * c == 1000", 100},
        {"c == a * b or a == b * c", 7069 * 2 - 1000},
        {"a + b == c", 499500},
    };
    for (int i = 0; i < OT_COUNT(known); i++) {
        space s = {0};
        add_knob(&s, "a", "list(range(1, 1001))");
        add_knob(&s, "b", "list(range(1000, 0, -1))");
        add_knob(&s, "c", "list(range(1, 1001))");
        add_rule(&s, known[i].rule);
        ot_where *w = open_space(&s);
        ot_where_count count;
        int64_t digit[MOST_KNOBS];
        assert_true(ot_where_counted(w, &count));
        assert_int_equal(count.valid, known[i].valid);
        for (int64_t k = 0; k < count.valid; k += count.valid / 7) {
            ot_where_nth(w, k, digit);
            assert_true(holds(&s, digit));
            assert_int_equal(ot_where_rank(w, digit), k);
        }
        close_space(&s, w);
    }
}

/* What no rule looks at stays as it is asked for. */
static void near_what_is_wanted(void **state)
{
    (void)state;
    space s = {0};
    add_knob(&s, "a", "list(range(100))");
    add_knob(&s, "b", "list(range(100))");
    add_knob(&s, "free", "list(range(100))");
    add_rule(&s, "a % 10 == 3 and b == 2 * a");
    ot_where *w = open_space(&s);
    int64_t digit[MOST_KNOBS] = {37, 72, 50};
    assert_true(ot_where_near(w, 1 << 20, digit));
    assert_int_equal(digit[0], 33);
    assert_int_equal(digit[1], 66);
    assert_int_equal(digit[2], 50);
    digit[0] = 0;
    assert_false(ot_where_near(w, 2, digit));
    assert_int_equal(digit[0], 0);
    close_space(&s, w);
}

/* Nothing that two beginnings share: too many states, and still a valid config. */
static void what_cannot_be_counted(void **state)
{
    (void)state;
    space s = {0};
    static const char *const name[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    for (int k = 0; k < 10; k++)
        add_knob(&s, name[k], "[i * i * i + 7 * i for i in range(16)]");
    add_rule(&s,
             "(a * 65537 + b * 4294967311 + c * 274177 + d * 67280421310721 + e * 8589935681 +"
             "f * 10000000019 + g * 34359738421 + h * 500000003 + i * 999983 + j * 7919) %"
             "1000003 <= 50000");
    ot_where *w = open_space(&s);
    ot_where_count count;
    uint64_t rng = 7;
    int64_t digit[MOST_KNOBS];
    assert_false(ot_where_counted(w, &count));
    assert_true(ot_where_some(w, 1 << 24, &rng, digit));
    assert_true(holds(&s, digit));
    close_space(&s, w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_rule),
        cmocka_unit_test(rules_of_all_kinds),
        cmocka_unit_test(random_rules),
        cmocka_unit_test(as_many_as_a_loop_says),
        cmocka_unit_test(a_million_millions),
        cmocka_unit_test(what_follows_from_the_others),
        cmocka_unit_test(near_what_is_wanted),
        cmocka_unit_test(what_cannot_be_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
