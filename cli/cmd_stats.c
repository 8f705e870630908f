/* cmd_stats.c - phloem stats: what is in the inputs, for people or as JSON.
 *
 * Contents: classes in order, the report, JSON, the command.
 */
#include "commands.h"
#include "forests.h"
#include "print/terminal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_SHOWN = 40, SLOTS_SHOWN = 8, NAME_SHOWN = 40 };

typedef struct stats_report {
    phl_stats *stats;
    phl_read_summary summary;
    char fingerprint[33];
    uint64_t internal; /* nodes with children */
} stats_report;

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* Natural order of names; trees without class last. */
static int compare_classes(const void *a, const void *b)
{
    const phl_class_stats *left = a, *right = b;
    if (!left->name || !right->name) {
        return (left->name ? 0 : 1) - (right->name ? 0 : 1);
    }
    return text_compare_natural(left->name, right->name);
}

/* ---- the report ---- */

static void print_count(const char *what, uint64_t count)
{
    char number[NUMBER_SIZE];
    terminal_fact(what, number_grouped(count, number));
}

static void print_totals(const stats_report *report)
{
    const phl_stats *s = report->stats;
    char a[NUMBER_SIZE], b[NUMBER_SIZE], text[200];
    print_count("trees", s->trees);
    if (report->summary.skipped) {
        print_count("bad trees skipped", report->summary.skipped);
    }
    if (s->weight != (double)s->trees) {
        terminal_fact("total weight", number_exact(s->weight, a));
    }
    snprintf(text, sizeof text, "%s (%s leaves)", number_grouped(s->nodes, a),
             number_grouped(s->leaves, b));
    terminal_fact("nodes", text);
    snprintf(text, sizeof text, "%s (%s internal), sharing factor %.1f",
             number_grouped(s->subtrees, a), number_grouped(s->internal_subtrees, b),
             ratio((double)s->nodes, (double)s->subtrees));
    terminal_fact("distinct subtrees", text);
    snprintf(text, sizeof text, "%s (%s of distinct subtrees)", number_grouped(s->links, a),
             number_grouped(s->subtree_links, b));
    terminal_fact("links", text);
    print_count("slot-child pairs", s->slot_child_pairs);
    print_count("labels", s->labels);
    print_count("unknown labels", s->unknown);
    if (s->trees) {
        snprintf(text, sizeof text, "%s to %s, median %.10g, mean %.1f",
                 number_grouped(s->nodes_min, a), number_grouped(s->nodes_max, b), s->nodes_median,
                 s->nodes_mean);
        terminal_fact("nodes per tree", text);
        snprintf(text, sizeof text, "%s to %s, mean %.1f", number_grouped(s->depth_min, a),
                 number_grouped(s->depth_max, b), s->depth_mean);
        terminal_fact("depth", text);
        print_count("largest slot", s->max_slot);
    }
    terminal_fact("fingerprint", report->fingerprint);
}

static void print_classes(const stats_report *report)
{
    const phl_stats *s = report->stats;
    size_t shown = s->n_classes > CLASSES_SHOWN ? CLASSES_SHOWN : s->n_classes;
    size_t named = s->n_classes;
    char name[TABLE_CELL], trees[NUMBER_SIZE], share[NUMBER_SIZE], nodes[NUMBER_SIZE];
    text_table table;
    if (named && !s->classes[named - 1].name) {
        named--;
    }
    if (named == 0) {
        return;
    }
    printf("\n%s %s\n", number_grouped(named, trees), named == 1 ? "class" : "classes");
    table_begin(&table, 4);
    table_row(&table, (const char *const[]){"class", "trees", "share", "nodes"});
    for (size_t i = 0; i < shown; i++) {
        const phl_class_stats *c = &s->classes[i];
        text_printable(c->name ? c->name : "(none)", NAME_SHOWN, name, sizeof name);
        number_grouped(c->trees, trees);
        number_grouped(c->nodes, nodes);
        snprintf(share, sizeof share, "%.1f %%", 100 * ratio((double)c->trees, (double)s->trees));
        table_row(&table, (const char *const[]){name, trees, share, nodes});
    }
    table_end(&table, stdout, 2);
    if (shown < s->n_classes) {
        printf("  and %s more; --json lists all\n", number_grouped(s->n_classes - shown, trees));
    }
    if (named > 1 && s->ambiguous_trees) {
        printf("  %s of these trees are the same as one of another class (%s distinct)\n",
               number_grouped(s->ambiguous_trees, trees),
               number_grouped(s->ambiguous_shapes, nodes));
    } else if (named > 1) {
        printf("  no tree occurs in two classes\n");
    }
}

