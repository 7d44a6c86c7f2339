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

static void bash_words(const char *const *words)
{
    printf("_optune_words '");
    for (const char *const *word = words; *word; word++)
        printf("%s%s", word == words ? "" : " ", *word);
    printf("'; ");
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
    printf(") ");
    if (row->list)
        printf("_optune_list '%s'%s; ", row->list, row->narrowed ? " \"$word\"" : "");
    if (row->values)
        bash_words(row->values);
    if (row->files)
        printf("_optune_files; ");
    printf("return ;;\n");
}

/* What stands where no option does. */
static void bash_arguments(const ot_cmd *cmd)
{
    if (!cmd->words && !cmd->list && !cmd->files)
        return;
    printf("    %s) ", cmd->name);
    if (cmd->words)
        bash_words(cmd->words);
    if (cmd->list)
        printf("_optune_list '%s'; ", cmd->list);
    if (cmd->files)
        printf("_optune_files; ");
    printf(";;\n");
}

static void bash_commands(void)
{
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++)
        printf("%s ", (*cmd)->name);
}

/* Workloads are quoted as paths are. Bash takes `--option=value` apart at the sign. `word` is the
 * command's first one, as far as that can be told without knowing which options take one. */
static void bash_beginning(void)
{
    printf("# bash completion for optune: source it, or install it as\n"
           "# share/bash-completion/completions/optune\n"
           "_optune_add()\n{\n"
           "    local line\n"
           "    while IFS= read -r line; do COMPREPLY+=(\"$line\"); done\n}\n"
           "_optune_words() { _optune_add < <(compgen -W \"$1\" -- \"$cur\"); }\n"
           "_optune_files()\n{\n"
           "    compopt -o filenames 2>/dev/null\n"
           "    _optune_add < <(compgen -f -- \"$cur\")\n}\n"
           "_optune_list()\n{\n"
           "    local me=${COMP_WORDS[0]/#\\~/$HOME} names= name as=$cur\n"
           "    [[ -z $2 ]] || names=$(\"$me\" $1 \"$2\" --names 2>/dev/null)\n"
           "    [[ -n $names ]] || names=$(\"$me\" $1 --names 2>/dev/null)\n"
           "    [[ $as != [\\'\\\"]* ]] || as=${as:1}\n"
           "    as=${as//\\\\/}\n"
           "    [[ $names != *' '* ]] || compopt -o filenames 2>/dev/null\n"
           "    while IFS= read -r name; do\n"
           "        [[ -z $name || $name != \"$as\"* ]] || COMPREPLY+=(\"$name\")\n"
           "    done <<<\"$names\"\n}\n"
           "_optune()\n{\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local cmd= word= i options\n    COMPREPLY=()\n"
           "    if [[ $cur == = ]]; then\n        cur=\n"
           "    elif [[ $prev == = && COMP_CWORD -gt 1 ]]; then\n"
           "        prev=${COMP_WORDS[COMP_CWORD-2]}\n    fi\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        if [[ -n $cmd && $cmd != help ]]; then\n"
           "            [[ ${COMP_WORDS[i]} == [-=]* || ${COMP_WORDS[i-1]} == [-=]* ]] ||\n"
           "                { word=${COMP_WORDS[i]}; break; }\n"
           "            continue\n        fi\n"
           "        case ${COMP_WORDS[i]} in\n        ");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++)
        printf("%s|", (*cmd)->name);
    printf("help) cmd=${COMP_WORDS[i]} ;;\n        esac\n    done\n");
}

/* An option may mean one thing here and another there: a command's own come first. */
static void print_bash(void)
{
    bash_beginning();
    printf("    case $cmd in\n");
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
           "        if [[ $cur != -* ]]; then\n            _optune_words '");
    bash_commands();
    printf("help'\n            return\n        fi ;;\n");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++)
        if ((*cmd)->options) {
            printf("    %s) options+='", (*cmd)->name);
            each_option((*cmd)->options, bash_word, NULL);
            printf("' ;;\n");
        }
    printf("    esac\n    if [[ $cur == -* ]]; then\n"
           "        _optune_words \"$options\"\n        return\n    fi\n"
           "    case $cmd in\n");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++)
        bash_arguments(*cmd);
    printf("    esac\n}\ncomplete -F _optune optune\n");
}

/* ---- zsh --------------------------------------------------------------------------------- */

static void zsh_names(const char *list, bool narrowed)
{
    printf("{_optune_names \"%s\"%s}", list, narrowed ? " $words" : "");
}

static void zsh_values(const char *const *values)
{
    printf("(");
    for (const char *const *value = values; *value; value++)
        printf("%s%s", value == values ? "" : " ", *value);
    printf(")");
}

/* One spelling of it. */
static void zsh_spelling(const ot_option *row, const char *indent, bool is_long)
{
    printf("%s'", indent);
    if (is_long)
        printf("--%s%s[", row->name, row->argument ? "=" : "");
    else
        printf("-%c[", row->letter);
    for (const char *c = row->help; *c; c++) {
        if (strchr("[]:", *c))
            putchar('\\');
        if (*c == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*c);
    }
    printf("]");
    if (row->argument)
        printf(":%s:", row->argument);
    if (row->list)
        zsh_names(row->list, row->narrowed);
    else if (row->values)
        zsh_values(row->values);
    else if (row->argument)
        printf(row->files ? "_files" : " ");
    printf("' \\\n");
}

static void zsh_option(const ot_option *row, const char *indent)
{
    zsh_spelling(row, indent, true);
    if (row->letter)
        zsh_spelling(row, indent, false);
}

