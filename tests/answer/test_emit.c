/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emit: what is written builds with the command in its own comment, in an environment that
 * knows nothing of us, and computes what the operator means; for every implementation that is
 * generated code, with its fallback and other configs. Made-up records steer the selections.
 */
#include "support/tuning.h"

#include "support/check.h"
#include "support/emitted.h"

#include <dlfcn.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "answer/emit/source.h"
#include "run/worker.h"
#include "strategy/inside.h"

/* ---- what is emitted --------------------------------------------------------------------- */

typedef struct steered {
    optune *o;
    optune_call call;
    optune_task task;
    const optune_impl *impl;
    const char *workload;
} steered;

/* A fresh database whose answer for `workload` will be `impl`. */
static void steer(steered *s, const char *db, const char *workload, const char *impl,
                  const char *target)
{
    optune_err err = {0};
    *s = (steered){.workload = workload, .impl = ot_impl_find(impl)};
    assert_non_null(s->impl);
    s->o = tuning_open_with(db, (optune_options){.target = target});
    check_ok(ot_context_device(s->o, &err));
    check_ok(ot_call_parse(workload, &s->call, &err));
    s->task = (optune_task){&s->call, &s->o->target, &s->o->device};
}

static void record(steered *s, const optune_config *config, double cost)
{
    ot_arena arena = {0};
    ot_question question;
    optune_err err = {0};
    ot_context_question(s->o, &s->task, &question, &arena);
    char digest[33];
    ot_call_digest(&s->task, s->impl, digest);
    const optune_record r = {
        .call = question.call,
        .op = s->call.op->name,
        .target = question.target,
        .device = question.device,
        .policy = question.policy,
        .impl = s->impl->name,
        .digest = digest,
        .config = *config,
        .depends = ot_context_depends(s->o, s->impl, NULL, &arena),
        .cost = cost,
        .low = cost,
        .high = cost,
        .n_samples = 1,
        .sample = &cost,
        .final = true,
        .time = 1 / cost,
    };
    check_ok(ot_make_dirs(s->o->db, &err));
    check_ok(ot_context_store(s->o, OT_STORE_WRITE, &err));
    check_ok(ot_store_put(s->o->stores->store, &r, 1, NULL, &err));
    ot_arena_release(&arena);
}

/* Emits into tuning_dir/DIR; the kernel's name goes to `name`. */
static void emit(steered *s, const char *dir, char name[128])
{
    optune_result *result = NULL;
    optune_err err = {0};
    check_ok(optune_emit(s->o, s->workload, tuning_path(dir), &result, &err));
    json_t *json = tuning_parse(optune_result_json(result));
    assert_string_equal(tuning_text(json, "impl"), s->impl->name);
    snprintf(name, 128, "%s", tuning_text(json, "name"));
    const json_t *files = json_object_get(json, "files");
    assert_true(json_array_size(files) >= 3);
    for (size_t i = 0; i < json_array_size(files); i++) {
        assert_true(ot_exists(json_string_value(json_array_get(files, i))));
        check_contains(optune_result_text(result), json_string_value(json_array_get(files, i)));
    }
    json_decref(json);
    optune_result_free(result);
}

/* ---- what it computes -------------------------------------------------------------------- */

enum { GUARD = 64, CANARY = 0x5a };

static void *buffer_of(const optune_tensor *type, size_t *bytes)
{
    *bytes = ((size_t)optune_tensor_bytes(type) + 63) / 64 * 64;
    char *buffer = aligned_alloc(64, *bytes + GUARD);
    assert_non_null(buffer);
    memset(buffer, 0xff, *bytes); /* NaN */
    memset(buffer + *bytes, CANARY, GUARD);
    return buffer;
}

static void check_canary(const void *buffer, size_t bytes)
{
    const unsigned char *end = (const unsigned char *)buffer + bytes;
    for (int i = 0; i < GUARD; i++)
        assert_int_equal(end[i], CANARY);
}

