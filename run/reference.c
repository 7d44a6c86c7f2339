/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the outputs should be, in double precision, by the operator's own reference.
 * Computed once per workload and seed into a file, so that a worker started again maps it.
 *
 * The one idea: an output is cut into runs of consecutive elements that keep whole trailing
 * dims, and the first, the last, then random ones are computed until all are done or it has
 * cost enough. So every border is in it however large the output is.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/remedy.h"
#include "run/reference.h"
#include "run/standard.h"

enum { MOST_BLOCKS = OT_REFERENCE_BLOCKS, MOST_THREADS = 64, BLOCK_ELEMENTS = 4096 };
enum {
    COSTLY = 128,
    ROWS_TOGETHER = 16,
    PIECE_COLUMNS = 512
}; /* COSTLY: operations an element */

/* How one output is cut: dims before `axis` are single indices, `axis` is cut into pieces of
 * `step`, dims after it are whole. */
typedef struct cut {
    int output, axis;
    int64_t step, pieces; /* of the axis */
    int64_t blocks;
    int64_t inner; /* elements of one index of the axis */
} cut;

/* Whether an element takes so much that what its row shares with others is nothing beside it, but
 * for what all rows read: products. */
static bool costly(const optune_call *call, int output)
{
    const double flops = call->op->flops ? call->op->flops(call) : 0;
    return flops >= COSTLY * (double)optune_tensor_elements(&call->output[output]);
}

static cut cut_output(const optune_call *call, int output, int most)
{
    const optune_tensor *type = &call->output[output];
    const int64_t elements = optune_tensor_elements(type);
    int64_t want = elements / BLOCK_ELEMENTS + 1, outer = 1;
    if (want > most)
        want = most;
    if (call->op->shape) /* what depends on values is found as a whole, for every block anew */
        want = 1;
    cut c = {.output = output, .inner = elements};
    if (!elements) { /* of nothing, no block */
        c.step = c.pieces = 1;
        return c;
    }
    for (c.axis = 0; c.axis < type->rank; c.axis++) {
        const int64_t extent = type->dim[c.axis].min;
        c.inner /= extent ? extent : 1;
        /* The axis where there are enough pieces; one more would be more than the table
         * holds. */
        if (outer * extent >= want || c.axis + 1 == type->rank ||
            outer * extent * type->dim[c.axis + 1].min > most) {
            int64_t pieces = (want + outer - 1) / outer;
            pieces = pieces < 1 ? 1 : pieces > extent ? extent : pieces;
            c.step = (extent + pieces - 1) / pieces;
            /* Rows of a product share what they read of its other operand. */
            const int64_t room = OT_REFERENCE_ELEMENTS / 4 / (c.inner ? c.inner : 1);
            const int64_t together = room < ROWS_TOGETHER ? room : ROWS_TOGETHER;
            if (c.step < together && c.axis == type->rank - 2 && costly(call, output))
                c.step = together;
            break;
        }
        outer *= extent;
    }
    if (type->rank == 0) {
        c.blocks = c.pieces = c.step = 1;
        return c;
    }
    c.pieces = c.step ? (type->dim[c.axis].min + c.step - 1) / c.step : 0;
    c.blocks = outer * c.pieces;
    return c;
}

int64_t ot_reference_block(const optune_call *call, int output)
{
    const cut c = cut_output(call, output, MOST_BLOCKS / call->n_outputs);
    return c.step * c.inner;
}

static ot_block region_of(const optune_call *call, const cut *c, int64_t k,
                          optune_region *region)
{
    const optune_tensor *type = &call->output[c->output];
    ot_block block = {.output = c->output, .count = 1};
    *region = (optune_region){.rank = type->rank};
    int64_t rest = k / c->pieces;
    const int64_t piece = k % c->pieces;
    for (int d = type->rank - 1; d >= 0; d--) {
        const int64_t extent = type->dim[d].min;
        if (d > c->axis) {
            region->hi[d] = extent;
        } else if (d == c->axis) {
            region->lo[d] = piece * c->step;
            region->hi[d] = region->lo[d] + c->step < extent ? region->lo[d] + c->step : extent;
        } else {
            region->lo[d] = rest % extent;
            region->hi[d] = region->lo[d] + 1;
            rest /= extent;
        }
    }
    for (int d = 0; d < type->rank; d++) {
        block.offset = block.offset * type->dim[d].min + region->lo[d];
        block.count *= region->hi[d] - region->lo[d];
    }
    return block;
}

/* ---- computing --------------------------------------------------------------------------- */

/* A block that is being computed, by pieces of its last dim. */
typedef struct open_block {
    ot_block block;
    optune_region region;
    int64_t pieces, taken, done;
    double *value, *magnitude;
} open_block;

