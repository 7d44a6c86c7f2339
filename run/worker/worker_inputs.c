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

typedef struct patch { /* an element, and what it was */
    int64_t at;
    char was[OT_WIDEST];
} patch;

static size_t size_of(const optune_tensor *type)
{
    const int64_t n = optune_tensor_elements(type);
    return n ? (size_t)(optune_tensor_bytes(type) / n) : 0;
}

static int64_t places(const optune_tensor *type)
{
    return optune_tensor_elements(type) / NEAR_SHARE + 1;
}

/* Some elements become what others are, so that they are as likely as before. `undo`: room for as
 * many as there are places; NULL: it stays so. */
static void scatter(const optune_tensor *type, uint64_t seed, void *data, patch *undo)
{
    const int64_t n = optune_tensor_elements(type);
    const size_t size = size_of(type);
    char *at = data;
    for (int64_t k = 0; size && k < places(type); k++) {
        const int64_t to = optune_random_below(&seed, n), from = optune_random_below(&seed, n);
        if (undo) {
            undo[k].at = to;
            memcpy(undo[k].was, at + to * (int64_t)size, size);
        }
        if (to != from)
            memcpy(at + to * (int64_t)size, at + from * (int64_t)size, size);
    }
}

static void restore(const optune_tensor *type, void *data, const patch *undo)
{
    const size_t size = size_of(type);
    for (int64_t k = size ? places(type) - 1 : -1; k >= 0; k--)
        memcpy((char *)data + undo[k].at * (int64_t)size, undo[k].was, size);
}

static uint64_t scatter_seed(const ot_inputs *in, int i)
{
    return ot_hash64(&in->seed, sizeof in->seed) + (uint64_t)i;
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
        scatter(type, scatter_seed(in, i), to, NULL);
}

void ot_inputs_put(const ot_inputs *in, ot_set set, uint64_t mask, char *tray)
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
    return map;
}

/* An input of a set while its reference is computed. */
typedef struct lent {
    void *data;
    bool own;    /* made for it */
    patch *undo; /* the true ones, which are near ones meanwhile; NULL: as they are */
} lent;

static bool lend(const ot_inputs *in, ot_set set, int i, lent *to)
{
    const optune_tensor *type = &in->call.input[i].type;
    const int64_t bytes = optune_tensor_bytes(type), n = optune_tensor_elements(type);
    void *as_true = in->kept[OT_SET_TRUE][i];
    *to = (lent){.data = in->kept[set][i]};
    if (to->data)
        return true;
    if (set == OT_SET_NEAR && as_true && n > FEW && size_of(type) <= OT_WIDEST) {
        to->data = as_true;
        if (in->variable >> i & 1) {
            to->undo = ot_alloc((size_t)places(type) * sizeof *to->undo);
            scatter(type, scatter_seed(in, i), as_true, to->undo);
        }
        return true;
    }
    to->data = own_memory(bytes);
    to->own = to->data != NULL;
    if (to->own)
        make(in, set, i, to->data);
    return to->own;
}

static void give_back(const ot_inputs *in, int i, const lent *from)
{
    const optune_tensor *type = &in->call.input[i].type;
    if (from->undo)
        restore(type, from->data, from->undo);
    if (from->own)
        munmap(from->data, (size_t)optune_tensor_bytes(type) + 1);
    free(from->undo);
}

static int make_reference(const ot_inputs *in, ot_set set, const char *file,
                          const ot_reference_limits *limits, optune_err *err)
{
    lent input[OPTUNE_MAX_INPUTS] = {0};
    const void *data[OPTUNE_MAX_INPUTS] = {0};
    int status = OPTUNE_OK, n = 0;
    for (; n < optune_call_inputs(&in->call) && status >= 0; n++) {
        if (!lend(in, set, n, &input[n]))
            status = optune_fail(err, OPTUNE_ENOMEM, "no memory for an input of %lld bytes",
                                 (long long)optune_tensor_bytes(&in->call.input[n].type));
        data[n] = input[n].data;
    }
    if (status >= 0)
        status = ot_reference_make(&in->call, data, in->threads, in->seed, limits, file, err);
    while (n-- > 0)
        give_back(in, n, &input[n]);
    return status;
}

static int open_reference(ot_inputs *in, ot_set set, const char *path,
                          const ot_reference_limits *where, optune_err *err)
{
    ot_reference_limits limits = less[set];
    limits.target = where ? where->target : NULL;
    limits.device = where ? where->device : NULL;
    limits.asker = where ? where->asker : NULL;
    char file[4096];
    snprintf(file, sizeof file, "%s%s", path,
             set == OT_SET_NEAR  ? "-near"
             : set == OT_SET_FAR ? "-far"
                                 : "");
    if (!ot_exists(file))
        OT_RETURN_UNLESS_OK(make_reference(in, set, file, &limits, err));
    OT_RETURN_UNLESS_OK(ot_reference_open(file, &in->reference[set], err));
    in->reference[set].threads = in->threads;
    return OPTUNE_OK;
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
                   int threads, const ot_reference_limits *where, optune_err *err)
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
        in->all |= (uint64_t)1 << i;
        if (!in->call.input[i].is_const)
            in->variable |= (uint64_t)1 << i;
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
        status = open_reference(in, (ot_set)set, path, where, err);
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
