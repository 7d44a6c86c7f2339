/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the keeper holds and a runner never sees ahead of time: three sets of inputs and the
 * references of each.
 *
 * The one idea: a candidate that remembers an answer has to recognise the question. The near
 * set differs from the true one in so few places that a look at some of them does not tell,
 * and yet in enough that most outputs differ; the far one leaves [-1, 1), by a factor that a
 * bound in proportion to magnitudes follows.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/worker/worker_keeper.h"

enum { NEAR_SHARE = 256, FEW = 8 }; /* one of so many elements; so few are all new */
static const double ALWAYS_KEPT = OT_ALWAYS_KEPT, KEPT_OF_FREE = 0.25;
static const double FAR_SCALE = 2;
static const uint64_t FAR_SEED = 0x9e3779b97f4a7c15;
static const ot_reference_limits less[OT_SETS] = {
    [OT_SET_NEAR] = {.seconds = 0.2, .elements = 64 << 10},
    [OT_SET_FAR] = {.seconds = 0.4, .elements = 256 << 10},
};

/* Some elements become what others are, so that they are as likely as before. */
static void scatter(const optune_tensor *type, uint64_t seed, void *data)
{
    const int64_t n = optune_tensor_elements(type);
    const size_t size = n ? (size_t)(optune_tensor_bytes(type) / n) : 0;
    char *at = data;
    for (int64_t k = 0; size && k < n / NEAR_SHARE + 1; k++) {
        const int64_t to = optune_random_below(&seed, n), from = optune_random_below(&seed, n);
        if (to != from)
            memcpy(at + to * (int64_t)size, at + from * (int64_t)size, size);
    }
}

static void make(const ot_inputs *in, ot_set set, int i, void *to)
{
    const optune_tensor *type = &in->call.input[i].type;
    const bool varies = in->variable >> i & 1;
    const bool few = optune_tensor_elements(type) <= FEW;
    uint64_t seed = in->seed;
    if (set == OT_SET_FAR || (set == OT_SET_NEAR && varies && few))
        seed = ot_hash64(&(uint64_t){seed ^ FAR_SEED}, sizeof seed);
    if (set == OT_SET_NEAR && !few && in->kept[OT_SET_TRUE][i])
        ot_parallel_copy(to, in->kept[OT_SET_TRUE][i], optune_tensor_bytes(type), in->threads);
    else
        ot_fill_scaled(&in->call, seed, i, set == OT_SET_FAR ? FAR_SCALE : 1, in->threads, to);
    if (set == OT_SET_NEAR && varies && !few)
        scatter(type, ot_hash64(&seed, sizeof seed) + (uint64_t)i, to);
}

void ot_inputs_put(const ot_inputs *in, ot_set set, uint32_t mask, char *tray)
{
    for (int i = 0; i < optune_call_inputs(&in->call); i++) {
        if (!(mask >> i & 1))
            continue;
        if (in->kept[set][i])
            ot_parallel_copy(tray + in->in_at[i], in->kept[set][i],
                             optune_tensor_bytes(&in->call.input[i].type), in->threads);
        else
            make(in, set, i, tray + in->in_at[i]);
    }
}

/* ---- opening ----------------------------------------------------------------------------- */

static int64_t lay(int64_t *at, int64_t bytes)
{
    const int64_t here = *at;
    *at = (here + bytes + 63) / 64 * 64;
    return here;
}

