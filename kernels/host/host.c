/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels/host/host.h declares. */
#include "kernels/host/host.h"

/* As the text of a workload has it. */
static void dim_text(const optune_dim *dim, char *text, size_t size)
{
    if (optune_dim_known(dim)) {
        snprintf(text, size, "%" PRId64, dim->min);
        return;
    }
    const int n = snprintf(text, size, "?%.*s", OPTUNE_WORD_SIZE, optune_dim_text(dim));
    if (dim->max != OPTUNE_DIM_MAX)
        snprintf(text + n, size - (size_t)n, ":%" PRId64 "..%" PRId64, dim->min, dim->max);
    else if (dim->min > 0)
        snprintf(text + n, size - (size_t)n, ":%" PRId64 "..", dim->min);
}

const char *host_type_text(const optune_tensor *type, char text[HOST_TYPE_TEXT])
{
    enum { DIM_TEXT = OPTUNE_WORD_SIZE + 48, END = sizeof ",...]" };
    static const char *const prefix[] = {"?", "f", "bf", "i", "u", "u"};
    const optune_dtype dtype = type->dtype;
    const bool is_bool = dtype.code == OPTUNE_DTYPE_BOOL;
    int n = snprintf(text, HOST_TYPE_TEXT, "%s", prefix[dtype.code]);
    if (dtype.code != OPTUNE_DTYPE_UNKNOWN)
        n += snprintf(text + n, HOST_TYPE_TEXT - (size_t)n, "%d", is_bool ? 1 : dtype.bits);
    if (dtype.lanes > 1)
        n += snprintf(text + n, HOST_TYPE_TEXT - (size_t)n, "x%d", dtype.lanes);
    if (type->rank < 0)
        return text;
    text[n++] = '[';
    for (int i = 0; i < type->rank; i++) {
        char dim[DIM_TEXT];
        dim_text(&type->dim[i], dim, sizeof dim);
        if (n + (int)strlen(dim) + END > HOST_TYPE_TEXT) {
            n += snprintf(text + n, HOST_TYPE_TEXT - (size_t)n, ",...");
            break;
        }
        n += snprintf(text + n, HOST_TYPE_TEXT - (size_t)n, "%s%s", i > 0 ? "," : "", dim);
    }
    snprintf(text + n, HOST_TYPE_TEXT - (size_t)n, "]");
    return text;
}

int64_t host_dim_plus(int64_t a, int64_t b)
{
    int64_t c;
    if (a == OPTUNE_DIM_MAX || __builtin_add_overflow(a, b, &c))
        return OPTUNE_DIM_MAX;
    return c < 0 ? 0 : c;
}

int64_t host_dim_times(int64_t a, int64_t b)
{
    int64_t c;
    return __builtin_mul_overflow(a, b, &c) ? OPTUNE_DIM_MAX : c;
}

bool host_dim_narrow(optune_dim *d, int64_t lo, int64_t hi)
{
    if (lo > d->max || hi < d->min || lo > hi)
        return false;
    if (hi == OPTUNE_DIM_MAX && lo <= 1)
        return true;
    optune_dim range = {.min = lo > d->min ? lo : d->min, .max = hi < d->max ? hi : d->max};
    memcpy(range.name, d->name, sizeof range.name);
    *d = range;
    return true;
}

int host_conflict(optune_err *err, const char *what, const char *a_name, const optune_tensor *a,
                  const char *b_name, const optune_tensor *b)
{
    char a_text[HOST_TYPE_TEXT], b_text[HOST_TYPE_TEXT];
    return optune_fail(err, OPTUNE_ETYPE, "%s %s does not fit %s %s: %s", a_name,
                       host_type_text(a, a_text), b_name, host_type_text(b, b_text), what);
}

int host_flat_gradient(optune_grad *grad, const optune_call *call, optune_err *err)
{
    (void)grad;
    (void)call;
    (void)err;
    return OPTUNE_OK;
}

int host_cast(optune_grad *grad, int value, optune_dtype dtype)
{
    if (optune_dtype_equal(optune_grad_type(grad, value)->dtype, dtype))
        return value;
    return optune_grad_call(grad, "cast", 1, &value, "dtype=%s%d",
                            dtype.code == OPTUNE_DTYPE_BFLOAT ? "bf" : "f", dtype.bits);
}

int host_axis_settle(optune_call *call, const optune_tensor *data, optune_err *err)
{
    char text[HOST_TYPE_TEXT];
    optune_attr *axis = host_attr(call, "axis");
    if (axis->i[0] < -data->rank || axis->i[0] >= data->rank)
        return optune_fail(err, OPTUNE_ETYPE, "data %s has no axis %" PRId64,
                           host_type_text(data, text), axis->i[0]);
    if (axis->i[0] < 0)
        axis->i[0] += data->rank;
    if (axis->i[0] == data->rank - 1)
        axis->i[0] = -1;
    return OPTUNE_OK;
}

host_axis host_around(const optune_tensor *type, int64_t axis)
{
    host_axis a = {1, 1, 1};
    if (axis < 0)
        axis += type->rank;
    for (int d = 0; d < type->rank; d++)
        *(d < axis ? &a.outer : d == axis ? &a.n : &a.inner) *= type->dim[d].min;
    return a;
}

const char *host_c_type(optune_dtype dtype)
{
    if (dtype.lanes != 1)
        return NULL;
    switch (dtype.code) {
    case OPTUNE_DTYPE_FLOAT:
        return dtype.bits == 32 ? "float" : dtype.bits == 64 ? "double" : NULL;
    case OPTUNE_DTYPE_INT:
        return dtype.bits == 8    ? "signed char"
               : dtype.bits == 16 ? "short"
               : dtype.bits == 32 ? "i32"
               : dtype.bits == 64 ? "i64"
                                  : NULL;
    case OPTUNE_DTYPE_UINT:
        return dtype.bits == 8    ? "unsigned char"
               : dtype.bits == 16 ? "unsigned short"
               : dtype.bits == 32 ? "u32"
               : dtype.bits == 64 ? "u64"
                                  : NULL;
    case OPTUNE_DTYPE_BOOL:
        return "unsigned char";
    default:
        return NULL;
    }
}
