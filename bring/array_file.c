/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of a tensor in a file: NumPy's .npy of any version, byte order and order of its axes, or
 * nothing but the elements, as this machine and C have them.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bring/bring.h"

typedef struct array {
    const char *path;
    const unsigned char *map;
    size_t bytes, at;  /* of the file; where elements begin */
    char kind;         /* 'f', 'i', 'u', 'b', 'V' ...; 0: the file does not say */
    int width;         /* of an element, in bytes */
    bool big, columns; /* the highest byte first; the first axis is the fastest */
    int rank;
    int64_t dim[OPTUNE_MAX_RANK];
} array;

static int open_array(const char *path, array *a, optune_err *err)
{
    struct stat info;
    *a = (array){.path = path};
    const int fd = ot_open_file(path, O_RDONLY, err);
    if (fd < 0)
        return fd;
    void *map = MAP_FAILED;
    if (fstat(fd, &info) == 0) {
        a->bytes = (size_t)info.st_size;
        map = a->bytes ? mmap(NULL, a->bytes, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    }
    const int why = errno;
    close(fd);
    if (map == MAP_FAILED)
        return optune_fail(err, OPTUNE_EIO, "cannot read '%s': %s", path, strerror(why));
    a->map = map;
    return OPTUNE_OK;
}

static void close_array(array *a)
{
    if (a->map)
        munmap((void *)(uintptr_t)a->map, a->bytes);
    a->map = NULL;
}

/* ---- .npy -------------------------------------------------------------------------------- */

static int no_npy(const array *a, const char *why, optune_err *err)
{
    return optune_fail(err, OPTUNE_ESYNTAX, "'%s' is no .npy file of one array: %s", a->path,
                       why);
}

/* What stands behind 'key': in the header; NULL: nothing does. */
static const char *value_of(const char *header, const char *key)
{
    const size_t n = strlen(key);
    for (const char *p = header; (p = strstr(p, key)); p++)
        if (p > header && strchr("'\"", p[-1]) && p[n] == p[-1]) {
            p += n + 1;
            p += strspn(p, " ");
            return *p == ':' ? p + 1 + strspn(p + 1, " ") : NULL;
        }
    return NULL;
}

static int read_shape(array *a, const char *p, optune_err *err)
{
    if (*p++ != '(')
        return no_npy(a, "its shape is none", err);
    for (p += strspn(p, " "); *p != ')'; p += strspn(p, " ,")) {
        int64_t dim = 0;
        const size_t n = strspn(p, "0123456789");
        for (size_t i = 0; i < n; i++)
            if (__builtin_mul_overflow(dim, (int64_t)10, &dim) ||
                __builtin_add_overflow(dim, (int64_t)(p[i] - '0'), &dim))
                return no_npy(a, "a dim is too large", err);
        if (n == 0)
            return no_npy(a, "its shape is none", err);
        if (a->rank == OPTUNE_MAX_RANK)
            return no_npy(a, "it has more dims than a tensor here", err);
        a->dim[a->rank++] = dim;
        p += n + (p[n] == 'L'); /* as Python 2 wrote them */
    }
    return OPTUNE_OK;
}

static int read_header(array *a, const char *header, optune_err *err)
{
    const char *type = value_of(header, "descr"), *order = value_of(header, "fortran_order"),
               *shape = value_of(header, "shape");
    if (!type || !order || !shape)
        return no_npy(a, "its header lacks descr, fortran_order or shape", err);
    if (*type != '\'' && *type != '"')
        return no_npy(a, "its elements are records", err);
    type++;
    a->big = *type == '>';
    type += *type && strchr("<>=|", *type); /* the header may end anywhere */
    a->kind = *type;
    for (type += *type != '\0'; isdigit((unsigned char)*type) && a->width < 1000; type++)
        a->width = a->width * 10 + (*type - '0');
    a->columns = *order == 'T';
    return read_shape(a, shape, err);
}

static int read_npy(array *a, optune_err *err)
{
    static const char magic[] = "\x93NUMPY";
    const unsigned char *p = a->map;
    const size_t mark = sizeof magic - 1;
    if (a->bytes < mark + 4 || memcmp(p, magic, mark) != 0)
        return no_npy(a, "it does not begin as one", err);
    const int version = p[mark];
    if (version < 1 || version > 3)
        return no_npy(a, "its version is none of 1 to 3", err);
    const size_t start = mark + (version == 1 ? 4 : 6);
    if (a->bytes < start)
        return no_npy(a, "it ends within its header", err);
    size_t n = p[mark + 2] | (size_t)p[mark + 3] << 8;
    if (version > 1)
        n |= (size_t)p[mark + 4] << 16 | (size_t)p[mark + 5] << 24;
    if (a->bytes - start < n || n > 1 << 20)
        return no_npy(a, "it ends within its header", err);
    ot_text header = {0};
    ot_text_add_n(&header, (const char *)p + start, n);
    a->at = start + n;
    const int status = read_header(a, ot_text_str(&header), err);
    ot_text_release(&header);
    return status;
}

/* ---- against a tensor -------------------------------------------------------------------- */

/* Bytes of a kind that has no name in NumPy are kept as `V2` or integers. */
static bool is_type(const array *a, optune_dtype dtype)
{
    if (a->width * 8 != (dtype.bits + 7) / 8 * 8)
        return false;
    if (dtype.code == OPTUNE_DTYPE_FLOAT)
        return a->kind == 'f';
    if (dtype.code == OPTUNE_DTYPE_BFLOAT)
        return a->kind == 'V' || a->kind == 'u';
    return dtype.code == OPTUNE_DTYPE_INT ? a->kind == 'i' : a->kind == 'u' || a->kind == 'b';
}

static int check_shape(const array *a, const optune_tensor *type, optune_err *err)
{
    bool same = a->rank == type->rank;
    char dtype[OPTUNE_WORD_SIZE];
    for (int d = 0; d < a->rank && same; d++)
        same = a->dim[d] == type->dim[d].min;
    if (same && is_type(a, type->dtype))
        return OPTUNE_OK;
    ot_text is = {0}, wanted = {0};
    ot_print_dtype(type->dtype, dtype, sizeof dtype);
    ot_text_printf(&is, "%c%d[", isprint((unsigned char)a->kind) ? a->kind : '?', a->width);
    for (int d = 0; d < a->rank; d++)
        ot_text_printf(&is, "%s%lld", d ? "," : "", (long long)a->dim[d]);
    ot_text_printf(&wanted, "%s[", dtype);
    for (int d = 0; d < type->rank; d++)
        ot_text_printf(&wanted, "%s%lld", d ? "," : "", (long long)type->dim[d].min);
    const int status =
        optune_fail(err, OPTUNE_ETYPE, "'%s' holds %s], in NumPy's words, and %s] is wanted",
                    a->path, ot_text_str(&is), ot_text_str(&wanted));
    ot_text_release(&is);
    ot_text_release(&wanted);
    return status;
}

static int open_as(const char *path, const optune_tensor *type, array *a, optune_err *err)
{
    const char *dot = strrchr(path, '.');
    OT_RETURN_UNLESS_OK(open_array(path, a, err));
    a->width = (type->dtype.bits + 7) / 8;
    int status = OPTUNE_OK;
    if (dot && strcmp(dot, ".npy") == 0) {
        a->width = 0;
        status = read_npy(a, err);
        if (status >= 0)
            status = check_shape(a, type, err);
    }
    const size_t wanted = (size_t)optune_tensor_bytes(type);
    if (status >= 0 && a->bytes - a->at != wanted)
        status = optune_fail(err, OPTUNE_ETYPE, "'%s' has %zu bytes of elements, not %zu", path,
                             a->bytes - a->at, wanted);
    if (status < 0)
        close_array(a);
    return status;
}

int ot_array_check(const char *path, const optune_tensor *type, optune_err *err)
{
    array a;
    OT_RETURN_UNLESS_OK(open_as(path, type, &a, err));
    close_array(&a);
    return OPTUNE_OK;
}

/* Element by element, in the order in which C has them. */
static void copy_elements(const array *a, int64_t n, unsigned char *to)
{
    const unsigned char *from = a->map + a->at;
    int64_t stride[OPTUNE_MAX_RANK], at[OPTUNE_MAX_RANK] = {0}, offset = 0, step = 1;
    for (int d = 0; d < a->rank; d++) {
        stride[d] = step;
        step *= a->dim[d];
    }
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *element = from + (a->columns ? offset : i) * a->width;
        for (int k = 0; k < a->width; k++)
            to[i * a->width + k] = element[a->big ? a->width - 1 - k : k];
        for (int d = a->rank - 1; d >= 0 && a->columns; d--) {
            offset += stride[d];
            if (++at[d] < a->dim[d])
                break;
            offset -= stride[d] * a->dim[d];
            at[d] = 0;
        }
    }
}

int ot_array_read(const char *path, const optune_tensor *type, void *to, optune_err *err)
{
    array a;
    OT_RETURN_UNLESS_OK(open_as(path, type, &a, err));
    const int64_t n = optune_tensor_elements(type);
    if (a.big || a.columns)
        copy_elements(&a, n, to);
    else if (n)
        memcpy(to, a.map + a.at, (size_t)n * (size_t)a.width);
    close_array(&a);
    return OPTUNE_OK;
}