static void zsh_words(const ot_cmd *cmd)
{
    printf("                '*:argument:");
    if (cmd->list && cmd->files)
        printf("{_optune_names \"%s\"; _files}", cmd->list);
    else if (cmd->list)
        zsh_names(cmd->list, false);
    else if (cmd->words && cmd->files)
        printf("{(( CURRENT == 2 )) || _files}' \\\n                '1:argument:");
    if (cmd->words)
        zsh_values(cmd->words);
    else if (!cmd->list)
        printf(cmd->files ? "_files" : " ");
    printf("' ;;\n");
}

static void zsh_commands(void)
{
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++) {
        printf("        '%s:", (*cmd)->name);
        print_quoted((*cmd)->summary);
        printf("'\n");
    }
    printf("        'help:what one command accepts'\n");
}

/* From a folder of $fpath the file is the function's body when it is first called, and so it has to
 * go on and complete. */
static void print_zsh(void)
{
    printf("#compdef optune\n# zsh completion for optune: install it as _optune in a folder of "
           "$fpath\n"
           "_optune_names()\n{\n    local list=$1 word= i names=\n    shift\n"
           "    for ((i = 2; i < CURRENT && i <= $#; i++)); do\n"
           "        [[ $argv[i] == -* || ($i -gt 2 && $argv[i-1] == -*) ]] ||\n"
           "            { word=$argv[i]; break }\n    done\n"
           "    [[ -z $word ]] || names=$(optune ${=list} $word --names 2>/dev/null)\n"
           "    [[ -n $names ]] || names=$(optune ${=list} --names 2>/dev/null)\n"
           "    compadd -- ${(f)names}\n}\n"
           "_optune()\n{\n    local context state line curcontext=$curcontext\n"
           "    local -a commands\n    commands=(\n");
    zsh_commands();
    printf("    )\n    _arguments -C \\\n");
    each_option(ot_global_options, zsh_option, "        ");
    printf("        '1:command:->command' '*::argument:->argument' && return\n"
           "    case $state in\n    command) _describe command commands ;;\n"
           "    argument)\n        case $words[1] in\n"
           "        help) _describe command commands ;;\n");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++) {
        printf("        %s)\n            _arguments \\\n", (*cmd)->name);
        if ((*cmd)->options)
            each_option((*cmd)->options, zsh_option, "                ");
        each_option(ot_global_options, zsh_option, "                ");
        zsh_words(*cmd);
    }
    printf("        esac ;;\n    esac\n}\n"
           "if [[ $funcstack[1] == _optune ]]; then\n    _optune \"$@\"\n"
           "else\n    compdef _optune optune\nfi\n");
}

/* ---- fish -------------------------------------------------------------------------------- */

static void fish_text(const char *text)
{
    printf(" -d '");
    for (const char *c = text; *c; c++)
        printf(*c == '\'' || *c == '\\' ? "\\%c" : "%c", *c);
    printf("'\n");
}

static void fish_values(const char *const *values)
{
    printf(" -a '");
    for (const char *const *value = values; *value; value++)
        printf("%s%s", value == values ? "" : " ", *value);
    printf("'");
}

static void fish_option(const ot_option *row, const char *when)
{
    printf("complete -c optune%s -l %s", when, row->name);
    if (row->letter)
        printf(" -s %c", row->letter);
    if (row->argument)
        printf(row->files ? " -r -F" : " -r -f");
    if (row->list)
        printf(" -a '(__optune_names \"%s\"%s)'", row->list, row->narrowed ? " narrowed" : "");
    if (row->values)
        fish_values(row->values);
    fish_text(row->help);
}

static void fish_command(const ot_cmd *cmd)
{
    char when[128];
    snprintf(when, sizeof when, " -n '__fish_seen_subcommand_from %s'", cmd->name);
    if (cmd->options)
        each_option(cmd->options, fish_option, when);
    if (!cmd->files)
        printf("complete -c optune%s -f\n", when);
    if (cmd->words) {
        printf("complete -c optune%s", when);
        fish_values(cmd->words);
        printf("\n");
    }
    if (cmd->list)
        printf("complete -c optune%s -a '(__optune_names \"%s\")'\n", when, cmd->list);
}

static void print_fish(void)
{
    printf("# fish completion for optune: install it as "
           "~/.config/fish/completions/optune.fish\n"
           "function __optune_names\n    set -l list (string split ' ' -- $argv[1])\n"
           "    set -l words (commandline -opc)\n    set -l word\n    set -l names\n"
           "    if set -q argv[2]; and test (count $words) -gt 2\n"
           "        for i in (seq 3 (count $words))\n"
           "            string match -q -- '-*' $words[$i]; and continue\n"
           "            test $i -gt 3; and string match -q -- '-*' $words[(math $i - 1)]; "
           "and continue\n"
           "            set word $words[$i]\n            break\n        end\n    end\n"
           "    test -n \"$word\"; and set names (optune $list $word --names 2>/dev/null)\n"
           "    test -n \"$names\"; or set names (optune $list --names 2>/dev/null)\n"
           "    printf '%%s\\n' $names\nend\n");
    each_option(ot_global_options, fish_option, "");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++) {
        printf("complete -c optune -n __fish_use_subcommand -f -a %s", (*cmd)->name);
        fish_text((*cmd)->summary);
        printf("complete -c optune -n '__fish_seen_subcommand_from help' -f -a %s\n",
               (*cmd)->name);
    }
    printf("complete -c optune -n __fish_use_subcommand -f -a help -d 'what one command "
           "accepts'\n");
    for (const ot_cmd *const *cmd = ot_cmd_table; *cmd; cmd++)
        fish_command(*cmd);
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
           ".TP\n.B OPTUNE_PEAK\nFLOPS,BYTES a second, what a device does at its best; not "
           "measured then\n"
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
