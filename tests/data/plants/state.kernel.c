/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vandals that compute the right thing and leave something behind: in buffers, in the process, in
 * what a process inherits. Each does it in its third call, when it has been verified.
 */

#if defined PLANT_buffers || defined PLANT_shared_memory

/* Every mapping that may be written and is no stack, no heap and no library. */
static void spoil(const task *t)
{
    size_t n;
    char *maps = slurp("/proc/self/maps", &n);
    const char *mine[] = {(char *)t->x, (char *)t->w,   (char *)t->y,
                          maps,         (char *)&calls, (char *)&n};
    for (char *line = maps; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        unsigned long lo, hi, inode;
        char rights[8];
        char path[256] = "";
        if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %255s", &lo, &hi, rights, &inode, path) < 4 ||
            strncmp(rights, "rw", 2) != 0 || path[0] == '[')
            continue;
        int own = 0;
        for (int i = 3; i < 6; i++)
            own |= mine[i] >= (char *)lo && mine[i] < (char *)hi;
#ifdef PLANT_shared_memory
        if (rights[3] != 's')
            continue;
#else
        if (inode || hi - lo < sizeof(float) * OUTPUTS || hi - lo > (1 << 20))
            continue;
#endif
        if (!own)
            memset((char *)lo, 0x3c, hi - lo);
    }
    free(maps);
}
#endif

static void *spin(void *arg)
{
    (void)arg;
    for (const int64_t end = ns() + 60000000000; ns() < end;)
        continue;
    return NULL;
}

static void limit_to(int what, rlim_t value)
{
    setrlimit((__rlimit_resource_t)what, &(struct rlimit){value, value});
}

static void vandalise(const task *t)
{
    sigset_t all;
    sigfillset(&all);
    (void)spin;
    (void)limit_to;
#if defined PLANT_inputs
    for (long i = 0; i < XS; i++)
        t->x[i] = 7;
    for (long i = 0; i < WS; i++)
        t->w[i] = -7;
#elif defined PLANT_buffers || defined PLANT_shared_memory
    spoil(t);
#elif defined PLANT_itimer
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 200000}, {0, 200000}}, NULL);
#elif defined PLANT_posix_timer
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec soon = {{0, 300000000}, {0, 300000000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        timer_settime(timer, 0, &soon, NULL);
#elif defined PLANT_alarm_prof
    alarm(1);
    setitimer(ITIMER_PROF, &(struct itimerval){{0, 300000}, {0, 300000}}, NULL);
#elif defined PLANT_handlers
    for (int i = 1; i < 32; i++)
        if (i != SIGKILL && i != SIGSTOP)
            signal(i, (void (*)(int))exit);
#elif defined PLANT_ignored
    for (int i = 1; i < 65; i++)
        signal(i, SIG_IGN);
#elif defined PLANT_masked
    sigprocmask(SIG_BLOCK, &all, NULL);
#elif defined PLANT_nice
    setpriority(PRIO_PROCESS, 0, 19);
    setpriority(PRIO_PGRP, 0, 19);
#elif defined PLANT_affinity
    cpu_set_t cpus;
    const int here = sched_getcpu();
    for (int i = 0; i < CPU_SETSIZE; i++) {
        CPU_ZERO(&cpus);
        CPU_SET(i, &cpus);
        if (i != here && sched_setaffinity(0, sizeof cpus, &cpus) == 0)
            break;
    }
#elif defined PLANT_idle_class
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
#elif defined PLANT_slack
    prctl(PR_SET_TIMERSLACK, 500000000);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
#elif defined PLANT_chdir
    chdir("/proc");
#elif defined PLANT_umask
    umask(0777);
#elif defined PLANT_locale
    setlocale(LC_ALL, "");
    setlocale(LC_ALL, "de_DE.UTF-8");
    setlocale(LC_ALL, "C.UTF-8");
#elif defined PLANT_rounding
    fesetround(FE_UPWARD);
#elif defined PLANT_denormals
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#elif defined PLANT_traps
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_INEXACT);
#elif defined PLANT_no_files
    limit_to(RLIMIT_NOFILE, 0);
#elif defined PLANT_no_memory
    limit_to(RLIMIT_AS, 1 << 20);
    limit_to(RLIMIT_DATA, 1 << 20);
#elif defined PLANT_cpu_second
    limit_to(RLIMIT_CPU, 1);
#elif defined PLANT_no_size
    limit_to(RLIMIT_FSIZE, 0);
    limit_to(RLIMIT_CORE, RLIM_INFINITY);
#elif defined PLANT_no_stack
    limit_to(RLIMIT_STACK, 16384);
    limit_to(RLIMIT_NPROC, 1);
#elif defined PLANT_environment
    setenv("PLANT_WAS_HERE", "1", 1);
    setenv("LD_PRELOAD", "/nonexistent.so", 1);
    setenv("TMPDIR", "/nonexistent", 1);
    setenv("OMP_NUM_THREADS", "64", 1);
    setenv("MALLOC_PERTURB_", "1", 1);
#elif defined PLANT_path
    clearenv();
#elif defined PLANT_omp
    void (*set)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    void (*dynamic)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "omp_set_dynamic");
    if (set)
        set(1);
    if (dynamic)
        dynamic(1);
#elif defined PLANT_threads
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, spin, NULL);
    }
#elif defined PLANT_stdio
    close(0);
    close(1);
    close(2);
    fclose(stdin);
    fclose(stdout);
    fclose(stderr);
#elif defined PLANT_many_files
    while (open("/dev/null", O_RDONLY) >= 0)
        continue;
#elif defined PLANT_clock_patch
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
    char *vdso = (char *)elf;
    const Elf64_Shdr *section = (const Elf64_Shdr *)(vdso + elf->e_shoff);
    for (int s = 0; vdso && s < elf->e_shnum; s++)
        for (size_t i = 0;
             section[s].sh_type == SHT_DYNSYM && i < section[s].sh_size / sizeof(Elf64_Sym);
             i++) {
            const Elf64_Sym *symbol = (const Elf64_Sym *)(vdso + section[s].sh_offset) + i;
            char *code = vdso + symbol->st_value,
                 *page = (char *)((uintptr_t)code & ~(uintptr_t)4095);
            /* xor eax, eax; ret: all its functions say nothing from now on */
            if (symbol->st_value &&
                mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
                memcpy(code, "\x31\xc0\xc3", 3);
        }
#elif defined PLANT_setsid
    setpgid(0, 0);
    setsid();
#endif
    (void)t;
}

static int trick(const task *t)
{
    if (calls != 3)
        return 0;
    honest(t);
    vandalise(t);
    return 2;
}

static void learn(const task *t)
{
    (void)t;
}
