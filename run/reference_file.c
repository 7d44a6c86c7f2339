/* SPDX-License-Identifier: Apache-2.0 */
/* Reference outputs as they are used: a file that is mapped, by any process that compares. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/reference.h"

int ot_reference_open(const char *path, ot_reference *reference, optune_err *err)
{
    struct stat info;
    optune_err why = {0};
    const int fd = ot_open_file(path, O_RDONLY, &why);
    if (fd < 0)
        return optune_fail(err, OPTUNE_ENOENT, "%s", why.text);
    void *map = MAP_FAILED;
    if (fstat(fd, &info) == 0 && info.st_size >= (off_t)sizeof(ot_reference_head))
        map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    const ot_reference_head *head = map;
    if (map != MAP_FAILED)
        madvise(map, (size_t)info.st_size, MADV_DONTFORK);
    if (map == MAP_FAILED || head->header.magic != OT_REFERENCE_MAGIC) {
        if (map != MAP_FAILED)
            munmap(map, (size_t)info.st_size);
        return optune_fail(err, OPTUNE_EDAMAGED, "'%s' holds no reference outputs", path);
    }
    *reference = (ot_reference){
        .map = map,
        .bytes = (size_t)info.st_size,
        .n_blocks = head->header.n_blocks,
        .block = head->block,
        .whole = head->header.whole,
        .nan = head->header.nan,
    };
    memcpy(reference->left, head->header.left, sizeof reference->left);
    return OPTUNE_OK;
}

void ot_reference_close(ot_reference *reference)
{
    if (reference->map)
        munmap((void *)reference->map, reference->bytes);
    *reference = (ot_reference){0};
}
