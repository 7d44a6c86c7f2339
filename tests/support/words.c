/* SPDX-License-Identifier: Apache-2.0 */
/* Their includes are dropped: what they include is named in front of them. */
#include "support/words.h"

#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "support/check.h"
#include "support/emulated.h"
#include "target/cuda.h"

/* The files with what the harness defines in front. */
static void write_source(const char *path, const optune_device *device,
                         const char *const *files)
{
    optune_err err = {0};
    ot_text all = {0}, one = {0};
    ot_text_printf(&all, "#define OT_WARP 32\n#define OT_CC %d\n",
                   10 * device->cc_major + device->cc_minor);
    for (int i = 0; files[i]; i++) {
        char name[1024];
        snprintf(name, sizeof name, OT_SOURCE_DIR "/%s", files[i]);
        check_ok(ot_read_file(name, &one, 1 << 20, &err));
        for (const char *line = ot_text_str(&one); *line;) {
            const size_t n = strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n');
            if (strncmp(line, "#include", 8))
                ot_text_add_n(&all, line, n);
            line += n;
        }
        ot_text_clear(&one);
    }
    check_ok(ot_write_file(path, all.s, all.n, &err));
    ot_text_release(&all);
    ot_text_release(&one);
}

/* Compiles as the target does; the module's path. */
static const char *compile(const words *w, const char *const *files)
{
    static char source[4200], module[4200];
    optune_err err = {0};
    optune_argv argv = {0};
    ot_text log = {0};
    snprintf(source, sizeof source, "%s/words%s", w->dir, w->row->source_suffix);
    snprintf(module, sizeof module, "%s/words%s", w->dir, w->row->module_suffix);
    write_source(source, &w->device, files);
    check_ok(w->row->compile(&w->target, &w->device, NULL, 0, source, module, &argv, &err));
    if (ot_run_program(argv.word, 120, &log, &err) < 0)
        fail_msg("%s\n%s", err.text, ot_text_str(&log));
    ot_text_release(&log);
    optune_argv_release(&argv);
    return module;
}

void words_open(words *w, const char *arch, const char *const *files)
{
    char text[64];
    optune_err err = {0};
    *w = (words){0};
    check_ok(ot_temp_dir(w->dir, sizeof w->dir, &err));
    if (!ot_target_find("emulated"))
        emulated_plugin(w->dir);
    snprintf(text, sizeof text, "emulated -arch=%s", arch);
    check_ok(ot_target_parse(text, &w->target, &err));
    if (ot_target_probe(&w->target, &w->device, &err) < 0) {
        print_message("%s\n", err.text);
        return;
    }
    w->row = ot_target_find("emulated");
    const char *module = compile(w, files);
    w->state = ot_alloc(w->row->worker.state_size);
    memset(w->state, 0, w->row->worker.state_size);
    check_ok(w->row->worker.open(w->state, &w->target, &w->device, &err));
    check_ok(w->row->worker.load(w->state, module, &w->module, &err));
}

void words_close(words *w)
{
    if (w->module)
        w->row->worker.unload(w->state, w->module);
    if (w->state)
        w->row->worker.close(w->state);
    free(w->state);
    ot_remove_tree(w->dir);
}

void words_compile_cuda(const char *target, const char *const *files)
{
    optune_err err = {0};
    char version[OPTUNE_TEXT_SIZE];
    if (ot_cuda_ask_version(NULL, version, sizeof version, &err) < 0) {
        print_message("%s\n", err.text);
        skip();
    }
    words w = {.row = ot_target_find("cuda")};
    check_ok(ot_target_parse(target, &w.target, &err));
    check_ok(ot_cuda_assume(&w.target, &w.device, &err));
    check_ok(ot_temp_dir(w.dir, sizeof w.dir, &err));
    compile(&w, files);
    ot_remove_tree(w.dir);
}

int words_try(words *w, const char *kernel, int threads, const words_array *arrays, int n,
              optune_err *failure)
{
    optune_err err = {0};
    void *buffer[OPTUNE_MAX_ARGS];
    optune_tensor_map map[OPTUNE_MAX_ARGS];
    optune_stage stage = {.phase = OPTUNE_TIMED,
                          .function = kernel,
                          .n_args = n,
                          .grid = {w->blocks},
                          .block = {threads, 1, 1}};
    optune_launch launch = {.stage = &stage};
    if (!w->module)
        skip();
    launch.function = w->row->worker.symbol(w->state, w->module, kernel);
    assert_non_null(launch.function);
    for (int i = 0; i < n; i++) {
        const int64_t bytes = (int64_t)arrays[i].bytes;
        check_ok(w->row->worker.alloc(w->state, bytes, true, &buffer[i], &err));
        check_ok(w->row->worker.write(w->state, buffer[i], arrays[i].data, bytes));
        stage.arg[i] = optune_input_arg(i);
        launch.arg[i] = buffer[i];
        if (arrays[i].map) {
            map[i] = *arrays[i].map;
            map[i].buffer = buffer[i];
            stage.arg[i] = optune_tensor_map_arg(i);
            launch.arg[i] = &map[i];
        }
    }
    const int status = w->row->worker.run(w->state, &launch, 1, failure);
    for (int i = 0; i < n; i++) {
        check_ok(
            w->row->worker.read(w->state, buffer[i], arrays[i].data, (int64_t)arrays[i].bytes));
        assert_true(status < 0 || w->row->worker.intact(w->state, buffer[i]));
        w->row->worker.free(w->state, buffer[i]);
    }
    return status;
}

void words_run(words *w, const char *kernel, int threads, const words_array *arrays, int n)
{
    optune_err err = {0};
    check_ok(words_try(w, kernel, threads, arrays, n, &err));
}
