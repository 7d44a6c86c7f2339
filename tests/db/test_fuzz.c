/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines and stored values, spoilt at random: nothing crashes or reads out of bounds (each input
 * lies in memory of exactly its size), and whatever is believed is sound and survives its own
 * line. Short as a test; `db_test_fuzz SECONDS [SEED]` goes on for longer. Every run has another
 * seed, which it prints.
 */
#include "support/check.h"

#include <math.h>
#include <time.h>

#include "db/line.h"
#include "support/records.h"
#include "target/target.h"

static double seconds = 2;
static uint64_t rng;

static int64_t below(int64_t n)
{
    return optune_random_below(&rng, n);
}

/* ---- what is spoilt ---------------------------------------------------------------------- */

enum { OURS = 6 };
static const char *const foreign[] = {
    "{\"input\": [\"llvm -keys=cpu -mcpu=core-avx2 -mtriple=x86_64-linux-gnu\", "
    "\"dense_pack.x86\", [[\"TENSOR\", [32, 256], \"float32\"], [\"TENSOR\", [128, 256], "
    "\"float32\"], null, \"float32\"], {}], \"config\": {\"index\": 17715, \"code_hash\": "
    "null, "
    "\"entity\": [[\"tile_y\", \"sp\", [-1, 2, 4]], [\"u\", \"ot\", true], [\"f\", \"ot\", "
    "0.5], "
    "[\"ann\", \"an\", [\"vec\", \"none\"]], [\"o\", \"re\", [1, 0]]]}, \"result\": [[0.00011, "
    "0.00012], 0, 0.61, 1795337056.4], \"version\": 0.2, \"tvm_version\": \"0.19.0\"}",
    "{\"i\": [\"llvm -device=arm_cpu\", \"topi_nn_conv2d\", [1], {}, [\"conv2d\"], {\"i\": 5, "
    "\"t\": \"winograd\", \"c\": null, \"e\": [[\"a\", \"an\", [\"none\"]]]}], \"r\": "
    "[[1000000000.0], 4, 1.5, 9.5], \"v\": 0.1}",
    "{\"input\": [{\"kind\": \"cuda\", \"arch\": \"sm_90\", \"keys\": [\"cuda\", \"gpu\"]}, "
    "\"x\", "
    "[], {}], \"config\": {\"index\": -1, \"entity\": []}, \"result\": [[1e-3], 0, 1, 2], "
    "\"version\": 0.2}",
    "{\"input\":[\"cpu\",\"x\",[[4,16]],{}],\"config\":{\"index\":0,\"entity\":[]},\"result\":"
    "[[1e-3],0,1.0,2.0],\"version\":0.2}",
    "# optune device {\"key\":\"x\",\"cores\":8,\"max_block_x\":1024,\"l3\":33554432}",
    "# a comment",
};

static ot_text seed_line(void)
{
    ot_text line = {0};
    const int64_t which = below(OURS + OT_COUNT(foreign));
    if (which < OURS) {
        optune_record record = some_record((int)which);
        if (which % 3 == 1) {
            record.outcome = OPTUNE_OUTCOME_CRASH;
            record.message = "signal 11\nmore";
            record.n_samples = 0;
            record.cost = record.low = record.high = INFINITY;
        }
        ot_record_line(&record, &line);
        line.n--; /* its newline */
    } else {
        ot_text_add(&line, foreign[which - OURS]);
    }
    return line;
}

static const char *const tokens[] = {
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "{",
    "}",
    "[",
    "]",
    "[[[[[[[[",
    "]]]]]]]]",
    ",",
    ":",
    "null",
    "true",
    "-",
    "-1",
    "0",
    "1e-300",
    "1e308",
    "1e999",
    "-0.0",
    "5e-324",
    "9223372036854775807",
    "9223372036854775808",
    "99999999999999999999999",
    "0.1,",
    "\xff",
    "\xef\xbb\xbf",
    "\xc3\xa9",
    "\r",
    "\t",
    "\x7f",
    "\x01",
    "\"optune\":{\"v\":1},",
    "\"input\":",
    "\"cost\":1,",
    "NaN",
    "Infinity",
    " -mcpu=",
    "'",
    "# optune device {",
    "1,5",
};