static void compare(const steered *s, int which, const void *const *in, const void *out)
{
    const optune_tensor *type = &s->call.output[which];
    const int64_t n = optune_tensor_elements(type);
    optune_region region;
    double *want = ot_alloc((size_t)n * sizeof *want), *got = ot_alloc((size_t)n * sizeof *got);
    double *magnitude = ot_alloc((size_t)n * sizeof *magnitude);
    s->call.op->reference(&s->call, in, which, ot_region_whole(type, &region), want, magnitude);
    ot_reference_fused(&s->call, in, &region, want, magnitude);
    ot_elements(type->dtype, out, 0, n, got);
    const double bound = ot_error_bound(&s->call, s->impl, which);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= bound * magnitude[i]) &&
            !(isnan(want[i]) && isnan(got[i]))) {
            print_error("%s: output %d: element %lld is %g, not %g\n", s->impl->name, which,
                        (long long)i, got[i], want[i]);
            fail();
        }
    free(want);
    free(got);
    free(magnitude);
}

static void check_kernel(const steered *s, const emitted *k)
{
    void *in[OPTUNE_MAX_INPUTS] = {0}, *out[OPTUNE_MAX_OUTPUTS] = {0}, *workspace = NULL;
    size_t in_bytes[OPTUNE_MAX_INPUTS], out_bytes[OPTUNE_MAX_OUTPUTS];
    const size_t space = (k->workspace() + 63) / 64 * 64;
    workspace = aligned_alloc(64, space + GUARD);
    assert_non_null(workspace);
    memset(workspace, 0, space);
    memset((char *)workspace + space, CANARY, GUARD);
    for (int o = 0; o < s->call.n_outputs; o++)
        out[o] = buffer_of(&s->call.output[o], &out_bytes[o]);
    for (uint64_t seed = 1; seed <= 2; seed++) { /* new constants: packed again */
        for (int i = 0; i < optune_call_inputs(&s->call); i++) {
            if (!in[i])
                in[i] = buffer_of(&s->call.input[i].type, &in_bytes[i]);
            ot_fill_input(&s->call.input[i].type, seed, i, in[i]);
        }
        const void *const *from = (const void *const *)in;
        k->init(workspace, from);
        for (int again = 0; again < 2; again++) {
            for (int o = 0; o < s->call.n_outputs; o++)
                memset(out[o], 0xff, out_bytes[o]);
            k->run(workspace, from, out);
            for (int o = 0; o < s->call.n_outputs; o++)
                compare(s, o, from, out[o]);
        }
        k->close(workspace);
    }
    for (int o = 0; o < s->call.n_outputs; o++) {
        check_canary(out[o], out_bytes[o]);
        free(out[o]);
    }
    check_canary(workspace, space);
    for (int i = 0; i < optune_call_inputs(&s->call); i++) {
        check_canary(in[i], in_bytes[i]);
        free(in[i]);
    }
    free(workspace);
}

/* ---- every implementation ---------------------------------------------------------------- */

/* The first sample of its op that an implementation is valid for, here or on a processor that has
 * `more` instructions than this one may have; NULL: none. */
static const char *sample_for(const optune_impl *impl, const char *target, bool more)
{
    optune *o = tuning_open_with("samples", (optune_options){.target = target});
    optune_err err = {0};
    const char *found = NULL;
    check_ok(ot_context_device(o, &err));
    if (more) {
        o->device.vector_bytes = 64;
        o->device.dots =
            OPTUNE_DOT_BF16 | OPTUNE_DOT_I8 | OPTUNE_DOT_TILE_BF16 | OPTUNE_DOT_TILE_I8;
    }
    const char *const *sample = ot_op_find(impl->op)->samples;
    for (; *sample && !found; sample++) {
        optune_call call;
        ot_candidate candidate[OT_MAX_CANDIDATES];
        int n = 0;
        check_ok(ot_call_parse(*sample, &call, &err));
        const optune_task task = {&call, &o->target, &o->device};
        check_ok(ot_candidates(&task, candidate, &n, &err));
        for (int i = 0; i < n && !found; i++)
            if (candidate[i].impl == impl && candidate[i].refusal == OT_VALID)
                found = *sample;
    }
    optune_close(o);
    return found;
}

