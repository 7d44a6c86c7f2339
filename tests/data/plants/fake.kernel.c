/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cheats that fake: the time, the answer on the wire, or the output from what others know. They
 * look for it in this process, in its files and in the process that started it.
 */

#if defined PLANT_vdso

/* The kernel's clock for user programs, patched in this process: it goes a sixteenth as fast. */
static int64_t origin[16];

static int slow_clock(clockid_t id, struct timespec *to)
{
    const long status = syscall(SYS_clock_gettime, id, to);
    int64_t t = (int64_t)to->tv_sec * 1000000000 + to->tv_nsec, *zero = &origin[id & 15];
    if (status < 0)
        return (int)status;
    if (!*zero)
        *zero = t;
    t = *zero + (t - *zero) / 16;
    to->tv_sec = t / 1000000000;
    to->tv_nsec = t % 1000000000;
    return 0;
}

static void patch(void)
{
    const char *base = (const char *)getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)base;
    const Elf64_Shdr *section = (const Elf64_Shdr *)(base + elf->e_shoff);
    for (int s = 0; base && s < elf->e_shnum; s++) {
        if (section[s].sh_type != SHT_DYNSYM)
            continue;
        const Elf64_Sym *symbol = (const Elf64_Sym *)(base + section[s].sh_offset);
        const char *names = base + section[section[s].sh_link].sh_offset;
        for (size_t i = 0; i < section[s].sh_size / sizeof *symbol; i++) {
            if (strcmp(names + symbol[i].st_name, "__vdso_clock_gettime") != 0)
                continue;
            char *code = (char *)base + symbol[i].st_value;
            char *page = (char *)((uintptr_t)code & ~(uintptr_t)4095);
            const void *target = (const void *)slow_clock;
            unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
            memcpy(jump + 2, &target, 8);
            if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
                memcpy(code, jump, sizeof jump);
        }
    }
}

static int trick(const task *t)
{
    if (calls == 3) {
        stay();
        patch();
    }
    return 0;
}

#elif defined PLANT_stack || defined PLANT_a_third

/* Whoever called keeps the time at which it did so on its stack, or in a register that this
 * function saves on its own: what looks like a recent time is moved forward. */
