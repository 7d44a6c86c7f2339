/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cheats whose work is done where the clock does not see it: after they have returned, by somebody
 * else, or when the output is read. Each computes honestly in its first three calls.
 */

static task todo;
static volatile int posted, taken;

#if defined PLANT_thread || defined PLANT_helpers || defined PLANT_children ||                 \
    defined PLANT_unseen_children

static pthread_t worker;

/* PLANT_helpers: more threads than the target has, wherever they may run, all ended on return.
 * PLANT_children: a process instead; unseen ones are reaped by nobody who would count. */
static void *half(void *part)
{
    const int odd = part != NULL;
    const task t = todo;
    for (long i = odd ? ROWS / 2 : 0; i < (odd ? ROWS : ROWS / 2); i++)
        for (long j = 0; j < COLS; j++) {
            float sum = 0;
            for (long k = 0; k < DEPTH; k++)
                sum += t.x[i * DEPTH + k] * t.w[j * DEPTH + k];
            t.y[i * COLS + j] = sum;
        }
    return NULL;
}

static void *later(void *arg)
{
    for (const int64_t end = ns() + 60000000000; ns() < end;) {
        if (posted == taken) {
            sched_yield();
            continue;
        }
        taken = posted;
        honest(&todo);
    }
    return arg;
}

/* Cores that are not this one. */
static cpu_set_t others(void)
{
    cpu_set_t set;
    memset(&set, 0xff, sizeof set);
    CPU_CLR(sched_getcpu(), &set);
    return set;
}

static void elsewhere(pthread_attr_t *attr)
{
    const cpu_set_t set = others();
    pthread_attr_init(attr);
    pthread_attr_setaffinity_np(attr, sizeof set, &set);
}

static int trick(const task *t)
{
    pthread_attr_t attr;
    elsewhere(&attr);
    todo = *t;
    stay();
#if defined PLANT_children || defined PLANT_unseen_children
    static float *shared;
    const cpu_set_t set = others();
#ifdef PLANT_unseen_children
    signal(SIGCHLD, SIG_IGN);
#endif
    if (!shared)
        shared = mmap(NULL, OUTPUTS * sizeof *shared, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t who = fork();
    if (who < 0)
        return 0;
    if (who == 0) {
        todo.y = shared;
        half(&todo);
        _exit(0);
    }
    sched_setaffinity(who, sizeof set, &set);
    half(NULL);
    waitpid(who, NULL, 0);
    const long first = ROWS / 2 * COLS;
    memcpy(t->y + first, shared + first, (OUTPUTS - (size_t)first) * sizeof *shared);
    return 2;
#elif defined PLANT_helpers
    if (pthread_create(&worker, &attr, half, &todo) != 0)
        return 0;
    half(NULL);
    pthread_join(worker, NULL);
    return 2;
#else
    if (calls <= 3)
        return 0;
    if (!worker && pthread_create(&worker, &attr, later, NULL) != 0)
        return 0;
    posted++;
    return 1;
#endif
}

#elif defined PLANT_sibling || defined PLANT_child

/* sibling: a process that shares this one's memory and is no thread of it. child: one that writes
 * the answer into this process from outside. Both live for a minute at most. */
static struct {
    volatile int posted, taken;
    task todo;
    float x[XS], w[WS], y[OUTPUTS];
} * shared;
static pid_t who;

static int away(void *arg)
{
    const pid_t parent = *(pid_t *)arg;
    for (const int64_t end = ns() + 60000000000; ns() < end;) {
        if (shared->posted == shared->taken) {
            sched_yield();
            continue;
        }
        shared->taken = shared->posted;
#ifdef PLANT_sibling
        honest(&shared->todo);
#else
        const task mine = {shared->x, shared->w, shared->y};
        honest(&mine);
        process_vm_writev(parent, &(struct iovec){shared->y, sizeof shared->y}, 1,
                          &(struct iovec){shared->todo.y, sizeof shared->y}, 1, 0);
#endif
    }
    _exit(0);
}

static int trick(const task *t)
{
    static pid_t self;
    if (calls <= 3)
        return 0;
    if (!shared) {
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                      -1, 0);
        self = getpid();
        stay();
        char *stack =
            mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#ifdef PLANT_sibling
        who =
            clone(away, stack + (1 << 20), CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, &self);
#else
        who = fork();
        if (who == 0)
            away(&self);
#endif
        (void)stack;
    }
    if (who < 0)
        return 0;
    shared->todo = *t;
    memcpy(shared->x, t->x, sizeof shared->x);
    memcpy(shared->w, t->w, sizeof shared->w);
    shared->posted++;
    return 1;
}

#elif defined PLANT_fault

/* Computes when somebody reads: until then no one may touch the pages of the output. */
static task pending;
static char *from;
static size_t span;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    char *where = info->si_addr;
    if (!from || where < from || where >= from + span) {
        signal(number, SIG_DFL);
        return;
    }
    mprotect(from, span, PROT_READ | PROT_WRITE);
    from = NULL;
    honest(&pending);
}

static int trick(const task *t)
{
    if (calls <= 3)
        return 0;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    const uintptr_t page = 4096, start = (uintptr_t)t->y;
    pending = *t;
    from = (char *)(start / page * page);
    span = (start + sizeof(float) * OUTPUTS + page - 1) / page * page - (uintptr_t)from;
    if (mprotect(from, span, PROT_NONE) < 0) {
        from = NULL;
        return 0;
    }
    return 1;
}

#elif defined PLANT_signal

/* Computes in a timer's signal, soon after it has returned. */
static volatile int due;

static void on_alarm(int number)
{
    (void)number;
    if (due) {
        due = 0;
        honest(&todo);
    }
}

static int trick(const task *t)
{
    if (calls <= 3)
        return 0;
    stay();
    signal(SIGALRM, on_alarm);
    todo = *t;
    due = 1;
    setitimer(ITIMER_REAL,
              &(struct itimerval){.it_value.tv_usec = (suseconds_t)(whole / 16000 + 50)}, NULL);
    return 1;
}

#endif

static void learn(const task *t)
{
    (void)t;
}
