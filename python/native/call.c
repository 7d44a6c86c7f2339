/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short way of a call from Python: arrays that are all as they should be are taken by what lies
 * behind them, without an object made for each question. Whatever it does not take it leaves to the
 * package's own way, `_call`, which says what is wrong, so nothing is refused here. Without this
 * module the package does the same, slower.
 *
 * One binary for every CPython from 3.8 on, by its stable ABI; a free-threaded one does not load
 * it, so the interpreter's lock is held everywhere but while a kernel runs.
 */
#include "python/native/array.h"

#include <pthread.h>
#include <string.h>

typedef int run_fn(void *function, const void *const *in, void *const *out, void *err);

static unsigned forks; /* behind this process; what was made before one is the parent's */

/* ---- a lock that this module and Python's `with` take --------------------------------------- */

typedef struct lock {
    PyObject head;
    pthread_mutex_t mutex;
    bool open; /* what it guards, which is freed afterwards */
} lock;

static PyObject *lock_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    lock *made = (lock *)alloc(type, 0);
    if (made) {
        pthread_mutex_init(&made->mutex, NULL);
        made->open = true;
    }
    return (PyObject *)made;
}

static void enter(PyObject *self)
{
    pthread_mutex_t *mutex = &((lock *)self)->mutex;
    if (!pthread_mutex_trylock(mutex))
        return;
    PyThreadState *state = PyEval_SaveThread(); /* who holds it may wait for the interpreter */
    pthread_mutex_lock(mutex);
    PyEval_RestoreThread(state);
}

static void leave(PyObject *self)
{
    pthread_mutex_unlock(&((lock *)self)->mutex);
}

static PyObject *lock_enter(PyObject *self, PyObject *none)
{
    (void)none;
    enter(self);
    Py_RETURN_NONE;
}

static PyObject *lock_exit(PyObject *self, PyObject *args)
{
    (void)args;
    leave(self);
    Py_RETURN_NONE;
}

/* shut(): with the lock held, or where nobody can hold it; no call runs by here any more. */
static PyObject *lock_shut(PyObject *self, PyObject *none)
{
    (void)none;
    ((lock *)self)->open = false;
    Py_RETURN_NONE;
}

static bool types_are_visited; /* by their objects: from 3.9 on, while 3.8 does it itself */

static int visit_type(PyObject *self, visitproc visit, void *arg)
{
    if (types_are_visited)
        Py_VISIT(Py_TYPE(self));
    return 0;
}

/* Frees an object whose type is on the heap. */
static void freed(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- calls ---------------------------------------------------------------------------------- */

typedef struct caller {
    PyObject head;
    PyObject *lock, *err, *raises;
    run_fn *run;
    void *function, *err_at;
    unsigned generation;
    int n; /* inputs that a call has */
    plan *plans;
} caller;

static PyObject *slowly(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *method = PyObject_GetAttrString(self, "_call");
    if (!method)
        return NULL;
    PyObject *made = PyObject_Call(method, args, kwargs);
    Py_DECREF(method);
    return made;
}

/* Runs it while nobody else does; false, with the failure set, or without one: it is closed. */
static bool ran(caller *c, const void *const *in, void *const *out)
{
    bool fine = false;
    enter(c->lock);
    if (((const lock *)c->lock)->open) {
        PyThreadState *state = PyEval_SaveThread();
        const int status = c->run(c->function, in, out, c->err_at);
        PyEval_RestoreThread(state);
        fine = status >= 0;
        if (!fine) {
            PyObject *none = PyObject_CallFunction(c->raises, "Oi", c->err, status);
            Py_XDECREF(none);
            if (none)
                PyErr_SetString(PyExc_SystemError, "a failure was not raised");
        }
    }
    leave(c->lock);
    return fine;
}

/* The argument `out`, NULL for none; false: there are others. */
static bool only_out(PyObject *kwargs, PyObject **out)
{
    static PyObject *name;
    *out = NULL;
    const Py_ssize_t n = kwargs ? PyDict_Size(kwargs) : 0;
    if (!n)
        return true;
    if (!name)
        name = PyUnicode_InternFromString("out");
    *out = n == 1 && name ? PyDict_GetItem(kwargs, name) : NULL;
    if (!*out)
        return false;
    if (*out == Py_None)
        *out = NULL;
    return true;
}

static const plan *plan_of(const caller *c, PyObject *kind)
{
    const plan *p = c->plans;
    while (p && p->kind != kind)
        p = p->next;
    return p;
}

static bool all_taken(const caller *c, const plan *p, PyObject *args, PyObject *out,
                      uintptr_t target, const void **in)
{
    for (int i = 0; i < c->n; i++) {
        const spec *s = &p->in[i];
        uintptr_t source;
        if (!ot_array_taken(p, PyTuple_GetItem(args, i), s, false, &source) ||
            (out && target < source + s->bytes && source < target + p->out.bytes))
            return false;
        in[s->place] = (const void *)source;
    }
    return true;
}

static PyObject *caller_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    caller *c = (caller *)self;
    PyObject *out;
    const plan *p = NULL;
    if (c->plans && c->generation == forks && PyTuple_Size(args) == c->n)
        p = plan_of(c, (PyObject *)Py_TYPE(PyTuple_GetItem(args, 0)));
    if (!p || !only_out(kwargs, &out))
        return slowly(self, args, kwargs);
    PyObject *made = out ? out : PyObject_Call(p->make, p->args, p->kwargs);
    if (!made)
        return NULL;
    if (out)
        Py_INCREF(made);
    const void *in[OPTUNE_MAX_INPUTS] = {0}; /* constants stay NULL */
    uintptr_t target;
    if (ot_array_taken(p, made, &p->out, true, &target) &&
        all_taken(c, p, args, out, target, in)) {
        void *const outputs[] = {(void *)target, NULL};
        if (ran(c, in, outputs))
            return made;
        if (PyErr_Occurred()) {
            Py_DECREF(made);
            return NULL;
        }
    }
    Py_DECREF(made);
    return slowly(self, args, kwargs);
}