/* Memory that what is forked does not have. */
static void *own_memory(int64_t bytes)
{
    void *map = mmap(NULL, (size_t)bytes + 1, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    madvise(map, (size_t)bytes + 1, MADV_DONTFORK);
    madvise(map, (size_t)bytes + 1, MADV_HUGEPAGE); /* advice: refused is fine */
    return map;
}

static int make_references(ot_inputs *in, ot_set set, const char *path, int threads,
                           const optune_task *where, optune_err *err)
{
    ot_reference_limits limits = less[set];
    limits.target = where ? where->target : NULL;
    limits.device = where ? where->device : NULL;
    void *data[OPTUNE_MAX_INPUTS] = {0};
    char file[4096];
    int status = OPTUNE_OK;
    const int n = optune_call_inputs(&in->call);
    snprintf(file, sizeof file, "%s%s", path,
             set == OT_SET_NEAR  ? "-near"
             : set == OT_SET_FAR ? "-far"
                                 : "");
    if (!ot_exists(file)) {
        for (int i = 0; i < n && status >= 0; i++) {
            const int64_t bytes = optune_tensor_bytes(&in->call.input[i].type);
            data[i] = in->kept[set][i] ? in->kept[set][i] : own_memory(bytes);
            if (!data[i])
                status = optune_fail(err, OPTUNE_ENOMEM, "no memory for an input of %lld bytes",
                                     (long long)bytes);
            else if (!in->kept[set][i])
                make(in, set, i, data[i]);
        }
        if (status >= 0)
            status = ot_reference_make(&in->call, (const void *const *)data, threads, in->seed,
                                       &limits, file, err);
        for (int i = 0; i < n; i++)
            if (data[i] && !in->kept[set][i])
                munmap(data[i], (size_t)optune_tensor_bytes(&in->call.input[i].type) + 1);
    }
    OT_RETURN_UNLESS_OK(status);
    status = ot_reference_open(file, &in->reference[set], err);
    in->reference[set].threads = threads;
    return status;
}

/* Whether this set's inputs are made once and held. Near ones are made of the true ones. */
static bool keeps(const ot_inputs *in, ot_set set)
{
    const double all = OT_SETS * (double)in->in_bytes, most = 2 * (double)in->in_bytes;
    const int64_t available = ot_memory_available("");
    if (all <= ALWAYS_KEPT)
        return true;
    return set != OT_SET_NEAR && most <= ot_inputs_most_kept() &&
           (available < 0 || most <= KEPT_OF_FREE * (double)available);
}

/* All there is; what is left of it decides where somebody else asks. */
static int fits(const ot_inputs *in, optune_err *err)
{
    const double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const double need = 2 * ((double)in->in_bytes + (double)in->out_bytes);
    if (have <= 0 || need < have)
        return OPTUNE_OK;
    return optune_fail(
        err, OPTUNE_ENOMEM,
        "the workload's tensors take %.3g GB twice over, this machine has %.3g GB", need / 2e9,
        have * 1e-9);
}

int ot_inputs_open(ot_inputs *in, const char *call, uint64_t seed, const char *path,
                   int threads, const optune_task *where, optune_err *err)
{
    *in = (ot_inputs){.seed = seed, .threads = threads};
    int status = ot_call_parse(call, &in->call, err);
    if (status < 0)
        return status;
    if (!ot_call_static(&in->call))
        return optune_fail(err, OPTUNE_ETYPE,
                           "only calls with constant shapes can be measured: '%s'", call);
    const int n = optune_call_inputs(&in->call);
    for (int i = 0; i < n; i++) {
        in->in_at[i] = lay(&in->in_bytes, optune_tensor_bytes(&in->call.input[i].type));
        in->all |= 1u << i;
        if (!in->call.input[i].is_const)
            in->variable |= 1u << i;
    }
    for (int i = 0; i < in->call.n_outputs; i++)
        in->out_at[i] = lay(&in->out_bytes, optune_tensor_bytes(&in->call.output[i]));
    status = fits(in, err);
    for (int set = 0; set < OT_SETS && status >= 0; set++) {
        const bool kept = keeps(in, (ot_set)set);
        for (int i = 0; i < n && kept; i++) {
            in->kept[set][i] = own_memory(optune_tensor_bytes(&in->call.input[i].type));
            if (in->kept[set][i])
                make(in, (ot_set)set, i, in->kept[set][i]);
        }
        status = make_references(in, (ot_set)set, path, threads, where, err);
    }
    if (status < 0)
        ot_inputs_close(in);
    return status;
}

void ot_inputs_close(ot_inputs *in)
{
    for (int set = 0; set < OT_SETS; set++) {
        ot_reference_close(&in->reference[set]);
        for (int i = 0; i < OPTUNE_MAX_INPUTS; i++)
            if (in->kept[set][i])
                munmap(in->kept[set][i],
                       (size_t)optune_tensor_bytes(&in->call.input[i].type) + 1);
    }
    *in = (ot_inputs){0};
}