/* Emits the fallback and two more configs, cheaper each time, and checks each. */
static void check_impl(const optune_impl *impl, const char *workload, const char *target,
                       const char *mark)
{
    char db[128], dir[160], name[128];
    snprintf(db, sizeof db, "%s-%s", impl->name, mark);
    steered s;
    steer(&s, db, workload, impl->name, target);
    optune_space *space = NULL;
    optune_err err = {0};
    check_ok(ot_space_open(&s.task, impl, &space, &err));
    uint64_t rng = 5;
    for (int i = 0; i < 3; i++) {
        optune_config config;
        assert_true(ot_space_fallback(space, &config, NULL));
        for (int draw = 0; i && draw < 1000; draw++) {
            optune_config other;
            ot_space_nth(space, ot_space_random(space, &rng), &other);
            if (ot_space_valid(space, &other, NULL)) {
                config = other;
                break;
            }
        }
        record(&s, &config, 1e-3 / (1 + i));
        snprintf(dir, sizeof dir, "%s-%d", db, i);
        emit(&s, dir, name);
        emitted k;
        emitted_load(&k, dir, name);
        check_kernel(&s, &k);
        dlclose(k.object);
    }
    ot_space_close(space);
    optune_close(s.o);
}

/* Of a pattern's row one implementation is emitted: the first operator's with a sample for it. */
static void test_every_impl(void **state)
{
    (void)state;
    static const optune_impl *done[1024];
    int n, n_done = 0, tested = 0;
    const optune_impl *const *impl = ot_impls(&n);
    optune *o = tuning_open_with("device", (optune_options){.target = "cpu -threads=1"});
    optune_err err = {0};
    check_ok(ot_context_device(o, &err));
    for (int i = 0; i < n; i++) {
        const optune_impl *row = ot_pattern_row(impl[i]);
        bool skip =
            impl[i]->library || impl[i]->generic || !ot_impl_runs_on(impl[i], &o->device, NULL);
        for (int k = 0; k < n_done; k++)
            skip = skip || done[k] == row;
        const char *workload = skip ? NULL : sample_for(impl[i], "cpu -threads=1", false);
        if (workload) {
            check_impl(impl[i], workload, "cpu -threads=1", "one");
            tested++;
        } else if (!skip && row == impl[i] && !sample_for(impl[i], "cpu -threads=1", true)) {
            fail_msg("no sample of '%s' is for '%s'", impl[i]->op, impl[i]->name);
        }
        if (workload && n_done < OT_COUNT(done))
            done[n_done++] = row;
    }
    optune_close(o);
    assert_true(tested >= 10);
}

/* What is fused is computed by the emitted code. */
static void test_fused(void **state)
{
    (void)state;
    static const char *const fused[][2] = {
        {"dense_gemm.cpu",
         "dense(f32[9,40], const f32[37,40]) -> add(const f32[37]) -> sigmoid()"},
        {"conv2d_winograd.cpu", "conv2d(f32[1,20,9,11], const f32[18,20,3,3], padding=[1]) -> "
                                "subtract(f32[18,1,1], _) -> relu()"},
    };
    for (size_t i = 0; i < OT_COUNT(fused); i++) {
        char name[128], dir[32];
        steered s;
        snprintf(dir, sizeof dir, "fused-%d", (int)i);
        if (!ot_impl_find(fused[i][0]))
            fail_msg("no implementation '%s'", fused[i][0]);
        steer(&s, dir, fused[i][1], fused[i][0], "cpu -threads=1");
        optune_space *space = NULL;
        optune_err err = {0};
        optune_config config;
        check_ok(ot_space_open(&s.task, s.impl, &space, &err));
        assert_true(ot_space_fallback(space, &config, NULL));
        ot_space_close(space);
        record(&s, &config, 1e-3);
        emit(&s, dir, name);
        emitted k;
        emitted_load(&k, dir, name);
        check_kernel(&s, &k);
        dlclose(k.object);
        optune_close(s.o);
    }
}

static void test_two_threads(void **state)
{
    (void)state;
    static const char *const names[] = {"dense_gemm.cpu", "conv2d_direct.cpu"};
    for (int i = 0; i < OT_COUNT(names); i++)
        check_impl(ot_impl_find(names[i]),
                   sample_for(ot_impl_find(names[i]), "cpu -threads=2", false),
                   "cpu -threads=2", "two");
}