/* _learn(kind, head, never, make, args, kwargs, inputs, output): takes arrays of this kind from now
 * on. */
static PyObject *caller_learn(PyObject *self, PyObject *args)
{
    caller *c = (caller *)self;
    PyObject *inputs, *output;
    plan *p = calloc(1, sizeof *p + (size_t)c->n * sizeof *p->in);
    if (!p)
        return PyErr_NoMemory();
    Py_ssize_t head;
    bool fine = PyArg_ParseTuple(args, "OnO!OO!O!O!O!", &p->kind, &head, &PyTuple_Type,
                                 &p->never, &p->make, &PyTuple_Type, &p->args, &PyDict_Type,
                                 &p->kwargs, &PyTuple_Type, &inputs, &PyTuple_Type, &output);
    if (!fine) {
        free(p);
        return NULL;
    }
    PyObject *const held[] = {p->kind, p->never, p->make, p->args, p->kwargs};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        Py_INCREF(held[i]);
    p->head = (size_t)head;
    fine = PyTuple_Size(inputs) == c->n && c->n > 0;
    if (!fine)
        PyErr_SetString(PyExc_ValueError, "other inputs than the function's");
    for (int i = 0; fine && i < c->n; i++)
        fine = ot_spec_read(PyTuple_GetItem(inputs, i), &p->in[i]);
    fine = fine && ot_spec_read(output, &p->out) &&
           (head || (p->exchange = ot_exchange_of(p->kind)));
    if (!fine) {
        ot_plan_free(p, c->n);
        return NULL;
    }
    p->next = c->plans;
    c->plans = p;
    Py_RETURN_NONE;
}

/* _ready(lock, run, function, err, err_at, raises, n): before it is called. */
static PyObject *caller_ready(PyObject *self, PyObject *args)
{
    caller *c = (caller *)self;
    PyObject *mutex, *err, *raises;
    Py_ssize_t run, function, err_at;
    int n;
    if (!PyArg_ParseTuple(args, "OnnOnOi", &mutex, &run, &function, &err, &err_at, &raises, &n))
        return NULL;
    if (c->lock || n < 0 || n > OPTUNE_MAX_INPUTS) {
        PyErr_SetString(PyExc_ValueError, "too many inputs, or made ready twice");
        return NULL;
    }
    Py_INCREF(c->lock = mutex);
    Py_INCREF(c->err = err);
    Py_INCREF(c->raises = raises);
    c->run = (run_fn *)run;
    c->function = (void *)function;
    c->err_at = (void *)err_at;
    c->n = n;
    c->generation = forks;
    Py_RETURN_NONE;
}

static int caller_traverse(PyObject *self, visitproc visit, void *arg)
{
    const caller *c = (const caller *)self;
    for (const plan *p = c->plans; p; p = p->next) {
        PyObject *held[PLAN_OBJECTS];
        ot_plan_objects(p, held);
        for (int i = 0; i < c->n; i++)
            Py_VISIT(p->in[i].dtype);
        for (int i = 0; i < PLAN_OBJECTS; i++)
            Py_VISIT(held[i]);
    }
    Py_VISIT(c->lock);
    Py_VISIT(c->err);
    Py_VISIT(c->raises);
    return visit_type(self, visit, arg);
}

static int caller_clear(PyObject *self)
{
    caller *c = (caller *)self;
    plan *next = c->plans;
    c->plans = NULL;
    for (plan *p = next; p; p = next) {
        next = p->next;
        ot_plan_free(p, c->n);
    }
    return 0; /* the rest has no way back here, and a step may still take the lock */
}

static void caller_free(PyObject *self)
{
    caller *c = (caller *)self;
    PyObject_GC_UnTrack(self);
    caller_clear(self);
    Py_XDECREF(c->lock);
    Py_XDECREF(c->err);
    Py_XDECREF(c->raises);
    freed(self);
}