/* Puts n bytes in place of `cut` ones. */
static void splice(ot_text *t, size_t at, size_t cut, const char *bytes, size_t n)
{
    ot_text made = {0};
    ot_text_add_n(&made, t->s, at);
    ot_text_add_n(&made, bytes, n);
    ot_text_add_n(&made, t->s + at + cut, t->n - at - cut);
    ot_text_release(t);
    *t = made;
}

/* Where a number stands, or anywhere. */
static size_t number_at(const ot_text *t, size_t *length)
{
    const size_t from = (size_t)below((int64_t)t->n + 1);
    for (size_t i = from; i < t->n; i++) {
        *length = strspn(t->s + i, "0123456789.e-+");
        if (*length)
            return i;
    }
    *length = 0;
    return from;
}

static void spoil(ot_text *t)
{
    const size_t at = (size_t)below((int64_t)t->n + 1);
    const size_t left = t->n - at, cut = (size_t)below(left < 40 ? (int64_t)left + 1 : 40);
    const char *token = tokens[below(OT_COUNT(tokens))];
    size_t length;
    char byte = (char)below(256);
    switch (below(8)) {
    case 0:
        splice(t, at, left > 0, &byte, left > 0);
        break;
    case 1:
        splice(t, at, 0, token, strlen(token));
        break;
    case 2:
        splice(t, at, cut, "", 0);
        break;
    case 3: {
        const size_t where = number_at(t, &length);
        splice(t, where, length, token, strlen(token));
        break;
    }
    case 4:
        splice(t, at, 0, "\0", 1);
        break;
    case 5: { /* a piece twice */
        char piece[40];
        memcpy(piece, t->s + at, cut);
        splice(t, (size_t)below((int64_t)t->n + 1), 0, piece, cut);
        break;
    }
    case 6: { /* another digit */
        const size_t where = number_at(t, &length);
        if (length)
            t->s[where + (size_t)below((int64_t)length)] = (char)('0' + below(10));
        break;
    }
    default:
        splice(t, at, left, "", 0);
    }
}

/* ---- what must hold ---------------------------------------------------------------------- */

typedef struct tally {
    int64_t inputs, ours, foreign, devices, problems, stored, damaged;
} tally;

static void believed(const optune_record *record, const ot_text *input)
{
    char why[OPTUNE_WHY_SIZE] = "";
    if (!ot_record_sound(record, why))
        fail_msg("believed, and %s: %.*s", why, (int)input->n, input->s);
    ot_text line = {0};
    ot_arena arena = {0};
    ot_log_line *back = ot_alloc(sizeof *back);
    json_t *root = NULL;
    ot_record_line(record, &line);
    assert_true(line.n <= OT_LONGEST_LINE);
    assert_true(ot_line_parse(line.s, line.n - 1, "x", NULL, &arena, back, &root));
    if (back->problem)
        fail_msg("its own line: %s: %s", back->problem, line.s);
    const ot_digest a = ot_record_digest(record), b = ot_record_digest(&back->record);
    if (memcmp(a.byte, b.byte, sizeof a.byte) != 0)
        fail_msg("its own line says another record: %s", line.s);
    json_decref(root);
    free(back);
    ot_arena_release(&arena);
    ot_text_release(&line);
}

static void one_line(tally *t)
{
    ot_text text = seed_line();
    for (int64_t n = below(6); n >= 0; n--)
        spoil(&text);
    char *exact = malloc(text.n ? text.n : 1);
    memcpy(exact, text.s, text.n);
    ot_arena arena = {0};
    ot_log_line *line = ot_alloc(sizeof *line);
    json_t *root = NULL;
    t->inputs++;
    if (ot_line_parse(exact, text.n, "x", NULL, &arena, line, &root)) {
        if (line->problem) {
            t->problems++;
            assert_true(strlen(line->problem) > 0);
        } else if (line->device) {
            t->devices++;
        } else if (line->ours) {
            t->ours++;
            believed(&line->record, &text);
        } else {
            optune_target target;
            t->foreign++;
            ot_target_from_tvm(line->target_text, &target, NULL, NULL, NULL);
            assert_true(ot_record_figures(&line->record, NULL));
        }
    }
    json_decref(root);
    free(line);
    free(exact);
    ot_arena_release(&arena);
    ot_text_release(&text);
}