/* Outputs of a line whose last windows lie more than 2^31 bytes from its first one. */
static void test_long_line(void **state)
{
    (void)state;
    enum { COLUMNS = 13631489, STRIDE = 1 << 20, CHANNELS = 256, OUTPUTS = 14, CO = 16 };
    static int8_t weight[CO * CHANNELS];
    static int32_t bias[CO];
    static float scale[CO];
    static uint8_t output[OUTPUTS * CO];
    steered s;
    optune_space *space = NULL;
    optune_config config;
    optune_err err = {0};
    char name[128];
    steer(&s, "long",
          "quantized_conv2d(u8[1,1,13631489,256], i8[16,256,1,1], i32[16], "
          "f32[16], strides=[1,1048576])",
          "quantized_conv2d_direct.cpu", "cpu -threads=1");
    if (!ot_impl_applies(s.impl, &s.task, NULL)) { /* lines are copied, which are too long */
        optune_close(s.o);
        skip();
    }
    check_ok(ot_space_open(&s.task, s.impl, &space, &err));
    assert_true(ot_space_fallback(space, &config, NULL));
    ot_space_close(space);
    record(&s, &config, 1e-5);
    emit(&s, "long", name);
    optune_close(s.o);
    const size_t bytes = (size_t)COLUMNS * CHANNELS;
    uint8_t *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        skip();
    for (size_t i = 0; i < OUTPUTS; i++)
        data[i * STRIDE * CHANNELS] = (uint8_t)(2 * i + 1);
    for (int i = 0; i < CO; i++) {
        weight[i * CHANNELS] = (int8_t)(i % 4 + 1);
        scale[i] = 1;
    }
    emitted k;
    emitted_load(&k, "long", name);
    void *workspace = aligned_alloc(64, (k.workspace() + 63) / 64 * 64 + 64);
    assert_non_null(workspace);
    const void *const in[] = {data, weight, bias, scale};
    void *const out[] = {output};
    k.init(workspace, in);
    k.run(workspace, in, out);
    k.close(workspace);
    for (int i = 0; i < OUTPUTS * CO; i++)
        assert_int_equal(output[i], (2 * (i / CO) + 1) * (i % CO % 4 + 1));
    dlclose(k.object);
    free(workspace);
    munmap(data, bytes);
}

/* ---- together, and what is said ---------------------------------------------------------- */

typedef struct chosen {
    const char *knob;
    int64_t value;
} chosen;

/* The fallback with these knobs, up to the first without a name, otherwise. */
static void emit_chosen(const char *workload, const char *impl, const char *dir, char name[128],
                        const chosen *knobs)
{
    steered s;
    optune_space *space = NULL;
    optune_config config;
    optune_err err = {0};
    steer(&s, dir, workload, impl, "cpu -threads=1");
    check_ok(ot_space_open(&s.task, s.impl, &space, &err));
    assert_true(ot_space_fallback(space, &config, NULL));
    for (; knobs->knob; knobs++) {
        optune_config_choose_int(&config, space, knobs->knob, knobs->value);
        assert_int_equal(optune_config_int(&config, knobs->knob), knobs->value);
    }
    ot_space_close(space);
    record(&s, &config, 1e-5);
    emit(&s, dir, name);
    optune_close(s.o);
}

static void emit_fallback(const char *workload, const char *impl, const char *dir,
                          char name[128])
{
    emit_chosen(workload, impl, dir, name, &(chosen){0});
}

/* The command says what the target says. */
static void test_flags(void **state)
{
    (void)state;
    static const char *const targets[] = {"cpu -threads=1 -cflags=-O1", "cpu -threads=2"};
    static const char *const part[] = {"Build: cc -O1 -std=gnu17\n", " -fopenmp\n"};
    for (int i = 0; i < OT_COUNT(targets); i++) {
        optune *o = tuning_open_with("flags", (optune_options){.target = targets[i]});
        optune_result *result = NULL;
        optune_err err = {0};
        char dir[1200];
        snprintf(dir, sizeof dir, "%s", tuning_path(i ? "flags-1" : "flags-0"));
        check_ok(optune_emit(o, "dense(f32[16,64], f32[32,64])", dir, &result, &err));
        json_t *json = tuning_parse(optune_result_json(result));
        char path[1400];
        snprintf(path, sizeof path, "%s/%s.c", dir, tuning_text(json, "name"));
        ot_text text = {0};
        check_ok(ot_read_file(path, &text, 1 << 22, &err));
        check_contains(text.s, part[i]);
        ot_text_release(&text);
        json_decref(json);
        optune_result_free(result);
        optune_close(o);
    }
}