/* ---- calls on certain arrays ---------------------------------------------------------------- */

typedef struct step {
    PyObject head;
    PyObject *of, *out; /* a caller, what a call gives */
    const void *const *in;
    void *const *to;
} step;

/* _ready(caller, in, to, out): addresses of the lists of addresses, which the object keeps. */
static PyObject *step_ready(PyObject *self, PyObject *args)
{
    step *s = (step *)self;
    Py_ssize_t in, to;
    PyObject *of, *out;
    if (!PyArg_ParseTuple(args, "OnnO", &of, &in, &to, &out))
        return NULL;
    if (s->of) {
        PyErr_SetString(PyExc_ValueError, "made ready twice");
        return NULL;
    }
    Py_INCREF(s->of = of);
    Py_INCREF(s->out = out);
    s->in = (const void *const *)in;
    s->to = (void *const *)to;
    Py_RETURN_NONE;
}

static PyObject *step_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    step *s = (step *)self;
    caller *c = (caller *)s->of;
    if (!c || c->generation != forks || PyTuple_Size(args) || (kwargs && PyDict_Size(kwargs)))
        return slowly(self, args, kwargs);
    if (ran(c, s->in, s->to)) {
        Py_INCREF(s->out);
        return s->out;
    }
    return PyErr_Occurred() ? NULL : slowly(self, args, kwargs);
}

static int step_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((step *)self)->of);
    Py_VISIT(((step *)self)->out);
    return visit_type(self, visit, arg);
}

static int step_clear(PyObject *self)
{
    Py_CLEAR(((step *)self)->of);
    Py_CLEAR(((step *)self)->out);
    return 0;
}

static void step_free(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    step_clear(self);
    freed(self);
}

/* ---- the module ----------------------------------------------------------------------------- */

static PyObject *forked(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    forks++;
    Py_RETURN_NONE;
}

static PyMethodDef lock_methods[] = {{"__enter__", lock_enter, METH_NOARGS, NULL},
                                     {"__exit__", lock_exit, METH_VARARGS, NULL},
                                     {"shut", lock_shut, METH_NOARGS, NULL},
                                     {0}};
static PyType_Slot lock_slots[] = {{Py_tp_new, (void *)lock_new},
                                   {Py_tp_dealloc, (void *)freed},
                                   {Py_tp_methods, lock_methods},
                                   {0}};
static PyType_Spec lock_spec = {"optune._native.Lock", sizeof(lock), 0, Py_TPFLAGS_DEFAULT,
                                lock_slots};

enum { COLLECTED = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC };

static PyMethodDef caller_methods[] = {{"_ready", caller_ready, METH_VARARGS, NULL},
                                       {"_learn", caller_learn, METH_VARARGS, NULL},
                                       {0}};
static PyType_Slot caller_slots[] = {
    {Py_tp_call, (void *)caller_call},         {Py_tp_dealloc, (void *)caller_free},
    {Py_tp_traverse, (void *)caller_traverse}, {Py_tp_clear, (void *)caller_clear},
    {Py_tp_methods, caller_methods},           {0}};
static PyType_Spec caller_spec = {"optune._native.Caller", sizeof(caller), 0, COLLECTED,
                                  caller_slots};

static PyMethodDef step_methods[] = {{"_ready", step_ready, METH_VARARGS, NULL}, {0}};
static PyType_Slot step_slots[] = {
    {Py_tp_call, (void *)step_call},         {Py_tp_dealloc, (void *)step_free},
    {Py_tp_traverse, (void *)step_traverse}, {Py_tp_clear, (void *)step_clear},
    {Py_tp_methods, step_methods},           {0}};
static PyType_Spec step_spec = {"optune._native.Step", sizeof(step), 0, COLLECTED, step_slots};

static PyMethodDef module_methods[] = {{"fields", ot_array_fields, METH_VARARGS, NULL},
                                       {"forked", forked, METH_NOARGS, NULL},
                                       {0}};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_call", NULL, -1, module_methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__call(void); /* which Python looks up by its name */

PyMODINIT_FUNC PyInit__call(void)
{
    struct {
        const char *name;
        PyType_Spec *spec;
    } types[] = {{"Lock", &lock_spec}, {"Caller", &caller_spec}, {"Step", &step_spec}};
    PyObject *made = PyModule_Create(&module);
    PyObject *version = PySys_GetObject("hexversion");
    types_are_visited = version && PyLong_AsLong(version) >= 0x03090000;
    for (size_t i = 0; made && i < sizeof types / sizeof *types; i++) {
        PyObject *type = PyType_FromSpec(types[i].spec);
        if (!type || PyModule_AddObject(made, types[i].name, type)) {
            Py_XDECREF(type);
            Py_DECREF(made);
            return NULL;
        }
    }
    if (made && PyModule_AddStringConstant(made, "version", OT_VERSION)) {
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
