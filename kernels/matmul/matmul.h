/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rows of the matrix products (dense, batch_matmul) share: the checks and numbers of
 * register tiles. Host code only; bodies use
 * kernels/matmul/gemm.kernel.h. It owns nothing and allocates nothing.
 */
#ifndef OPTUNE_KERNELS_MATMUL_H
#define OPTUNE_KERNELS_MATMUL_H

#include "kernels/host/tensor.h"

int matmul_rank(optune_err *err, const char *name, optune_tensor *type, int rank);

/* The types of operands a and b and of the output, whose attribute is out_dtype. */
int matmul_dtypes(optune_call *call, const char *a_name, const char *b_name, optune_err *err);

/* ---- devices and tiles
 * ---------------------------------------------------------------------- */

/* Unknown devices are taken for the smallest vector machine there is. */
static inline int64_t matmul_lanes(const optune_task *task, bool f64)
{
    const int bytes = task->device->vector_bytes >= 16 ? task->device->vector_bytes : 16;
    return bytes / (f64 ? 8 : 4);
}

static inline int64_t matmul_registers(const optune_task *task)
{
    return task->device->vector_registers >= 16 ? task->device->vector_registers : 16;
}

static inline int64_t matmul_l2(const optune_task *task)
{
    return task->device->l2 > 0 ? task->device->l2 : 256 << 10;
}

static inline int64_t matmul_threads(const optune_task *task)
{
    return task->device->threads > 0 ? task->device->threads : 1;
}

/* Rows of data in one block: those that fit half of the L2, and fewer where too few tasks of
 * other columns would leave threads idle. */
int64_t matmul_block_rows(const optune_task *task, int64_t m, int64_t row_bytes,
                          int64_t column_tasks);

static inline bool matmul_float(optune_dtype dtype)
{
    return dtype.code == OPTUNE_DTYPE_FLOAT && (dtype.bits == 32 || dtype.bits == 64) &&
           dtype.lanes == 1;
}

/* The condition of generic rows: bodies are C for CPUs. */
static inline bool matmul_on_cpu(const optune_task *task, char *why)
{
    return task->device->warp == 0 ||
           optune_refuse(why, "its body is C for CPUs, %s is a GPU", task->device->name);
}

/* A tile of mr rows and nv vectors keeps one row of B and one broadcast beside itself. */
bool matmul_tile_fits(const optune_task *task, int64_t mr, int64_t nv, char *why);

/* The tile that computes m rows of `vectors` vectors in the fewest steps, by the cost above. */
void matmul_best_tile(const optune_task *task, int64_t m, int64_t vectors, int64_t *mr,
                      int64_t *nv);

/* The knobs of matmul_tile_knobs for such a product. */
void matmul_choose_tile(const optune_task *task, const optune_space *space,
                        optune_config *config, int64_t m, int64_t vectors);

enum { MATMUL_MAX_SCRATCH = 1 << 30 };

static inline bool matmul_scratch_fits(int64_t bytes, char *why)
{
    return bytes < MATMUL_MAX_SCRATCH ||
           optune_refuse(why, "packing needs %" PRId64 " bytes, more than 1 GiB", bytes);
}

/* The same, or little more than the operand that is packed takes itself (0: of one that varies,
 * whose largest size nobody may have). */
static inline bool matmul_packed_fits(int64_t bytes, int64_t operand, char *why)
{
    return bytes <= operand + operand / 4 || matmul_scratch_fits(bytes, why);
}

/* Declares a knob of the values below `limit`, and `limit` itself last. */
void matmul_up_to(optune_space *space, const char *name, const int64_t *values, int n,
                  int64_t limit);

/* The knobs of a register tile: rows, vectors, and steps of depth unrolled. */
void matmul_tile_knobs(optune_space *space, int64_t m, int64_t vectors);

/* The same knobs as macros of kernels/matmul/gemm.kernel.h. */
void matmul_define_tile(optune_plan *plan, int module, const optune_config *config);

#endif
