/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor maps over the stand-in for CUDA's driver: what it is asked to encode, what is refused
 * before, how an older driver without them ends, and that a kernel gets the encoded map.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/stand_in.h"
#include "support/tensor_map.h"
#include "target/cuda.h"

static char dir[1024];
static const char *file, *old_file;

static int setup(void **state)
{
    (void)state;
    optune_err err = {0};
    check_ok(ot_temp_dir(dir, sizeof dir, &err));
    file = stand_in_build(dir, "fake_cuda.c", "libfake_cuda.so", NULL);
    old_file = stand_in_build(dir, "fake_cuda.c", "libold_cuda.so", "-DOLD_DRIVER");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ot_remove_tree(dir);
    return 0;
}

/* A process opens one driver, so the older one has a process of its own. */
static void test_older_driver(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        const ot_cuda *cu;
        optune_err err = {0};
        ot_cuda_tensor_map made;
        const optune_tensor_map map = tensor_map_sample();
        setenv("OPTUNE_CUDA_DRIVER", old_file, 1);
        const bool refused = ot_cuda_open(&cu, &err) >= 0 &&
                             ot_cuda_map(&map, 4096, &made, &err) == OPTUNE_EUNSUPPORTED &&
                             strstr(err.text, "cuTensorMapEncodeTiled") &&
                             strstr(err.text, "CUDA 12");
        _exit(refused ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void open_driver(void)
{
    const ot_cuda *cu;
    optune_err err = {0};
    setenv("OPTUNE_CUDA_DRIVER", file, 1);
    check_ok(ot_cuda_open(&cu, &err));
}

/* The stand-in keeps what it was asked to encode. */
static void test_encoding(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_cuda_tensor_map made;
    optune_tensor_map map = tensor_map_sample();
    open_driver();
    check_ok(ot_cuda_map(&map, 4096, &made, &err));
    assert_int_equal(made.opaque[0], 4096);
    assert_int_equal(made.opaque[1], 9 | 2 << 8 | 3 << 16); /* bfloat16, rank, 128 bytes */
    assert_int_equal(made.opaque[2], 72);
    assert_int_equal(made.opaque[3], 5);
    assert_int_equal(made.opaque[8], 144);
    assert_int_equal(made.opaque[12], 64 | (uint64_t)256 << 32);

    map.rank = 3;
    map.dtype = (optune_dtype){OPTUNE_DTYPE_FLOAT, 32, 1};
    map.box[0] = 16;
    map.box[2] = 1;
    map.dim[2] = 7;
    map.stride[2] = 144 * 5;
    map.swizzle = 64;
    check_ok(ot_cuda_map(&map, 4096, &made, &err));
    assert_int_equal(made.opaque[1], 7 | 3 << 8 | 2 << 16);
    assert_int_equal(made.opaque[9], 144 * 5);
    map.tf32 = true;
    check_ok(ot_cuda_map(&map, 4096, &made, &err));
    assert_int_equal(made.opaque[1] & 255, 11);
    map = tensor_map_sample();
    map.dtype = (optune_dtype){OPTUNE_DTYPE_FLOAT, 16, 1};
    check_ok(ot_cuda_map(&map, 4096, &made, &err));
    assert_int_equal(made.opaque[1] & 255, 6);

    assert_int_equal(ot_cuda_map(&map, 4096 + 8, &made, &err), OPTUNE_EUSAGE);
    check_contains(err.text, "aligned to 16");
    assert_int_equal(ot_cuda_map(&map, 0, &made, &err), OPTUNE_EUSAGE);
    map.stride[1] = 136; /* what no plan would pass comes back as the driver's own refusal */
    assert_int_equal(ot_cuda_map(&map, 4096, &made, &err), OPTUNE_EIO);
    check_contains(err.text, "CUDA_ERROR_INVALID_VALUE");
    map = tensor_map_sample();
    map.dtype = (optune_dtype){OPTUNE_DTYPE_FLOAT, 8, 1};
    assert_int_equal(ot_cuda_map(&map, 4096, &made, &err), OPTUNE_EUNSUPPORTED);
}

static void test_pixels(void **state)
{
    (void)state;
    optune_err err = {0};
    ot_cuda_tensor_map made;
    optune_tensor_map map = tensor_map_of_pixels();
    open_driver();
    check_ok(ot_cuda_map(&map, 4096, &made, &err));
    assert_int_equal(made.opaque[1], 9 | 4 << 8 | 3 << 16);
    assert_int_equal(made.opaque[3], 14);
    assert_int_equal(made.opaque[5], 4);
    assert_int_equal(made.opaque[10], 144 * 14 * 12);
    assert_int_equal(made.opaque[12] & 0xFFFFFFFF, 64); /* channels */
    assert_int_equal(made.opaque[14], 255 | 255 << 8 | 2 << 16 | (uint64_t)128 << 32);
    assert_int_equal(made.opaque[15], 255 | 255 << 8 | 1 << 16 | (uint64_t)128 << 32);
    map.step[0] = 9;
    assert_int_equal(ot_cuda_map(&map, 4096, &made, &err), OPTUNE_EIO);
}

/* Through the target's row: two maps and an output, as `dense` of the stand-in takes them. */
static void test_launch(void **state)
{
    (void)state;
    enum { M = 3, N = 5, K = 4 };
    static const char elf[] = "\177ELF";
    optune_err err = {0};
    optune_target target;
    optune_device device;
    char module_file[1100];
    void *module, *buffer[3];
    float in[2][N * K], want[M][N] = {{0}}, got[M][N];
    open_driver();
    setenv("FAKE_CUDA_DENSE", "3,5,4", 1);
    check_ok(ot_target_parse("cuda", &target, &err));
    check_ok(ot_cuda_probe(&target, &device, &err));
    const optune_target_row *row = ot_target_find("cuda");
    void *s = ot_alloc(row->worker.state_size);
    check_ok(row->worker.open(s, &target, &device, &err));
    snprintf(module_file, sizeof module_file, "%s/m.cubin", dir);
    check_ok(ot_gpu_module_write(module_file, "", elf, sizeof elf, &err));
    check_ok(row->worker.load(s, module_file, &module, &err));
    for (int i = 0; i < N * K; i++) {
        in[0][i] = (float)(i % 7);
        in[1][i] = (float)(i % 5 - 2);
    }
    for (int i = 0; i < M * N * K; i++)
        want[i / K / N][i / K % N] +=
            in[0][i / K / N * K + i % K] * in[1][i / K % N * K + i % K];
    for (int i = 0; i < 3; i++)
        check_ok(row->worker.alloc(s, (int64_t)sizeof in[0], true, &buffer[i], &err));
    for (int i = 0; i < 2; i++)
        check_ok(row->worker.write(s, buffer[i], in[i], (int64_t)sizeof in[i]));

    optune_tensor_map map[2];
    for (int i = 0; i < 2; i++)
        map[i] = (optune_tensor_map){.tensor = optune_input_arg(i),
                                     .dtype = {OPTUNE_DTYPE_FLOAT, 32, 1},
                                     .rank = 2,
                                     .dim = {K, i ? N : M},
                                     .stride = {0, K * 4},
                                     .box = {4, 4},
                                     .buffer = buffer[i]};
    const optune_stage stage = {
        .phase = OPTUNE_TIMED,
        .function = "dense",
        .n_args = 3,
        .arg = {optune_tensor_map_arg(0), optune_tensor_map_arg(1), optune_output_arg(0)},
        .block = {32},
    };
    optune_launch launch = {.function = row->worker.symbol(s, module, "dense"),
                            .stage = &stage,
                            .arg = {&map[0], &map[1], buffer[2]}};
    check_ok(row->worker.run(s, &launch, 1, &err));
    check_ok(row->worker.read(s, buffer[2], got, (int64_t)sizeof got));
    assert_memory_equal(got, want, sizeof got);
    assert_true(row->worker.time(s, &launch, 1, 40, &err) > 0); /* replayed as graphs, too */
    map[1].buffer = NULL;
    assert_int_equal(row->worker.run(s, &launch, 1, &err), OPTUNE_EUSAGE);
    for (int i = 0; i < 3; i++)
        row->worker.free(s, buffer[i]);
    row->worker.unload(s, module);
    row->worker.close(s);
    free(s);
}

/* 9.0's own instructions are in what is built for 9.0, and nowhere else. */
static void test_architecture(void **state)
{
    (void)state;
    static const char *const pair[][2] = {{"cuda -arch=sm_90", "-arch=sm_90a"},
                                          {"cuda -arch=sm_90a", "-arch=sm_90a"},
                                          {"cuda -arch=sm_80", "-arch=sm_80"},
                                          {"cuda -arch=sm_100", "-arch=sm_100"}};
    for (int i = 0; i < OT_COUNT(pair); i++) {
        optune_err err = {0};
        optune_target target;
        optune_device device;
        optune_argv argv = {0};
        check_ok(ot_target_parse(pair[i][0], &target, &err));
        check_ok(ot_cuda_assume(&target, &device, &err));
        check_ok(ot_cuda_compile(&target, &device, NULL, 0, "a.cu", "a.cubin", &argv, &err));
        bool found = false;
        for (int k = 0; k < argv.n; k++)
            found = found || strcmp(argv.word[k], pair[i][1]) == 0;
        assert_true(found);
        optune_argv_release(&argv);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older_driver), /* first: it must not inherit an open driver */
        cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_launch),
        cmocka_unit_test(test_architecture),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
