/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune tune FILE`: an example in C, what is known of it afterwards, from any process, and what
 * is said of files that were edited, or that are gone. Nothing depends on which config is fastest.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/brought.h"

#define MATMUL "matmul(f32[192,192], f32[192,192])"

static void a_loop_nest_in_c(void **state)
{
    (void)state;
    outcome o =
        optune("tune", EXAMPLE("matmul.c"), "--trials", "3", "--time", "60", "--json", ONE);
    check_contains(ot_text_str(&o.err),
                   "matmul: 608 of 800 configs are valid; outputs are checked "
                   "against the reference function 'plain'");
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 0);
    assert_int_equal(json_integer_value(json_object_get(first_workload(json), "new_trials")),
                     3);
    assert_string_equal(text_at(first_workload(json), "call"), MATMUL);
    assert_string_equal(text_at(first_workload(json), "standard"), "matmul.reference");
    json_decref(json);
    /* It goes on where it was, and the answer is there for whoever asks. */
    o = optune("tune", EXAMPLE("matmul.c"), "--trials", "3", "--time", "60", ONE);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "0 new trials");
    check_contains(ot_text_str(&o.out), "best of matmul: TILE_M=");
    check_contains(ot_text_str(&o.out), "checked against matmul.reference, within 0.0001 +");
    release(&o);
    o = optune("query", MATMUL, "--json", ONE);
    json = json_of(&o);
    assert_string_equal(text_at(json, "impl"), "matmul.c");
    json_decref(json);
    o = optune("select", MATMUL, "--explain", ONE);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "tuned");
    release(&o);
    o = optune("export", "matmul", "-o", "-", ONE);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "TILE_K");
    release(&o);
    refused(2, "--format is header, json or csv", "tune", EXAMPLE("matmul.c"), "--format",
            "xml");
}

/* What a parameter holds is there again before every run: one that ignores it is wrong, and so are
 * one that keeps what it made and one that adds twice. */
static void read_and_written_in_c(void **state)
{
    (void)state;
    command_write(
        "adds.c",
        "// optune: kernel adds(x: f32[N], inout y: f32[N], inout calls: i32[1])\n"
        "// optune: size N = 300\n// optune: knob MODE = [0, 1, 2, 3]\n"
        "// optune: reference plain\n"
        "static float kept[N];\n"
        "void adds(const float *x, float *y, int *calls)\n{\n    calls[0]++;\n"
        "    for (int i = 0; i < N; i++) {\n"
        "        if (MODE == 0) y[i] += x[i];\n"
        "        if (MODE == 1) y[i] = x[i];\n"
        "        if (MODE == 2) { if (!kept[i]) kept[i] = y[i]; y[i] = kept[i] += x[i]; }\n"
        "        if (MODE == 3) y[i] += 2 * x[i];\n    }\n}\n"
        "void plain(const float *x, float *y, int *calls)\n"
        "{ calls[0]++; for (int i = 0; i < N; i++) y[i] += x[i]; }\n");
    outcome o =
        optune("tune", command_path("adds.c"), "--trials", "4", "--time", "60", "--json", ONE);
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 3);
    assert_string_equal(text_at(first_workload(json), "call"),
                        "adds(f32[300], f32[300], i32[1])");
    json_decref(json);
    o = optune("tune", command_path("adds.c"), "--format", "header", ONE);
    check_contains(ot_text_str(&o.out), "#define MODE 0");
    release(&o);
    /* As C of its own: what comes in stays as it is, unless it is the memory of what goes out. */
    o = optune("emit", "adds(f32[300], f32[300], i32[1])", "-o", command_path("in_place"), ONE);
    char stem[300], command[1200];
    assert_int_equal(o.code, 0);
    assert_int_equal(sscanf(ot_text_str(&o.out), "%299[^.\n].c", stem), 1);
    release(&o);
    command_write("in_place.c",
                  "#include <stddef.h>\n#include HEADER\n"
                  "int main(void)\n{\n    static float x[300], y[300], z[300];\n"
                  "    int before = 4, after = 0;\n    x[7] = 2, y[7] = 3;\n"
                  "    const void *const in[] = {x, y, &before};\n"
                  "    void *out[] = {z, &after};\n"
                  "    RUN(NULL, in, out);\n    RUN(NULL, in, out);\n"
                  "    if (z[7] != 5 || y[7] != 3 || before != 4 || after != 5)\n"
                  "        return 1;\n"
                  "    out[0] = y;\n    RUN(NULL, in, out);\n    RUN(NULL, in, out);\n"
                  "    return y[7] != 7;\n}\n");
    ot_format(command, sizeof command,
              "cc -DHEADER='\"%s.h\"' -DRUN=%s_run -o %s/changed %s/in_place.c %s.c -lm && "
              "%s/changed",
              stem, strrchr(stem, '/') + 1, command_dir, command_dir, stem, command_dir);
    assert_int_equal(system(command), 0);
}

#define SCALE                                                                                  \
    "// optune: kernel scale2(x: f32[N], out y: f32[N])\n"                                     \
    "// optune: size N = 64\n"                                                                 \
    "// optune: knob STEP = [1, 2]\n"
#define BODY                                                                                   \
    "void scale2(const float *x, float *y)\n"                                                  \
    "{\n    for (int i = 0; i < N; i += STEP)\n        for (int k = 0; k < STEP; k++)\n"       \
    "            y[i + k] = 2 * x[i + k];\n}\n"
/* A call of more text than optune_brought has room for. */
static void a_call_of_many_inputs(void **state)
{
    (void)state;
    enum { INPUTS = 60 };
    ot_text told = {0}, takes = {0}, sum = {0}, text = {0};
    for (int i = 0; i < INPUTS; i++) {
        ot_text_printf(&told, "x%d: f32[1,1,1,1,1,1,1,4], ", i);
        ot_text_printf(&takes, "const float *x%d, ", i);
        ot_text_printf(&sum, "%sx%d[i]", i ? " + " : "", i);
    }
    ot_text_printf(&text,
                   "// optune: kernel add_all(%sout y: f32[4])\n// optune: knob U = [1, 2]\n"
                   "void add_all(%sfloat *y)\n{\n    for (int i = 0; i < 4; i++)\n"
                   "        y[i] = %s;\n}\n",
                   ot_text_str(&told), ot_text_str(&takes), ot_text_str(&sum));
    command_write("add_all.c", ot_text_str(&text));
    outcome o = optune("tune", command_path("add_all.c"), "--trials", "2", "--json", ONE);
    assert_int_equal(o.code, 0);
    json_t *json = json_loads(ot_text_str(&o.out), 0, NULL);
    assert_true(strlen(text_at(first_workload(json), "call")) >= OPTUNE_TEXT_SIZE);
    json_decref(json);
    release(&o);
    ot_text *const all[] = {&told, &takes, &sum, &text};
    for (int i = 0; i < OT_COUNT(all); i++)
        ot_text_release(all[i]);
}

static void an_edit_makes_records_stale(void **state)
{
    (void)state;
    char file[512];
    snprintf(file, sizeof file, "%s", command_path("scale2.c"));
    command_write("scale2.c", SCALE BODY);
    outcome o = optune("tune", file, QUICK);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.err),
                   "2 of 2 configs are valid; outputs are checked against the "
                   "output of its own default config");
    release(&o);
    o = optune("query", "scale2(f32[64])", ONE);
    assert_int_equal(o.code, 0);
    release(&o);
    /* A file that is remembered and broken is the matter of its own operator only. */
    command_write("scale2.c", SCALE "// optune: knob\n" BODY);
    o = optune("run", "relu", "relu(f32[64])", QUICK);
    expect("relu", &o, 0, "operator 'scale2' was brought from");
    command_write("scale2.c", SCALE BODY "/* edited */\n");
    refused(3, "has changed: digest was", "query", "scale2(f32[64])", ONE);
    unlink(file);
    refused(3, "operator 'scale2' was brought from", "query", "scale2(f32[64])", ONE);
    unlink(command_path("brought/scale2"));
    refused(3, "no operator 'scale2'", "query", "scale2(f32[64])", ONE);
}

/* The file that had the name is told of, where it is still there. */
static void two_files_of_one_name(void **state)
{
    (void)state;
    char first[512], second[512];
    snprintf(first, sizeof first, "%s", command_path("twice.c"));
    command_write("twice.c", SCALE "// optune: name twice\n" BODY);
    outcome o = optune("tune", first, QUICK);
    assert_int_equal(o.code, 0);
    assert_null(strstr(ot_text_str(&o.err), "until now"));
    release(&o);
    snprintf(second, sizeof second, "%s", command_path("again.c"));
    command_write("again.c", SCALE "// optune: name twice\n" BODY);
    o = optune("tune", second, QUICK);
    expect("twice", &o, 0, "operator 'twice' was brought from '");
    o = optune("tune", second, QUICK);
    assert_null(strstr(ot_text_str(&o.err), "until now"));
    release(&o);
    unlink(command_path("brought/twice"));
}

/* A folder has the name of the note. */
static void a_note_that_cannot_be_written(void **state)
{
    (void)state;
    command_write("noted.c", SCALE "// optune: name noted\n" BODY);
    assert_int_equal(mkdir(command_path("brought/noted"), 0700), 0);
    char file[512];
    snprintf(file, sizeof file, "%s", command_path("noted.c"));
    refused(1, "; --db DIR, or OPTUNE_DB, names another database", "tune", file, QUICK);
    assert_int_equal(rmdir(command_path("brought/noted")), 0);
}

/* First values that no constraint takes, nor any that differs in three knobs. */
static void first_values_far_from_valid(void **state)
{
    (void)state;
    char file[512];
    snprintf(file, sizeof file, "%s", command_path("far.c"));
    command_write("far.c",
                  "// optune: kernel far(x: f32[N], out y: f32[N])\n// optune: size N = 64\n"
                  "// optune: knob A = [1, 2, 3], B = [1, 2, 3], C = [1, 2, 3], D = [1, 2, 3]\n"
                  "// optune: where min(A, B, C, D) > 1\n"
                  "void far(const float *x, float *y)\n"
                  "{\n    for (int i = 0; i < N; i++)\n        y[i] = 2 * x[i];\n}\n");
    outcome o = optune("tune", file, QUICK);
    assert_null(strstr(ot_text_str(&o.err), "refuses"));
    expect("far", &o, 0, "far: 16 of 81 configs are valid");
    /* Where values close to the first ones lead nowhere for long, too. */
    snprintf(file, sizeof file, "%s", command_path("farther.c"));
    command_write(
        "farther.c",
        "// optune: kernel farther(x: f32[N], out y: f32[N])\n// optune: size N = 64\n"
        "// optune: knob A = list(range(1, 1001)), B = list(range(1, 1001))\n"
        "// optune: knob C = list(range(1, 1001))\n"
        "// optune: where A * B == C and A > 1 and B > 1 and C % 7 == 3\n"
        "void farther(const float *x, float *y)\n"
        "{\n    for (int i = 0; i < N; i++)\n        y[i] = 2 * x[i];\n}\n");
    o = optune("tune", file, QUICK);
    assert_null(strstr(ot_text_str(&o.err), "refuses"));
    expect("farther", &o, 0, "of 1000000000 configs are valid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_nest_in_c),
        cmocka_unit_test(read_and_written_in_c),
        cmocka_unit_test(a_call_of_many_inputs),
        cmocka_unit_test(an_edit_makes_records_stale),
        cmocka_unit_test(two_files_of_one_name),
        cmocka_unit_test(a_note_that_cannot_be_written),
        cmocka_unit_test(first_values_far_from_valid),
    };
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
