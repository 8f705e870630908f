/* fuzz_reader.c - a libFuzzer target for one reader, chosen by -DFUZZ_FORMAT=PHL_FORMAT_...
 * (PHL_FORMAT_AUTO: any format by content, compressed or not).
 *
 * Whatever the bytes are:
 *  - a failure is one about data and has a message;
 *  - with skip_bad reading goes through, and reports something exactly if it fails without;
 *  - what was read, written and read again is the same data: in json always, in every other format
 *    unless its writer refuses.
 * Build and run with tests/fuzz/run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/block_reader.h"
#include "fuzz.h"

#ifndef FUZZ_FORMAT
#error "choose a reader with -DFUZZ_FORMAT=PHL_FORMAT_..."
#endif

#define NAME "fuzz"

/* Count what was passed over. */
static void count(const phl_error *error, void *context)
{
    must(error->status == PHL_OK || error->message[0] != '\0', "a report without words", error);
    ++*(size_t *)context;
}

/* Options that depend on the bytes, so that all of them are met. */
static phl_read_options options_for(const uint8_t *data, size_t size)
{
    phl_read_options options;
    unsigned bits = (unsigned)size;
    for (size_t i = 0; i < size; i++) {
        bits = bits * 31 + data[i];
    }
    phl_read_options_init(&options);
    options.format = FUZZ_FORMAT;
    options.no_sharing = (bits & 3) == 3;
    options.xml_attributes = (bits & 4) != 0;
    options.xml_text = (bits & 8) != 0;
    options.ptb_drop_words = (bits & 16) != 0;
    options.conllu_label = (phl_conllu_label)((bits >> 5) % 3);
    options.newick_lengths = (bits & 1024) != 0;
    options.rna_runs = (bits & 2048) != 0;
    options.rna_drop_knots = (bits & 4096) != 0;
    options.rna_family = (bits & 8192) != 0;
    options.max_nodes = 100000;
    options.max_children = 2000; /* a slot costs two bytes in brackets */
    options.max_name = 4096;
    options.max_attributes = 1000;
    options.max_ratio = 100;
    return options;
}

static void print(const phl_forest *forest, char out[33])
{
    phl_error error = {0};
    must(phl_forest_fingerprint(forest, true, out, &error) == PHL_OK, "fingerprint", &error);
}

/* Written in `format` and read again, the trees are the same. */
static void check_round_trip(const phl_forest *forest, phl_format format,
                             phl_conllu_label conllu_label)
{
    phl_write_options writing;
    phl_read_options reading;
    phl_write_options_init(&writing);
    phl_read_options_init(&reading);
    writing.format = reading.format = format;
    writing.conllu_label = reading.conllu_label = conllu_label;
    char *text = NULL;
    size_t size = 0;
    phl_error error = {0};
    phl_status status = phl_forest_write_memory(forest, &writing, &text, &size, &error);
    if (status != PHL_OK) {
        must(format != PHL_FORMAT_JSON, "json refuses", &error);
        must(status == PHL_ERR_EXPRESS || (status == PHL_ERR_ARGUMENT && format == PHL_FORMAT_XML),
             "a refusal of another kind", &error);
        must(error.message[0] != '\0', "a refusal without words", &error);
        return;
    }
    phl_forest *again = NULL;
    status = phl_forest_read_memory(text, size, NAME, &reading, &again, NULL, &error);
    if (status != PHL_OK) {
        fprintf(stderr, "fuzz: written as %s: %.*s\n", phl_format_name(format), (int)size, text);
        stop("what was written cannot be read", &error);
    }
    char first[33], second[33];
    print(forest, first);
    print(again, second);
    if (strcmp(first, second) != 0) {
        fprintf(stderr, "fuzz: written as %s: %.*s\n", phl_format_name(format), (int)size, text);
        stop("a round trip changed the trees", NULL);
    }
    phl_free(text);
    phl_forest_free(again);
}

/* Read in blocks of a few trees, good trees and the failure are the same as at once: `whole` is the
 * forest, NULL if reading it failed with `failure`. */
