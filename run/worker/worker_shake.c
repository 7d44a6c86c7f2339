/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shaking: in front of every timed run some elements of the inputs become what others are; those of
 * the run before get their own values again. Where the outputs of the last run are judged, all do
 * before that one, else before the next deed. So no run can be answered from memory.
 */
#include <string.h>

#include "run/worker/worker_keeper.h"

enum { CALIBRATE = 2000 };

static inline void copy_element(char *to, const char *from, size_t size)
{
    if (size == 4)
        memcpy(to, from, 4);
    else if (size == 2)
        memcpy(to, from, 2);
    else
        memcpy(to, from, size);
}

void ot_shaker_settle(ot_shaker *s)
{
    for (int i = 0; i < s->n; i++) {
        ot_shaken *in = &s->input[i];
        for (int k = s->done - 1; k >= 0; k--)
            copy_element(in->base + in->at[k] * (int64_t)in->size, in->kept[k], in->size);
    }
    s->done = 0;
}

static void shake(void *const *arg)
{
    ot_shaker *s = arg[0];
    ot_shaker_settle(s);
    if (s->left-- <= 0)
        return;
    for (int i = 0; i < s->n; i++) {
        ot_shaken *in = &s->input[i];
        for (int k = 0; k < s->times; k++) {
            s->rng += 0x9e3779b97f4a7c15;
            const uint64_t r = (s->rng ^ s->rng >> 29) * 0xbf58476d1ce4e5b9;
            const uint64_t n = (uint64_t)in->elements;
            const uint64_t to = (uint64_t)((unsigned __int128)r * n >> 64);
            const uint64_t from =
                (uint64_t)((unsigned __int128)(r * 0x94d049bb133111eb) * n >> 64);
            char *place = in->base + (int64_t)to * (int64_t)in->size;
            in->at[k] = (int64_t)to;
            copy_element(in->kept[k], place, in->size);
            copy_element(place, in->base + (int64_t)from * (int64_t)in->size, in->size);
        }
    }
    s->done = s->times;
}

optune_launch ot_shaker_launch(ot_shaker *s)
{
    return ot_launch_of(shake, s);
}

/* Kernels on a device of their own have inputs that cannot be touched between two runs. */
void ot_shaker_open(ot_shaker *s, const ot_session *session, const ot_order *order)
{
    *s = (ot_shaker){.left = order->count - order->settle,
                     .times = order->shakes < OT_MOST_SHAKES ? order->shakes : OT_MOST_SHAKES,
                     .rng = order->seed};
    for (int i = 0; session->row->address && i < optune_call_inputs(&session->call); i++) {
        const optune_tensor *type = &session->call.input[i].type;
        const int64_t n = optune_tensor_elements(type);
        const size_t size = n ? (size_t)(session->in_bytes[i] / n) : 0;
        if (session->call.input[i].is_const || n < 2 || size == 0 || size > OT_WIDEST)
            continue;
        ot_shaken *in = &s->input[s->n++];
        in->base = session->row->address(session->state, session->in[order->kind][i]);
        in->elements = n;
        in->size = size;
    }
}

double ot_shaker_cost(const ot_session *session, const ot_order *order)
{
    static ot_shaker s;
    ot_shaker_open(&s, session, order);
    s.left = CALIBRATE;
    const optune_launch launch = ot_shaker_launch(&s);
    const double t = session->row->time(session->state, &launch, 1, CALIBRATE, NULL);
    return t > 0 ? t / CALIBRATE : 0;
}
