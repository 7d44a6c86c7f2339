/* SPDX-License-Identifier: Apache-2.0 */
/* `optune tune FILE`: what is right of a kernel that is brought, and kernels and references that
 * are wrong. */
#include <unistd.h>

#include "support/brought.h"

/* An index that leaves its range would crash. */
static void inputs_within_a_range(void **state)
{
    (void)state;
    char file[512];
    snprintf(file, sizeof file, "%s", command_path("look_up.c"));
    command_write(
        "look_up.c",
        "// optune: kernel look_up(i: i32[N] from 0 to M - 1, x: f32[M] from 1 to 2,\n"
        "// optune:               out y: f32[N])\n"
        "// optune: size N = 64, M = 4096\n"
        "// optune: knob STEP = [1, 2]\n"
        "// optune: reference plain\n"
        "void look_up(const int *i, const float *x, float *y)\n"
        "{\n    for (int k = 0; k < N; k++)\n        y[k] = x[i[k]];\n}\n"
        "void plain(const int *i, const float *x, float *y)\n"
        "{\n    for (int k = 0; k < N; k++) {\n"
        "        y[k] = x[i[k]];\n"
        "        if (i[k] < 0 || i[k] >= M || y[k] < 1 || y[k] > 2)\n"
        "            *(volatile int *)8 = 1;\n    }\n}\n");
    outcome o = optune("tune", file, QUICK);
    expect("look_up", &o, 0, "look_up: 2 of 2 configs are valid");
}

/* The file, what it is tuned with, and what its table or stderr then says. */
static void bad(const char *name, const char *text, int code, const char *says)
{
    char file[512];
    snprintf(file, sizeof file, "%s", command_path(name));
    command_write(name, text);
    outcome o = optune("tune", file, QUICK);
    ot_text_add(&o.err, ot_text_str(&o.out));
    expect(name, &o, code, says);
    ot_text path = {0};
    ot_text_printf(&path, "brought/%.*s", (int)strcspn(name, "."), name);
    unlink(command_path(ot_text_str(&path)));
    ot_text_release(&path);
}

/* A reference has the flags that say what there is, and none that say how to compute; what cannot
 * be compiled says where. */
static void references_with_flags(void **state)
{
    (void)state;
    char file[512];
    snprintf(file, sizeof file, "%s", command_path("flagged.c"));
    command_write(
        "flagged.c",
        "// optune: kernel flagged(x: f32[N], out y: f32[N])\n"
        "// optune: size N = 64\n// optune: knob A = [1, 2]\n"
        "// optune: reference plain\n"
        "// optune: flags -DFACTOR=2 -latomic -ffast-math\n"
        "#if defined OPTUNE_REFERENCE == defined __FAST_MATH__\n#error flags\n#endif\n"
        "void flagged(const float *x, float *y)\n"
        "{ for (int i = 0; i < N; i++) y[i] = x[i] + x[i]; }\n"
        "void plain(const float *x, float *y)\n{\n"
        "    static __int128 factor = FACTOR;\n"
        "    const float f = __atomic_load_n(&factor, __ATOMIC_SEQ_CST);\n"
        "    for (int i = 0; i < N; i++) y[i] = f * x[i];\n}\n");
    outcome o = optune("tune", file, QUICK);
    expect("flagged", &o, 0, "flagged: 2 of 2 configs are valid");
    bad("lost.c",
        "// optune: kernel lost(x: f32[N], out y: f32[N])\n// optune: size N = 64\n"
        "// optune: knob A = [1, 2]\n// optune: reference plain\n"
        "void lost(const float *x, float *y) { y[0] = x[0]; }\n"
        "void plain(const float *x, float *y) { y[0] = z[0]; }\n",
        1, "it cannot be compiled: lost.c:6:47: error: 'z' undeclared");
    bad("taken.c",
        "// optune: kernel taken(x: f32[N], out y: f32[N])\n// optune: size N = 64\n"
        "// optune: knob A = [1, 2]\n// optune: reference plain\n"
        "int other(int N);\n"
        "void taken(const float *x, float *y) { y[0] = x[0]; }\n"
        "void plain(const float *x, float *y) { y[0] = x[0]; }\n",
        1, "(some code has another use for the name of this macro: #define N 64)");
    bad("word.c",
        "// optune: kernel word(x: f32[N], out y: f32[N])\n// optune: size N = 64\n"
        "// optune: knob A = [ij, ji]\nvoid word(const float *x, float *y) { y[0] = x[0]; }\n",
        2, "word.c:3:22: 'ij' has no value here; a word is written in quotes");
}

