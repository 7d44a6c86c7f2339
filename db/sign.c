/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures (ed25519) and SHA-256, by libsodium: the only file that includes it. It is opened when
 * first needed. A secret key is a file that only its owner may read, and never leaves it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "db/pack.h"

#define FUNCTIONS(X)                                                                           \
    X(sodium_init)                                                                             \
    X(sodium_memzero)                                                                          \
    X(sodium_bin2hex)                                                                          \
    X(sodium_hex2bin)                                                                          \
    X(crypto_sign_ed25519_keypair)                                                             \
    X(crypto_sign_ed25519_detached)                                                            \
    X(crypto_sign_ed25519_verify_detached)                                                     \
    X(crypto_hash_sha256_init)                                                                 \
    X(crypto_hash_sha256_update)                                                               \
    X(crypto_hash_sha256_final)
static struct {
    FUNCTIONS(OT_BIND_FIELD)
} api;
static const char *const symbols[] = {FUNCTIONS(OT_BIND_NAME)};
static const char *const files[] = {"libsodium.so.26", "libsodium.so.23", "libsodium.so", NULL};

static int bound;
static optune_err bound_err;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void bind_sodium(void)
{
    bound = ot_bind(files, "libsodium23", symbols, OT_COUNT(symbols), &api, &bound_err);
    if (bound >= 0 && api.sodium_init() < 0)
        bound = optune_fail(&bound_err, OPTUNE_ETOOL, "libsodium cannot start");
}

static int need_sodium(optune_err *err)
{
    pthread_once(&once, bind_sodium);
    return bound < 0 ? optune_fail(err, bound, "%s", bound_err.text) : OPTUNE_OK;
}

bool ot_is_hex(const char *s, size_t digits)
{
    return s && strlen(s) == digits && strspn(s, "0123456789abcdef") == digits;
}

static bool from_hex(const char *hex, unsigned char *to, size_t n)
{
    return ot_is_hex(hex, 2 * n) &&
           api.sodium_hex2bin(to, n, hex, 2 * n, NULL, NULL, NULL) == 0;
}

/* ---- keys -------------------------------------------------------------------------------- */

static const char begin[] = "optune secret key 1 ";
enum { SECRET_HEX = 2 * crypto_sign_ed25519_SECRETKEYBYTES };

/* A new one; EEXIST where somebody made one meanwhile, which then is the key. */
static int make_key(const char *path, optune_err *err)
{
    unsigned char public[crypto_sign_ed25519_PUBLICKEYBYTES];
    unsigned char secret[crypto_sign_ed25519_SECRETKEYBYTES];
    char line[sizeof begin + SECRET_HEX + 1];
    char *folder = ot_strdup(path), *slash = strrchr(folder, '/');
    int status = OPTUNE_OK;
    if (slash && slash != folder) {
        *slash = 0;
        status = ot_make_dirs(folder, err);
    }
    free(folder);
    if (status < 0)
        return status;
    api.crypto_sign_ed25519_keypair(public, secret);
    memcpy(line, begin, sizeof begin - 1);
    api.sodium_bin2hex(line + sizeof begin - 1, SECRET_HEX + 1, secret, sizeof secret);
    line[sizeof begin - 1 + SECRET_HEX] = '\n';
    const size_t n = sizeof begin - 1 + SECRET_HEX + 1;
    /* Whole or not at all: beside it first, then linked to where nothing is. */
    ot_text fresh = {0};
    ot_text_printf(&fresh, "%s.XXXXXX", path);
    const int fd = mkostemp(fresh.s, O_CLOEXEC); /* mode 0600 */
    const bool written = fd >= 0 && write(fd, line, n) == (ssize_t)n && fsync(fd) == 0;
    if (!written || (link(fresh.s, path) < 0 && errno != EEXIST))
        status = optune_fail(err, OPTUNE_EIO, "cannot write the key '%s': %s", path,
                             strerror(errno));
    if (fd >= 0) {
        close(fd);
        unlink(fresh.s);
    }
    ot_text_release(&fresh);
    api.sodium_memzero(secret, sizeof secret);
    api.sodium_memzero(line, sizeof line);
    return status;
}