static void test_two_in_one_program(void **state)
{
    (void)state;
    char a[128], b[128], second[1400], program[1400], include[1400], other[1400];
    emit_fallback("dense(f32[16,64], f32[32,64])", "dense_pack.x86", "both-a", a);
    emit_fallback("dense(f32[8,32], f32[16,32], f32[16])", "dense_pack.x86", "both-b", b);
    assert_string_not_equal(a, b);
    ot_text text = {0};
    optune_err err = {0};
    ot_text_printf(&text,
                   "#include \"%s.h\"\n#include \"%s.h\"\n#include <stdlib.h>\n#include "
                   "<string.h>\nstatic float one[4096], out[2][512];\nint main(void)\n{\n"
                   "    for (int i = 0; i < 4096; i++) one[i] = 1;\n"
                   "    const void *in[] = {one, one, one};\n"
                   "    void *o[] = {out[0]}, *p[] = {out[1]};\n"
                   "    void *x = aligned_alloc(64, %s_workspace() + 64);\n"
                   "    void *y = aligned_alloc(64, %s_workspace() + 64);\n"
                   "    memset(x, 0, %s_workspace());\n    memset(y, 0, %s_workspace());\n"
                   "    %s_init(x, in);\n    %s_init(y, in);\n"
                   "    %s_run(x, in, o);\n    %s_run(y, in, p);\n"
                   "    %s_close(x);\n    %s_close(y);\n"
                   "    return out[0][511] == 64 && out[1][127] == 33 ? 0 : 1;\n}\n",
                   a, b, a, b, a, b, a, b, a, b, a, b);
    check_ok(ot_write_file(tuning_path("both.c"), text.s, text.n, &err));
    snprintf(second, sizeof second, "%s/%s.c", tuning_path("both-b"), b);
    snprintf(program, sizeof program, "%s", tuning_path("both"));
    snprintf(include, sizeof include, "-I%s", tuning_path("both-a"));
    snprintf(other, sizeof other, "-I%s", tuning_path("both-b"));
    emitted_build("both-a", a,
                  (const char *const[]){second, tuning_path("both.c"), "-Wall", "-Werror",
                                        include, other, "-o", program, NULL});
    check_ok(ot_run_program((char *const[]){program, NULL}, 20, NULL, &err));
    ot_text_release(&text);
}

/* What no flag silences: macros that are defined twice, annotations of loops that gcc cannot heed,
 * sums that it takes for endless, counts that it cannot bound. */
static void test_without_warnings(void **state)
{
    (void)state;
    static const struct {
        const char *impl, *workload;
        chosen knobs[5];
    } emitted_of[] = {
        {"batch_matmul_gemm.cpu",
         "batch_matmul(f32[2,16,32], f32[2,24,32], transpose_b=true)",
         {{0}}},
        {"dense_gemm.cpu", "dense(f32[128,31], f32[123,31]) -> multiply(f32[123])", {{0}}},
        {"dense_gemm.cpu",
         "dense(f32[16,64], f32[32,64]) -> add(const f32[32]) -> relu()",
         {{0}}},
        {"dense_dot.cpu", "dense(f16[9,31], f16[63,31]) -> relu()", {{0}}},
        {"conv2d_dot.cpu",
         "conv2d(u8[1,9,18,18], u8[65,9,1,1], padding=[1,0], out_dtype=i32)",
         {{0}}},
        {"conv2d_transpose_gemm.cpu",
         "conv2d_transpose(f32[1,64,14,14], f32[64,32,4,4], strides=[2,2], padding=[1,1,1,1])",
         {{"tile_m", 4}, {"tile_n", 3}, {"unroll_k", 2}, {"block_co", 1}, {0}}},
        {"avg_pool2d_grad.cpu",
         "avg_pool2d_grad(f32[2,1,6,7], f32[2,1,24,7], pool_size=[3,3], strides=[4,1], "
         "padding=[1,1], count_include_pad=true) -> hardswish() -> multiply(f32[1,1,1]) -> "
         "abs() -> relu()",
         {{0}}},
    };
    for (int i = 0; i < OT_COUNT(emitted_of); i++) {
        char name[128], dir[32], module[2][1400], object[1400];
        snprintf(dir, sizeof dir, "quiet-%d", i);
        emit_chosen(emitted_of[i].workload, emitted_of[i].impl, dir, name, emitted_of[i].knobs);
        snprintf(object, sizeof object, "%s.so", tuning_path(dir));
        const char *more[10] = {"-Wall", "-Wextra", "-Werror", "-shared",
                                "-fPIC", "-o",      object};
        for (int m = 0, n = 7; m < OT_COUNT(module); m++) {
            snprintf(module[m], sizeof module[m], "%s/%s_m%d.c", tuning_path(dir), name, m);
            if (access(module[m], R_OK) == 0)
                more[n++] = module[m];
        }
        emitted_build(dir, name, more);
    }
}