/* What the reference does not write is told of, and to be left by every config; what it writes is
 * to be written, also where that is what a buffer is full of before. */
static void references_that_leave_something(void **state)
{
    (void)state;
    char file[512];
    snprintf(file, sizeof file, "%s", command_path("border.c"));
    command_write("border.c",
                  "// optune: kernel border(x: f32[N], out y: f32[N], out i: i32[N])\n"
                  "// optune: size N = 64\n// optune: knob MODE = [0, 2, 3, 4, 5]\n"
                  "// optune: reference right\n"
                  "void border(const float *x, float *y, int *i)\n{\n"
                  "    for (int k = 1; k < N - 1; k++) {\n"
                  "        if (k != 5 || MODE != 5) y[k] = k == 5 ? 0.0f / 0 : 2 * x[k];\n"
                  "        if (k != 6 || MODE != 2) i[k] = k == 6 ? -1 : k;\n    }\n"
                  "    if (MODE == 3) y[0] = 0;\n"
                  "    if (MODE == 4) i[0] = 7;\n}\n"
                  "void right(const float *x, float *y, int *i)\n{\n"
                  "    for (int k = 1; k < N - 1; k++) {\n"
                  "        y[k] = k == 5 ? 0.0f / 0 : 2 * x[k];\n"
                  "        i[k] = k == 6 ? -1 : k;\n    }\n}\n");
    outcome o = optune("tune", file, "--trials", "5", "--time", "60", "--json", ONE);
    check_contains(ot_text_str(&o.err),
                   "'border.reference' writes nothing to 2 of the 64 elements of output 0");
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 4);
    assert_int_equal(json_integer_value(json_object_get(first_workload(json), "unwritten")), 4);
    json_decref(json);
    o = optune("tune", file, "--format", "header", ONE);
    check_contains(ot_text_str(&o.out), "#define MODE 0");
    release(&o);
    unlink(command_path("brought/border"));
    /* Infinity is no number that another one is near to. */
    command_write(
        "infinite.c",
        "// optune: kernel infinite(x: f32[N], out y: f32[N])\n// optune: size N = 8\n"
        "// optune: knob Z = [0, 1]\n// optune: reference right\n"
        "void infinite(const float *x, float *y)\n"
        "{ for (int i = 0; i < N; i++) y[i] = Z ? 5 : 1.0f / 0; }\n"
        "void right(const float *x, float *y)\n"
        "{ for (int i = 0; i < N; i++) y[i] = 1.0f / 0; }\n");
    o = optune("tune", command_path("infinite.c"), QUICK);
    ot_text_add(&o.err, ot_text_str(&o.out));
    expect("infinite", &o, 0, "best of infinite: Z=0");
    unlink(command_path("brought/infinite"));
}

/* A matrix of 2 by 3 in a file of NumPy's: its version, the type in NumPy's words, its shape, then
 * `n` bytes. */
static void write_npy(const char *name, int version, const char *type, bool columns,
                      const char *shape, const void *bytes, size_t n)
{
    ot_text text = {0}, header = {0};
    ot_text_printf(&header, "{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n", type,
                   columns ? "True" : "False", shape);
    const char head[] = {(char)0x93,     'N', 'U', 'M', 'P', 'Y', (char)version, 0,
                         (char)header.n, 0,   0,   0};
    ot_text_add_n(&text, head, version == 1 ? 10 : 12);
    ot_text_add_n(&text, header.s, header.n);
    ot_text_add_n(&text, bytes, n);
    optune_err err;
    check_ok(ot_write_file(command_path(name), text.s, text.n, &err));
    ot_text_release(&text);
    ot_text_release(&header);
}

