/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folders of who runs this. HOME may not be set, as in services and containers: the system's
 * list of users says where it is. HOME may be somebody else's: sudo can keep it, and root may make
 * anything anywhere. What it made there would be in the way of everything that user does later, so
 * it goes to its own home.
 */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/home.h"

bool ot_own_home(char *to, size_t size)
{
    char buffer[4096];
    struct passwd entry, *found = NULL;
    return getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found &&
           found->pw_dir && found->pw_dir[0] == '/' && found->pw_dir[1] &&
           ot_copy(to, size, found->pw_dir);
}

bool ot_is_anothers(const char *path)
{
    struct stat info;
    char *part = ot_strdup(path);
    int found = -1;
    while ((found = stat(*part ? part : "/", &info)) < 0 && errno == ENOENT && *part) {
        char *slash = strrchr(part, '/');
        if (!slash) {
            strcpy(part, ".");
            found = stat(part, &info);
            break;
        }
        *slash = '\0';
    }
    free(part);
    return found == 0 && info.st_uid != geteuid() && info.st_uid != 0;
}

static bool put(char *to, size_t size, const char *home, const char *folder)
{
    const int n = snprintf(to, size, "%s/%s", home, folder);
    return n >= 0 && (size_t)n < size;
}

bool ot_home_folder(const char *folder, bool any, char *to, size_t size)
{
    const char *home = getenv("HOME");
    char own[4096];
    const bool named = home && *home == '/';
    if (named && !put(to, size, home, folder))
        return false;
    if (named && (geteuid() != 0 || (any && ot_exists(to)) || !ot_is_anothers(to)))
        return true;
    if (!ot_own_home(own, sizeof own))
        return named;
    return put(to, size, own, folder);
}

bool ot_cache_home(char *path, size_t size)
{
    const char *cache = getenv("OPTUNE_CACHE"), *cache_home = getenv("XDG_CACHE_HOME");
    if (cache && *cache)
        return ot_copy(path, size, cache);
    if (cache_home && *cache_home)
        return put(path, size, cache_home, "optune");
    return ot_home_folder(".cache/optune", false, path, size);
}