/* One line per slot at first, then one for 9-16, 17-32 and so on: slots thin out quickly. */
static void print_slots(const stats_report *report)
{
    const phl_stats *s = report->stats;
    char slots[64], filled[NUMBER_SIZE], share[NUMBER_SIZE];
    text_table table;
    if (report->internal == 0) {
        return;
    }
    printf("\nslots filled, of %s internal nodes\n", number_grouped(report->internal, filled));
    table_begin(&table, 3);
    table_row(&table, (const char *const[]){"slot", "filled", "share"});
    for (uint64_t first = 1, last; first <= s->max_slot; first = last + 1) {
        uint64_t total = 0;
        last = first <= SLOTS_SHOWN ? first : 2 * (first - 1);
        if (last > s->max_slot) {
            last = s->max_slot;
        }
        for (uint64_t slot = first; slot <= last; slot++) {
            total += s->slot_filled[slot - 1];
        }
        double mean = (double)total / (double)(last - first + 1);
        double percent = 100 * ratio(mean, (double)report->internal);
        if (first == last) {
            snprintf(slots, sizeof slots, "%" PRIu64, first);
        } else {
            snprintf(slots, sizeof slots, "%" PRIu64 "-%" PRIu64 ", on average", first, last);
        }
        if (first == last) {
            number_grouped(total, filled);
        } else if (mean >= 100) {
            number_grouped((uint64_t)(mean + 0.5), filled);
        } else {
            snprintf(filled, sizeof filled, "%.1f", mean);
        }
        if (percent > 0 && percent < 0.05) {
            snprintf(share, sizeof share, "< 0.1 %%");
        } else {
            snprintf(share, sizeof share, "%.1f %%", percent);
        }
        table_row(&table, (const char *const[]){slots, filled, share});
    }
    table_end(&table, stdout, 2);
}

/* ---- JSON ---- */

static void json_spreads(json_writer *json, const phl_stats *s)
{
    json_out_key(json, "depth");
    json_out_open(json, '{', true);
    json_out_count(json, "min", s->depth_min);
    json_out_number(json, "mean", s->depth_mean);
    json_out_count(json, "max", s->depth_max);
    json_out_close(json, '}');
    json_out_key(json, "nodes_per_tree");
    json_out_open(json, '{', true);
    json_out_count(json, "min", s->nodes_min);
    json_out_number(json, "median", s->nodes_median);
    json_out_number(json, "mean", s->nodes_mean);
    json_out_count(json, "max", s->nodes_max);
    json_out_close(json, '}');
}

