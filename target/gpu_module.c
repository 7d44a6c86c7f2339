/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of a GPU module file, and what both GPU targets say about names and launches. The
 * compiler's own figures travel in front of the binary, so that a module from the cache knows
 * them as well as a fresh one.
 */
#include <ctype.h>
#include <string.h>

#include "target/gpu.h"

enum { MODULE_LIMIT = 256 << 20 };

int ot_gpu_module_write(const char *path, const char *lines, const void *binary, size_t n,
                        optune_err *err)
{
    ot_text all = {0};
    ot_text_printf(&all, "%s\n", lines);
    ot_text_add_n(&all, binary, n);
    const int status = ot_write_file(path, all.s, all.n, err);
    ot_text_release(&all);
    return status;
}

int ot_gpu_module_read(const char *path, ot_text *all, const void **binary, size_t *n,
                       optune_err *err)
{
    const int status = ot_read_file(path, all, MODULE_LIMIT, err);
    if (status < 0)
        return status;
    const char *end =
        all->n && all->s[0] == '\n' ? all->s - 1 : strstr(ot_text_str(all), "\n\n");
    if (!end)
        return optune_fail(err, OPTUNE_EDAMAGED, "'%s' is no GPU module", path);
    *binary = end + 2;
    *n = all->n - (size_t)(end + 2 - all->s);
    return OPTUNE_OK;
}

int ot_gpu_module_resources(const char *path, char *text, size_t size, optune_err *err)
{
    ot_text all = {0};
    const void *binary;
    size_t n = 0;
    int status = ot_gpu_module_read(path, &all, &binary, &n, err);
    if (status >= 0) {
        const size_t lines = all.n - n - 1;
        if (lines < size) {
            memcpy(text, all.s, lines);
            text[lines] = '\0';
        } else {
            status = optune_fail(err, OPTUNE_ELIMIT, "'%s' has too many kernels", path);
        }
    }
    ot_text_release(&all);
    return status;
}

void ot_gpu_key_word(ot_text *key, const char *name)
{
    bool dash = true;
    for (; *name; name++) {
        const char c = (char)tolower((unsigned char)*name);
        const bool plain = isalnum((unsigned char)c) || c == '.' || c == '_';
        if (plain || !dash)
            ot_text_add_n(key, plain ? &c : "-", 1);
        dash = !plain;
    }
    if (key->n && key->s[key->n - 1] == '-')
        key->s[--key->n] = '\0';
}

int ot_gpu_check_launch(const optune_device *device, const optune_stage *stage, optune_err *err)
{
    int64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        threads *= ot_gpu_size(stage->block[i]);
        if (device->max_block[i] && ot_gpu_size(stage->block[i]) > device->max_block[i])
            return optune_fail(
                err, OPTUNE_ELIMIT, "'%s' has %lld threads in dimension %d, the device %d",
                stage->function, (long long)stage->block[i], i, device->max_block[i]);
    }
    if (device->max_threads_per_block && threads > device->max_threads_per_block)
        return optune_fail(err, OPTUNE_ELIMIT,
                           "'%s' has %lld threads in a block, the device %d", stage->function,
                           (long long)threads, device->max_threads_per_block);
    if (device->max_shared && stage->shared > device->max_shared)
        return optune_fail(
            err, OPTUNE_ELIMIT, "'%s' needs %lld bytes of shared memory, the device has %lld",
            stage->function, (long long)stage->shared, (long long)device->max_shared);
    return OPTUNE_OK;
}

/* ---- guards ------------------------------------------------------------------------------ */

static uint16_t canary[OT_GPU_PAD / 2];

const void *ot_gpu_canary(void)
{
    if (!canary[0])
        for (int i = OT_COUNT(canary) - 1; i >= 0; i--)
            canary[i] = OT_CANARY;
    return canary;
}

bool ot_gpu_canary_intact(const void *pad)
{
    return memcmp(pad, ot_gpu_canary(), OT_GPU_PAD) == 0;
}

bool ot_gpu_module_is_host(const char *path)
{
    char head[4] = "";
    FILE *f = fopen(path, "rb");
    const bool is = f && fread(head, 1, 4, f) == 4 && memcmp(head, "\177ELF", 4) == 0;
    if (f)
        fclose(f);
    return is;
}
