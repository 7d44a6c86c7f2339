/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose the machine was while something was measured. A median over samples that all were
 * disturbed alike has a narrow interval and is wrong, so the times cannot tell; the kernel can.
 *
 * The one idea: how long a thread waited for a core although it could run is counted by the kernel
 * to the nanosecond, for every thread. The load average and the pressure files say the same of the
 * whole machine, whose other cores are nobody's business here.
 */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/target.h"

/* Of the time; below, a median does not care. */
static const double MUCH = 0.05;

/* /proc/stat counts in ticks, and a few of them come and go with nobody there. */
enum { FEW_TICKS = 3 };

static double tick(void)
{
    const long hertz = sysconf(_SC_CLK_TCK);
    return 1.0 / (double)(hertz > 0 ? hertz : 100);
}

static FILE *open_at(const char *root, const char *path)
{
    char full[4096];
    return snprintf(full, sizeof full, "%s%s", root, path) < (int)sizeof full
               ? fopen(full, "re")
               : NULL;
}

static bool has(const int *core, int n, int which)
{
    for (int i = 0; i < n; i++)
        if (core[i] == which)
            return true;
    return false;
}

/* cpu3 user nice system idle iowait irq softirq steal ... */
static void read_cores(const char *root, const int *core, int n, ot_cpu_load *load)
{
    FILE *file = open_at(root, "/proc/stat");
    char line[512];
    while (file && fgets(line, sizeof line, file)) {
        int which;
        double user, nice, system, idle, wait, irq, soft, steal;
        if (sscanf(line, "cpu%d %lf %lf %lf %lf %lf %lf %lf %lf", &which, &user, &nice, &system,
                   &idle, &wait, &irq, &soft, &steal) != 9 ||
            !has(core, n, which))
            continue;
        load->cores++;
        load->busy += (user + nice + system + irq + soft) * tick();
        load->stolen += steal * tick();
    }
    if (file)
        fclose(file);
}

static void read_own(const char *root, pid_t pid, ot_cpu_load *load)
{
    char path[64], line[1024] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = open_at(root, path);
    if (file && fgets(line, sizeof line, file)) {
        /* A name in brackets may hold anything, so fields count from the last one. */
        const char *rest = strrchr(line, ')');
        double user, system;
        if (rest && sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lf %lf", &user,
                           &system) == 2)
            load->own += (user + system) * tick();
    }
    if (file)
        fclose(file);
}

/* "time on a core, time waiting for one, times it got one", in nanoseconds. */
static void read_wait(const char *root, const char *task, int process, pid_t id,
                      ot_cpu_load *load)
{
    char path[128];
    unsigned long long ran, waited;
    snprintf(path, sizeof path, "%s/schedstat", task);
    FILE *file = load->n_threads < OT_LOAD_THREADS ? open_at(root, path) : NULL;
    if (file && fscanf(file, "%llu %llu", &ran, &waited) == 2) {
        load->tells_waits = true;
        load->thread[load->n_threads].process = process;
        load->thread[load->n_threads].id = id;
        load->thread[load->n_threads++].waited = (double)waited * 1e-9;
    }
    if (file)
        fclose(file);
}

static void read_process(const char *root, int process, pid_t pid, ot_cpu_load *load)
{
    char path[96], full[4096];
    read_own(root, pid, load);
    snprintf(full, sizeof full, "%s/proc/%d/task", root, (int)pid);
    DIR *tasks = opendir(full);
    const struct dirent *entry;
    while (tasks && (entry = readdir(tasks))) {
        const int id = atoi(entry->d_name);
        if (id <= 0)
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%d", (int)pid, id);
        read_wait(root, path, process, id, load);
    }
    if (tasks)
        closedir(tasks);
}