static void json_lists(json_writer *json, const stats_report *report)
{
    const phl_stats *s = report->stats;
    json_out_key(json, "slots");
    json_out_open(json, '[', false);
    for (uint32_t slot = 1; slot <= s->max_slot && report->internal; slot++) {
        uint64_t filled = s->slot_filled[slot - 1];
        json_out_open(json, '{', true);
        json_out_count(json, "slot", slot);
        json_out_count(json, "filled", filled);
        json_out_number(json, "occupancy", ratio((double)filled, (double)report->internal));
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
    json_spreads(json, s);
    json_out_key(json, "classes");
    json_out_open(json, '[', false);
    for (size_t i = 0; i < s->n_classes; i++) {
        json_out_open(json, '{', true);
        json_out_key(json, "class");
        json_out_string(json, s->classes[i].name);
        json_out_count(json, "trees", s->classes[i].trees);
        json_out_count(json, "nodes", s->classes[i].nodes);
        json_out_close(json, '}');
    }
    json_out_close(json, ']');
}

static void print_json(const stats_report *report)
{
    const phl_stats *s = report->stats;
    json_writer json;
    json_out_begin(&json, stdout);
    json_out_open(&json, '{', false);
    json_out_count(&json, "trees", s->trees);
    json_out_count(&json, "nodes", s->nodes);
    json_out_count(&json, "leaves", s->leaves);
    json_out_count(&json, "links", s->links);
    json_out_count(&json, "distinct_subtrees", s->subtrees);
    json_out_count(&json, "distinct_internal", s->internal_subtrees);
    json_out_count(&json, "distinct_links", s->subtree_links);
    json_out_count(&json, "slot_child_pairs", s->slot_child_pairs);
    json_out_number(&json, "sharing", ratio((double)s->nodes, (double)s->subtrees));
    json_out_count(&json, "labels", s->labels);
    json_out_count(&json, "unknown_labels", s->unknown);
    json_out_number(&json, "weight", s->weight);
    json_out_count(&json, "max_slot", s->max_slot);
    json_lists(&json, report);
    json_out_key(&json, "identical_across_classes");
    json_out_open(&json, '{', true);
    json_out_count(&json, "distinct", s->ambiguous_shapes);
    json_out_count(&json, "trees", s->ambiguous_trees);
    json_out_close(&json, '}');
    json_out_key(&json, "fingerprint");
    json_out_string(&json, report->fingerprint);
    json_out_count(&json, "skipped", report->summary.skipped);
    json_out_close(&json, '}');
}

/* ---- the command ---- */

static int run(const cli_arguments *parsed)
{
    phl_forest *forest = NULL;
    phl_error error = {0};
    stats_report report = {0};
    int code = forest_read(parsed, &forest, &report.summary);
    if (code != EXIT_OK) {
        return code;
    }
    phl_status status = phl_stats_compute(forest, &report.stats, &error);
    if (status == PHL_OK) {
        status = phl_forest_fingerprint(forest, false, report.fingerprint, &error);
    }
    if (status == PHL_OK) {
        phl_stats *s = report.stats;
        report.internal = s->nodes - s->leaves;
        if (s->n_classes) {
            qsort(s->classes, s->n_classes, sizeof *s->classes, compare_classes);
        }
        if (arguments_flag(parsed, "json")) {
            print_json(&report);
        } else {
            print_totals(&report);
            print_classes(&report);
            print_slots(&report);
        }
    } else {
        code = usage_report(parsed->command, &error);
    }
    phl_stats_free(report.stats);
    phl_forest_free(forest);
    return code;
}

static const cli_option report_rows[] = {
    OPTION_FLAG_ROW("json", "print one JSON object, with nothing shortened"),
};
static const option_group report_options = {"Report", report_rows, 1};
static const option_group *const groups[] = {&report_options, &reading_options, &reading_formats,
                                             &reading_caps,   &general_options, NULL};

static const example examples[] = {
    {"a first look at a data set", "phloem stats train.elastic.tree"},
    {"every XML file below docs/, class = folder", "phloem stats docs/"},
    {"one figure for a script", "phloem stats --json train.trees | jq .distinct_subtrees"},
    {"do two files hold the same trees?", "phloem stats a.trees; phloem stats b.jsonl.gz"},
    {NULL, NULL}};

const cli_command command_stats = {
    .name = "stats",
    .summary = "count trees, nodes, labels, classes, slots and shared subtrees",
    .description =
        "Reads all trees of the inputs and says what is in them. Equal subtrees are stored once: "
        "the sharing factor is the number of nodes that one distinct subtree stands for. A slot "
        "is the position of a child. The fingerprint is the same for the same trees in any order "
        "and any format.",
    .operands = "IN...",
    .operand_help = "files, folders (every file below with a known ending), or '-' for standard "
                    "input",
    .least_operands = 1,
    .most_operands = SIZE_MAX,
    .groups = groups,
    .examples = examples,
    .run = run,
};
