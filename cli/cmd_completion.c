/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `optune completion bash|zsh|fish`: what a shell needs to complete commands and options, and
 * `optune completion man`: the manual page. All of it is made from the rows that parse the words,
 * so it cannot be out of date.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static void each_option(const ot_option *rows, void (*print)(const ot_option *, const char *),
                        const char *arg)
{
    for (const ot_option *row = rows; row && row->name; row++)
        print(row, arg);
}

/* Text inside single quotes of a shell. */
static void print_quoted(const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*c);
}

/* ---- bash -------------------------------------------------------------------------------- */

static void bash_word(const ot_option *row, const char *unused)
{
    (void)unused;
    printf(" --%s", row->name);
}

/* Options that take a word, by what may stand there. */
static void bash_taking(const ot_option *row, const char *unused)
{
    (void)unused;
    if (!row->argument)
        return;
    printf("    --%s", row->name);
    if (row->letter)
        printf(" | -%c", row->letter);
    if (row->list)
        printf(") _optune_list %s; return ;;\n", row->list);
    else
        printf(") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n");
}

/* What stands where no option does. */
static void bash_words(const ot_cmd *cmd)
{
    printf("    %s) ", cmd->name);
    if (cmd->words) {
        printf("COMPREPLY=($(compgen -W '");
        for (const char *const *word = cmd->words; *word; word++)
            printf("%s ", *word);
        printf("' -- \"$cur\")) ;;\n");
    } else {
        printf("_optune_list %s ;;\n", cmd->list);
    }
}

/* An option may mean one thing here and another there: a command's own come first. */
static void print_bash(void)
{
    printf("# bash completion for optune: source it, or install it as\n"
           "# share/bash-completion/completions/optune\n"
           "_optune_list()\n{\n"
           "    COMPREPLY=($(compgen -W \"$(\"${COMP_WORDS[0]}\" \"$1\" --names 2>/dev/null)\" "
           "-- \"$cur\"))\n}\n"
           "_optune()\n{\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local cmd= i options\n    COMPREPLY=()\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case ${COMP_WORDS[i]} in\n        ");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++)
        printf("%s|", (*cmd)->name);
    printf(
        "help) cmd=${COMP_WORDS[i]}; [[ $cmd == help ]] || break ;;\n        esac\n    done\n"
        "    case $cmd in\n");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++)
        if ((*cmd)->options) {
            printf("    %s) case $prev in\n", (*cmd)->name);
            each_option((*cmd)->options, bash_taking, NULL);
            printf("    esac ;;\n");
        }
    printf("    esac\n    case $prev in\n");
    each_option(ot_global_options, bash_taking, NULL);
    printf("    esac\n    options='");
    each_option(ot_global_options, bash_word, NULL);
    printf("'\n    case $cmd in\n    '' | help)\n"
           "        if [[ $cur != -* ]]; then\n            COMPREPLY=($(compgen -W '");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++)
        printf("%s ", (*cmd)->name);
    printf("help' -- \"$cur\"))\n            return\n        fi ;;\n");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++)
        if ((*cmd)->options) {
            printf("    %s) options+='", (*cmd)->name);
            each_option((*cmd)->options, bash_word, NULL);
            printf("' ;;\n");
        }
    printf(
        "    esac\n    if [[ $cur == -* ]]; then\n"
        "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n        return\n    fi\n"
        "    case $cmd in\n");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++)
        if ((*cmd)->words || (*cmd)->list)
            bash_words(*cmd);
    printf("    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n    esac\n}\n"
           "complete -o filenames -F _optune optune\n");
}

/* ---- zsh --------------------------------------------------------------------------------- */

static void zsh_option(const ot_option *row, const char *indent)
{
    printf("%s'--%s%s[", indent, row->name, row->argument ? "=" : "");
    for (const char *c = row->help; *c; c++) {
        if (strchr("[]:", *c))
            putchar('\\');
        if (*c == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*c);
    }
    if (row->argument)
        printf("]:%s:", row->argument);
    else
        printf("]");
    if (row->argument && row->list)
        printf("{compadd -- $(optune %s --names 2>/dev/null)}", row->list);
    else if (row->argument)
        printf("_files");
    printf("' \\\n");
}

static void zsh_words(const ot_cmd *cmd)
{
    printf("                '*:argument:");
    if (cmd->words) {
        printf("(");
        for (const char *const *word = cmd->words; *word; word++)
            printf("%s%s", word == cmd->words ? "" : " ", *word);
        printf(")");
    } else if (cmd->list) {
        printf("{compadd -- $(optune %s --names 2>/dev/null)}", cmd->list);
    } else {
        printf("_files");
    }
    printf("' ;;\n");
}

static void print_zsh(void)
{
    printf("#compdef optune\n# zsh completion for optune: install it as _optune in a folder of "
           "$fpath\n_optune()\n{\n    local context state line\n    _arguments -C \\\n");
    each_option(ot_global_options, zsh_option, "        ");
    printf("        '1:command:->command' '*::argument:->argument' && return\n"
           "    case $state in\n    command)\n        local -a commands\n        commands=(\n");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++) {
        printf("            '%s:", (*cmd)->name);
        print_quoted((*cmd)->summary);
        printf("'\n");
    }
    printf("            'help:what one command accepts'\n        )\n"
           "        _describe command commands ;;\n    argument)\n        case $words[1] in\n");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++) {
        printf("        %s)\n            _arguments \\\n", (*cmd)->name);
        each_option((*cmd)->options, zsh_option, "                ");
        each_option(ot_global_options, zsh_option, "                ");
        zsh_words(*cmd);
    }
    printf("        esac ;;\n    esac\n}\ncompdef _optune optune\n");
}

