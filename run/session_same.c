/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a candidate left large inputs as they were, asked of the device that holds them once
 * more: reading gigabytes back takes longer than all else that is done to a candidate there.
 */
#include <string.h>

#include "run/own_kernels.h"
#include "run/worker.h"

enum { THREADS = 256, BLOCKS = 1024 };
static const int64_t LARGE = 16 << 20; /* bytes; less is read back as soon */

static const char source[] = OT_OWN_KERNELS
    "KERNEL ot_same(GLOBAL const unsigned *a, GLOBAL const unsigned *b, GLOBAL int *differs,\n"
    "               i64 bytes)\n"
    "{\n"
    "    const i64 n = bytes / 4;\n"
    "    GLOBAL const unsigned char *x = (GLOBAL const unsigned char *)a;\n"
    "    GLOBAL const unsigned char *y = (GLOBAL const unsigned char *)b;\n"
    "    unsigned off = 0;\n"
    "    for (i64 i = ME; i < n; i += ALL) off |= a[i] ^ b[i];\n"
    "    for (i64 i = 4 * n + ME; i < bytes; i += ALL) off |= x[i] ^ y[i];\n"
    "    if (off) *differs = 1;\n"
    "}\n";

bool ot_same_wanted(const optune_target_worker *row, const optune_device *device,
                    const optune_call *call)
{
    /* A driver that drives a CPU reads as fast as this process compares. */
    if (!row->copy || row->address || device->threads > 0)
        return false;
    for (int i = 0; i < optune_call_inputs(call); i++)
        if (optune_tensor_bytes(&call->input[i].type) >= LARGE)
            return true;
    return false;
}

int ot_same_build(const optune_target *target, const optune_device *device, ot_text *module,
                  optune_err *err)
{
    ot_text text = {0};
    ot_text_printf(&text, "#define THREADS %d\n%s", (int)THREADS, source);
    const int status = ot_target_compile_text(target, device, &text, module, err);
    ot_text_release(&text);
    return status;
}

void ot_same_open(ot_session *s, const char *path)
{
    ot_same *same = &s->same;
    if (same->function)
        return;
    ot_same_close(s);
    if (s->row->load(s->state, path, &same->module, NULL) < 0)
        same->module = NULL;
    if (same->module && s->row->alloc(s->state, sizeof(int), false, &same->differs, NULL) < 0)
        same->differs = NULL;
    if (same->differs)
        same->function = s->row->symbol(s->state, same->module, "ot_same");
}

static int compare(ot_session *s, void *a, void *b, int64_t bytes)
{
    static const optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .function = "ot_same",
        .n_args = 4,
        .arg = {{.kind = OPTUNE_ARG_SCRATCH},
                {.kind = OPTUNE_ARG_SCRATCH},
                {.kind = OPTUNE_ARG_SCRATCH},
                {.kind = OPTUNE_ARG_INT}},
        .grid = {BLOCKS},
        .block = {THREADS},
    };
    const ot_same *same = &s->same;
    int differs = 0;
    const optune_launch launch = {
        .function = same->function, .stage = &stage, .arg = {a, b, same->differs, &bytes}};
    if (s->row->write(s->state, same->differs, &differs, sizeof differs) < 0 ||
        s->row->run(s->state, &launch, 1, NULL) < 0 ||
        s->row->read(s->state, same->differs, &differs, sizeof differs) < 0)
        return -1;
    return !differs;
}

int ot_stock_same(ot_session *s, int kind, int input)
{
    const int set = s->in_set[kind][input];
    void *held = set < OT_SETS ? s->stock[set].in[input] : NULL;
    if (!held || !s->same.function || s->in_bytes[input] < LARGE)
        return -1;
    return compare(s, s->in[kind][input], held, s->in_bytes[input]);
}

void ot_same_close(ot_session *s)
{
    if (s->same.differs)
        s->row->free(s->state, s->same.differs);
    if (s->same.module)
        s->row->unload(s->state, s->same.module);
    s->same = (ot_same){0};
}
