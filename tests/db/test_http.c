/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching from a real TLS server on loopback, and from servers that misbehave. */
#include "support/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "db/db.h"
#include "support/https.h"

#define OK_HEAD "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n"

static https_server server;
static bool have_server;
static char dir[4096], path[4200];

static int setup(void **state)
{
    (void)state;
    /* Loopback is reached directly, whatever this machine's proxies are. */
    unsetenv("https_proxy");
    unsetenv("HTTPS_PROXY");
    unsetenv("all_proxy");
    unsetenv("ALL_PROXY");
    if (ot_temp_dir(dir, sizeof dir, NULL) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/fetched", dir);
    have_server = https_start(&server);
    if (!have_server)
        print_message("no `openssl` program: tests against a server are skipped\n");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    https_stop(&server);
    ot_remove_tree(dir);
    return 0;
}

/* Nothing came, and nothing half is left. */
static void check_nothing(void)
{
    assert_false(ot_exists(path));
    assert_int_equal(rmdir(dir), 0); /* works on an empty directory only */
    assert_int_equal(ot_make_dirs(dir, NULL), OPTUNE_OK);
}

static ot_http_reply reply;

static int fetch(const char *url, const ot_http *how, optune_err *err)
{
    unlink(path);
    ot_http all = how ? *how : (ot_http){0};
    if (!all.ca_file)
        all.ca_file = server.ca_file;
    if (!all.tries)
        all.tries = 1;
    all.packed = true;
    *err = (optune_err){0};
    return ot_http_get(url, path, &all, &reply, err);
}

static void fetches_a_file(void **state)
{
    (void)state;
    if (!have_server)
        skip();
    optune_err err;
    ot_text text = {0};
    https_put(&server, "a.log", OK_HEAD, "line one\nline two\n");
    check_ok(fetch(https_url(&server, "a.log"), NULL, &err));
    check_ok(ot_read_file(path, &text, 1000, &err));
    assert_string_equal(text.s, "line one\nline two\n");
    /* It replaces what was there. */
    https_put(&server, "a.log", OK_HEAD, "new\n");
    check_ok(ot_http_get(https_url(&server, "a.log"), path,
                           &(ot_http){.ca_file = server.ca_file}, &reply, &err));
    check_ok(ot_read_file(path, &text, 1000, &err));
    assert_string_equal(text.s, "new\n");
    unlink(path);
    ot_text_release(&text);
}

static void http_errors(void **state)
{
    (void)state;
    if (!have_server)
        skip();
    optune_err err;
    https_put(&server, "gone", "HTTP/1.0 404 Not Found\r\n", "no such file");
    assert_int_equal(fetch(https_url(&server, "gone"), NULL, &err), OPTUNE_ENOENT);
    check_contains(err.text, "'127.0.0.1'");
    check_contains(err.text, "HTTP status 404");
    check_nothing();
    https_put(&server, "ill", "HTTP/1.0 503 Service Unavailable\r\n", "");
    assert_int_equal(fetch(https_url(&server, "ill"), NULL, &err), OPTUNE_ENET);
    check_contains(err.text, "503");
    https_put(&server, "short", OK_HEAD "Content-Length: 100\r\n", "cut off");
    assert_int_equal(fetch(https_url(&server, "short"), NULL, &err), OPTUNE_ENET);
    check_nothing();
}

static void certificates_are_verified(void **state)
{
    (void)state;
    if (!have_server)
        skip();
    optune_err err;
    char other[4200], key[4200];
    snprintf(other, sizeof other, "%s/other", server.dir);
    snprintf(key, sizeof(key), "%s/other.key", server.dir);
    https_certificate(other, key);
    https_put(&server, "a.log", OK_HEAD, "x");
    assert_int_equal(fetch(https_url(&server, "a.log"), &(ot_http){.ca_file = other}, &err),
                     OPTUNE_ENET);
    check_contains(err.text, "certificate");
    check_nothing();
    /* The right certificate under another name. */
    char url[256];
    snprintf(url, sizeof url, "https://localhost:%d/a.log", server.port);
    assert_int_equal(fetch(url, NULL, &err), OPTUNE_ENET);
    check_contains(err.text, "'localhost'");
    check_nothing();
    /* The system's authorities do not know it. */
    assert_int_equal(ot_http_get(https_url(&server, "a.log"), path, NULL, &reply, &err),
                     OPTUNE_ENET);
    check_nothing();
}

static void only_https(void **state)
{
    (void)state;
    optune_err err;
    static const char *const urls[] = {"http://127.0.0.1/x",
                                       "ftp://127.0.0.1/x",
                                       "127.0.0.1/x",
                                       "",
                                       "https:/x"};
    for (int i = 0; i < OT_COUNT(urls); i++) {
        assert_int_equal(ot_http_get(urls[i], path, NULL, &reply, &err), OPTUNE_ENET);
        check_contains(err.text, "only https");
        check_nothing();
    }
    assert_int_equal(ot_http_get("https://", path, NULL, &reply, &err), OPTUNE_ENET);
    assert_int_equal(ot_http_get("HTTPS://user:secret@127.0.0.1:1/x", path, NULL, &reply, &err),
                     OPTUNE_ENET);
    assert_null(strstr(err.text, "secret"));
    check_contains(err.text, "127.0.0.1");
    check_nothing();
}

static void redirects(void **state)
{
    (void)state;
    if (!have_server)
        skip();
    optune_err err;
    ot_text head = {0}, text = {0};
    https_put(&server, "end", OK_HEAD, "arrived");
    for (int i = 0; i < 7; i++) {
        char name[8], next[8];
        snprintf(name, sizeof name, "r%d", i);
        snprintf(next, sizeof next, "r%d", i - 1);
        ot_text_clear(&head);
        ot_text_printf(&head, "HTTP/1.0 302 Found\r\nLocation: %s\r\n",
                       https_url(&server, i ? next : "end"));
        https_put(&server, name, head.s, "");
    }
    check_ok(fetch(https_url(&server, "r4"), NULL, &err)); /* five steps */
    check_ok(ot_read_file(path, &text, 100, &err));
    assert_string_equal(text.s, "arrived");
    assert_int_equal(fetch(https_url(&server, "r5"), NULL, &err), OPTUNE_ENET);
    check_contains(err.text, "redirects");
    https_put(&server, "down", "HTTP/1.0 302 Found\r\nLocation: http://127.0.0.1:1/x\r\n", "");
    assert_int_equal(fetch(https_url(&server, "down"), NULL, &err), OPTUNE_ENET);
    check_contains(err.text, "http");
    https_put(&server, "file", "HTTP/1.0 302 Found\r\nLocation: file:///etc/passwd\r\n", "");
    assert_int_equal(fetch(https_url(&server, "file"), NULL, &err), OPTUNE_ENET);
    check_nothing();
    ot_text_release(&head);
    ot_text_release(&text);
}

static void size_limit(void **state)
{
    (void)state;
    if (!have_server)
        skip();
    optune_err err;
    char *body = ot_alloc(100001);
    memset(body, 'b', 100000);
    https_put(&server, "large", OK_HEAD, body); /* its length is not announced */
    check_ok(fetch(https_url(&server, "large"), &(ot_http){.max_bytes = 100000}, &err));
    assert_int_equal(fetch(https_url(&server, "large"), &(ot_http){.max_bytes = 99999}, &err),
                     OPTUNE_ENET);
    check_contains(err.text, "longer than 99999 bytes");
    check_nothing();
    https_put(&server, "large", OK_HEAD "Content-Length: 100000\r\n", body);
    assert_int_equal(fetch(https_url(&server, "large"), &(ot_http){.max_bytes = 10}, &err),
                     OPTUNE_ENET);
    check_contains(err.text, "longer than 10 bytes");
    check_nothing();
    free(body);
}

static void time_limits(void **state)
{
    (void)state;
    optune_err err;
    /* Connections are taken by the kernel and never answered. */
    int silent = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    assert_int_equal(bind(silent, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(silent, 5), 0);
    assert_int_equal(getsockname(silent, (struct sockaddr *)&address, &size), 0);
    char url[64];
    snprintf(url, sizeof url, "https://127.0.0.1:%d/x", ntohs(address.sin_port));
    const ot_http limits[] = {{.total_s = 0.2, .tries = 1}, {.connect_s = 0.2, .tries = 1}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ot_http_get(url, path, &limits[i], &reply, &err), OPTUNE_ENET);
        check_contains(err.text, "'127.0.0.1'");
        check_contains(err.text, "timed out");
        check_nothing();
    }
    close(silent);
    assert_int_equal(ot_http_get(url, path, NULL, &reply, &err), OPTUNE_ENET); /* nobody is there */
    check_contains(err.text, "onnect");
    check_nothing();
}

static void unwritable_place(void **state)
{
    (void)state;
    optune_err err;
    assert_int_equal(ot_http_get("https://127.0.0.1:1/x", "/nowhere/x", NULL, &reply, &err),
                     OPTUNE_EIO);
    check_contains(err.text, "/nowhere/x");
}

static void *fetch_one(void *arg)
{
    const int *number = arg;
    char own[4300];
    snprintf(own, sizeof own, "%s.%d", path, *number);
    optune_err err;
    ot_http_reply own_reply;
    char url[256];
    snprintf(url, sizeof url, "https://127.0.0.1:%d/many", server.port);
    intptr_t status = ot_http_get(url, own, &(ot_http){.ca_file = server.ca_file}, &own_reply,
                                  &err);
    unlink(own);
    return (void *)status;
}

static void threads_fetch_at_once(void **state)
{
    (void)state;
    if (!have_server)
        skip();
    pthread_t thread[4];
    int number[4];
    https_put(&server, "many", OK_HEAD, "x");
    for (int i = 0; i < 4; i++) {
        number[i] = i;
        assert_int_equal(pthread_create(&thread[i], NULL, fetch_one, &number[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *status;
        pthread_join(thread[i], &status);
        assert_null(status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First, so that threads start libcurl. */
        cmocka_unit_test(threads_fetch_at_once),
        cmocka_unit_test(fetches_a_file),
        cmocka_unit_test(http_errors),
        cmocka_unit_test(certificates_are_verified),
        cmocka_unit_test(only_https),
        cmocka_unit_test(redirects),
        cmocka_unit_test(size_limit),
        cmocka_unit_test(time_limits),
        cmocka_unit_test(unwritable_place),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