/* ---- fish -------------------------------------------------------------------------------- */

static void fish_option(const ot_option *row, const char *when)
{
    printf("complete -c optune%s -l %s", when, row->name);
    if (row->letter)
        printf(" -s %c", row->letter);
    printf("%s", row->argument ? " -r" : "");
    if (row->list)
        printf(" -f -a '(optune %s --names 2>/dev/null)'", row->list);
    printf(" -d '");
    for (const char *c = row->help; *c; c++)
        printf(*c == '\'' || *c == '\\' ? "\\%c" : "%c", *c);
    printf("'\n");
}

static void print_fish(void)
{
    printf("# fish completion for optune: install it as "
           "~/.config/fish/completions/optune.fish\n");
    each_option(ot_global_options, fish_option, "");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++) {
        char when[128];
        printf("complete -c optune -n __fish_use_subcommand -f -a %s -d '", (*cmd)->name);
        for (const char *c = (*cmd)->summary; *c; c++)
            printf(*c == '\'' || *c == '\\' ? "\\%c" : "%c", *c);
        printf("'\n");
        snprintf(when, sizeof when, " -n '__fish_seen_subcommand_from %s'", (*cmd)->name);
        each_option((*cmd)->options, fish_option, when);
        for (const char *const *word = (*cmd)->words; word && *word; word++)
            printf("complete -c optune%s -f -a %s\n", when, *word);
        if ((*cmd)->list)
            printf("complete -c optune%s -f -a '(optune %s --names 2>/dev/null)'\n", when,
                   (*cmd)->list);
    }
}

/* ---- the manual page --------------------------------------------------------------------- */

static void man_text(const char *text)
{
    for (const char *c = text; *c; c++) {
        const bool first = c == text || c[-1] == '\n';
        if (first && (*c == '.' || *c == '\''))
            fputs("\\&", stdout);
        if (*c == '-')
            fputs("\\-", stdout);
        else if (*c == '\\')
            fputs("\\e", stdout);
        else
            putchar(*c);
    }
}

static void man_option(const ot_option *row, const char *unused)
{
    (void)unused;
    printf(".TP\n.B ");
    if (row->letter)
        printf("\\-%c, ", row->letter);
    printf("\\-\\-");
    man_text(row->name);
    if (row->argument)
        printf(" \\fI%s\\fR", row->argument);
    putchar('\n');
    man_text(row->help);
    putchar('\n');
}

static void print_man(void)
{
    printf(".TH OPTUNE 1 \"" OT_RELEASED "\" \"optune %s\" \"User Commands\"\n.SH NAME\n"
           "optune \\- find the fastest way to compute an operator by measuring\n"
           ".SH SYNOPSIS\n.B optune\n\\fICOMMAND\\fR [\\fIarguments\\fR] [\\fIoptions\\fR]\n"
           ".SH COMMANDS\n",
           optune_version());
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++) {
        printf(".SS \"optune %s ", (*cmd)->name);
        for (const char *c = (*cmd)->arguments; *c; c++)
            fputs(*c == '"' ? "\\(dq" : (const char[]){*c, '\0'}, stdout);
        printf("\"\n");
        man_text((*cmd)->summary);
        printf(".\n");
        if ((*cmd)->notes) {
            printf(".PP\n");
            man_text((*cmd)->notes);
        }
        each_option((*cmd)->options, man_option, NULL);
    }
    printf(".SH OPTIONS OF EVERY COMMAND\n");
    each_option(ot_global_options, man_option, NULL);
    printf(".SH ENVIRONMENT\n"
           ".TP\n.B OPTUNE_DB\nthe database, where \\-\\-db does not say\n"
           ".TP\n.B OPTUNE_PLUGINS\nplugins to load, separated by colons\n"
           ".TP\n.B OPTUNE_VERBOSE\n1: one line on stderr for each selection, in any process "
           "that uses the library;\na path: the same, appended to that file\n"
           ".TP\n.B NO_COLOR\nmessages on a terminal have no colours\n"
           ".TP\n.B OPTUNE_CHART_JS\nthe chart library of optune report, where it is not a "
           "package's\n"
           ".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 3 not found, 4 no such device, "
           "130 interrupted.\n");
}

static const char *const kinds[] = {"bash", "zsh", "fish", "man", NULL};

static int run(const ot_cli *cli)
{
    static void (*const print[])(void) = {print_bash, print_zsh, print_fish, print_man};
    for (size_t i = 0; kinds[i]; i++)
        if (strcmp(kinds[i], cli->words[0]) == 0) {
            print[i]();
            return OT_EXIT_DONE;
        }
    return ot_say_usage(cli->cmd, "completion is made for bash, zsh or fish; man: the page");
}

OT_CMD(completion) = {
    .name = "completion",
    .summary = "print what a shell completes commands and options by, or the manual page",
    .arguments = "bash|zsh|fish|man",
    .min_words = 1,
    .max_words = 1,
    .missing = "the name of a shell: bash, zsh or fish",
    .words = kinds,
    .offline = true,
    .notes = "For this shell alone: source <(optune completion bash)\n",
    .run = run,
};