/* A stored value with some bytes changed and its checksum made right again. */
static void one_value(tally *t)
{
    optune_record record = some_record((int)below(9)), back;
    ot_text bytes = {0};
    ot_arena arena = {0};
    assert_int_equal(ot_record_encode(&record, &bytes, NULL), OPTUNE_OK);
    for (int64_t n = below(4); n >= 0; n--) {
        const size_t at = 16 + (size_t)below((int64_t)bytes.n - 16);
        const uint64_t value = below(2) ? optune_random(&rng) : UINT64_MAX;
        const size_t size = (size_t)1 << below(4);
        memcpy(bytes.s + at, &value, size < bytes.n - at ? size : bytes.n - at);
    }
    const size_t n = below(8) ? bytes.n : (size_t)below((int64_t)bytes.n + 1);
    if (n >= 16) {
        uint32_t head[2];
        memcpy(head, bytes.s, 8);
        const uint64_t parts[3] = {head[0], head[1], ot_hash64(bytes.s + 16, n - 16)};
        const uint64_t sum = ot_hash64(parts, sizeof parts);
        memcpy(bytes.s + 8, &sum, 8);
    }
    char *exact = malloc(n ? n : 1);
    memcpy(exact, bytes.s, n);
    t->inputs++;
    const int status = ot_record_decode(exact, n, &arena, &back, NULL);
    assert_true(status == OPTUNE_OK || status == OPTUNE_EDAMAGED);
    t->damaged += status < 0;
    if (status == OPTUNE_OK) {
        t->stored++;
        assert_true(ot_record_figures(&back, NULL));
        if (ot_record_sound(&back, NULL))
            believed(&back, &bytes);
        ot_record_digest(&back);
    }
    free(exact);
    ot_text_release(&bytes);
    ot_arena_release(&arena);
}

static void test_spoilt(void **state)
{
    (void)state;
    tally t = {0};
    const double start = ot_now();
    /* As many as it takes to see every kind, whatever the time. */
    for (int64_t i = 0; i < 20000 || ot_now() - start < seconds; i++)
        if (i % 3)
            one_line(&t);
        else
            one_value(&t);
    print_message("%lld inputs: %lld lines of ours believed, %lld of others, %lld devices, "
                  "%lld problems; %lld values believed, %lld damaged\n",
                  (long long)t.inputs, (long long)t.ours, (long long)t.foreign,
                  (long long)t.devices, (long long)t.problems, (long long)t.stored,
                  (long long)t.damaged);
    assert_true(t.ours && t.foreign && t.devices && t.problems && t.stored && t.damaged);
}

/* Deep nesting, endless names, many members: refused or read, in memory and time that are small. */
static void test_extremes(void **state)
{
    (void)state;
    static const char *const units[] = {"[",  "{\"a\":", "[1,", "\"a\",",
                                        "1,", "\\u0041", " ",   "#"};
    for (int i = 0; i < OT_COUNT(units); i++)
        for (int wrapped = 0; wrapped < 2; wrapped++) {
            ot_text text = {0};
            ot_arena arena = {0};
            ot_log_line *line = ot_alloc(sizeof *line);
            json_t *root = NULL;
            ot_text_add(&text, wrapped ? "{\"input\":[\"llvm\",\"x\",[" : "");
            while (text.n < OT_LONGEST_LINE - 100)
                ot_text_add(&text, units[i]);
            ot_text_add(&text, wrapped ? "0],{}]}" : "");
            if (ot_line_parse(text.s, text.n, "x", NULL, &arena, line, &root))
                assert_non_null(line->problem);
            json_decref(root);
            free(line);
            ot_arena_release(&arena);
            ot_text_release(&text);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spoilt),
        cmocka_unit_test(test_extremes),
    };
    if (argc > 1 && !ot_parse_real(argv[1], &seconds))
        return 2;
    rng = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
    print_message("db_test_fuzz %g %llu\n", seconds, (unsigned long long)rng);
    return cmocka_run_group_tests_name("db/fuzz", tests, NULL, NULL);
}