typedef struct making {
    const optune_call *call;
    const void *const *in;
    void *standard[OPTUNE_MAX_OUTPUTS]; /* whole outputs, where the operator has one */
    bool *left[OPTUNE_MAX_OUTPUTS]; /* what it does not write of each; NULL: it writes all */
    const cut *cut;
    const int64_t *order;
    int64_t piece; /* of a block's last dim; 0: blocks are computed whole */
    double deadline;
    int64_t most_elements;
    int fd;
    pthread_mutex_t lock;
    /* under the lock */
    open_block *open;            /* pieces of it are left */
    int64_t next, elements, end; /* end of the file */
    ot_reference_head *head;
    int failed; /* errno */
} making;

static int write_all(int fd, const void *data, size_t n, int64_t offset)
{
    const char *p = data;
    while (n > 0) {
        const ssize_t put = pwrite(fd, p, n, offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put < 0 ? errno : ENOSPC;
        p += put;
        n -= (size_t)put;
        offset += put;
    }
    return 0;
}

/* A piece of a block is the next work; NULL: all are done, or time or memory is up. The first two
 * blocks, the edges, are always computed. */
static open_block *take(making *m, int64_t *piece)
{
    pthread_mutex_lock(&m->lock);
    const bool more =
        m->next < m->cut->blocks && !m->failed &&
        (m->next < 2 || (ot_now() < m->deadline && m->elements < m->most_elements));
    if (!m->open && more) {
        open_block *b = ot_alloc(sizeof *b);
        b->block = region_of(m->call, m->cut, m->order[m->next++], &b->region);
        const int last = b->region.rank - 1;
        b->pieces = m->piece ? (b->region.hi[last] + m->piece - 1) / m->piece : 1;
        b->value = ot_alloc((size_t)(b->block.count + 1) * sizeof *b->value);
        b->magnitude = ot_alloc((size_t)(b->block.count + 1) * sizeof *b->magnitude);
        m->elements += b->block.count;
        m->open = b;
    }
    open_block *b = m->open;
    if (b) {
        *piece = b->taken++;
        m->open = b->taken < b->pieces ? b : NULL;
    }
    pthread_mutex_unlock(&m->lock);
    return b;
}

/* References compute in double precision; integers of the call wrap. */
static void wrap(optune_dtype dtype, const optune_region *region, double *value)
{
    int64_t n = 1;
    if (dtype.code == OPTUNE_DTYPE_FLOAT || dtype.code == OPTUNE_DTYPE_BFLOAT)
        return;
    for (int d = 0; d < region->rank; d++)
        n *= region->hi[d] - region->lo[d];
    for (int64_t i = 0; i < n; i++)
        value[i] = ot_number_as(dtype, value[i]);
}

/* In integers where those of 64 bits are computed or come out: the latter are written as words. */
static bool exact_block(const making *m, const void *const *in, const optune_region *region,
                        double *value, double *magnitude)
{
    const optune_call *call = m->call;
    const int output = m->cut->output;
    const optune_dtype dtype = call->output[output].dtype;
    const bool words = ot_dtype_is_long(dtype);
    int64_t n = 1;
    for (int d = 0; d < region->rank; d++)
        n *= region->hi[d] - region->lo[d];
    if (n == 0 || (!words && (!ot_is_whole(call, output) || call->n_epilogues)))
        return false;
    uint64_t *whole = ot_alloc((size_t)n * sizeof *whole);
    if (!ot_whole_reference(call, in, output, region, whole)) {
        call->op->reference(call, in, output, region, value, magnitude);
        for (int64_t i = 0; i < n; i++)
            whole[i] = ot_whole_of(dtype, value[i]);
    }
    if (words && output == 0)
        ot_whole_fused(call, m->in, region, whole);
    if (words)
        memcpy(value, whole, (size_t)n * sizeof *whole);
    else
        ot_whole_numbers(dtype, n, whole, value);
    memset(magnitude, 0, (size_t)n * sizeof *magnitude);
    free(whole);
    return true;
}

/* By the operator's own reference and those of what is fused behind it. */
static void compute_block(const making *m, const optune_region *region, double *value,
                          double *magnitude)
{
    const void *own[OPTUNE_MAX_INPUTS] = {0}; /* one left out is NULL */
    memcpy(own, m->in, sizeof *own * (size_t)m->call->n_inputs);
    if (exact_block(m, own, region, value, magnitude))
        return;
    m->call->op->reference(m->call, own, m->cut->output, region, value, magnitude);
    wrap(m->call->output[m->cut->output].dtype, region, value);
    ot_reference_fused(m->call, m->in, region, value, magnitude);
}

/* From what its standard computed: magnitudes are such that the bound is the operator's own, and
 * NaN where nothing was written. */
static void copy_block(const making *m, const ot_block *block, double *value, double *magnitude)
{
    const optune_op *op = m->call->op;
    const optune_dtype dtype = m->call->output[block->output].dtype;
    const double factor =
        ot_error_bound(m->call, ot_impl_find(op->standard), (int)block->output);
    ot_elements(dtype, m->standard[block->output], block->offset, block->count, value);
    const double usual = ot_usual_tolerance(dtype);
    const double absolute = op->absolute < 0 ? usual : op->absolute;
    const double relative = op->relative < 0 ? usual : op->relative;
    const bool *left = m->left[block->output];
    for (int64_t i = 0; i < block->count; i++)
        magnitude[i] = left && left[block->offset + i] ? NAN
                       : factor > 0 && isfinite(value[i])
                           ? (absolute + relative * fabs(value[i])) / factor
                           : 0;
    if (ot_dtype_is_long(dtype))
        memcpy(value, (const char *)m->standard[block->output] + block->offset * 8,
               (size_t)block->count * 8);
}

/* Piece k of the last dim: computed by itself, then put between those of others. */
static void compute_piece(const making *m, const open_block *b, int64_t k)
{
    optune_region region = b->region;
    const int last = region.rank - 1;
    const int64_t extent = region.hi[last], from = k * m->piece;
    const int64_t wide = extent - from < m->piece ? extent - from : m->piece;
    const int64_t rows = b->block.count / extent;
    region.lo[last] = from;
    region.hi[last] = from + wide;
    double *value = ot_alloc((size_t)(rows * wide + 1) * sizeof *value);
    double *magnitude = ot_alloc((size_t)(rows * wide + 1) * sizeof *magnitude);
    compute_block(m, &region, value, magnitude);
    for (int64_t r = 0; r < rows; r++) {
        const size_t bytes = (size_t)wide * sizeof *value;
        memcpy(b->value + r * extent + from, value + r * wide, bytes);
        memcpy(b->magnitude + r * extent + from, magnitude + r * wide, bytes);
    }
    free(value);
    free(magnitude);
}

static void write_block(making *m, open_block *b)
{
    const size_t n = (size_t)b->block.count;
    float *narrow = (float *)b->magnitude;
    bool nan = false;
    for (size_t i = 0; i < n && !ot_dtype_is_long(m->call->output[b->block.output].dtype); i++)
        nan |= isnan(b->value[i]);
    for (size_t i = 0; i < n;
         i++) { /* in place: a float is never wider than what it replaces */
        const double from = b->magnitude[i];
        const float to = nextafterf((float)from, INFINITY);
        memcpy(&narrow[i], &to, sizeof to);
    }
    pthread_mutex_lock(&m->lock);
    b->block.value = m->end;
    b->block.magnitude = m->end + (int64_t)(n * sizeof *b->value);
    m->end = (b->block.magnitude + (int64_t)(n * sizeof *narrow) + 7) / 8 * 8;
    m->head->block[m->head->header.n_blocks++] = b->block;
    m->head->header.nan |= nan;
    pthread_mutex_unlock(&m->lock);
    int failed = write_all(m->fd, b->value, n * sizeof *b->value, b->block.value);
    if (!failed)
        failed = write_all(m->fd, narrow, n * sizeof *narrow, b->block.magnitude);
    if (failed) {
        pthread_mutex_lock(&m->lock);
        m->failed = failed;
        pthread_mutex_unlock(&m->lock);
    }
    free(b->value);
    free(b->magnitude);
    free(b);
}

static void *make_blocks(void *arg)
{
    making *m = arg;
    int64_t piece;
    for (open_block *b = take(m, &piece); b; b = take(m, &piece)) {
        if (m->call->op->standard)
            copy_block(m, &b->block, b->value, b->magnitude);
        else if (m->piece)
            compute_piece(m, b, piece);
        else
            compute_block(m, &b->region, b->value, b->magnitude);
        pthread_mutex_lock(&m->lock);
        const bool whole = ++b->done == b->pieces;
        pthread_mutex_unlock(&m->lock);
        if (whole)
            write_block(m, b);
    }
    return NULL;
}

/* First, last, then the others at random. */
static int64_t *block_order(int64_t n, uint64_t seed)
{
    int64_t *order = ot_alloc((size_t)(n + 2) * sizeof *order);
    uint64_t rng = seed;
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    if (n > 2) {
        order[1] = n - 1;
        order[n - 1] = 1;
    }
    for (int64_t i = n - 1; i > 2; i--) {
        const int64_t k = 2 + optune_random_below(&rng, i - 1), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    return order;
}

/* Where a block takes long, threads share it. */
static int64_t last_dim_piece(const making *m)
{
    const optune_tensor *type = &m->call->output[m->cut->output];
    const bool shared = !m->call->op->standard && !m->call->op->shape && type->rank > 0 &&
                        m->cut->axis < type->rank - 1 && costly(m->call, m->cut->output) &&
                        type->dim[type->rank - 1].min >= 2 * PIECE_COLUMNS;
    return shared ? PIECE_COLUMNS : 0;
}

static void make_output(making *m, int threads, uint64_t seed)
{
    pthread_t thread[MOST_THREADS];
    int started = 0;
    int64_t *order = block_order(m->cut->blocks, seed);
    m->order = order;
    m->piece = last_dim_piece(m);
    m->next = 0;
    m->elements = 0;
    while (started + 1 < threads && started < MOST_THREADS &&
           pthread_create(&thread[started], NULL, make_blocks, m) == 0)
        started++;
    make_blocks(m);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    if (m->next < m->cut->blocks)
        m->head->header.whole = 0;
    free(order);
}

static int write_reference(making *m, int threads, uint64_t seed,
                           const ot_reference_limits *limits, const char *path, optune_err *err)
{
    const optune_call *call = m->call;
    char temp[4096];
    if (snprintf(temp, sizeof temp, "%s.%d.tmp", path, (int)getpid()) >= (int)sizeof temp)
        return optune_fail(err, OPTUNE_ELIMIT, "path too long: '%s'", path);
    const int fd = open(temp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return optune_fail(err, OPTUNE_EIO, "cannot write '%s': %s%s", temp, strerror(errno),
                           ot_write_remedy(temp, errno));
    ot_reference_head *head = ot_alloc(sizeof *head);
    head->header.magic = OT_REFERENCE_MAGIC;
    head->header.whole = 1;
    for (int i = 0; i < call->n_outputs; i++)
        for (int64_t k = m->left[i] ? optune_tensor_elements(&call->output[i]) : 0; k-- > 0;)
            head->header.left[i] += m->left[i][k];
    m->most_elements = (limits && limits->elements ? limits->elements : OT_REFERENCE_ELEMENTS) /
                       call->n_outputs;
    m->fd = fd;
    m->end = sizeof *head;
    m->head = head;
    pthread_mutex_init(&m->lock, NULL);
    for (int i = 0; i < call->n_outputs; i++) {
        const cut c = cut_output(call, i, MOST_BLOCKS / call->n_outputs);
        m->cut = &c;
        m->deadline = ot_now() + (limits && limits->seconds > 0 ? limits->seconds : 2);
        make_output(m, threads, seed + (uint64_t)i);
    }
    pthread_mutex_destroy(&m->lock);
    if (!m->failed)
        m->failed = write_all(fd, head, sizeof *head, 0);
    if (!m->failed && ftruncate(fd, m->end) < 0)
        m->failed = errno;
    if (close(fd) < 0 && !m->failed)
        m->failed = errno;
    if (!m->failed && rename(temp, path) < 0)
        m->failed = errno;
    free(head);
    if (!m->failed)
        return OPTUNE_OK;
    unlink(temp);
    return optune_fail(err, OPTUNE_EIO, "cannot write '%s': %s%s", temp, strerror(m->failed),
                       ot_write_remedy(temp, m->failed));
}

static void release_standard(making *m)
{
    for (int i = 0; i < OPTUNE_MAX_OUTPUTS; i++) {
        free(m->standard[i]);
        free(m->left[i]);
    }
}

static int run_standard(making *m, const ot_reference_limits *limits, const char *path,
                        optune_err *err)
{
    for (int i = 0; i < m->call->n_outputs; i++) {
        const size_t bytes = (size_t)optune_tensor_bytes(&m->call->output[i]);
        m->standard[i] = ot_try_alloc(bytes + 1, "right outputs", err);
        if (!m->standard[i])
            return OPTUNE_ENOMEM;
    }
    static const ot_reference_limits none;
    const ot_reference_limits *l = limits ? limits : &none;
    return ot_standard_run(m->call, m->in, l->target, l->device, l->asker, path, m->standard,
                           m->left, err);
}

int ot_reference_make(const optune_call *call, const void *const *in, int threads,
                      uint64_t seed, const ot_reference_limits *limits, const char *path,
                      optune_err *err)
{
    making m = {.call = call, .in = in};
    if (call->op->standard && run_standard(&m, limits, path, err) < 0) {
        release_standard(&m);
        return err ? err->status : OPTUNE_EUSAGE;
    }
    const int status = write_reference(&m, threads, seed, limits, path, err);
    release_standard(&m);
    return status;
}