/* How many functions with kernels' arguments a text defines; each has a name of this kernel's. */
static int named_functions(const char *text, const char *kernel)
{
    int found = 0;
    for (const char *line = text; line && *line;) {
        char name[128], define[400];
        if (sscanf(line, "void %127[A-Za-z0-9_](void *const *", name) == 1 &&
            strncmp(line + strlen("void ") + strlen(name), "(void *const *", 14) == 0) {
            snprintf(define, sizeof define, "#define %s %s_m", name, kernel);
            check_contains(text, define);
            found++;
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return found;
}

/* Functions that no stage of this config calls are as global as those that some do: whole models
 * have many kernels of one body. */
static void test_unused_functions(void **state)
{
    (void)state;
    steered s;
    steer(&s, "unused",
          "conv2d(f32[1,20,9,11], const f32[18,20,3,3], padding=[1]) -> add(const f32[18,1,1])",
          "conv2d_winograd.cpu", "cpu -threads=1");
    optune_err err = {0};
    optune_space *space = NULL;
    optune_config config;
    optune_plan *plan = ot_alloc(sizeof *plan);
    check_ok(ot_space_open(&s.task, s.impl, &space, &err));
    assert_true(ot_space_fallback(space, &config, NULL));
    ot_space_close(space);
    check_ok(ot_plan_make(&s.task, s.impl, &config, plan, &err));
    int functions = 0;
    for (int m = 0; m < plan->n_modules; m++) {
        ot_source e = {.task = s.task, .impl = s.impl, .config = &config, .plan = plan};
        ot_text text = {0};
        snprintf(e.name, sizeof e.name, "one");
        ot_source_module(&e, m, &text);
        functions += named_functions(ot_text_str(&text), e.name);
        ot_text_release(&text);
    }
    assert_true(functions > plan->n_stages + 1); /* of transforms one is handed on */
    free(plan);
    optune_close(s.o);
}

/* As in the C of a dispatch table: kernels that define the same names, attributes among them, in
 * one file that somebody's own flags compile. */
static void test_two_in_one_file(void **state)
{
    (void)state;
    static const char workload[] = "clip(u8[7,9], a_min=1.0, a_max=4.0)";
    steered s;
    steer(&s, "apart", workload, "clip_vector.cpu", "cpu -threads=1");
    ot_text text = {0}, said = {0};
    optune_err err = {0};
    ot_source_quiet(&text);
    for (int i = 0; i < 2; i++) {
        optune_space *space = NULL;
        optune_config *config = ot_alloc(sizeof *config);
        optune_plan *plan = ot_alloc(sizeof *plan);
        ot_source e = {.task = s.task, .impl = s.impl, .config = config, .plan = plan};
        check_ok(ot_space_open(&s.task, s.impl, &space, &err));
        assert_true(ot_space_fallback(space, config, NULL));
        ot_space_close(space);
        check_ok(ot_plan_make(&s.task, s.impl, config, plan, &err));
        snprintf(e.name, sizeof e.name, "clip_k%d", i);
        ot_source_apart(&e, &text);
        free(plan);
        free(config);
    }
    check_ok(ot_write_file(tuning_path("apart.c"), text.s, text.n, &err));
    char source[4096];
    snprintf(source, sizeof source, "%s", tuning_path("apart.c"));
    if (ot_run_program((char *const[]){"/usr/bin/cc", "-std=gnu11", "-Wall", "-Wextra",
                                       "-Werror", "-march=native", "-c", "-o", "/dev/null",
                                       source, NULL},
                       60, &said, &err) < 0)
        fail_msg("%s\n%s", err.text, ot_text_str(&said));
    ot_text_release(&said);
    ot_text_release(&text);
    optune_close(s.o);
}

static void test_plan_json(void **state)
{
    (void)state;
    char name[128];
    emit_fallback("dense(f32[16,64], f32[32,64])", "dense_pack.x86", "plan", name);
    ot_text text = {0};
    optune_err err = {0};
    check_ok(ot_read_file(tuning_path("plan/plan.json"), &text, 1 << 20, &err));
    json_t *plan = tuning_parse(text.s);
    assert_int_equal(tuning_int(plan, "version"), 1);
    assert_string_equal(tuning_text(plan, "name"), name);
    assert_string_equal(tuning_text(plan, "call"), "dense(f32[16,64], const f32[32,64])");
    assert_string_equal(tuning_text(plan, "target"), "cpu -threads=1");
    assert_string_equal(tuning_text(plan, "impl"), "dense_pack.x86");
    assert_string_equal(tuning_text(plan, "tier"), "tuned");
    assert_string_equal(tuning_text(plan, "digest"),
                        ot_impl_digest(ot_impl_find("dense_pack.x86")));
    const json_t *scratch = json_array_get(json_object_get(plan, "scratch"), 0);
    assert_true(tuning_int(plan, "workspace") >= tuning_int(scratch, "bytes"));
    assert_int_equal(tuning_int(scratch, "offset") % 64, 0);
    assert_true(json_is_true(json_object_get(scratch, "constant")));
    const json_t *stages = json_object_get(plan, "stages");
    assert_int_equal(json_array_size(stages), 2);
    assert_string_equal(tuning_text(json_array_get(stages, 0), "phase"), "prepack");
    assert_string_equal(tuning_text(json_array_get(stages, 1), "phase"), "timed");
    assert_true(json_array_size(json_object_get(plan, "modules")) >= 1);
    assert_true(json_array_size(json_object_get(plan, "config")) >= 1);
    assert_true(strlen(tuning_text(plan, "device")) > 0);
    json_decref(plan);
    ot_text_release(&text);
}

static void test_refused(void **state)
{
    (void)state;
    optune *o = tuning_open("refused");
    optune_result *result = NULL;
    optune_err err = {0};
    assert_int_equal(
        optune_emit(o, "dense(f32[?m,64], f32[32,64])", tuning_path("x"), &result, &err),
        OPTUNE_EUSAGE);
    check_contains(err.text, "constant dims");
    check_contains(err.text, "optune dispatch");
    assert_int_equal(optune_emit(o, "dense(i8[4,8], i8[4,9], out_dtype=i32)", tuning_path("x"),
                                 &result, &err),
                     OPTUNE_ETYPE);
    assert_false(ot_exists(tuning_path("x")));
    check_ok(ot_write_file(tuning_path("file"), "", 0, &err)); /* no directory can be in it */
    assert_int_equal(
        optune_emit(o, "dense(f32[16,64], f32[32,64])", tuning_path("file/x"), &result, &err),
        OPTUNE_EIO);
    check_contains(err.text, tuning_path("file"));
    assert_null(result);
    /* Untuned is emitted as selected: by plevel. */
    check_ok(
        optune_emit(o, "dense(f32[16,64], f32[32,64])", tuning_path("untuned"), &result, &err));
    optune_result_free(result);
    optune_close(o);
}

/* A GPU's kernel is no C; without any OpenCL device that is what is said. */
static void test_gpus_refused(void **state)
{
    (void)state;
    optune *o = tuning_open_with("gpus", (optune_options){.target = "opencl"});
    optune_result *result = NULL;
    optune_err err = {0};
    const int status = optune_emit(o, "sort(f32[7])", tuning_path("gpu"), &result, &err);
    assert_int_equal(status,
                     ot_context_device(o, NULL) < 0 ? OPTUNE_ENODEV : OPTUNE_EUNSUPPORTED);
    assert_null(result);
    assert_false(ot_exists(tuning_path("gpu")));
    optune_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_impl),         cmocka_unit_test(test_fused),
        cmocka_unit_test(test_two_threads),        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_two_in_one_program), cmocka_unit_test(test_two_in_one_file),
        cmocka_unit_test(test_plan_json),          cmocka_unit_test(test_refused),
        cmocka_unit_test(test_gpus_refused),       cmocka_unit_test(test_unused_functions),
        cmocka_unit_test(test_without_warnings),   cmocka_unit_test(test_long_line),
    };
    return cmocka_run_group_tests(tests, tuning_setup, tuning_teardown);
}