/* Of what files hold the default config has to give what files say; then others are held to it. */
static void what_files_say(void **state)
{
    (void)state;
    static const float rows[6] = {1, 2, 3, 4, 5, 6}, columns[6] = {1, 4, 2, 5, 3, 6};
    static const double twice[6] = {2, 4, 6, 8, 10, 12};
    static const float after[6] = {3, 6, 9, 12, 15, 18};
    static const unsigned char high[24] = {0x3f, 0x80, 0, 0, 0x40, 0,    0, 0,
                                           0x40, 0x40, 0, 0, 0x40, 0x80, 0, 0,
                                           0x40, 0xa0, 0, 0, 0x40, 0xc0, 0, 0};
#define OF_FILES(x, y, z)                                                                      \
    "// optune: kernel files(x: f32[2,N] = \"" x "\",\n"                                       \
    "// optune:     out y: f64[2,N] = \"" y "\", inout z: f32[2,N] = \"raw.bin\" then \"" z    \
    "\")\n"                                                                                    \
    "// optune: size N = 3\n// optune: knob V = [0, 1]\n"                                      \
    "void files(const float *x, double *y, float *z)\n"                                        \
    "{ for (int i = 0; i < 2 * N; i++) { y[i] = 2 * x[i]; z[i] += 2 * x[i]; } }\n"
    write_npy("rows.npy", 1, "'<f4'", false, "(2, 3)", rows, sizeof rows);
    write_npy("columns.npy", 2, "'<f4'", true, "(2, 3)", columns, sizeof columns);
    write_npy("high.npy", 3, "'>f4'", false, "(2, 3)", high, sizeof high);
    write_npy("twice.npy", 1, "'<f8'", false, "(2, 3)", twice, sizeof twice);
    write_npy("short.npy", 1, "'<f4'", false, "(2, 3)", rows, sizeof rows - 1);
    write_npy("flat.npy", 1, "'<f4'", false, "(6,)", rows, sizeof rows);
    write_npy("records.npy", 1, "[('a', '<f4')]", false, "(6,)", rows, sizeof rows);
    write_npy("after.npy", 1, "'<f4'", false, "(2, 3)", after, sizeof after);
    optune_err err;
    check_ok(ot_write_file(command_path("raw.bin"), (const char *)rows, sizeof rows, &err));
    static const char *const good[] = {OF_FILES("rows.npy", "twice.npy", "after.npy"),
                                       OF_FILES("columns.npy", "twice.npy", "after.npy"),
                                       OF_FILES("high.npy", "twice.npy", "after.npy")};
    for (int i = 0; i < OT_COUNT(good); i++)
        bad("files.c", good[i], 0, "default config, which has to give what its files say");
    bad("files.c", OF_FILES("rows.npy", "twice.npy", "rows.npy"), 1,
        "element 0 of its output 1 is 3, and '");
    bad("files.c", OF_FILES("short.npy", "twice.npy", "after.npy"), 2, "files.c:1:25: 'x': '");
    bad("files.c", OF_FILES("short.npy", "twice.npy", "after.npy"), 2,
        "has 23 bytes of elements, not 24");
    bad("files.c", OF_FILES("twice.npy", "twice.npy", "after.npy"), 2,
        "holds f8[2,3], in NumPy's words, and f32[2,3] is wanted");
    bad("files.c", OF_FILES("flat.npy", "twice.npy", "after.npy"), 2, "holds f4[6],");
    bad("files.c", OF_FILES("files.c", "twice.npy", "after.npy"), 2, "bytes of elements, not");
    bad("files.c", OF_FILES("records.npy", "twice.npy", "after.npy"), 2,
        "is no .npy file of one array: its elements are records");
    bad("files.c", OF_FILES("gone.npy", "twice.npy", "after.npy"), 3, "gone.npy");
    bad("files.c",
        "// optune: kernel files(x: f32[2], out y: f32[2] = \"raw.bin\")\n"
        "void files(const float *x, float *y) { y[0] = y[1] = 0; }\n",
        2, "has 24 bytes of elements, not 8");
    bad("files.c",
        "// optune: kernel files(x: f32[6], out y: f32[6] = \"raw.bin\")\n"
        "void files(const float *x, float *y) { y[0] = y[1] = 0; }\n",
        2, "and none what 'x' holds then");
}

