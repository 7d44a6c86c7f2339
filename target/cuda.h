/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the target `cuda` share: devices, compiling, running. */
#ifndef OPTUNE_TARGET_CUDA_H
#define OPTUNE_TARGET_CUDA_H

#include "target/cuda_api.h"
#include "target/gpu.h"

/* cuda_device.c */
int ot_cuda_find(const ot_cuda *cu, const char *wanted, int *device, optune_err *err);
int ot_cuda_probe(const optune_target *target, optune_device *device, optune_err *err);
int ot_cuda_assume(const optune_target *target, optune_device *device, optune_err *err);
int ot_cuda_dependencies(const optune_target *target, const optune_impl *impl, char *text,
                         size_t size, optune_err *err);
/* Clocks, temperature, power and why clocks are held back, as lines; or the reason in `why`. */
void ot_cuda_clocks(const ot_cuda *cu, int device, char *text, size_t size, char *why);

/* cuda_compile.c */
int ot_cuda_compile(const optune_target *target, const optune_device *device,
                    const char *const *flags, int n_flags, const char *source,
                    const char *module, optune_argv *argv, optune_err *err);
/* SOURCE MODULE OPTION..., or `--version [LIBRARY]`; the inside of a process of its own. */
int ot_cuda_translate(char **word, int n);
/* What `--version` prints, asked of such a process and kept. */
int ot_cuda_ask_version(const char *library, char *text, size_t size, optune_err *err);
/* ptxas's report as lines of `resources`. */
void ot_cuda_read_report(const char *log, ot_text *lines);

/* cuda_disassemble.c */
/* Where nvdisasm is: $OPTUNE_NVDISASM, PATH, the toolkit's folders, Python's packages; or ETOOL. */
int ot_cuda_disassembler(char *path, size_t size, optune_err *err);
/* What it prints of a cubin. */
int ot_cuda_listing(const void *binary, size_t n, ot_text *listing, optune_err *err);
/* Lines of `resources`, each kernel's with the figures that the listing has of it. */
void ot_cuda_add_figures(const char *lines, const char *listing, ot_text *to);
/* The row's `resources`: with these figures, or a line "unread=" that says why not. */
int ot_cuda_resources(const char *path, char *text, size_t size, optune_err *err);

/* cuda_buffer.c: device memory, between two canaries where it is guarded. */
typedef struct ot_cuda_buffer {
    cuda_pointer whole, part; /* all of it, and what a kernel is given */
    size_t bytes;             /* of the part */
    bool guarded;
} ot_cuda_buffer;
/* CUDA's result; NULL in *buffer where it is not 0. */
int ot_cuda_buffer_open(const ot_cuda *cu, int64_t bytes, bool guarded,
                        ot_cuda_buffer **buffer);
void ot_cuda_buffer_close(const ot_cuda *cu, ot_cuda_buffer *buffer);
bool ot_cuda_buffer_intact(const ot_cuda *cu, const ot_cuda_buffer *buffer);

/* cuda_flush.c: what empties the L2; zeros to begin with. */
typedef struct ot_cuda_flusher {
    cuda_module module;
    cuda_function read;
    cuda_pointer from; /* 0: nothing was flushed yet */
    size_t bytes;
} ot_cuda_flusher;
/* Enqueued; takes longer than a library's call. CUDA's result. */
int ot_cuda_flush(const ot_cuda *cu, ot_cuda_flusher *flusher, const optune_device *device,
                  cuda_stream stream);
void ot_cuda_flusher_close(const ot_cuda *cu, ot_cuda_flusher *flusher);

/* cuda_map.c: EUNSUPPORTED where the driver makes none. Aligned as CUDA 13 declares it; older
 * ones ask for 64. */
typedef struct ot_cuda_tensor_map {
    _Alignas(128) uint64_t opaque[16];
} ot_cuda_tensor_map;
int ot_cuda_map(const optune_tensor_map *map, cuda_pointer base, ot_cuda_tensor_map *to,
                optune_err *err);

/* cuda_library.c: libraries that implementations call: cublas, cublaslt, cudnn. */
int ot_cuda_library_of(const char *lib, void **handle, optune_err *err);
int ot_cuda_library_version(const char *lib, char *text, size_t size, optune_err *err);

/* What bodies get as "ot_clock": `cuda_clock` of kernels/common/cuda_clock.kernel.h. */
typedef struct ot_cuda_clock {
    double (*seconds)(struct ot_cuda_clock *clock, void (*body)(void *const *arg),
                      void *const *arg, int n, int cold);
} ot_cuda_clock;

#endif