/* cpu.stat: "throttled_usec 12" (unified), "throttled_time 12000" in nanoseconds (version 1). */
static void look(void *arg, const char *folder, bool unified)
{
    ot_cpu_load *load = arg;
    char path[4096], line[128];
    if (snprintf(path, sizeof path, "%s/cpu.stat", folder) >= (int)sizeof path)
        return;
    FILE *file = fopen(path, "re");
    double value;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, unified ? "throttled_usec %lf" : "throttled_time %lf", &value) == 1)
            load->throttled += value * (unified ? 1e-6 : 1e-9);
    if (file)
        fclose(file);
}

static void read_heat(const char *root, const int *core, int n, ot_cpu_load *load)
{
    static const char *const name[] = {"core", "package"};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < OT_COUNT(name); k++) {
            char path[128];
            long long times = 0;
            snprintf(path, sizeof path,
                     "/sys/devices/system/cpu/cpu%d/thermal_throttle/%s_throttle_count",
                     core[i], name[k]);
            FILE *file = open_at(root, path);
            if (file && fscanf(file, "%lld", &times) == 1)
                load->heat += times;
            if (file)
                fclose(file);
        }
}

void ot_cpu_load_read(const char *root, const pid_t *pid, int n_pids, const int *core, int n,
                      ot_cpu_load *load)
{
    char groups[4096], mount[4096];
    *load = (ot_cpu_load){.at = ot_now()};
    load->n_processes = n_pids < OT_LOAD_PROCESSES ? n_pids : OT_LOAD_PROCESSES;
    read_cores(root, core, n, load);
    for (int i = 0; i < load->n_processes; i++)
        read_process(root, i, pid[i], load);
    /* They are all in the group of the one that started them. */
    snprintf(groups, sizeof groups, "%s/proc/%d/cgroup", root, n_pids ? (int)pid[0] : 0);
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
    ot_cpu_groups(groups, mount, "cpu", look, load);
    read_heat(root, core, n, load);
}

static double waited_before(const ot_cpu_load *load, pid_t id)
{
    for (int i = 0; i < load->n_threads; i++)
        if (load->thread[i].id == id)
            return load->thread[i].waited;
    return 0;
}

static double share_of(double part, double whole)
{
    return whole > 0 ? fmin(1, fmax(0, part / whole)) : 0;
}

void ot_cpu_load_between(const ot_cpu_load *before, const ot_cpu_load *after, ot_disturbance *d)
{
    const double seconds = after->at - before->at, cores = seconds * after->cores;
    const double few = FEW_TICKS * tick();
    const double stolen = after->stolen - before->stolen;
    *d = (ot_disturbance){.seconds = seconds};
    if (stolen >= few)
        d->stolen = share_of(stolen, cores);
    double longest[OT_LOAD_PROCESSES] = {0}, waited = 0;
    for (int i = 0; i < after->n_threads; i++) {
        double *mine = &longest[after->thread[i].process];
        *mine =
            fmax(*mine, after->thread[i].waited - waited_before(before, after->thread[i].id));
    }
    /* The threads of one process wait beside each other, processes take turns. */
    for (int i = 0; i < after->n_processes; i++)
        waited += longest[i];
    d->waited = share_of(waited, seconds);
    const double others = after->busy - before->busy - (after->own - before->own);
    if (!after->tells_waits && others >= few)
        d->shared = share_of(others, cores);
    d->throttled = share_of(after->throttled - before->throttled, seconds);
    d->hot = after->heat > before->heat;
}

void ot_disturbance_add(ot_disturbance *to, const ot_disturbance *more)
{
    const double all = to->seconds + more->seconds;
    const double old = all > 0 ? to->seconds / all : 0, new = 1 - old;
    to->seconds = all;
    to->stolen = old * to->stolen + new * more->stolen;
    to->waited = old * to->waited + new * more->waited;
    to->shared = old * to->shared + new * more->shared;
    to->throttled = old * to->throttled + new * more->throttled;
    to->hot = fmax(to->hot, more->hot);
}

double ot_disturbance_share(const ot_disturbance *d)
{
    return fmax(fmax(fmax(d->stolen, d->waited), fmax(d->shared, d->throttled)), d->hot);
}

bool ot_disturbed(const ot_disturbance *d)
{
    return ot_disturbance_share(d) > MUCH;
}
