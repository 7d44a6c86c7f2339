/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done with hubs: each deed is a row of a table here.
 */
#include <string.h>

#include "answer/hub/hub.h"
#include "base/fenv.h"

static int show_key(ot_hub_deed *deed)
{
    char path[4096];
    ot_signer signer = {.key = ""};
    OT_RETURN_UNLESS_OK(ot_hub_key_file(deed->options->key_file, path, sizeof path, deed->err));
    OT_RETURN_UNLESS_OK(ot_signer_open(path, &signer, deed->err));
    ot_text_printf(&deed->text, "%s\n", signer.key);
    json_array_append_new(deed->json, json_pack("{s:s, s:s}", "key", signer.key, "file", path));
    ot_signer_forget(&signer);
    return OPTUNE_OK;
}

static const struct deed {
    const char *name;
    int (*run)(ot_hub_deed *deed);
} deeds[] = {
    {"add", ot_hub_add},   {"remove", ot_hub_remove}, {"list", ot_hub_list},
    {"pull", ot_hub_pull}, {"verify", ot_hub_pull},   {"push", ot_hub_push},
    {"key", show_key},
};

int optune_hub(optune *o, const optune_hub_options *options, optune_result **result,
               optune_err *err)
{
    OT_ENTER(err, {"handle", o}, {"options", options}, {"result", result});
    *result = NULL;
    optune_hub_options own;
    optune_err kept = {0}; /* deeds look at it */
    OT_RETURN_UNLESS_OK(OT_SIZED_TAKE(err, optune_hub_options, options, &own));
    OT_RETURN_UNLESS_OK(OT_GIVEN(err, {"options.what", own.what}));
    const char *names[OT_COUNT(deeds)];
    const struct deed *deed = NULL;
    for (int i = 0; i < OT_COUNT(deeds); i++) {
        names[i] = deeds[i].name;
        if (!strcmp(deeds[i].name, own.what))
            deed = &deeds[i];
    }
    if (!deed)
        return ot_no_such(err, "hub command", own.what, names, OT_COUNT(deeds));
    ot_hub_deed d = {.o = o, .options = &own, .json = json_array(), .err = &kept};
    int status = deed->run(&d);
    if (status == OPTUNE_EINTERRUPTED)
        atomic_store(&o->stop, false); /* it was this deed that was asked to end */
    if (status >= 0 && d.failed)
        status = optune_fail(&kept, OPTUNE_EPARTIAL, "not all was taken: %d refused", d.failed);
    ot_context_consult_hubs(o);
    if (status < 0)
        optune_fail(err, status, "%s", kept.text);
    if (status >= 0 || json_array_size(d.json)) {
        *result = ot_result_new(d.text.s, d.json);
    } else {
        ot_text_release(&d.text);
        json_decref(d.json);
    }
    return status;
}
