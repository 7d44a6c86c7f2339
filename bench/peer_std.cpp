/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort: std::sort of a copy. argsort: std::sort of pairs of value and index, or std::stable_sort
 * of indices. topk: std::nth_element of pairs, then std::sort of the first k. Inputs without
 * NaN, as std::sort needs them.
 */
#include "bench/peer_std.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace
{

template <typename T> struct pair {
    T value;
    int64_t index;
};
template <> struct pair<float> {
    float value;
    int32_t index;
};
template <> struct pair<int32_t> {
    int32_t value;
    int32_t index;
};

template <typename T, bool ascend> struct before {
    bool operator()(const pair<T> &a, const pair<T> &b) const
    {
        if (a.value != b.value)
            return ascend ? a.value < b.value : a.value > b.value;
        return a.index < b.index;
    }
};

template <typename T, bool ascend> void sort_lines(const peer_std &c)
{
    T *out = static_cast<T *>(c.values);
    std::memcpy(out, c.data, static_cast<size_t>(c.lines * c.n) * sizeof(T));
    for (int64_t l = 0; l < c.lines; l++, out += c.n) {
        if (ascend)
            std::sort(out, out + c.n);
        else
            std::sort(out, out + c.n, std::greater<T>());
    }
}

template <typename T, typename I, bool ascend> void pair_lines(const peer_std &c)
{
    const T *data = static_cast<const T *>(c.data);
    T *values = static_cast<T *>(c.values);
    I *indices = static_cast<I *>(c.indices);
    pair<T> *p = static_cast<pair<T> *>(c.work);
    for (int64_t l = 0; l < c.lines; l++) {
        for (int64_t i = 0; i < c.n; i++)
            p[i] = {data[l * c.n + i], static_cast<decltype(p->index)>(i)};
        if (c.k < c.n)
            std::nth_element(p, p + c.k, p + c.n, before<T, ascend>());
        std::sort(p, p + c.k, before<T, ascend>());
        for (int64_t i = 0; i < c.k; i++) {
            if (values)
                values[l * c.k + i] = p[i].value;
            if (indices)
                indices[l * c.k + i] = static_cast<I>(p[i].index);
        }
    }
}

template <typename T, typename I, bool ascend> void index_lines(const peer_std &c)
{
    const T *data = static_cast<const T *>(c.data);
    I *out = static_cast<I *>(c.indices);
    for (int64_t l = 0; l < c.lines; l++, data += c.n, out += c.n) {
        for (int64_t i = 0; i < c.n; i++)
            out[i] = static_cast<I>(i);
        std::stable_sort(out, out + c.n, [data](I a, I b) {
            return ascend ? data[a] < data[b] : data[a] > data[b];
        });
    }
}

template <typename T, typename I, bool ascend> void run(const peer_std &c, int way)
{
    if (!c.indices && c.k == c.n)
        sort_lines<T, ascend>(c);
    else if (way == 0)
        pair_lines<T, I, ascend>(c);
    else
        index_lines<T, I, ascend>(c);
}

template <typename T> void run_of(const peer_std &c, int way)
{
    if (c.index_bits == 64)
        c.ascend ? run<T, int64_t, true>(c, way) : run<T, int64_t, false>(c, way);
    else
        c.ascend ? run<T, int32_t, true>(c, way) : run<T, int32_t, false>(c, way);
}

} // namespace

const char *peer_std_way(const peer_std *c, int way)
{
    const bool sort = !c->indices && c->k == c->n, argsort = !c->values && c->k == c->n;
    if (way == 0)
        return sort           ? "std::sort"
               : c->k == c->n ? "std::sort of pairs"
                              : "std::nth_element and std::sort of pairs";
    return way == 1 && argsort ? "std::stable_sort of indices" : nullptr;
}

void peer_std_run(const peer_std *c, int way)
{
    if (c->is_float && c->bits == 32)
        run_of<float>(*c, way);
    else if (c->is_float)
        run_of<double>(*c, way);
    else if (c->bits == 32)
        run_of<int32_t>(*c, way);
    else
        run_of<int64_t>(*c, way);
}