static int read_key(int fd, const char *path, ot_signer *signer, optune_err *err)
{
    char line[sizeof begin + SECRET_HEX + 8];
    struct stat info;
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
        (info.st_mode & 077))
        return optune_fail(err, OPTUNE_EUSAGE,
                           "the key '%s' has to be a file that you own and nobody else may "
                           "read: chmod 600 it, or make another",
                           path);
    const ssize_t n = read(fd, line, sizeof line - 1);
    line[n > 0 ? n : 0] = 0;
    line[strcspn(line, "\n")] = 0;
    const bool good = !strncmp(line, begin, sizeof begin - 1) &&
                      from_hex(line + sizeof begin - 1, signer->secret, sizeof signer->secret);
    api.sodium_memzero(line, sizeof line);
    if (!good)
        return optune_fail(err, OPTUNE_EUSAGE, "'%s' is no key of `optune hub key`", path);
    /* The secret ends with the public half. */
    api.sodium_bin2hex(signer->key, sizeof signer->key, signer->secret + 32, 32);
    return OPTUNE_OK;
}

int ot_signer_open(const char *path, ot_signer *signer, optune_err *err)
{
    OT_RETURN_UNLESS_OK(need_sodium(err));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) {
        OT_RETURN_UNLESS_OK(make_key(path, err));
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    }
    if (fd < 0)
        return optune_fail(err, OPTUNE_EIO, "cannot open the key '%s': %s", path,
                           strerror(errno));
    const int status = read_key(fd, path, signer, err);
    close(fd);
    return status;
}

void ot_signer_forget(ot_signer *signer)
{
    if (*signer->key)
        api.sodium_memzero(signer->secret, sizeof signer->secret);
}

/* ---- signatures -------------------------------------------------------------------------- */

int ot_sign(const ot_signer *signer, const void *data, size_t n, char hex[OT_HEX_SIGNATURE],
            optune_err *err)
{
    unsigned char signature[crypto_sign_ed25519_BYTES];
    OT_RETURN_UNLESS_OK(need_sodium(err));
    api.crypto_sign_ed25519_detached(signature, NULL, data, n, signer->secret);
    api.sodium_bin2hex(hex, OT_HEX_SIGNATURE, signature, sizeof signature);
    return OPTUNE_OK;
}

int ot_signed(const char *key, const char *signature, const void *data, size_t n,
              optune_err *err)
{
    unsigned char public[crypto_sign_ed25519_PUBLICKEYBYTES];
    unsigned char bytes[crypto_sign_ed25519_BYTES];
    OT_RETURN_UNLESS_OK(need_sodium(err));
    return from_hex(key, public, sizeof public) && from_hex(signature, bytes, sizeof bytes) &&
           api.crypto_sign_ed25519_verify_detached(bytes, data, n, public) == 0;
}

/* ---- digests ----------------------------------------------------------------------------- */

int ot_sha256_file(const char *path, int64_t from, char hex[OT_HEX_SHA256], int64_t *bytes,
                   optune_err *err)
{
    enum { PIECE = 1 << 16 };
    OT_RETURN_UNLESS_OK(need_sodium(err));
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || lseek(fd, from, SEEK_SET) < 0) {
        const int why = errno;
        if (fd >= 0)
            close(fd);
        return optune_fail(err, why == ENOENT ? OPTUNE_ENOENT : OPTUNE_EIO,
                           "cannot open '%s': %s", path, strerror(why));
    }
    crypto_hash_sha256_state state;
    unsigned char digest[crypto_hash_sha256_BYTES], *piece = ot_alloc(PIECE);
    int64_t total = 0;
    ssize_t n;
    api.crypto_hash_sha256_init(&state);
    while ((n = read(fd, piece, PIECE)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0) {
            api.crypto_hash_sha256_update(&state, piece, (size_t)n);
            total += n;
        }
    const int why = errno;
    close(fd);
    free(piece);
    if (n < 0)
        return optune_fail(err, OPTUNE_EIO, "cannot read '%s': %s", path, strerror(why));
    api.crypto_hash_sha256_final(&state, digest);
    api.sodium_bin2hex(hex, OT_HEX_SHA256, digest, sizeof digest);
    if (bytes)
        *bytes = total;
    return OPTUNE_OK;
}