static void check_blocks(const uint8_t *data, size_t size, const phl_read_options *options,
                         const phl_forest *whole, const phl_error *failure)
{
    phl_block_reader *reader = NULL;
    phl_builder *builder = NULL;
    phl_forest *sum = NULL, *block = NULL;
    phl_error error = {0};
    size_t few = 1 + size % 3;
    must(phl_builder_create(NULL, &builder, &error) == PHL_OK &&
             phl_builder_finish(builder, &sum, &error) == PHL_OK &&
             phl_block_reader_create_memory(data, size, NAME, options, &reader, &error) == PHL_OK,
         "blocks", &error);
    phl_status status;
    while ((status = phl_block_reader_next(reader, few, 0, &block, &error)) == PHL_OK && block) {
        const phl_forest *both[2] = {sum, block};
        phl_forest *joined = NULL;
        must(phl_forest_trees(block) > 0 && phl_forest_trees(block) <= few, "a wrong block", NULL);
        must(phl_forest_concat(both, 2, &joined, &error) == PHL_OK, "joining blocks", &error);
        phl_forest_free(sum);
        phl_forest_free(block);
        sum = joined;
    }
    if (whole != NULL) {
        char a[33], b[33];
        print(whole, a);
        print(sum, b);
        must(status == PHL_OK && strcmp(a, b) == 0, "blocks change the trees", &error);
    } else {
        must(status == failure->status && error.line == failure->line &&
                 error.column == failure->column && strcmp(error.message, failure->message) == 0 &&
                 strcmp(error.remedy, failure->remedy) == 0,
             "blocks change the failure", &error);
    }
    phl_forest_free(sum);
    phl_builder_free(builder);
    phl_block_reader_free(reader);
}

/* Nodes met on a walk are those that multiplicities count. */
static void check_counts(const phl_forest *forest)
{
    phl_error error = {0};
    phl_stats *stats = NULL;
    phl_walk *walk = NULL;
    must(phl_stats_compute(forest, &stats, &error) == PHL_OK, "statistics", &error);
    must(phl_walk_create(forest, &walk, &error) == PHL_OK, "walk", &error);
    uint64_t nodes = 0;
    for (size_t tree = 0; tree < phl_forest_trees(forest); tree++) {
        phl_visit visit;
        phl_walk_start(walk, tree);
        while (phl_walk_next(walk, &visit, &error) > 0) {
            nodes++;
        }
    }
    must(nodes == stats->nodes, "nodes walked and nodes counted differ", NULL);
    phl_walk_free(walk);
    phl_stats_free(stats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    phl_read_options options = options_for(data, size);
    phl_forest *strict = NULL;
    phl_forest *lenient = NULL;
    phl_error error = {0};
    phl_read_summary summary;
    size_t reports = 0;
    phl_status status = phl_forest_read_memory(data, size, NAME, &options, &strict, NULL, &error);
    if (status != PHL_OK) {
        must(phl_status_group(status) == PHL_GROUP_DATA && status == error.status,
             "a failure that is not about data", &error);
        must(error.message[0] != '\0' && strcmp(error.file, NAME) == 0,
             "a message without words or place", &error);
        must(strict == NULL, "a forest in spite of a failure", &error);
    }
    check_blocks(data, size, &options, strict, &error);
    options.skip_bad = true;
    options.report = count;
    options.context = &reports;
    phl_status second =
        phl_forest_read_memory(data, size, NAME, &options, &lenient, &summary, &error);
    must(second == PHL_OK, "skip_bad does not skip", &error);
    must((summary.skipped > 0) == (status != PHL_OK) && reports == summary.skipped,
         "skip_bad counts wrongly", NULL);
    must(summary.trees == phl_forest_trees(lenient), "trees are counted wrongly", NULL);
    if (strict != NULL) {
        char a[33], b[33];
        print(strict, a);
        print(lenient, b);
        must(strcmp(a, b) == 0, "skip_bad changes good trees", NULL);
    }
    size_t reports_before = reports;
    check_blocks(data, size, &options, lenient, NULL);
    must(reports == 2 * reports_before, "blocks report otherwise", NULL);
    check_counts(lenient);
    for (int format = PHL_FORMAT_BRACKETS; format <= PHL_FORMAT_NEWICK; format++) {
        if (format != PHL_FORMAT_HTML) { /* read only */
            check_round_trip(lenient, (phl_format)format, options.conllu_label);
        }
    }
    phl_forest_free(strict);
    phl_forest_free(lenient);
    return 0;
}