static void kernels_that_are_wrong(void **state)
{
    (void)state;
#define REFERENCE "// optune: reference right\n"
#define RIGHT                                                                                  \
    "void right(const float *x, float *y) { for (int i = 0; i < N; i++) y[i] = 2 * x[i]; }\n"
#define HEAD(f) "// optune: kernel " f "(x: f32[N], out y: f32[N])\n// optune: size N = 64\n"
    bad("wrong1.c",
        HEAD("wrong1") REFERENCE RIGHT
        "void wrong1(const float *x, float *y) { for (int i = 0; i < N; i++) y[i] = x[i]; }\n",
        1, "wrong");
    bad("wrong2.c",
        HEAD("wrong2") REFERENCE RIGHT "void wrong2(const float *x, float *y) { for (int i = "
                                       "0; i <= N; i++) y[i] = 2 * x[i]; }\n",
        1, "crash");
    bad("wrong3.c",
        HEAD("wrong3") REFERENCE RIGHT
        "void wrong3(const float *x, float *y) { syntax error }\n",
        1, "compile");
    /* A reference that crashes, does not compile, writes too much. */
    bad("wrong4.c",
        HEAD("wrong4") REFERENCE
        "void right(const float *x, float *y) { *(volatile int *)8 = 1; }\n"
        "void wrong4(const float *x, float *y) { y[0] = 1; }\n",
        1, "'wrong4.reference', which says what is right of 'wrong4': it crashed");
    bad("wrong5.c",
        HEAD("wrong5") REFERENCE
        "void right(const float *x, float *y) { for (int i = 0; i <= N; i++) "
        "y[i] = 1; }\n"
        "void wrong5(const float *x, float *y) { y[0] = 1; }\n",
        1, "it crashed");
    /* What it leaves running is its own fault, no candidate's. */
    bad("wrong10.c",
        HEAD("wrong10") REFERENCE
        "#include <unistd.h>\n"
        "void right(const float *x, float *y) { if (!fork()) for (;;) sleep(9); "
        "for (int i = 0; i < N; i++) y[i] = 1; }\n"
        "void wrong10(const float *x, float *y) { for (int i = 0; i < N; i++) y[i] = 1; }\n",
        1, "'wrong10.reference', which says what is right of 'wrong10': it left 1 process");
    /* One that does not end is what the time went to, not a candidate. */
    static const char endless[] =
        HEAD("wrong9") REFERENCE "#include <unistd.h>\n"
                                 "void right(const float *x, float *y) { for (;;) sleep(1); }\n"
                                 "void wrong9(const float *x, float *y) { y[0] = 1; }\n";
    optune_err err;
    check_ok(ot_write_file(command_path("wrong9.c"), endless, strlen(endless), &err));
    outcome o = optune("tune", command_path("wrong9.c"), "--time", "1", "--trials", "1");
    assert_int_equal(o.code, 1);
    check_contains(ot_text_str(&o.err),
                   "wrong9.reference, which says what is right, did not end within");
    release(&o);
    /* One that counts on what is there before, and integers are there, not NaN. */
    bad("wrong7.c",
        "// optune: kernel wrong7(x: f32[N], out n: i32[4])\n// optune: size N = 64\n"
        "// optune: reference right\n"
        "void right(const float *x, int *n) { n[1] += N; n[0] = n[2] = n[3] = 0; }\n"
        "void wrong7(const float *x, int *n) { n[1] += N; n[0] = n[2] = n[3] = 0; }\n",
        1, "element 1 of its output 0 follows from what is there before");
    bad("wrong8.c",
        HEAD("wrong8") REFERENCE RIGHT
        "#include <sys/mman.h>\n"
        "void wrong8(const float *x, float *y) { munmap((void *)((long)y & -4096L), 4096); "
        "y[0] = 1; }\n",
        1, "has taken away the memory of output 0");
    /* What is in front of an input is no zero. */
    bad("wrong9.c",
        HEAD("wrong9") REFERENCE RIGHT
        "void wrong9(const float *x, float *y) { for (int i = 0; i < N; i++) "
        "y[i] = 2 * x[i] + (i ? 0 : x[-1]); }\n",
        1, "(1 of 64 wrong)");
    bad("wrong6.c",
        HEAD("wrong6") "// optune: knob A = [0, 1]\n// optune: where A > 1\n"
                       "void wrong6(const float *x, float *y) { y[0] = A; }\n",
        3, "wrong6.c: none of its 2 configs is valid: 'A > 1' refuses 2");
    refused(3, "no such file", "tune", "/not/there.c");
    refused(1, "'/dev/null': Not a directory; --db DIR, or OPTUNE_DB, names another database",
            "tune", EXAMPLE("matmul.c"), "--db", "/dev/null/db");
    refused(1, "; --db DIR, or OPTUNE_DB, names another", "run", "relu(f32[8])", "--trials",
            "1", "--db", "/dev/null/db");
    refused(2, "neither C (.c)", "tune", "/not/there.py");
    refused(2, "tune needs a file", "tune");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_within_a_range),
        cmocka_unit_test(references_with_flags),
        cmocka_unit_test(references_that_leave_something),
        cmocka_unit_test(what_files_say),
        cmocka_unit_test(kernels_that_are_wrong),
    };
    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