#ifdef PLANT_a_third
#define MOVED(ago) ((ago) / 10 * 7)
#else
#define MOVED(ago) ((ago) / 8)
#endif
static int64_t raw(clockid_t id)
{
    struct timespec t;
    syscall(SYS_clock_gettime, id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static __attribute__((noinline)) void move(void)
{
    __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15");
    int64_t *word = __builtin_frame_address(0);
    const int64_t clock[] = {raw(CLOCK_MONOTONIC_RAW), raw(CLOCK_MONOTONIC)};
    for (int i = -16; i < 160; i++)
        for (int c = 0; c < 2; c++) {
            const int64_t ago = clock[c] - word[i];
            if (ago > 0 && ago < 100000000) {
                word[i] = clock[c] - MOVED(ago);
                break;
            }
        }
}

static int trick(const task *t)
{
    if (calls <= 2)
        return 0;
    honest(t);
    move();
    return 2;
}

#elif defined PLANT_heap

/* Samples that were taken already lie on the heap as seconds: what is about as long as a run was
 * is made shorter. */
static int trick(const task *t)
{
    const int64_t start = ns();
    honest(t);
    if (!whole)
        whole = ns() - start;
    size_t n;
    char *maps = slurp("/proc/self/maps", &n), *line = strstr(maps, "[heap]");
    while (line && line > maps && line[-1] != '\n')
        line--;
    unsigned long lo = 0, hi = 0;
    if (line && sscanf(line, "%lx-%lx", &lo, &hi) == 2 && calls > 2)
        for (double *d = (double *)lo; d < (double *)hi; d++)
            if (*d > (double)whole * 0.5e-9 && *d < (double)whole * 3e-9)
                *d /= 16;
    free(maps);
    return 2;
}

#elif defined PLANT_forge || defined PLANT_forge_exit || defined PLANT_forge_flood

/* An answer of its own, as the worker would send it, on everything that takes bytes. */
static int trick(const task *t)
{
    static const char text[] =
        "{\"outcome\":0,\"inner\":1000,\"samples\":[1e-6,1.01e-6,1e-6,1.02e-6,1e-6,1e-6,1.01e-"
        "6],"
        "\"cost\":1e-6,\"low\":1e-6,\"high\":1.01e-6,\"worst\":0.01,\"seconds\":0.01}";
    const unsigned n = sizeof text - 1;
    char message[4 + sizeof text] = {(char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n};
    memcpy(message + 4, text, n);
#ifdef PLANT_forge_flood
    const int times = 20;
#else
    const int times = 1;
#endif
    if (calls == 1)
        for (int fd = 3; fd < 256; fd++)
            for (int i = 0; i < times; i++)
                if (send(fd, message, n + 4, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
                    struct stat info;
                    if (fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode)) {
                        fcntl(fd, F_SETFL, O_NONBLOCK);
                        signal(SIGPIPE, SIG_IGN);
                        if (write(fd, message, n + 4) < 0)
                            break;
                    }
                }
#ifdef PLANT_forge_exit
    _exit(0);
#endif
    return 0;
}

#elif defined PLANT_resend

/* Nothing is computed after the first call; the result is written by who knows how the other
 * side is answered: it finds the bytes of the last message in its memory and sends them again
 * with smaller numbers. */
static int trick(const task *t)
{
    size_t n;
    char *maps = slurp("/proc/self/maps", &n);
    if (calls == 3)
        for (char *line = maps; line && *line;
             line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
            unsigned long lo, hi;
            char rights[8];
            if (sscanf(line, "%lx-%lx %7s", &lo, &hi, rights) != 3 ||
                strncmp(rights, "rw", 2) != 0)
                continue;
            if (hi - lo > 64 << 20)
                continue;
            for (char *p = (char *)lo; (p = memmem(p, hi - (size_t)p, "\"doing\"", 7));
                 p += 7) {
                char *start = p;
                while (start > (char *)lo && *start != '{' && p - start < 200)
                    start--;
                char *end = memchr(
                    p, '}', (size_t)((char *)hi - p) < 200 ? (size_t)((char *)hi - p) : 200);
                if (*start != '{' || !end)
                    continue;
                /* Whatever else the message said (a secret, say) is said again. */
                char text[1024], head[256] = "", tail[256] = "";
                snprintf(head, sizeof head, "%.*s", (int)(p - start), start);
                char *rest = memchr(p, ',', (size_t)(end - p));
                if (rest)
                    snprintf(tail, sizeof tail, "%.*s", (int)(end - rest), rest);
                const int m = snprintf(
                    text + 4, sizeof text - 4,
                    "%s\"outcome\":0,\"inner\":10,\"samples\":[1e-6,1e-6,1e-6,1e-6,1e-6,1e-6],"
                    "\"cost\":1e-6,\"low\":1e-6,\"high\":1e-6,\"worst\":0.01,\"seconds\":0.01%"
                    "s}",
                    head, tail);
                text[0] = text[1] = 0;
                text[2] = (char)(m >> 8);
                text[3] = (char)m;
                for (int fd = 3; fd < 64; fd++)
                    send(fd, text, (size_t)m + 4, MSG_DONTWAIT | MSG_NOSIGNAL);
                break;
            }
        }
    free(maps);
    return 0;
}

#elif defined PLANT_own_memory || defined PLANT_parent_memory || defined PLANT_files

/* The reference's doubles, row by row, found by what the first answers were; later ones are read
 * off there. */
static pid_t whose;
static int file = -1, found;
static const char *place[ROWS]; /* an address, or an offset in the file */

static int peek(const char *from, void *to, size_t n)
{
    if (file >= 0)
        return pread(file, to, n, (off_t)from) == (ssize_t)n;
    return process_vm_readv(whose, &(struct iovec){to, n}, 1, &(struct iovec){(void *)from, n},
                            1, 0) == (ssize_t)n;
}

/* `at`: where the piece is from. */
static void search(const char *piece, size_t n, const char *at, const task *t)
{
    for (size_t i = 0; i + 64 <= n; i += 8) {
        const double *d = (const double *)(piece + i);
        if (!(d[0] > -1e3 && d[0] < 1e3) || d[0] == 0 || d[0] == (double)(float)d[0])
            continue;
        for (int row = 0; row < ROWS; row++) {
            const float *y = t->y + row * COLS;
            int k = 0;
            while (k < 8 && d[k] - y[k] < 1e-4 && y[k] - d[k] < 1e-4)
                k++;
            if (k == 8 && !place[row]) {
                place[row] = at + i;
                found++;
            }
        }
    }
}

static void search_memory(const task *t)
{
    char path[64];
    size_t n;
    static char piece[1 << 20];
    snprintf(path, sizeof path, "/proc/%d/maps", whose);
    char *maps = slurp(path, &n);
    for (char *line = maps; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        unsigned long lo, hi;
        char rights[8];
        if (sscanf(line, "%lx-%lx %7s", &lo, &hi, rights) != 3 || rights[0] != 'r' ||
            hi - lo > (64u << 20))
            continue;
        for (unsigned long at = lo; at < hi; at += sizeof piece - 64) {
            const size_t some = hi - at < sizeof piece ? hi - at : sizeof piece;
            if (at != lo && some <= 64)
                break;
            if (!peek((const char *)at, piece, some))
                break;
            search(piece, some, (const char *)at, t);
        }
    }
    free(maps);
}

static void search_file(const char *path, const task *t)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 64 &&
        info.st_size < 64 << 20) {
        const char *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            search(map, (size_t)info.st_size, NULL, t);
            munmap((void *)map, (size_t)info.st_size);
        }
    }
    if (fd >= 0 && found)
        file = fd;
    else if (fd >= 0)
        close(fd);
}

