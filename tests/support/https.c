/* SPDX-License-Identifier: Apache-2.0 */
/* `openssl s_server -HTTP`: it sends files as they are, so that a file is a whole response. */
#include "support/https.h"

#include "support/check.h"

#include <unistd.h>

#define ARGV(...) ((char *const[]){__VA_ARGS__, NULL})

void https_certificate(const char *certificate, const char *key)
{
    optune_err err;
    check_ok(ot_run_program(ARGV("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                                 "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                                 (char *)(uintptr_t)key, "-out", (char *)(uintptr_t)certificate,
                                 "-days", "2", "-subj", "/CN=optune test", "-addext",
                                 "subjectAltName=IP:127.0.0.1"),
                            30, NULL, &err));
}

bool https_start(https_server *server)
{
    optune_err err;
    char key[4200], before[4096];
    *server = (https_server){.child = {.out = -1}};
    if (!ot_find_program("openssl", key, sizeof(key)))
        return false;
    check_ok(ot_temp_dir(server->dir, sizeof server->dir, &err));
    snprintf(server->ca_file, sizeof server->ca_file, "%s/certificate", server->dir);
    snprintf(key, sizeof(key), "%s/key", server->dir);
    https_certificate(server->ca_file, key);
    /* It serves its working directory. */
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(server->dir), 0);
    int status = ot_child_start(&server->child,
                                ARGV("openssl", "s_server", "-accept", "127.0.0.1:0", "-key",
                                     key, "-cert", server->ca_file, "-HTTP"),
                                60, &err);
    assert_int_equal(chdir(before), 0);
    check_ok(status);
    /* It says which port it was given: "ACCEPT 127.0.0.1:43210". */
    ot_child *one = &server->child;
    const char *said = NULL;
    while (!said && !ot_child_poll(one)) {
        ot_child_wait_any(&one, 1, 0.02);
        said = strstr(ot_text_str(&one->text), "ACCEPT 127.0.0.1:");
        said = said && strchr(said, '\n') ? said : NULL;
    }
    if (!said) {
        print_error("%s\n", ot_text_str(&one->text));
        fail();
    }
    server->port = atoi(strchr(said, ':') + 1);
    assert_true(server->port > 0);
    return true;
}

void https_stop(https_server *server)
{
    ot_child_release(&server->child);
    if (*server->dir)
        ot_remove_tree(server->dir);
}

void https_put(https_server *server, const char *name, const char *head, const char *body)
{
    optune_err err;
    char path[4200];
    ot_text response = {0};
    ot_text_printf(&response, "%s\r\n%s", head, body);
    snprintf(path, sizeof path, "%s/%s", server->dir, name);
    check_ok(ot_write_file(path, response.s, response.n, &err));
    ot_text_release(&response);
}

const char *https_url(const https_server *server, const char *name)
{
    static char url[2][256];
    static int turn;
    turn ^= 1;
    snprintf(url[turn], sizeof url[turn], "https://127.0.0.1:%d/%s", server->port, name);
    return url[turn];
}
