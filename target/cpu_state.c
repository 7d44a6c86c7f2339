/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's state beside what it is: updates and settings that no device's key tells, and by
 * which the same kernel gets another cost from one day to the next.
 */
#include <stdio.h>
#include <string.h>

#include "target/target.h"

/* The first line of a file that begins with `name` ("": any), without it and what follows it up to
 * its value. */
static bool read_value(const char *path, const char *name, char *to, size_t size)
{
    FILE *file = fopen(path, "re");
    char line[512];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        const char *value = line + strlen(name);
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        value += *name ? strspn(value, " \t:") : 0;
        snprintf(to, size, "%.*s", (int)strcspn(value, "\r\n"), value);
        found = *to != '\0';
    }
    if (file)
        fclose(file);
    return found;
}

void ot_cpu_state(const char *root, int core, ot_text *to)
{
    char path[4096], value[256];
    snprintf(path, sizeof path, "%s/proc/sys/kernel/osrelease", root);
    if (read_value(path, "", value, sizeof value))
        ot_text_printf(to, "kernel=%s\n", value);
    snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    if (read_value(path, "microcode", value, sizeof value))
        ot_text_printf(to, "microcode=%s\n", value);
    const char *folder = "/sys/devices/system/cpu";
    snprintf(path, sizeof path, "%s%s/cpu%d/cpufreq/scaling_governor", root, folder, core);
    if (read_value(path, "", value, sizeof value))
        ot_text_printf(to, "governor=%s\n", value);
    snprintf(path, sizeof path, "%s%s/cpufreq/boost", root, folder);
    if (read_value(path, "", value, sizeof value))
        ot_text_printf(to, "boost=%s\n", value);
    snprintf(path, sizeof path, "%s%s/intel_pstate/no_turbo", root, folder);
    if (read_value(path, "", value, sizeof value))
        ot_text_printf(to, "no_turbo=%s\n", value);
    snprintf(path, sizeof path, "%s%s/cpu%d/cpufreq/scaling_max_freq", root, folder, core);
    double khz;
    if (read_value(path, "", value, sizeof value) && ot_parse_real(value, &khz))
        ot_text_printf(to, "most_mhz=%.0f\n", khz / 1000);
}