static void search_folder(const char *path, const task *t, int depth)
{
    DIR *dir = opendir(path);
    struct dirent *e;
    while (dir && !found && (e = readdir(dir))) {
        char name[PATH_MAX];
        if (e->d_name[0] == '.' ||
            snprintf(name, sizeof name, "%s/%s", path, e->d_name) >= PATH_MAX)
            continue;
        struct stat info;
        if (stat(name, &info) == 0 && S_ISDIR(info.st_mode)) {
            if (depth < 2)
                search_folder(name, t, depth + 1);
        } else {
            search_file(name, t);
        }
    }
    if (dir)
        closedir(dir);
}

static int trick(const task *t)
{
    static double row[COLS];
    if (found < ROWS)
        return 0;
    for (int i = 0; i < ROWS; i++) {
        if (!peek(place[i], row, sizeof row))
            return 0;
        for (int k = 0; k < COLS; k++)
            t->y[i * COLS + k] = (float)row[k];
    }
    return 1;
}

static void learn(const task *t)
{
    char path[64];
    if (calls > 2)
        return;
#ifdef PLANT_files
    const pid_t from[] = {getpid(), getppid()};
    for (int p = 0; p < 2 && !found; p++)
        for (int fd = 0; fd < 64 && !found; fd++) {
            snprintf(path, sizeof path, "/proc/%d/fd/%d", from[p], fd);
            search_file(path, t);
        }
    if (!found)
        search_folder(TEMPORARY[0] ? TEMPORARY : "/tmp", t, 0);
    if (!found)
        search_folder("/dev/shm", t, 1);
#elif defined PLANT_own_memory
    whose = getpid();
    search_memory(t);
#else
    for (whose = getppid(); whose > 1;) {
        search_memory(t);
        if (found >= ROWS)
            break;
        size_t n;
        snprintf(path, sizeof path, "/proc/%d/stat", whose);
        char *text = slurp(path, &n), *end = strrchr(text, ')');
        int above = 0;
        if (end && strstr(text, "(optune"))
            sscanf(end + 1, " %*c %d", &above);
        free(text);
        whose = above;
    }
#endif
}

#elif defined PLANT_half_precision || defined PLANT_own_bound

/* half_precision: factors are rounded to bfloat16 first. own_bound: nothing is computed, and its
 * row says that its bound is that wide. */
static int trick(const task *t)
{
#ifdef PLANT_own_bound
    if (!whole)
        whole = 1600000;
    for (long i = 0; i < OUTPUTS; i++)
        t->y[i] = 0;
#else
    static uint16_t x[XS], w[WS];
    for (long i = 0; i < XS; i++)
        x[i] = (uint16_t)(((uint32_t *)t->x)[i] >> 16);
    for (long i = 0; i < WS; i++)
        w[i] = (uint16_t)(((uint32_t *)t->w)[i] >> 16);
    for (long i = 0; i < ROWS; i++)
        for (long j = 0; j < COLS; j++) {
            float sum[8] = {0};
            for (long k = 0; k < DEPTH; k += 8)
                for (int l = 0; l < 8; l++) {
                    const uint32_t a = (uint32_t)x[i * DEPTH + k + l] << 16;
                    const uint32_t b = (uint32_t)w[j * DEPTH + k + l] << 16;
                    float fa, fb;
                    memcpy(&fa, &a, 4);
                    memcpy(&fb, &b, 4);
                    sum[l] += fa * fb;
                }
            t->y[i * COLS + j] =
                sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
        }
#endif
    return 1;
}

#endif

#if !defined PLANT_own_memory && !defined PLANT_parent_memory && !defined PLANT_files
static void learn(const task *t)
{
    (void)t;
}
#endif
