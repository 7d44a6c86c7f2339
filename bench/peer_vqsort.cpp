/* SPDX-License-Identifier: Apache-2.0 */
/* Highway's vqsort, the vectorised quicksort of libhwy_contrib, sorting a copy in place. */
#include "bench/peer_std.h"

#include <cstring>

#ifdef OT_VQSORT
#include <hwy/contrib/sort/vqsort.h>

namespace
{

template <typename T> void lines(const peer_std &c)
{
    static const hwy::Sorter sorter;
    T *out = static_cast<T *>(c.values);
    std::memcpy(out, c.data, static_cast<size_t>(c.lines * c.n) * sizeof(T));
    for (int64_t l = 0; l < c.lines; l++, out += c.n) {
        if (c.ascend)
            sorter(out, static_cast<size_t>(c.n), hwy::SortAscending());
        else
            sorter(out, static_cast<size_t>(c.n), hwy::SortDescending());
    }
}

} // namespace

const char *peer_vqsort_way(const peer_std *c)
{
    return c->indices || c->k != c->n ? nullptr : "vqsort";
}

void peer_vqsort_run(const peer_std *c)
{
    if (c->is_float && c->bits == 32)
        lines<float>(*c);
    else if (c->is_float)
        lines<double>(*c);
    else if (c->bits == 32)
        lines<int32_t>(*c);
    else
        lines<int64_t>(*c);
}
#else
const char *peer_vqsort_way(const peer_std *)
{
    return nullptr;
}

void peer_vqsort_run(const peer_std *)
{
}
#endif
