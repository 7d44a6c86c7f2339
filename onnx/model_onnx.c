/* SPDX-License-Identifier: Apache-2.0 */
/* Models as ONNX files, where the build found the packages that read them. */
#include "graph/model.h"

#ifdef OT_HAS_ONNX
int ot_onnx_read(const char *path, const optune_binding *bind, int n, bool partial,
                 optune_graph **graph, optune_err *err);
#else
static int ot_onnx_read(const char *path, const optune_binding *bind, int n, bool partial,
                        optune_graph **graph, optune_err *err)
{
    (void)bind, (void)n, (void)partial;
    *graph = NULL;
    return optune_fail(
        err, OPTUNE_EUNSUPPORTED,
        "'%s' is a model, and this build reads none: install "
        "protobuf-c-compiler, libprotobuf-c-dev and libonnx-dev, and build again",
        path);
}
#endif

OT_MODEL(onnx) = {.suffix = ".onnx", .read = ot_onnx_read};
