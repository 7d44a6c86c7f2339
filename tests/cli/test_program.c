/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune tune --knob ... -- COMMAND`: programs that are right, wrong, slow, silent or edited. What
 * is minimised is a number that they print, so that no clock decides anything here.
 */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/command.h"

#define AT "--target", "program", "--threads", "1"
#define TUNE "tune", "--threads", "1", "--time", "60"
#define COST "--read", "cost {time}"

#define E4 "\u00e9\u00e9\u00e9\u00e9"
#define E9 E4 E4 "\u00e9"

static char script[512];

static void write_script(const char *text)
{
    optune_err err;
    check_ok(ot_write_file(script, text, strlen(text), &err));
    assert_int_equal(chmod(script, 0755), 0);
}

/* The last value of the config that won. */
static int64_t winner(json_t *json)
{
    json_t *config = json_object_get(json_object_get(first_workload(json), "winner"), "config");
    assert_true(json_array_size(config) > 0);
    return json_integer_value(
        json_array_get(json_array_get(config, json_array_size(config) - 1), 2));
}

static void the_least_number_wins(void **state)
{
    (void)state;
    write_script("#!/bin/sh\necho \"cost $(( ($1 - 5) * ($1 - 5) + ${ADD} ))\"\n");
    outcome o = optune(TUNE, "--json", "--knob", "n=1,3,5,7", "--env", "ADD={add}", "--knob",
                       "add=9,2", COST, "--where", "n != 3", "--", script, "{n}");
    check_contains(ot_text_str(&o.err), "own: 6 of 8 configs are valid; outputs are checked "
                                        "against nothing: its exit status decides");
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 0);
    assert_int_equal(json_integer_value(json_object_get(first_workload(json), "new_trials")),
                     6);
    assert_int_equal(winner(json), 2);
    assert_true(json_number_value(json_object_get(
                    json_object_get(first_workload(json), "winner"), "cost")) == 2);
    json_decref(json);
    /* The same command goes on where it stopped; others know the operator, too. */
    o = optune(TUNE, "--knob", "n=1,3,5,7", "--env", "ADD={add}", "--knob", "add=9,2", COST,
               "--where", "n != 3", "--", script, "{n}");
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "0 new trials");
    check_contains(ot_text_str(&o.out), "best of own: n=5 add=2; judged by its exit status");
    check_contains(ot_text_str(&o.out), "minimised: time, which it prints as 'cost {time}'");
    release(&o);
    o = optune("query", "own()", AT);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "n=5 add=2");
    release(&o);
    /* What is refused does not take the place of what was declared. */
    refused(2, "nothing is called 'rate'", TUNE, "--knob", "n=1", "--objective", "1/rate", "--",
            script, "{n}");
    o = optune("query", "own()", AT);
    check_contains(ot_text_str(&o.out), "n=5 add=2");
    release(&o);
    o = optune("select", "own()", "--explain", AT);
    check_contains(ot_text_str(&o.out), "tuned");
    release(&o);
    o = optune("export", "own", AT);
    check_contains(ot_text_str(&o.out), "\"n\"");
    release(&o);
    /* In the forms of others, and back as hints into an empty database that knows the program. */
    char cache[512], results[512];
    snprintf(cache, sizeof cache, "%s", command_path("own.cache.json"));
    snprintf(results, sizeof results, "%s", command_path("own.t4.json"));
    o = optune("export", "own", AT, "--format", "t4", "-o", results);
    assert_int_equal(o.code, 0);
    release(&o);
    o = optune("export", "own", AT, "--format", "kernel-tuner", "-o", cache);
    assert_int_equal(o.code, 0);
    release(&o);
    json_t *form = json_load_file(cache, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(form, "kernel_name")), "own");
    json_t *entry = json_object_get(json_object_get(form, "cache"), "5,2");
    assert_true(json_number_value(json_object_get(entry, "time")) == 2000); /* ms */
    json_decref(form);
    form = json_load_file(results, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(form, "results")), 6);
    entry = json_object_get(json_array_get(json_object_get(form, "results"), 0), "times");
    assert_non_null(json_object_get(entry, "compilation")); /* what readers of T4 look for */
    json_decref(form);
    o = optune("import", cache, results);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "6 records taken");
    release(&o);
    refused(3, "no form of records 'xml'", "export", "own", "--format", "xml");
    /* An edit makes what was measured stale. */
    write_script("#!/bin/sh\necho \"cost $1\"\n");
    refused(3, "has changed: digest was", "query", "own()", AT);
}

static void a_build_command(void **state)
{
    (void)state;
    char source[512], folder[512];
    snprintf(source, sizeof source, "%s", command_path("made.c"));
    snprintf(folder, sizeof folder, "%s", command_path("made"));
    const char *text = "#include <stdio.h>\n#include <stdlib.h>\n"
                       "int main(int n, char **a) { printf(\"rate: %d per s\\n\", "
                       "n > 1 ? SPEED * atoi(a[1]) : 1); return 0; }\n";
    optune_err err;
    check_ok(ot_write_file(source, text, strlen(text), &err));
    ot_text build = {0};
    ot_text_printf(&build, "cc -DSPEED={speed} {O} -o %s %s", folder, source);
    outcome o =
        optune(TUNE, "--json", "--knob", "speed=1,4", "--knob", "O=-O0,-O1 -g", "--knob",
               "times=1,10", "--build", ot_text_str(&build), "--read", "rate: {rate} per s",
               "--objective", "1 / rate", "--", folder, "{times}");
    json_t *json = json_of(&o);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 0);
    assert_int_equal(winner(json), 10);
    assert_true(json_number_value(json_object_get(
                    json_object_get(first_workload(json), "winner"), "cost")) == 1. / 40);
    json_decref(json);
    o = optune(TUNE, "--format", "header", "--knob", "speed=1,4", "--knob", "O=-O0,-O1 -g",
               "--knob", "times=1,10", "--build", ot_text_str(&build), "--read",
               "rate: {rate} per s", "--objective", "1 / rate", "--", folder, "{times}");
    check_contains(ot_text_str(&o.out), "#define speed 4\n");
    release(&o);
    /* One that leaves the program as it was would measure the same for every config. */
    ot_text_clear(&build);
    ot_text_printf(&build, "true {speed}");
    o = optune(TUNE, "--knob", "speed=1,4", "--build", ot_text_str(&build), "--", folder, "1");
    ot_text_add(&o.err, ot_text_str(&o.out));
    expect("true", &o, 1, "as it was; it has to make it for every config");
    ot_text_release(&build);
}

/* Edited by its own third config, as somebody does who saves a file in the middle of a run: no
 * trial from then on is a record of what the run began with. */
static void edited_in_the_middle(void **state)
{
    (void)state;
    optune_err err;
    ot_text text = {0};
    char flag[512];
    snprintf(flag, sizeof flag, "%s", command_path("edit-once"));
    ot_text_printf(&text,
                   "#!/bin/sh\nif [ $1 = 3 -a -e %s ]; then rm %s; echo '# saved' >> $0; fi\n"
                   "echo cost $1\n",
                   flag, flag);
    write_script(ot_text_str(&text));
    check_ok(ot_write_file(flag, "", 0, &err));
    outcome o = optune(TUNE, "--knob", "n=7,3,5,9", COST, "--", script, "{n}");
    assert_int_not_equal(o.code, 0);
    check_contains(ot_text_str(&o.err), "was edited while it is tuned; start again");
    release(&o);
    /* As it was: the one that edited it is measured now, and what came before it is known. */
    write_script(ot_text_str(&text));
    o = optune(TUNE, "--json", "--knob", "n=7,3,5,9", COST, "--", script, "{n}");
    json_t *json = json_of(&o);
    const json_t *row = first_workload(json);
    const json_int_t more = json_integer_value(json_object_get(row, "new_trials"));
    assert_int_equal(json_integer_value(json_object_get(row, "trials")), 4);
    assert_true(1 <= more && more < 4);
    assert_int_equal(winner(json), 3);
    json_decref(json);
    ot_text_release(&text);
}

/* What a script that does this ends as; and the others are tuned all the same. */
static void ends(const char *body, const char *outcome_name, const char *says)
{
    ot_text text = {0};
    ot_text_printf(&text, "#!/bin/sh\nif [ $1 = bad ]; then %s; fi\necho cost 1\n", body);
    write_script(ot_text_str(&text));
    outcome o = optune(TUNE, "--again", "--knob", "k=good,bad", "--timeout", "5", COST, "--",
                       script, "{k}");
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), outcome_name);
    release(&o);
    o = optune("export", "own", AT);
    check_contains(ot_text_str(&o.out), says);
    release(&o);
    ot_text_release(&text);
}

static void configs_that_fail(void **state)
{
    (void)state;
    ends("echo broken; exit 3", "1 runtime", "it ended with exit status 3: broken");
    ends("kill -SEGV $$", "1 crash", "it was ended by signal 11");
    ends("echo 'nicht m\u00f6glich'; exit 3", "1 runtime", "exit status 3: nicht m\u00f6glich");
    ends("exit 0", "1 runtime", "it printed nothing: there is no 'cost {time}'");
    ends("echo nothing; exit 0", "1 runtime",
         "it printed nothing like 'cost {time}'; its last line is 'nothing'");
    ends("echo cost 7", "1 runtime", "more than once, with 7 and 1");
    ends("echo cost -7; exit 0", "1 runtime", "is -7: the least is wanted, above 0");
    write_script("#!/bin/sh\nif [ $1 = bad ]; then sleep 100; fi\necho cost 1\n");
    outcome o =
        optune(TUNE, "--knob", "k=good,bad", "--timeout", "0.5", COST, "--", script, "{k}");
    check_contains(ot_text_str(&o.out), "1 run timeout");
    release(&o);
}

/* One over a rate is less than any clock tells. */
static void an_objective_is_no_time(void **state)
{
    (void)state;
    write_script("#!/bin/sh\necho rate $1\n");
    outcome o = optune(TUNE, "--knob", "rate=5e11,2e12,1e-300", "--read", "rate {r}",
                       "--objective", "1 / r", "--", script, "{rate}");
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "best of own: rate=2e12");
    check_contains(ot_text_str(&o.out), "; minimised: 1 / r\n");
    check_contains(ot_text_str(&o.out), " cost ");
    check_contains(ot_text_str(&o.out), " 5e-13 ");
    assert_null(strstr(ot_text_str(&o.out), "time us"));
    check_contains(ot_text_str(&o.err), "best 5e-13 own.program");
    release(&o);
    /* Metrics are over the same names; the time is then what the clock told. */
    o = optune(TUNE, "--knob", "rate=5e11,2e12,1e-300", "--read", "rate {r}", "--objective",
               "1 / r", "--metric", "r=r / rate", "--metric", "one=r * cost", "--metric",
               "timed=time == wall and time > cost", "--json", "--", script, "{rate}");
    json_t *json = json_of(&o);
    const json_t *metrics = json_object_get(first_workload(json), "metrics");
    assert_true(json_number_value(json_object_get(metrics, "r")) == 1);
    assert_true(json_number_value(json_object_get(metrics, "one")) == 1);
    assert_true(json_number_value(json_object_get(metrics, "timed")) == 1);
    assert_string_equal(json_string_value(json_object_get(first_workload(json), "minimised")),
                        "1 / r");
    assert_true(json_is_null(json_object_get(first_workload(json), "unit")));
    json_decref(json);
    o = optune("query", "own()", AT);
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "5e-13 of 1 / r [");
    release(&o);
    o = optune("select", "own()", AT);
    check_contains(ot_text_str(&o.out), "own.program  5e-13  [5e-13 .. 5e-13]");
    release(&o);
}

static void what_is_right(void **state)
{
    (void)state;
    write_script("#!/bin/sh\necho sum $1\necho cost $2\n");
    outcome o = optune(TUNE, "--knob", "sum=4,5", "--knob", "c=3,2", COST, "--same-output",
                       "--", script, "{sum}", "{c}");
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "2 wrong");
    check_contains(ot_text_str(&o.out), "best of own: sum=4 c=2; judged by its exit status, "
                                        "what the default config prints");
    release(&o);
    o = optune(TUNE, "--knob", "sum=4,5", "--knob", "c=3,2", COST, "--check", "grep -q 'sum 5'",
               "--", script, "{sum}", "{c}");
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "2 wrong");
    check_contains(ot_text_str(&o.out), "best of own: sum=5 c=2; judged by its exit status, "
                                        "the check command");
    release(&o);
}

/* A place gets what was written, and expressions what that means. */
static void values_as_they_are_written(void **state)
{
    (void)state;
    write_script("#!/bin/sh\ncase $* in 1.10,True,1e-3,007) echo cost 2;; "
                 "*False*) echo cost 3;; *) exit 1;; esac\n");
    outcome o = optune(TUNE, "--json", "--knob", "v=1.10", "--knob", "b=True,False", "--knob",
                       "e=1e-3", "--knob", "z=007", "--where", "v == 1.1 and e < 0.01",
                       "--read", "cost {c}", "--objective", "c * v * (1 + b) * e * 1000",
                       "--metric", "v=v * 10", "--", script, "{v},{b},{e},{z}");
    json_t *json = json_of(&o);
    const json_t *won = json_object_get(first_workload(json), "winner");
    assert_int_equal(json_integer_value(json_object_get(json, "new_trials")), 2);
    assert_int_equal(json_integer_value(json_object_get(json, "failures")), 0);
    assert_true(fabs(json_number_value(json_object_get(won, "cost")) - 3.3) < 1e-9);
    assert_true(json_number_value(json_object_get(
                    json_object_get(first_workload(json), "metrics"), "v")) == 11);
    json_decref(json);
    /* Words that are one number stay two for others, too. */
    o = optune(TUNE, "--name", "words", "--knob", "v=['1.1','1.10']", "--", "true", "x{v}");
    assert_int_equal(o.code, 0);
    release(&o);
    o = optune("export", "words", AT, "--format", "kernel-tuner");
    check_contains(ot_text_str(&o.out), "\"1.1\": {\"v\":\"1.1\"");
    check_contains(ot_text_str(&o.out), "\"1.10\": {\"v\":\"1.10\"");
    release(&o);
    /* Elsewhere a number is one, and a truth value, too; what was in quotes is a text. */
    o = optune(TUNE, "--format", "json", "--knob", "v=1.10", "--knob", "b=True,False", "--knob",
               "e=1e-3", "--knob", "z=007", "--read", "cost {c}", "--objective", "c", "--",
               script, "{v},{b},{e},{z}");
    check_contains(ot_text_str(&o.out),
                   "\"v\": 1.10, \"b\": true, \"e\": 1e-3, \"z\": \"007\"");
    release(&o);
}

static void words_that_are_wrong(void **state)
{
    (void)state;
    write_script("#!/bin/sh\necho cost 1\n");
    refused(2, "knob 'n' has no place: write {n} in the command", "tune", "--knob", "n=1,2",
            "--", script);
    refused(3, "optune: the command: {m} is the place of a knob or size that is not declared",
            "tune", "--knob", "n=1,2", "--", script, "{n}", "{m}");
    refused(2, "'n' is no knob: NAME=VALUE,VALUE", "tune", "--knob", "n", "--", script, "{n}");
    refused(3, "no program 'not-there-at-all' on PATH", "tune", "--knob", "n=1", "--",
            "not-there-at-all", "{n}");
    refused(3, "--build COMMAND says how it is made", "tune", "--knob", "n=1", "--",
            "/not/there", "{n}");
    refused(2, "has no place for a number", "tune", "--knob", "n=1", "--read", "cost", "--",
            script, "{n}");
    refused(2,
            "the objective '1/rate', column 3: nothing is called 'rate' here; there are time, "
            "wall, cpu, memory, n; a --read pattern names what it prints",
            "tune", "--knob", "n=1", "--objective", "1/rate", "--", script, "{n}");
    refused(2, "the objective '2 * time': 'time' is measured or read, and a knob or size, too",
            "tune", "--knob", "time=1", "--objective", "2 * time", "--", script, "{time}");
    refused(2, "the command has an empty word for its program", "tune", "--knob", "n=1", "--",
            "", "{n}");
    /* The place is in what was said, not in a file that nobody wrote. */
    refused(2, "optune: --build cc 'x: a quote has no end", "tune", "--knob", "n=1", "--build",
            "cc 'x", "--", script, "{n}");
    refused(3, "optune: --where n > m, column 5: no size or knob 'm'", "tune", "--knob", "n=1",
            "--where", "n > m", "--", script, "{n}");
    refused(2, "optune: --knob n = [1, 1]: knob 'n' has 1 twice", "tune", "--knob", "n=1,1",
            "--", script, "{n}");
    refused(2, "optune: --size k, column 2: '=' is expected", "tune", "--knob", "n=1", "--size",
            "k", "--", script, "{n}");
    refused(3, "optune: --build: {m} is the place of a knob or size", "tune", "--knob", "n=1",
            "--build", "cc {m}", "--", script, "{n}");
    refused(2, "optune: --knob n = [1,2: ',' or ']' is expected", "tune", "--knob", "n=[1,2",
            "--knob", "m=1", "--", script, "{n}");
    static const char *const timeouts[] = {"0", "-1", "nan", "601", "1e300", "2s"};
    for (size_t i = 0; i < sizeof timeouts / sizeof timeouts[0]; i++) {
        char said[128];
        snprintf(said, sizeof said,
                 "option '--timeout' needs seconds, above 0 and up to 600, not '%s'",
                 timeouts[i]);
        refused(2, said, "tune", "--knob", "n=1", "--timeout", timeouts[i], "--", script,
                "{n}");
    }
    refused(2, "optune: a line ends within 't=1, 2'", "tune", "--knob", "t=1,\n2", "--", script,
            "{t}");
    refused(2, "optune: a line ends within 't=[1] knob n=[1]'", "tune", "--knob",
            "t=[1]\nknob n=[1]", "--", script, "{t}{n}");
    refused(2, "optune: --knob t = ['\u00e9\u00e9', '(', '(']: knob 't' has ( twice", "tune",
            "--knob", "t=\u00e9\u00e9,(,(", "--", script, "{t}");
    /* What no record or document holds is told before anything runs. */
    refused(2, "optune: --knob t = ['a?', 'b']: it is no UTF-8", "tune", "--knob", "t=a\xff,b",
            "--", script, "{t}");
    refused(2, "optune: --env X=?{n}: it is no UTF-8", "tune", "--knob", "n=1", "--env",
            "X=\xff{n}", "--", script);
    refused(2, "? {n}: it is no UTF-8", "tune", "--knob", "n=1", "--", script, "\xff", "{n}");
    refused(2, "knob 't': value 2 has a character that terminals obey", "tune", "--knob",
            "t=a,\tb", "--", script, "{t}");
    /* Of a long text what is around the place, in whole characters. */
    refused(3,
            "optune: --where ..." E9 E4 "' and mm > 1 and n < '" E4 E4
            "..., column 78: no size "
            "or knob 'mm'",
            "tune", "--knob", "n=1", "--where",
            "n<99 and n != '" E9 E9 E9 "\u00e9' and mm > 1 and n < '" E9 E9 E9 "'", "--",
            script, "{n}");
    refused(3, "optune: there is no program '/not/there'", "tune", "--knob", "n=1", "--",
            "/not/there", "{n}");
    refused(3, "optune: own.tune: none of its 1 configs is valid: 'n > 1'", "tune", "--knob",
            "n=1", "--where", "n > 1", "--", script, "{n}");
    refused(1, "already; --name, in a file a line 'name my_dense' gives it another name",
            "tune", "--knob", "n=1", "--name", "dense", "--", script, "{n}");
    outcome o = optune(TUNE, "--knob", "n=1", "--build", "not-there {n}", "--", script, "{n}");
    expect("build", &o, 1,
           "own.program: error: the build command ended with exit status 127: "
           "'not-there' cannot be run: No such file or directory\n");
    refused(2,
            "a value of knob 'n', the words of which take the place of {n}: a quote has no "
            "end: it's",
            "tune", "--knob", "n=1,it's", "--", script, "{n}");
    refused(2, "is no NAME=VALUE", "tune", "--knob", "n=1", "--env", "{n}", "--", script);
    refused(3, "optune: --depends: it depends on '/not/there', which is no file", "tune",
            "--knob", "n=1", "--depends", "/not/there", "--", script, "{n}");
    refused(2, "these options are of a program, which has knobs", "tune", "--build", "make",
            "--", script);
    refused(2, "tune needs a file", "tune", "--knob", "n=1,2");
    refused(3, "none of its 2 configs is valid", "tune", "--knob", "n=1,2", "--where", "n > 2",
            "--", script, "{n}");
}

/* Where a file, its folder or its program lies is told to workers, by documents. */
static void places_are_utf8(void **state)
{
    (void)state;
    static const char wrong[] = "d?' has a name that is no UTF-8: rename it, or work elsewhere";
    char folder[512], path[600], before[4096];
    snprintf(folder, sizeof folder, "%s", command_path("d\xe9"));
    assert_int_equal(mkdir(folder, 0755), 0);
    command_write("d\xe9/script", "#!/bin/sh\necho cost 1\n");
    command_write("d\xe9/far.tune", "knob n = [1, 2]\nrun ./script {n}\n");
    snprintf(path, sizeof path, "%s/far.tune", folder);
    refused(2, "/d?/far.tune' has a name that is no UTF-8: rename it", "tune", path);
    command_write("d\xe9/far.c", "// optune: kernel far\nvoid far(float *y) { *y = 0; }\n");
    snprintf(path, sizeof path, "%s/far.c", folder);
    refused(2, "/d?/far.c' has a name that is no UTF-8: rename it", "tune", path);
    /* By names that are UTF-8. */
    assert_int_equal(symlink(folder, command_path("near")), 0);
    snprintf(path, sizeof path, "%s", command_path("near/far.tune"));
    refused(2, "/d?/far.tune' has a name", "tune", path);
    command_write("in.tune", "folder near\nknob n = [1, 2]\nrun ./script {n}\n");
    snprintf(path, sizeof path, "%s", command_path("in.tune"));
    refused(2, wrong, "tune", path);
    snprintf(path, sizeof path, "%s", command_path("d\xe9/script"));
    assert_int_equal(chmod(path, 0755), 0);
    command_write("of.tune", "knob n = [1, 2]\nrun ./near/script {n}\n");
    snprintf(path, sizeof path, "%s", command_path("of.tune"));
    refused(2, "/d?/script' has a name", "tune", path);
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    outcome o = optune(TUNE, "--knob", "n=1,2", "--", "./script", "{n}");
    assert_int_equal(chdir(before), 0);
    expect("tune", &o, 2, wrong);
    snprintf(path, sizeof path, "%s", command_path("d\xe9/db"));
    refused(2, "/d?/db/programs/own.tune' has a name", "tune", "--db", path, "--knob", "n=1",
            "--", script, "{n}");
    assert_false(ot_exists(path));
}

/* What options wrote is a file from then on: it names itself and its lines. */
static void read_as_a_file(void **state)
{
    (void)state;
    ot_text text = {0};
    char path[512];
    write_script("#!/bin/sh\necho cost $1\n");
    outcome o = optune(TUNE, "--knob", "n=1", "--name", "later", COST, "--", script, "{n}");
    expect("tune", &o, 0, "");
    snprintf(path, sizeof path, "%s", command_path("programs/later.tune"));
    command_slurp(path, &text);
    ot_text before = {0};
    ot_text_printf(&before, "options\n%s", ot_text_str(&text)); /* as was once written */
    command_write("programs/later.tune", ot_text_str(&before));
    o = optune("list");
    assert_int_equal(o.code, 0);
    check_contains(ot_text_str(&o.out), "later");
    assert_null(strstr(ot_text_str(&o.err), "later.tune"));
    release(&o);
    ot_text_release(&before);
    ot_text_add(&text, "knob m = [1, 2 2]\n");
    command_write("programs/later.tune", ot_text_str(&text));
    refused(2, "optune: later.tune:6:16: ',' or ']' is expected", "tune", path);
    static const char *const timeouts[] = {"0", "-1", "nan", "601"};
    for (size_t i = 0; i < sizeof timeouts / sizeof timeouts[0]; i++) {
        char said[64];
        snprintf(said, sizeof said, "timeout %s\n", timeouts[i]);
        command_write("programs/later.tune", said);
        refused(2, "optune: later.tune:1:1: a timeout is seconds, above 0 and up to 600",
                "tune", path);
    }
    command_write("programs/later.tune", "frobnicate\n");
    refused(
        2,
        "later.tune:1:1: no statement 'frobnicate'; there are run, build, check, depends, env, "
        "read, folder, timeout, objective, same_output, size, knob and 2 more",
        "tune", path);
    command_write("programs/later.tune", "knob n = [1]\nrun ./x {n}\nbuild cc {m}\n");
    refused(3, "optune: later.tune: build: {m} is the place of", "tune", path);
    command_write("programs/later.tune", "folder /not/there\nknob n = [1]\nrun ./x {n}\n");
    refused(3, "optune: later.tune: there is no folder '/not/there' to run in", "tune", path);
    ot_text_release(&text);
}

static void leave(const char *folder)
{
    optune_err err;
    char file[600];
    snprintf(file, sizeof file, "%s/half.tune", folder);
    check_ok(ot_make_dirs(folder, &err));
    check_ok(ot_write_file(file, "half", 4, &err));
}

/* A killed declaration's folder goes with the next one; a living one's, which has it locked,
 * stays. */
static void what_a_killed_one_left(void **state)
{
    (void)state;
    char dead[512], alive[512], other[512];
    snprintf(dead, sizeof dead, "%s", command_path("db/programs/.new.abcdef"));
    snprintf(alive, sizeof alive, "%s", command_path("db/programs/.new.ghijkl"));
    snprintf(other, sizeof other, "%s", command_path("db/programs/.newer"));
    leave(dead);
    leave(alive);
    leave(other);
    const int held = open(alive, O_RDONLY | O_DIRECTORY);
    assert_true(held >= 0);
    assert_int_equal(flock(held, LOCK_EX), 0);
    write_script("#!/bin/sh\necho cost $1\n");
    outcome o =
        optune(TUNE, "--db", command_path("db"), "--knob", "n=2,1", COST, "--", script, "{n}");
    expect("tune", &o, 0, "");
    assert_false(ot_exists(dead));
    assert_true(ot_exists(alive));
    assert_true(ot_exists(other));
    close(held);
    o = optune(TUNE, "--db", command_path("db"), "--knob", "n=2,1", COST, "--", script, "{n}");
    expect("tune", &o, 0, "");
    assert_false(ot_exists(alive));
    assert_true(ot_exists(other));
}

/* Still running, and no zombie. */
static bool lives(int64_t pid)
{
    char path[64];
    ot_text words = {0};
    snprintf(path, sizeof path, "/proc/%lld/cmdline", (long long)pid);
    const bool is = ot_read_file(path, &words, 4096, NULL) >= 0 && words.n > 0;
    ot_text_release(&words);
    return is;
}

/* Ctrl-C while something of the program's is at work: it ends with all that it started. */
static void ends_with(const char *phase, int code, outcome o)
{
    char path[512], text[32] = "";
    int64_t left = 0;
    snprintf(path, sizeof path, "%s", command_path("left"));
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    unlink(path);
    text[strcspn(text, "\n")] = '\0';
    assert_true(ot_parse_int(text, &left) && left > 1);
    expect(phase, &o, code, code == 130 ? "the same command goes on from here" : "");
    for (int i = 0; i < 2000 && lives(left); i++)
        usleep(5000);
    if (lives(left))
        fail_msg("%s: a process is left", phase);
}

static void interrupted(void **state)
{
    (void)state;
    ot_text text = {0}, build = {0};
    ot_text_printf(&text,
                   "#!/bin/sh\nsleep 60 &\necho $! > %s\np=$PPID\n"
                   "while [ \"$(cat /proc/$p/comm)\" != optune ]\n"
                   "do p=$(cut -d' ' -f4 /proc/$p/stat); [ \"$p\" ] || exit 1; done\nkill "
                   "-${HOW:-INT} $p\nwait\n",
                   command_path("left"));
    write_script(ot_text_str(&text));
    ot_text_printf(&build, "%s {n}", script);
    ends_with("building", 130,
              optune(TUNE, "--knob", "n=1,2", "--build", ot_text_str(&build), "--",
                     command_path("made"), "{n}"));
    ends_with("what is right", 130,
              optune(TUNE, "--knob", "n=1,2", "--same-output", "--", script, "{n}"));
    ends_with("running", 130, optune(TUNE, "--knob", "n=1,2", "--", script, "{n}"));
    setenv("HOW", "KILL", 1);
    ends_with("building, killed", 128 + SIGKILL,
              optune(TUNE, "--knob", "n=1,2", "--build", ot_text_str(&build), "--",
                     command_path("made"), "{n}"));
    unsetenv("HOW");
    ot_text_release(&text);
    ot_text_release(&build);
}

static int setup(void **state)
{
    const int status = command_setup(state);
    snprintf(script, sizeof script, "%s", command_path("own.sh"));
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_number_wins),
        cmocka_unit_test(a_build_command),
        cmocka_unit_test(configs_that_fail),
        cmocka_unit_test(what_is_right),
        cmocka_unit_test(values_as_they_are_written),
        cmocka_unit_test(words_that_are_wrong),
        cmocka_unit_test(an_objective_is_no_time),
        cmocka_unit_test(edited_in_the_middle),
        cmocka_unit_test(places_are_utf8),
        cmocka_unit_test(read_as_a_file),
        cmocka_unit_test(what_a_killed_one_left),
        cmocka_unit_test(interrupted),
    };
    return cmocka_run_group_tests(tests, setup, command_teardown);
}
