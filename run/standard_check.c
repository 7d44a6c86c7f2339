/* SPDX-License-Identifier: Apache-2.0 */
/* What outputs of a `standard` tell of it: what it does not write, what it computes with, and
 * whether they are what a file says. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bring/bring.h"
#include "run/standard_check.h"

/* Over poison, what reads its own outputs gives no number at all; comparing that says nothing. */
int ot_standard_numbers(const optune_call *call, void *const *out, optune_err *err)
{
    for (int i = 0; i < call->n_outputs; i++) {
        const optune_dtype dtype = call->output[i].dtype;
        const int64_t n = optune_tensor_elements(&call->output[i]);
        bool number = n == 0;
        if (dtype.code != OPTUNE_DTYPE_FLOAT && dtype.code != OPTUNE_DTYPE_BFLOAT)
            continue;
        for (int64_t k = 0; k < n && !number; k++) {
            double value;
            ot_elements(dtype, out[i], k, 1, &value);
            number = !isnan(value);
        }
        if (!number)
            return optune_fail(
                err, OPTUNE_EUSAGE,
                "no element of its output %d is a number: it writes nothing, or reads what is "
                "there before, which is an in-out parameter",
                i);
    }
    return OPTUNE_OK;
}

static bool is_full_of(const char *bytes, size_t n, int byte)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)bytes[i] != byte)
            return false;
    return true;
}

static size_t width_of(const optune_tensor *type)
{
    return (size_t)(type->dtype.bits * type->dtype.lanes + 7) / 8;
}

/* An element may not have been written, or be computed from what it held: every integer may. */
static bool is_doubtful(const optune_tensor *type, const char *out, int64_t i)
{
    double value = 0;
    if (!ot_dtype_is_float(type->dtype))
        return true;
    ot_elements(type->dtype, out, i, 1, &value);
    return isnan(value);
}

bool ot_standard_doubtful(const optune_call *call, void *const *out)
{
    for (int o = 0; o < call->n_outputs; o++) {
        const int64_t n = optune_tensor_elements(&call->output[o]);
        for (int64_t i = 0; i < n; i++)
            if (is_doubtful(&call->output[o], out[o], i))
                return true;
    }
    return false;
}

/* Of two runs over different poison: what is still there was not written, what else differs was
 * made of it. */
int ot_standard_left(const optune_call *call, int o, const void *once, const void *again,
                     bool **left, optune_err *err)
{
    const optune_tensor *type = &call->output[o];
    const int64_t n = optune_tensor_elements(type);
    const size_t width = width_of(type);
    const char *first = once, *second = again;
    for (int64_t i = 0; i < n; i++) {
        const char *a = first + (size_t)i * width, *b = second + (size_t)i * width;
        if (!is_doubtful(type, first, i) || memcmp(a, b, width) == 0)
            continue;
        if (!is_full_of(a, width, OT_STANDARD_POISON) ||
            !is_full_of(b, width, OT_STANDARD_OTHER))
            return optune_fail(
                err, OPTUNE_EUSAGE,
                "element %lld of its output %d follows from what is there before, which is an "
                "in-out parameter, or is another one each time",
                (long long)i, o);
        if (!*left) {
            *left = ot_try_alloc((size_t)n * sizeof **left, "what is not written", err);
            if (!*left)
                return OPTUNE_ENOMEM;
        }
        (*left)[i] = true;
    }
    return OPTUNE_OK;
}

int ot_standard_against(const optune_call *call, int o, const void *got, const char *path,
                        optune_err *err)
{
    const optune_tensor *type = &call->output[o];
    const int64_t n = optune_tensor_elements(type);
    const double usual = ot_usual_tolerance(type->dtype);
    const double absolute = call->op->absolute < 0 ? usual : call->op->absolute;
    const double relative = call->op->relative < 0 ? usual : call->op->relative;
    int64_t wrong = 0, first = 0;
    double is = 0, said = 0;
    void *want = ot_try_alloc((size_t)optune_tensor_bytes(type) + 1, "a file's elements", err);
    if (!want)
        return OPTUNE_ENOMEM;
    int status = ot_array_read(path, type, want, err);
    for (int64_t i = 0; i < n && status >= 0; i++) {
        double a, b;
        ot_elements(type->dtype, got, i, 1, &a);
        ot_elements(type->dtype, want, i, 1, &b);
        const bool right = a == b || (isnan(a) && isnan(b)) ||
                           (isfinite(b) && fabs(a - b) <= absolute + relative * fabs(b));
        if (!right && wrong++ == 0)
            first = i, is = a, said = b;
    }
    if (status >= 0 && wrong)
        status =
            optune_fail(err, OPTUNE_EUSAGE,
                        "element %lld of its output %d is %.9g, and '%s' says %.9g (%lld "
                        "of %lld differ)",
                        (long long)first, o, is, path, said, (long long)wrong, (long long)n);
    free(want);
    return status;
}
