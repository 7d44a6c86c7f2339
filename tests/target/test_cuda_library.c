/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where libraries of CUDA's toolkit are found, over stand-ins: one that lies in a folder of which
 * the loader knows nothing finds there what it opens by its bare name, as NVRTC does.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "support/check.h"
#include "support/stand_in.h"
#include "target/cuda.h"

static void test_builtins(void **state)
{
    (void)state;
    static const char builtins[] = "libstandin-builtins.so.7.0";
    char home[1024], folder[1100], path[4096] = "";
    void *handle = NULL;
    optune_err err = {0};
    check_ok(ot_temp_dir(home, sizeof home, &err));
    snprintf(folder, sizeof folder, "%s/lib64", home);
    assert_int_equal(mkdir(folder, 0700), 0);
    setenv("CUDA_HOME", home, 1);
    assert_int_equal(ot_cuda_library_open("standin", &handle, path, sizeof path, &err),
                     OPTUNE_ETOOL);
    check_contains(err.text, home);
    stand_in_build(folder, "fake_body.c", "libstandin.so.7", NULL);
    stand_in_build(folder, "fake_body.c", builtins, "-Wl,-soname,libstandin-builtins.so.7.0");
    assert_null(dlopen(builtins, RTLD_NOW));
    check_ok(ot_cuda_library_open("standin", &handle, path, sizeof path, &err));
    check_contains(path, "/lib64/libstandin.so.7");
    void *found = dlopen(builtins, RTLD_NOW);
    assert_non_null(found);
    dlclose(found);
    dlclose(handle);
    unsetenv("CUDA_HOME");
    ot_remove_tree(home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_builtins)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
